"""The worst case of stopping at a reading: the adversary's game where stopping pays by the reading of the moment.

Whoever stops with the reading u at the loss l has shown (1 - e^(u - l))+ of delta beyond u. The largest expectation of
that, over what is chosen and when to stop, is the smallest delta with P(S) <= E_Q[e^u; S] + delta for every set S of
stopped transcripts, with u the reading where the transcript ends. In x = e^-l these rewards are convex, and so are all
values of the game; the expectation of a convex function of x grows with the order of dominance. So dominating pairs
bound every mechanism they dominate, which is not so for the probability of a crossing, a step in x.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from dosimeter.errors import InputError
from dosimeter.exact import count

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary import Menu
    from dosimeter.pld.laws.law import Direction
    from dosimeter.pld.laws.spread import Reals

_ULP: Final = 2.0**-52
LARGEST_BUDGET: Final = 100_000


def worst_stopping(menu: Menu, readings: Sequence[Decimal]) -> Decimal:
    """The largest delta beyond the reading at the moment of stopping, over all adaptive analysts, rounded up.

    Guarantee: for mechanisms dominated by the menu's pairs, in either direction of a neighbouring pair, chosen with
    full adaptivity, costs adding up to at most the budget, and stopped at any moment: P(S) <= E_Q[e^u; S] + this number
    for every set S of transcripts, u being the reading of the units used.

    Args:
        menu: what may be chosen.
        readings: of 0 units used, of 1, and so on up to the whole budget.

    Raises:
        InputError: there are no readings, or too many.
        NoGuaranteeError: the losses span too many steps of the menu's lattice.

    Reference: backward induction (Bellman 1957); f-divergences grow with dominance (Blackwell 1953).
    """
    from dosimeter.adaptive.adversary.values import directions

    if not readings:
        raise InputError("give a reading for every number of used units, from 0 on")
    count(len(readings) - 1, "budget", smallest=0, largest=LARGEST_BUDGET)
    return max(_value(menu, readings, direction) for direction in directions(menu))


def _value(menu: Menu, readings: Sequence[Decimal], direction: Direction) -> Decimal:
    import numpy as np

    from dosimeter.adaptive.adversary.induction import solve
    from dosimeter.adaptive.adversary.points import Side
    from dosimeter.adaptive.adversary.tilt import Tilt
    from dosimeter.adaptive.adversary.values import offers_of, window_of

    budget = len(readings) - 1
    offers = offers_of(menu, Side.DOMINATING, direction)
    frame = window_of(menu, offers, budget, float(max(readings)))
    step = float(menu.step)
    off = budget // min(menu.costs) * max(points.shift for _, points in offers) * (1 + 1e-6)
    losses = step * np.arange(frame.low, frame.high + 1)

    def reward(left: int) -> Reals:
        level = float(readings[budget - left])
        away = np.maximum(losses - level + off + 8 * _ULP * (np.abs(losses) + abs(level)), 0.0)
        found: Reals = np.clip(-np.expm1(-away) * (1 + 4 * _ULP), 0.0, 1.0)
        return found

    lowest = reward(budget - min(range(budget + 1), key=lambda used: readings[used]))
    origin = frame.low + (int(np.argmax(lowest > 0)) if lowest.any() else frame.length)
    tilt = Tilt.best(offers, budget, origin, step)
    return solve(offers, budget, frame, reward, raised=True, tilt=tilt).value(budget)
