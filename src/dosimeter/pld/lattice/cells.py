"""One law cut into the cells of a lattice: the P-mass of each cell and where in the cell its loss lies.

Every cell becomes one number between 0 and the step, the excess: the loss log(p/q) of the cell as a whole above the
cell's left edge. It comes from the masses of the cell, never from a difference of deltas, so it does not get worse on
a finer lattice. Points of the law that lie on the lattice are kept apart; nothing has to be done about them. All that
floating point does to masses, edges and logarithms is kept beside the numbers as a margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dosimeter.pld.laws.law import Direction, Law, Reals
from dosimeter.pld.laws.parts import LOSS_ERROR, UNIT, add_masses
from dosimeter.pld.laws.spread import Spread

_SNAP: Final = 1e-11  # a point this close to a lattice point counts as on it; the distance goes into the slack


@dataclass(frozen=True, slots=True)
class Place:
    """Where a law's points lie: at ``offset + step * j`` for j from `first` to `last`."""

    step: float
    offset: float
    first: int
    last: int

    def losses(self) -> Reals:
        """All points, from left to right."""
        result: Reals = self.offset + self.step * np.arange(self.first, self.last + 1, dtype=float)
        return result


@dataclass(frozen=True, slots=True)
class Cells:
    """The points of `place` and the cells to their right: one per point, the last of them without an end.

    With `slack` s, every loss of a cell is within s of one inside the exact cell, and so is every loss counted to a
    point. `log_points` and `log_p` are within their margins of the logarithms of exact P-masses; `excess` is within
    `margin` of the exact excess of losses so moved. `log_left` bounds the P-mass left of the first point, and
    `log_dropped` P-mass that the law itself left out.
    """

    place: Place
    log_points: Reals
    points_margin: float
    log_p: Reals
    log_margin: Reals
    excess: Reals
    margin: Reals
    log_left: float
    log_dropped: float
    slack: float


def cut(law: Law, direction: Direction, place: Place) -> Cells:
    """Cut a law into the cells of a place."""
    points = place.losses()
    parts = law.parts(direction, 0.0)
    edges = np.concatenate([[-math.inf], points, [math.inf]])
    with np.errstate(all="ignore"):
        masses = add_masses(tuple(replace(part, spread=_pieces(part.spread)) for part in parts), edges)
    log_p, log_q = masses.log_p, masses.log_q
    losses = np.concatenate([part.loss(part.spread.losses) for part in parts])
    log_atom = np.concatenate([p.spread.log_mass + (p.loss(p.spread.losses) if p.sign > 0 else 0.0) for p in parts])
    nearest = np.rint((losses - place.offset) / place.step) - place.first
    known = (nearest >= 0) & (nearest < len(points))
    nearest = np.where(known, nearest, 0).astype(int)
    away = np.abs(losses - points[nearest])
    on = known & (away <= _SNAP * max(1.0, abs(place.offset))) & np.isfinite(log_atom)
    log_points = np.full(len(points), -math.inf)
    np.logaddexp.at(log_points, nearest[on], log_atom[on])
    inside = ~on & np.isfinite(log_atom)
    cell = np.searchsorted(edges, losses[inside], side="left") - 1
    np.logaddexp.at(log_p, cell, log_atom[inside])
    np.logaddexp.at(log_q, cell, (log_atom - losses)[inside])

    crowd = float(np.max(np.bincount(cell), initial=0))
    error = masses.error + (64 + 4 * crowd) * UNIT
    slack = (masses.edge_error + 4 * UNIT) * float(np.max(np.abs(points)))
    slack += float(np.max(away + LOSS_ERROR * np.abs(losses), where=on, initial=0.0))
    left, log_p, log_q = float(log_p[0]), log_p[1:], log_q[1:]
    sizes_p, sizes_q = (np.maximum(1.0, np.abs(np.where(np.isfinite(x), x, 0.0))) for x in (log_p, log_q))
    with np.errstate(invalid="ignore"):
        excess = np.maximum(np.where(np.isfinite(log_p), log_p - log_q - points, 0.0), 0.0)
    excess[:-1] = np.minimum(excess[:-1], place.step)
    dropped = sum(part.spread.cut for part in parts)
    return Cells(
        place,
        log_points,
        64 * UNIT * (1 + float(np.max(np.abs(log_atom), where=on, initial=0.0))),
        log_p,
        error * sizes_p,
        excess,
        error * (sizes_p + sizes_q) + LOSS_ERROR * np.abs(points) + slack,
        left + error * max(1.0, abs(left)) if left > -math.inf else left,
        math.log(dropped) if dropped else -math.inf,
        slack,
    )


def _pieces(spread: Spread) -> Spread:
    return replace(spread, losses=np.empty(0), log_mass=np.empty(0))
