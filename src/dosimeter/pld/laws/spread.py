"""A loss in the pieces every mechanism here is made of: points, and densities whose logarithm is quadratic.

A Gaussian mechanism's loss has one Gaussian piece, Laplace noise two points and one exponential piece, randomized
response two points. Masses of cells are computed by forms without cancellation: a closed form for exponential
pieces, an eight-point Gauss rule for narrow Gaussian cells, tail functions for wide ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]

_RULE = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, slots=True)
class Piece:
    """Density exp(alpha + beta l + gamma l^2) of l on [low, high]; gamma is zero or negative."""

    alpha: float
    beta: float
    gamma: float
    low: float
    high: float

    def tilted(self, order: float) -> Piece:
        """The same piece with its density multiplied by e^(order l)."""
        return replace(self, beta=self.beta + order)

    def scaled(self, log_scale: float) -> Piece:
        """The same piece with its density multiplied by e^log_scale."""
        return replace(self, alpha=self.alpha + log_scale)

    def mirrored(self) -> Piece:
        """The piece of -l."""
        return replace(self, beta=-self.beta, low=-self.high, high=-self.low)

    def log_density(self, at: Reals) -> Reals:
        """The logarithm of the density at points of the piece."""
        result: Reals = self.alpha + at * (self.beta + self.gamma * at)
        return result

    @property
    def size(self) -> float:
        """How large the terms are that cancel in its log density: a mass is known within a few units of this."""
        return abs(self.alpha) + (self.beta * self.beta / (-4 * self.gamma) if self.gamma else 0.0)

    def log_total(self) -> float:
        """The logarithm of the mass of the whole piece."""
        if self.gamma < 0 and math.isinf(self.low) and math.isinf(self.high):
            return self.alpha - self.beta * self.beta / (4 * self.gamma) + 0.5 * math.log(-math.pi / self.gamma)
        return float(self.log_mass(np.array([self.low, self.high]))[0])

    def log_mass(self, edges: Reals) -> Reals:
        """Logarithms of the masses of the cells between consecutive edges; -inf for a cell outside the piece."""
        clipped = np.clip(edges, self.low, self.high)
        low, high = clipped[:-1], clipped[1:]
        result = np.full(len(low), -math.inf)
        inside = high > low
        if inside.any():
            measure = _exponential_cells if self.gamma == 0 else _gaussian_cells
            result[inside] = measure(self, low[inside], high[inside])
        return result


@dataclass(frozen=True, slots=True)
class Spread:
    """A measure on the line: points with the logarithms of their masses, and pieces.

    `cut` bounds the mass of points that were left out, under P and under Q.
    """

    losses: Reals
    log_mass: Reals
    pieces: tuple[Piece, ...] = ()
    cut: float = 0.0

    def tilted(self, order: float) -> Spread:
        """The measure multiplied by e^(order l)."""
        return replace(
            self,
            log_mass=self.log_mass + order * self.losses,
            pieces=tuple(piece.tilted(order) for piece in self.pieces),
        )

    def scaled(self, log_scale: float) -> Spread:
        """The measure multiplied by e^log_scale."""
        return replace(
            self,
            log_mass=self.log_mass + log_scale,
            pieces=tuple(piece.scaled(log_scale) for piece in self.pieces),
        )

    def mirrored(self) -> Spread:
        """The same measure of -l."""
        return replace(
            self,
            losses=-self.losses[::-1],
            log_mass=self.log_mass[::-1],
            pieces=tuple(piece.mirrored() for piece in self.pieces),
        )

    def positive(self) -> Spread:
        """The restriction to l > 0."""
        kept = self.losses > 0
        pieces = tuple(replace(p, low=max(p.low, 0.0)) for p in self.pieces if p.high > 0)
        return replace(self, losses=self.losses[kept], log_mass=self.log_mass[kept], pieces=pieces)

    def log_cells(self, edges: Reals) -> Reals:
        """Logarithms of the masses that the pieces put between consecutive edges."""
        result = np.full(len(edges) - 1, -math.inf)
        for piece in self.pieces:
            result = np.logaddexp(result, piece.log_mass(edges))
        return result

    def log_total(self) -> float:
        """The logarithm of the whole mass."""
        pieces = np.array([piece.log_total() for piece in self.pieces])
        return float(np.logaddexp.reduce(np.concatenate([self.log_mass, pieces]), initial=-math.inf))


def points(pairs: list[tuple[float, float]], pieces: tuple[Piece, ...] = (), cut: float = 0.0) -> Spread:
    """A spread of a few points given as (l, log mass)."""
    ordered = sorted(pair for pair in pairs if pair[1] > -math.inf)
    losses = np.array([loss for loss, _ in ordered], dtype=float)
    return Spread(losses, np.array([mass for _, mass in ordered], dtype=float), pieces, cut)


def gaussian_piece(mean: float, deviation: float, log_scale: float = 0.0) -> Piece:
    """The density of N(mean, deviation^2) times e^log_scale."""
    precision = 1 / (deviation * deviation)
    constant = -0.5 * mean * mean * precision - math.log(deviation) - 0.5 * math.log(2 * math.pi)
    return Piece(constant + log_scale, mean * precision, -0.5 * precision, -math.inf, math.inf)


def _exponential_cells(piece: Piece, low: Reals, high: Reals) -> Reals:
    """Integral of e^(alpha + beta l) = e^(alpha + beta middle) width sinh(x)/x, with x = |beta| width / 2."""
    width = high - low
    x = abs(piece.beta) * width / 2
    small = x < 1e-4  # there log(sinh(x)/x) = x^2/6 to 1e-18
    safe = np.where(small, 1.0, x)
    log_shape = np.where(small, x * x / 6, safe + np.log(-np.expm1(-2 * safe) / (2 * safe)))
    result: Reals = piece.alpha + piece.beta * (low + width / 2) + np.log(width) + log_shape
    return result


def _gaussian_cells(piece: Piece, low: Reals, high: Reals) -> Reals:
    """Narrow and gently sloped cells by the Gauss rule (its error is below 1e-17 there), others by two tails."""
    deviation = math.sqrt(-0.5 / piece.gamma)
    mean = piece.beta * deviation * deviation
    a, b = (low - mean) / deviation, (high - mean) / deviation
    with np.errstate(invalid="ignore", over="ignore"):
        narrow = (b - a <= 0.5) & ((b - a) * np.maximum(np.abs(a), np.abs(b)) <= 1.0)
    scale = piece.alpha - piece.beta * piece.beta / (4 * piece.gamma) + math.log(deviation)
    result = np.empty(len(low))
    if narrow.any():
        half = (b[narrow] - a[narrow]) / 2
        x = a[narrow][:, None] + half[:, None] * (1 + _RULE[0][None, :])
        first = x[:, :1]
        ratios = np.exp((first - x) * (first + x) / 2) * _RULE[1][None, :]
        result[narrow] = scale - first[:, 0] ** 2 / 2 + np.log(half * ratios.sum(axis=1))
    wide = ~narrow
    if wide.any():
        right = a[wide] > 0  # a cell on the right is the mirror image of one on the left
        far = log_tail(np.where(right, a[wide], -b[wide]))
        near = log_tail(np.where(right, b[wide], -a[wide]))
        result[wide] = scale + 0.5 * math.log(2 * math.pi) + far + np.log1p(-np.exp(np.minimum(near - far, 0.0)))
    return result


def log_tail(x: Reals) -> Reals:
    """log P(N(0, 1) > x): the complementary error function, and its asymptotic series beyond 26."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        body = np.log(0.5 * _erfc(np.minimum(x, 26.0) / math.sqrt(2)))
        y = 1 / np.square(np.maximum(x, 26.0))
        series = -y * (1 - y * (3 - y * (15 - y * (105 - y * (945 - y * 10395)))))
        far = -0.5 / y - np.log(np.maximum(x, 26.0)) - 0.5 * math.log(2 * math.pi) + np.log1p(series)
    return np.where(x < 26.0, body, far)


def _erfc(x: Reals) -> Reals:
    return np.fromiter(map(math.erfc, x.tolist()), dtype=float, count=len(x))
