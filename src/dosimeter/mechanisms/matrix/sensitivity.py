"""Sensitivity sets: every difference f(X) - f(X') that neighbouring data sets can make, and the worst one of them.

For a whitener H the price of a release is mu = sup |H D| over the set. Balls, finite sets and the columns of a strategy
have an exact supremum; for a ball per column under noise that mixes columns it is a nonconvex problem, and the answer
is an interval whose upper end is certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

import numpy as np

from dosimeter.errors import InputError
from dosimeter.exact import ONE
from dosimeter.mechanisms.matrix.arrays import (
    UNIT,
    float_down,
    float_up,
    norm,
    off,
    read_array,
    read_size,
    spectral_norm,
)
from dosimeter.mechanisms.matrix.covariance import (
    Covariance,
    DenseNoise,
    DiagonalNoise,
    IidNoise,
    KroneckerNoise,
    ToeplitzNoise,
)

if TYPE_CHECKING:
    from dosimeter.mechanisms.matrix.arrays import Array

MAX_DIFFERENCES: Final = 100_000
_ROUNDS: Final = 30


@dataclass(frozen=True, eq=False)
class FrobeniusBall:
    """Every difference of Euclidean (Frobenius) norm at most `radius`.

    Args:
        radius: in the unit of the value, above 0.
    """

    radius: Decimal
    kind: ClassVar[str] = "frobenius_ball"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", read_size(self.radius, "radius"))

    def worst(self, noise: Covariance) -> tuple[float, float]:
        """Bounds of sup |H D|: radius times the norm of the whitener."""
        lower, upper = noise.gain()
        return float_down(self.radius) * lower * (1 - UNIT), float_up(self.radius) * upper * (1 + 2 * UNIT)


@dataclass(frozen=True, eq=False)
class ColumnBalls:
    """Every difference whose column j has Euclidean norm at most radii[j]; all columns may change at once.

    Args:
        radii: one number per column of the value, at least one above 0.
    """

    radii: Array
    kind: ClassVar[str] = "column_balls"

    def __post_init__(self) -> None:
        radii = read_array(self.radii, "radii", (1,))
        if (radii < 0).any() or not (radii > 0).any():
            raise InputError("radii must not be negative, and one of them must be above 0")
        object.__setattr__(self, "radii", radii)

    def worst(self, noise: Covariance) -> tuple[float, float]:
        """Bounds of sup |H D|.

        Exact where the whitener keeps columns apart: sum_j r_j^2 |H_j|^2. Otherwise from above by the smaller of the
        triangle inequality over columns and the ball around the set, and from below by coordinate ascent.

        Raises:
            InputError: another number of radii than columns, or a covariance that mixes columns and has no bound here.
        """
        if self.radii.size != noise.shape[1]:
            raise InputError(f"{self.radii.size} radii for a value of {noise.shape[1]} columns; give one per column")
        gains = _column_gains(noise)
        if gains is not None:
            low, high = (np.array(side) for side in zip(*gains, strict=True))
            terms = off(self.radii.size + 3)
            return norm(self.radii * low)[0] * (1 - terms), norm(self.radii * high)[1] * (1 + terms)
        _, whole = noise.gain()
        around = norm(self.radii)[1] * whole * (1 + 2 * UNIT)
        lower, by_column = _mixed_columns(noise, self.radii)
        return lower, min(around, by_column)


@dataclass(frozen=True, eq=False)
class SubspaceBall:
    """Every difference B c with |B c| <= radius: differences that stay in a subspace.

    Args:
        basis: mn x k, columns spanning the subspace of stacked columns; they need not be orthogonal.
        radius: Euclidean, above 0.
    """

    basis: Array
    radius: Decimal = ONE
    _orthonormal: Array = field(init=False, repr=False)
    kind: ClassVar[str] = "subspace_ball"

    def __post_init__(self) -> None:
        basis = read_array(self.basis, "basis")
        object.__setattr__(self, "basis", basis)
        object.__setattr__(self, "radius", read_size(self.radius, "radius"))
        if basis.shape[1] > basis.shape[0]:
            raise InputError(f"a basis of {basis.shape[1]} columns in {basis.shape[0]} dimensions is not independent")
        sizes = np.linalg.svd(basis, compute_uv=False)
        if not sizes[-1] > sizes[0] * 1e-8:
            raise InputError("the columns of the basis are not independent; leave out those that repeat others")
        object.__setattr__(self, "_orthonormal", np.linalg.qr(basis)[0])

    def worst(self, noise: Covariance) -> tuple[float, float]:
        """Bounds of sup |H D|: the norm of the whitener on an orthonormal basis.

        The computed basis Q spans the declared subspace up to an angle of rounding; the part outside is bounded with
        the norm of the whole whitener.

        Raises:
            InputError: a basis of another dimension than the value.
        """
        rows, columns = noise.shape
        q = self._orthonormal
        if q.shape[0] != rows * columns:
            raise InputError(f"a basis in {q.shape[0]} dimensions does not fit a value of {rows} x {columns}")
        images, wrong = [], 0.0
        for direction in q.T:
            image, error = noise.whiten(direction.reshape((rows, columns), order="F"))
            images.append(image.ravel(order="F"))
            wrong += error * error
        lower, upper = spectral_norm(np.stack(images, axis=1))
        wrong = math.sqrt(wrong) * (1 + 4 * UNIT)
        skew = norm(np.asarray(q.T @ q - np.eye(q.shape[1])))[1] + off(q.shape[0]) * norm(q)[1] ** 2
        tilt = self._tilt()
        outside = noise.gain()[1] * tilt
        high = (upper + wrong) * (1 + tilt) * (1 + skew) + outside  # 1/sqrt(1 - skew) <= 1 + skew for skew < 1/2
        low = (lower - wrong - 2 * outside) * (1 - skew) * (1 - 4 * tilt)
        return (
            max(float_down(self.radius) * low * (1 - 8 * UNIT), 0.0),
            float_up(self.radius) * high * (1 + 8 * UNIT),
        )

    def _tilt(self) -> float:
        """How far, per unit of length, a vector of the declared subspace may lie from the computed basis's span."""
        q, basis = self._orthonormal, self.basis
        coefficients = np.asarray(np.linalg.lstsq(q, basis, rcond=None)[0], dtype=np.float64)
        rest = norm(np.asarray(basis - q @ coefficients, dtype=np.float64))[1]
        rest += off(q.shape[1] + 2) * (norm(q)[1] * norm(coefficients)[1] + norm(basis)[1])
        least = float(np.linalg.svd(basis, compute_uv=False)[-1]) * (1 - 1e-4)
        return rest / least * (1 + 8 * UNIT)


