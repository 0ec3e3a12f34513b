"""The admission rule in the Gaussian family for any law, checked on a grid and proven in between.

Left side: the law's points together with the Gaussian pair of b - c, LHS(s) = sum of masses times h_(b-c)(s - loss).
Right side: h_b(s) + slack. Both are convex in g = e^s. Between two grid points the left side is at most its chord, and
the right side is at least its chord minus (g' - g)^2 / 8 times the largest second derivative in between, which is a
Gaussian density. So the rule holds from the first grid point to the last if it holds with this gap at the points;
beyond the last one the left side, which falls, must be within the slack. For s >= 0 in both directions this proves it
for all s: D(-s) in one direction is e^-s times D(s) in the other.

The left side is (1 - e^s)+, averaged by two sums, plus what h_(b-c) adds to it, averaged by a Fourier transform: that
part is small on both sides of zero, and so is its error. Every number is a float with a bound of its error, and the
bounds are counted against the charge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.adaptive.residue.mills import density, mills
from dosimeter.pld.laws.parts import UNIT

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.dots import Dots
    from dosimeter.pld.laws.law import Complexes, Reals

_REACH: Final = 9.0  # standard deviations of the Gaussian pair that the grid goes beyond the law's own reach
_LONGEST: Final = 1 << 21
_AROUND: Final = np.array([0.75, 0.9, 0.97, 1.0, 1.03, 1.12, 1.35, 1.8])  # where a glance goes, in places
_SEEN: Final = 96  # points of an estimate
_FEW: Final = 48  # points up to which a sum is as fast as three transforms
_SMALL: Final = 1 / 64  # a transform whose error is a larger share of the slack is not worth its speed


def excess(points: Dots, level: float, charge: float, slack: float) -> float:
    """By how much the rule is missed at most, in one direction for s >= 0; at most 0 proves that it holds.

    Args:
        points: the law in that direction, infinite mass apart from `slack` included.
        level: b, not below the true one where it matters: h_b is taken from a value slightly smaller.
        charge: c, in (0, b].
        slack: what may be missed.
    """
    return tightest(points, level, charge, slack)[0]


def tightest(points: Dots, level: float, charge: float, slack: float) -> tuple[float, int]:
    """`excess`, and the grid point from zero on where the rule is closest to being missed."""
    rest = max(level - charge, 0.0) * (1 + 8 * UNIT) + 4 * UNIT * level  # more left is worse: the left side grows
    own = level * (1 - 4 * UNIT)
    step, index = points.step, np.array(points.index)
    far = max(points.index[-1] * step, 0.0) + _REACH * math.sqrt(level) + level / 2
    last = math.ceil(far / step) + 1
    if last + int(index[-1] - index[0]) > _LONGEST:
        return math.inf, 0
    right = _right(own, step, last)
    left = _together(points, index, rest, last, slack)
    over = left - right
    place = int(np.argmax(over))
    return max(float(over[place]), float(left[-1])) - slack * (1 - 4 * UNIT), place


@dataclass(frozen=True, slots=True)
class Glance:
    """The rule at a few points only, without any error bound: it proves nothing, and tells where to look."""

    step: float
    losses: Reals
    masses: Reals
    infinite: float

    @classmethod
    def of(cls, points: Dots) -> Glance:
        """Of a law."""
        losses = points.step * np.array(points.index) + points.shift
        return cls(points.step, losses, np.array(points.masses), points.infinite)

    def missed(self, level: float, charge: float, slack: float, around: float) -> float:
        """About what `excess` finds if the rule is closest to being missed near the grid point `around`."""
        rest = max(level - charge, 0.0)
        s = self.step * np.rint(around * _AROUND)
        away = s[:, None] - self.losses
        left = -np.expm1(np.minimum(away, 0.0))
        if rest > 0:
            left += _beyond_trivial(rest, away)
        over = left @ self.masses - _beyond_trivial(level, s) + _gap(level, s, self.step)
        return float(over.max()) + self.infinite - slack


def alone(points: Dots, slack: float) -> float:
    """About the smallest b at which h_b is nowhere below the law's own divergence less the slack: an estimate."""
    last = max(int(points.index[-1]), 1)
    places = np.unique(np.geomspace(1, last, _SEEN).astype(np.int64) - 1)
    s = points.step * places.astype(np.float64)
    losses = points.step * np.array(points.index) + points.shift
    own = -np.expm1(np.minimum(s[:, None] - losses, 0.0)) @ np.array(points.masses) - slack
    low, high = math.log(points.deviation**2) - 1, math.log(1e4)
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if float(np.max(own - _beyond_trivial(math.exp(middle), s))) <= 0 else (middle, high)
    return math.exp(high)


