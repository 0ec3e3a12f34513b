"""Replaying a strategy: one run of the game, against whatever decides about requests and whatever answers them.

The strategy is a table, the answers come from outside. So the same run can be put to a filter, to a ledger with its
store, or to a service, and what these let through is compared with what the mathematics promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dosimeter.adaptive.adversary.menu import Offer
from dosimeter.errors import InputError

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary.points import Points
    from dosimeter.adaptive.adversary.strategy import Strategy


@final
@dataclass(frozen=True, slots=True)
class Turn:
    """One request: the menu's entry, whether it was let through, and what the answer did to the loss.

    Args:
        entry: its number on the menu.
        admitted: a refusal ends the run.
        jump: steps; None for an answer that only one world can give, and for a refusal.
    """

    entry: int
    admitted: bool
    jump: int | None


@final
@dataclass(frozen=True, slots=True)
class Replay:
    """A finished run.

    Args:
        turns: in order.
        left: units that the strategy had left.
        loss: in steps; None when it is infinite.
    """

    turns: tuple[Turn, ...]
    left: int
    loss: int | None

    @property
    def refused(self) -> bool:
        """Whether the run ended with a refusal."""
        return bool(self.turns) and not self.turns[-1].admitted


def replay(strategy: Strategy, ask: Callable[[Offer], bool], answer: Callable[[Offer], int | None]) -> Replay:
    """Play one run of a strategy.

    Args:
        strategy: what is chosen next.
        ask: whether a request is let through.
        answer: by how many steps the answer changes the loss; None when it settles which world it is.
    """
    turns: list[Turn] = []
    left, loss = strategy.budget, 0
    while (entry := strategy.choose(left, loss)) is not None:
        offer = strategy.menu.offers[entry]
        if not ask(offer):
            turns.append(Turn(entry, admitted=False, jump=None))
            break
        jump = answer(offer)
        turns.append(Turn(entry, admitted=True, jump=jump))
        left -= offer.cost
        if jump is None:
            return Replay(tuple(turns), left, None)
        loss += jump
    return Replay(tuple(turns), left, loss)


def every_run(strategy: Strategy, ask: Callable[[], Callable[[Offer], bool]], most: int = 100_000) -> Iterator[Replay]:
    """All runs of a strategy, one for each sequence of finite answers that its menu's points allow.

    Args:
        strategy: for a menu of few outcomes.
        ask: begins a new run, and gives what decides about its requests.
        most: more runs than these are refused.

    Raises:
        InputError: there are more runs.
    """
    jumps = dict(zip(strategy.menu.offers, (_jumps(points) for points in strategy.points), strict=True))
    waiting: list[tuple[int, ...]] = [()]
    found = 0
    while waiting:
        found += 1
        if found > most:
            raise InputError(f"the strategy has more than {most} runs")
        yield replay(strategy, ask(), _Planned(waiting.pop(), jumps, waiting))


class _Planned:
    """Answers as planned; where the plan ends, the first possible one, while others wait for runs of their own."""

    def __init__(
        self, plan: tuple[int, ...], jumps: Mapping[Offer, Sequence[int]], waiting: list[tuple[int, ...]]
    ) -> None:
        self.plan, self.jumps, self.waiting, self.given = plan, jumps, waiting, 0

    def __call__(self, offer: Offer) -> int:
        if self.given == len(self.plan):
            first, *others = self.jumps[offer]
            self.waiting.extend((*self.plan, other) for other in others)
            self.plan = (*self.plan, first)
        self.given += 1
        return self.plan[self.given - 1]


def _jumps(points: Points) -> list[int]:
    return [points.first + i for i, mass in enumerate(points.masses) if mass]