@dataclass(frozen=True, eq=False)
class FiniteSet:
    """A list of the differences that can occur (their negatives are meant too).

    Args:
        differences: arrays of the value's shape.
    """

    differences: tuple[Array, ...]
    kind: ClassVar[str] = "finite_set"

    def __post_init__(self) -> None:
        given = cast("object", self.differences)
        if not isinstance(given, tuple | list):
            raise InputError("differences must be a list of arrays of the value's shape")
        differences = tuple(read_array(d, "a difference", (1, 2)) for d in given)
        if not 1 <= len(differences) <= MAX_DIFFERENCES:
            raise InputError(f"a finite set holds 1 to {MAX_DIFFERENCES} differences; got {len(differences)}")
        if not any(d.any() for d in differences):
            raise InputError(
                "every difference is zero: the value does not depend on the data, so nothing is to be paid"
            )
        object.__setattr__(self, "differences", tuple(d.reshape(d.shape[0], -1) for d in differences))

    def worst(self, noise: Covariance) -> tuple[float, float]:
        """Bounds of max |H D| over the list.

        Raises:
            InputError: a difference of another shape than the noise.
        """
        lower = upper = 0.0
        for difference in self.differences:
            low, high = _size(difference, noise)
            lower, upper = max(lower, low), max(upper, high)
        return lower, upper


