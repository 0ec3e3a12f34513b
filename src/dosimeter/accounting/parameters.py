"""Find one number of a plan from all the others: the noise, a count, a sampling probability, a clipping norm, ...

The plan is any function from the number to events, so the number may stand anywhere, and in several places at once:

    find_parameter(
        lambda noise: [(PoissonSampled("0.01", Gaussian(noise)), 1000), (Laplace(20), 10)],
        "noise_multiplier", epsilon=1, delta="1e-5",
    )

The answer is on the safe side by certificate, and the nearest value that failed comes with it. Epsilon and delta need
no search: `Accountant.epsilon` and `Accountant.delta` give them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from dosimeter.accounting.fixed_plans import EXACT, composed, plan_price
from dosimeter.accounting.solve import TOLERANCE, solve
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event
from dosimeter.events.event import require_event
from dosimeter.exact import ONE, ZERO, Bound, Number, amount, show, text
from dosimeter.exact import count as whole_number
from dosimeter.neighbours import NeighbouringRelation

Plan: TypeAlias = "Event | Sequence[Event | tuple[Event, int]]"


@dataclass(frozen=True, slots=True)
class Parameter:
    """What can be unknown: which way epsilon moves with it, and where to look."""

    rising: bool
    low: Decimal
    high: Decimal
    whole: bool = False


_NOISE: Final = Parameter(False, Decimal("1e-6"), Decimal("1e9"))
_SENSITIVITY: Final = Parameter(True, Decimal("1e-9"), Decimal("1e9"))
_LOSS: Final = Parameter(True, Decimal("1e-9"), Decimal("1e4"))
_COUNT: Final = Parameter(True, ONE, Decimal(10**9), whole=True)
_SPREAD: Final = Parameter(False, ONE, Decimal(10**12), whole=True)
PARAMETERS: Final = {
    "noise_multiplier": _NOISE,
    "sigma": _NOISE,
    "scale": _NOISE,
    "l1_sensitivity": _SENSITIVITY,
    "l2_sensitivity": _SENSITIVITY,
    "epsilon": _LOSS,
    "rho": _LOSS,
    "mu": _LOSS,
    "delta": Parameter(True, Decimal("1e-200"), Decimal("0.999")),
    "probability": Parameter(True, Decimal("1e-9"), ONE),
    "count": _COUNT,
    "batch_size": _COUNT,
    "expected_batch_size": _COUNT,
    "selected": _COUNT,
    "draws": _COUNT,
    "population": _SPREAD,
    "steps": _SPREAD,
}


_START: Final = {(False, True): ONE, (False, False): ONE, (True, True): Decimal(100), (True, False): Decimal(1000)}


@dataclass(frozen=True, slots=True)
class Found:
    """A number that meets the target.

    Args:
        value: the plan meets the target at it, by certificate.
        epsilon: the plan's epsilon at `value`, enclosed.
        delta: the delta it was stated at.
        rival: the nearest value tried that does not certainly meet the target; None where the whole range does.
        rival_fails: whether the rival certainly misses it, so that no better value is left.
        way: how the plan was priced: exactly, by its privacy loss distribution, or by a theorem that only bounds it.
        tries: how many values were priced.
    """

    value: Decimal
    epsilon: Bound
    delta: Decimal
    rival: Decimal | None
    rival_fails: bool
    way: str
    tries: int


def find_parameter(
    build: Callable[[Any], Plan],
    parameter: str,
    *,
    epsilon: Number,
    delta: Number,
    relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE,
    low: Number | None = None,
    high: Number | None = None,
    tolerance: Number = TOLERANCE,
) -> Found:
    """The least noise, or the largest count, probability, batch or norm, at which a plan is still (epsilon, delta)-DP.

    Guarantee: the plan at the returned value is (epsilon, delta)-DP under `relation`, its parameters being fixed in
    advance. Where its price is monotone in the number, `value` is within `tolerance` of the best that can be certified,
    relatively, and the last one for whole numbers.

    Args:
        build: from a value (an int for whole numbers, else a Decimal) to an event, or to events, each with a count or
            without.
        parameter: what the value is, a key of `PARAMETERS`: it decides the direction and range of the search.
        epsilon: the target, 0 or in [1e-300, 1e12].
        delta: the delta it is stated at, in [1e-300, 1), or 0 for plans that are pure (then epsilon is above 0).
        relation: the neighbouring relation the plan's sensitivities are stated for.
        low: smallest value to consider, instead of the parameter's own.
        high: largest value to consider, instead of the parameter's own; a batch is no larger than its population.
        tolerance: relative distance between value and rival, in [1e-13, 0.01].

    Raises:
        NoGuaranteeError: no value in the range meets the target; says what the plan costs at the safe end.
        NotionError: a sampling scheme says nothing about this relation.
        InputError: an unknown parameter, a number outside its range, or `build` makes no plan of a value.

    Reference: `solve`; prices by `plan_price`, and by the exact delta where epsilon is 0.
    """
    kind = read_parameter(parameter)
    target = amount(epsilon, "epsilon", zero=True, round_up=False)
    level = amount(delta, "delta", zero=True, round_up=False, below_one=True)
    if not target and not level:
        raise InputError("epsilon=0 at delta=0 means that nothing may be learnt; allow one of them above 0")
    ways: dict[Decimal, tuple[Bound, str]] = {}
    reasons: dict[Decimal, str] = {}

    def price(value: Decimal) -> Bound | None:
        parts = _parts(build(int(value) if kind.whole else value))
        try:
            if target:
                found = plan_price(parts, level, relation=relation)
                ways[value] = found.epsilon, found.way
                return found.epsilon
            bound = composed(parts, relation).delta(ZERO)
        except NoGuaranteeError as error:
            reasons[value] = str(error)
            return None
        ways[value] = Bound(ZERO, ZERO), EXACT
        return bound

    least = _end(low, "low", kind.low, kind)
    most = _end(high, "high", kind.high, kind)
    try:
        found = solve(
            price,
            target or level,
            rising=kind.rising,
            low=least,
            high=most,
            whole=kind.whole,
            start=_START[kind.whole, kind.rising],
            tolerance=amount(tolerance, "tolerance", round_up=False),
        )
    except NoGuaranteeError:
        safe = least if kind.rising else most
        raise NoGuaranteeError(
            f"no {parameter} from {text(least)} to {text(most)} meets epsilon={text(target)} at "
            f"delta={text(level)}: at {parameter}={text(safe)} "
            f"{_floor(ways.get(safe), reasons.get(safe), zero=not target)}"
        ) from None
    spent, way = ways[found.value]
    fails = found.rival_fails(target or level) and (found.rival in reasons or ways[found.rival][1] == EXACT)  # type: ignore[index]
    return Found(found.value, spent, level, found.rival, fails, way, found.tries)


def read_parameter(name: str) -> Parameter:
    """Direction and range of what is to be found; raises InputError for a name that cannot be unknown."""
    if not isinstance(name, str) or name not in PARAMETERS:
        raise InputError(f"{show(name)} cannot be unknown; one of these can: {', '.join(PARAMETERS)}")
    return PARAMETERS[name]


def _floor(found: tuple[Bound, str] | None, reason: str | None, *, zero: bool) -> str:
    if found is None:
        return f"there is none: {reason}" if reason else "there is none"
    if zero:
        return "delta at epsilon 0 is still larger; allow more, or change the rest of the plan"
    bound, way = found
    if way == EXACT:
        return f"it still costs at least {bound.lower:.6g}; allow more, or change the rest of the plan"
    return f"{way} still proves no better than {bound.upper:.6g}; allow more, or change the rest of the plan"


def _parts(plan: Plan) -> tuple[tuple[Event, int], ...]:
    listed = list(plan) if isinstance(plan, list | tuple) else [plan]
    parts = [part if isinstance(part, tuple) else (part, 1) for part in listed]
    if not parts:
        raise InputError("a plan needs at least one event; nothing was given")
    for part in parts:
        if len(part) != 2:
            raise InputError("a plan is an event, or a list of events, each alone or with its count")
        require_event(part[0])
    return tuple((event, whole_number(times, "count")) for event, times in parts)


def _end(given: Number | None, name: str, own: Decimal, kind: Parameter) -> Decimal:
    if given is None:
        return own
    if kind.whole:
        whole = int(given) if isinstance(given, Decimal) and given == given.to_integral_value() else given
        return Decimal(whole_number(whole, name, largest=10**12))
    return amount(given, name, round_up=name == "low")
