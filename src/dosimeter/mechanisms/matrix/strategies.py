"""The matrix mechanism: answer other queries than were asked, so that the asked ones come out with less noise.

A workload W of linear queries over a histogram x is answered as W A^+ (A x + noise). With Gaussian noise of standard
deviation |A|_{1->2}/mu (the largest column norm of A) the release is mu-GDP, and the total squared error is
|A|_{1->2}^2 tr(W (A^T A)^-1 W^T)/mu^2. The best A solves a convex program in X = A^T A: minimise tr(X^-1 M), M = W^T W,
over X with a diagonal of at most 1. Its dual has one number per cell, and every point of it bounds the optimum from
below, so the answer comes with a proof of how good it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dosimeter.errors import InputError
from dosimeter.exact import Number, count, show
from dosimeter.mechanisms.matrix.arrays import MAX_DENSE, read_array, read_float, read_private
from dosimeter.mechanisms.matrix.covariance import IidNoise
from dosimeter.mechanisms.matrix.gaussian import GaussianMechanism
from dosimeter.mechanisms.matrix.sensitivity import StrategyColumns

if TYPE_CHECKING:
    from collections.abc import Callable

    from dosimeter.mechanisms.matrix.arrays import Array

MAX_CELLS: Final = 2_048
_MOST_ROUNDS: Final = 2_000
_MOST_SPREAD: Final = 1e45  # its squares, and theirs, stay inside the floats


@dataclass(frozen=True, eq=False)
class Strategy:
    """What to measure instead of the workload, and how to get the workload's answers back.

    Args:
        workload: W, queries x cells.
        strategy: A, measurements x cells, with W A^+ A = W.
        least_error: a lower bound on the total squared error at mu = 1 of any strategy; 0 where none was computed.
    """

    workload: Array
    strategy: Array
    least_error: float = 0.0

    def __post_init__(self) -> None:
        workload, strategy = read_array(self.workload, "workload"), read_array(self.strategy, "strategy")
        if workload.shape[1] != strategy.shape[1]:
            raise InputError(f"workload and strategy speak of {workload.shape[1]} and {strategy.shape[1]} cells")
        object.__setattr__(self, "workload", workload)
        object.__setattr__(self, "strategy", strategy)
        if not _sizes(workload) <= _MOST_SPREAD or not _sizes(strategy) <= _MOST_SPREAD:
            raise InputError(f"entries of workload and strategy must lie within {_MOST_SPREAD:g} of 1; change the unit")
        answers = self.decoder @ strategy
        if not np.allclose(answers, workload, rtol=1e-7, atol=1e-7 * float(np.abs(workload).max())):
            raise InputError("the strategy does not determine the workload's answers; measure more directions")

    @property
    def decoder(self) -> Array:
        """W A^+: from measurements to answers."""
        return np.asarray(self.workload @ np.linalg.pinv(self.strategy))

    @property
    def column_norm(self) -> float:
        """The largest Euclidean norm of a column of A: how far the measurements move when one count moves by one."""
        return float(np.linalg.norm(self.strategy, axis=0).max())

    @property
    def variances(self) -> Array:
        """The variance of every answer at mu = 1, as floating point has it."""
        return np.asarray((self.decoder**2).sum(axis=1)) * self.column_norm**2

    @property
    def total_error(self) -> float:
        """The total expected squared error at mu = 1: the sum of the variances."""
        return float(self.variances.sum())

    @property
    def column_sum(self) -> float:
        """The largest sum of absolute entries of a column: the L1 change, which Laplace noise pays."""
        return float(np.abs(self.strategy).sum(axis=0).max())

    @property
    def total_error_laplace(self) -> float:
        """The total expected squared error at epsilon = 1 with Laplace noise on the measurements."""
        return 2 * float((self.decoder**2).sum()) * self.column_sum**2

    def mechanism(self, mu: Number, change: Number = 1) -> GaussianMechanism:
        """The measurement of A x with just the noise that makes it mu-GDP when one count moves by `change`.

        Guarantee: `mu`-GDP for neighbours that differ in one count of x by at most `change`.

        Args:
            mu: above 0.
            change: how far one count moves between neighbours (2 counts that move are not one that moves by 2).

        Raises:
            InputError: a value outside its range.
        """
        sensitivity = StrategyColumns(self.strategy, change)  # type: ignore[arg-type]
        return GaussianMechanism(IidNoise(1, self.strategy.shape[0]), sensitivity).scaled_to(mu)  # type: ignore[arg-type]

    def answers(self, measured: object) -> Array:
        """The workload's answers from the noisy measurements: post-processing.

        Raises:
            InputError: not one number per measurement.
        """
        given = read_private(measured, "measured")
        if given.shape != (self.strategy.shape[0],):
            raise InputError(f"{self.strategy.shape[0]} measurements are needed; got an array of shape {given.shape}")
        return np.asarray(self.decoder @ given)


def identity(cells: int) -> Array:
    """Every count by itself.

    Args:
        cells: n, 1 to 2048.

    Shape: n x n.

    Raises:
        InputError: n outside its range.
    """
    return np.eye(_cells(cells))


def total(cells: int) -> Array:
    """One query: the sum of all counts. Shape: 1 x n."""
    return np.ones((1, _cells(cells)))


def prefix(cells: int) -> Array:
    """All running totals: query t is the sum of the first t counts. Shape: n x n."""
    return np.tril(np.ones((_cells(cells),) * 2))


def all_ranges(cells: int) -> Array:
    """All n (n + 1)/2 sums over an interval. Shape: n(n+1)/2 x n.

    Raises:
        InputError: n above 256; there use `all_ranges_gram`.
    """
    n = _cells(cells)
    if n > 256:
        raise InputError(f"all ranges of {n} cells are {n * (n + 1) // 2} queries; use all_ranges_gram")
    rows = [[1.0 if i <= cell <= j else 0.0 for cell in range(n)] for i in range(n) for j in range(i, n)]
    return np.array(rows)


def all_ranges_gram(cells: int) -> Array:
    """W^T W of all ranges in closed form: entry (i, j) is the number of intervals that contain both cells."""
    index = np.arange(_cells(cells))
    low, high = np.minimum.outer(index, index), np.maximum.outer(index, index)
    return np.asarray((low + 1) * (index.size - high), dtype=np.float64)


def hierarchical(cells: int, branching: int = 2) -> Array:
    """Sums over a tree of intervals, every level from single cells to the whole: a classic for ranges under Laplace.

    Args:
        cells: n, 1 to 2048.
        branching: how many children a node has, at least 2.

    Shape: nodes x n.

    Raises:
        InputError: a number outside its range.

    Reference: Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms" (2010).
    """
    n, b = _cells(cells), count(branching, "branching", smallest=2, largest=MAX_CELLS)
    rows, width = [], 1
    while True:
        rows += [[1.0 if start <= cell < start + width else 0.0 for cell in range(n)] for start in range(0, n, width)]
        if width >= n:
            return np.array(rows)
        width *= b


def best_laplace_strategy(workload: object) -> Strategy:
    """The best of the closed-form strategies for Laplace noise: the workload itself, single cells, trees of 2 to 16.

    Guarantee: privacy is priced by the strategy's own columns, whichever is chosen. No optimality is claimed: the L1
    problem is not convex in X.

    Args:
        workload: W, queries x cells.

    Raises:
        InputError: misshapen workload.
    """
    w = read_array(workload, "workload")
    n = _cells(w.shape[1])
    choices = [w, identity(n), *(hierarchical(n, b) for b in (2, 3, 4, 8, 16) if b < 2 * n)]
    return min((Strategy(w, choice) for choice in choices), key=lambda s: s.total_error_laplace)


def optimal_strategy(
    workload: object, *, accuracy: float = 1e-4, progress: Callable[[int, float], None] | None = None
) -> Strategy:
    """The strategy of least total squared error for a workload, with a certificate of how near to optimal it is.

    Identity and total have closed forms (measure the workload itself); the rest is solved.

    Guarantee: privacy does not depend on the optimisation: whatever strategy comes out is priced by its own columns.
    `least_error` is a lower bound (up to floating point) on what any strategy can reach.

    Args:
        workload: W, queries x cells, at most 2,048 cells; cells no query reads are left unmeasured.
        accuracy: stop when the error is within this share of the lower bound.
        progress: called with the round and the gap. 256 cells take seconds, 2,048 a quarter of an hour or more, some 60
            rounds in all.

    Raises:
        InputError: misshapen workload, no query, accuracy outside (0, 1).

    Reference: Li, Miklau, Hay, McGregor, Rastogi, "The matrix mechanism" (2015), Theorem 6 and section 4 (the convex
    program); the fixed point is that of Denisov, McMahan, Rush, Smith, Thakurta (2022), section 4.
    """
    w = read_array(workload, "workload")
    _cells(w.shape[1])
    used = np.abs(w).max(axis=0) > 0
    if not used.any():
        raise InputError("the workload asks for nothing: every entry is 0")
    x, least = optimal_gram(w[:, used].T @ w[:, used], accuracy=accuracy, progress=progress)
    root = _root(x)
    kept = np.abs(root).max(axis=1) > 0
    strategy = np.zeros((int(kept.sum()), w.shape[1]))
    strategy[:, used] = root[kept]
    return Strategy(w, strategy, least)


def optimal_gram(
    gram: object, *, accuracy: float = 1e-4, progress: Callable[[int, float], None] | None = None
) -> tuple[Array, float]:
    """The X = A^T A of least tr(X^-1 M) with diagonal at most 1, for M = W^T W; and a lower bound of that optimum.

    For v >= 0 the Lagrangian gives 2 tr((V^1/2 M V^1/2)^1/2) - sum(v) <= optimum, V = diag(v), and at the best v
    the matrix X = V^-1/2 (V^1/2 M V^1/2)^1/2 V^-1/2 has unit diagonal. The iteration v <- diag((V^1/2 M V^1/2)^1/2)
    has that point as its fixed point; a singular M (queries that leave directions free) needs no special care.

    Args:
        gram: M, cells x cells, symmetric and positive semidefinite with a positive diagonal.
        accuracy: stop when value and bound differ by this share.
        progress: called with the round and the gap.

    Raises:
        InputError: not such a matrix, more than 2,048 cells, or accuracy outside (0, 1).

    Reference: as `optimal_strategy`.
    """
    m = read_array(gram, "gram")
    wanted = read_float(accuracy, "accuracy")
    if not wanted < 1:
        raise InputError(f"accuracy={show(accuracy)} must lie in (0, 1)")
    if progress is not None and not callable(cast("object", progress)):
        raise InputError(f"progress={show(progress)} cannot be called; give a function of the round and the gap")
    side = _cells(m.shape[0])
    if m.shape != (side, side) or not np.allclose(m, m.T, rtol=1e-9) or not (m.diagonal() > 0).all():
        raise InputError(f"gram must be square and symmetric with a positive diagonal; got shape {m.shape}")
    if float(np.linalg.eigvalsh((m + m.T) / 2)[0]) < -1e-9 * float(np.trace(m)):
        raise InputError("gram is not positive semidefinite: it is not W^T W of any workload")
    v = np.sqrt(m.diagonal() * float(np.trace(m)) / side)
    best: tuple[float, Array] | None = None
    bound = 0.0
    for step in range(_MOST_ROUNDS):
        root = np.sqrt(v)
        half = _symmetric_root(root[:, None] * m * root[None, :])
        value = half.diagonal()
        # the best multiple of v: max over t of 2 sqrt(t) tr - t sum(v)
        bound = max(bound, float(value.sum()) ** 2 / float(v.sum()))
        x = half / root[:, None] / root[None, :]
        x = x / float(x.diagonal().max())
        error = float((value / v).max()) * float(value.sum())  # tr(X^+ M), since M = V^-1/2 half^2 V^-1/2
        if best is None or error < best[0]:
            best = error, x
        gap = best[0] / bound - 1
        if progress is not None:
            progress(step, gap)
        if gap <= wanted:
            break
        v = np.maximum(value, float(value.max()) * 1e-14)
    if best is None:  # unreachable: there is at least one round
        raise InputError("no strategy was found")
    return best[1], bound


def _symmetric_root(matrix: Array) -> Any:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _root(x: Array) -> Any:
    """A square A with A^T A = X."""
    values, vectors = np.linalg.eigh((x + x.T) / 2)
    sizes = np.sqrt(np.maximum(values, 0.0))
    sizes[sizes < sizes[-1] * 3e-8] = 0.0  # roots of what rounding left of a zero
    return sizes[:, None] * vectors.T


def _sizes(matrix: Array) -> float:
    """The largest factor between an entry that is not 0 and 1."""
    sizes = np.abs(matrix[matrix != 0])
    return float(max(sizes.max(), 1 / sizes.min())) if sizes.size else 1.0


def _cells(cells: int) -> int:
    return count(cells, "cells", largest=min(MAX_CELLS, MAX_DENSE))
