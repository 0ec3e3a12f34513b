"""Read delta from a line: the trapezoid rule, and closed bounds of everything it leaves out.

For c > 0 and any law of finite losses (mass m <= 1 under P),

    delta(eps) = E[(1 - e^(eps - L))_+] = 1/(2 pi i) * integral over c + it of M(z) e^(-z eps) / (z (z + 1)) dz,

and the trapezoid rule with step h is, by Poisson summation, *exactly*

    T = sum over all integers k of e^(-k c w) delta(eps - k w),        w = 2 pi / h.

Every term is non-negative. So T is too large by

* at most 1 / (e^(cw) - 1) from k > 0, and at least m / (e^(cw) - 1) - e^eps / (e^((c+1)w) - 1), since
  m - e^x <= delta(x) <= 1;
* at most M(c') e^(-c' eps) k(c') / (e^((c'-c)w) - 1) from k < 0, for any c' > c, since
  (1 - e^(x-L))_+ <= k(c') e^(c'(L-x)) with k(c') = c'^c' / (1+c')^(1+c').

Leaving out the nodes beyond height s costs at most B M(c) e^(-c eps) (1/s + h/s^2) / pi where B bounds |phi| there.

If nothing bounds phi well enough, a Gaussian loss of tiny variance v is added. Composing more never lowers delta, so
the result is an upper bound. With psi_v(x) = E[(1 - e^(-x-G_v))_+] - (1 - e^(-x))_+ >= 0, d psi_v / dv is half the
density of N(v/2, v) at -x; hence psi_v / psi_2v is largest at x = 0, where it is at most r = e^(v/4) / sqrt(2). With
K = r / (1 - r) this gives psi_v <= K (psi_2v - psi_v), so delta >= (1 + K) delta_v - K delta_2v.

Rounding: each term carries the relative error of its moment, and the sum that of adding; both are added up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from dosimeter.pld.laws.law import Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.blocks import SUM
from dosimeter.pld.saddle.total import Total

ALIAS = 1e-12  # relative error allowed in the bounds of the terms k != 0


@dataclass(frozen=True, slots=True)
class Reading:
    """delta of the finite losses at one epsilon: e^log_scale times [lower, upper].

    `slope` estimates d log delta / d epsilon.
    """

    log_scale: float
    lower: float
    upper: float
    slope: float


def log_kernel(order: float) -> float:
    """log of k(c) = c^c / (1 + c)^(1 + c)."""
    return order * math.log(order) - (1 + order) * math.log1p(order)


@dataclass(frozen=True, slots=True)
class Inversion:
    """A total with a Gaussian part, ready to be read at any epsilon: what does not depend on epsilon is done."""

    total: Total
    variance: float
    log_moment: float
    log_error: float
    drift: Fraction  # the phase per height is this minus epsilon
    heights: Reals
    size: Reals  # of the terms, relative to the first factor e^(log_moment - c epsilon)
    angle: Reals
    error: float
    error_per_drift: float
    rest: float

    def read(self, mass: float, epsilon: float) -> Reading:
        """delta at epsilon >= 0; `mass` is at most the mass of finite losses that was kept."""
        line = self.total.line
        c, h = line.order, line.step
        log_scale = self.log_moment - c * epsilon
        scale_error = self.log_error + 4 * UNIT * (c * epsilon + abs(log_scale))
        drift = float(self.drift - Fraction(epsilon))
        angle = self.angle + self.heights * drift
        terms = self.size * np.cos(angle)
        value = float(terms.sum()) * h / math.pi
        turned = float((self.heights * self.size * np.sin(angle)).sum()) * h / math.pi
        error = (self.error + abs(drift) * self.error_per_drift) * h / math.pi
        error = (error + abs(value) * math.expm1(scale_error)) * (1 + 64 * UNIT)
        error += self.rest * (1 + scale_error + 64 * UNIT)
        left_high, left_low = aliases(line.period * c, line.period * (c + 1), mass, epsilon)
        over = scaled(left_high, log_scale) + scaled(right_alias(self.total, self.variance, epsilon), log_scale)
        lower = value - error - over * (1 + scale_error + ALIAS)
        upper = value + error - scaled(left_low, log_scale) * (1 - scale_error - ALIAS)
        return Reading(log_scale, max(lower, 0.0), max(upper, 0.0), turned / max(value, 1e-300) - c)


def prepare(total: Total, variance: Fraction) -> Inversion:
    """Add Gaussian losses of total mu^2 = `variance`."""
    line = total.line
    c, h, v = line.order, line.step, float(variance)
    t: Reals = h * np.arange(line.count, dtype=float)
    gauss, fall = c * (c + 1) * v / 2, t * t * (v / 2)
    size = np.exp(total.log_phi.real - fall) / np.hypot(c, t) / np.hypot(c + 1, t)
    size[0] /= 2
    exponent = total.eta + UNIT * (4 * fall + 8 * np.abs(total.log_phi) + 64)
    with np.errstate(over="ignore"):
        errors = size * (np.expm1(np.minimum(exponent, 700.0)) + SUM)
    end = line.end
    rest = math.exp(max(total.log_end - end * end * v / 2, -700.0)) * (1 / end + h / end**2) / math.pi
    return Inversion(
        total,
        v,
        total.log_moment + gauss,
        total.log_error + 4 * UNIT * (abs(total.log_moment) + 2 * gauss),
        total.centre + Fraction(2 * c + 1) * Fraction(v) / 2,
        t,
        size,
        total.log_phi.imag - np.arctan2(t, c) - np.arctan2(t, c + 1),
        float(errors.sum()) * (1 + 64 * UNIT),
        float((t * (size + errors)).sum()) * 4 * UNIT,
        rest,
    )


class Readable(Protocol):
    """Anything that reads delta off a line."""

    def read(self, mass: float, epsilon: float) -> Reading:
        """Bounds of delta at epsilon >= 0."""
        ...


class Moment(Protocol):
    """A composition's log E[e^(cL)] at one order c, and the error of that."""

    @property
    def log_moment(self) -> float: ...

    @property
    def log_error(self) -> float: ...


