"""What the best of all adaptive analysts reaches with a menu and a budget: certified from both sides.

The analyst knows everything but the secret, chooses each entry of the menu from all earlier answers, and may stop at
any time; only the budget binds. With f(l) = (1 - e^(epsilon - l))+ the delta of a finished run is the expectation of f
at its loss, so the largest delta is the value of a decision problem with the loss and the units left as its state. No
strategy does better than the upper end, and some strategy reaches the lower end.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.adaptive.adversary.menu import Menu
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ZERO, Bound, Number, amount, count, to_decimal

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary.induction import Solved, Window
    from dosimeter.adaptive.adversary.moves import Moves
    from dosimeter.adaptive.adversary.points import Points, Side
    from dosimeter.pld.laws.law import Direction
    from dosimeter.pld.laws.spread import Reals

Boundary: TypeAlias = "Callable[[int], Number | None] | Sequence[Number | None]"

LARGEST_BUDGET: Final = 10**6
_ULP: Final = 2.0**-52
_OVERHEAD: Final = 30_000  # of one step, in operations
_LONGEST: Final = 1 << 18  # losses of a window
_NEAR: Final = 1e-3  # of the logarithm of a delta: so close to a root both sides are tried
_WIDE: Final = 10.0  # standard deviations on either side, where a window cannot hold everything
_UP = decimal.Context(prec=17, rounding=decimal.ROUND_CEILING, Emin=-999_999, Emax=999_999)
_DOWN = decimal.Context(prec=17, rounding=decimal.ROUND_FLOOR, Emin=-999_999, Emax=999_999)


def worst_delta(menu: Menu, budget: int, epsilon: Number) -> Bound:
    """The largest delta at `epsilon` that any adaptive analyst reaches.

    Guarantee: for mechanisms dominated by the menu's pairs, in either direction of a neighbouring pair, no strategy
    whose costs add up to at most `budget` reaches more than the upper end; some strategy, with the pairs themselves,
    reaches the lower end.

    Args:
        menu: what may be chosen.
        budget: units, from 0 on.
        epsilon: any real number.

    Reference: Regehr et al. 2026; a dominated mechanism is a randomised image of its dominating pair (Blackwell 1953).
    """
    units, target = count(budget, "budget", largest=LARGEST_BUDGET, smallest=0), float(to_decimal(epsilon, "epsilon"))
    low, high = (_deltas(menu, units, target, raised=raised, only=True)[0] for raised in (False, True))
    return Bound(min(low, high), high)


def upper_delta(menu: Menu, budget: int, epsilon: Number) -> Decimal:
    """The upper end of `worst_delta` alone, at half the effort.

    Guarantee: as `worst_delta`.

    Reference: as `worst_delta`.
    """
    units, target = count(budget, "budget", largest=LARGEST_BUDGET, smallest=0), float(to_decimal(epsilon, "epsilon"))
    return _deltas(menu, units, target, raised=True, only=True)[0]


def effort(menu: Menu, budget: int, epsilon: Number) -> tuple[float, float]:
    """About how many operations, and bytes, it takes to solve the game from above for all budgets up to one.

    Args: as `worst_delta`.

    Raises:
        NoGuaranteeError: the losses span too many steps of the lattice.
    """
    from dosimeter.adaptive.adversary.correlation import FEW
    from dosimeter.adaptive.adversary.points import Side

    units, target = count(budget, "budget", largest=LARGEST_BUDGET, smallest=0), float(to_decimal(epsilon, "epsilon"))
    work, longest = 0.0, 0
    for direction in directions(menu):
        offers = offers_of(menu, Side.DOMINATING, direction)
        length = window_of(menu, offers, units, target).length
        longest = max(longest, length)
        for cost, points in offers:
            filled = sum(1 for mass in points.masses if mass)
            each = 4 * filled if filled <= FEW else 4 * math.log2(2 * length + len(points.masses))
            work += max(0, units - cost) * (length * (each + 10) + _OVERHEAD)
    return work, 8.0 * longest * (min(units, max(menu.costs)) + 2)


def worst_deltas(menu: Menu, budget: int, epsilon: Number) -> list[Bound]:
    """`worst_delta` for every budget from 0 to `budget`, in one pass."""
    units, target = count(budget, "budget", largest=LARGEST_BUDGET, smallest=0), float(to_decimal(epsilon, "epsilon"))
    low, high = (_deltas(menu, units, target, raised=raised) for raised in (False, True))
    return [Bound(min(a, b), b) for a, b in zip(low, high, strict=True)]


def worst_epsilon(menu: Menu, budget: int, delta: Number) -> Bound:
    """The epsilon at which the largest delta of any adaptive analyst is `delta`; 0 where it is below at 0.

    Guarantee: as `worst_delta`: every interaction within the budget is (upper end, delta)-DP.

    Args: as `worst_delta`; delta in (0, 1).

    Raises:
        NoGuaranteeError: infinite losses alone reach `delta`.
    """
    share = amount(delta, "delta", below_one=True)
    units, top = count(budget, "budget", largest=LARGEST_BUDGET, smallest=0), _largest_loss(menu, budget)
    if _deltas(menu, units, top, raised=True, only=True)[0] > share:
        raise NoGuaranteeError(f"the menu fails with a probability above delta={delta} at every epsilon")
    upper = _root(lambda e: _deltas(menu, units, e, raised=True, only=True)[0], share, top, safe=True)
    lower = _root(lambda e: _deltas(menu, units, e, raised=False, only=True)[0], share, upper, safe=False)
    return Bound(Decimal(lower), Decimal(upper))


def _root(delta: Callable[[float], Decimal], share: Decimal, top: float, *, safe: bool) -> float:
    """Where a falling delta passes `share`, to ten digits: the end of the bracket at which it is (not) at most that."""

    def height(epsilon: float) -> float:
        found = delta(epsilon)
        return float((found / share).ln()) if found else -1e3

    low, high = 0.0, top
    below, above = height(low), height(high)
    if below <= 0:
        return 0.0
    if above > 0:
        return top
    for turn in range(200):
        width = high - low
        if width <= 1e-10 * max(high, 1e-3):
            break
        share_of = below / (below - above) if above > -700 and turn % 3 < 2 else 0.5
        at = min(max(low + share_of * width, low + 2e-11 * high), high - 2e-11 * high)
        for _ in range(2):
            found = height(at)
            slope = (found - below) / (at - low) if at > low else 0.0
            if found > 0 and at > low:
                low, below = at, found
            elif found <= 0 and at < high:
                high, above = at, found
            if abs(found) > _NEAR or not slope < 0:
                break
            beyond = 3 * abs(found / slope) + 4e-11 * high  # to close the bracket from the other side
            at = min(max(at + (beyond if found > 0 else -beyond), low), high)
    return high if safe else low


def worst_tail(menu: Menu, budget: int, loss: Number) -> Bound:
    """The largest probability that the loss of a finished run is above `loss`.

    Guarantee: for runs of the menu's own pairs. Tails are not bounded by dominance: a post-processing can lose 1 for
    sure where its mechanism loses 0 or 2.

    Args: as `worst_delta`; `loss` in nats.

    Reference: P(L > u) is a terminal reward; backward induction.
    """
    level = to_decimal(loss, "loss")
    return worst_crossing(menu, budget, lambda _: level)


def worst_crossing(menu: Menu, budget: int, boundary: Boundary) -> Bound:
    """The largest probability, over strategies, that the loss is ever above a boundary of the units used.

    Guarantee: for runs of the menu's own pairs, in either direction; and for whoever stops before the boundary passes a
    fixed epsilon, with any mechanisms dominated by them, it is a delta at that epsilon.

    Args:
        menu: what may be chosen.
        budget: units.
        boundary: the reading after `used` units, as a function of `used` or as a sequence; None where there is none.

    Reference: the crossing is absorbing with reward 1; backward induction.
    """
    from dosimeter.adaptive.adversary.points import Side

    units = count(budget, "budget", largest=LARGEST_BUDGET, smallest=0)
    levels = read_boundary(boundary, units)
    found = [
        [crossing_values(menu, units, levels, side, d) for d in directions(menu)] for side in (Side.BELOW, Side.ABOVE)
    ]
    lower, upper = (max(solved.value(units) for solved in one) for one in found)
    return Bound(min(lower, upper), upper)


def worst_divergence(menu: Menu, budget: int, order: Number) -> Bound:
    """The largest Renyi divergence of an order in (1, 1e5] that any adaptive analyst reaches, in nats.

    Guarantee: as `worst_delta`, for divergences.

    Reference: e^((order-1) L) is multiplicative, so the best entry does not depend on the loss: a knapsack of moments.
    """
    from dosimeter.pld.accountant import Accountant
    from dosimeter.pld.renyi import renyi

    units = count(budget, "budget", largest=LARGEST_BUDGET, smallest=0)
    sides = []
    for direction in directions(menu):
        one = []
        for law in menu.laws:
            alone = Accountant()
            alone.append(law)
            one.append(renyi(alone, order, direction=direction))
        best = [Bound(ZERO, ZERO)]
        for b in range(1, units + 1):
            options = [(best[b - c], d) for c, d in zip(menu.costs, one, strict=True) if c <= b]
            low = max((_DOWN.add(a.lower, d.lower) for a, d in options), default=ZERO)
            high = max((_UP.add(a.upper, d.upper) for a, d in options), default=ZERO)
            best.append(Bound(max(low, best[-1].lower), max(high, best[-1].upper)))
        sides.append(best[-1])
    return Bound(max(side.lower for side in sides), max(side.upper for side in sides))


def largest_budget(
    menu: Menu, epsilon: Number, delta: Number, *, most: int = LARGEST_BUDGET, guess: int | None = None
) -> int:
    """The largest budget of at most `most` units whose worst case is certainly within (epsilon, delta).

    Guarantee: every interaction of mechanisms dominated by the menu's pairs, chosen with full adaptivity, whose costs
    add up to at most that many units is (epsilon, delta)-DP.

    Args:
        menu: what may be chosen.
        epsilon: in nats, 0 or more.
        delta: in [0, 1).
        most: where to stop looking.
        guess: a budget that may be near; it saves time, and changes nothing else.
    """
    share = amount(delta, "delta", round_up=False, zero=True, below_one=True)
    target = amount(epsilon, "epsilon", round_up=False, zero=True)
    reach = min(most, max(menu.costs) if guess is None else count(guess, "guess", largest=LARGEST_BUDGET))
    while True:
        found = _deltas(menu, reach, float(target), raised=True, until=share)
        tried = next((b for b, delta_of in enumerate(found) if delta_of > share), len(found)) - 1
        if tried < reach or reach >= most:
            return tried
        reach = min(most, 2 * reach)


def directions(menu: Menu) -> tuple[Direction, ...]:
    """The directions that have to be looked at."""
    from dosimeter.pld.laws.law import Direction

    return (Direction.REMOVE,) if menu.symmetric else tuple(Direction)


def read_boundary(boundary: Boundary, budget: int) -> list[Decimal | None]:
    """A boundary as one reading for each number of used units."""
    if callable(boundary):
        given = [boundary(used) for used in range(budget + 1)]
    elif len(boundary) > budget:
        given = list(boundary[: budget + 1])
    else:
        raise InputError(f"a boundary of {len(boundary)} readings does not reach {budget} units")
    return [None if value is None else to_decimal(value, "boundary") for value in given]


def delta_values(
    menu: Menu,
    budget: int,
    epsilon: float,
    side: Side,
    direction: Direction,
    *,
    keep: bool = False,
    until: Decimal | None = None,
    moves: Moves | None = None,
) -> Solved:
    """The solved game for delta at `epsilon`, on one side and in one direction."""
    import numpy as np

    from dosimeter.adaptive.adversary.induction import solve
    from dosimeter.adaptive.adversary.tilt import Tilt

    offers = offers_of(menu, side, direction)
    frame = window_of(menu, offers, budget, epsilon)
    step, slack = float(menu.step), _slack(menu, offers, budget)
    losses = step * np.arange(frame.low, frame.high + 1)
    margin = slack + 8 * _ULP * (np.abs(losses) + abs(epsilon))
    away = np.maximum(losses - epsilon + (margin if side.raised else -margin), 0.0)
    sign = 1.0 if side.raised else -1.0
    reward = np.clip(-np.expm1(-away) * (1 + sign * 4 * _ULP), 0.0, 1.0)
    tilt = Tilt.best(offers, budget, frame.low + int(np.argmax(reward > 0)), step)
    more: Any = {"tilt": tilt, "moves": moves, "keep": keep, "until": until}
    return solve(offers, budget, frame, lambda _: reward, raised=side.raised, **more)


def crossing_values(
    menu: Menu,
    budget: int,
    levels: Sequence[Decimal | None],
    side: Side,
    direction: Direction,
    *,
    keep: bool = False,
) -> Solved:
    """The solved game for a crossing, on one side and in one direction."""
    import numpy as np

    from dosimeter.adaptive.adversary.induction import solve
    from dosimeter.adaptive.adversary.tilt import Tilt

    offers = offers_of(menu, side, direction)
    top = max((float(level) for level in levels if level is not None), default=0.0)
    frame = window_of(menu, offers, budget, top)
    slack = Fraction(_slack(menu, offers, budget)) * (1 if side.raised else -1)
    firsts = [None if level is None else first_above(Fraction(level) - slack, menu.step) for level in levels]
    index = np.arange(frame.low, frame.high + 1)

    def reward(left: int) -> Reals:
        first = firsts[budget - left]
        return np.zeros(frame.length) if first is None else (index >= first).astype(float)

    origin = min((first for first in firsts if first is not None), default=0)
    tilt = Tilt.best(offers, budget, origin, float(menu.step))
    return solve(offers, budget, frame, reward, raised=side.raised, tilt=tilt, absorbing=True, keep=keep)


def first_above(level: Fraction, step: Fraction) -> int:
    """The smallest whole k with k step > level."""
    return math.floor(level / step) + 1


def offers_of(menu: Menu, side: Side, direction: Direction) -> list[tuple[int, Points]]:
    """The entries' costs and points."""
    from dosimeter.adaptive.adversary.points import points_of

    return [(cost, points_of(law, direction, menu.step, side)) for law, cost in zip(menu.laws, menu.costs, strict=True)]


