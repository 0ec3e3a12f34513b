"""Losses on a lattice: one period of the line says everything, exactly.

If all losses lie in o + h Z, M(c + it) repeats (up to a phase) with period 2 pi / h, and for N nodes in one period

    T = (1/N) sum over j of M(z_j) k(z_j),   z_j = c + 2 pi i j / (N h),   k(z) = sum over lattice points l > eps of
    e^(-zl) (1 - e^(eps - l)) = e^(-z l*) (a + b e^(-zh)) / ((1 - e^(-zh)) (1 - e^(-(z+1)h))),

with l* the first lattice point above eps, a = 1 - e^(eps - l*) and b = e^(eps - l*) - e^(-h), equals the same sum of
aliases as the trapezoid rule: sum over k of e^(-k c w) delta(eps - k w) with w = N h. Nothing is cut off or smoothed,
so the answer is sharp even at the lattice points, where delta has its corners.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dosimeter.pld.laws.law import Complexes, Lattice
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.blocks import SUM
from dosimeter.pld.saddle.inversion import ALIAS, Reading, aliases, right_alias, scaled
from dosimeter.pld.saddle.total import Total


def common(first: Lattice | None, second: Lattice, count: int) -> Lattice:
    """The lattice of a sum: a loss on `first` (None for nothing yet) and `count` losses on `second`."""
    if first is None:
        return Lattice(second.step, count * second.offset)
    a, b = first.step, second.step
    step = Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
    return Lattice(step, first.offset + count * second.offset)


@dataclass(frozen=True, slots=True)
class PeriodicInversion:
    """A total of lattice laws, ready to be read at any epsilon."""

    total: Total
    lattice: Lattice

    @property
    def log_moment(self) -> float:
        """log E[e^(cL)] of the composition."""
        return self.total.log_moment

    @property
    def log_error(self) -> float:
        """The error of `log_moment`."""
        return self.total.log_error

    def read(self, mass: float, epsilon: float) -> Reading:
        """delta at epsilon >= 0; `mass` is at most the mass of finite losses that was kept."""
        total, line = self.total, self.total.line
        c, h = line.order, float(self.lattice.step)
        exact = Fraction(epsilon)
        steps = math.floor((exact - self.lattice.offset) / self.lattice.step) + 1
        above = self.lattice.offset + steps * self.lattice.step
        gap = float(above - exact)  # in (0, h]
        log_scale = total.log_moment - c * float(above)
        scale_error = total.log_error + 8 * UNIT * (abs(total.log_moment) + c * float(above) + abs(log_scale) + 1)
        t = line.step * np.arange(line.count, dtype=float)
        first, second = np.asarray((c + 1j * t) * h, complex), np.asarray((c + 1 + 1j * t) * h, complex)
        a, b = -math.expm1(-gap), math.exp(-h) * math.expm1(max(h - gap, 0.0))
        bottom = _minus(first) * _minus(second)
        top = a + b * np.exp(-first)
        size = np.exp(total.log_phi.real) / np.abs(bottom)
        size[1:] *= 2
        drift = float(total.centre - above)
        phase = total.log_phi.imag + t * drift - np.arctan2(bottom.imag, bottom.real)
        count = 2 * line.count - 1
        terms = size * (top.real * np.cos(phase) - top.imag * np.sin(phase))
        value = float(terms.sum()) / count
        with np.errstate(over="ignore"):
            exponent = total.eta + UNIT * (8 * np.abs(t * drift) + 8 * np.abs(total.log_phi) + 16 * np.abs(first) + 128)
            relative = np.expm1(np.minimum(exponent, 700.0)) + SUM
        error = float((size * (a + b * math.exp(-c * h)) * relative).sum()) / count
        error = (error + abs(value) * math.expm1(scale_error)) * (1 + 64 * UNIT)
        left_high, left_low = aliases(line.period * c, line.period * (c + 1), mass, epsilon)
        over = scaled(left_high, log_scale) + scaled(right_alias(total, 0.0, epsilon), log_scale)
        lower = value - error - over * (1 + scale_error + ALIAS)
        upper = value + error - scaled(left_low, log_scale) * (1 - scale_error - ALIAS)
        return Reading(log_scale, max(lower, 0.0), max(upper, 0.0), -c)


def _minus(x: Complexes) -> Complexes:
    """1 - e^(-x) for complex x with Re x > 0, without cancellation."""
    half = np.sin(x.imag / 2)
    real = -np.expm1(-x.real) * np.cos(x.imag) + 2 * half * half
    result: Complexes = real + 1j * (np.exp(-x.real) * np.sin(x.imag))
    return result
