"""How far one record can move a stream's measurements when it takes part more than once.

A record in steps S moves C G by sum_(s in S) C_s g_s^T with |g_s| at most 1, so the squared change is at most
sum_(s,t in S) |<C_s, C_t>|. The worst S that the participation rule allows is found exactly where that is feasible,
and bounded from above otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from operator import mul
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from dosimeter.errors import InputError
from dosimeter.exact import Number, amount, count, divide_up, fraction_up, multiply_up, show, sqrt_up, to_fraction
from dosimeter.mechanisms.matrix.arrays import decimal_up, off
from dosimeter.mechanisms.matrix.streams import MAX_STEPS, StreamStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dosimeter.mechanisms.matrix.arrays import Array

_EXACT_STEPS: Final = 64
_MOST_SETS: Final = 200_000


def sensitivity_squared(
    strategy: StreamStrategy, *, min_separation: int | None = None, max_participations: int = 1
) -> Decimal:
    """The largest squared change of the measurements by one record of size 1, rounded up.

    A record takes part in at most `max_participations` steps, any two of them at least `min_separation` apart, each
    time with a vector of norm at most 1 that may differ between steps.

    Guarantee: an upper bound for every participation that the two numbers allow, from the inner products of columns
    taken in absolute value: max over sets S of sum_(s,t in S) |<C_s, C_t>|. It is attained when all entries are
    nonnegative. For one participation it is the largest squared column norm, exactly that.

    Args:
        strategy: C.
        min_separation: least distance of two participations; 1 means consecutive steps are allowed. Needed as soon as
            there is more than one participation.
        max_participations: k, 1 to the number of steps.

    Raises:
        InputError: not a strategy, or numbers outside their range.

    Reference: Choquette-Choo, McMahan, Rush, Thakurta, "Multi-epoch matrix factorization mechanisms for private machine
    learning" (2023), section 3; Choquette-Choo et al., "(Amplified) banded matrix factorization" (2023), Theorem 2.
    """
    if not isinstance(cast("object", strategy), StreamStrategy):
        raise InputError(f"strategy={show(strategy)} is not a StreamStrategy")
    steps = strategy.steps
    k = count(max_participations, "max_participations", largest=steps)
    if k > 1 and min_separation is None:
        raise InputError("with more than one participation, say how far apart they are: min_separation=1 or more")
    gap = count(1 if min_separation is None else min_separation, "min_separation", largest=steps)
    k = min(k, (steps - 1) // gap + 1)
    rows = [[Fraction(float(v)) for v in row] for row in strategy.matrix] if steps <= _EXACT_STEPS else None
    if k == 1:
        if rows is not None:
            return fraction_up(max(sum((r[j] ** 2 for r in rows), Fraction(0)) for j in range(steps)))
        return _up(float((strategy.matrix**2).sum(axis=0).max()), steps)
    if rows is not None:
        worst = _worst_participation(rows, gap, k)
        if worst is not None:
            return fraction_up(worst)
    sizes = np.abs(strategy.matrix)
    # where columns nearly cancel, rounding is large beside their product: it is bounded by the product of the sizes
    gram = np.abs(strategy.matrix.T @ strategy.matrix) + off(steps + 2) * (sizes.T @ sizes)
    return _up(_participation_bound(gram, gap, k), steps * 4)


def toeplitz_sensitivity_squared(
    coefficients: Sequence[Number], steps: int, *, min_separation: int, max_participations: int
) -> Decimal:
    """`sensitivity_squared` for nonnegative, falling Toeplitz coefficients, where the worst record is known.

    It starts in the first step and returns as early as it may.

    Guarantee: the exact supremum, rounded up: with falling nonnegative coefficients every inner product of columns is
    largest for the earliest columns and the smallest distances.

    Args:
        coefficients: of C's first column, nonnegative and not rising. A float is taken as the binary number that it is,
            as in a strategy's matrix.
        steps: n.
        min_separation: least distance of two participations, at least 1.
        max_participations: k, at least 1.

    Raises:
        InputError: coefficients that rise or are negative, numbers outside their range.

    Reference: Kalinin, Lampert (2024), Theorem 2.
    """
    n = count(steps, "steps", largest=MAX_STEPS)
    gap = count(min_separation, "min_separation", largest=n)
    k = min(count(max_participations, "max_participations", largest=n), (n - 1) // gap + 1)
    given = cast("object", coefficients)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"coefficients={show(given)} must be a list of numbers")
    c = [_exactly(value) for value in given][:n]
    if not c or any(a < b for a, b in pairwise(c)) or c[-1] < 0:
        raise InputError("coefficients must be nonnegative and must not rise; use sensitivity_squared for others")
    rows: list[Fraction] = []
    total = Fraction(0)
    for t in range(min(n, len(c) + (k - 1) * gap)):  # row t adds up the coefficients at t, t - gap, ..., k of them
        row = c[t] if t < len(c) else Fraction(0)
        if t >= gap:
            row += rows[t - gap]
        if 0 <= t - k * gap < len(c):
            row -= c[t - k * gap]
        rows.append(row)
        total += row * row
    return fraction_up(total)


def _exactly(value: object) -> Fraction:
    """The exact value. A float is the binary number that stands in a strategy's matrix, not its shortest decimal."""
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    return to_fraction(value, "coefficient")  # type: ignore[arg-type]


