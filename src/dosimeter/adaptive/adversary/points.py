"""What one mechanism reveals, as P-masses on a lattice of losses: certainly at least it, or certainly at most it.

Two orders of laws matter, and they are not the same.

* For delta and Renyi moments: by privacy profiles. *Dominating* points have the larger divergence at every real
  epsilon, so the mechanism is a post-processing of them, and whoever plays against the mechanism can play at least as
  well against them. *Dominated* points are a post-processing of the mechanism.
* For the loss itself (tails, crossings): by the loss, outcome by outcome. Points *above* come from moving every loss
  up to the next lattice point, points *below* from moving it down. Post-processing says nothing here: it may lower a
  loss of two to a loss of one that is certain.

A law whose losses lie on the lattice is taken as it is, and all four agree up to the last digits of its masses.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

import numpy as np

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.lattice.cells import Cells, Place, cut
from dosimeter.pld.lattice.lower import lower
from dosimeter.pld.lattice.upper import upper
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.spread import Reals

TAIL: Final = 1e-36  # P-mass beyond either end of a law's points, each time it is run
LONGEST: Final = 1 << 16  # lattice points of one mechanism
_MARGIN: Final = 1e-12  # of a mass: far more than floating point is off by


class Side(StrEnum):
    """Which of the four stands in for a law."""

    DOMINATING = "dominating"
    DOMINATED = "dominated"
    ABOVE = "above"
    BELOW = "below"

    @property
    def raised(self) -> bool:
        """Whether values computed from it are upper bounds."""
        return self in {Side.DOMINATING, Side.ABOVE}


@dataclass(frozen=True, slots=True)
class Points:
    """P-mass `masses[i]` at the loss ``step (first + i)``, and `infinite` at infinity.

    Masses are rounded up on the raised sides and down on the others. Every loss may be off by at most `shift`.
    """

    first: int
    masses: Reals
    infinite: float
    shift: float = 0.0

    @property
    def last(self) -> int:
        """The largest finite loss, in steps."""
        return self.first + len(self.masses) - 1


@functools.lru_cache(maxsize=1024)
def points_of(law: Law, direction: Direction, step: Fraction, side: Side) -> Points:
    """A law on the lattice of a step.

    Guarantee: in the order that belongs to the side, the points are not below (raised sides) or not above the law.

    Raises:
        NoGuaranteeError: the losses span too many steps.
    """
    own = float(law.infinite(direction))
    infinite = own * (1 + _MARGIN) if side.raised else own * (1 - _MARGIN)
    exact = _on_lattice(law, direction, step, side, infinite)
    if exact is not None:
        return exact
    cells = cut(law, direction, _place(law, direction, float(step)))
    if side in {Side.ABOVE, Side.BELOW}:
        return _moved(cells, side, infinite)
    found = upper(cells, 0.0) if side.raised else lower(cells, 0.0)
    scale = math.exp(found.log_moment) * (1 + _MARGIN if side.raised else 1 - _MARGIN)
    if not side.raised and scale > 1 - own:  # more mass than there is: the sharpening had no room
        return _moved(cells, Side.BELOW, infinite)
    extra = math.exp(found.log_infinite) if side.raised else 0.0
    return _trimmed(found.first, found.weights * scale, infinite + extra * (1 + _MARGIN), abs(found.shift))


def _on_lattice(law: Law, direction: Direction, step: Fraction, side: Side, infinite: float) -> Points | None:
    """The law's own points, when all of them are whole multiples of the step."""
    lattice = law.lattice(direction)
    if lattice is None or (lattice.step / step).denominator != 1 or (lattice.offset / step).denominator != 1:
        return None
    atoms = law.atoms(direction, TAIL)
    if atoms is None:
        return None
    index = np.rint(atoms.losses / float(step)).astype(np.int64)
    first, length = int(index.min()), int(index.max() - index.min()) + 1
    if length > LONGEST:
        _too_long(law, length)
    size = np.maximum(1.0, np.abs(atoms.log_p))
    masses = np.zeros(length)
    sign = 1.0 if side.raised else -1.0
    np.add.at(masses, index - first, np.exp(atoms.log_p + sign * atoms.log_error * size) * (1 + sign * 8 * UNIT))
    return _trimmed(first, masses, infinite + (2 * atoms.cut if side.raised else 0.0), 0.0)


def _moved(cells: Cells, side: Side, infinite: float) -> Points:
    """Every loss at the end of its cell, on the side that is asked for."""
    sign = 1.0 if side.raised else -1.0
    with np.errstate(invalid="ignore"):
        held = np.exp(cells.log_p + sign * cells.log_margin)
        points = np.exp(cells.log_points + sign * cells.points_margin)
    masses = points.copy()
    if side.raised:
        masses[0] += math.exp(cells.log_left)
        masses[1:] += held[:-1]
        infinite += float(held[-1]) + math.exp(cells.log_dropped)
    else:
        masses += held
    return _trimmed(cells.place.first, masses * (1 + sign * _MARGIN), infinite * (1 + sign * _MARGIN), cells.slack)


def _trimmed(first: int, masses: Reals, infinite: float, shift: float) -> Points:
    """Without empty ends."""
    filled = np.flatnonzero(masses > 0)
    if not len(filled):
        return Points(0, np.zeros(1), infinite, shift)
    kept = np.ascontiguousarray(masses[filled[0] : filled[-1] + 1])
    kept.setflags(write=False)
    return Points(first + int(filled[0]), kept, infinite, shift)


def _place(law: Law, direction: Direction, step: float) -> Place:
    """The lattice points around all of the law but a little of either tail, with an empty cell at either end."""
    bottom, top = law.support(direction)
    edges = np.concatenate([-np.geomspace(1e4, 1e-6, 700), [0.0], np.geomspace(1e-6, 1e4, 700)])
    log_p = law.masses(direction, np.concatenate([[-math.inf], edges, [math.inf]])).log_p
    mass = np.exp(log_p)
    below, above = np.cumsum(mass)[:-1], np.cumsum(mass[::-1])[::-1][1:]
    low = float(edges[max(int(np.searchsorted(below, TAIL)) - 1, 0)])
    high = float(edges[min(int(np.searchsorted(-above, -TAIL)), len(edges) - 1)])
    first, last = math.floor(max(low, bottom) / step), math.ceil(min(high, top) / step)
    if last - first > LONGEST:
        _too_long(law, last - first)
    return Place(step, 0.0, first - 1, max(last, first) + 1)


def _too_long(law: Law, length: int) -> None:
    raise NoGuaranteeError(
        f"the losses of a {law.kind} law span {length} steps of the lattice, more than {LONGEST}; take a larger step"
    )
