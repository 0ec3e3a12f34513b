"""Discrete Laplace noise on the integers: the loss lives on a lattice of step 2 / scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dosimeter import exact
from dosimeter.pld.laws.law import Direction, Lattice
from dosimeter.pld.laws.primitive import Primitive, read
from dosimeter.pld.laws.spread import Spread


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw(Primitive):
    """Noise proportional to e^(-|x| / scale) on the integers, on a value that moves by at most `shift` in L1.

    The largest move of one coordinate is the worst case, as for continuous Laplace noise.

    Reference: Canonne, Kamath and Steinke (2020), section 5; Ghosh, Roughgarden and Sundararajan (2012).
    """

    scale: Fraction
    shift: int = 1
    kind: ClassVar[str] = "discrete_laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", read(self.scale, "scale"))
        object.__setattr__(self, "shift", exact.count(self.shift, "shift", largest=10**6))

    @property
    def symmetric(self) -> bool:
        return True

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:  # noqa: ARG002
        return self.shift / self.scale, self.shift / self.scale

    def lattice(self, direction: Direction) -> Lattice | None:  # noqa: ARG002
        return Lattice(2 / self.scale, self.shift / self.scale)

    def spread(self, cut: float) -> Spread:  # noqa: ARG002
        rate = float(1 / self.scale)
        top = float(self.shift / self.scale)
        ends = -math.log1p(math.exp(-rate))
        steps = np.arange(self.shift - 1, 0, -1, dtype=float)
        middle = math.log(math.tanh(rate / 2)) - steps * rate
        losses = (self.shift - 2 * steps) * rate
        return Spread(
            np.concatenate([[-top], losses, [top]]),
            np.concatenate([[ends], middle - losses, [ends - top]]),
        )
