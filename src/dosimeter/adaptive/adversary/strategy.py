"""The best strategy itself: for every loss so far and every number of units left, which entry to choose next, or to
stop.

It is a plain table, so it can be printed, replayed against a filter or a ledger, and handed to somebody who doubts it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from dosimeter.adaptive.adversary.menu import Menu, Offer
from dosimeter.adaptive.adversary.values import Boundary, crossing_values, delta_values, directions, read_boundary
from dosimeter.errors import InputError
from dosimeter.exact import Number, count, show, to_decimal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dosimeter.adaptive.adversary.induction import Solved
    from dosimeter.adaptive.adversary.points import Points
    from dosimeter.adaptive.game import Box, Law
    from dosimeter.pld.laws.law import Direction

LONGEST_ROW: Final = 1 << 18


@final
@dataclass(frozen=True, slots=True)
class Strategy:
    """What the optimal analyst does.

    Args:
        menu: what may be chosen.
        budget: units at the start.
        goal: what is maximised, in words.
        direction: of the neighbouring pair, "remove" or "add".
        value: what it reaches at least.
        low: the loss of the table's first column, in steps.
        choices: for each number of units left and each loss, the entry, or -1 to stop.
    """

    menu: Menu
    budget: int
    goal: str
    direction: str
    value: float
    low: int
    choices: NDArray[np.int8] = field(repr=False, compare=False, hash=False)

    def choose(self, left: int, loss: int) -> int | None:
        """The entry to choose with so many units left at a loss of so many steps; None to stop.

        A loss outside the table counts as the one at its end.
        """
        if not 0 <= left <= self.budget:
            raise InputError(f"left={left} is outside [0, {self.budget}]")
        column = min(max(loss - self.low, 0), self.choices.shape[1] - 1)
        entry = int(self.choices[left, column])
        return None if entry < 0 else entry

    @property
    def points(self) -> tuple[Points, ...]:
        """What each entry of the menu does to the loss, in the direction of the strategy."""
        from dosimeter.adaptive.adversary.points import Side, points_of
        from dosimeter.pld.laws.law import Direction

        return tuple(points_of(law, Direction(self.direction), self.menu.step, Side.BELOW) for law in self.menu.laws)

    def offer(self, left: int, loss: float) -> Offer | None:
        """The entry to choose at a loss in nats, rounded to the nearest step; None to stop."""
        entry = self.choose(left, round(loss / float(self.menu.step)))
        return None if entry is None else self.menu.offers[entry]

    def regions(self, left: int) -> list[tuple[int, int, int | None]]:
        """The losses with so many units left as runs of the same choice: (first, last, entry), losses in steps."""
        found: list[tuple[int, int, int | None]] = []
        for loss in range(self.low, self.low + self.choices.shape[1]):
            entry = self.choose(left, loss)
            if found and found[-1][2] == entry:
                found[-1] = (found[-1][0], loss, entry)
            else:
                found.append((loss, loss, entry))
        return found

    def describe(self, budgets: Sequence[int] | None = None) -> str:
        """The table in words, for some numbers of units left (five of them by default)."""
        rows = budgets if budgets is not None else sorted({self.budget * k // 5 for k in range(1, 6)}, reverse=True)
        step = float(self.menu.step)
        lines = [f"{self.goal}: {self.value:.6g} ({self.direction}, budget {self.budget})"]
        for left in rows:
            lines.append(f"with {left} units left:")
            for first, last, entry in self.regions(left):
                does = "stop" if entry is None else self.menu.offers[entry].name
                lines.append(f"  loss {first * step:.4g} to {last * step:.4g}: {does}")
        return "\n".join(lines)

    def law(self, boxes: Sequence[Box]) -> Law:
        """The exact law of the whole interaction, when each entry is played with this box.

        Args:
            boxes: one per entry, in order, with rational probabilities; an outcome's loss is rounded to whole steps for
                the choice, and kept exactly for the law.

        Reference: the strategy's own factors cancel from the likelihood ratio; forward recursion in rationals.
        """
        from dosimeter.adaptive.game import exact_law

        jumps = {box: tuple(_jump(ratio, self.menu.step) for ratio in box.ratios()) for box in boxes}
        costs = dict(zip(boxes, self.menu.costs, strict=True))

        def choose(memory: tuple[int, int]) -> Box | None:
            entry = self.choose(*memory)
            return None if entry is None else boxes[entry]

        def remember(memory: tuple[int, int], box: Box, outcome: int) -> tuple[int, int]:
            left, loss = memory
            return left - costs[box], loss + jumps[box][outcome]

        rounds = self.budget // min(self.menu.costs)
        return exact_law(choose, rounds=rounds, memory=(self.budget, 0), remember=remember)

    def to_json(self) -> dict[str, Any]:
        """Everything, the table as runs of equal choices."""
        table: Mapping[str, Any] = {
            str(left): [[first, last, entry] for first, last, entry in self.regions(left)]
            for left in range(self.budget + 1)
        }
        return {
            "menu": self.menu.to_json(),
            "budget": self.budget,
            "goal": self.goal,
            "direction": self.direction,
            "value": self.value,
            "choices": table,
        }

    @classmethod
    def from_json(cls, data: object) -> Strategy:
        """Read a strategy back; raises InputError for anything that `to_json` does not write."""
        import numpy as np

        fields_ = {"menu", "budget", "goal", "direction", "value", "choices"}
        if not isinstance(data, dict) or set(data) != fields_ or not isinstance(data["choices"], dict):
            raise InputError(f"a strategy has exactly the fields: {', '.join(sorted(fields_))}")
        menu, units = Menu.from_json(data["menu"]), count(data["budget"], "budget", smallest=0)
        if data["direction"] not in {"remove", "add"} or not isinstance(data["goal"], str):
            raise InputError("a strategy is for the direction remove or add, and says what its goal is")
        if type(data["value"]) is not float or not 0 <= data["value"] <= 1:
            raise InputError(f"value={show(data['value'])} is no probability")
        if set(data["choices"]) != {str(left) for left in range(units + 1)}:
            raise InputError("a strategy has one row of choices for every number of units left")
        rows = [_row(data["choices"][str(left)], len(menu.offers)) for left in range(units + 1)]
        lows, widths = {low for low, _ in rows}, {len(row) for _, row in rows}
        if len(lows) != 1 or len(widths) != 1:
            raise InputError("all rows of choices cover the same losses")
        choices = np.array([row for _, row in rows], dtype=np.int8)
        choices.setflags(write=False)
        found = cls(menu, units, data["goal"], data["direction"], data["value"], lows.pop(), choices)
        if found.to_json() != data:
            raise InputError("a strategy's choices are stored as the longest runs of one choice; write them so")
        return found


def best_strategy(menu: Menu, budget: int, epsilon: Number) -> Strategy:
    """The strategy with the largest delta at `epsilon`.

    Guarantee: where the menu's losses lie on the lattice no strategy reaches more; for continuous losses it is the best
    one for dominated points, and `worst_delta` says how much more others could reach.
    """
    from dosimeter.adaptive.adversary.points import Side

    units, target = count(budget, "budget", smallest=0), float(to_decimal(epsilon, "epsilon"))
    side = Side.DOMINATED
    solved = {d: delta_values(menu, units, target, side, d, keep=True) for d in directions(menu)}
    return _best(menu, units, f"delta at epsilon {target:g}", solved)


def best_crossing(menu: Menu, budget: int, boundary: Boundary) -> Strategy:
    """The strategy with the largest probability of ever being above a boundary of the units used."""
    from dosimeter.adaptive.adversary.points import Side

    units = count(budget, "budget", smallest=0)
    levels = read_boundary(boundary, units)
    side = Side.BELOW
    solved = {d: crossing_values(menu, units, levels, side, d, keep=True) for d in directions(menu)}
    return _best(menu, units, "probability of crossing", solved)


def _best(menu: Menu, budget: int, goal: str, solved: Mapping[Direction, Solved]) -> Strategy:
    direction, best = max(solved.items(), key=lambda pair: pair[1].value(budget))
    if best.choices is None:
        raise InputError("the choices were not kept")
    best.choices.setflags(write=False)
    return Strategy(menu, budget, goal, str(direction), float(best.value(budget)), best.window.low, best.choices)


def _row(runs: object, entries: int) -> tuple[int, list[int]]:
    """A row of choices: its first loss and the entry at each loss from there on."""
    row: list[int] = []
    low: int | None = None
    if not isinstance(runs, list):
        raise InputError(f"{show(runs)} is no list of runs of one choice")
    for run in runs:
        if not isinstance(run, list) or len(run) != 3 or not all(type(part) is int for part in run[:2]):
            raise InputError(f"{show(run)} is no run of one choice: first loss, last loss, entry")
        first, last, entry = run
        if entry is not None and (type(entry) is not int or not 0 <= entry < entries):
            raise InputError(f"entry={show(entry)} is not on the menu")
        low = first if low is None else low
        if first != low + len(row) or not first <= last < first + LONGEST_ROW:
            raise InputError(f"the run {show(run)} does not begin where the one before it ends")
        row += [-1 if entry is None else entry] * (last - first + 1)
    if low is None:
        raise InputError("a row of choices is empty")
    return low, row


def _jump(ratio: Fraction | None, step: Fraction) -> int:
    if ratio is None or not ratio:
        return 0  # the world is known, or cannot be: what follows does not matter
    return round((math.log(ratio.numerator) - math.log(ratio.denominator)) / float(step))
