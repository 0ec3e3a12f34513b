"""Backward induction over what is left of the budget, vectorised over losses.

    V_b(l) = max( reward(l), max over entries with cost c <= b of inf + sum_z P(z) V_(b-c)(l + z) )

Values are arrays over the losses of a window. Three things keep them certified, and sharp where they are tiny.

* **A floor.** F_b, the largest probability of an infinite loss, is the limit of V_b for losses far below; only what is
  above it is an array: V = F + R.
* **A tilt.** R shrinks exponentially below the target, and an absolute error of 1e-15 would drown it. The array that is
  kept is W_b(l) = R_b(l) e^(-t (l - l0) - k b), with k so large that no entry's tilted masses add up to more than 1.
  Then W never exceeds 1 (this is the moment bound at order 1 + t), and an error in W is a share of that bound.
* **Rounding charged outwards.** Where points are many, a correlation is three fast Fourier transforms whose error is
  bounded in the largest norm and added (upper bounds) or taken away (lower bounds) in every round. As tilted masses
  add up to at most 1, errors of earlier rounds are averaged and never grow. Where points are few they are added one by
  one; every term is non-negative, so the error is relative to the value.

Outside the window an upper bound takes the value at the window's lower end or the largest reward, a lower bound the
floor or the value at the upper end: values do not decrease in the loss, so both stay on their side of the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from dosimeter.adaptive.adversary.correlation import Entries
from dosimeter.adaptive.adversary.moves import Moves
from dosimeter.adaptive.adversary.tilt import MARGIN, PLAIN, Tilt, tilted_masses
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.parts import UNIT

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary.points import Points
    from dosimeter.pld.laws.spread import Reals

STOP: Final = -1
SMALLEST: Final = 1e-280  # of a value of an upper bound that is not zero: nothing underflows to zero unnoticed
MOST_NUMBERS: Final = 1 << 28  # kept at the same time
_UP = Context(prec=17, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
_DOWN = Context(prec=17, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)


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

    `relative` bounds what is left of the error of floating point, as a share of the value.
    """

    window: Window
    tilt: Tilt
    floor: Reals
    above: Reals  # at loss zero, tilted
    relative: float
    raised: bool
    choices: NDArray[np.int8] | None = None

    def value(self, left: int) -> Decimal:
        """The value at loss zero with so many units left, rounded to the solved side."""
        side = _UP if self.raised else _DOWN
        share = self.relative if self.raised else -self.relative
        floor, above = float(self.floor[left]), float(self.above[left])
        exponent = self.tilt.exponent(left)
        if abs(exponent) < PLAIN:
            sign = 1.0 if self.raised else -1.0
            scale = Decimal(math.exp(float(exponent)) * (1 + sign * 8 * UNIT * (abs(float(exponent)) + 4)))
        else:
            scale = side.exp(exponent)  # correctly rounded up to one place, whatever the rounding of the context
            scale = side.multiply(scale, Decimal(1) + (1 if self.raised else -1) * Decimal("1e-15"))
        if not (floor or above):
            return Decimal(0)
        whole = side.fma(Decimal(above), scale, Decimal(floor))
        found = side.multiply(whole, Decimal(1) + Decimal(share) * Decimal("1.000001"))
        return min(found, Decimal(1)) if self.raised else max(found, Decimal(0))


