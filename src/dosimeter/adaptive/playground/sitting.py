"""One game for a person at the table: she sees the budget, the boxes and the losses, chooses, and guesses the world.

Reading and speaking are passed in, so that a test, a notebook or another program can play as well. The worlds are
drawn from a seeded generator: this is a game, and nothing private is involved.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from dosimeter.adaptive.playground.strategies import Strategy
from dosimeter.adaptive.playground.table import Croupier

if TYPE_CHECKING:
    from dosimeter.adaptive.game.box import Box
    from dosimeter.adaptive.playground.table import Seen, Table

IN, OUT = "in", "out"
HELP: Final = "type a box's number, h for a hint, s to stop, or q to leave without a guess"


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """An opened box: its number from 1 on, and the change of the loss in steps (None: it gave the world away)."""

    box: int
    jump: int | None


@final
@dataclass(frozen=True, slots=True)
class Sitting:
    """A finished game.

    Args:
        world: "in" or "out": whether the person was in the data.
        guess: what the player said, None if she left.
        opened: the boxes in order.
        refused: how often she asked for a box that the filter refused.
        loss: in nats at the end; infinite where a box gave the world away.
        spent: the share of the budget that was used.
        epsilon: the level of the table.
    """

    world: str
    guess: str | None
    opened: tuple[Opened, ...]
    refused: int
    loss: float
    spent: float
    epsilon: float

    @property
    def right(self) -> bool:
        """Whether the guess was right."""
        return self.guess == self.world

    def in_words(self) -> str:
        """What came of it."""
        verdict = "no guess" if self.guess is None else "right" if self.right else "wrong"
        return (
            f"the person was {self.world}: {verdict}. {len(self.opened)} boxes, {self.spent:.0%} of the budget, loss "
            f"{self.loss:.4g} (epsilon is {self.epsilon:.4g})"
        )

    def to_json(self) -> dict[str, Any]:
        """Everything; the loss as a text, since it may be infinite."""
        return {
            "world": self.world,
            "guess": self.guess,
            "opened": [{"box": one.box, "jump": one.jump} for one in self.opened],
            "refused": self.refused,
            "loss": repr(self.loss),
            "spent": repr(self.spent),
            "epsilon": repr(self.epsilon),
        }


def sit_down(
    table: Table,
    read: Callable[[], str | None],
    say: Callable[[str], None],
    *,
    seed: int | None = None,
    hint: Strategy | None = None,
) -> Sitting:
    """Play one game.

    Args:
        table: the filter, the boxes, the level, at most so many rounds.
        read: the next line of the player; None when there is no more, which is the same as leaving.
        say: shows a line to her.
        seed: of the world and of the answers; any other game if not given.
        hint: whom to ask for a hint.

    Reference: the game between an analyst and a filter whose value is delta: the probability, at best, of telling that
        a person is in when she is, less e^epsilon times that of telling so when she is out.
    """
    draw = random.Random(seed)  # noqa: S311 - a game
    croupier, state = Croupier(table), table.filter.start()
    world, guess = (IN if draw.random() < 0.5 else OUT), None
    opened: list[Opened] = []
    refused, steps, certain = 0, 0, 0.0
    say(f"A person is in the data or not. Find out. {HELP.capitalize()}.")
    memory = None if hint is None else hint.memory
    while len(opened) < table.rounds:
        seen = croupier.seen(state, len(opened), steps, memory)
        for line in _shown(table, seen, croupier.after(state)):
            say(line)
        word = (read() or "q").strip().lower()
        if word in {"q", "s"}:
            break
        if word == "h":
            wanted = None if hint is None else hint.choose(seen)
            say("hint: stop" if wanted is None else f"hint: box {wanted + 1}")
            continue
        if not word.isascii() or not word.isdigit() or not 1 <= int(word[:4]) <= len(table.options):
            say(HELP)
            continue
        option = int(word[:4]) - 1
        after = croupier.after(state)[option]
        if after is None:
            refused += 1
            say("the filter refuses it; nothing was charged")
            continue
        state = after
        jump, sign = _outcome(table.options[option].box, table.base, world, draw)
        opened.append(Opened(option + 1, jump))
        if jump is None:
            certain = sign
            say(f"the box gives the world away: the person is {IN if sign > 0 else OUT}")
            break
        steps += jump
        memory = None if hint is None else hint.remember(memory, option, jump)
        say(f"the answer speaks {_favour(jump)}: the loss changes by {jump * table.step:+.4g}")
    else:
        word = "s"
    if word != "q":
        guess = _guess(read, say)
    loss = certain * float("inf") if certain else steps * table.step
    spent = croupier.view(state)[0]
    sitting = Sitting(world, guess, tuple(opened), refused, loss, spent, float(table.level))
    say(sitting.in_words())
    return sitting


def _shown(table: Table, seen: Seen, after: tuple[Any, ...]) -> list[str]:
    lines = [f"loss so far {seen.loss:+.4g} (epsilon {seen.epsilon:.4g}), {seen.spent:.0%} of the budget used"]
    for i, option in enumerate(table.options):
        state = "" if after[i] is not None else "  (too dear now)"
        lines.append(f"  {i + 1}: {option.box.name}{state}")
    return lines


def _outcome(box: Box, base: Fraction, world: str, draw: random.Random) -> tuple[int | None, float]:
    """What a box shows in a world: the change of the loss in steps; or None, and which world it gives away."""
    level, total = Fraction(draw.getrandbits(64), 1 << 64), Fraction(0)
    for p, q in box.outcomes:
        total += p if world == IN else q
        if level < total:
            break
    if not q:
        return None, 1.0
    if not p:
        return None, -1.0
    ratio = p / q
    return round((math.log(ratio.numerator) - math.log(ratio.denominator)) / math.log(base)), 0.0


def _favour(jump: int) -> str:
    return "for the person" if jump > 0 else "against her" if jump < 0 else "for neither"


def _guess(read: Callable[[], str | None], say: Callable[[str], None]) -> str | None:
    for _ in range(3):
        say("is the person in the data? in or out")
        word = (read() or "q").strip().lower()
        if word in {IN, OUT}:
            return word
        if word == "q":
            return None
    return None
