"""Totals that are one Gaussian pair: closed forms, enclosed by ball arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Bound
from dosimeter.notions.profiles.gaussian import profile_ball
from dosimeter.pld.saddle.target import Target

if TYPE_CHECKING:
    Ball: TypeAlias = Any


def gaussian_delta(variance: Fraction, mass: Bound, epsilon: Decimal) -> Bound:
    """mass * delta_mu(epsilon) for mu^2 = variance."""
    value = enclose(lambda: profile_ball(ball(variance).sqrt(), ball(epsilon)))
    lower, upper = down(ball(mass.lower) * value), up(ball(mass.upper) * value)
    return Bound(max(ZERO, lower), min(ONE, upper))


def gaussian_epsilon(variance: Fraction, log_mass: tuple[float, float], goal: Target) -> tuple[float, float]:
    """Floats around the epsilon at which mass * delta_mu(epsilon) is the target.

    The root of log delta_mu is searched by secants; both ends are then certified by enclosures.
    """
    wanted_low, wanted_high = goal.low - log_mass[1], goal.high - log_mass[0]

    def log_delta(epsilon: float) -> Ball:
        return enclose(lambda: profile_ball(ball(variance).sqrt(), ball(Decimal(epsilon))).log(), 20)

    if bool(log_delta(0.0) <= ball(Decimal(wanted_low))):
        return 0.0, 0.0
    root = _secant(lambda e: float(log_delta(e).mid()) - wanted_low, float(variance), wanted_low)
    step = 4e-16
    low, high = root, root
    while not bool(log_delta(high) <= ball(Decimal(wanted_low))):
        high, step = root * (1 + step) + 1e-300, step * 2
    step = 4e-16
    while low > 0 and not bool(log_delta(low) >= ball(Decimal(wanted_high))):
        low, step = max(root * (1 - step) - 1e-300, 0.0), step * 2
    return low, high


def _secant(f: Any, variance: float, log_delta: float) -> float:
    """The root of a concave decreasing function on [0, inf)."""
    low, high = 0.0, variance / 2 + math.sqrt(2 * variance * max(-log_delta, 1.0)) + 1e-300
    f_low, f_high = f(low), f(high)
    for _ in range(200):
        if f_high <= 0:
            break
        low, f_low = high, f_high
        high *= 2
        f_high = f(high)
    else:
        raise NoGuaranteeError("no epsilon below 1e12 reaches this delta")
    for _ in range(200):  # regula falsi; an end that stays put counts half (Illinois)
        at = high - f_high * (high - low) / (f_high - f_low)
        if not low < at < high:
            break
        value = f(at)
        if abs(value) <= 1e-16 * abs(log_delta) or high - low <= 4e-16 * high:
            return float(at)
        if value > 0:
            low, f_low, f_high = at, value, f_high / 2
        else:
            high, f_high, f_low = at, value, f_low / 2
    return high
