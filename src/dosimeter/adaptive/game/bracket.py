"""Continuous menus between two finite ones: an analyst who may choose any epsilon in a range.

Below: only the epsilons on a lattice. Above: every epsilon in ((j-1) h, j h] gets the power of j h at the cost of
(j-1) h. A finer lattice brings the two together.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from dosimeter.adaptive.game.box import randomized_response
from dosimeter.adaptive.game.lattice import worst_delta
from dosimeter.adaptive.game.rule import budget_rule
from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError
from dosimeter.exact import Bound, Number, amount


def worst_delta_over_range(base: Fraction, smallest: int, largest: int, epsilon: Number, capacity: Number) -> Bound:
    """The largest delta at `epsilon` over analysts who choose any pure-DP rounds while sum epsilon_m^2 <= capacity.

    Guarantee: the true supremum over all fully adaptive choices of epsilon_m in [smallest h, largest h], h = log(base),
    lies in the interval.

    Args:
        base: e^h, a rational above 1.
        smallest: the smallest epsilon of a round in steps of h, at least 1.
        largest: the largest, in steps of h.
        epsilon: where delta is asked.
        capacity: the budget for the sum of squares, > 0.

    Raises:
        InputError: the range is empty.

    Reference: a randomised response with a smaller epsilon is a post-processing of one with a larger epsilon.
    """
    if not 1 <= smallest <= largest:
        raise InputError(f"smallest={smallest} and largest={largest} are not a range of whole steps from 1 on")
    total = amount(capacity, "capacity")
    units = enclose(lambda: ball(total) / ball(base).log() ** 2)
    boxes = {j: randomized_response(base**j) for j in range(smallest, largest + 1)}
    honest = [(box, (j * j,)) for j, box in boxes.items()]
    cheap = [(box, (max(smallest, j - 1) ** 2,)) for j, box in boxes.items()]
    low = worst_delta(budget_rule(honest, (math.floor(down(units)),)), base, epsilon)
    high = worst_delta(budget_rule(cheap, (math.floor(up(units)),)), base, epsilon)
    return Bound(min(low.lower, high.upper), max(high.upper, Decimal(0)))
