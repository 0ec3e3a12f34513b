"""The table of a game: boxes with what the filter charges for them, and what a player sees of the game so far.

A box has finitely many outcomes with exact probabilities in both worlds, and losses on one lattice. The filter sees
charges, never outcomes; the player sees everything but the world.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from dosimeter.adaptive.filter import Admitted, Filter
from dosimeter.adaptive.game.box import Box, lattice_steps
from dosimeter.enclosure import ball, down, enclose
from dosimeter.errors import InputError
from dosimeter.exact import Number, to_decimal

if TYPE_CHECKING:
    from decimal import Decimal

    from dosimeter.notions import Loss

MOST_OPTIONS = 100


@final
@dataclass(frozen=True, slots=True)
class Option:
    """One box that may be opened, again and again.

    Args:
        box: its outcomes, exact.
        charge: what the filter charges for it, in the filter's notion; it must be a guarantee that the box satisfies.
    """

    box: Box
    charge: Loss


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """Everything a player knows before a round.

    Args:
        rounds: how many boxes were opened.
        steps: the loss so far, in steps of the lattice.
        loss: the same in nats.
        epsilon: the level at which delta counts; the player wants a final loss above it.
        spent: the largest share of any part of the budget that is used, from 0 to 1.
        open: the numbers of the options that the filter would admit now, cheapest first.
        memory: what the player's strategy chose to remember.
    """

    rounds: int
    steps: int
    loss: float
    epsilon: float
    spent: float
    open: tuple[int, ...]
    memory: Any


@final
@dataclass(frozen=True)
class Table:
    """A filter, the boxes on offer, and the level at which delta is asked.

    Args:
        filter: decides about every box before it is opened.
        options: 1 to 100 boxes with their charges; all losses are multiples of log(base).
        base: e^step of the lattice, a rational above 1.
        epsilon: any real number.
        rounds: at most so many boxes are opened.
        odometer: read after every box, if given: how often does the loss pass its reading at any time?
    """

    filter: Filter[Any]
    options: Sequence[Option]
    base: Fraction
    epsilon: Number
    rounds: int
    odometer: Any = None
    step: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        if not 1 <= len(self.options) <= MOST_OPTIONS:
            raise InputError(f"a game has 1 to {MOST_OPTIONS} boxes, not {len(self.options)}")
        if not 1 <= self.rounds <= 1_000_000:
            raise InputError(f"rounds={self.rounds} is outside 1 to 1000000")
        base = Fraction(self.base)
        if base <= 1:
            raise InputError(f"base={base} is not above 1")
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "step", float(down(enclose(lambda: ball(base).log()))))

    @cached_property
    def level(self) -> Decimal:
        """The epsilon at which delta is asked."""
        return to_decimal(self.epsilon, "epsilon")

    @cached_property
    def symmetric(self) -> bool:
        """Whether every box looks the same with the two worlds exchanged."""
        return all(sorted(option.box.outcomes) == sorted(option.box.reversed().outcomes) for option in self.options)

    def reversed(self) -> Table:
        """The same game about the other direction of a neighbouring pair."""
        options = [Option(option.box.reversed(), option.charge) for option in self.options]
        return Table(self.filter, options, self.base, self.epsilon, self.rounds, self.odometer)

    @cached_property
    def jumps(self) -> tuple[tuple[tuple[tuple[int, Fraction], ...], Fraction], ...]:
        """For each option the losses of its outcomes in steps with their P-probabilities, and that of infinity."""
        found = [lattice_steps(option.box, self.base) for option in self.options]
        return tuple((tuple(steps), infinite) for steps, infinite in found)


class Croupier:
    """Asks the filter, once for every state and option, and remembers the answer."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._next: dict[Hashable, tuple[Any, ...]] = {}
        self._views: dict[Hashable, tuple[float, tuple[int, ...]]] = {}
        self._readings: dict[Hashable, int | None] = {}
        self._order = sorted(range(len(table.options)), key=lambda i: self._price(i))
        self._caps = {name: float(cap) for name, cap in table.filter.budget().items()}

    def after(self, state: Any) -> tuple[Any, ...]:
        """For each option the filter's state after it, or None where it is refused."""
        found = self._next.get(state)
        if found is None:
            decisions = [self.table.filter.admit(state, option.charge) for option in self.table.options]
            found = tuple(one.state if isinstance(one, Admitted) else None for one in decisions)
            self._next[state] = found
        return found

    def view(self, state: Any) -> tuple[float, tuple[int, ...]]:
        """The share of the budget that is spent, and the options that are open, cheapest first."""
        found = self._views.get(state)
        if found is None:
            following = self.after(state)
            spent = {name: float(value) for name, value in self.table.filter.spent(state).items()}
            shares = [spent[name] / cap for name, cap in self._caps.items() if cap > 0 and name in spent]
            found = (min(1.0, max(shares, default=0.0)), tuple(i for i in self._order if following[i] is not None))
            self._views[state] = found
        return found

    def first_above(self, state: Any) -> int | None:
        """The smallest loss, in steps, that is above the odometer's reading; None without an odometer."""
        from dosimeter.adaptive.game.lattice import first_above

        if self.table.odometer is None:
            return None
        if state not in self._readings:
            self._readings[state] = first_above(self.table.odometer.bound(state), self.table.base)
        return self._readings[state]

    def seen(self, state: Any, rounds: int, steps: int, memory: Any) -> Seen:
        """What the player sees."""
        spent, open_ = self.view(state)
        return Seen(rounds, steps, steps * self.table.step, float(self.table.level), spent, open_, memory)

    def _price(self, i: int) -> float:
        """Options by what they take of a fresh budget; those that never fit come last."""
        start = self.table.filter.start()
        decision = self.table.filter.admit(start, self.table.options[i].charge)
        if not isinstance(decision, Admitted):
            return float("inf")
        spent, caps = self.table.filter.spent(decision.state), self.table.filter.budget()
        return max((float(spent[n]) / float(c) for n, c in caps.items() if float(c) > 0 and n in spent), default=0.0)
