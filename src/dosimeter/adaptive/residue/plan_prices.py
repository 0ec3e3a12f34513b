"""Price lists for a plan: how many of the planned steps a query takes, by how many are left."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.adaptive.residue.dots import extent, spread
from dosimeter.adaptive.residue.general import MARGIN
from dosimeter.adaptive.residue.lattice_law import MOST_POINTS, lattice_law
from dosimeter.adaptive.residue.plan_lattice import Lattice, Points, planned_points
from dosimeter.adaptive.residue.search import least, straightened
from dosimeter.adaptive.residue.suffix import Suffix
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Direction

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

LEAST_SLACK: Final = Decimal("1e-12")
_CUT: Final = 1 / 64  # the share of the slack that pays for the tail which is cut off
_FALL: Final = 0.65  # a level after the other is so much lower
_MOST_LEVELS: Final = 20


@lru_cache(maxsize=1024)
def plan_rows(
    law: Law, planned: Law, steps: int, lattice: Lattice, share: Decimal, count: int = 1
) -> tuple[tuple[Decimal, Decimal], ...]:
    """Numbers of steps left, rising, with the number of steps that `count` runs of a law take together.

    Guarantee: each satisfies the admission rule for the planned law on its lattice, for all real s, in both directions.

    Args:
        law: of the query.
        planned: of the plan's step.
        steps: how many steps the plan has.
        lattice: the plan's.
        share: slack that the runs may take together.
        count: runs, fixed in advance, that are charged as one.

    Raises:
        NoGuaranteeError: the share is too small, or not even the whole plan is enough.
    """
    if law == planned and count <= steps:
        return ((Decimal(count), Decimal(count)),)
    proof = PlanProof.of(law, planned, lattice, share, count)
    level, taken = steps, proof.smallest(steps, 1)
    if taken is None:
        raise NoGuaranteeError("it reveals more than all steps of the plan together, or its tail exceeds the slack")
    rows = [(level, taken)]
    for _ in range(_MOST_LEVELS):
        level = math.floor(level * _FALL)
        found = proof.smallest(level, taken) if level >= taken else None
        if found is None:
            break
        if found == taken:
            rows.pop()
        rows.append((level, found))
        taken = found
    return tuple((Decimal(level), Decimal(taken)) for level, taken in reversed(rows))


def steps_taken(law: Law, planned: Law, left: int, lattice: Lattice, share: Decimal, count: int = 1) -> int | None:
    """The smallest number of steps, with exactly so many left, that the rule admits; None if none does."""
    if law == planned and count <= left:
        return count
    return PlanProof.of(law, planned, lattice, share, count).smallest(left, 1)


@dataclass(frozen=True, slots=True)
class PlanProof:
    """A query and the planned step on one lattice, in the directions that matter, and the slack."""

    sides: tuple[Suffix, ...]
    slack: float
    ratio: float  # of the variance of the query to that of a step: where a search starts

    @classmethod
    def of(cls, law: Law, planned: Law, lattice: Lattice, share: Decimal, count: int = 1) -> PlanProof:
        """Lay both out.

        Raises:
            NoGuaranteeError: the share is too small, or the losses reach too far for the lattice.
        """
        if share < LEAST_SLACK:
            raise NoGuaranteeError(f"a query that is not in the plan needs slack of at least {LEAST_SLACK:g}")
        slack = float(share) * (1 - 1e-12)
        directions = (Direction.REMOVE,) if law.symmetric and planned.symmetric else tuple(Direction)
        sides = tuple(
            Suffix(
                _query_points(law, direction, lattice, slack * _CUT / count, exact=count > 1),
                planned_points(planned, direction, lattice),
                count,
            )
            for direction in directions
        )
        variances = [_variance(side.query) / max(_variance(side.planned), 1e-300) for side in sides]
        return cls(sides, slack, count * min(variances))

    def holds(self, left: int, steps: int, margin: float = MARGIN) -> bool:
        """Whether the rule certainly holds, with a part of the slack left over for other machines' roundings."""
        return all(side.excess(left, steps, self.slack * (1 - margin)) <= 0 for side in self.sides)

    def smallest(self, left: int, at_least: int) -> int | None:
        """The smallest number of steps from `at_least` on that the rule admits with so many left; None if none does."""
        slack, found = self.slack * (1 - MARGIN), at_least
        for number, side in enumerate(self.sides):

            def missed(steps: int) -> float:
                return straightened(side.excess(left, steps, slack), slack)  # noqa: B023

            ratio = min(float(left), self.ratio)
            guess = found if number or at_least > 1 else max(found, round(ratio))
            answer = least(missed, found - 1, left, guess, 1 + guess // 16)
            if answer is None:
                return None
            found = answer
        return found


def _query_points(law: Law, direction: Direction, lattice: Lattice, cut: float, *, exact: bool) -> Points:
    """A query on the plan's lattice, never below it; for many runs by exact masses, whose roundings add up to less."""
    step = float(lattice.step)
    low, high, _ = extent(law, direction, cut)
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    if last - first > MOST_POINTS:
        raise NoGuaranteeError("its losses reach too far for the lattice of the plan")
    if exact:
        with suppress(NoGuaranteeError):
            own = lattice_law(law, direction, lattice.fraction(), max(-first, last))
            return Points(own.step, own.first, np.array(own.masses), own.infinite)
    index = np.arange(first, last + 1, dtype=np.int64)
    held = spread(law, direction, index, step)
    return Points(step, first, held.masses, held.infinite, held.shift)


def _variance(points: Points) -> float:
    index = points.index()
    mean = float((points.masses * index).sum())
    return float((points.masses * np.square(index - mean)).sum())
