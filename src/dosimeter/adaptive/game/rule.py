"""A rule: which boxes may be opened next. Filters, budgets and single-use menus are all rules.

A rule sees costs, never outcomes. Its states form a finite graph without cycles: every move uses something up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from dosimeter.adaptive.filter import Admitted, Filter
from dosimeter.adaptive.game.box import Box
from dosimeter.errors import InputError
from dosimeter.notions import Loss

State = TypeVar("State", bound=Hashable)


@final
@dataclass(frozen=True, slots=True)
class Rule(Generic[State]):
    """Where the game starts, and what may be opened in each state.

    Args:
        start: the state before the first round; states are hashable, equal states allow the same future.
        moves: from a state, the boxes that may be opened with the state each leads to.
    """

    start: State
    moves: Callable[[State], Iterable[tuple[Box, State]]]


def budget_rule(
    menu: Sequence[tuple[Box, tuple[int, ...]]], budget: tuple[int, ...], rounds: int | None = None
) -> Rule[tuple[int, ...]]:
    """Boxes with costs in whole units of one or more quantities; a box may be opened while every cost fits.

    Args:
        menu: boxes with their costs, at least one of them positive (or `rounds` given).
        budget: units of each quantity.
        rounds: at most this many rounds, if given.
    """
    if rounds is not None:
        counted = [(box, (*cost, 1)) for box, cost in menu]
        return budget_rule(counted, (*budget, rounds))
    for box, cost in menu:
        if len(cost) != len(budget) or min(cost) < 0 or not any(cost):
            raise InputError(f"box {box.name!r} needs one cost per quantity, none negative and one positive: {cost}")

    def moves(left: tuple[int, ...]) -> Iterable[tuple[Box, tuple[int, ...]]]:
        for box, cost in menu:
            after = tuple(have - need for have, need in zip(left, cost, strict=True))
            if min(after) >= 0:
                yield box, after

    return Rule(budget, moves)


def single_use_rule(boxes: Sequence[Box]) -> Rule[frozenset[int]]:
    """Each box may be opened once, in any order."""

    def moves(unused: frozenset[int]) -> Iterable[tuple[Box, frozenset[int]]]:
        for index in sorted(unused):
            yield boxes[index], unused - {index}

    return Rule(frozenset(range(len(boxes))), moves)


def filter_rule(
    filter_: Filter[Any], menu: Sequence[tuple[Box, Loss]], rounds: int | None = None
) -> Rule[tuple[Any, int]]:
    """What a privacy filter admits from a menu of boxes with their losses in its notion.

    Args:
        filter_: any filter; it decides by itself, so this plays against the code that guards accounts.
        menu: boxes and what each is charged.
        rounds: at most this many rounds; needed where a box costs nothing.
    """

    def moves(state: tuple[Any, int]) -> Iterable[tuple[Box, tuple[Any, int]]]:
        spent, left = state
        if not left:
            return
        for box, loss in menu:
            decision = filter_.admit(spent, loss)
            if isinstance(decision, Admitted):
                yield box, (decision.state, left if rounds is None else left - 1)

    return Rule((filter_.start(), 1 if rounds is None else rounds), moves)


def restrict(rule: Rule[State], allowed: Callable[[State], bool]) -> Rule[State]:
    """The same rule, entering only states that are allowed: for example, those an odometer reads low enough."""
    return Rule(rule.start, lambda state: ((box, after) for box, after in rule.moves(state) if allowed(after)))


def ordered_states(rule: Rule[State]) -> tuple[list[State], dict[State, list[tuple[Box, State]]]]:
    """Every reachable state, each before the states it leads to, with its moves.

    Raises:
        InputError: the rule can return to a state, so the game would not end.
    """
    moves: dict[State, list[tuple[Box, State]]] = {}
    finished: list[State] = []
    closed: set[State] = set()
    stack: list[tuple[State, int]] = [(rule.start, 0)]
    while stack:
        state, index = stack.pop()
        if index == 0:
            moves[state] = list(rule.moves(state))
        if index == len(moves[state]):
            finished.append(state)
            closed.add(state)
            continue
        stack.append((state, index + 1))
        after = moves[state][index][1]
        if after not in moves:
            stack.append((after, 0))
        elif after not in closed:
            raise InputError("the rule returns to an earlier state; give every box a cost, or limit the rounds")
    return finished[::-1], moves
