"""The t-th power of a truncated power series, with a bound of what rounding does to it.

For A = 1 + a_1 x + ... the coefficients of B = A^t satisfy n b_n = sum_j (j (t + 1) - n) a_j b_(n-j) (differentiate
B' A = t A' B). For t >= n all factors j (t + 1) - n are positive, so nothing cancels but phases; for smaller t it is
formed by squaring. Either way the same steps with absolute values give numbers b_n' >= |b_n|. Every product on the
way to b_n carries at most n factors a_j and few rounded operations; and moving the a_j by e_j moves b_n by at most what
adding e_j to their absolute values does to b_n'.

Reference: Knuth, The Art of Computer Programming, volume 2, section 4.7 (Euler; often named after Miller).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dosimeter.pld.laws.law import Complexes, Reals
from dosimeter.pld.laws.parts import UNIT

_ROWS = 2048  # points at a time, so that their series stay in the processor's cache


def power(scaled: Complexes, steps: int, errors: Reals) -> tuple[Complexes, Reals]:
    """The coefficient of x^n in (1 + sum_j scaled[j-1] (x/t)^j)^t, t = steps, n = len(scaled); its absolute error.

    Args:
        scaled: t^j a_j, j = 1 .. n, along the first axis.
        steps: t.
        errors: absolute errors of the same.
    """
    blocks = [slice(at, at + _ROWS) for at in range(0, scaled.shape[1], _ROWS)]
    found = [_power(scaled[:, block], steps, errors[:, block]) for block in blocks]
    return np.concatenate([one for one, _ in found]), np.concatenate([error for _, error in found])


def _power(scaled: Complexes, steps: int, errors: Reals) -> tuple[Complexes, Reals]:
    sizes = np.abs(scaled)
    plain, above = coefficients(sizes, steps)[-1], coefficients(sizes + errors, steps)[-1]
    return coefficients(scaled, steps)[-1], above - plain + above * rounding(len(scaled), steps)


def rounding(order: int, steps: int) -> float:
    """What rounding does to a coefficient, relative to the same coefficient with absolute values everywhere."""
    depth = order if steps >= order else steps
    return 4 * UNIT * (depth + 1) * (order + 10)


def coefficients(scaled: Any, steps: int) -> Any:
    """All coefficients, from that of x^0 on."""
    return _by_recurrence(scaled, steps) if steps >= len(scaled) else _by_squaring(scaled, steps)


def _by_recurrence(scaled: Any, steps: int) -> Any:
    series = np.ones((len(scaled) + 1, *scaled.shape[1:]), dtype=scaled.dtype)
    for n in range(1, len(scaled) + 1):
        factors = [(j * (steps + 1) - n) / (n * steps**j) for j in range(1, n + 1)]
        series[n] = np.array(factors, dtype=scaled.dtype) @ (scaled[:n] * series[n - 1 :: -1])
    return series


def _by_squaring(scaled: Any, steps: int) -> Any:
    powers = (float(steps) ** np.arange(len(scaled) + 1)).reshape(-1, *[1] * (scaled.ndim - 1))
    base = np.concatenate([np.ones((1, *scaled.shape[1:]), dtype=scaled.dtype), scaled / powers[1:]])
    result = base
    for bit in bin(steps)[3:]:
        result = _product(result, result)
        if bit == "1":
            result = _product(result, base)
    return result


def _product(left: Any, right: Any) -> Any:
    return np.stack([(left[: n + 1] * right[n::-1]).sum(axis=0) for n in range(len(left))])
