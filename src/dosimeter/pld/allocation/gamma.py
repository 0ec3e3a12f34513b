"""log Gamma on a vertical line of the right half plane, up to multiples of 2 pi i, with its error.

By Stirling's series after a shift: for Re z > 0 its error is at most (the first neglected term) over
cos(arg z / 2)^(2k+2), and 1 / cos(arg z / 2) <= sqrt(2). From Re z = 10 on ten terms leave less than 3e-17. The first
values, which decide most answers, are enclosed by ball arithmetic instead.

Reference: DLMF 5.11.1 and 5.11(ii) for the series; 5.6.9 for the bound.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dosimeter.enclosure import precision
from dosimeter.pld.laws.law import Complexes, Reals
from dosimeter.pld.laws.parts import UNIT

_BERNOULLI: Final = tuple(
    top / bottom
    for top, bottom in (
        ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330))
    )
)
_FROM = 10.0
_ENCLOSED = 64


def log_gamma(real: float, heights: Reals) -> tuple[Complexes, Reals]:
    """log Gamma(real + i heights) and its absolute error, for real > 0.

    Logarithms are right to eight units in the last place; a product of k factors to 3k; the rest is counted.
    """
    shift = max(math.ceil(_FROM - real), 0)
    z = real + 1j * heights
    product = np.ones(len(z), dtype=complex)
    for k in range(shift):
        product = product * (z + k)
    lifted = z + shift
    inverse = 1 / (lifted * lifted)
    series = np.zeros(len(z), dtype=complex)
    for k in range(len(_BERNOULLI), 0, -1):
        series = series * inverse + _BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    main, taken = (lifted - 0.5) * np.log(lifted), np.log(product)
    result = main - lifted + (series / lifted + 0.5 * math.log(2 * math.pi)) - taken
    error = 3e-17 + UNIT * (16 * np.abs(main) + 4 * np.abs(lifted) + 10 * np.abs(taken) + 4 * shift + 16)
    near = min(_ENCLOSED, len(z))
    result[:near] = _enclosed(real, heights[:near])
    error[:near] = 4 * UNIT * (1 + np.abs(result[:near]))
    return result, error


def _enclosed(real: float, heights: Reals) -> list[complex]:
    import flint

    with precision(80):
        return [complex(flint.acb(real, float(height)).lgamma()) for height in heights]


def log_bound(real: float, heights: Reals) -> Reals:
    """log of the bound sqrt(2 pi) |z|^(real - 1/2) e^(-pi |height| / 2 + 1/(6 |z|)) of |Gamma(z)|, real > 0."""
    size = np.hypot(real, heights)
    result: Reals = (
        0.5 * math.log(2 * math.pi) + (real - 0.5) * np.log(size) - (math.pi / 2) * np.abs(heights) + 1 / (6 * size)
    )
    return result + 1e-9
