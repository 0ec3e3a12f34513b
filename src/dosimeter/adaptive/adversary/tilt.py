"""Tilting: exponential weights that keep tiny values sharp.

The values of a game shrink exponentially below its target. Divided by e^(slope (loss - origin) + per_unit left) they
are all of one size, so that an absolute error means a relative one. The divisor is chosen so that no entry's tilted
masses add up to more than 1: tilted values then never exceed 1, which is the moment bound at order 1 + slope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from dosimeter.pld.laws.parts import UNIT

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary.points import Points
    from dosimeter.pld.laws.spread import Reals

MARGIN: Final = 1e-12  # of a weight: far more than floating point is off by
SMALLEST_MASS: Final = 1e-25  # of a tilted mass of an upper bound that is not zero
PLAIN: Final = 300.0  # exponents up to which products of two exponentials are doubles
_EXACT = Context(prec=60, Emin=-(10**9), Emax=10**9)


@dataclass(frozen=True, slots=True)
class Tilt:
    """What arrays are divided by: e^(slope (k - origin) + per_unit b) at a loss of k steps with b units left."""

    slope: float = 0.0
    per_unit: float = 0.0
    origin: int = 0

    @classmethod
    def best(cls, offers: Sequence[tuple[int, Points]], budget: int, origin: int, step: float) -> Tilt:
        """The slope of the smallest moment bound for the whole budget. Any slope is sound; this one is sharp."""
        if origin <= 0 or not budget:
            return cls()
        slopes = step * np.concatenate([[0.0], np.geomspace(1e-3, 1e5, 97)])
        units = np.zeros(len(slopes))
        for cost, points in offers:
            logs = _log_moments(points, slopes)
            np.maximum(units, logs / cost, out=units)
        chosen = int(np.argmin(units * budget - slopes * origin))
        if not chosen:
            return cls()
        return cls(float(slopes[chosen]), float(units[chosen]) * (1 + MARGIN) + MARGIN, origin)

    def weights(self, steps: NDArray[np.int64], sign: float) -> Callable[[int], Reals]:
        """One over the divisor at losses of so many steps, for the units left; rounded up (`sign` 1) or down (-1).

        They may be infinite far below the origin, and zero far above it.
        """
        exponents: Reals = self.slope * (steps - self.origin).astype(np.float64)
        furthest = float(np.max(np.abs(exponents)))

        def of(more: float) -> Reals:
            sums = exponents + more
            with np.errstate(over="ignore", under="ignore"):
                found: Reals = np.exp(-sums) * (1 + sign * np.minimum(8 * UNIT * (np.abs(sums) + 4), 0.5))
            return found

        if furthest > PLAIN:
            return lambda left: of(self.per_unit * left)
        base = of(0.0)

        def scaled(left: int) -> Reals:
            exponent = self.per_unit * left
            if exponent > PLAIN:
                return of(exponent)
            found: Reals = base * (math.exp(-exponent) * (1 + sign * 8 * UNIT * (exponent + 4)))
            return found

        return scaled

    def exponent(self, left: int) -> Decimal:
        """The logarithm of the divisor at loss zero, exactly."""
        whole = _EXACT.multiply(Decimal(self.per_unit), left)
        return _EXACT.subtract(whole, _EXACT.multiply(Decimal(self.slope), self.origin))


def tilted_masses(points: Points, cost: int, tilt: Tilt, sign: float) -> Reals:
    """Masses times e^(slope z - per_unit cost), rounded up (`sign` 1) or down (-1)."""
    if not tilt.slope:
        return points.masses
    exponents = tilt.slope * np.arange(points.first, points.last + 1) - tilt.per_unit * cost
    with np.errstate(divide="ignore"):
        logs = np.log(points.masses)
        masses: Reals = np.exp(logs + exponents)
    sizes = np.abs(exponents) + 2 * tilt.per_unit * cost + np.where(points.masses > 0, np.abs(logs), 0.0)
    masses *= 1 + sign * 8 * UNIT * (sizes + 4)
    if sign > 0:
        masses[(points.masses > 0) & (masses < SMALLEST_MASS)] = SMALLEST_MASS
    return masses


def _log_moments(points: Points, slopes: Reals) -> Reals:
    """log of the sum of masses times e^(slope z), for each slope; never below zero."""
    filled = np.flatnonzero(points.masses)
    steps, logs = points.first + filled, np.log(points.masses[filled])
    exponents = logs + np.outer(slopes, steps)
    top = exponents.max(axis=1)
    found: Reals = np.maximum(top + np.log(np.exp(exponents - top[:, None]).sum(axis=1)), 0.0)
    return found
