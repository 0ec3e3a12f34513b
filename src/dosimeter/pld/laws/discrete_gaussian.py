"""Discrete Gaussian noise on the integers: a lattice of losses, and not quite the Gaussian mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dosimeter import exact
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Direction, Lattice
from dosimeter.pld.laws.primitive import Primitive, read
from dosimeter.pld.laws.spread import Spread

_MOST_POINTS = 4_000_000
_SMALLEST_CUT = 1e-320


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw(Primitive):
    """Noise proportional to e^(-x^2 / (2 sigma^2)) on the integers, on **one** integer that moves by `shift`.

    A vector that may move in several coordinates at once is another pair of laws: compose one law per coordinate.

    Reference: Canonne, Kamath and Steinke (2020), Theorem 7.
    """

    sigma_squared: Fraction
    shift: int = 1
    kind: ClassVar[str] = "discrete_gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", read(self.sigma_squared, "sigma_squared"))
        object.__setattr__(self, "shift", exact.count(self.shift, "shift", largest=10**6))

    @property
    def symmetric(self) -> bool:
        return True

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def lattice(self, direction: Direction) -> Lattice | None:  # noqa: ARG002
        return Lattice(self.shift / self.sigma_squared, self.shift**2 / (2 * self.sigma_squared))

    def log_norm(self) -> float:
        """log of the sum of e^(-x^2 / (2 sigma^2)); by Poisson summation for a large sigma."""
        square = float(self.sigma_squared)
        if square > 4:
            return 0.5 * math.log(2 * math.pi * square) + 2 * math.exp(-2 * math.pi**2 * square)
        at = np.arange(1, 80)
        return math.log1p(2 * math.fsum(np.exp(-at * at / (2 * square))))

    def spread(self, cut: float) -> Spread:
        """Points y from -reach to shift + reach, where P or Q puts at most `cut` outside.

        Past y the masses fall by a factor e^(-y / sigma^2) or faster at every step, so the tail beyond `reach` is at
        most e^(-reach^2 / (2 sigma^2)) / (1 - e^(-reach / sigma^2)) (the norm is at least 1).
        """
        square = float(self.sigma_squared)
        cut = max(cut, _SMALLEST_CUT)
        reach = math.ceil(math.sqrt(2 * square * (math.log(4) - math.log(cut) + max(0.0, math.log(2 * square))))) + 1
        if 2 * reach + self.shift > _MOST_POINTS:
            raise NoGuaranteeError(
                f"discrete Gaussian noise with sigma^2={square:g} has {2 * reach} points; "
                "price it in the lattice step's own units, or as zCDP"
            )
        at = np.arange(-reach, self.shift + reach + 1, dtype=float)
        losses = self.shift * (2 * at - self.shift) / (2 * square)
        return Spread(losses, -at * at / (2 * square) - self.log_norm(), (), cut)


def discrete_gaussian_law(sigma: object, shift: int = 1) -> DiscreteGaussianLaw:
    """The law of discrete Gaussian noise of parameter `sigma`, both in lattice steps."""
    return DiscreteGaussianLaw(read(sigma, "sigma") ** 2, shift)
