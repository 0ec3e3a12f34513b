"""The share of delta that finite losses may use, as logarithms that a line can be compared with."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ONE, SMALLEST, ZERO, Bound, Number, add_up, amount, subtract_down, subtract_up, to_decimal

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

LEAST_LOG10 = Decimal(-300)
_SHORT = decimal.Context(prec=17, rounding=decimal.ROUND_CEILING)


@dataclass(frozen=True, slots=True)
class Target:
    """log of what is left of delta after the infinite atom: certainly in [low, high] (high may be -inf)."""

    low: float
    high: float


def read_delta(delta: Number | None, log10_delta: Number | None) -> Bound:
    """The wanted delta, exactly or (for a power of ten) enclosed; 0 is allowed for bounded losses."""
    if (delta is None) == (log10_delta is None):
        raise InputError("give exactly one of delta and log10_delta")
    if delta is not None:
        value = amount(delta, "delta", zero=True, below_one=True)
        return Bound(value, value)
    exponent = to_decimal(log10_delta if log10_delta is not None else ZERO, "log10_delta")
    if not LEAST_LOG10 <= exponent < 0:
        raise InputError(f"log10_delta={exponent} is outside [{LEAST_LOG10}, 0)")
    if exponent == exponent.to_integral_value():
        value = ONE.scaleb(int(exponent))
        return Bound(value, value)
    power = enclose(lambda: (ball(exponent) * ball(10).log()).exp())
    return Bound(down(power), up(power))


def target(delta: Bound, atom: Bound) -> Target:
    """What finite losses may use.

    Raises:
        NoGuaranteeError: the infinite atom alone is not certainly below delta.
    """
    low, high = subtract_down(delta.lower, atom.upper), subtract_up(delta.upper, atom.lower)
    if low <= 0:
        raise NoGuaranteeError(
            f"losses are infinite with probability {atom.upper:.6g}: no epsilon is enough at "
            f"delta={delta.upper:.6g}; ask for a larger delta"
        )
    return Target(log_float(low, upward=False), log_float(high, upward=True))


def log_float(value: Decimal, *, upward: bool) -> float:
    """The logarithm of a positive decimal as a float on the stated side."""
    result = enclose(lambda: ball(value).log() + 0)
    rounded = float(up(result) if upward else down(result)) if value != ONE else 0.0
    return math.nextafter(rounded, math.inf if upward else -math.inf)


def exp_bound(log_scale: float, lower: float, upper: float, more: Decimal = ZERO) -> Bound:
    """e^log_scale [lower, upper], with `more` added to the upper end, as decimals within [0, 1]."""

    def at(factor: float) -> Ball:
        return enclose(lambda: ball(Decimal(log_scale)).exp() * ball(Decimal(factor)), 19)

    size = log_scale + math.log(upper) if upper > 0 else -math.inf
    if size > 1:
        return Bound(ZERO, ONE)
    high = ZERO if not upper else SMALLEST if size < -1_000 else up(at(upper), 17)
    low = down(at(lower), 17) if lower > 0 and size > -1_000 else ZERO
    return Bound(min(low, ONE), min(_SHORT.plus(add_up(high, more)), ONE))


def sum_bounds(first: Bound, second: Bound) -> Bound:
    """The sum of two quantities in [0, 1] whose exact sum is at most 1."""
    lower, upper = subtract_down(first.lower, -second.lower), add_up(first.upper, second.upper)
    return Bound(min(max(ZERO, lower), ONE), min(upper, ONE))  # 0 + 0 rounded down is -0
