"""Ways to play: built-in strategies, and any Python function.

A strategy sees the history in full except for the world. For an exact law, histories in which it sees the same are
counted together; so a strategy says what it remembers, and a plain function remembers everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from dosimeter.errors import InputError
from dosimeter.exact import show

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary.strategy import Strategy as Best
    from dosimeter.adaptive.playground.table import Seen, Table

INFINITE_JUMP: Final = None  # what `remember` is given where a box revealed everything


def _forget(memory: Any, option: int, jump: int | None) -> Any:  # noqa: ARG001
    return memory


def _append(memory: Any, option: int, jump: int | None) -> Any:
    return (*memory, (option, jump))


@final
@dataclass(frozen=True, slots=True)
class Strategy:
    """How to choose the next box from what was seen.

    Args:
        name: what it is called in reports.
        choose: from `Seen`, the number of an option, or None to stop. Choosing one that is not open is a refused
            request: it costs nothing but the round.
        memory: what it remembers at the start; hashable.
        remember: its memory after an option changed the loss by so many steps (None: it revealed everything).
    """

    name: str
    choose: Callable[[Seen], int | None]
    memory: Any = None
    remember: Callable[[Any, int, int | None], Any] = _forget

    @classmethod
    def of(cls, function: Callable[[Seen], int | None], name: str | None = None) -> Strategy:
        """Any function of what is seen, the whole history in `memory` as pairs of an option and its change of loss."""
        return cls(name or str(getattr(function, "__name__", "function")), function, (), _append)


def following(best: Best) -> Strategy:
    """An optimal strategy computed by `dosimeter.adaptive.adversary`, to be played at a table.

    Args:
        best: for a menu with one entry for each option of the table, in its order, on the table's lattice. It counts
            its own units; where the filter does not admit what it wants, it asks for the dearest box that is open.
    """
    costs = best.menu.costs

    def choose(seen: Seen) -> int | None:
        if not seen.open:
            return None
        wanted = best.choose(max(0, seen.memory), seen.steps)
        return wanted if wanted is None or wanted in seen.open else seen.open[-1]

    def remember(left: int, option: int, jump: int | None) -> int:  # noqa: ARG001
        return left - costs[option]

    return Strategy("computed optimum", choose, best.budget, remember)


def threshold(seen: Seen) -> int | None:
    """The dearest box that is open while the loss is below half the target or negative, the cheapest one above it."""
    if not seen.open:
        return None
    return seen.open[0] if seen.loss > max(0.0, seen.epsilon / 2) else seen.open[-1]


def steady_small(seen: Seen) -> int | None:
    """Always the cheapest box: a plan without any choice."""
    return seen.open[0] if seen.open else None


def steady_large(seen: Seen) -> int | None:
    """Always the dearest box that is open."""
    return seen.open[-1] if seen.open else None


def doubling(seen: Seen) -> int | None:
    """The gambler's system: after every bad answer the next dearer box, after a good one the cheapest again."""
    return seen.open[min(seen.memory, len(seen.open) - 1)] if seen.open else None


def _count_losses(memory: int, option: int, jump: int | None) -> int:  # noqa: ARG001
    return 0 if jump is None or jump > 0 else min(memory + 1, 100)


def greedy_for(table: Table) -> Strategy:
    """The box with the largest expected reward if the game ended after it; the dearest where all are equal."""
    import math

    jumps = [([(jump, float(p)) for jump, p in steps], float(lost)) for steps, lost in table.jumps]
    level = float(table.level)

    def reward(steps: int) -> float:
        loss = steps * table.step
        return -math.expm1(min(0.0, level - loss))

    def choose(seen: Seen) -> int | None:
        if not seen.open:
            return None

        def value(i: int) -> float:
            finite, lost = jumps[i]
            return lost + sum(p * reward(seen.steps + jump) for jump, p in finite)

        return max(reversed(seen.open), key=value)

    return Strategy("greedy", choose)


def optimal_for(table: Table, cells: int = 2000) -> Strategy:
    """What backward induction chooses, with what is spent counted in cells of the budget.

    The filter's own states, one for each cell that can be reached, stand for all states in it. Where no two states
    share a cell nothing does better; elsewhere it is a very good strategy and no more. The exact worst case of a filter
    is in `dosimeter.adaptive.game.worst_delta`.
    """
    import heapq
    from bisect import bisect_right

    import numpy as np

    from dosimeter.adaptive.playground.table import Croupier

    croupier = Croupier(table)
    states: dict[int, Any] = {0: table.filter.start()}
    moves: dict[int, list[tuple[int, int]]] = {}
    waiting = [0]
    while waiting:
        here = heapq.heappop(waiting)
        moves[here] = []
        for i, after in enumerate(croupier.after(states[here])):
            if after is not None:
                there = max(here + 1, round(croupier.view(after)[0] * cells))
                moves[here].append((i, there))
                if there not in states:
                    states[there] = after
                    heapq.heappush(waiting, there)
        if len(states) > 20 * cells:  # boxes that cost nothing, for which there is no end
            return Strategy("optimal", steady_large)
    places = sorted(moves)
    furthest = max((abs(jump) for steps, _ in table.jumps for jump, _ in steps), default=0)
    reach = min(4000, max(furthest * len(places), int(float(table.level) / table.step) + 1))
    losses = np.arange(-reach, reach + 1)
    reward = -np.expm1(np.minimum(0.0, float(table.level) - table.step * losses))
    values: dict[int, Any] = {}
    choices: dict[int, Any] = {}
    for here in reversed(places):
        best, chosen = reward.copy(), np.full(2 * reach + 1, -1, dtype=np.int8)
        for i, there in moves[here]:
            steps, lost = table.jumps[i]
            total = np.full(2 * reach + 1, float(lost))
            for jump, p in steps:
                total += float(p) * values[there][furthest + jump : furthest + jump + 2 * reach + 1]
            better = total > best * (1 + 1e-12)
            chosen[better] = i
            np.maximum(best, total, out=best)
        values[here], choices[here] = np.pad(best, furthest, mode="edge"), chosen

    def choose(seen: Seen) -> int | None:
        if not seen.open:
            return None
        here = places[max(0, bisect_right(places, round(seen.spent * cells)) - 1)]
        wanted = int(choices[here][min(max(seen.steps + reach, 0), 2 * reach)])
        return wanted if wanted in seen.open else seen.open[-1]

    return Strategy("optimal", choose)


BUILT_IN: Final[dict[str, str]] = {
    "threshold": "dear boxes while behind, cheap ones when ahead",
    "doubling": "a dearer box after every bad answer, the cheapest after a good one",
    "greedy": "the box that is best if the game ended after it",
    "optimal": "backward induction over what is left and the loss so far",
    "steady-small": "always the cheapest box",
    "steady-large": "always the dearest box that is open",
}


def built_in(name: str, table: Table) -> Strategy:
    """A built-in strategy for a table.

    Raises:
        InputError: there is none of this name.
    """
    if name == "greedy":
        return greedy_for(table)
    if name == "optimal":
        return optimal_for(table)
    if name == "doubling":
        return Strategy("doubling", doubling, 0, _count_losses)
    plain = {"threshold": threshold, "steady-small": steady_small, "steady-large": steady_large}
    if name not in plain:
        raise InputError(f"strategy={show(name)} is unknown; use one of: {', '.join(BUILT_IN)}")
    return Strategy(name, plain[name])
