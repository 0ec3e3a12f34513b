"""The Gaussian pair N(mu, 1) against N(0, 1): its loss is N(mu^2/2, mu^2) in both directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dosimeter.pld.laws.law import Direction
from dosimeter.pld.laws.primitive import Primitive, log_of, read, read_probability
from dosimeter.pld.laws.spread import Spread, gaussian_piece, points


@dataclass(frozen=True, slots=True)
class GaussianLaw(Primitive):
    """mu-GDP, or (mu, delta)-approximate GDP: with probability `delta` everything is revealed.

    Args:
        mu_squared: (sensitivity / sigma)^2, exactly.
        delta: the infinite atom, in [0, 1).

    Reference: Balle and Wang (2018), Lemma 3; Dong, Roth and Su (2022), section 2.3.
    """

    mu_squared: Fraction
    delta: Fraction = Fraction(0)
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu_squared", read(self.mu_squared, "mu_squared"))
        object.__setattr__(self, "delta", read_probability(self.delta, "delta"))

    @property
    def symmetric(self) -> bool:
        return True

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return self.delta

    @property
    def gaussian(self) -> Fraction | None:
        return self.mu_squared

    def spread(self, cut: float) -> Spread:  # noqa: ARG002
        square = float(self.mu_squared)
        return points([], (gaussian_piece(-square / 2, math.sqrt(square), log_of(1 - self.delta)),))


def gaussian_law(sigma: object, sensitivity: object = 1) -> GaussianLaw:
    """The law of Gaussian noise of standard deviation `sigma` on a value of L2 sensitivity `sensitivity`."""
    return GaussianLaw((read(sensitivity, "sensitivity") / read(sigma, "sigma")) ** 2)
