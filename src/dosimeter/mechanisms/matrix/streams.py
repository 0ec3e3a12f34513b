"""Correlated noise for streams: running totals of data that arrive step by step, with far less error.

A strategy C, lower triangular with one row per step, measures C G + z instead of G; the noise on G is then C^-1 z, and
a running total (A G, A all ones below the diagonal) is off by B z with the decoder B = A C^-1. A record that takes part
in steps s_1 < ... < s_k moves the measurements by at most |sum of those columns of C| times its clipped size.

This file holds the strategies, `participation` what a record can do to them, `stream` the release row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.errors import InputError
from dosimeter.exact import Number, count, show, to_fraction
from dosimeter.mechanisms.matrix.arrays import MAX_DENSE, SMALLEST_ENTRY, read_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dosimeter.mechanisms.matrix.arrays import Array

MAX_STEPS: Final = 10**6


@dataclass(frozen=True, eq=False)
class StreamStrategy:
    """A lower triangular strategy C: how the noise of a stream's steps is correlated.

    Args:
        matrix: C, steps x steps, with a positive diagonal and zeros above it.
        name: what it is called in reports.
    """

    matrix: Array
    name: str = "custom"

    def __post_init__(self) -> None:
        matrix = read_array(self.matrix, "matrix")
        steps = matrix.shape[0]
        if matrix.shape != (steps, steps) or steps > MAX_DENSE:
            raise InputError(f"a strategy is square with at most {MAX_DENSE} steps; got shape {matrix.shape}")
        if np.triu(matrix, 1).any():
            raise InputError("a strategy of a stream is lower triangular: a step cannot use what has not arrived")
        if not (matrix.diagonal() > 0).all():
            raise InputError("the strategy's diagonal must be above 0: that step's noise would not protect it")
        object.__setattr__(self, "matrix", matrix)

    @property
    def steps(self) -> int:
        """How many rows it has."""
        return int(self.matrix.shape[0])

    @property
    def noising_matrix(self) -> Array:
        """C^-1: the noise on the steps themselves is C^-1 z."""
        return np.asarray(np.linalg.inv(self.matrix))

    @property
    def decoder(self) -> Array:
        """A C^-1 for running totals: their noise is this times z."""
        return np.cumsum(self.noising_matrix, axis=0)

    def errors(self) -> Array:
        """The variance of each running total at unit noise, before the noise is scaled to the sensitivity."""
        return np.asarray((self.decoder**2).sum(axis=1))

    def rmse(self, *, min_separation: int | None = None, max_participations: int = 1) -> float:
        """Root mean squared error of the running totals at mu = 1 (floating point; an error, not a guarantee)."""
        from dosimeter.mechanisms.matrix.participation import sensitivity_squared

        squared = float(sensitivity_squared(self, min_separation=min_separation, max_participations=max_participations))
        return float(np.sqrt(squared * self.errors().mean()))


def square_root_coefficients(steps: int) -> tuple[Fraction, ...]:
    """The Toeplitz square root of the running total: 1, 1/2, 3/8, ..., c_k = c_(k-1) (2k-1)/(2k), exactly.

    Args:
        steps: how many, 1 to 4,096.

    Raises:
        InputError: a number outside its range.

    Reference: Fichtenberger, Henzinger, Upadhyay, "Constant matters" (2023), Theorem 1; Henzinger, Upadhyay,
    Upadhyay (2023).
    """
    found = [Fraction(1)]
    for k in range(1, count(steps, "steps", largest=MAX_DENSE)):
        found.append(found[-1] * Fraction(2 * k - 1, 2 * k))
    return tuple(found)


def square_root_strategy(steps: int) -> StreamStrategy:
    """C with C C = A: no optimiser, about 6 % from the best for hundreds of steps.

    Args:
        steps: 1 to 4,096.

    Raises:
        InputError: a number outside its range.

    Reference: Fichtenberger, Henzinger, Upadhyay (2023).
    """
    return toeplitz_strategy([float(c) for c in square_root_coefficients(steps)], steps, name="square root")


def banded_strategy(steps: int, bands: int) -> StreamStrategy:
    """The square root cut off after `bands` coefficients: a record that returns later meets fresh columns.

    Args:
        steps: 1 to 4,096.
        bands: how many coefficients are kept, 1 to steps.

    Raises:
        InputError: a number outside its range.

    Reference: Kalinin, Lampert, "Banded square root matrix factorization for differentially private model training"
    (2024).
    """
    kept = count(bands, "bands", largest=count(steps, "steps", largest=MAX_DENSE))
    return toeplitz_strategy([float(c) for c in square_root_coefficients(kept)], steps, name=f"banded({kept})")


def banded_inverse_strategy(steps: int, bands: int) -> StreamStrategy:
    """C whose inverse is cut off after `bands`: each step's noise needs only that many draws of the past.

    Args:
        steps: 1 to 4,096.
        bands: how many coefficients of C^-1 are kept, 1 to steps; 2 is one-step correlation.

    Raises:
        InputError: a number outside its range.

    Reference: Kalinin, McKenna, Upadhyay, Lampert, "Back to square roots: an optimal bound on the matrix factorization
    error for multi-epoch differentially private SGD" (2025).
    """
    n = count(steps, "steps", largest=MAX_DENSE)
    kept = count(bands, "bands", largest=n)
    inverse = [Fraction(1)]  # coefficients of (1 - x)^(1/2)
    for k in range(1, kept):
        inverse.append(inverse[-1] * Fraction(2 * k - 3, 2 * k))
    return _from_inverse([float(c) for c in inverse], n, f"banded inverse({kept})")


def one_step_strategy(steps: int, correlation: Number) -> StreamStrategy:
    """Noise z_t - lambda z_(t-1): each step takes back a share of the noise of the one before (lambda-CGD).

    Args:
        steps: 1 to 4,096.
        correlation: lambda, in [0, 1).

    Raises:
        InputError: a number outside its range.

    Reference: "DP-lambda-CGD: efficient noise correlation for differentially private model training" (2026).
    """
    share = to_fraction(correlation, "correlation")
    if not 0 <= share < 1:
        raise InputError(f"correlation={show(correlation)} must lie in [0, 1)")
    n = count(steps, "steps", largest=MAX_DENSE)
    return _from_inverse([1.0, -float(share)], n, f"one step({float(share):g})")


def independent_strategy(steps: int) -> StreamStrategy:
    """Fresh noise in every step: the identity."""
    return toeplitz_strategy([1.0], steps, name="independent")


def toeplitz_strategy(coefficients: Sequence[float], steps: int, *, name: str = "toeplitz") -> StreamStrategy:
    """A lower triangular Toeplitz strategy from its first column.

    Args:
        coefficients: of the first column, the first one above 0.
        steps: 1 to 4,096, at least as many as coefficients.
        name: what it is called in reports.

    Raises:
        InputError: more coefficients than steps, or one that is not finite.
    """
    n = count(steps, "steps", largest=MAX_DENSE)
    first = read_array(coefficients, "coefficients", (1,))
    if first.size > n:
        raise InputError(f"{first.size} coefficients for a stream of {n} steps; give at most as many")
    matrix = np.zeros((n, n))
    for lag, coefficient in enumerate(first.tolist()):
        matrix[np.arange(lag, n), np.arange(n - lag)] = coefficient
    return StreamStrategy(matrix, name)


def _from_inverse(inverse: Sequence[float], steps: int, name: str) -> StreamStrategy:
    """C from the coefficients of C^-1, by the recurrence of a power series' reciprocal."""
    column = np.zeros(steps)
    column[0] = 1.0
    for k in range(1, steps):
        reach = min(k, len(inverse) - 1)
        column[k] = -sum(inverse[j] * column[k - j] for j in range(1, reach + 1))
        if abs(column[k]) < SMALLEST_ENTRY:  # C is what stands here: a coefficient this small is left out of it
            column[k] = 0.0
    return toeplitz_strategy(column.tolist(), steps, name=name)


