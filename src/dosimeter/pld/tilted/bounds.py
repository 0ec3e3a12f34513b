"""Epsilon and delta of a composition fixed in advance, as certified bounds of adjustable width.

The saddle line answers most questions faster and closer. This engine shares nothing with it but the laws, which is why
it is here: two independent proofs of one number. It also follows directly what the theory says (dominating pairs on a
lattice), and it holds laws the saddle line has no moments for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event
from dosimeter.exact import ONE, SMALLEST, ZERO, Bound, Number, amount, count, fraction_down, fraction_up, to_decimal
from dosimeter.pld.lattice.allocated import held
from dosimeter.pld.laws.events import laws_of
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.tilted.engine import answer, delta_question, epsilon_question

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

Part: TypeAlias = "Law | Event | tuple[Law | Event, int]"
_LEAST_LOG10 = Decimal(-100_000)
_GUESSES = (-20.0, -60.0, -200.0, -600.0)  # of log delta, largest first


def tilted_epsilon(
    parts: Iterable[Part],
    delta: Number | None = None,
    *,
    log10_delta: Number | None = None,
    direction: Direction | str | None = None,
    accuracy: Number = "1e-5",
) -> Bound:
    """The least epsilon >= 0 for which the composition is (epsilon, delta)-DP, enclosed.

    Guarantee: the interval contains the exact value for the composed dominating pairs; its upper end holds for the
    mechanisms, each chosen with knowledge of earlier answers but with parameters fixed in advance.

    Args:
        parts: laws or events, or pairs of one and a count.
        delta: in [1e-300, 1), or 0 where all losses are bounded.
        log10_delta: instead of delta, its decimal logarithm in [-100000, 0).
        direction: one direction only (`remove` or `add`); both by default.
        accuracy: the relative width aimed at, in [1e-9, 0.1]; wider where floating point or memory ends first.

    Raises:
        NoGuaranteeError: no finite epsilon is enough, or none could be certified.

    Reference: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022; Zhu, Dong and Wang 2022, Theorem 10.
    """
    counts = _read(parts)
    log_delta = _log_delta(delta, log10_delta)
    directions = _directions(counts, direction)
    top = _largest_loss(counts, directions)
    if log_delta[1] == -math.inf:
        if top is None:
            raise NoGuaranteeError("delta=0 needs bounded losses; some mechanism here has none, so give a delta")
        return Bound(fraction_down(max(top[0], Fraction(0))), fraction_up(max(top[1], Fraction(0))))
    wanted = _accuracy(accuracy)
    low, high = answer(held(counts, log_delta[0], wanted), directions, epsilon_question(log_delta, wanted))
    if top is not None:
        high = min(high, _float(max(top[1], Fraction(0)), upward=True))
    if not math.isfinite(high):
        raise NoGuaranteeError(
            "no finite epsilon could be certified: losses are infinite with at least this delta, or the plan is beyond "
            "what a lattice can hold; ask for a larger delta"
        )
    return Bound(Decimal(max(low, 0.0)), Decimal(high))


def tilted_delta(
    parts: Iterable[Part],
    epsilon: Number,
    *,
    direction: Direction | str | None = None,
    accuracy: Number = "1e-4",
) -> Bound:
    """The least delta for which the composition is (epsilon, delta)-DP, enclosed.

    Guarantee: as `tilted_epsilon`.

    Args:
        parts: laws or events, or pairs of one and a count.
        epsilon: 0 or in [1e-300, 1e6], in nats.
        direction: one direction only (`remove` or `add`); both by default.
        accuracy: the relative width aimed at, in [1e-9, 0.1].

    Reference: as `tilted_epsilon`.
    """
    counts = _read(parts)
    level = Fraction(amount(epsilon, "epsilon", zero=True, round_up=False, largest=Decimal(10**6)))
    directions = _directions(counts, direction)
    ends = _float(level, upward=False), _float(level, upward=True)
    low, high = _log_deltas(counts, directions, ends, _accuracy(accuracy))
    upper = ONE if high >= 0 else _exp(high, upward=True)
    return Bound(_exp(low, upward=False), upper)


def _log_deltas(
    counts: dict[Law, int], directions: tuple[Direction, ...], ends: tuple[float, float], accuracy: float
) -> tuple[float, float]:
    """Bounds of log delta. What lists of points leave out must be small against it, so it is guessed first."""
    low, high = -math.inf, math.inf
    for guess in _GUESSES:
        question = held(counts, guess, accuracy)
        found = answer(question, directions, delta_question(ends, accuracy))
        low, high = max(low, found[0]), min(high, found[1])
        if question == counts or high >= guess:
            break
    return low, high


def _read(parts: Iterable[Part]) -> dict[Law, int]:
    counts: dict[Law, int] = {}
    for part in parts:
        what, times = cast("tuple[Any, Any]", part) if isinstance(part, tuple) else (part, 1)
        times = count(times, "count")
        for law, inner in [(what, 1)] if isinstance(what, Law) else laws_of(what):
            counts[law] = counts.get(law, 0) + times * inner
    if not counts:
        raise InputError("a composition needs at least one part; nothing was given")
    return counts


def _directions(counts: dict[Law, int], direction: Direction | str | None) -> tuple[Direction, ...]:
    if direction is not None:
        return (Direction(direction),)
    return (Direction.REMOVE,) if all(law.symmetric for law in counts) else tuple(Direction)


def _log_delta(delta: Number | None, log10_delta: Number | None) -> tuple[float, float]:
    """The logarithm of the wanted delta, enclosed; (-inf, -inf) for zero."""
    if (delta is None) == (log10_delta is None):
        raise InputError("give exactly one of delta and log10_delta")
    if delta is not None:
        value = amount(delta, "delta", round_up=False, zero=True, below_one=True)
        if not value:
            return -math.inf, -math.inf
        logarithm = enclose(lambda: ball(value).log())
    else:
        exponent = to_decimal(log10_delta if log10_delta is not None else ZERO, "log10_delta", round_up=False)
        if not _LEAST_LOG10 <= exponent < 0:
            raise InputError(f"log10_delta={exponent} is outside [{_LEAST_LOG10}, 0)")
        logarithm = enclose(lambda: ball(exponent) * ball(10).log())
    low, high = float(down(logarithm)), float(up(logarithm))
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _largest_loss(counts: dict[Law, int], directions: tuple[Direction, ...]) -> tuple[Fraction, Fraction] | None:
    """Bounds of the largest possible total loss; None where losses are unbounded."""
    totals = []
    for direction in directions:
        low, high = Fraction(0), Fraction(0)
        for law, times in counts.items():
            ends = None if law.infinite(direction) else law.highest(direction)
            if ends is None:
                return None
            low, high = low + times * ends[0], high + times * ends[1]
        totals.append((low, high))
    return max(low for low, _ in totals), max(high for _, high in totals)


def _accuracy(value: Number) -> float:
    read = amount(value, "accuracy", round_up=False)
    if not Decimal("1e-9") <= read <= Decimal("0.1"):
        raise InputError(f"accuracy={read} is outside [1e-9, 0.1]")
    return float(read)


def _float(value: Fraction, *, upward: bool) -> float:
    """A nonnegative ratio as a float on the stated side."""
    nearest = float(value)
    if upward and Fraction(nearest) < value:
        return math.nextafter(nearest, math.inf)
    if not upward and Fraction(nearest) > value:
        return math.nextafter(nearest, 0.0)
    return nearest


def _exp(logarithm: float, *, upward: bool) -> Decimal:
    if logarithm < -700:
        return SMALLEST if upward and logarithm > -math.inf else ZERO

    def value() -> Ball:
        return ball(Decimal(logarithm)).exp()

    return up(enclose(value, 17), 17) if upward else down(enclose(value, 17), 17)
