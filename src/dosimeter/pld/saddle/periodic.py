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

from dosimeter.pld.laws.law import Complexes, Lattice, Reals
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
    """A total of lattice laws, ready to be read at any epsilon: what does not depend on epsilon is done."""

    total: Total
    lattice: Lattice
    heights: Reals
    first: Complexes  # e^(log phi) over the denominator of k, from the second node on twice
    second: Complexes  # the same times e^(-zh)
    error: Reals  # relative error of each term, but for the rounding of its phase
    sizes: Reals

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
        a, b = -math.expm1(-gap), -math.exp(-gap) * math.expm1(-max(h - gap, 0.0))
        turn = self.heights * float(total.centre - above)
        terms = (a * self.first.real + b * self.second.real) * np.cos(turn)
        terms -= (a * self.first.imag + b * self.second.imag) * np.sin(turn)
        count = 2 * line.count - 1
        value = float(terms.sum()) / count
        with np.errstate(over="ignore"):
            relative = np.expm1(np.minimum(self.error + 8 * UNIT * np.abs(turn), 700.0)) + SUM
        error = float((self.sizes * relative).sum()) * (a + b * math.exp(-c * h)) / count
        error = (error + abs(value) * math.expm1(scale_error)) * (1 + 64 * UNIT)
        left_high, left_low = aliases(line.period * c, line.period * (c + 1), mass, epsilon)
        over = scaled(left_high, log_scale) + scaled(right_alias(total, 0.0, epsilon), log_scale)
        lower = value - error - over * (1 + scale_error + ALIAS)
        upper = value + error - scaled(left_low, log_scale) * (1 - scale_error - ALIAS)
        return Reading(log_scale, max(lower, 0.0), max(upper, 0.0), -c)


def prepare(total: Total, lattice: Lattice) -> PeriodicInversion:
    """A total whose losses all lie on a lattice, on a line that is one period of it."""
    c, h = total.line.order, float(lattice.step)
    t = total.line.step * np.arange(total.line.count, dtype=float)
    first, second = np.asarray((c + 1j * t) * h, complex), np.asarray((c + 1 + 1j * t) * h, complex)
    bottom = _minus(first) * _minus(second)
    sizes = np.exp(total.log_phi.real) / np.abs(bottom)
    sizes[1:] *= 2
    phase = total.log_phi.imag - np.arctan2(bottom.imag, bottom.real)
    terms = sizes * (np.cos(phase) + 1j * np.sin(phase))
    error = total.eta + UNIT * (8 * np.abs(total.log_phi) + 16 * np.abs(first) + 144)
    return PeriodicInversion(total, lattice, t, terms, terms * np.exp(-first), error, sizes)


def _minus(x: Complexes) -> Complexes:
    """1 - e^(-x) for complex x with Re x > 0, without cancellation."""
    half = np.sin(x.imag / 2)
    real = -np.expm1(-x.real) * np.cos(x.imag) + 2 * half * half
    result: Complexes = real + 1j * (np.exp(-x.real) * np.sin(x.imag))
    return result
