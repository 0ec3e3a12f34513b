"""Error bars: how far the noise may move a released value, and the cheapest noise that stays within a wanted width.

Both directions are decided by enclosures of the exact tail. `half_width` promises that all noises stay within it with
at least the asked confidence; `noise_within` returns a noise whose promise is certain, at the largest scale of 22
digits (the lowest price). Floats and the shared precision only say where a search starts: the same question has the
same answer in every process and thread, since a plan is recognised by its parameters.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dosimeter.enclosure import ball, enclose, precision
from dosimeter.errors import InputError
from dosimeter.exact import ONE, SMALLEST, ZERO, Number, count, show, text, to_decimal
from dosimeter.mechanisms.laws import tail
from dosimeter.mechanisms.noise import (
    LARGEST_PARAMETER,
    SMALLEST_PARAMETER,
    DiscreteLaplaceNoise,
    Noise,
    noise_kind,
    require_noise,
)

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

MAX_VALUES: Final = 10**9
LARGEST_WIDTH: Final = Decimal("1e15")
_WIDE_ENOUGH: Final = 40 * int(LARGEST_PARAMETER)  # no Gaussian in range leaves this with probability above 1e-345
_CLOSE: Final = Decimal("1e-24")
_FINE: Final = decimal.Context(prec=30, rounding=decimal.ROUND_FLOOR)
_GUESS_BITS: Final = 128
_GRID: Final = decimal.Context(prec=22, rounding=decimal.ROUND_FLOOR)


def half_width(noise: Noise, confidence: Number, values: int = 1) -> int:
    """The error bar: the smallest whole t such that all of `values` independent noises are within t.

    Guarantee: P(|noise_i| <= t for every i) >= confidence, certainly; for t - 1 it is not (beyond 30 digits).

    Args:
        noise: the noise that is added, in lattice steps.
        confidence: in (0, 1), such as 0.95.
        values: how many values carry the noise, 1 to 1e9. They are covered together, not one by one.

    Returns:
        Whole lattice steps; 0 when the noise is most likely none.

    Raises:
        InputError: not a noise, or an argument outside its range.

    Reference: independence, P(all) = (1 - tail(t))^values; the tails stand in `laws`.
    """
    require_noise(noise)
    return _half_width(noise, _confidence(confidence), count(values, "values", largest=MAX_VALUES))


@lru_cache(maxsize=4096)
def _half_width(noise: Noise, confidence: Decimal, values: int) -> int:
    allowed = _allowed(confidence, values)

    def within(width: int) -> bool:
        return width >= 0 and bool(tail(noise, width) <= allowed)

    with precision(_GUESS_BITS):
        guess = max(0, int(_quantile(noise, allowed)))
    return _smallest(within, guess)


def noise_within(kind: str | type[Noise], half_width: Number, confidence: Number, values: int = 1) -> Noise:
    """The cheapest noise of this kind whose error bar is certainly at most `half_width`.

    Guarantee: P(|noise_i| <= half_width for every i) >= confidence, certainly; the scale is the largest for which this
    holds, within 1e-22 relative.

    Args:
        kind: discrete_laplace, discrete_gaussian or rounded_gaussian (or the class).
        half_width: in lattice steps, at least 1; a fraction of a step is of no use to whole-step noise and is dropped.
        confidence: in (0, 1).
        values: how many values are covered together.

    Raises:
        InputError: an argument outside its range; a half width below one step, which only "no noise" could meet.

    Reference: the tails are monotone in the scale (monotone likelihood ratio of |noise|), so the root is unique.
    """
    build = noise_kind(kind)
    width = _whole_width(half_width)
    if build is not DiscreteLaplaceNoise:
        width = min(width, _WIDE_ENOUGH)
    allowed = _allowed(_confidence(confidence), count(values, "values", largest=MAX_VALUES))

    def within(parameter: Decimal) -> bool:
        return bool(tail(build(parameter), width) <= allowed)

    with precision(_GUESS_BITS):
        guess = _parameter_guess(build, width, allowed)
    return build(_largest(within, guess))


def _confidence(value: Number) -> Decimal:
    parsed = to_decimal(value, "confidence")
    if not ZERO < parsed < ONE:
        raise InputError(f"confidence={show(value)} is outside (0, 1); write 95 percent as 0.95")
    if not Fraction(SMALLEST) <= Fraction(parsed) <= 1 - Fraction(SMALLEST):
        raise InputError(f"confidence={show(value)} is closer to 0 or 1 than 1e-300")
    return parsed


def _whole_width(value: Number) -> int:
    parsed = to_decimal(value, "half_width", round_up=False)
    if not ONE <= parsed <= LARGEST_WIDTH:
        raise InputError(
            f"half_width={show(value)} lattice steps is outside [1, {text(LARGEST_WIDTH)}]; "
            "noise moves a value by whole steps, so choose a finer step or a wider error bar"
        )
    return int(parsed)


def _allowed(confidence: Decimal, values: int) -> Ball:
    """The tail each value may have: 1 - confidence^(1/values)."""
    return enclose(lambda: -((ball(confidence).log() / values).expm1()), digits=40)


def _quantile(noise: Noise, allowed: Ball) -> float:
    """About the error bar: good to a step or a relative 1e-15."""
    if isinstance(noise, DiscreteLaplaceNoise):
        scale = float(noise.scale)
        damp = (-1 / ball(noise.scale)).exp()
        return scale * float((2 / (allowed * (1 + damp))).log().mid()) - 1
    return float(noise.sigma) * _normal(allowed)


def _normal(allowed: Ball) -> float:
    """z with 2 Q(z) about equal to `allowed`."""
    return float((allowed.erfcinv() * 2**0.5).mid())


def _parameter_guess(build: type[Noise], width: int, allowed: Ball) -> Decimal:
    if build is DiscreteLaplaceNoise:
        # the tail of scale b is 2 a^(width+1)/(1 + a), a = exp(-1/b): a fixed-point iteration in b
        scale, wanted = 1.0, float((2 / allowed).log().mid())
        for _ in range(60):
            damp = 2.718281828459045 ** (-1 / scale)
            scale = (width + 1) / max(1e-9, wanted - float(ball(Decimal(1 + damp)).log().mid()))
        guess = scale
    else:
        guess = (width + 0.5) / max(1e-9, _normal(allowed))
    return min(max(Decimal(guess), SMALLEST_PARAMETER), LARGEST_PARAMETER)


def _smallest(within: Callable[[int], bool], guess: int) -> int:
    """The smallest width that is certainly within, searched outwards from a guess."""
    step, high = 1, guess
    while not within(high):
        high, step = high + step, 2 * step
    low, step = high - 1, 1
    while within(low):
        high, low, step = low, low - step, 2 * step
    while high - low > 1:  # low is not within (or below zero), high is
        middle = (low + high) // 2
        low, high = (low, middle) if within(middle) else (middle, high)
    return high


def _largest(within: Callable[[Decimal], bool], guess: Decimal) -> Decimal:
    """The largest parameter of 22 digits that is certainly within, searched outwards from a guess."""
    low, spread = guess, Decimal("1e-14")
    while not within(low):
        if low == SMALLEST_PARAMETER:
            raise InputError("no noise is small enough for this half width and confidence; choose a finer step")
        low = max(_FINE.divide(low, _FINE.add(ONE, spread)), SMALLEST_PARAMETER)
        spread = _FINE.multiply(spread, Decimal(8))
    high, spread = low, Decimal("1e-14")
    while within(high):
        low = high
        if high == LARGEST_PARAMETER:
            return high
        high = min(_FINE.multiply(high, _FINE.add(ONE, spread)), LARGEST_PARAMETER)
        spread = _FINE.multiply(spread, Decimal(8))
    while _FINE.subtract(high, low) > _FINE.multiply(low, _CLOSE):
        middle = _FINE.divide(_FINE.add(low, high), Decimal(2))
        low, high = (middle, high) if within(middle) else (low, middle)
    between = _GRID.plus(high)  # at most one parameter of 22 digits lies between the two
    return between if between > low and within(between) else max(_GRID.plus(low), SMALLEST_PARAMETER)
