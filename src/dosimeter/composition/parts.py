"""How a composition is written down: guarantees with their counts, and the chance that any of them fails.

Every theorem of this room speaks of a list of mechanisms whose parameters were fixed before the first one ran. A list
of a hundred thousand equal mechanisms is one guarantee with a count, so that is what the theorems take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Number, add_up, amount, count, fraction_down, fraction_up, multiply_up, show
from dosimeter.notions import ApproxDP, PureDP

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

Guarantee: TypeAlias = PureDP | ApproxDP
Single: TypeAlias = "Guarantee | Number"
Part: TypeAlias = "Single | tuple[Single, int]"
Counts: TypeAlias = dict[ApproxDP, int]
_EXACT_BITS: Final = 16_384  # products of failures up to this length are multiplied out exactly


def read_parts(parts: Iterable[Part]) -> Counts:
    """Read a composition: (epsilon, delta) guarantees with how often each occurs.

    Args:
        parts: each a PureDP, an ApproxDP, a bare number (the epsilon of a pure mechanism), or a pair of one of these
            and a count.

    Raises:
        InputError: nothing was given, or an entry is none of the above.
    """
    counts: Counts = {}
    for part in parts:
        value, times = (cast("tuple[Any, Any]", part)) if isinstance(part, tuple) else (part, 1)
        times = count(times, "count")
        if isinstance(value, PureDP):
            guarantee = ApproxDP(value.epsilon)
        elif isinstance(value, ApproxDP):
            guarantee = value
        elif isinstance(value, str | int | float | Decimal | Fraction):
            guarantee = ApproxDP(cast("Decimal", value))
        else:
            raise InputError(f"{show(value)} is not a guarantee; give PureDP, ApproxDP or an epsilon, or (one, count)")
        counts[guarantee] = counts.get(guarantee, 0) + times
    if not counts:
        raise InputError("a composition needs at least one part; nothing was given")
    return counts


def epsilon_counts(counts: Counts) -> dict[Decimal, int]:
    """How often each positive epsilon occurs, whatever its delta."""
    result: dict[Decimal, int] = {}
    for guarantee, times in counts.items():
        if guarantee.epsilon:
            result[guarantee.epsilon] = result.get(guarantee.epsilon, 0) + times
    return result


def delta_counts(counts: Counts) -> dict[Decimal, int]:
    """How often each positive delta occurs, whatever its epsilon."""
    result: dict[Decimal, int] = {}
    for guarantee, times in counts.items():
        if guarantee.delta:
            result[guarantee.delta] = result.get(guarantee.delta, 0) + times
    return result


def epsilon_sum(counts: Counts) -> Decimal:
    """The sum of all epsilons, rounded up."""
    return add_up(*(multiply_up(epsilon, times) for epsilon, times in epsilon_counts(counts).items()))


def failure_ball(deltas: Mapping[Decimal, int]) -> Ball:
    """The chance 1 - prod (1 - delta)^count that at least one mechanism fails, at the current precision."""
    if not deltas:
        return ball(0)
    if ONE in deltas:
        return ball(1)
    exponent = ball(0)
    for delta, times in deltas.items():
        exponent += times * (-ball(delta)).log1p()
    return -exponent.expm1()


def failure_exact(deltas: Mapping[Decimal, int]) -> Fraction | None:
    """The same chance as a ratio, where it is short enough to write down; None elsewhere."""
    size = sum(Fraction(delta).denominator.bit_length() * times for delta, times in deltas.items())
    if size > _EXACT_BITS:
        return None
    survives = Fraction(1)
    for delta, times in deltas.items():
        survives *= (1 - Fraction(delta)) ** times
    return 1 - survives


def failure_up(deltas: Mapping[Decimal, int]) -> Decimal:
    """The chance that at least one mechanism fails, rounded up.

    Guarantee: events of probabilities delta_i, each conditionally on the history before it, leave none of them
    occurring with probability at least prod (1 - delta_i); never more than the sum of the deltas.
    Reference: Kairouz, Oh and Viswanath 2017, Theorem 3.5.
    """
    exact = failure_exact(deltas)
    product = fraction_up(exact) if exact is not None else up(enclose(lambda: failure_ball(deltas)))
    total = add_up(*(multiply_up(delta, times) for delta, times in deltas.items()))
    return min(ONE, total, product)


def read_slack(slack_delta: Number) -> Decimal:
    """Read the slack a theorem pays for its tail bound: a probability in (0, 1), never read as more than was given."""
    return amount(slack_delta, "slack_delta", round_up=False, below_one=True)


def read_delta(delta: Number) -> Decimal:
    """Read a total delta one wants to keep: 0 or in [1e-300, 1), never read as more than was given."""
    return amount(delta, "delta", round_up=False, below_one=True, zero=True)


def with_slack(counts: Counts, slack_delta: Decimal) -> Decimal:
    """The total delta of a theorem that spends `slack_delta` besides the mechanisms' own deltas, rounded up."""
    deltas = delta_counts(counts)
    deltas[slack_delta] = deltas.get(slack_delta, 0) + 1
    return failure_up(deltas)


def slack_for(parts: Iterable[Part], delta: Number) -> Decimal:
    """The slack a theorem may spend so that the total stays within `delta`.

    Guarantee: the largest d with 1 - (1 - d) prod (1 - delta_i) <= delta, rounded down.

    Raises:
        NoGuaranteeError: the mechanisms' own deltas leave no slack.

    Reference: Kairouz, Oh, Viswanath 2017, Theorem 3.3 (probabilities of not failing multiply).
    """
    target = read_delta(delta)
    deltas = delta_counts(read_parts(parts))
    if target and not deltas:
        return target
    failing = failure_up(deltas)
    if failing < target:
        exact = failure_exact(deltas)
        if exact is not None:
            return fraction_down(1 - (1 - Fraction(target)) / (1 - exact))
        slack = down(enclose(lambda: 1 - (1 - ball(target)) / (1 - failure_ball(deltas))))
        if slack > ZERO:
            return slack
    raise NoGuaranteeError(f"the mechanisms alone fail with probability {failing:.6g}; delta={target} leaves no slack")
