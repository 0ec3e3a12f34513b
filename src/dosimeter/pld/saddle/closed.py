"""Compositions whose delta has a closed form: Gaussian laws, which add up to one, and a single sampled Gaussian.

Both are enclosed by ball arithmetic. For Poisson sampling with probability q and g = e^eps >= 1 (exact identities):

    remove: H_g = q H_h(P1, P0),               h = (g - 1 + q) / q;
    add:    H_g = (1 - g (1-q)) H_h(P0, P1),   h = g q / (1 - g (1-q)),   and 0 from g = 1/(1-q) on.

A sample of fixed size has the first form in both directions.

Reference: Balle and Wang (2018), Theorem 8; Balle, Barthe and Gaboardi (2018), Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Bound
from dosimeter.notions.profiles.gaussian import profile_ball
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw
from dosimeter.pld.saddle.target import Target

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types


@dataclass(frozen=True, slots=True)
class Closed:
    """A privacy profile in closed form: delta(epsilon) = mass * profile(epsilon), for epsilon in [0, top)."""

    profile: Callable[[Ball], Ball]
    mass: Bound
    top: Fraction | None  # from here on the profile is zero
    scale: float  # some epsilon of the right size

    def delta(self, epsilon: Decimal) -> Bound:
        """Bounds of delta."""
        if self.top is not None and Fraction(epsilon) >= self.top:
            return Bound(ZERO, ZERO)
        value = enclose(lambda: self.profile(ball(epsilon)), 20)
        return Bound(max(ZERO, down(ball(self.mass.lower) * value)), min(ONE, up(ball(self.mass.upper) * value)))

    def epsilon(self, goal: Target) -> tuple[float, float]:
        """Floats around the epsilon with this delta: a search by regula falsi, then certified on both sides."""
        low_mass, high_mass = (_log(x) for x in (self.mass.lower, self.mass.upper))
        wanted_low, wanted_high = goal.low - high_mass, goal.high - low_mass

        def log_delta(epsilon: float) -> Ball:
            value = enclose(lambda: self.profile(ball(Decimal(epsilon))), 20)  # close to 1 its logarithm is close to 0
            return value.log()

        if bool(log_delta(0.0) <= ball(Decimal(wanted_low))):
            return 0.0, 0.0
        end = None if self.top is None else math.nextafter(float(self.top), 0.0)
        root = _root(lambda e: float(log_delta(e).mid()) - wanted_low, self.scale, end)
        low, high, step = root, root, 4e-16
        while not bool(log_delta(high) <= ball(Decimal(wanted_low))):
            high, step = root * (1 + step) + 1e-300, step * 2
            if end is not None and high >= end:
                high = math.nextafter(float(self.top or 0), math.inf)
                break
        step = 4e-16
        while low > 0 and not bool(log_delta(low) >= ball(Decimal(wanted_high))):
            low, step = max(root * (1 - step) - 1e-300, 0.0), step * 2
        return low, high


def closed(counts: dict[Law, int], variance: Fraction, direction: Direction, mass: Bound) -> Closed | None:
    """The closed form of a composition, if it has one."""
    if not counts and variance:
        return Closed(lambda e: profile_ball(ball(variance).sqrt(), e), mass, None, math.sqrt(variance))
    if variance or len(counts) != 1:
        return None
    ((law, count),) = counts.items()
    if count != 1 or not isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw) or law.rate == 1:
        return None
    if not isinstance(law.base, GaussianLaw) or law.base.delta:
        return None
    q, square = law.rate, law.base.mu_squared

    def remove(e: Ball) -> Ball:
        inner = (e.expm1() / ball(q)).log1p()
        return ball(q) * profile_ball(ball(square).sqrt(), inner)

    def add(e: Ball) -> Ball:
        left = ball(q) - (1 - ball(q)) * e.expm1()  # 1 - g (1 - q)
        inner = (ball(q) / left).log() + e
        return left * profile_ball(ball(square).sqrt(), inner)

    ends = law.highest(direction)
    forward = direction is Direction.REMOVE or isinstance(law, FixedSizeSampledLaw)
    top = None if ends is None else ends[0]  # just below it the last float is still inside
    return Closed(remove if forward else add, mass, top, float(q) * math.sqrt(square))


def _log(value: Decimal) -> float:
    return float(enclose(lambda: ball(value).log()).mid()) if value != ONE else 0.0


def _root(f: Callable[[float], float], scale: float, end: float | None) -> float:
    """The root of a decreasing function that is positive at zero."""
    low, high = 0.0, scale if end is None else min(scale, end)
    f_low, f_high = f(low), f(high)
    for _ in range(200):
        if f_high <= 0 or high == end:
            break
        low, f_low, high = high, f_high, high * 2 if end is None else min(high * 2, end)
        f_high = f(high)
    else:
        raise NoGuaranteeError("no epsilon below 1e12 reaches this delta")
    if f_high > 0:
        return high
    for _ in range(200):  # an end that stays put counts half (Illinois)
        at = high - f_high * (high - low) / (f_high - f_low)
        if not low < at < high:
            break
        value = f(at)
        if abs(value) <= 1e-15 or high - low <= 4e-16 * high:
            return at
        if value > 0:
            low, f_low, f_high = at, value, f_high / 2
        else:
            high, f_high, f_low = at, value, f_low / 2
    return high
