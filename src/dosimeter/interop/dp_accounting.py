"""Events of the library dp-accounting, read and written.

Its noise multipliers are relative to the bound C on one record's contribution, whatever the neighbouring relation. Of
a sum, a replaced record moves 2 C: so under replace-one the sensitivity here is 2, where the library's own Renyi
accountant takes it as 1 and reports a quarter of the divergence. The library's events say nothing about the relation;
the reader has to.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from dosimeter.accounting.calibration import randomized_response_epsilon
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
    require_relation,
)
from dosimeter.exact import ONE, amount, count, divide_down, divide_up, multiply_down, multiply_up, to_decimal
from dosimeter.interop.values import class_name, field, float_down, float_up, library, together
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import ZCDP

MAX_DEPTH: Final = 30


def from_dp_accounting(event: object, *, relation: NeighbouringRelation | str) -> Event:
    """Read a tree of DpEvents (or of the named tuples they are written as) as one of our events.

    Guarantee: under the given relation the result releases what the tree describes; nothing is read as a scheme, or
    under a relation, that it is not.

    Args:
        event: Gaussian, Laplace, DiscreteLaplace, RandomizedResponse and ZC events, self-composed,
            composed, and sampled by coins, without or with replacement.
        relation: for whom the account speaks; ADD_OR_REMOVE_ONE is add_remove there, REPLACE_SPECIAL is zero_out.

    Raises:
        NoGuaranteeError: the tree has a non-private or unsupported part.
        NotionError: the tree's sampling says nothing about this relation.
        InputError: not a DpEvent, one that releases nothing, or one this version does not read.
    """
    wanted = NeighbouringRelation.read(relation)
    parts = _parts(event, wanted, 0)
    if not parts:
        raise InputError("this event releases nothing, so there is nothing to charge")
    result = together(parts)
    require_relation(result, wanted)
    return result


def to_dp_accounting(event: Event, *, relation: NeighbouringRelation | str) -> Any:
    """Write an event as a DpEvent; the library must be installed.

    Guarantee: floats are rounded so that the DpEvent is not more private than the event.

    Raises:
        NotionError: the event's sampling says nothing about this relation.
        InputError: the library is missing, or it has no such event.
    """
    wanted = NeighbouringRelation.read(relation)
    require_relation(event, wanted)
    return _write(event, _moves(wanted), library("dp_accounting.dp_event"))


def _parts(event: object, relation: NeighbouringRelation, depth: int) -> list[tuple[Event, int]]:
    """What the event is made of, with counts; empty for one that releases nothing."""
    if depth > MAX_DEPTH:
        raise InputError(f"the event is nested deeper than {MAX_DEPTH}; flatten it")
    name = class_name(event)
    if name == "NoOpDpEvent":
        return []
    if name == "ComposedDpEvent":
        return [part for inner in field(event, "events") for part in _parts(inner, relation, depth + 1)]
    if name == "SelfComposedDpEvent":
        inner, times = _parts(field(event, "event"), relation, depth + 1), field(event, "count")
        return [(together(inner), count(times, "count"))] if inner and times != 0 else []
    if name in _SAMPLED:
        inner = _parts(field(event, "event"), relation, depth + 1)
        if not inner or (name == "PoissonSampledDpEvent" and field(event, "sampling_probability") == 0):
            return []
        return [(_SAMPLED[name](event, together(inner)), 1)]
    if name in _LEAVES:
        return [(_LEAVES[name](event, relation), 1)]
    if name in ("NonPrivateDpEvent", "UnsupportedDpEvent"):
        raise NoGuaranteeError(f"a {name} promises nothing; it cannot be charged to any account")
    readable = ", ".join(sorted([*_LEAVES, *_SAMPLED, "SelfComposedDpEvent", "ComposedDpEvent", "NoOpDpEvent"]))
    raise InputError(f"{name} is not read here; this version reads: {readable}")


def _moves(relation: NeighbouringRelation) -> Decimal:
    """By how many times its bound one unit moves a sum."""
    return Decimal(2) if relation is NeighbouringRelation.REPLACE_ONE else ONE


def _noise(event: object, name: str) -> Decimal:
    value = field(event, name)
    if isinstance(value, int | float) and value == 0:
        raise NoGuaranteeError(f"{class_name(event)} has {name}=0: no noise, so nothing is promised")
    return amount(value, name, round_up=False)


def _response(event: object, relation: NeighbouringRelation) -> Event:
    if relation is NeighbouringRelation.ADD_REMOVE:
        raise NoGuaranteeError(
            "randomized response has one answer per record, so adding or removing a record is always seen; "
            "read it under replace_one or zero_out"
        )
    lie = to_decimal(field(event, "noise_parameter"), "noise_parameter", round_up=False)
    if not 0 < lie < 1:
        raise NoGuaranteeError(f"noise_parameter={lie} is outside (0, 1): nothing is hidden, or nothing is said")
    truth = ONE - lie
    epsilon = randomized_response_epsilon(
        truth_probability=truth, categories=field(event, "num_buckets"), otherwise="any_value"
    )
    return RandomizedResponse(epsilon)


def _zcdp(event: object, relation: NeighbouringRelation) -> Event:  # noqa: ARG001
    if getattr(event, "xi", 0):
        raise InputError("a ZCDpEvent with xi above 0 has no form here; state it in (epsilon, delta)")
    return Declared(ZCDP(field(event, "rho")), "read from a ZCDpEvent of dp-accounting")


_LEAVES: Final[dict[str, Callable[[Any, NeighbouringRelation], Event]]] = {
    "GaussianDpEvent": lambda event, relation: Gaussian(_noise(event, "noise_multiplier"), _moves(relation)),
    "LaplaceDpEvent": lambda event, relation: Laplace(_noise(event, "noise_multiplier"), _moves(relation)),
    "DiscreteLaplaceDpEvent": lambda event, relation: DiscreteLaplace(
        divide_down(ONE, amount(field(event, "noise_parameter"), "noise_parameter")),
        multiply_up(amount(field(event, "sensitivity"), "sensitivity"), _moves(relation)),
    ),
    "RandomizedResponseDpEvent": _response,
    "ZCDpEvent": _zcdp,
}
_SAMPLED: Final[dict[str, Callable[[Any, Event], Event]]] = {
    "PoissonSampledDpEvent": lambda event, inner: PoissonSampled(field(event, "sampling_probability"), inner),
    "SampledWithoutReplacementDpEvent": lambda event, inner: FixedSizeSampled(
        field(event, "sample_size"), field(event, "source_dataset_size"), inner
    ),
    "SampledWithReplacementDpEvent": lambda event, inner: WithReplacementSampled(
        field(event, "sample_size"), field(event, "source_dataset_size"), inner
    ),
}


def _write(event: Event, moves: Decimal, dp: Any) -> Any:
    def multiplier(noise: Decimal, sensitivity: Decimal) -> float:
        return float_down(divide_down(multiply_down(noise, moves), sensitivity))

    match event:
        case Gaussian():
            return dp.GaussianDpEvent(multiplier(event.sigma, event.l2_sensitivity))
        case Laplace():
            return dp.LaplaceDpEvent(multiplier(event.scale, event.l1_sensitivity))
        case DiscreteLaplace() if (
            event.l1_sensitivity == int(event.l1_sensitivity) and not event.l1_sensitivity % moves
        ):
            return dp.DiscreteLaplaceDpEvent(float_up(divide_up(ONE, event.scale)), int(event.l1_sensitivity / moves))
        case Repeated():
            return dp.SelfComposedDpEvent(_write(event.event, moves, dp), event.count)
        case Composed():
            return dp.ComposedDpEvent([_write(part, moves, dp) for part in event.events])
        case PoissonSampled():
            return dp.PoissonSampledDpEvent(float_up(event.probability), _write(event.event, moves, dp))
        case FixedSizeSampled():
            inner = _write(event.event, moves, dp)
            return dp.SampledWithoutReplacementDpEvent(event.population, event.batch_size, inner)
        case WithReplacementSampled():
            inner = _write(event.event, moves, dp)
            return dp.SampledWithReplacementDpEvent(event.population, event.draws, inner)
    raise InputError(f"dp-accounting has no event for {event.kind} with these parameters")
