"""Renyi divergences of the pair of an allocated record, at many orders in little time; every number rounded up.

With W = S/t as in `law`, the divergences are log E W^a / (a - 1) to remove a record and log E W^(1-a) / (a - 1) to add
one. Whole moments are sums of positive terms, which logarithms hold up to order 512; between whole orders the logarithm
of a moment lies below its chord (it is convex in the order), and at small orders, where a chord is coarse, the moment
itself is computed. To add, the geometric mean of the t log-normals lies below their mean, so that

    log E W^-c <= c^2 s / 2t + c s / 2,

which is less than what removing costs once orders are large; only where it is not, the moment is computed.

Reference: Mironov (2017), Definition 4; the bounds are elementary.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.allocation.mellin import Mean, whole_moments
from dosimeter.pld.laws.law import Direction, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.moments import log_moment

MOST_WHOLE = 512
_CHORDS = 8.0  # above this order a chord is within half a per cent
_LITTLE_NOISE = 9.0  # of mu^2: moments take seconds each from here on, and hardly anything is hidden


def log_moments(law: AllocatedGaussianLaw, order: Fraction) -> float:
    """An upper bound of the larger of log E W^order and log E W^(1 - order), order > 1."""
    remove = _remove(law, order)
    c = order - 1
    add = _upward(min(c * c * law.mu_squared / (2 * law.steps) + c * law.mu_squared / 2, _known(law, order)))
    if add > remove and law.mu_squared <= _LITTLE_NOISE:
        add = min(add, log_moment(law, Direction.ADD, _upward(c))[1])
    return max(remove, add)


def _remove(law: AllocatedGaussianLaw, order: Fraction) -> float:
    least = _upward(_known(law, order))
    below, above = math.floor(order), math.ceil(order)
    whole = whole_logs(law, above) if above <= MOST_WHOLE else ()
    if above < len(whole):
        share = float(order - below)
        chord = whole[below] + share * (whole[above] - whole[below])
        least = min(least, chord + 8 * UNIT * (abs(whole[above]) + 1e-300))
    if order <= _CHORDS and law.mu_squared <= _LITTLE_NOISE:
        least = min(least, log_moment(law, Direction.REMOVE, _upward(order - 1))[1])
    return least


def _known(law: AllocatedGaussianLaw, order: Fraction) -> Fraction:
    return order * (order - 1) * law.mu_squared / 2


def whole_logs(law: AllocatedGaussianLaw, order: int) -> tuple[float, ...]:
    """Upper bounds of log E W^n for n = 0, 1, .. up to at least `order`, or to 512."""
    near = whole_moments(Mean(math.sqrt(float(law.mu_squared)), law.steps))
    if order < len(near):
        return near
    size = min(MOST_WHOLE, 1 << max(order - 1, 1).bit_length())
    far = _in_logarithms(law, size)
    return (*near, *far[len(near) :])


@functools.lru_cache(maxsize=64)
def _in_logarithms(law: AllocatedGaussianLaw, size: int) -> tuple[float, ...]:
    """log E W^n for n = 0 .. size, as the coefficients of the t-th power of sum_j E[Y^j] x^j / j!.

    The coefficient of x^0 is one, exactly. If every other logarithm at index n is within c n of the exact one, then
    that holds for a product with c + d, where d bounds what one product's own rounding does.
    """
    n = np.arange(size + 1, dtype=float)
    square = float(law.mu_squared)
    factorials = np.array([math.lgamma(k + 1) for k in range(size + 1)])
    one = square * n * (n - 1) / 2 - factorials
    result, slack = one, UNIT * (32 + 8 * float(np.max(np.abs(one))))
    for bit in bin(law.steps)[3:]:
        result, slack = _product(result, result), slack + _rounding(result, result)
        if bit == "1":
            result, slack = _product(result, one), slack + _rounding(result, one)
    logs = result + factorials - n * math.log(law.steps)
    margin = n * slack + UNIT * 8 * (np.abs(result) + factorials + n * math.log(law.steps) + 1)
    return (0.0, 0.0, *(float(x) for x in (logs + margin)[2:]))


def _product(a: Reals, b: Reals) -> Reals:
    result: Reals = np.empty(len(a))
    for n in range(len(a)):
        result[n] = np.logaddexp.reduce(a[: n + 1] + b[n::-1])
    result[0] = 0.0
    return result


def _rounding(a: Reals, b: Reals) -> float:
    return UNIT * (len(a) + 8) * 2 * (float(np.max(np.abs(a))) + float(np.max(np.abs(b))) + 4)


def _upward(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
