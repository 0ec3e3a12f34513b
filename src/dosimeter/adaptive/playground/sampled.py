"""A strategy's run by Monte Carlo, for games whose laws are too large to follow: estimates, and named so.

Seeded generators are for games only: nothing here ever touches the noise of a release.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from dosimeter.adaptive.playground.table import Croupier
from dosimeter.errors import InputError
from dosimeter.exact import count as read_count

if TYPE_CHECKING:
    from dosimeter.adaptive.playground.strategies import Strategy
    from dosimeter.adaptive.playground.table import Table

CONFIDENCE: Final = 0.999
MOST_RUNS: Final = 10_000_000


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate, not a bound: with probability `confidence` over the draws the truth is between `low` and `high`.

    Args:
        estimate: the mean over the runs.
        low: lower end.
        high: upper end.
        confidence: of the interval.
        runs: how many independent runs.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    runs: int


@final
@dataclass(frozen=True, slots=True)
class Path:
    """One run as it went: after each box the intrinsic time (if the filter keeps one) and the loss in nats."""

    times: tuple[float, ...]
    losses: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class Sampled:
    """What many runs had in common.

    Args:
        delta: of the run at the table's level.
        crossing: how often the odometer was passed; None without one.
        rounds: boxes opened on average.
        refused: requests refused on average.
        seed: that repeats the runs.
    """

    delta: Estimate
    crossing: Estimate | None
    rounds: float
    refused: float
    seed: int


def interval(total: float, runs: int, confidence: float = CONFIDENCE) -> Estimate:
    """An interval for the mean of independent values in [0, 1], from their sum.

    Guarantee: covers the mean with probability at least `confidence`, whatever the law of the values.

    Reference: Hoeffding 1963, Theorem 1: P(mean >= m + t) <= exp(-n KL(m + t, m)), and the same below; the interval
    holds the m with n KL(observed, m) <= log(2 / (1 - confidence)).
    """
    seen, level = min(1.0, total / runs), math.log(2 / (1 - confidence)) / runs

    def divergence(m: float) -> float:
        first = seen * math.log(seen / m) if seen else 0.0
        return first + ((1 - seen) * math.log((1 - seen) / (1 - m)) if seen < 1 else 0.0)

    def edge(inside: float, outside: float) -> float:
        for _ in range(100):
            middle = (inside + outside) / 2
            if not 0 < middle < 1 or divergence(middle) > level:
                outside = middle
            else:
                inside = middle
        return outside

    low = edge(seen, 0.0) if seen > 0 else 0.0
    high = edge(seen, 1.0) if seen < 1 else 1.0
    return Estimate(seen, low, high, confidence, runs)


def run_sampled(
    table: Table, strategy: Strategy, *, runs: int, seed: int, watch: Callable[[int], None] | None = None
) -> Sampled:
    """Play a strategy many times in the world with the person.

    Args:
        table: the game.
        strategy: how to play it.
        runs: how often, 1 to 1e7.
        seed: of the generator; the same seed gives the same runs.
        watch: told how many runs are done, now and then.

    Reference: delta = E_P[(1 - e^(level - loss))+], a mean of values in [0, 1].
    """
    runs = read_count(runs, "runs", largest=MOST_RUNS)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"seed={seed!r} is not a whole number")
    croupier, dice = Croupier(table), random.Random(seed)  # noqa: S311 - a game, never a release
    level, gain, crossings, opened, refused = float(table.level), 0.0, 0, 0, 0
    wheels = _wheels(table)
    for number in range(runs):
        steps, over, done, lost = _one(table, strategy, croupier, wheels, dice, None)
        gain += 1.0 if steps is None else -math.expm1(min(0.0, level - steps * table.step))
        crossings += over
        opened, refused = opened + done, refused + lost
        if watch is not None and number % 64 == 0:
            watch(number)
    crossing = None if table.odometer is None else interval(crossings, runs)
    return Sampled(interval(gain, runs), crossing, opened / runs, refused / runs, seed)


def sample_paths(table: Table, strategy: Strategy, *, paths: int, seed: int) -> list[Path]:
    """A few runs as they went, for a figure."""
    croupier, dice, wheels = Croupier(table), random.Random(seed), _wheels(table)  # noqa: S311 - a game
    found = []
    for _ in range(paths):
        trail: list[tuple[float, float]] = [(0.0, 0.0)]
        _one(table, strategy, croupier, wheels, dice, trail)
        found.append(Path(tuple(t for t, _ in trail), tuple(loss for _, loss in trail)))
    return found


Wheel = tuple[list[float], list[int | None]]


def _wheels(table: Table) -> list[Wheel]:
    """For each option the running sums of probabilities, and the loss at each of them (None: infinite)."""
    built: list[Wheel] = []
    for steps, lost in table.jumps:
        total, sums, jumps = 0.0, [], []
        for jump, p in [*steps, *([(None, lost)] if lost else [])]:
            total += float(p)
            sums.append(total)
            jumps.append(jump)
        sums[-1] = 1.0
        built.append((sums, jumps))
    return built


def _one(
    table: Table,
    strategy: Strategy,
    croupier: Croupier,
    wheels: list[Wheel],
    dice: random.Random,
    trail: list[tuple[float, float]] | None,
) -> tuple[int | None, bool, int, int]:
    """One run: its final loss in steps (None: infinite), whether it passed the odometer, boxes opened and refused."""
    from bisect import bisect_right

    state, memory, steps, over, opened, refused = table.filter.start(), strategy.memory, 0, False, 0, 0
    for number in range(table.rounds):
        choice = strategy.choose(croupier.seen(state, number, steps, memory))
        if choice is None:
            break
        after = croupier.after(state)[choice]
        if after is None:
            refused += 1
            continue
        sums, jumps = wheels[choice]
        jump = jumps[min(bisect_right(sums, dice.random()), len(jumps) - 1)]
        opened, state, memory = opened + 1, after, strategy.remember(memory, choice, jump)
        limit = croupier.first_above(state)
        if jump is None:
            return None, over or limit is not None, opened, refused
        steps += jump
        over = over or (limit is not None and steps >= limit)
        if trail is not None:
            trail.append((_time(state, opened), steps * table.step))
    return steps, over, opened, refused


def _time(state: Any, opened: int) -> float:
    time = getattr(state, "intrinsic_time", None)
    return float(time) if time is not None else float(opened)
