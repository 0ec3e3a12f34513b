"""The law of a strategy's run, exactly: which losses it ends with, and how often it passed an odometer's reading.

A forward recursion over rounds. Histories with the same loss, the same state of the filter and the same memory of the
player go on alike, so their probabilities are added. All terms are non-negative: rounding of floating point is relative
to the result and grows by a few units per round; the answer is an interval that contains the truth.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, final

from dosimeter.adaptive.playground.table import Croupier
from dosimeter.errors import DosimeterError
from dosimeter.exact import ONE, ZERO, Bound

if TYPE_CHECKING:
    from dosimeter.adaptive.playground.strategies import Strategy
    from dosimeter.adaptive.playground.table import Table

LARGEST: Final = 2_000_000  # states over all rounds
_ULP: Final = 2.0**-52
_UP = decimal.Context(prec=17, rounding=decimal.ROUND_CEILING)
_DOWN = decimal.Context(prec=17, rounding=decimal.ROUND_FLOOR)


class GameTooLargeError(DosimeterError):
    """The game has more states than are followed; play it by Monte Carlo."""


@final
@dataclass(frozen=True, slots=True)
class RunLaw:
    """Where runs end.

    Args:
        losses: the P-probability of each final loss in steps, rising.
        infinite: the P-probability that something revealed everything.
        crossed: the P-probability that the loss was ever above the odometer's reading; None without one.
        rounds: how many boxes are opened on average.
        refused: how many requests are refused on average.
        states: how many states were followed.
        relative: by which share every probability may be off.
    """

    losses: tuple[tuple[int, float], ...]
    infinite: float
    crossed: float | None
    rounds: float
    refused: float
    states: int
    relative: float

    def delta(self, level: Decimal, step: float) -> Bound:
        """P-expectation of (1 - e^(level - loss))+ at the end: the delta of the run at `level`."""
        target = float(level)
        total = self.infinite + math.fsum(
            p * -math.expm1(min(0.0, target - steps * step)) for steps, p in self.losses if steps * step > target
        )
        furthest = max((abs(steps) for steps, _ in self.losses), default=0)
        slack = 8 * _ULP * (abs(target) + step * furthest + 1)  # of each reward; probabilities add up to one
        return _bound(total, self.relative + 8 * _ULP, slack if total else 0.0)

    def crossing(self) -> Bound | None:
        """The probability that the odometer was ever passed."""
        return None if self.crossed is None else _bound(self.crossed, self.relative, 0.0)


def run_law(table: Table, strategy: Strategy, *, largest: int = LARGEST) -> RunLaw:
    """The law of a run.

    Guarantee: for this strategy, these boxes and this filter the true probabilities are within the stated relative
    error.

    Raises:
        GameTooLargeError: more than `largest` states.

    Reference: the strategy's own choices cancel from the likelihood ratio of a history; forward recursion.
    """
    croupier = Croupier(table)
    jumps = [([(jump, float(p)) for jump, p in steps], float(lost)) for steps, lost in table.jumps]
    alive: dict[tuple[int, Any, Any, bool], float] = {(0, table.filter.start(), strategy.memory, False): 1.0}
    ended: dict[int, float] = {}
    infinite = crossed = opened = refused = 0.0
    states, depth = 1, 0
    for number in range(table.rounds):
        following: dict[tuple[int, Any, Any, bool], float] = {}
        for (steps, state, memory, over), mass in alive.items():
            choice = strategy.choose(croupier.seen(state, number, steps, memory))
            if choice is None:
                ended[steps] = ended.get(steps, 0.0) + mass
                continue
            after = croupier.after(state)[choice]
            if after is None:
                refused += mass
                key = (steps, state, memory, over)
                following[key] = following.get(key, 0.0) + mass
                continue
            opened += mass
            finite, lost = jumps[choice]
            limit = croupier.first_above(after)
            if lost:
                infinite += mass * lost
                crossed += mass * lost if limit is not None and not over else 0.0
            for jump, p in finite:
                now, part = steps + jump, mass * p
                past = over or (limit is not None and now >= limit)
                crossed += part if past and not over else 0.0
                key = (now, after, strategy.remember(memory, choice, jump), past)
                following[key] = following.get(key, 0.0) + part
        alive, depth = following, number + 1
        states += len(alive)
        if not alive:
            break
        if states > largest:
            raise GameTooLargeError(
                f"this game has more than {largest} states after {depth} rounds; play it by Monte Carlo, with fewer "
                "rounds, or with a strategy that remembers less"
            )
    for (steps, _, _, _), mass in alive.items():
        ended[steps] = ended.get(steps, 0.0) + mass
    widest = max(len(finite) for finite, _ in jumps)
    relative = (2 * depth + states * widest + 8) * _ULP  # a rounding for every product and every sum on the way
    return RunLaw(
        tuple(sorted(ended.items())),
        infinite,
        None if table.odometer is None else crossed,
        opened,
        refused,
        states,
        relative,
    )


def _bound(value: float, relative: float, slack: float) -> Bound:
    low, high = value * (1 - relative) - slack, value * (1 + relative) + slack
    return Bound(max(ZERO, _DOWN.create_decimal(low)), min(ONE, max(ZERO, _UP.create_decimal(high))))
