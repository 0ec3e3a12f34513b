"""Privacy amplification by sampling, exactly: the loss of the base changes shape, nothing is approximated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError
from dosimeter.pld.laws.law import Direction, Law, Part
from dosimeter.pld.laws.primitive import Primitive, log_of, read_probability
from dosimeter.pld.laws.spread import points


@dataclass(frozen=True, slots=True)
class PoissonSampledLaw(Law):
    """Every record enters the run of `base` independently with probability `rate`; neighbours by add or remove.

    With P1 and P0 the base's output laws with and without the record, the pair is (1-q) P0 + q P1 against P0 (remove)
    and its reverse (add); with the base loss l = log dP1/dP0 the losses are log(1 - q + q e^l) and its negative. The
    base must be stated for add or remove, and must dominate in the remove direction.

    Reference: Zhu, Dong and Wang (2022), Theorem 11; Steinke (2022), section 5.
    """

    rate: Fraction
    base: Primitive
    kind: ClassVar[str] = "poisson_sampled"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", read_probability(self.rate, "sampling_probability", zero=False, one=True))
        if not isinstance(self.base, Primitive):
            raise InputError(f"a {type(self.base).__name__} cannot be sampled; sample each of its parts")

    @property
    def symmetric(self) -> bool:
        return self.rate == 1 and self.base.symmetric

    def infinite(self, direction: Direction) -> Fraction:
        if self.rate == 1:
            return self.base.infinite(direction)
        return self.rate * self.base.infinite(direction) if direction is Direction.REMOVE else Fraction(0)

    @property
    def gaussian(self) -> Fraction | None:
        return self.base.gaussian if self.rate == 1 else None

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:
        if self.rate == 1:
            return self.base.highest(direction)
        if direction is Direction.ADD and self.base.infinite(direction):
            return _log_enclosure(1 / (1 - self.rate))
        ends = self.base.highest(direction)
        if ends is None:
            return None if direction is Direction.REMOVE else _log_enclosure(1 / (1 - self.rate))
        return _amplified(self.rate, *ends, remove=direction is Direction.REMOVE)

    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:
        if self.rate == 1:
            return self.base.parts(direction, cut)
        spread = self.base.spread(cut)
        absent = self.base.infinite(Direction.ADD)  # P0 alone reaches these outcomes: l = -inf
        if absent:
            spread = replace(
                spread,
                losses=np.concatenate([[-np.inf], spread.losses]),
                log_mass=np.concatenate([[log_of(absent)], spread.log_mass]),
            )
        sign = 1 if direction is Direction.REMOVE else -1
        return (Part(spread, sign, float(self.rate), float(1 - self.rate)),)


@dataclass(frozen=True, slots=True)
class FixedSizeSampledLaw(Law):
    """A uniform sample without replacement, a share `rate` of the records; neighbours by replacing one.

    `base` must dominate the mechanism on the sample **under replace-one** (twice the add/remove sensitivity for sums).
    The dominating profile is that of q P + (1-q) Q against Q at levels of at least one, and of P against
    q Q + (1-q) P below one; both halves meet in an atom at loss zero of mass (1-q) TV(P, Q) + P(l = 0).

    Reference: Zhu, Dong and Wang (2022), Proposition 30 and Theorem 11(2).
    """

    rate: Fraction
    base: Primitive
    kind: ClassVar[str] = "fixed_size_sampled"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", read_probability(self.rate, "sampling_share", zero=False, one=True))
        if not isinstance(self.base, Primitive):
            raise InputError(f"a {type(self.base).__name__} cannot be sampled; sample each of its parts")

    @property
    def symmetric(self) -> bool:
        return self.base.symmetric

    def infinite(self, direction: Direction) -> Fraction:
        return self.rate * self.base.infinite(direction)

    @property
    def gaussian(self) -> Fraction | None:
        return self.base.gaussian if self.rate == 1 else None

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:
        ends = self.base.highest(direction)
        return None if ends is None else _amplified(self.rate, *ends, remove=True)

    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:
        if self.rate == 1:
            return self.base.parts(direction, cut)
        (whole,) = self.base.parts(direction, cut)
        under_q, under_p = whole.spread, whole.spread.tilted(1.0)
        above_q, above_p, below_p = under_q.positive(), under_p.positive(), under_p.mirrored().positive()
        rate, stay = float(self.rate), float(1 - self.rate)
        revealed = float(self.base.infinite(direction))
        total_variation = revealed + np.exp(above_p.log_total()) - np.exp(above_q.log_total())
        at_zero = float(np.exp(under_q.log_mass[under_q.losses == 0]).sum())
        middle = max(float(stay * total_variation + at_zero), 1e-300)
        return (
            Part(above_q, 1, rate, stay),
            Part(points([(0.0, float(np.log(middle)))])),
            Part(below_p, -1, rate, stay),
        )


def poisson_sampled(rate: object, base: Primitive | PoissonSampledLaw) -> PoissonSampledLaw:
    """`base` on a Poisson sample; a sample of a sample is one sample at the product of the rates."""
    share = read_probability(rate, "sampling_probability", zero=False, one=True)
    if isinstance(base, PoissonSampledLaw):
        return PoissonSampledLaw(share * base.rate, base.base)
    return PoissonSampledLaw(share, base)


def _amplified(rate: Fraction, low: Fraction, high: Fraction, *, remove: bool) -> tuple[Fraction, Fraction]:
    """Bounds of log(1 + q (e^eps - 1)), or of -log(1 - q (1 - e^-eps)) for the add direction, eps in [low, high]."""

    def value(epsilon: Fraction) -> object:
        e = ball(epsilon)
        if remove:
            return (ball(rate) * e.expm1()).log1p()
        return -(ball(rate) * (-e).expm1()).log1p()

    return Fraction(down(enclose(lambda: value(low)))), Fraction(up(enclose(lambda: value(high))))


def _log_enclosure(value: Fraction) -> tuple[Fraction, Fraction]:
    result = enclose(lambda: ball(value).log())
    return Fraction(down(result)), Fraction(up(result))
