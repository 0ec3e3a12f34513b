"""Compositions whose delta has a closed form: Gaussian laws, which add up to one, and one sampled Gaussian.

Both are enclosed by ball arithmetic. For Poisson sampling with probability q and g = e^eps >= 1 (exact identities):

    remove: H_g = q H_h(P1, P0),               h = (g - 1 + q) / q;
    add:    H_g = (1 - g (1-q)) H_h(P0, P1),   h = g q / (1 - g (1-q)),   and 0 from g = 1/(1-q) on.

A sample of fixed size has the first form in both directions; draws with replacement are a mixture of those.

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
from dosimeter.exact import ONE, SMALLEST, ZERO, Bound
from dosimeter.notions.profiles.gaussian import profile_ball
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.mixture import MixtureLaw
from dosimeter.pld.laws.response import ResponseLaw
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
        value = enclose(lambda: _zero_if_tiny(self.profile(ball(epsilon))), 20)
        if value == 0:
            return Bound(ZERO, SMALLEST)
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
    if count != 1:
        return None
    if isinstance(law, MixtureLaw):
        return _mixture(law, direction, mass)
    return one_run(law, direction, mass)


def one_run(law: Law, direction: Direction, mass: Bound) -> Closed | None:
    """The closed form of one sampled Gaussian."""
    profile = _sampled(law, direction)
    if profile is None or not isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw):
        return None
    ends = law.highest(direction)
    top = None if ends is None else ends[0]  # just below it the last float is still inside
    return Closed(profile, mass, top, float(law.rate) * math.sqrt(law.base.gaussian or 1))


def _sampled(law: Law, direction: Direction) -> Callable[[Ball], Ball] | None:
    """The profile of one sampled Gaussian."""
    if not isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw) or law.rate == 1:
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

    return remove if direction is Direction.REMOVE or isinstance(law, FixedSizeSampledLaw) else add


def _mixture(law: MixtureLaw, direction: Direction, mass: Bound) -> Closed | None:
    """A mixture of batches of Gaussians, and of laws without any finite loss: profiles average."""
    parts: list[tuple[Fraction, Callable[[Ball], Ball]]] = []
    scale = 0.0
    for weight, one in zip(law.weights, law.laws, strict=True):
        profile = _sampled(one, direction)
        if profile is not None and isinstance(one, FixedSizeSampledLaw):
            parts.append((weight, profile))
            scale = max(scale, float(weight * one.rate) * math.sqrt(one.base.gaussian or 1))
        elif not (isinstance(one, ResponseLaw) and not one.epsilon):
            return None
    if not parts:
        return None
    finite = 1 - law.infinite(direction)  # `mass` takes the infinite atom out of a profile that still holds all of it

    def average(e: Ball) -> Ball:
        return sum((ball(weight / finite) * profile(e) for weight, profile in parts), ball(0))

    return Closed(average, mass, None, scale)


def _zero_if_tiny(value: Ball) -> Ball:
    """Zero in place of what is certainly under 1e-300; its digits are of no use, and there may be none to be had."""
    return ball(0) if bool(value < ball(SMALLEST)) else value


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
        at = high - f_high * (high - low) / (f_high - f_low) if f_high < f_low else (low + high) / 2
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