def solve(
    offers: Sequence[tuple[int, Points]],
    budget: int,
    window: Window,
    reward: Callable[[int], Reals],
    *,
    raised: bool,
    tilt: Tilt | None = None,
    moves: Moves | None = None,
    absorbing: bool = False,
    keep: bool = False,
    until: Decimal | None = None,
) -> Solved:
    """Solve the game for all budgets up to `budget`.

    Guarantee: with `raised` the values are upper bounds of the game with these points, else lower bounds. Points whose
    masses are rounded to the same side keep them so for what the points stand for.

    Args:
        offers: the cost and the points of each entry.
        budget: units.
        window: the losses that are kept.
        reward: for what is left, the reward of stopping, at each loss of the window; between 0 and 1, not decreasing,
            zero below the tilt's origin.
        raised: whether the answer has to be an upper bound.
        tilt: of the arrays; none if not given.
        moves: where an entry's cost depends on what is left; then the cost of an offer is the least it takes.
        absorbing: whether a reward of 1 ends the game (a crossing), so that nothing is chosen there.
        keep: whether to keep the best entry for every budget and loss (`STOP` for none).
        until: stop soon after the first budget whose value at zero is above it.

    Raises:
        NoGuaranteeError: the arrays would take too much memory.

    Reference: Bellman 1957; errors of transforms: Higham 2002, section 24.1.
    """
    way = Moves.at_cost([cost for cost, _ in offers], budget) if moves is None else moves
    n, longest = window.length, way.longest
    if (longest + 2) * n + (budget + 1) * n * keep // 8 > MOST_NUMBERS:
        raise NoGuaranteeError(f"{longest} units at {n} losses are too much to keep; take a larger step or unit")
    tilt = Tilt() if tilt is None else tilt
    game = _Game(offers, budget, window, tilt, way, raised=raised)
    slots = np.zeros((longest + 1, n))
    picked = np.full((longest + 1, n), STOP, dtype=np.int8) if keep else None
    choices = np.empty((budget + 1, n), dtype=np.int8) if keep else None
    above = np.zeros(budget + 1)
    solved = Solved(window, tilt, game.floor[: budget + 1], above, game.relative, raised, choices)
    for b in range(budget + 1):
        slot = b % (longest + 1)
        best = slots[slot]
        own = reward(b)
        weights = game.weights(b)
        stopping = game.weighted(own, weights, b)
        if picked is not None and choices is not None:
            stay = (best <= stopping * (1 + 64 * UNIT)) & (own >= game.floor[b])
            choices[b] = np.where(picked[slot] == STOP, game.surest[b], picked[slot])
            choices[b][(stay | (own >= 1.0)) if absorbing else stay] = STOP
            picked[slot] = STOP
        np.maximum(best, stopping, out=best)
        game.limit(best, weights, b)
        above[b] = best[-window.low]
        if until is not None and not b % 16 and solved.value(b) > until:
            return replace(solved, floor=game.floor[: b + 1], above=above[: b + 1])
        for i, target, value in game.one_step(best, weights, b):
            later = slots[target % (longest + 1)]
            if picked is not None:
                picked[target % (longest + 1)][value > later * (1 + 64 * UNIT)] = i
            np.maximum(later, value, out=later)
        best[:] = 0.0
    return solved


