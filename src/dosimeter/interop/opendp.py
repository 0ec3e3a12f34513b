"""Measurements of OpenDP, read as declared events: its map is the guarantee, its library the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import Declared
from dosimeter.exact import Number, amount, count
from dosimeter.interop.values import class_name, double_up, field, float_down, float_up
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.rdp import read_order

_ADD, _REPLACE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
_CHANGES: Final = {  # how many of the metric's changes one unit is, under a relation
    ("SymmetricDistance", _ADD): 1,
    ("SymmetricDistance", _REPLACE): 2,
    ("InsertDeleteDistance", _ADD): 1,
    ("InsertDeleteDistance", _REPLACE): 2,
    ("ChangeOneDistance", _REPLACE): 1,
    ("HammingDistance", _REPLACE): 1,
}


def from_opendp(
    measurement: object,
    *,
    relation: NeighbouringRelation | str,
    units: int = 1,
    delta: Number | None = None,
    orders: Iterable[Number] = (),
    reason: str = "the privacy map of an OpenDP measurement",
) -> Declared:
    """Read what a measurement promises to `units` records as a declared event.

    Guarantee: the measurement's own, rounded up; taken at its word, as every Declared event is.

    Args:
        measurement: a Measurement on whole data sets (a transformation chained before the noise).
        relation: for whom the account speaks; decides which distance between data sets is asked for.
        units: records one privacy unit may contribute, 1 to 1e6.
        delta: where the measure is a whole curve, the delta at which it is stated, in [1e-300, 1).
        orders: where the measure is a Renyi curve, the orders at which it is stated.
        reason: what the ledger shows for the claim.

    Raises:
        NotionError: the input metric says nothing about this relation.
        NoGuaranteeError: the map is not finite, or needs a delta or orders.
        InputError: not a measurement of OpenDP, or one of a measure that is not read here.
    """
    wanted = NeighbouringRelation.read(relation)
    if class_name(measurement) != "Measurement":
        raise InputError(
            f"{class_name(measurement)} is not a Measurement; give one with input_metric and output_measure"
        )
    metric = str(field(measurement, "input_metric")).split("(")[0]
    known = {name for name, _ in _CHANGES}
    if metric not in known:
        raise InputError(
            f"the input metric {metric[:40]} does not compare data sets; chain the transformation before the noise, so "
            f"that it becomes one of: {', '.join(sorted(known))}"
        )
    if (metric, wanted) not in _CHANGES:
        raise NotionError(f"a measurement on {metric} says nothing about {wanted}; use an account under replace_one")
    distance = _CHANGES[metric, wanted] * count(units, "units", largest=10**6)
    measure = str(field(measurement, "output_measure"))
    if measure not in _READERS:
        raise InputError(
            f"the output measure {measure[:60]} is not read here; this version reads: {', '.join(_READERS)}"
        )
    return Declared(_READERS[measure](field(measurement, "map")(distance), delta, tuple(orders)), reason)


def _approximate(value: Any, build: Callable[[Any, Any], Any]) -> Any:
    if not isinstance(value, tuple) or len(value) != 2:
        raise InputError("an approximate measure has a map to (loss, delta); this one has another")
    return build(double_up(value[0], "the privacy map's loss"), double_up(value[1], "the privacy map's delta"))


def _profile(curve: Any, delta: Number | None, orders: tuple[Number, ...]) -> ApproxDP:  # noqa: ARG001
    if delta is None:
        raise NoGuaranteeError("this measure is a whole curve; say at which delta it is to be stated (delta=...)")
    at = amount(delta, "delta", round_up=False, below_one=True)
    return ApproxDP(double_up(curve.epsilon(float_down(at)), "the curve's epsilon"), at)


def _renyi(curve: Any, delta: Number | None, orders: tuple[Number, ...]) -> RDP:  # noqa: ARG001
    if not orders:
        raise NoGuaranteeError("this measure is a Renyi curve; say at which orders it is to be stated (orders=...)")
    read = tuple(read_order(order) for order in orders)
    return RDP(read, tuple(double_up(curve(float_up(order)), "the curve's epsilon") for order in read))


_READERS: Final[dict[str, Callable[[Any, Number | None, tuple[Number, ...]], Any]]] = {
    "MaxDivergence": lambda value, *_: PureDP(double_up(value, "the privacy map's epsilon")),
    "ZeroConcentratedDivergence": lambda value, *_: ZCDP(double_up(value, "the privacy map's rho")),
    "Approximate(MaxDivergence)": lambda value, *_: _approximate(value, ApproxDP),
    "Approximate(ZeroConcentratedDivergence)": lambda value, *_: _approximate(value, ZCDP),
    "SmoothedMaxDivergence": _profile,
    "RenyiDivergence": _renyi,
}
