"""Laplace noise: atoms at both ends of the loss, an exponential density between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dosimeter.pld.laws.law import Direction
from dosimeter.pld.laws.primitive import Primitive, read
from dosimeter.pld.laws.spread import Piece, Spread, points


@dataclass(frozen=True, slots=True)
class LaplaceLaw(Primitive):
    """Laplace noise with epsilon = L1 sensitivity / scale.

    One coordinate that moves by the whole sensitivity is the worst case: a move spread over coordinates reaches the
    same point in steps, and for Laplace noise the steps' trade-off functions compose, as groups do, to this one.

    Reference: Dong, Roth and Su (2022), section 2.4 (group privacy); the law itself is an elementary integral.
    """

    epsilon: Fraction
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read(self.epsilon, "epsilon"))

    @property
    def symmetric(self) -> bool:
        return True

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:  # noqa: ARG002
        return self.epsilon, self.epsilon

    def spread(self, cut: float) -> Spread:  # noqa: ARG002
        e = float(self.epsilon)
        half = -math.log(2)
        between = Piece(2 * half - e / 2, -0.5, 0.0, -e, e)
        return points([(e, half - e), (-e, half)], (between,))


def laplace_law(scale: object, sensitivity: object = 1) -> LaplaceLaw:
    """The law of Laplace noise of scale `scale` on a value of L1 sensitivity `sensitivity`."""
    return LaplaceLaw(read(sensitivity, "sensitivity") / read(scale, "scale"))