@dataclass(frozen=True, eq=False)
class StrategyColumns:
    """Differences `change` A e_j: one count of a histogram x moves by `change`, and the value is A x.

    Args:
        strategy: A, one row per released number, one column per cell of the histogram.
        change: how far one cell moves between neighbours; one cell at a time.
    """

    strategy: Array
    change: Decimal = ONE
    kind: ClassVar[str] = "strategy_columns"

    def __post_init__(self) -> None:
        strategy = read_array(self.strategy, "strategy")
        if not strategy.any():
            raise InputError("the strategy is zero everywhere: nothing would be released")
        object.__setattr__(self, "strategy", strategy)
        object.__setattr__(self, "change", read_size(self.change, "change"))

    def worst(self, noise: Covariance) -> tuple[float, float]:
        """Bounds of max_j |H A e_j| change.

        Raises:
            InputError: noise of another shape than one column of A.
        """
        if noise.shape != (self.strategy.shape[0], 1):
            raise InputError(f"a strategy of {self.strategy.shape[0]} rows does not fit noise of shape {noise.shape}")
        lower = upper = 0.0
        for column in self.strategy.T:
            low, high = _size(column[:, None], noise)
            lower, upper = max(lower, low), max(upper, high)
        return float_down(self.change) * lower * (1 - UNIT), float_up(self.change) * upper * (1 + 2 * UNIT)


SensitivitySet: TypeAlias = FrobeniusBall | ColumnBalls | SubspaceBall | FiniteSet | StrategyColumns
SENSITIVITY_SETS: Final = (FrobeniusBall, ColumnBalls, SubspaceBall, FiniteSet, StrategyColumns)


def _size(difference: Array, noise: Covariance) -> tuple[float, float]:
    if difference.shape != noise.shape:
        raise InputError(f"a difference of shape {difference.shape} does not fit noise of shape {noise.shape}")
    image, wrong = noise.whiten(difference)
    lower, upper = norm(image)
    return max(lower - wrong, 0.0) * (1 - UNIT), (upper + wrong) * (1 + 2 * UNIT)


def _column_gains(noise: Covariance) -> list[tuple[float, float]] | None:
    """Bounds of sup |H d| over unit changes d of each column, where the whitener keeps columns apart; else None."""
    columns = noise.shape[1]
    if isinstance(noise, IidNoise | ToeplitzNoise) or columns == 1:
        return [noise.gain()] * columns
    if isinstance(noise, DiagonalNoise):
        tops = noise.precisions.max(axis=0)
        return [(float(top), float(top)) for top in tops]
    if isinstance(noise, KroneckerNoise):
        h1, h2 = noise.whiteners
        if np.count_nonzero(h2) == columns and h2.diagonal().all():
            low, high = spectral_norm(h1)
            return [(low * abs(h) * (1 - UNIT), high * abs(h) * (1 + 2 * UNIT)) for h in h2.diagonal().tolist()]
    return None


def _mixed_columns(noise: Covariance, radii: Array) -> tuple[float, float]:
    """For whiteners that mix columns: a lower bound by ascent, and the triangle inequality's upper bound."""
    rows, columns = noise.shape
    if isinstance(noise, KroneckerNoise):
        h1, h2 = noise.whiteners
        _, left = spectral_norm(h1)
        total = sum(r * norm(h2[:, j])[1] for j, r in enumerate(radii.tolist()))
        upper = left * total * (1 + off(columns + 4))
        gram_left, gram_right = h1.T @ h1, h2.T @ h2
        start = np.linalg.eigh(gram_left)[1][:, -1]

        def slope(d: Array) -> Array:
            return np.asarray(gram_left @ d @ gram_right)
    elif isinstance(noise, DenseNoise):
        h = noise.whitener
        blocks = [h[:, j * rows : (j + 1) * rows] for j in range(columns)]
        upper = sum(r * spectral_norm(b)[1] for r, b in zip(radii.tolist(), blocks, strict=True)) * (
            1 + off(columns + 4)
        )
        gram = h.T @ h
        start = np.linalg.eigh(gram)[1][:, -1].reshape((rows, columns), order="F")[:, 0]

        def slope(d: Array) -> Array:
            return np.asarray((gram @ d.ravel(order="F")).reshape((rows, columns), order="F"))
    else:
        raise InputError(f"balls per column under {noise.kind} noise have no bound here; use Kronecker or dense noise")
    best = 0.0
    for signs in ("same", "alternating"):
        d = np.outer(start, radii)
        if signs == "alternating":
            d[:, 1::2] *= -1
        for _ in range(_ROUNDS):  # the objective is convex: moving every column along its slope never lowers it
            steep = slope(d)
            size = np.linalg.norm(steep, axis=0)
            d = steep / np.where(size > 0, size, 1.0) * radii
        d *= 1 - 8 * UNIT  # inside the set, rounding included
        best = max(best, _size(d, noise)[0])
    return best, upper
