"""The lattice of a reference plan: one step for all of its mechanisms, chosen once and then part of the account."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.adaptive.residue.dots import extent, three_bits
from dosimeter.adaptive.residue.lattice_law import MOST_POINTS, lattice_law
from dosimeter.errors import InputError
from dosimeter.exact import show, to_decimal
from dosimeter.pld.laws.law import Direction, Law

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Reals

_FINE: Final = 20  # lattice points per standard deviation of the narrowest planned loss
_TILTS: Final = tuple(float(t) for t in np.geomspace(1e-5, 3, 60))
_MOMENT_ERROR: Final = 1e-11  # of a logarithm of a moment
_CUT: Final = 1e-7  # of delta, for all the tails that the lattice cuts off


@dataclass(frozen=True, slots=True)
class Lattice:
    """Losses are whole multiples of `step`, a double; what lies beyond `reach` steps is cut off."""

    step: Decimal
    reach: Decimal

    def fraction(self) -> Fraction:
        """The step, exactly."""
        return Fraction(self.step)


@dataclass(frozen=True, slots=True)
class Points:
    """P-masses at the losses ``step * (first + i)``, at most `shift` more each, and the mass of infinite losses."""

    step: float
    first: int
    masses: Reals
    infinite: float
    shift: float = 0.0
    _moments: list[tuple[Reals, Reals]] = field(default_factory=list, compare=False, repr=False)

    def index(self) -> Reals:
        """The losses in steps."""
        result: Reals = self.first + np.arange(len(self.masses), dtype=np.float64)
        return result

    def moments(self) -> tuple[Reals, Reals]:
        """log E[e^(t index)] at the tilts t and at -t, rounded up; infinite where floating point ends. Kept."""
        if not self._moments:
            index, kept = self.index(), self.masses > 0
            index, logs = index[kept], np.log(self.masses[kept])
            sides = [np.array([log_sum(logs + sign * t * index) for t in _TILTS]) for sign in (1, -1)]
            self._moments.append((sides[0], sides[1]))
        return self._moments[0]


def ends(points: Points, times: int, log_tail: float) -> tuple[int, int] | None:
    """Indices beyond each of which so many runs together have P-mass of at most e^log_tail.

    A single run by its sums, several by Chernoff's bound: P(total >= a) <= e^(times K(t) - t a) for every t.
    """
    if times == 0:
        return 0, 0
    if times == 1:
        limit = math.exp(log_tail) * (1 - 1e-9)
        sums = np.cumsum(points.masses), np.cumsum(points.masses[::-1])
        cut = int(np.searchsorted(sums[0], limit)), int(np.searchsorted(sums[1], limit))
        return points.first + cut[0] - 1, points.first + len(points.masses) - cut[1]
    right, left = (
        float(np.min((times * (logs + _MOMENT_ERROR) - log_tail) / np.array(_TILTS))) for logs in points.moments()
    )
    if not (math.isfinite(right) and math.isfinite(left)):
        return None
    return -math.ceil(left) - 1, math.ceil(right) + 1


def log_sum(logs: Reals) -> float:
    """log of the sum of e^x, nearly."""
    top = float(np.max(logs))
    return top + math.log(float(np.exp(logs - top).sum()))


def choose_lattice(runs: Sequence[tuple[Law, int]], delta: Decimal) -> Lattice:
    """A lattice fine enough for the narrowest mechanism of a plan, reaching as far as delta asks for."""
    cut = max(float(delta) * _CUT / sum(count for _, count in runs), 1e-290)
    seen = [extent(law, direction, cut) for law, _ in runs for direction in Direction]
    step = three_bits(min(deviation for _, _, deviation in seen) / _FINE)
    furthest = max(max(-low, high) for low, high, _ in seen)
    reach = min(math.ceil(furthest / step) + 1, MOST_POINTS // 2 - 2)
    return Lattice(Decimal(step), Decimal(reach))


def read_lattice(step: object, reach: object) -> Lattice:
    """Read a lattice back.

    Raises:
        InputError: the step is no double of a few digits, or the reach no whole number that a lattice can have.
    """
    width, far = to_decimal(step, "step"), to_decimal(reach, "reach")  # type: ignore[arg-type]
    if not (Decimal("1e-12") <= width <= 1 and Decimal(float(width)) == width):
        raise InputError(f"step={show(step)} is not a double in [1e-12, 1]; leave it out and it is chosen")
    if not (far == far.to_integral_value() and 1 <= far <= MOST_POINTS // 2 - 2):
        raise InputError(f"reach={show(reach)} is not a whole number in [1, {MOST_POINTS // 2 - 2}]; leave it out")
    return Lattice(width, far)


@lru_cache(maxsize=64)
def planned_points(law: Law, direction: Direction, lattice: Lattice) -> Points:
    """A planned mechanism on the plan's lattice, by its exact doubles."""
    exact = lattice_law(law, direction, lattice.fraction(), int(lattice.reach))
    return Points(exact.step, exact.first, np.array(exact.masses), exact.infinite)
