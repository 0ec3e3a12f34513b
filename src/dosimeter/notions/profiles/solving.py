"""Roots and minima that end on the safe side.

A root is first *found* (Newton inside a bracket, nothing certain), then *certified*: the inequality that makes a
number a guarantee is checked in ball arithmetic at the decimal that is handed out. So a bad starting point can cost
time, never privacy.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import DIGITS, down, enclose, precision, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, ZERO

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

_BITS: Final = 224
_LAST_BITS: Final = 7_168
_STEPS: Final = 300
_TINY_EXPONENT: Final = -4_000  # 2**-4000 is far below 1e-300, the smallest amount
_EXACT: Final = decimal.Context(prec=4 * DIGITS)


def root(function: Callable[[Ball], tuple[Ball, Ball]], start: Ball, low: Ball, high: Ball, *, rising: bool) -> Ball:
    """A point near the root of a monotone function given with its derivative. Not certified.

    Works with at least the current precision, to nearly half of its digits, then takes one more step.
    """
    import flint

    bits = max(_BITS, int(flint.ctx.prec))
    with precision(bits):
        x, fraction = start.mid(), _power_of_two(-bits * 9 // 20)
        for _ in range(_STEPS):
            value, slope = function(x)
            if value.contains(0):  # as near as this precision can tell
                return x
            value, slope = value.mid(), slope.mid()
            following = (x - value / slope).mid() if slope != 0 else low
            if abs(following - x) <= abs(x) * fraction:
                return following
            if (value > 0) == rising:
                high = x
            else:
                low = x
            x = following if low < following < high else ((low + high) / 2).mid()
        return x


def bracketed_root(function: Callable[[Ball], Ball], low: Ball, high: Ball) -> Ball:
    """A point near the root of a function that changes sign in [low, high], without derivatives. Not certified.

    Regula falsi with the Anderson-Bjorck weights.
    """
    with precision(_BITS):
        low, high, fraction, half = low.mid(), high.mid(), _power_of_two(-88), _power_of_two(-1)
        at_low, at_high = function(low).mid(), function(high).mid()
        for _ in range(_STEPS):
            x = ((low * at_high - high * at_low) / (at_high - at_low)).mid()
            if not (low < x < high) or high - low <= abs(high) * fraction:
                return x if low <= x <= high else high
            value = function(x)
            if value.contains(0):
                return x
            value = value.mid()
            if (value > 0) == (at_high > 0):
                weight = 1 - value / at_high
                high, at_high, at_low = x, value, at_low * (weight if weight > 0 else half)
            else:
                weight = 1 - value / at_low
                low, at_low, at_high = x, value, at_high * (weight if weight > 0 else half)
        return high


def log_root(function: Callable[[float], float], low: float, high: float) -> float:
    """A point near the root of an increasing function of floats, by bisection. Not certified."""
    for _ in range(200):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if function(middle) > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-9:
            break
    return low + (high - low) / 2


def polish(function: Callable[[Ball], tuple[Ball, Ball]], x: Ball) -> Ball:
    """A few steps of Newton from a point that already has half the digits. Not certified; stays positive."""
    fraction = _power_of_two(-80)
    for _ in range(6):
        value, slope = (part.mid() for part in function(x))
        if slope == 0:
            break
        following = (x - value / slope).mid()
        if not following > 0:
            break
        close = abs(following - x) <= abs(following) * fraction
        x = following
        if close:
            break
    return x


def certainly_at_most_zero(function: Callable[[], Ball]) -> bool:
    """Whether the value is at most zero beyond doubt; precision is raised until its sign is known."""
    bits = _BITS
    while bits <= _LAST_BITS:
        with precision(bits):
            value = function()
            if value <= 0:
                return True
            if value > 0:
                return False
        bits *= 2
    return False


def least(holds: Callable[[Decimal], bool], guess: Ball) -> Decimal:
    """The first decimal at or above the guess (on a widening grid of last digits) for which `holds` is true."""
    return _walk(holds, max(ZERO, up(guess)), upward=True)


def largest(holds: Callable[[Decimal], bool], guess: Ball) -> Decimal:
    """The first decimal at or below the guess (on a widening grid of last digits) for which `holds` is true; or 0."""
    return _walk(holds, max(ZERO, down(guess)), upward=False)


def _walk(holds: Callable[[Decimal], bool], start: Decimal, *, upward: bool) -> Decimal:
    if not upward and not start:
        return ZERO
    last_digit = Decimal(1).scaleb(start.adjusted() - DIGITS + 1)
    rounding = decimal.ROUND_CEILING if upward else decimal.ROUND_FLOOR
    context = decimal.Context(prec=DIGITS, rounding=rounding)
    offset = 0
    for step in range(70):
        shift = _EXACT.multiply(last_digit, Decimal(offset if upward else -offset))
        candidate = context.add(start, shift)
        if candidate > 0 and holds(candidate):
            return candidate
        offset = 2**step
    raise NoGuaranteeError("a bound could not be certified near the root that was found")


def not_tiny(value: Ball) -> Ball:
    """The ball itself, or 2**-4000 for a value certainly below that: an upper bound that needs no digits."""
    tiny = _power_of_two(_TINY_EXPONENT)
    return tiny if value < tiny and not value.is_zero() else value


def at_most_one(value: Ball) -> Ball:
    """min(1, value), for a bound on a probability."""
    import flint

    return flint.arb(1) if value >= 1 else value


def enclose_nonnegative(function: Callable[[], Ball]) -> Ball:
    """Enclose max(0, value): exactly zero as soon as the value is certainly not positive."""

    def clamped() -> Ball:
        import flint

        value = function()
        return flint.arb(0) if value <= 0 else value

    return enclose(clamped)


def nonnegative_up(function: Callable[[], Ball]) -> Decimal:
    """max(0, value), not below the true one."""
    return max(ZERO, up(enclose_nonnegative(function)))


def nonnegative_down(function: Callable[[], Ball]) -> Decimal:
    """max(0, value), not above the true one."""
    return max(ZERO, down(enclose_nonnegative(function)))


def probability_up(function: Callable[[], Ball]) -> Decimal:
    """A probability, not below the true one, never above 1; a positive one is at least 1e-300, zero stays zero."""
    return min(ONE, up(enclose(lambda: not_tiny(function()))))


def _power_of_two(exponent: int) -> Ball:
    import flint

    return flint.arb(2) ** exponent