def chernoff(moment: Moment, order: float, log_delta: float) -> float:
    """An epsilon at which delta is certainly at most e^log_delta, by Chernoff's bound at one order."""
    result = (moment.log_moment + moment.log_error + log_kernel(order) - log_delta) / order
    size = (abs(moment.log_moment) + abs(log_delta) + 1 + order) / order
    return max(result, 0.0) * (1 + 1e-12) + 16 * UNIT * size


def read(plain: Readable, twice: Inversion | None, smoothing: float, mass: float, epsilon: float) -> Reading:
    """Bounds of delta(epsilon): `plain` carries a smoothing variance v, `twice` 2v (None when v is 0)."""
    first = plain.read(mass, epsilon)
    if twice is None:
        return first
    second = twice.read(mass, epsilon)
    rise = second.log_scale - first.log_scale
    if smoothing > 1 or rise > 700:  # r must be below 1
        return Reading(first.log_scale, 0.0, first.upper, first.slope)
    ratio = math.exp(smoothing / 4) / math.sqrt(2) * (1 + 4 * UNIT)
    k = ratio / (1 - ratio)
    rescale = math.exp(rise) * (1 + 8 * UNIT * (1 + abs(first.log_scale) + abs(second.log_scale)))
    lower = (1 + k) * first.lower - k * second.upper * rescale - 8 * UNIT * (1 + k) * first.upper
    return Reading(first.log_scale, max(lower, 0.0), first.upper, first.slope)


def right_alias(total: Total, variance: float, epsilon: float) -> float:
    """Logarithm of a bound of what the terms k < 0 add."""
    line, far = total.line, total.line.beyond
    log_moment = total.log_beyond + far * (far + 1) * variance / 2 * (1 + 8 * UNIT)
    gap = (far - line.order) * line.period
    result = log_moment - far * epsilon + log_kernel(far) - gap - math.log(-math.expm1(-gap))
    return result + 16 * UNIT * (abs(log_moment) + far * epsilon + gap)


def aliases(cw: float, more: float, mass: float, epsilon: float) -> tuple[float, float]:
    """Logarithms of an upper and a lower bound of what the terms k > 0 add."""
    high = -cw - math.log(-math.expm1(-cw))
    less = math.exp(min(epsilon - more, 700.0)) / -math.expm1(-more) * (1 + 1e-9)
    low = mass * math.exp(high) * (1 - 16 * UNIT) - less
    return high, math.log(low) if low > 0 else -math.inf


def scaled(log_value: float, log_scale: float) -> float:
    """e^(log_value - log_scale), kept finite."""
    return math.exp(min(log_value - log_scale, 700.0)) if log_value > -math.inf else 0.0
