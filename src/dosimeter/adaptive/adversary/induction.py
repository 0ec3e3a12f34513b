"""Backward induction over what is left of the budget, vectorised over losses.

    V_b(l) = max( reward(l), max over entries with cost c <= b of sum_z P(z) V_(b-c)(l + z) )

Values are arrays over the losses of a window. Every term is non-negative, so rounding errors are relative to the value
and grow by a few units per round (only where points are many and a transform is faster, its absolute error is counted
in each round); `values` returns them inside an interval. Outside the window a raised run takes the
value at the window's lower end or the largest reward, a lowered run zero or the value at the upper end: values do not
decrease in the loss, so both stay on their side of the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from dosimeter.pld.laws.parts import UNIT

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary.points import Points
    from dosimeter.pld.laws.spread import Reals

    Expectation = Callable[["_Later", int, int, bool], Reals]

FEW: Final = 24  # points up to which they are added one by one
DIRECT: Final = 4_000_000  # products up to which a correlation is summed directly, whose error is relative to the value
STOP: Final = -1


@dataclass(frozen=True, slots=True)
class Window:
    """The losses ``low`` to ``high``, in steps, both included; zero is among them."""

    low: int
    high: int

    @property
    def length(self) -> int:
        """How many there are."""
        return self.high - self.low + 1


@dataclass(frozen=True, slots=True)
class Solved:
    """The value at loss zero for every budget up to the one asked, and, if kept, the best entry everywhere.

    `relative` bounds the error of floating point of each value, as a share of it.
    """

    window: Window
    at_zero: Reals
    relative: float
    choices: NDArray[np.int8] | None = None


def solve(
    offers: Sequence[tuple[int, Points]],
    budget: int,
    window: Window,
    reward: Callable[[int], Reals],
    *,
    raised: bool,
    absorbing: bool = False,
    keep: bool = False,
) -> Solved:
    """Solve the game for all budgets up to `budget`.

    Args:
        offers: the cost and the points of each entry.
        budget: units.
        window: the losses that are kept.
        reward: for what is left, the reward of stopping, at each loss of the window; between 0 and 1, not decreasing.
        raised: whether the answer has to be an upper bound.
        absorbing: whether a reward of 1 ends the game (a crossing), so that nothing is chosen there.
        keep: whether to keep the best entry for every budget and loss (`STOP` for none).
    """
    left_pad = max(0, *(-points.first for _, points in offers))
    right_pad = max(0, *(points.last for _, points in offers))
    n, longest = window.length, max(cost for cost, _ in offers)
    kept: dict[int, _Later] = {}
    at_zero = np.zeros(budget + 1)
    choices = np.full((budget + 1, n), STOP, dtype=np.int8) if keep else None
    size = _fast_length(left_pad + n + right_pad)
    ways = [_way(points, n, size) for _, points in offers]
    for b in range(budget + 1):
        best = reward(b).copy()
        chosen = None if choices is None else choices[b]
        done = best >= 1.0 if absorbing else None
        for i, (cost, _) in enumerate(offers):
            if cost > b:
                continue
            value = ways[i](kept[b - cost], left_pad, n, raised)
            if chosen is not None:
                better = value > best * (1 + 64 * UNIT)
                if done is not None:
                    better &= ~done
                chosen[better] = i
            np.maximum(best, value, out=best)
        if raised:
            np.minimum(best, 1.0, out=best)
        padded = np.empty(left_pad + n + right_pad)
        padded[left_pad : left_pad + n] = best
        padded[:left_pad] = best[0] if raised else 0.0
        padded[left_pad + n :] = 1.0 if raised else best[-1]
        kept[b] = _Later(padded)
        kept.pop(b - longest, None)
        at_zero[b] = best[-window.low]
    rounds = budget // min(cost for cost, _ in offers)
    widest = max(len(points.masses) for _, points in offers)
    return Solved(window, at_zero, (rounds + 1) * (widest + 8) * UNIT * (1 + 1e-6), choices)


class _Later:
    """The values one step later; their transform is made once, for all entries that lead there."""

    __slots__ = ("_transform", "norm", "values")

    def __init__(self, values: Reals) -> None:
        self.values, self.norm = values, float(np.linalg.norm(values))
        self._transform: NDArray[np.complex128] | None = None

    def transform(self, size: int) -> NDArray[np.complex128]:
        """The transform of the values, padded to `size`."""
        if self._transform is None:
            self._transform = np.fft.rfft(self.values, size)
        return self._transform


def _way(points: Points, n: int, size: int) -> Expectation:
    """How the expectation over these points is computed: one by one, by a correlation, or by a transform."""
    filled = np.flatnonzero(points.masses)
    if len(filled) <= FEW:
        return _OneByOne([(points.first + int(i), float(points.masses[i])) for i in filled], points.infinite)
    if len(points.masses) * n <= DIRECT:
        return _Direct(points)
    return _Transformed(points, size)


class _OneByOne:
    """A few points."""

    def __init__(self, steps: list[tuple[int, float]], infinite: float) -> None:
        self.steps, self.infinite = steps, infinite

    def __call__(self, later: _Later, left_pad: int, n: int, raised: bool) -> Reals:  # noqa: ARG002
        total = np.full(n, self.infinite)
        for jump, mass in self.steps:
            total += mass * later.values[left_pad + jump : left_pad + jump + n]
        return total


class _Direct:
    """A correlation; every term is added."""

    def __init__(self, points: Points) -> None:
        self.points = points

    def __call__(self, later: _Later, left_pad: int, n: int, raised: bool) -> Reals:  # noqa: ARG002
        start = left_pad + self.points.first
        masses = self.points.masses
        total: Reals = np.correlate(later.values[start : start + n + len(masses) - 1], masses, "valid")
        return total + self.points.infinite


class _Transformed:
    """A correlation by fast Fourier transforms, with what rounding may do added or taken away.

    The error of three transforms of this size is at most a few units times log2 of the size times the product of the
    norms (Higham 2002, section 24.1; Brisebarre, Joldes, Muller, Nanes, Picot 2020); four times that is counted.
    """

    def __init__(self, points: Points, size: int) -> None:
        self.points, self.size = points, size
        self.transform = np.conj(np.fft.rfft(points.masses, size))
        self.share = 64 * UNIT * math.log2(size) * float(np.linalg.norm(points.masses))

    def __call__(self, later: _Later, left_pad: int, n: int, raised: bool) -> Reals:
        start = left_pad + self.points.first
        total: Reals = np.fft.irfft(later.transform(self.size) * self.transform, self.size)[start : start + n]
        error = self.share * later.norm
        moved: Reals = np.maximum(total + (error if raised else -error), 0.0)
        return moved + self.points.infinite


def _fast_length(length: int) -> int:
    """The next length of the form 2^a or 3 2^a."""
    power = 1 << max(length - 1, 1).bit_length()
    return 3 * power // 4 if 3 * power // 4 >= length else power