@lru_cache(maxsize=8)
def _right(own: float, step: float, last: int) -> Reals:
    """h_b at the first `last` + 1 grid points from zero on, rounded down, less its gap."""
    at = step * np.arange(last + 1, dtype=np.float64)
    return gaussian_below(own, at) - _gap(own, at, step)


def _together(points: Dots, index: Reals, rest: float, last: int, slack: float) -> Reals:
    """The left side at the first `last` + 1 grid points from zero on, rounded up."""
    step, first = points.step, int(index[0])
    masses = np.array(points.masses)
    low, high = -int(index[-1]), last - first
    table = step * np.arange(low, high + 1, dtype=np.float64) - points.shift
    added = _above_trivial(rest, table)
    dense = np.zeros(int(index[-1]) - first + 1)
    dense[index - first] = masses
    smooth = _by_transform(points, masses, added, last, slack) if len(index) > _FEW else None
    if smooth is None:
        smooth = _by_hand(points, index, added, last)
    left: Reals = smooth + _trivial(dense, first, step, points.shift, last, len(index)) + points.infinite
    return left * (1 + 8 * UNIT)


def _by_transform(points: Dots, masses: Reals, added: Reals, last: int, slack: float) -> Reals | None:
    """What h_(b-c) adds at each grid point, averaged, rounded up; None where the error takes too much slack."""
    length, width = 1 << (len(added) - 1).bit_length(), points.index[-1] - points.index[0] + 1
    turned = _turned(points, length) * np.fft.rfft(added, length)
    # each transform is off by `unit` of its input in the 2-norm, each output of the last by `unit` of its mean input
    unit = 8 * (length.bit_length() + 3) * UNIT * (1 + 1e-9)
    norms = math.sqrt(float(masses @ masses) * float(added @ added))
    error = 2 * unit * (norms * (1 + 1e-9) + float(np.abs(turned).sum()) / length)
    if error > slack * _SMALL:
        return None
    # outputs that wrap around lie before the first that is wanted
    smooth: Reals = np.fft.irfft(turned, length)[width - 1 : width + last] + error
    return smooth


@lru_cache(maxsize=16)
def _turned(points: Dots, length: int) -> Complexes:
    """The transform of the masses, the lowest first."""
    index = np.array(points.index)
    dense = np.zeros(length)
    dense[index - index[0]] = points.masses
    return np.fft.rfft(dense)


def _by_hand(points: Dots, index: Reals, added: Reals, last: int) -> Reals:
    """The same by a sum: exact but for roundings."""
    high = int(index[-1])  # added[0] belongs to the grid point -high
    smooth = np.zeros(last + 1)
    for j, mass in zip(index.tolist(), points.masses, strict=True):
        smooth += mass * added[high - j : high - j + last + 1]
    smooth *= 1 + (len(index) + 8) * UNIT
    return smooth


def _trivial(dense: Reals, first: int, step: float, shift: float, last: int, terms: int) -> Reals:
    """The sum of masses times (1 - e^(s - loss))+ at the grid points from zero on, rounded up."""
    start = max(0, -first)  # losses from zero on
    losses = step * np.arange(first + start, first + len(dense), dtype=np.float64) + shift
    kept = dense[start:]
    mass = np.cumsum(kept[::-1])[::-1]
    weighted = np.cumsum((kept * np.exp(-losses))[::-1])[::-1]
    place = np.arange(min(last + 1, first + len(dense)))
    above = np.maximum(place - first - start, 0)
    growth = np.exp(np.minimum(step * place, 700.0))
    result = np.zeros(last + 1)
    result[: len(place)] = np.maximum(mass[above] - growth * weighted[above], 0.0)
    result[: len(place)] += (2 * terms + 32) * UNIT * mass[above]
    return result


