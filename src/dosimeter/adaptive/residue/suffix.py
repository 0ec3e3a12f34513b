"""The admission rule for a plan of equal steps: does a query fit into k of the steps that are left?

With A the law of a step on the lattice, n steps left and M the law of the query on the same lattice, k steps are enough
when H(s; M x A^(n-k)) - H(s; A^n) <= slack at every lattice point s >= 0, in both directions. Both sides are piecewise
linear in e^s between lattice points, and beyond the last one only infinite losses count; s < 0 follows by reversal.

The difference is computed as one signed measure, (M - A^k) A^(n-k), by one transform: what both sides share cancels
before it is rounded. Its errors are counted like those of any convolution here (see `dosimeter.pld.tilted.transform`):
mass outside the window, which reappears inside, at most `outside`; and for every frequency the error of the transforms
(8 (m + 4) units of the sum of the input for a length of 2^m, times what multiplies it), of powers and of products. The
masses of A are doubles, each above the exact one by at most two units of itself; that makes A^n at most 2n units too
large, which is counted too.

A charge that is enough for n steps left is enough for more: composing both sides with more steps keeps the inequality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from dosimeter.adaptive.residue.plan_lattice import Points, ends
from dosimeter.pld.laws.parts import UNIT

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Complexes, Reals

_TAIL: Final = 1e-4  # of the slack, for mass outside the window
_LONGEST: Final = 1 << 22
_VANISHED: Final = -60.0
Places: TypeAlias = "slice | np.ndarray[tuple[int], np.dtype[np.int64]]"


@dataclass(frozen=True, slots=True)
class Spectrum:
    """A step's transform of one length as logarithm and angle, ready for any power."""

    log_size: Reals
    turn: Reals
    log_cap: Reals
    relative: Reals  # error of one power, relative to the cap

    def power(self, times: int, kept: Places = slice(None)) -> tuple[Complexes, Reals]:
        """The transform of so many steps, and the error of each entry; only some of them."""
        if not times:
            size = len(self.turn[kept])
            return np.ones(size, dtype=np.complex128), np.zeros(size)
        value = np.exp(times * self.log_size[kept]) * np.exp(1j * (times * self.turn[kept]))
        return value, np.exp(times * self.log_cap[kept]) * (times * self.relative[kept] + 8 * UNIT)

    def visible(self, times: int) -> Places:
        """Where so many steps have not vanished: elsewhere their transform is at most e^_VANISHED."""
        return np.flatnonzero(times * self.log_cap > _VANISHED) if times else slice(None)


@dataclass(frozen=True, slots=True)
class Suffix:
    """One direction of a query `count` times M beside steps A of a plan."""

    query: Points
    planned: Points
    count: int = 1
    _kept: dict[int, tuple[Spectrum, Complexes, Reals]] = field(default_factory=dict, compare=False)

    def excess(self, left: int, steps: int, slack: float) -> float:
        """By how much the rule is missed at most; at most 0 proves that it holds.

        Args:
            left: n, how many steps are left.
            steps: k, how many the query may take, 1 to n.
            slack: what may be missed.
        """
        tail = math.log(slack * _TAIL)
        own = ends(self.query, self.count, tail)
        rest, whole = ends(self.planned, left - steps, tail), ends(self.planned, left, tail)
        if own is None or rest is None or whole is None:
            return math.inf
        low = min(0, own[0] + rest[0], whole[0])
        high = max(1, own[1] + rest[1], whole[1])
        length = 1 << max(int(high - low + 4).bit_length(), 4)
        if length > _LONGEST:
            return math.inf
        values, error = self._difference(left, steps, length)
        positive = np.arange(1, low + length, dtype=np.int64)  # losses above zero; the window ends before low + length
        values = values[positive % length]
        worst = _largest(values, self.query.step * positive.astype(np.float64), self.query.step)
        rounding = 8 * UNIT * len(values) * float(np.abs(values).sum()) + 2.1 * left * UNIT
        lost = self.count * (self.query.infinite + self.query.shift)
        total = worst + len(values) * error + rounding + 6 * math.exp(tail) + lost
        return total - slack * (1 - 4 * UNIT)

    def _difference(self, left: int, steps: int, length: int) -> tuple[Reals, float]:
        """(M - A^k) A^(n-k) on a circle of `length` points, and how far each value may be off."""
        if length not in self._kept:
            query, query_error = spectrum(self.query, length).power(self.count)
            self._kept[length] = (spectrum(self.planned, length), query, query_error)
        planned, own, own_error = self._kept[length]
        seen = planned.visible(left - steps)  # elsewhere the product is at most 4 e^_VANISHED, and taken to be 0
        own, own_error = own[seen], own_error[seen]
        taken, taken_error = planned.power(steps, seen)
        rest, rest_error = planned.power(left - steps, seen)
        change = own - taken
        change_error = own_error + taken_error + 2 * UNIT * (np.abs(own) + np.abs(taken))
        found = change * rest
        size = np.abs(found)
        errors = (np.abs(change) + change_error) * rest_error + change_error * np.abs(rest)
        errors += (8 * UNIT + _unit(length)) * size
        product = np.zeros(length // 2 + 1, dtype=np.complex128)
        product[seen] = found
        values: Reals = np.fft.irfft(product, length)
        counted = 2 * float(errors.sum()) - float(errors[0])  # every frequency but zero stands for two
        return values, counted / length + 4 * math.exp(_VANISHED)


def spectrum(points: Points, length: int) -> Spectrum:
    """The transform of a law's masses on a circle."""
    index = (points.first + np.arange(len(points.masses))) % length
    transform = np.fft.rfft(np.bincount(index, weights=points.masses, minlength=length))
    size, turn = np.abs(transform), np.angle(transform)
    unit = _unit(length) * float(points.masses.sum())
    cap = size + unit
    with np.errstate(divide="ignore"):
        log_size, log_cap = np.log(size), np.log(cap)
    return Spectrum(log_size, turn, log_cap, unit / cap + 8 * UNIT * (np.abs(log_cap) + np.abs(turn) + 1))


def _unit(length: int) -> float:
    return 8 * (length.bit_length() + 3) * UNIT * (1 + 1e-9)


def _largest(values: Reals, losses: Reals, step: float) -> float:
    """The largest sum over l > s of value (1 - e^(s - l)) at a point s >= 0; at least that at infinity, 0."""
    mass = np.cumsum(values[::-1])[::-1]
    weighted = np.cumsum((values * np.exp(-losses))[::-1])[::-1]
    return float(np.max(mass - np.exp(losses - step) * weighted, initial=0.0))  # s is the point before the first loss
