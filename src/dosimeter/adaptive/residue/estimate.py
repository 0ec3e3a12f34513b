"""Where a charge will be found: the admission rule at a few levels, for a law of few points. It proves nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.adaptive.residue.rule import estimated

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.dots import Dots
    from dosimeter.pld.laws.law import Reals

_MERGED: Final = 8  # points become two
_TRIED: Final = 40  # levels s
_REACH: Final = 7.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """For each direction the losses, their masses and the infinite mass; and the slack."""

    sides: tuple[tuple[Reals, Reals, float], ...]
    slack: float

    @classmethod
    def of(cls, sides: Sequence[Dots], slack: float) -> Estimate:
        """Merge points."""
        return cls(tuple(_merged(side) for side in sides), slack)

    def missed(self, level: float, charge: float) -> float:
        """By how much the rule seems to be missed."""
        return max(self._missed(side, level, level - charge) for side in self.sides)

    def _missed(self, side: tuple[Reals, Reals, float], level: float, rest: float) -> float:
        losses, masses, infinite = side
        far = max(float(np.max(losses)), 0.0) + _REACH * math.sqrt(level) + level / 2
        s = np.concatenate([[0.0], np.geomspace(far / 2000, far, _TRIED)])
        left = estimated(rest, s[:, None] - losses[None, :]) @ masses + infinite
        return float(np.max(left - estimated(level, s))) - self.slack


def _merged(side: Dots) -> tuple[Reals, Reals, float]:
    """Neighbouring points as two that keep their mass, their mean and their variance."""
    losses, masses = side.step * np.array(side.index, dtype=np.float64), np.array(side.masses)
    starts = np.arange(0, len(losses), _MERGED)
    mass, first = np.add.reduceat(masses, starts), np.add.reduceat(masses * losses, starts)
    mean = first / mass
    away = losses - np.repeat(mean, np.diff(np.append(starts, len(losses))))
    deviation = np.sqrt(np.add.reduceat(masses * np.square(away), starts) / mass)
    return np.concatenate([mean - deviation, mean + deviation]), np.tile(mass / 2, 2), side.infinite
