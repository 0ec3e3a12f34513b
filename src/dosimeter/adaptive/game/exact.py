"""The game in exact rationals: the law of a given strategy, and the worst case over all strategies.

The strategy's own choices cancel from the likelihood ratio of a history, whatever they depend on; so the loss of a
history is the sum of its rounds' losses, and the worst case is the value of a decision problem with a terminal reward.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar, final

from dosimeter.adaptive.game.box import INFINITE, Box
from dosimeter.adaptive.game.rule import Rule
from dosimeter.enclosure import ball, precision
from dosimeter.errors import InputError

State = TypeVar("State", bound=Hashable)
Ratio: TypeAlias = Fraction | None
Choice: TypeAlias = "Box | Mapping[Box | None, Fraction] | None"


@final
@dataclass(frozen=True, slots=True)
class Law:
    """The law of a finished interaction: for each likelihood ratio, its probabilities under P and under Q."""

    masses: Mapping[Ratio, tuple[Fraction, Fraction]]

    def hockey_stick(self, level: Fraction) -> Fraction:
        """The largest P(S) - level Q(S) over events S: the delta at epsilon = log(level)."""
        return sum((max(Fraction(0), p - level * q) for p, q in self.masses.values()), Fraction(0))

    def probability_above(self, level: Fraction) -> Fraction:
        """The probability under P that the likelihood ratio is above `level`."""
        return sum((p for ratio, (p, _) in self.masses.items() if ratio is INFINITE or ratio > level), Fraction(0))


def _append(history: Any, box: Box, outcome: int) -> Any:
    return (*history, (box, outcome))


def exact_law(
    choose: Callable[[Any], Choice],
    *,
    rounds: int,
    memory: Any = (),
    remember: Callable[[Any, Box, int], Any] = _append,
) -> Law:
    """The exact law of an interaction under a given strategy.

    Guarantee: exact for the whole view (choices, outcomes and the strategy's coins), since the ratio is kept.

    Args:
        choose: from the memory, the next box, None to stop, or a mapping from these to probabilities.
        rounds: at most this many rounds.
        memory: what the strategy remembers at the start; by default the whole history.
        remember: the memory after a box showed its outcome of this index. Histories with the same memory and the same
            ratio are counted together, which is exact as long as `choose` depends on the memory alone.

    Raises:
        InputError: a mixed choice whose probabilities do not add up to 1.

    Reference: the strategy's factors cancel in dP/dQ; forward recursion.
    """
    alive: dict[tuple[Any, Ratio], tuple[Fraction, Fraction]] = {(memory, Fraction(1)): (Fraction(1), Fraction(1))}
    done: dict[Ratio, tuple[Fraction, Fraction]] = {}
    for _ in range(rounds):
        following: dict[tuple[Any, Ratio], tuple[Fraction, Fraction]] = {}
        for (known, ratio), (p, q) in alive.items():
            for box, chance in _mixed(choose(known)):
                if box is None:
                    _add(done, ratio, p * chance, q * chance)
                    continue
                for index, (a, b) in enumerate(box.outcomes):
                    under_p, under_q = p * chance * a, q * chance * b
                    if under_p or under_q:
                        own = under_p / under_q if under_q else INFINITE
                        _add(following, (remember(known, box, index), own), under_p, under_q)
        alive = following
    for (_, ratio), (p, q) in alive.items():
        _add(done, ratio, p, q)
    return Law(done)


def _mixed(choice: Choice) -> list[tuple[Box | None, Fraction]]:
    if choice is None or isinstance(choice, Box):
        return [(choice, Fraction(1))]
    if sum(choice.values()) != 1 or min(choice.values()) < 0:
        raise InputError("a mixed choice needs probabilities that add up to 1")
    return [(box, chance) for box, chance in choice.items() if chance]


def _add(into: dict[Any, tuple[Fraction, Fraction]], key: Any, p: Fraction, q: Fraction) -> None:
    have = into.get(key, (Fraction(0), Fraction(0)))
    into[key] = (have[0] + p, have[1] + q)


def worst_delta_exact(rule: Rule[State], level: Fraction) -> Fraction:
    """The largest delta at epsilon = log(level) that any strategy reaches under a rule, exactly.

    Guarantee: no strategy, deterministic or randomised, does better; some strategy attains it.

    Args:
        rule: what may be opened; a small one, since every (state, ratio) is visited.
        level: e^epsilon, positive.

    Reference: delta = E_P[(1 - e^(epsilon - L))+], a terminal reward; backward induction.
    """
    return _value(rule, lambda _, ratio: max(Fraction(0), 1 - level / ratio) if ratio else Fraction(0))


def worst_crossing_exact(rule: Rule[State], bound: Callable[[State], Decimal]) -> Fraction:
    """The largest probability, over strategies, that the loss ever exceeds `bound` of the state, exactly.

    Args:
        rule: what may be opened.
        bound: the odometer's reading for a state of the rule.

    Reference: the crossing is absorbing with reward 1; backward induction.
    """
    return _value(rule, lambda state, ratio: Fraction(exceeds(ratio, bound(state))))


def exceeds(ratio: Fraction, bound: Decimal) -> bool:
    """Whether log(ratio) > bound, decided with balls."""
    if ratio <= 0:
        return False
    bits = 128
    while bits < 10_000:
        with precision(bits):
            loss = ball(ratio).log() if ratio != 1 else ball(0)
            if loss > ball(bound):
                return True
            if loss <= ball(bound):
                return False
        bits *= 2
    raise InputError(f"the loss log({ratio}) cannot be told apart from the bound {bound}")


def _value(rule: Rule[State], reward: Callable[[State, Fraction], Fraction]) -> Fraction:
    """The optimal expected reward; a reward of an infinite loss is 1, and stopping is always allowed."""
    known: dict[tuple[State, Fraction], Fraction] = {}

    def value(state: State, ratio: Fraction) -> Fraction:
        key = (state, ratio)
        if key in known:
            return known[key]
        best = reward(state, ratio)
        if best < 1:
            for box, after in rule.moves(state):
                total = Fraction(0)
                for p, q in box.outcomes:
                    if p:
                        total += p * (value(after, ratio * p / q) if q else 1)
                best = max(best, total)
        known[key] = best
        return best

    return value(rule.start, Fraction(1))
