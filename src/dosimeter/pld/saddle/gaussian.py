"""The epsilon of Gaussian losses in a millisecond: guess in floating point, polish by Newton, confirm with balls.

With a = eps/mu - mu/2 and b = eps/mu + mu/2 the profile is Phi(-a) - e^eps Phi(-b) and its slope is -e^eps Phi(-b).
The guess decides nothing: what is returned was confirmed by enclosures on both sides.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, enclose
from dosimeter.exact import ONE, Bound
from dosimeter.notions.profiles.gaussian import raised_tail_ball
from dosimeter.pld.saddle.target import Target

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

_DIGITS = 20
_ROUNDING = 4 * 2.0**-52  # of the logarithms that are added as floats
_STEP = 4e-16  # the first distance from the root at which a side is confirmed


def gaussian_epsilon(variance: Fraction, mass: Bound, goal: Target) -> tuple[float, float] | None:
    """Floats around the epsilon at which N(mu^2/2, mu^2) losses of total mass `mass` have the target delta.

    None where the search does not settle; another one is needed then.
    """
    mu = math.sqrt(variance)
    low_mass, high_mass = (_log(x) for x in (mass.lower, mass.upper))
    slip = _ROUNDING * (abs(goal.low) + abs(goal.high) + abs(low_mass)) if mass.lower != ONE else 0.0
    low_goal, high_goal = goal.low - high_mass - slip, goal.high - low_mass + slip

    def log_delta(epsilon: float) -> tuple[Ball, Ball]:
        """log delta and its derivative."""
        return _log_profile(variance, epsilon)

    first = log_delta(0.0)
    if bool(first[0] <= ball(Decimal(low_goal))):
        return 0.0, 0.0
    at = _guess(mu, low_goal)
    for _ in range(12):
        value, slope = log_delta(at)
        change = (float(value.mid()) - low_goal) / -float(slope.mid())
        following = max(at + change, at / 4)
        if not math.isfinite(following):
            return None
        settled, at = abs(following - at) <= 1e-10 * at, following
        if settled:  # the next step would be smaller than a unit in the last place
            break
    else:
        return None
    low, high, step = at, at, _STEP
    while not bool(log_delta(high)[0] <= ball(Decimal(low_goal))):
        high, step = at * (1 + step) + 1e-300, step * 2
    step = _STEP
    while low > 0 and not bool(log_delta(low)[0] >= ball(Decimal(high_goal))):
        low, step = max(at * (1 - step) - 1e-300, 0.0), step * 2
    return low, high


def _log_profile(variance: Fraction, epsilon: float) -> tuple[Ball, Ball]:
    import flint

    slope = None

    def profile() -> Ball:
        nonlocal slope
        mu, e = ball(variance).sqrt(), ball(Decimal(epsilon))
        slope = raised_tail_ball(mu, e)
        return ((e / mu - mu / 2) / flint.arb(2).sqrt()).erfc() / 2 - slope

    value = enclose(profile, _DIGITS)
    return value.log(), -(slope / value)


def _guess(mu: float, log_delta: float) -> float:
    """An epsilon of about the right size: halving in floating point, on a logarithm of the profile."""
    low, high = 0.0, mu * mu / 2 + mu * math.sqrt(-2 * log_delta) + 1e-300
    for _ in range(80):
        middle = (low + high) / 2
        if high - low <= min(1e-6 * high, 0.05 * mu):
            break
        low, high = (middle, high) if _rough(mu, middle) > log_delta else (low, middle)
    return (low + high) / 2


def _rough(mu: float, epsilon: float) -> float:
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    first, second = log_tail(a), epsilon + log_tail(b)
    gap = second - first
    return first + math.log(-math.expm1(gap)) if gap < 0 else first - 36.0


def log_tail(x: float) -> float:
    """log P(N(0, 1) > x), roughly."""
    if x < 25:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log1p(-1 / (x * x))


def _log(value: Decimal) -> float:
    return float(enclose(lambda: ball(value).log()).mid()) if value != ONE else 0.0
