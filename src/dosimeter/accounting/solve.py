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
DIGITS: Final = 15
MAX_TRIES: Final = 200
_BLUNT: Final = 30.0  # logarithms of ratios are cut here, so that zero and infinity can be searched past
_SHORT: Final = 8  # digits of a number that somebody may have chosen
_SLOW: Final = 4  # tries without halving the range, after which it is halved


@dataclass(frozen=True, slots=True)
class Solution:
    """A parameter that meets the target.

    Args:
        value: meets the target, by certificate.
        epsilon: the plan's price at `value`, enclosed: an epsilon, unless the search was for another quantity.
        rival: the nearest value tried that does not certainly meet it; None where the whole range does.
        tries: how many values were priced.
        rival_epsilon: the plan's price at `rival`, enclosed; None where it has no finite one, or there is no rival.
    """

    value: Decimal
    epsilon: Bound
    rival: Decimal | None
    tries: int
    rival_epsilon: Bound | None = None

    def rival_fails(self, target: Decimal) -> bool:
        """Whether the rival certainly misses the target: then no better value is left between it and `value`."""
        if self.rival is None:
            return False
        return self.rival_epsilon is None or self.rival_epsilon.lower > target


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
        tolerance: relative distance between value and rival at the end, in [1e-13, 1e-2].

    Raises:
        NoGuaranteeError: not even the safe end of the range meets the target.
        InputError: an empty range, or a tolerance outside its own.

    Reference: inverse quadratic interpolation inside a bracket (Brent 1973, chapter 4), aimed a little past the root so
        that the ends close in from both sides; every decision compares certified bounds.
    """
    if not 0 < low <= high:
        raise InputError(f"the range [{low}, {high}] is empty or not positive")
    if not Decimal("1e-13") <= tolerance <= Decimal("0.01"):
        raise InputError(f"tolerance={tolerance} is outside [1e-13, 0.01]")
    search = _Search(price, target, rising, low, high, whole, float(tolerance))
    safe, unsafe = search.bracket(start)
    slow = 0
    while unsafe is not None and not search.close(safe, unsafe, tolerance) and search.tries < MAX_TRIES:
        gap = abs(safe.place - unsafe.place)
        trial = search.between(safe, unsafe, halve=slow >= _SLOW)
        if trial.value in (safe.value, unsafe.value):
            break
        safe, unsafe = (trial, unsafe) if trial.fits else (safe, trial)
        slow = slow + 1 if abs(safe.place - unsafe.place) > gap / 2 else 0
    if unsafe is None:
        return Solution(safe.value, safe.epsilon, None, search.tries)
    short = None if whole else _shortest(safe.value, unsafe.value)
    if short is not None:  # a target that was made from a round number finds it again
        trial = search.trial(short)
        safe, unsafe = (trial, unsafe) if trial.fits else (safe, trial)
    return Solution(safe.value, safe.epsilon, unsafe.value, search.tries, unsafe.bound)


def _shortest(safe: Decimal, unsafe: Decimal) -> Decimal | None:
    """A decimal of few digits beside `safe`, on the way to `unsafe`; None if `safe` is as short, or there is none."""
    rounding = decimal.ROUND_CEILING if safe < unsafe else decimal.ROUND_FLOOR
    for digits in range(1, min(_SHORT + 1, len(safe.normalize().as_tuple().digits))):
        near = decimal.Context(prec=digits, rounding=rounding).plus(safe)
        if min(safe, unsafe) < near < max(safe, unsafe):
            return near
    return None


@dataclass(frozen=True, slots=True)
class _Trial:
    value: Decimal
    place: float  # log of the value
    bound: Bound | None
    excess: float  # log(upper / target): at most 0 when it fits
    fits: bool

    @property
    def epsilon(self) -> Bound:
        if self.bound is None:
            raise NoGuaranteeError("no finite epsilon was found")
        return self.bound

    @property
    def blunt(self) -> bool:
        return abs(self.excess) >= _BLUNT


class _Search:
    def __init__(
        self,
        price: Callable[[Decimal], Bound | None],
        target: Decimal,
        rising: bool,
        low: Decimal,
        high: Decimal,
        whole: bool,
        tolerance: float,
    ) -> None:
        self.price, self.target, self.rising, self.whole = price, target, rising, whole
        self.low, self.high = low, high
        self.tolerance = tolerance
        self.tried: list[_Trial] = []

    @property
    def tries(self) -> int:
        return len(self.tried)

    def trial(self, value: Decimal) -> _Trial:
        bound, place = self.price(value), math.log(value)
        if bound is None:
            made = _Trial(value, place, None, _BLUNT, fits=False)
        else:
            fits = certainly_le(bound.upper, self.target)
            ratio = float(bound.upper / self.target)
            excess = max(-_BLUNT, min(_BLUNT, math.log(ratio))) if ratio > 0 else -_BLUNT
            made = _Trial(value, place, bound, min(excess, -1e-300) if fits else max(excess, 1e-300), fits)
        self.tried.append(made)
        return made

    def bracket(self, start: Decimal | None) -> tuple[_Trial, _Trial | None]:
        """A value that fits next to one that does not; the second is None when the far end of the range fits."""
        near, far = (self.low, self.high) if self.rising else (self.high, self.low)
        middle = self.rounded((math.log(self.low) + math.log(self.high)) / 2)
        here = self.trial(min(max(start, self.low), self.high) if start is not None else middle)
        step, least = 0.7, 0.01
        while True:
            toward = far if here.fits else near
            if here.value == toward:
                if here.fits:
                    return here, None
                raise NoGuaranteeError(self._nothing(here))
            sign = 1 if toward > here.value else -1
            if not here.blunt:  # a price moves about as fast as the value, or half as fast: a little further than that
                step = max(min(step, 1.2 * self._steepness(here) * abs(here.excess)), least)
            moved = self.rounded(here.place + sign * step)
            moved = min(moved, toward) if sign > 0 else max(moved, toward)
            if moved == here.value:
                moved = here.value + sign if self.whole else toward
            there = self.trial(moved)
            if there.fits != here.fits:
                return (here, there) if here.fits else (there, here)
            here, step, least = there, 3 * max(step, 0.1), 3 * least  # a flat price is crossed in growing steps too

    def _steepness(self, here: _Trial) -> float:
        """By how much the value has to move for a change of the price, both as logarithms, from the last two tries."""
        if self.tries < 2 or self.tried[-2].blunt or self.tried[-2].excess == here.excess:
            return 2.0 if self.whole else 1.0
        last = self.tried[-2]
        return min(max(abs((here.place - last.place) / (here.excess - last.excess)), 0.1), 100.0)

    def _nothing(self, here: _Trial) -> str:
        least = "it has no finite price" if here.bound is None else f"the price is at least {here.bound.lower:.9g}"
        return (
            f"not even {here.value:g} meets {self.target:g}: {least} there, whatever else is chosen in "
            f"[{self.low:g}, {self.high:g}]; allow more, or change the rest of the plan"
        )

    def between(self, safe: _Trial, unsafe: _Trial, *, halve: bool) -> _Trial:
        """A try near the root: past it as seen from the last try, so that both ends of the bracket come close."""
        low, high = sorted((safe.place, unsafe.place))
        width = high - low
        root = None if halve else self._root(safe, unsafe)
        if root is None:
            at = (low + high) / 2
        else:
            least = self._least(safe)
            last = safe if self.tried[-1].fits else unsafe
            other = unsafe if last is safe else safe
            far = abs(root - last.place)
            past = max(0.4 * least, min(0.02 * far, 2 * far * far))
            at = root + math.copysign(past, other.place - last.place)
            if abs(at - last.place) > 0.75 * least or width <= least:
                at = min(max(at, low + 0.4 * least), high - 0.4 * least)
            else:  # the last try is the root as nearly as it needs to be: the other end belongs right beside it
                at = last.place + math.copysign(0.9 * least, other.place - last.place)
        value = self.rounded(at)
        if self.whole:  # strictly between the ends, which differ by at least two
            value = min(max(value, min(safe.value, unsafe.value) + 1), max(safe.value, unsafe.value) - 1)
        elif value in (safe.value, unsafe.value):  # the ends are neighbours at this precision, or the line is steep
            value = self.rounded((low + high) / 2)
        return self.trial(value)

    def _root(self, safe: _Trial, unsafe: _Trial) -> float | None:
        """Where the price meets the target, by the ends and a third try; None if it tells nothing."""
        if safe.blunt or unsafe.blunt:
            return None
        share = safe.excess / (safe.excess - unsafe.excess)
        line = safe.place + share * (unsafe.place - safe.place)
        others = [t for t in self.tried if not t.blunt and t not in (safe, unsafe)]
        if others:
            third = min(others, key=lambda t: abs(t.place - line))
            known = (safe, unsafe, third)
            f = [t.excess for t in known]
            if len(set(f)) == len(f):
                curve = 0.0
                for k, one in enumerate(known):
                    weight = math.prod(f[j] / (f[j] - f[k]) for j in range(3) if j != k)
                    curve += weight * (one.place - line)
                if min(safe.place, unsafe.place) < line + curve < max(safe.place, unsafe.place):
                    return line + curve
        return line

    def _least(self, safe: _Trial) -> float:
        """The distance of two logarithms that counts as the end of the search."""
        return max(self.tolerance, 1 / float(safe.value)) if self.whole else self.tolerance

    def close(self, safe: _Trial, unsafe: _Trial, tolerance: Decimal) -> bool:
        gap = abs(safe.value - unsafe.value)
        return gap <= 1 if self.whole else gap <= tolerance * min(safe.value, unsafe.value)

    def rounded(self, place: float) -> Decimal:
        """The value at a logarithm, as a decimal of few digits, rounded toward the safe end."""
        down, value = self.rising, math.exp(place)
        if self.whole:
            return Decimal(math.floor(value) if down else math.ceil(value))
        rounding = decimal.ROUND_FLOOR if down else decimal.ROUND_CEILING
        return decimal.Context(prec=DIGITS, rounding=rounding).create_decimal(repr(value))
