"""Gaussian tails of whole arrays, to a few units in the last place: P(N > x) is the density at x times Mills' ratio.

Mills' ratio m solves m' = x m - 1, so all its derivatives follow from its value. Around each eighth of a whole
number it is summed as a Taylor series of degree twelve whose coefficients were computed in ball arithmetic; what the
series leaves out is below 1e-18 of it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.enclosure import ball, precision

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Reals

RATIO_ERROR: Final = 6 * 2.0**-53  # of `mills`, relative
_PER_UNIT: Final = 8
_FAR: Final = 40
_DEGREE: Final = 12
_BITS: Final = 320  # each derivative loses about two bits per bit of x


def mills(x: Reals) -> Reals:
    """P(N(0, 1) > x) / density(x) for x >= 0, within `RATIO_ERROR` of itself; beyond 40 by its asymptotic series."""
    far = x > _FAR
    if far.any():
        result: Reals = np.where(far, _series(np.maximum(x, float(_FAR))), mills(np.where(far, 0.0, x)))
        return result
    place = np.rint(x * _PER_UNIT).astype(np.int64)
    away = x - place / _PER_UNIT  # exact
    series = np.take(_table(), place, axis=1)
    total: Reals = series[_DEGREE]
    for degree in range(_DEGREE - 1, -1, -1):
        total *= away
        total += series[degree]
    return total


def density(x: Reals) -> Reals:
    """The density of N(0, 1)."""
    result: Reals = np.exp(-0.5 * np.square(x)) * (1 / math.sqrt(2 * math.pi))
    return result


def _series(x: Reals) -> Reals:
    """1/x - 1/x^3 + 3/x^5 - ...; its first term left out is below 1e-17 of the sum from 40 on."""
    y = 1 / np.square(x)
    result: Reals = (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y * (1 - 11 * y)))))) / x
    return result


@lru_cache(maxsize=1)
def _table() -> Reals:
    """The Taylor coefficients: a row of each degree, a column of each place."""
    rows = []
    with precision(_BITS):
        root = ball(2).sqrt()
        half = (ball(1).atan() * 2).sqrt()  # the ratio at 0: the root of half of pi
        for place in range(_FAR * _PER_UNIT + 1):
            x = ball(place) / _PER_UNIT
            found = [half * (x * x / 2).exp() * (x / root).erfc()]
            found.append(x * found[0] - 1)
            for n in range(1, _DEGREE):
                found.append(x * found[n] + n * found[n - 1])
            factorial, row = 1, []
            for n, value in enumerate(found):
                factorial *= max(n, 1)
                row.append(float(value / factorial))
            rows.append(row)
    return np.ascontiguousarray(np.array(rows).T)
