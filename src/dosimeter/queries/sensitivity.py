"""How far one person can move an answer: exact, in whole lattice steps, for every relation and contribution bound.

A unit's rows pass three caps, in this order: at most r rows in each cell, at most g cells, at most k rows in all. What
is left of them is a vector with one entry per cell; the sensitivity is the largest norm of the difference between
two such vectors (replace one), or of one of them (add or remove, zero out). The caps make a polytope of row counts and
the norms are convex and increasing, so the maximum is at a vertex: as many full cells as fit, and one with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from dosimeter.errors import QueryError
from dosimeter.exact import count, sqrt_up
from dosimeter.neighbours import NeighbouringRelation


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest change of a vector of whole numbers between neighbours: L1, the square of L2, and L-infinity."""

    l1: int
    l2_squared: int
    linf: int

    @property
    def l2(self) -> Decimal:
        """The L2 sensitivity, rounded up (exact where it is a whole number)."""
        return sqrt_up(Decimal(self.l2_squared))

    def to_json(self) -> dict[str, str]:
        """The three numbers as texts."""
        return {"l1": str(self.l1), "l2_squared": str(self.l2_squared), "linf": str(self.linf)}


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one unit may contribute after the caps.

    Args:
        rows: rows in all (k).
        groups: cells with at least one row (g).
        rows_per_group: rows in one cell (r).
    """

    rows: int = 1
    groups: int = 1
    rows_per_group: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "groups", "rows_per_group"):
            count(getattr(self, name), name, largest=10**12)
        groups = min(self.groups, self.rows)
        per_group = min(self.rows_per_group, self.rows)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "rows_per_group", per_group)
        object.__setattr__(self, "rows", min(self.rows, groups * per_group))

    def merged(self) -> Contribution:
        """The bound after all cells have become one, as when a grouping column is set to a constant.

        A cap holds for the cells it was taken over. Whoever regroups must take the bound from here: g cells of r rows
        become one cell of g r rows, and a sensitivity computed from the old cells would be too small.
        """
        return Contribution(rows=self.rows, groups=1, rows_per_group=self.rows)


def sensitivity(
    lower: int,
    upper: int,
    *,
    contribution: Contribution | None = None,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    cells: int = 1,
    always: bool = False,
) -> Sensitivity:
    """The sensitivity of per-cell sums of values in [lower, upper]; a count is the sum of ones.

    Guarantee: exact for the stated caps: no neighbouring pair moves the vector further in that norm, and one moves it
    as far.

    Args:
        lower, upper: bounds of a value, in lattice steps. A count has lower = upper = 1.
        contribution: the caps on one unit; a single row when left out.
        relation: which pairs of data sets are neighbours. Zeroing a unit out moves what removing it moves.
        cells: how many cells the vector has.
        always: every unit contributes exactly one value to the only cell (one row per unit, no condition, no
            missing values), so that replacing it moves the sum by at most upper - lower.

    Raises:
        QueryError: lower exceeds upper, or there are more cells in a contribution than in the vector.
    """
    given = contribution or Contribution()
    contribution = Contribution(given.rows, min(given.groups, count(cells, "cells")), given.rows_per_group)
    if lower > upper:
        raise QueryError(f"lower={lower} exceeds upper={upper}")
    high, low = max(upper, 0), max(-lower, 0)  # absent rows contribute 0
    if relation is not NeighbouringRelation.REPLACE_ONE:
        return _measured([(n, 0) for n in _vertex(contribution)], high, low)
    if always and contribution.rows == 1 and cells == 1:
        return Sensitivity(upper - lower, (upper - lower) ** 2, upper - lower)
    pairs = [_measured(pairing, high, low) for pairing in _pairings(contribution, cells)]
    return Sensitivity(max(p.l1 for p in pairs), max(p.l2_squared for p in pairs), max(p.linf for p in pairs))


def _vertex(contribution: Contribution) -> list[int]:
    """Row counts per cell of the largest contribution: full cells, then the rest."""
    full, rest = divmod(contribution.rows, contribution.rows_per_group)
    return [contribution.rows_per_group] * full + ([rest] if rest else [])


def _measured(pairing: list[tuple[int, int]], high: int, low: int) -> Sensitivity:
    """The norms when each cell holds n rows before and m after, at the worst values of those rows."""
    changes = [max(n * high + m * low, n * low + m * high) for n, m in pairing]
    return Sensitivity(sum(changes), sum(change * change for change in changes), max(changes))


def _pairings(contribution: Contribution, cells: int) -> Iterator[list[tuple[int, int]]]:
    """Ways to lay a vertex before and a vertex after over the cells.

    Full cells may share a cell with full ones, rests with rests, and a rest with a full cell. The norms are linear in
    the number of shared full cells, so only the least and the largest possible number need be tried.
    """
    vertex = _vertex(contribution)
    r, full = contribution.rows_per_group, contribution.rows // contribution.rows_per_group
    rest = contribution.rows % r
    for crossed in range(3 if rest and full else 1):  # rests that share a cell with the other side's full cell
        for together in (False, True):  # the two rests share a cell
            if together and (crossed or not rest):
                continue
            used = 2 * len(vertex) - crossed - together
            most = full - (1 if crossed else 0)
            least = max(0, used - cells)
            for shared in {least, most}:
                if not least <= shared <= most:
                    continue
                single = 2 * full - 2 * shared - crossed
                rests = 2 - crossed - 2 * together if rest else 0
                pairing = [(r, r)] * shared + [(r, 0)] * single + [(r, rest)] * crossed
                yield pairing + [(rest, 0)] * rests + [(rest, rest)] * together