def binary_tree(steps: int) -> Array:
    """The classic: one noisy sum per node of a binary tree over the steps, each step in one node per level.

    Shape: nodes x steps. A record in one step moves one node per level by its size, so the squared sensitivity is the
    number of levels: log2(steps) + 1 for a power of two.

    Args:
        steps: 1 to 2,048.

    Raises:
        InputError: a number outside its range.

    Reference: Dwork, Naor, Pitassi, Rothblum, "Differential privacy under continual observation" (2010); Chan, Shi,
    Song (2011).
    """
    from dosimeter.mechanisms.matrix.strategies import hierarchical

    return hierarchical(steps, 2)


def tree_sensitivity_squared(steps: int) -> int:
    """The number of levels of the tree over `steps` steps: each holds one node with a given step.

    Args:
        steps: 1 to 10^6.

    Raises:
        InputError: a number outside its range.

    Reference: Chan, Shi, Song, "Private and continual release of statistics" (2011).
    """
    return (count(steps, "steps", largest=MAX_STEPS) - 1).bit_length() + 1


def tree_online_errors(steps: int) -> Array:
    """The variance of each running total at unit noise when it is read off the tree's nodes as they close."""
    return np.array([bin(t).count("1") for t in range(1, count(steps, "steps", largest=MAX_STEPS) + 1)], dtype=float)
