"""What a law of privacy losses owes to the engines that compose it.

A mechanism is represented by one pair of distributions (P, Q) per direction; ``L = log dP/dQ`` is its privacy loss.
*remove* is P with the record against Q without it, *add* is the reverse. If for every real epsilon the pair's
hockey-stick divergence is at least the mechanism's, the pair dominates the mechanism, and products of dominating pairs
dominate compositions (Zhu, Dong and Wang 2022, Theorem 10). A direction's infinite atom is P(Q = 0).

Every law below describes finite losses only; the infinite atom stands beside it, exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]
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
    """A law that is a list of points: finite losses in increasing order and the logarithms of their P-masses.

    Losses are within `loss_error` relative, logarithms within `log_error` absolute of the exact values. P-mass of at
    most `cut` (an upper bound) was left out, at either end; it is part of no point.
    """

    losses: Reals
    log_p: Reals
    loss_error: float
    log_error: float
    cut: float


@dataclass(frozen=True, slots=True)
class Masses:
    """Logarithms of the P- and the Q-mass of each cell of losses; -inf where a cell has none.

    Every finite entry is within `error` of the exact logarithm, absolutely; an entry of -inf stands for a mass that is
    exactly zero or below 1e-300000 in P.
    """

    log_p: Reals
    log_q: Reals
    error: float


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
    def support(self, direction: Direction) -> tuple[float, float]:
        """An interval that certainly holds every finite loss, rounded outwards; its ends may be infinite."""

    @abstractmethod
    def masses(self, direction: Direction, edges: Reals) -> Masses:
        """P- and Q-mass of each cell (edges[i], edges[i+1]] of finite losses, by forms that never subtract near-ones.

        `edges` is increasing; its ends may be -inf and +inf. The result has len(edges) - 1 entries.
        """

    @abstractmethod
    def cumulant(self, direction: Direction, order: float) -> float:
        """log E_P[e^(order * L); L finite] for a real order, as an estimate (for choosing a tilt); inf if infinite."""

    def lattice(self, direction: Direction) -> Lattice | None:  # noqa: ARG002
        """The lattice of the losses, when they have one."""
        return None

    def atoms(self, direction: Direction, cut: float) -> Atoms | None:  # noqa: ARG002
        """The points of a law without any density, leaving out at most P-mass `cut`; None for other laws."""
        return None

    @property
    def gaussian(self) -> Fraction | None:
        """mu^2, when the finite losses are (1 - infinite) N(mu^2/2, mu^2); such laws add up in closed form."""
        return None

    @property
    def pure(self) -> Fraction | None:
        """An upper bound of every loss in both directions, when there is one and no infinite atom."""
        return None

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The kind and the parameters, numbers as texts."""
