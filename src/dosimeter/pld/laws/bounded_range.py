"""The exponential mechanism, by the one property that decides its privacy: its losses span a bounded range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dosimeter.pld.laws.law import Direction
from dosimeter.pld.laws.primitive import Primitive, read
from dosimeter.pld.laws.spread import Piece, Spread, points


@dataclass(frozen=True, slots=True)
class BoundedRangeLaw(Primitive):
    """Any mechanism whose loss lies in an interval of length `width` = eta (for every pair, an interval of its own).

    Among two-point losses t and t - eta the hockey-stick divergence at e^eps is largest at e^t = e^((eta + eps)/2),
    where it is (e^(eta/2) - e^(eps/2))^2 / (e^eta - 1) for |eps| <= eta. That upper envelope is itself the profile of
    a pair: its loss has density e^(eta/2) e^(l/2) / (2 (e^eta - 1)) under P on [-eta, eta], without atoms. So this
    law dominates all of them at once, for any adaptive choice of t. The exponential mechanism run at epsilon has
    range epsilon.

    Reference: Dong, Durfee and Rogers (2020), section 3 (two-point losses are the extremes, and their divergences).
    """

    width: Fraction
    kind: ClassVar[str] = "bounded_range"

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", read(self.width, "width"))

    @property
    def symmetric(self) -> bool:
        return True

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:  # noqa: ARG002
        return self.width, self.width

    def spread(self, cut: float) -> Spread:  # noqa: ARG002
        eta = float(self.width)
        log_range = eta + math.log(-math.expm1(-eta))  # log(e^eta - 1)
        return points([], (Piece(eta / 2 - math.log(2) - log_range, -0.5, 0.0, -eta, eta),))
