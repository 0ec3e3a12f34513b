"""The pair of an allocated record as two lists of points: what the tilted transform composes instead of its moments.

With S the sum of t copies of X = e^loss of one step, the loss is log(S/t) under P (remove) and -log(S/t) under Q (add);
see `dosimeter.pld.allocation.law` for the pair, and `sums` for the lists. A composition's delta is the expectation of a
convex function of S/t that rises (remove) or falls (add), whatever the other laws are, so each list is a law that lies
on its side in every composition. Nothing here is shared with the moments that the saddle line uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.lattice.sums import Points, sum_of
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law, Part
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.spread import Spread

_FEWEST, _MOST = 400, 2_400
_TAIL_SHARE = 0.01  # of a delta times the accuracy, that what is left out may cost
_LEAST_LOG_TAIL = -600.0
_UNDERFLOW = 1e-280  # Q-mass that floating point may have lost


@dataclass(frozen=True, slots=True)
class HeldLaw(Law):
    """One of `steps` Gaussian releases holds the record, as points: `parts` are those above, `below` those below.

    Args:
        steps: t, at least 2.
        mu_squared: (sensitivity / sigma)^2 of one release.
        log_tail: about the logarithm of P-mass that may be left out above.
        cells: about how many points there are.
    """

    steps: int
    mu_squared: Fraction
    log_tail: float
    cells: int
    kind: ClassVar[str] = "held_allocation"

    @property
    def symmetric(self) -> bool:
        return False

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return Fraction(0)  # what the points leave out is counted with them, as cut

    def support(self, direction: Direction) -> tuple[float, float]:  # noqa: ARG002
        return -math.inf, math.inf

    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:  # noqa: ARG002
        total = sum_of(GaussianLaw(self.mu_squared), self.steps, self.log_tail, self.cells)
        lost = total.lost if direction is Direction.REMOVE else _UNDERFLOW
        return (_part(total.above, self.steps, direction, lost),)

    def below(self, direction: Direction) -> PointsLaw:
        """The law of the points below."""
        total = sum_of(GaussianLaw(self.mu_squared), self.steps, self.log_tail, self.cells)
        return PointsLaw(_part(total.below, self.steps, direction, None))


@dataclass(frozen=True, slots=True, eq=False)
class PointsLaw(Law):
    """Finitely many losses, of one direction."""

    part: Part
    kind: ClassVar[str] = "points"

    @property
    def symmetric(self) -> bool:
        return False

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:  # noqa: ARG002
        return (self.part,)


def held(counts: Mapping[Law, int], log_delta: float, accuracy: float) -> dict[Law, int]:
    """The same composition with allocated records held as points, fine enough for a delta and a relative accuracy."""
    runs = sum(counts.values())
    log_tail = max(min(log_delta, 0.0) + math.log(_TAIL_SHARE * accuracy / runs), _LEAST_LOG_TAIL)
    cells = min(max(round(10 / math.sqrt(accuracy)), _FEWEST), _MOST)
    result: dict[Law, int] = {}
    for law, times in counts.items():
        one = above(law, log_tail, cells)
        result[one] = result.get(one, 0) + times
    return result


def above(law: Law, log_tail: float, cells: int) -> Law:
    """A pair that dominates a law and has parts: the law itself, unless it is an allocated record."""
    if isinstance(law, AllocatedGaussianLaw) and law.steps > 1:
        return HeldLaw(law.steps, law.mu_squared, log_tail, cells)
    return law


def lowest(law: Law, direction: Direction) -> Law:
    """The law below that an engine may use for its lower end: the law itself, unless it is held as points."""
    return law.below(direction) if isinstance(law, HeldLaw) else law


def _part(points: Points, steps: int, direction: Direction, lost: float | None) -> Part:
    """The losses of points of S, moved to the safe side; `lost` for points above, none for points below.

    Above, losses move up, and a sum of zero is an infinite loss to add (it is none to remove).
    """
    positive = points.at > 0
    loss = np.log(points.at[positive] / steps)
    moved = (points.away * (1 + 1e-9) + 8 * UNIT * (1 + np.abs(loss))) * (1 if lost is not None else -1)
    removing = direction is Direction.REMOVE
    infinite = 0.0 if lost is None else lost + (0.0 if removing else float(points.mass[~positive].sum()))
    log_mass = np.log(points.mass[positive])
    log_mass = log_mass + 4 * UNIT * (1 + np.abs(log_mass)) * (1 if lost is not None else -1)
    spread = Spread(loss + moved if removing else loss - moved, log_mass, (), infinite)
    return Part(spread, 1 if removing else -1)
