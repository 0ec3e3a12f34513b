"""Find a parameter from a target: the noise, the count, the sampling probability that a fixed plan can afford.

The answer is on the safe side by certificate: at the returned value the plan's certified upper epsilon is at most the
target. How close it is to the best is shown by the rival, the nearest value tried that was not certified.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import Bound, certainly_le

TOLERANCE: Final = Decimal("1e-9")
DIGITS: Final = 13
MAX_TRIES: Final = 200
_BLUNT: Final = 30.0  # logarithms of ratios are cut here, so that zero and infinity can be searched past


@dataclass(frozen=True, slots=True)
class Solution:
    """A parameter that meets the target.

    Args:
        value: meets the target, by certificate.
        epsilon: the plan's epsilon at `value`, enclosed.
        rival: the nearest value tried that does not certainly meet it; None where the whole range does.
        tries: how many values were priced.
    """

    value: Decimal
    epsilon: Bound
    rival: Decimal | None
    tries: int


def solve(
    price: Callable[[Decimal], Bound | None],
    target: Decimal,
    *,
    rising: bool,
    low: Decimal,
    high: Decimal,
    whole: bool = False,
    start: Decimal | None = None,
    tolerance: Decimal = TOLERANCE,
) -> Solution:
    """The last value, coming from the safe end of [low, high], whose price is certainly at most `target`.

    Guarantee: price(value).upper <= target at the returned value. Where the price is monotone, every value beyond the
    rival fails to be certified, and value and rival differ by at most `tolerance`, relatively (by 1 for whole numbers).

    Args:
        price: encloses epsilon at a value; None where there is no finite epsilon.
        target: the epsilon that may not be exceeded, positive.
        rising: whether epsilon grows with the value (counts, probabilities) or falls (noise).
        low: least value allowed, positive.
        high: largest value allowed.
        whole: whether only whole numbers make sense.
        start: where to look first.
        tolerance: relative distance between value and rival at the end.

    Raises:
        NoGuaranteeError: not even the safe end of the range meets the target.

    Reference: bracketing with the Illinois rule (Dowell, Jarratt 1971); every decision compares certified bounds.
    """
    if not 0 < low <= high:
        raise InputError(f"the range [{low}, {high}] is empty or not positive")
    search = _Search(price, target, rising, low, high, whole)
    safe, unsafe = search.bracket(start)
    if unsafe is None:
        return Solution(safe.value, safe.epsilon, None, search.tries)
    while not search.close(safe, unsafe, tolerance) and search.tries < MAX_TRIES:
        trial = search.between(safe, unsafe)
        if trial.value in (safe.value, unsafe.value):
            break
        if trial.fits:
            safe = trial
            search.last_kept_unsafe()
        else:
            unsafe = trial
            search.last_kept_safe()
    return Solution(safe.value, safe.epsilon, unsafe.value, search.tries)


@dataclass(frozen=True, slots=True)
class _Trial:
    value: Decimal
    bound: Bound | None
    excess: float  # log(upper / target): at most 0 when it fits
    fits: bool

    @property
    def epsilon(self) -> Bound:
        if self.bound is None:
            raise NoGuaranteeError("no finite epsilon was found")
        return self.bound


class _Search:
    def __init__(
        self,
        price: Callable[[Decimal], Bound | None],
        target: Decimal,
        rising: bool,
        low: Decimal,
        high: Decimal,
        whole: bool,
    ) -> None:
        self.price, self.target, self.rising, self.whole = price, target, rising, whole
        self.low, self.high = low, high
        self.tries = 0
        self._weights = [1.0, 1.0]  # of the safe and the unsafe end, halved when an end is kept twice
        self._kept = ""

    def trial(self, value: Decimal) -> _Trial:
        self.tries += 1
        bound = self.price(value)
        if bound is None:
            return _Trial(value, None, _BLUNT, fits=False)
        fits = certainly_le(bound.upper, self.target)
        ratio = float(bound.upper / self.target)
        excess = max(-_BLUNT, min(_BLUNT, math.log(ratio))) if ratio > 0 else -_BLUNT
        return _Trial(value, bound, min(excess, -1e-300) if fits else max(excess, 1e-300), fits)

    def bracket(self, start: Decimal | None) -> tuple[_Trial, _Trial | None]:
        """A value that fits next to one that does not; the second is None when the far end of the range fits."""
        near, far = (self.low, self.high) if self.rising else (self.high, self.low)
        middle = self.rounded(math.exp((math.log(self.low) + math.log(self.high)) / 2))
        here = self.trial(min(max(start, self.low), self.high) if start is not None else middle)
        step = 0.7
        while True:
            toward = far if here.fits else near
            if here.value == toward:
                if here.fits:
                    return here, None
                raise NoGuaranteeError(
                    f"not even {toward:g} meets epsilon={self.target:g}; allow more, or change the plan"
                )
            sign = 1 if toward > here.value else -1
            moved = self.rounded(math.exp(math.log(here.value) + sign * step))
            moved = min(moved, toward) if sign > 0 else max(moved, toward)
            if moved == here.value:
                moved = here.value + sign
            there = self.trial(moved)
            if there.fits != here.fits:
                return (here, there) if here.fits else (there, here)
            here, step = there, 2 * step

    def between(self, safe: _Trial, unsafe: _Trial) -> _Trial:
        """The point where a straight line through both ends, in logarithms, meets the target."""
        a, b = math.log(safe.value), math.log(unsafe.value)
        fa, fb = safe.excess * self._weights[0], unsafe.excess * self._weights[1]
        share = fa / (fa - fb)
        value = self.rounded(math.exp(a + min(max(share, 1e-12), 1 - 1e-12) * (b - a)))
        if self.whole:  # strictly between the ends, which differ by at least two
            value = min(max(value, min(safe.value, unsafe.value) + 1), max(safe.value, unsafe.value) - 1)
        elif value in (safe.value, unsafe.value):  # the ends are neighbours at this precision, or the line is steep
            value = self.rounded(math.exp((a + b) / 2))
        return self.trial(value)

    def close(self, safe: _Trial, unsafe: _Trial, tolerance: Decimal) -> bool:
        gap = abs(safe.value - unsafe.value)
        return gap <= 1 if self.whole else gap <= tolerance * min(safe.value, unsafe.value)

    def last_kept_unsafe(self) -> None:
        self._keep("unsafe", 1)

    def last_kept_safe(self) -> None:
        self._keep("safe", 0)

    def _keep(self, which: str, index: int) -> None:
        self._weights[index] = self._weights[index] / 2 if self._kept == which else 1.0
        self._weights[1 - index] = 1.0
        self._kept = which

    def rounded(self, value: float) -> Decimal:
        """A decimal of few digits, rounded toward the safe end."""
        down = self.rising
        if self.whole:
            return Decimal(math.floor(value) if down else math.ceil(value))
        rounding = decimal.ROUND_FLOOR if down else decimal.ROUND_CEILING
        return decimal.Context(prec=DIGITS, rounding=rounding).create_decimal(repr(value))
