"""Gaussian noise with structure: Z such that H Z is white, for an explicit whitener H.

Why the whitener. The loss of a Gaussian release between two neighbours is decided by |H D|, D the difference of
their values and H the map that turns the noise into independent unit Gaussians. Here H is a matrix of binary floats
(or a few such factors), exact by definition: it is what the release really computes with. A covariance given by the
caller is turned into H once; the last digit lost there changes the covariance by that digit, and the price is computed
for the H that is used. Mapping back is post-processing and needs no care.

A value is an m x n matrix (a vector is m x 1); `vec` stacks its columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import numpy as np

from dosimeter.errors import InputError
from dosimeter.exact import count, divide_down
from dosimeter.mechanisms.matrix.arrays import (
    MAX_DENSE,
    MAX_ENTRIES,
    UNIT,
    float_down,
    norm,
    off,
    read_array,
    read_size,
    spectral_norm,
)

if TYPE_CHECKING:
    from dosimeter.mechanisms.matrix.arrays import Array

Shape: TypeAlias = tuple[int, int]
MOST_CONDITION: Final = 1e12


def read_shape(shape: object) -> Shape:
    """An m x n shape; a single number or a tuple of one means a column vector.

    Raises:
        InputError: not one or two whole numbers, or more than 10^8 entries.
    """
    parts = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(parts) not in (1, 2):
        raise InputError(f"a shape has one or two sizes, not {len(parts)}")
    rows = count(parts[0], "rows", largest=MAX_ENTRIES)
    columns = count(parts[1], "columns", largest=MAX_ENTRIES) if len(parts) == 2 else 1
    if rows * columns > MAX_ENTRIES:
        raise InputError(f"a value of {rows} x {columns} entries is over {MAX_ENTRIES}; release it in parts")
    return rows, columns


def _inverse(matrix: Array, name: str, why: str) -> Array:
    """A float inverse; which float it is does not matter, since the inverse *is* the whitener from here on."""
    side = matrix.shape[0]
    if matrix.ndim != 2 or matrix.shape != (side, side):
        raise InputError(f"{name} has shape {matrix.shape}; it must be square")
    if side > MAX_DENSE:
        raise InputError(f"{name} has side {side}; at most {MAX_DENSE}. Use Kronecker, diagonal or low-rank noise")
    singular = np.linalg.svd(matrix, compute_uv=False)
    if not singular[-1] > singular[0] / MOST_CONDITION:
        raise InputError(
            f"{name} is singular, or nearly (its singular values span more than {MOST_CONDITION:g}): {why}"
        )
    inverse = np.linalg.inv(matrix)
    inverse.flags.writeable = False
    return np.asarray(inverse, dtype=np.float64)


_NO_NOISE: Final = (
    "in some direction there is no noise, and a difference in that direction is seen with certainty. "
    "Add noise there, or release the coordinates that the noise covers"
)


@dataclass(frozen=True, eq=False)
class IidNoise:
    """Independent Gaussian noise of one standard deviation on every entry.

    Args:
        std: standard deviation of every entry, in the unit of the value, above 0.
        shape: of the value.
    """

    std: Decimal
    shape: Shape
    kind: ClassVar[str] = "iid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "std", read_size(self.std, "std", round_up=False))
        object.__setattr__(self, "shape", read_shape(self.shape))

    @property
    def precision(self) -> float:
        """The whitener, one number: the largest float that is not above 1/std."""
        return float_down(divide_down(Decimal(1), self.std))

    def whiten(self, value: Array) -> tuple[Array, float]:
        """H value, and how far (as a Euclidean norm) the computed array may be from it."""
        image = value * self.precision
        return image, UNIT * norm(image)[1] * (1 + 4 * UNIT)

    @property
    def terms(self) -> int:
        """How many products are added up in an entry of H value."""
        return 1

    def reach(self, entry: float) -> float:
        """The most that an entry of H value can be, for values of entries at most `entry` in size."""
        return self.precision * entry

    def colour(self, white: Array) -> Array:
        """The inverse of `whiten`, to floating-point accuracy: post-processing."""
        return white / self.precision

    def gain(self) -> tuple[float, float]:
        """Bounds of sup |H D| over |D| <= 1."""
        return self.precision, self.precision

    def scaled(self, factor: float) -> IidNoise:
        """The same shape with the noise multiplied by `factor`."""
        return IidNoise(self.std * Decimal(factor), self.shape)


@dataclass(frozen=True, eq=False)
class DiagonalNoise:
    """Independent Gaussian noise with a standard deviation of its own on every entry.

    Args:
        stds: m x n standard deviations (or a vector), all above 0.
    """

    stds: Array
    kind: ClassVar[str] = "diagonal"

    def __post_init__(self) -> None:
        stds = read_array(self.stds, "stds", (1, 2))
        if not (stds > 0).all():
            raise InputError(f"stds must all be above 0: {_NO_NOISE}")
        object.__setattr__(self, "stds", stds.reshape(stds.shape[0], -1))

    @property
    def shape(self) -> Shape:
        """Of the value."""
        return self.stds.shape[0], self.stds.shape[1]

    @property
    def precisions(self) -> Array:
        """The whitener, entry by entry: not above 1/std."""
        return np.asarray(np.nextafter(1 / self.stds, 0.0))

    def whiten(self, value: Array) -> tuple[Array, float]:
        """H value, and how far (as a Euclidean norm) the computed array may be from it."""
        image = value * self.precisions
        return image, UNIT * norm(image)[1] * (1 + 4 * UNIT)

    @property
    def terms(self) -> int:
        """How many products are added up in an entry of H value."""
        return 1

    def reach(self, entry: float) -> float:
        """The most that an entry of H value can be, for values of entries at most `entry` in size."""
        return float(self.precisions.max()) * entry

    def colour(self, white: Array) -> Array:
        """The inverse of `whiten`, to floating-point accuracy: post-processing."""
        return np.asarray(white / self.precisions)

    def gain(self) -> tuple[float, float]:
        """Bounds of sup |H D| over |D| <= 1."""
        top = float(self.precisions.max())
        return top, top

    def scaled(self, factor: float) -> DiagonalNoise:
        """The same shape with the noise multiplied by `factor`."""
        return DiagonalNoise(self.stds * factor)


@dataclass(frozen=True, eq=False)
class KroneckerNoise:
    """Matrix Gaussian noise Z = U1 N U2^T, N white: vec Z has covariance (U2 U2^T) kron (U1 U1^T).

    Args:
        left: U1, m x m, invertible: noise along the rows' directions.
        right: U2, n x n, invertible: along the columns'.

    Reference: the matrix-valued normal distribution of the instance-adapted matrix Gaussian mechanism (IMGM).
    """

    left: Array
    right: Array
    _left_whitener: Array = field(init=False, repr=False)
    _right_whitener: Array = field(init=False, repr=False)
    kind: ClassVar[str] = "kronecker"

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            matrix = read_array(getattr(self, name), name)
            object.__setattr__(self, name, matrix)
            object.__setattr__(self, f"_{name}_whitener", _inverse(matrix, name, _NO_NOISE))
        read_shape(self.shape)

    @property
    def shape(self) -> Shape:
        """Of the value."""
        return self.left.shape[0], self.right.shape[0]

    @property
    def whiteners(self) -> tuple[Array, Array]:
        """H1 and H2: the whitened difference is H1 D H2^T."""
        return self._left_whitener, self._right_whitener

    def whiten(self, value: Array) -> tuple[Array, float]:
        """H value, and how far (as a Euclidean norm) the computed array may be from it."""
        h1, h2 = self.whiteners
        image = (h1 @ value) @ h2.T
        sizes = (np.abs(h1) @ np.abs(value)) @ np.abs(h2.T)
        return image, off(sum(self.shape) + 2) * norm(sizes)[1] * (1 + off(sum(self.shape) + 2))

    @property
    def terms(self) -> int:
        """How many products are added up in an entry of H value."""
        return sum(self.shape) + 4

    def reach(self, entry: float) -> float:
        """The most that an entry of H value can be, for values of entries at most `entry` in size."""
        h1, h2 = self.whiteners
        return float(np.abs(h1).sum(axis=1).max()) * float(np.abs(h2).sum(axis=1).max()) * entry

    def colour(self, white: Array) -> Array:
        """The inverse of `whiten`, to floating-point accuracy: post-processing."""
        return np.asarray((self.left @ white) @ self.right.T)

    def gain(self) -> tuple[float, float]:
        """Bounds of sup |H D| over |D| <= 1: the product of the two spectral norms."""
        (a, b), (c, d) = spectral_norm(self.whiteners[0]), spectral_norm(self.whiteners[1])
        return a * c * (1 - 2 * UNIT), b * d * (1 + 2 * UNIT)

    def scaled(self, factor: float) -> KroneckerNoise:
        """The same shape with the noise multiplied by `factor`."""
        return KroneckerNoise(self.left * factor, self.right)


@dataclass(frozen=True, eq=False)
class DenseNoise:
    """Gaussian noise of any covariance on the stacked columns of the value.

    Args:
        covariance: mn x mn, symmetric and positive definite.
        shape: of the value; a vector when left out.
    """

    covariance: Array
    shape: Shape = (0, 0)
    _factor: Array = field(init=False, repr=False)
    _whitener: Array = field(init=False, repr=False)
    kind: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        covariance = read_array(self.covariance, "covariance")
        side = covariance.shape[0]
        if covariance.shape != (side, side) or not np.array_equal(covariance, covariance.T):
            raise InputError(f"a covariance is square and symmetric; got shape {covariance.shape}")
        if side > MAX_DENSE:
            raise InputError(
                f"a dense covariance has side at most {MAX_DENSE}; use Kronecker, diagonal or low-rank noise"
            )
        try:
            factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise InputError(f"the covariance is not positive definite: {_NO_NOISE}") from None
        shape = (side, 1) if self.shape == (0, 0) else read_shape(self.shape)
        if shape[0] * shape[1] != side:
            raise InputError(f"a covariance of side {side} does not fit a value of shape {shape}")
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "_factor", factor)
        object.__setattr__(self, "_whitener", _inverse(factor, "the covariance's factor", _NO_NOISE))

    @property
    def whitener(self) -> Array:
        """H, on stacked columns."""
        return self._whitener

    def whiten(self, value: Array) -> tuple[Array, float]:
        """H value, and how far (as a Euclidean norm) the computed array may be from it."""
        stacked = value.ravel(order="F")
        image = self.whitener @ stacked
        sizes = np.abs(self.whitener) @ np.abs(stacked)
        wrong = off(stacked.size) * norm(sizes)[1] * (1 + off(stacked.size))
        return image.reshape(self.shape, order="F"), wrong

    @property
    def terms(self) -> int:
        """How many products are added up in an entry of H value."""
        return int(self.whitener.shape[0])

    def reach(self, entry: float) -> float:
        """The most that an entry of H value can be, for values of entries at most `entry` in size."""
        return float(np.abs(self.whitener).sum(axis=1).max()) * entry

    def colour(self, white: Array) -> Array:
        """The inverse of `whiten`, to floating-point accuracy: post-processing."""
        return np.asarray((self._factor @ white.ravel(order="F")).reshape(self.shape, order="F"))

    def gain(self) -> tuple[float, float]:
        """Bounds of sup |H D| over |D| <= 1."""
        return spectral_norm(self.whitener)

    def scaled(self, factor: float) -> DenseNoise:
        """The same shape with the noise multiplied by `factor`."""
        return DenseNoise(self.covariance * (factor * factor), self.shape)


@dataclass(frozen=True, eq=False)
class LowRankNoise:
    """Independent noise of one standard deviation plus noise in a few directions: covariance std^2 I + F F^T.

    Args:
        std: of the independent part, above 0. Without it the noise would live on a subspace and protect nothing else.
        factor: F, d x k with k at most 4,096: the extra directions, columns need not be orthogonal.

    The factor is at most 10^12 times std in size.

    The whitener is H = (I - V w V^T)/std, with V the left singular vectors of F/std and w = 1 - (1 + s^2)^(-1/2).
    """

    std: float
    factor: Array
    _directions: Array = field(init=False, repr=False)
    _weights: Array = field(init=False, repr=False)
    kind: ClassVar[str] = "low_rank"

    def __post_init__(self) -> None:
        factor = read_array(self.factor, "factor")
        std = float_down(read_size(self.std, "std", round_up=False))
        if factor.shape[1] > MAX_DENSE:
            raise InputError(f"factor has {factor.shape[1]} columns; at most {MAX_DENSE}")
        with np.errstate(over="ignore"):
            scaled = factor / std
        if not np.abs(scaled).max() * math.sqrt(scaled.size) <= MOST_CONDITION:
            raise InputError(
                f"factor is more than {MOST_CONDITION:g} times std in size; raise std, or lower the factor"
            )
        directions, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
        root = np.sqrt(1 + sizes * sizes)
        object.__setattr__(self, "std", std)
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "_directions", directions)
        object.__setattr__(self, "_weights", sizes * sizes / (root * (1 + root)))  # 1 - 1/root, without cancellation

    @property
    def shape(self) -> Shape:
        """Of the value: a column vector."""
        return self.factor.shape[0], 1

    @property
    def precision(self) -> float:
        """The whitener on what lies outside the directions: not above 1/std."""
        return float(np.nextafter(1 / self.std, 0.0))

    def whiten(self, value: Array) -> tuple[Array, float]:
        """H value, and how far (as a Euclidean norm) the computed array may be from it."""
        v, w = self._directions, self._weights[:, None]
        image = (value - v @ (w * (v.T @ value))) * self.precision
        size = norm(value)[1] * (1 + norm(v)[1] ** 2)
        return image, 2 * off(sum(v.shape) + 4) * size * self.precision

    @property
    def terms(self) -> int:
        """How many products are added up in an entry of H value."""
        return sum(self._directions.shape) + 4

    def reach(self, entry: float) -> float:
        """The most that an entry of H value can be, for values of entries at most `entry` in size."""
        size = entry * math.sqrt(self._directions.shape[0])
        return size * (1 + norm(self._directions)[1] ** 2) * self.precision

    def colour(self, white: Array) -> Array:
        """The inverse of `whiten`, to floating-point accuracy: post-processing."""
        v, w = self._directions, self._weights[:, None]
        return np.asarray((white + v @ (w / (1 - w) * (v.T @ white))) / self.precision)

    def gain(self) -> tuple[float, float]:
        """Bounds of sup |H D| over |D| <= 1.

        H is symmetric up to the rounding in V. With e a bound on |V^T V - I|, every eigenvalue of I - V w V^T lies in
        [1 - max w (1 + e), 1], so the norm is at most 1 in units of `precision` (w <= 1 keeps it above -1).
        """
        v = self._directions
        wrong = norm(v.T @ v - np.eye(v.shape[1]))[1] + off(v.shape[0]) * norm(v)[1] ** 2
        worst = max(1.0, float(self._weights.max()) * (1 + wrong) - 1.0)
        if v.shape[0] > v.shape[1]:
            return self.precision * (1 - 4 * UNIT), self.precision * worst * (1 + 4 * UNIT)
        least = float(self._weights.min())
        rest = (1 - least * (1 + wrong) - 4 * UNIT, 1 - least * (1 - wrong) + 4 * UNIT)  # what cancels is off by < 4 u
        return self.precision * max(rest[0], 0.0) * (1 - 8 * UNIT), self.precision * rest[1] * (1 + 8 * UNIT)

    def scaled(self, factor: float) -> LowRankNoise:
        """The same shape with the noise multiplied by `factor`."""
        return LowRankNoise(self.std * factor, self.factor * factor)


@dataclass(frozen=True, eq=False)
class ToeplitzNoise:
    """Noise C^-1 z std over the rows of the value, C lower triangular Toeplitz: correlated noise of a stream.

    Args:
        coefficients: first column of C (the strategy); the first one above 0, zeros after the last.
        std: of the white noise z, above 0.
        shape: of the value: steps x width; the columns get independent noise.

    Reference: the matrix mechanism in its factorised form for continual counting; Fichtenberger, Henzinger, Upadhyay,
    "Constant matters: fine-grained complexity of differentially private continual observation" (2023).
    """

    coefficients: Array
    std: float
    shape: Shape
    kind: ClassVar[str] = "toeplitz"

    def __post_init__(self) -> None:
        coefficients = read_array(self.coefficients, "coefficients", (1,))
        shape = read_shape(self.shape)
        std = float_down(read_size(self.std, "std", round_up=False))
        if not coefficients[0] > 0:
            raise InputError("the first coefficient of a Toeplitz strategy must be above 0: step 1 would have no noise")
        if coefficients.size > shape[0]:
            raise InputError(f"{coefficients.size} coefficients for a stream of {shape[0]} steps; give at most as many")
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "std", std)
        object.__setattr__(self, "shape", shape)

    @property
    def precision(self) -> float:
        """What the strategy is multiplied by: not above 1/std."""
        return float(np.nextafter(1 / self.std, 0.0))

    def whiten(self, value: Array) -> tuple[Array, float]:
        """H value, and how far (as a Euclidean norm) the computed array may be from it."""
        image = self._filtered(value, self.coefficients) * self.precision
        sizes = self._filtered(np.abs(value), np.abs(self.coefficients)) * self.precision
        terms = self.coefficients.size + 4
        return image, off(terms) * norm(sizes)[1] * (1 + off(terms))

    @property
    def terms(self) -> int:
        """How many products are added up in an entry of H value."""
        return self.coefficients.size + 4

    def reach(self, entry: float) -> float:
        """The most that an entry of H value can be, for values of entries at most `entry` in size."""
        return float(np.abs(self.coefficients).sum()) * self.precision * entry

    def colour(self, white: Array) -> Array:
        """The inverse of `whiten`, by forward substitution: post-processing."""
        c, out = self.coefficients, np.array(white / self.precision)
        for t in range(out.shape[0]):
            back = min(t, c.size - 1)
            if back:
                out[t] -= c[1 : back + 1][::-1] @ out[t - back : t]
            out[t] /= c[0]
        return out

    def gain(self) -> tuple[float, float]:
        """Bounds of sup |H D| over |D| <= 1: the spectral norm of C, from above by the sum of |coefficients|."""
        steps = self.shape[0]
        if steps <= MAX_DENSE:
            lower, upper = spectral_norm(self.matrix())
        else:  # a Toeplitz operator's norm is at most the largest value of its symbol, at most the absolute sum
            lower = norm(self.coefficients)[0]
            upper = float(np.abs(self.coefficients).sum()) * (1 + off(self.coefficients.size))
        return lower * self.precision * (1 - 2 * UNIT), upper * self.precision * (1 + 2 * UNIT)

    def matrix(self) -> Array:
        """C written out, steps x steps.

        Raises:
            InputError: more than 4,096 steps.
        """
        steps = self.shape[0]
        if steps > MAX_DENSE:
            raise InputError(f"a strategy of {steps} steps is not written out; at most {MAX_DENSE}")
        out = np.zeros((steps, steps))
        for lag, coefficient in enumerate(self.coefficients):
            out[np.arange(lag, steps), np.arange(steps - lag)] = coefficient
        return out

    def scaled(self, factor: float) -> ToeplitzNoise:
        """The same shape with the noise multiplied by `factor`."""
        return ToeplitzNoise(self.coefficients, self.std * factor, self.shape)

    def _filtered(self, value: Array, coefficients: Array) -> Array:
        out = np.zeros(value.shape)
        for lag, coefficient in enumerate(coefficients):
            out[lag:] += coefficient * value[: value.shape[0] - lag]
        return out


Covariance: TypeAlias = IidNoise | DiagonalNoise | KroneckerNoise | DenseNoise | LowRankNoise | ToeplitzNoise
COVARIANCES: Final = (IidNoise, DiagonalNoise, KroneckerNoise, DenseNoise, LowRankNoise, ToeplitzNoise)


def whitening_error(noise: Covariance, entry: float) -> float:
    """The most that a computed entry of H value is off, for values of entries at most `entry` in size."""
    return 2 * off(noise.terms) * noise.reach(entry)