def gaussian_above(b: float, s: Reals) -> Reals:
    """h_b at these points, rounded up."""
    trivial: Reals = -np.expm1(np.minimum(s, 0.0)) * (1 + 8 * UNIT)
    if b <= 0:
        return trivial
    result: Reals = np.minimum(trivial + _above_trivial(b, s), 1.0)
    return result


def gaussian_below(b: float, s: Reals) -> Reals:
    """h_b at these points, rounded down."""
    value, error = _difference(b, s)
    trivial = -np.expm1(np.minimum(s, 0.0)) * (1 - 8 * UNIT)
    result: Reals = trivial + np.maximum(value - error, 0.0)
    return result


def _above_trivial(b: float, s: Reals) -> Reals:
    """h_b - (1 - e^s)+ at these points, rounded up."""
    value, error = _difference(b, s)
    result: Reals = np.clip(value + error, 0.0, 1.0)
    return result


def _beyond_trivial(b: float, s: Reals) -> Reals:
    """h_b - (1 - e^s)+ at these points, nearly: what `_difference` bounds the error of."""
    mu = math.sqrt(b)
    x, y = s / mu - mu / 2, s / mu + mu / 2
    phi, at_x, at_y = density(x), mills(np.abs(x)), mills(np.abs(y))
    middle = (x < 0) & (y >= 0)
    value: Reals = np.where(middle, np.exp(np.minimum(s, 0.0)) - phi * (at_x + at_y), phi * np.abs(at_x - at_y))
    return value


def _difference(b: float, s: Reals) -> tuple[Reals, Reals]:
    """h_b - (1 - e^s)+ at these points, and a bound of the error of floating point.

    With x = s/mu - mu/2, y = x + mu and Mills' ratio m, e^s density(y) = density(x), so that h_b is
    density(x) (m(x) - m(y)) where x >= 0 and 1 - density(x) (m(-x) + m(y)) where x < 0 <= y; where y < 0 it is
    1 - e^s + density(x) (m(-y) - m(-x)). Arguments are off by at most four units of A = |s|/mu + mu; that moves a
    density by 4 A^2 + A^2 units of itself and a ratio by 4 A units. In the middle the two numbers of size one that are
    subtracted add units of their own.
    """
    mu = math.sqrt(b)
    x, y = s / mu - mu / 2, s / mu + mu / 2
    phi, at_x, at_y = density(x), mills(np.abs(x)), mills(np.abs(y))
    middle = (x < 0) & (y >= 0)
    value = phi * np.where(middle, 0.0, np.abs(at_x - at_y))
    value = np.where(middle, np.where(s < 0, np.exp(np.minimum(s, 0.0)), 1.0) - phi * (at_x + at_y), value)
    size = np.abs(s) / mu + mu
    error: Reals = UNIT * phi * (at_x + at_y) * (5 * np.square(size) + 4 * size + 24) + 1e-300
    error += np.where(middle, 8 * UNIT, 0.0)
    return value, error


def _gap(b: float, s: Reals, step: float) -> Reals:
    """How far h_b lies below its chord over a cell of this step on either side of a point, at most.

    In g its second derivative is the density of the likelihood ratio, exp(-(s + b/2)^2 / (2b)) / (g sqrt(2 pi b)).
    Over [s, s + step] that is at most its value at the end nearer to the mode -3b/2, the left one for s >= 0; the
    width squared is g^2 (e^step - 1)^2.
    """
    before = np.maximum(s - step, 0.0)  # of the two cells beside a point the left one has the larger density
    likelihood = np.exp(-np.square(before - b / 2) / (2 * b)) / math.sqrt(2 * math.pi * b)
    result: Reals = likelihood * (math.expm1(step) ** 2 / 8 * (1 + 1e-9))
    return result