def _worst_participation(rows: list[list[Fraction]], gap: int, k: int) -> Fraction | None:
    """The worst sum of |<C_s, C_t>| over the sets that are allowed, in exact arithmetic; None where they are too many.

    Whole numbers over one power of two: a comparison of floats could take the second worst set for the worst.
    """
    steps = len(rows)
    unit = max(v.denominator for row in rows for v in row)  # of floats: powers of two, so the largest serves for all
    columns = [[int(row[s] * unit) for row in rows] for s in range(steps)]
    gram = [[abs(sum(map(mul, a, b))) for b in columns] for a in columns]
    worst, tried = 0, 0
    stack: list[tuple[tuple[int, ...], int]] = [((s,), gram[s][s]) for s in range(steps)]
    while stack:
        tried += 1
        if tried > _MOST_SETS:
            return None
        members, value = stack.pop()
        worst = max(worst, value)
        if len(members) < k:
            for t in range(members[-1] + gap, steps):
                stack.append(((*members, t), value + gram[t][t] + 2 * sum(gram[s][t] for s in members)))
    return Fraction(worst, unit * unit)


def _participation_bound(gram: Array, gap: int, k: int) -> float:
    """An upper bound: each member's row sum over the best others, by dynamic programming row by row.

    max over S of sum_(s in S) f(s) with f(s) the largest sum of |<C_s, C_t>| over participations t that include s. Both
    maxima are over spaced sets, and relaxing the inner one can only enlarge it.
    """
    return float(_spaced(_spaced(gram, gap, k)[None, :], gap, k)[0])


def _spaced(values: Array, gap: int, k: int) -> Array:
    """For every row, the largest sum of at most k of its entries at distance at least `gap`; entries are not negative.

    Shape: values: rows x steps; the answer: rows.
    """
    rows, steps = values.shape
    if gap == 1:
        return np.asarray(np.sort(values, axis=1)[:, steps - k :].sum(axis=1))
    best = np.zeros((steps + 1, rows))
    for _ in range(k):
        following = np.zeros((steps + 1, rows))
        for t in range(steps - 1, -1, -1):
            np.maximum(following[t + 1], values[:, t] + best[min(t + gap, steps)], out=following[t])
        best = following
    return np.asarray(best[0])


def _up(value: float, terms: int) -> Decimal:
    return decimal_up(value * (1 + 2 * off(terms + 8)))


def stream_mu(
    strategy: StreamStrategy,
    *,
    std: Number,
    clip_norm: Number = 1,
    min_separation: int | None = None,
    max_participations: int = 1,
) -> Decimal:
    """The GDP parameter of the whole stream with noise of standard deviation `std` on every measurement, rounded up.

    Guarantee: as `sensitivity_squared`, times clip_norm/std.

    Args:
        strategy: C.
        std: of z, in the unit of the data, above 0.
        clip_norm: the largest norm of one record's contribution to one step.
        min_separation: as in `sensitivity_squared`.
        max_participations: as in `sensitivity_squared`.

    Raises:
        InputError: a number outside its range.

    Reference: as `sensitivity_squared`.
    """
    noise = amount(std, "std", round_up=False)
    squared = sensitivity_squared(strategy, min_separation=min_separation, max_participations=max_participations)
    size = multiply_up(amount(clip_norm, "clip_norm"), sqrt_up(squared))
    return divide_up(size, noise)
