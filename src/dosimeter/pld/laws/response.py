"""Randomized response: two points, and the worst case among everything that is (epsilon, delta)-DP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dosimeter.errors import InputError
from dosimeter.pld.laws.law import Direction, Lattice
from dosimeter.pld.laws.primitive import Primitive, log_of, read, read_probability
from dosimeter.pld.laws.spread import Spread, points


@dataclass(frozen=True, slots=True)
class ResponseLaw(Primitive):
    """(epsilon, delta)-randomized response. Every (epsilon, delta)-DP mechanism is a randomised image of it.

    Reference: Kairouz, Oh and Viswanath (2017), Theorem 3.1 and section 3.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    kind: ClassVar[str] = "randomized_response"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read(self.epsilon, "epsilon", smallest=Fraction(0)))
        object.__setattr__(self, "delta", read_probability(self.delta, "delta"))
        if not self.epsilon and not self.delta:
            raise InputError("randomized response with epsilon=0 and delta=0 reveals nothing; leave it out")

    @property
    def symmetric(self) -> bool:
        return True

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return self.delta

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:  # noqa: ARG002
        return self.epsilon, self.epsilon

    def lattice(self, direction: Direction) -> Lattice | None:  # noqa: ARG002
        return Lattice(2 * self.epsilon, self.epsilon) if self.epsilon else Lattice(Fraction(1), Fraction(0))

    def spread(self, cut: float) -> Spread:  # noqa: ARG002
        e = float(self.epsilon)
        kept = log_of(1 - self.delta)
        if not e:
            return points([(0.0, kept)])
        share = kept - math.log1p(math.exp(-e))
        return points([(e, share - e), (-e, share)])