def window_of(menu: Menu, offers: Sequence[tuple[int, Points]], budget: int, target: float) -> Window:
    """All losses that can occur, or as many as matter where these are too many."""
    import numpy as np

    from dosimeter.adaptive.adversary.induction import Window

    low = min(0, *(budget * points.first // cost for cost, points in offers))  # no mixture of entries goes further
    high = max(0, *(budget * points.last // cost for cost, points in offers))
    step, variance, drift = float(menu.step), 0.0, 0.0
    for cost, points in offers:
        at = step * np.arange(points.first, points.last + 1)
        variance = max(variance, float(points.masses @ at**2) * budget / cost)
        drift = max(drift, abs(float(points.masses @ at)) * budget / cost)
    reach = drift + _WIDE * math.sqrt(variance) + max(abs(p.last) + abs(p.first) for _, p in offers) * step
    below, above = math.ceil((reach + max(-target, 0.0)) / step), math.ceil((reach + max(target, 0.0)) / step)
    frame = Window(max(low, -below), min(high, above))
    if frame.length > _LONGEST:
        raise NoGuaranteeError(f"the game has {frame.length} losses, more than {_LONGEST}; take a larger step")
    return frame


def _deltas(
    menu: Menu, budget: int, epsilon: float, *, raised: bool, only: bool = False, until: Decimal | None = None
) -> list[Decimal]:
    """The largest delta for every budget, up to one above `until` where there is one, or only for the whole one."""
    from dosimeter.adaptive.adversary.points import Side

    side = Side.DOMINATING if raised else Side.DOMINATED
    solved = [delta_values(menu, budget, epsilon, side, direction, until=until) for direction in directions(menu)]
    budgets = [budget] if only else range(min(len(one.above) for one in solved))
    return [max(one.value(b) for one in solved) for b in budgets]


def _slack(menu: Menu, offers: Sequence[tuple[int, Points]], budget: int) -> float:
    """How far the losses of all rounds together may be off."""
    rounds = budget // min(menu.costs)
    return rounds * max(points.shift for _, points in offers) * (1 + 1e-6)


def _largest_loss(menu: Menu, budget: int) -> float:
    """An epsilon above every loss of the window."""
    from dosimeter.adaptive.adversary.points import Side

    ends = []
    for direction in directions(menu):
        offers = offers_of(menu, Side.DOMINATING, direction)
        ends.append(window_of(menu, offers, budget, 0.0).high * float(menu.step))
    return max(ends) * 1.01 + 1e-6


__all__ = [
    "Boundary",
    "effort",
    "largest_budget",
    "upper_delta",
    "worst_crossing",
    "worst_delta",
    "worst_deltas",
    "worst_divergence",
    "worst_epsilon",
    "worst_tail",
]
