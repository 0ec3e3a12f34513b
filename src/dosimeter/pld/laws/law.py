"""What a law of privacy losses owes to the engines that compose it.

A mechanism is represented by one pair of distributions (P, Q) per direction; ``L = log dP/dQ`` is its privacy loss.
*remove* is P with the record against Q without it, *add* is the reverse. If for every real epsilon the pair's
hockey-stick divergence is at least the mechanism's, the pair dominates the mechanism, and products of dominating pairs
dominate compositions (Zhu, Dong and Wang 2022, Theorem 10). A direction's infinite atom is P(Q = 0); everything else
described here concerns finite losses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dosimeter.pld.laws.parts import UNIT, Masses, Part, add_masses
from dosimeter.pld.laws.spread import Reals

__all__ = ["Atoms", "Complexes", "Direction", "Lattice", "Law", "Masses", "Part", "Reals"]

Complexes: TypeAlias = NDArray[np.complex128]


class Direction(StrEnum):
    """Which data set is P: the one with the record (remove), or the one without it (add)."""

    REMOVE = "remove"
    ADD = "add"

    @property
    def reverse(self) -> Direction:
        """The other one."""
        return Direction.ADD if self is Direction.REMOVE else Direction.REMOVE


@dataclass(frozen=True, slots=True)
class Lattice:
    """All finite losses lie in ``offset + step * integers``, exactly."""

    step: Fraction
    offset: Fraction


@dataclass(frozen=True, slots=True)
class Atoms:
    """A law without any density: its finite losses in increasing order and the logarithms of their P-masses.

    Losses are within `loss_error` relative, logarithms within `log_error` * max(1, |logarithm|) of the exact values.
    P-mass of at most `cut` was left out, at either end; it is part of no point.
    """

    losses: Reals
    log_p: Reals
    loss_error: float
    log_error: float
    cut: float


class Law(ABC):
    """The privacy loss of one mechanism, both directions. Implementations are frozen dataclasses of exact numbers.

    Two laws are equal if and only if their parameters are; engines group and cache by that.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether both directions have the same law, so that one computation serves both."""

    @abstractmethod
    def infinite(self, direction: Direction) -> Fraction:
        """P(loss = +inf), exactly. Finite losses carry the rest of the mass."""

    @abstractmethod
    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:
        """The finite losses. Only a law with infinitely many points leaves any out: at most mass `cut` of P and Q."""

    def support(self, direction: Direction) -> tuple[float, float]:
        """An interval that certainly holds every finite loss, rounded outwards; its ends may be infinite."""
        ends = [part.support() for part in self.parts(direction, 0.0)]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def masses(self, direction: Direction, edges: Reals) -> Masses:
        """P- and Q-mass of each cell (edges[i], edges[i+1]] of finite losses, by forms that never subtract near-ones.

        `edges` is increasing; its ends may be -inf and +inf. The result has len(edges) - 1 entries.
        """
        return add_masses(self.parts(direction, 0.0), edges)

    def cumulant(self, direction: Direction, order: float) -> float:
        """log E_P[e^(order L); L finite] for a real order, as an estimate (for choosing a tilt)."""
        return float(np.logaddexp.reduce([part.log_moment(order) for part in self.parts(direction, 0.0)]))

    def lattice(self, direction: Direction) -> Lattice | None:  # noqa: ARG002
        """The lattice of the losses, when they have one."""
        return None

    def atoms(self, direction: Direction, cut: float) -> Atoms | None:
        """The points of a law without any density; None for a law with one."""
        parts = self.parts(direction, cut)
        if any(part.spread.pieces for part in parts):
            return None
        losses = np.concatenate([part.loss(part.spread.losses) for part in parts])
        log_p = np.concatenate([p.spread.log_mass + (p.loss(p.spread.losses) if p.sign > 0 else 0.0) for p in parts])
        order = np.argsort(losses, kind="stable")
        return Atoms(losses[order], log_p[order], 16 * UNIT, 64 * UNIT, sum(p.spread.cut for p in parts))

    @property
    def gaussian(self) -> Fraction | None:
        """mu^2, when the finite losses are (1 - infinite) N(mu^2/2, mu^2); such laws add up in closed form."""
        return None

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:  # noqa: ARG002
        """Bounds of the largest finite loss, when the losses are bounded above: their exact end, or an enclosure."""
        return None

    def to_json(self) -> dict[str, Any]:
        """The kind and the parameters, numbers as texts."""
        return {"kind": self.kind, **{f.name: _plain(getattr(self, f.name)) for f in fields(self)}}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Law):
        return value.to_json()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
