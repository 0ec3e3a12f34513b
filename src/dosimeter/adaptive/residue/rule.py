"""The admission rule in the Gaussian family for any law, checked on a grid and proven in between.

Left side: the law's points together with the Gaussian pair of b - c, LHS(s) = sum of masses times h_(b-c)(s - loss).
Right side: h_b(s) + slack. Both are convex in g = e^s. Between two grid points the left side is at most its chord, and
the right side is at least its chord minus (g' - g)^2 / 8 times the largest second derivative in between, which is a
Gaussian density. So the rule holds from the first grid point to the last if it holds with this gap at the points;
beyond the last one the left side, which falls, must be within the slack. For s >= 0 in both directions this proves it
for all s: D(-s) in one direction is e^-s times D(s) in the other.

Every number is a float with a bound of its error, and the bounds are counted against the charge.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.spread import log_tail

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.dots import Dots
    from dosimeter.pld.laws.law import Reals

_REACH: Final = 9.0  # standard deviations of the Gaussian pair that the grid goes beyond the law's own reach
_LONGEST: Final = 1 << 21


def excess(points: Dots, level: float, charge: float, slack: float) -> float:
    """By how much the rule is missed at most, in one direction for s >= 0; at most 0 proves that it holds.

    Args:
        points: the law in that direction, infinite mass apart from `slack` included.
        level: b, not below the true one where it matters: h_b is taken from a value slightly smaller.
        charge: c, in (0, b].
        slack: what may be missed.
    """
    rest = max(level - charge, 0.0) * (1 + 8 * UNIT) + 4 * UNIT * level  # more left is worse: the left side grows
    own = level * (1 - 4 * UNIT)
    step, index = points.step, np.array(points.index)
    far = max(points.index[-1] * step, 0.0) + _REACH * math.sqrt(level) + level / 2
    last = math.ceil(far / step) + 1
    low, high = -int(index[-1]), last - int(index[0])
    if high - low > _LONGEST:
        return math.inf
    table = gaussian_above(rest, step * np.arange(low, high + 1, dtype=np.float64) - points.shift)
    left = np.zeros(last + 1)
    for j, mass in zip(index.tolist(), points.masses, strict=True):
        left += mass * table[-j - low : -j - low + last + 1]
    left = (left + points.infinite) * (1 + (len(index) + 8) * UNIT)
    at = step * np.arange(last + 1, dtype=np.float64)
    right = gaussian_below(own, at) - _gap(own, at, step)
    return max(float(np.max(left - right)), float(left[-1])) - slack * (1 - 4 * UNIT)


def gaussian_above(b: float, s: Reals) -> Reals:
    """h_b at these points, rounded up."""
    if b <= 0:
        trivial: Reals = np.maximum(-np.expm1(s), 0.0) * (1 + 8 * UNIT) + UNIT
        return trivial
    value, error = _gaussian(b, s)
    result: Reals = np.clip(value + error, 0.0, 1.0)
    return result


def gaussian_below(b: float, s: Reals) -> Reals:
    """h_b at these points, rounded down."""
    value, error = _gaussian(b, s)
    result: Reals = np.maximum(value - error, 0.0)
    return result


def _gaussian(b: float, s: Reals) -> tuple[Reals, Reals]:
    """P(N > s/mu - mu/2) - e^s P(N > s/mu + mu/2), and a bound of the error of floating point.

    An argument that is off by k units of itself moves a tail above zero by at most k (x^2 + 1) units of the tail, and
    one below zero by at most k / 4 units of one. Arguments are off by a few units, and logarithms by their size.
    """
    mu = math.sqrt(b)
    x, y = s / mu - mu / 2, s / mu + mu / 2
    first, second = np.exp(log_tail(x)), np.exp(np.minimum(s + log_tail(y), 0.0))
    value: Reals = first - second
    beyond_x, beyond_y = np.square(np.maximum(x, 0.0)), np.square(np.maximum(y, 0.0))
    error: Reals = 16 * UNIT * ((beyond_x + 8) * first + (beyond_y + np.abs(s) + 8) * second) + 1e-300
    return value, error


def _gap(b: float, s: Reals, step: float) -> Reals:
    """How far h_b lies below its chord over a cell of this step on either side of a point, at most.

    In g its second derivative is the density of the likelihood ratio, exp(-(s + b/2)^2 / (2b)) / (g sqrt(2 pi b)).
    Over [s, s + step] that is at most its value at the end nearer to the mode -3b/2, the left one for s >= 0; the
    width squared is g^2 (e^step - 1)^2.
    """
    before = np.maximum(s - step, 0.0)  # of the two cells beside a point the left one has the larger density
    density = np.exp(-np.square(before - b / 2) / (2 * b)) / math.sqrt(2 * math.pi * b)
    result: Reals = density * (math.expm1(step) ** 2 / 8 * (1 + 1e-9))
    return result
