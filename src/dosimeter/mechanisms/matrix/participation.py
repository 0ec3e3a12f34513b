"""How far one record can move a stream's measurements when it takes part more than once.

A record in steps S moves C G by sum_(s in S) C_s g_s^T with |g_s| at most 1, so the squared change is at most
sum_(s,t in S) |<C_s, C_t>|. The worst S that the participation rule allows is found exactly where that is feasible,
and bounded from above otherwise.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.errors import InputError
from dosimeter.exact import Number, amount, count, divide_up, fraction_up, multiply_up, sqrt_up, to_fraction
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
        InputError: numbers outside their range; a search that would be too large.

    Reference: Choquette-Choo, McMahan, Rush, Thakurta, "Multi-epoch matrix factorization mechanisms for private machine
    learning" (2023), section 3; Choquette-Choo et al., "(Amplified) banded matrix factorization" (2023), Theorem 2.
    """
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
    gram = np.abs(strategy.matrix.T @ strategy.matrix)
    if rows is not None:
        chosen = _best_participation(gram, gap, k)
        if chosen is not None:
            return fraction_up(_exact_square(rows, chosen))
    return _up(_participation_bound(gram, gap, k), steps * 4)


def toeplitz_sensitivity_squared(
    coefficients: Sequence[Number], steps: int, *, min_separation: int, max_participations: int
) -> Decimal:
    """`sensitivity_squared` for nonnegative, falling Toeplitz coefficients, where the worst record is known.

    It starts in the first step and returns as early as it may.

    Guarantee: the exact supremum, rounded up: with falling nonnegative coefficients every inner product of columns is
    largest for the earliest columns and the smallest distances.

    Args:
        coefficients: of C's first column, nonnegative and not rising.
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
    c = [to_fraction(value, "coefficient") for value in coefficients][:n]
    if not c or any(a < b for a, b in pairwise(c)) or c[-1] < 0:
        raise InputError("coefficients must be nonnegative and must not rise; use sensitivity_squared for others")
    total = Fraction(0)
    for t in range(n):
        row = sum((c[t - s * gap] for s in range(k) if 0 <= t - s * gap < len(c)), Fraction(0))
        total += row * row
    return fraction_up(total)


def _exact_square(rows: list[list[Fraction]], chosen: tuple[int, ...]) -> Fraction:
    """sum over pairs of |<C_s, C_t>| in exact arithmetic."""
    total = Fraction(0)
    for s in chosen:
        for t in chosen:
            total += abs(sum((row[s] * row[t] for row in rows), Fraction(0)))
    return total


def _best_participation(gram: Array, gap: int, k: int) -> tuple[int, ...] | None:
    """The worst set of steps by enumeration, where there are few enough of them; else None."""
    steps = gram.shape[0]
    best, chosen, tried = -1.0, (), 0
    stack: list[tuple[tuple[int, ...], float]] = [((s,), float(gram[s, s])) for s in range(steps)]
    found: tuple[int, ...] = chosen
    while stack:
        tried += 1
        if tried > _MOST_SETS:
            return None
        members, value = stack.pop()
        if value > best:
            best, found = value, members
        if len(members) < k:
            for t in range(members[-1] + gap, steps):
                stack.append(((*members, t), value + float(gram[t, t]) + 2 * float(sum(gram[s, t] for s in members))))
    return found


def _participation_bound(gram: Array, gap: int, k: int) -> float:
    """An upper bound: each member's row sum over the best others, by dynamic programming row by row.

    max over S of sum_(s in S) f(s) with f(s) the largest sum of |<C_s, C_t>| over participations t that include s. Both
    maxima are over spaced sets, and relaxing the inner one can only enlarge it.
    """
    rows = np.array([_spaced(gram[s], gap, k) for s in range(gram.shape[0])])
    return _spaced(rows, gap, k)


def _spaced(values: Array, gap: int, k: int) -> float:
    """The largest sum of at most k entries of `values` at distance at least `gap`."""
    steps = values.shape[0]
    best = np.zeros(steps + 1)
    for _ in range(k):
        following = np.zeros(steps + 1)
        for t in range(steps - 1, -1, -1):
            after = best[min(t + gap, steps)]
            following[t] = max(following[t + 1], float(values[t]) + after)
        best = following
    return float(best[0])


def _up(value: float, terms: int) -> Decimal:
    return decimal_up(value * (1 + 2 * off(terms + 8)))


def stream_mu(strategy: StreamStrategy, *, std: Number, clip_norm: Number = 1, **participation: int) -> Decimal:
    """The GDP parameter of the whole stream with noise of standard deviation `std` on every measurement, rounded up.

    Guarantee: as `sensitivity_squared`, times clip_norm/std.

    Args:
        strategy: C.
        std: of z, in the unit of the data, above 0.
        clip_norm: the largest norm of one record's contribution to one step.
        participation: `min_separation` and `max_participations`.

    Raises:
        InputError: a number outside its range.

    Reference: as `sensitivity_squared`.
    """
    noise = amount(std, "std", round_up=False)
    size = multiply_up(amount(clip_norm, "clip_norm"), sqrt_up(sensitivity_squared(strategy, **participation)))
    return divide_up(size, noise)
