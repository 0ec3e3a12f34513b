"""Discrete Gaussian noise of more than two lattice steps, in closed form.

With noise e^(-x^2 / 2 s^2) on the integers and a shift d, completing the square gives

    E[e^(zL)] = e^(z (z+1) d^2 / 2 s^2) Theta(z d) / Theta(0),
    Theta(x) = sum over all integers k of e^(-2 pi^2 s^2 k^2 + 2 pi i k x)      (Poisson summation).

On the line z = c + it, with T = t d, this is a Gaussian that recurs:

    phi(t) = sum over j of e^(-(T - 2 pi s^2 j)^2 / 2 s^2 - 2 pi i j c d) / Theta(c d),   centre (2c + 1) d^2 / 2 s^2.

For s^2 > 4, Theta on the real axis is 1 within 3 e^(-8 pi^2) < 1e-33, and at each height the two nearest recurrences
are all: the others are at least 2 pi s^2 away, so below 3 e^(-8 pi^2).
"""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np

from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.law import Complexes, Law, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.characteristic import Characteristic, finish


def is_smooth(law: Law) -> TypeGuard[DiscreteGaussianLaw]:
    """Whether the closed form applies."""
    return isinstance(law, DiscreteGaussianLaw) and law.sigma_squared > 4


def log_moment(law: DiscreteGaussianLaw, order: float) -> tuple[float, float]:
    """log E[e^(cL)] and a bound of its error."""
    value = order * (order + 1) * float(law.shift**2 / law.sigma_squared) / 2
    return value, 8 * UNIT * value + 1e-32


def smooth(law: DiscreteGaussianLaw, order: float, heights: Reals) -> Characteristic:
    """The law on a line."""
    square = float(law.sigma_squared)
    moved = heights * law.shift
    nearest = np.floor(moved / (2 * math.pi * square))
    change: Complexes = np.zeros(len(heights), dtype=complex)
    error: Reals = np.full(len(heights), 1e-32)
    for j in (nearest, nearest + 1):
        away = moved - 2 * math.pi * square * j
        size = np.exp(-away * away / (2 * square))
        turn = np.remainder(j * (order * law.shift), 1.0) * (2 * math.pi)
        first = np.expm1(-away * away / (2 * square))
        change += np.where(j == 0, first, size * (np.cos(turn) - 1j * np.sin(turn)))
        wrong = np.abs(away) / square * 4 * np.abs(moved) * (j != 0) + 8 * (away * away / square)
        wrong += (j != 0) * (24 + 16 * j * (order * law.shift + 1))
        error += np.where(j == 0, np.abs(first) * 16 + size * 8 * away * away / square, size * wrong) * UNIT
    change -= np.where(nearest > 0, 1.0, 0.0)
    value, log_error = log_moment(law, order)
    centre = (2 * order + 1) * float(law.shift**2 / law.sigma_squared) / 2
    # the centre is rounded: its phase is off by t times that
    return finish((value, log_error, centre), change, error + heights * centre * 8 * UNIT)