class _Game:
    """What stays the same in all rounds: tilted points, places, the floor."""

    def __init__(
        self,
        offers: Sequence[tuple[int, Points]],
        budget: int,
        window: Window,
        tilt: Tilt,
        moves: Moves,
        *,
        raised: bool,
    ) -> None:
        self.raised, self.n, self.tilt, self.moves = raised, window.length, tilt, moves
        self.sign = 1.0 if raised else -1.0
        self.costs = [cost for cost, _ in offers]
        self.left_pad = max(0, *(-points.first for _, points in offers))
        self.right_pad = max(0, *(points.last for _, points in offers))
        steps = np.arange(window.low, window.high + self.right_pad + 1)
        self._weights, self._lower = tilt.weights(steps, self.sign), tilt.weights(steps[: self.n], -self.sign)
        with np.errstate(over="ignore"):
            self.growing = np.exp(tilt.slope * np.arange(self.left_pad, 0, -1)) * (1 + MARGIN)
        self.falling = np.exp(-tilt.slope * np.arange(1, self.right_pad + 1)) * (1 - MARGIN)
        masses = [(points.first, tilted_masses(points, cost, tilt, self.sign)) for cost, points in offers]
        self.entries = Entries(masses, self.left_pad + window.length + self.right_pad)
        self.infinite = [
            (points.infinite, math.fsum(points.masses) * (1 + self.sign * 4 * UNIT)) for _, points in offers
        ]
        self.floor = self._floors(budget)
        least = tilt.exponent(budget).exp() * Decimal("1e-12")
        self.sunk = raised and Decimal(float(self.floor[budget])) < least  # then gaps do not matter
        self.relative = (budget // min(self.costs) + 1) * (self.entries.widest + 8) * UNIT * (1 + 1e-6)

    def weights(self, b: int) -> Reals:
        """Of the window and what is right of it, with b units left; of upper bounds never zero."""
        found = self._weights(b)
        return np.maximum(found, SMALLEST, out=found) if self.raised else found

    def weighted(self, values: Reals, weights: Reals, b: int) -> Reals:
        """Rewards above the floor, tilted."""
        over = np.maximum(values - self.floor[b], 0.0) if self.floor[b] else values
        with np.errstate(invalid="ignore"):
            found: Reals = over * weights[: self.n]
        found[over == 0] = 0.0  # where the weight is infinite
        return found

    def limit(self, values: Reals, weights: Reals, b: int) -> None:
        """Nothing above certainty, nothing that could underflow."""
        if self.raised:
            np.minimum(values, weights[: self.n] * (max(1 - self.floor[b], SMALLEST) * (1 + MARGIN)), out=values)
            values[(values > 0) & (values < SMALLEST)] = SMALLEST

    def one_step(self, values: Reals, weights: Reals, b: int) -> Iterator[tuple[int, int, Reals]]:
        """For every move that leads to these values: its entry, where from, what it is worth there."""
        wanted: dict[int, list[int]] = {}
        for i, target in self.moves.into(b):
            wanted.setdefault(i, []).append(target)
        padded = self._padded(values, weights, b)
        for i, finite in self.entries.expectations(padded, self.left_pad, self.n, wanted, self.sign):
            for target in wanted[i]:
                total, more = finite, target - b - self.costs[i]
                if more and self.tilt.per_unit:
                    exponent = self.tilt.per_unit * more
                    total = finite * (math.exp(-exponent) * (1 + self.sign * 8 * UNIT * (exponent + 4)))
                gap = 0.0 if self.sunk else min(0.0, self._chance(i, b) - float(self.floor[target]))
                if gap:
                    lost = gap * (1 - self.sign * MARGIN) * self._lower(target)
                    total = np.maximum(total * (1 + self.sign * 8 * UNIT) + lost, 0.0)
                yield i, target, total

    def _chance(self, i: int, b: int) -> float:
        """The probability of an infinite loss when entry i is chosen and leaves b units."""
        infinite, total = self.infinite[i]
        return float((infinite + total * self.floor[b]) * (1 + self.sign * 8 * UNIT))

    def _floors(self, budget: int) -> Reals:
        """The largest probability of an infinite loss, for every number of units; `surest` says by which entry."""
        self.floor, self.surest = np.zeros(budget + 1), np.full(budget + 1, STOP, dtype=np.int8)
        if any(infinite for infinite, _ in self.infinite):
            for b in range(budget + 1):
                self.floor[b] = min(1.0, self.floor[b])
                for i, target in self.moves.into(b):
                    if (chance := self._chance(i, b)) > self.floor[target]:
                        self.floor[target], self.surest[target] = chance, i
        return self.floor

    def _padded(self, values: Reals, weights: Reals, b: int) -> Reals:
        left = self.left_pad
        padded = np.zeros(left + self.n + self.right_pad)
        padded[left : left + self.n] = values
        if not self.raised:
            padded[left + self.n :] = values[-1] * self.falling
            return padded
        if values[0]:
            padded[:left] = np.minimum(values[0] * self.growing, 1.0)
        padded[left + self.n :] = np.clip(weights[self.n :] * (1 - self.floor[b]) * (1 + MARGIN), SMALLEST, 1.0)
        return padded
