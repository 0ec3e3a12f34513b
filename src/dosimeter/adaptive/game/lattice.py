"""The worst case over all strategies, fast: losses are whole multiples of one step, values are arrays over losses.

The same decision problem as in `exact`, for menus whose likelihood ratios are powers of one base. Rounding of floating
point is bounded and returned: the answer is an interval that contains the true value of the menu.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from dosimeter.adaptive.game.box import Box, lattice_steps
from dosimeter.adaptive.game.rule import Rule, ordered_states
from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.exact import Bound, Number, to_decimal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dosimeter.enclosure import Ball

    Values = NDArray[np.float64]

State = TypeVar("State", bound=Hashable)
_ULP = 2.0**-52
_UP = decimal.Context(prec=20, rounding=decimal.ROUND_CEILING)
_DOWN = decimal.Context(prec=20, rounding=decimal.ROUND_FLOOR)


def worst_delta(rule: Rule[State], base: Fraction, epsilon: Number) -> Bound:
    """The largest delta at epsilon that any strategy reaches under a rule.

    Guarantee: the true value for this menu lies in the interval; it is a lower bound for every larger menu.

    Args:
        rule: what may be opened; all its boxes' ratios are powers of `base`.
        base: e^step, a rational above 1.
        epsilon: any real number.

    Raises:
        InputError: a box does not fit the lattice, or the game does not end.

    Reference: delta = E_P[(1 - e^(epsilon - L))+]; backward induction over the states of the rule.
    """
    import numpy as np

    target, step = float(to_decimal(epsilon, "epsilon")), math.log(base)

    def rewards(_: State, reach: int) -> Values:
        losses = step * np.arange(-reach, reach + 1)
        values: Values = np.maximum(0.0, -np.expm1(np.minimum(0.0, target - losses)))
        return values

    return _solve(rule, base, rewards, infinite=1.0, slack=lambda reach: 8 * _ULP * (abs(target) + step * reach))


def worst_crossing(rule: Rule[State], base: Fraction, bound: Callable[[State], Decimal | None]) -> Bound:
    """The largest probability, over strategies, that the loss ever exceeds an odometer's reading.

    Args:
        rule: what may be opened.
        base: e^step, a rational above 1.
        bound: the reading for a state of the rule; None where there is none (the start, for example).

    Reference: the crossing is absorbing with reward 1; backward induction over the states of the rule.
    """
    import numpy as np

    def rewards(state: State, reach: int) -> Values:
        reading = bound(state)
        losses = np.arange(-reach, reach + 1)
        return np.zeros(2 * reach + 1) if reading is None else (losses >= first_above(reading, base)).astype(float)

    return _solve(rule, base, rewards, infinite=1.0, slack=lambda _: 0.0)


def worst_moment(rule: Rule[State], base: Fraction, order: Number) -> Bound:
    """The largest Renyi divergence of the given order that any strategy reaches under a rule.

    Args:
        rule: what may be opened; no box may have an infinite loss.
        base: e^step, a rational above 1.
        order: the Renyi order, above 1.

    Returns:
        The interval for the divergence, in nats.

    Reference: (order - 1) D = log E_P[e^((order-1) L)]; backward induction.
    """
    import numpy as np

    tilt, step = float(to_decimal(order, "order")) - 1, math.log(base)

    def rewards(_: State, reach: int) -> Values:
        moments: Values = np.exp(tilt * step * np.arange(-reach, reach + 1))
        return moments

    found = _solve(rule, base, rewards, infinite=math.inf, slack=lambda _: 0.0, tilted=tilt * step)
    return Bound(max(Decimal(0), down(_log_over(found.lower, tilt))), up(_log_over(found.upper, tilt)))


def _log_over(moment: Decimal, tilt: float) -> Ball:
    return enclose(lambda: ball(moment).log() / ball(Decimal(tilt)), digits=15)


def first_above(reading: Decimal, base: Fraction) -> int:
    """The smallest whole k with k log(base) > reading (or equal to it beyond telling apart, which errs upwards)."""
    if reading == 0:
        return 1
    ratio = enclose(lambda: ball(reading) / ball(base).log())
    return math.floor(down(ratio)) + 1


def _solve(
    rule: Rule[State],
    base: Fraction,
    rewards: Callable[[State, int], Values],
    *,
    infinite: float,
    slack: Callable[[int], float],
    tilted: float = 0.0,
) -> Bound:
    import numpy as np

    states, moves = ordered_states(rule)
    steps = _steps_of(moves, base)
    reach, depth = _reach(states, moves, steps)
    waiting = dict.fromkeys(states, 0)
    for state in states:
        for _, after in moves[state]:
            waiting[after] += 1
    values: dict[Any, Values] = {}
    widest = 1
    for state in reversed(states):
        own = reach[state]
        best = rewards(state, own)
        for box, after in moves[state]:
            jumps, lost = steps[box]
            widest = max(widest, len(jumps) + 1)
            later, centre = values[after], reach[after]
            total = np.full(2 * own + 1, lost * infinite if lost else 0.0)
            for jump, p in jumps:
                total += p * later[centre - own + jump : centre + own + jump + 1]
            np.maximum(best, total, out=best)
        values[state] = best
        for _, after in moves[state]:
            waiting[after] -= 1
            if not waiting[after]:
                values.pop(after, None)
    result = float(values[rule.start][reach[rule.start]])
    furthest = max(reach.values())
    relative = (depth + 1) * (widest + 4) * _ULP + 4 * _ULP * tilted * furthest
    absolute = slack(furthest)
    low, high = result * (1 - relative) - absolute, result * (1 + relative) + absolute
    return Bound(max(Decimal(0), _DOWN.create_decimal(low)), _UP.create_decimal(high))


def _steps_of(
    moves: dict[State, list[tuple[Box, State]]], base: Fraction
) -> dict[Box, tuple[list[tuple[int, float]], float]]:
    found: dict[Box, tuple[list[tuple[int, float]], float]] = {}
    for offered in moves.values():
        for box, _ in offered:
            if box not in found:
                steps, infinite = lattice_steps(box, base)
                found[box] = ([(step, float(p)) for step, p in steps], float(infinite))
    return found


def _reach(
    states: list[State],
    moves: dict[State, list[tuple[Box, State]]],
    steps: dict[Box, tuple[list[tuple[int, float]], float]],
) -> tuple[dict[State, int], int]:
    """How far the loss can be from zero in each state, in steps, and the largest number of rounds."""
    reach, depth = dict.fromkeys(states, 0), dict.fromkeys(states, 0)
    for state in states:  # each before the states it leads to
        for box, after in moves[state]:
            furthest = max((abs(jump) for jump, _ in steps[box][0]), default=0)
            reach[after] = max(reach[after], reach[state] + furthest)
            depth[after] = max(depth[after], depth[state] + 1)
    return reach, max(depth.values())
