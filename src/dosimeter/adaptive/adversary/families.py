"""Continuous menus: an analyst who may choose any parameter in a range, between two finite menus.

Below: only the parameters of a grid, at their own costs. Above: every parameter between two grid points has the power
of the upper one at the cost of the lower one. A finer grid brings the two together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final, final

from dosimeter.adaptive.adversary.menu import LARGEST_COST, MOST_OFFERS, Menu, Offer
from dosimeter.adaptive.adversary.values import LARGEST_BUDGET, upper_delta, worst_delta
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event, Gaussian, Laplace, RandomizedResponse
from dosimeter.exact import Bound, Number, amount, count, divide_up, to_fraction

CELLS: Final = 32
FINENESS: Final = 10
_TWELVE: Final = Context(prec=12)


@final
@dataclass(frozen=True, slots=True)
class Family:
    """Events that differ in one parameter t, from `smallest` to `largest`.

    Args:
        event: the release with parameter t. For s <= t, event(s) has to be a post-processing of event(t) (or to be
            dominated by it): nothing here can check that.
        cost: what it takes from a budget, positive and not decreasing in t. A cost that vanishes would allow endless
            rounds; give the range a smallest parameter, or the cost a least value.
        smallest: above 0.
        largest: at least `smallest`.
    """

    event: Callable[[Decimal], Event]
    cost: Callable[[Decimal], Number]
    smallest: Decimal
    largest: Decimal

    def __post_init__(self) -> None:
        object.__setattr__(self, "smallest", amount(self.smallest, "smallest", round_up=False))
        object.__setattr__(self, "largest", amount(self.largest, "largest"))
        if self.largest < self.smallest:
            raise InputError(f"largest={self.largest} is below smallest={self.smallest}")

    @classmethod
    def pure(cls, smallest: Number, largest: Number) -> Family:
        """All epsilon-DP rounds of an epsilon in a range, at a cost of epsilon^2.

        Reference: Kairouz, Oh, Viswanath 2015: an epsilon-DP mechanism is an image of randomized response.
        """
        return cls(RandomizedResponse, _square, smallest, largest)  # type: ignore[arg-type]

    @classmethod
    def gaussian(cls, smallest: Number, largest: Number) -> Family:
        """All Gaussian noise of a mu in a range, at a cost of mu^2.

        Reference: more noise can be added afterwards.
        """
        return cls(_gaussian, _square, smallest, largest)  # type: ignore[arg-type]

    @classmethod
    def laplace(cls, smallest: Number, largest: Number) -> Family:
        """All Laplace noise of an epsilon (one over its scale) in a range, at a cost of epsilon^2.

        Reference: Laplace noise of scale b' > b is that of scale b and, with probability 1 - (b/b')^2, independent
        Laplace noise of scale b' added to it: (1 + b^2 t^2)/(1 + b'^2 t^2) is the transform of that mixture.
        """
        return cls(_laplace, _square, smallest, largest)  # type: ignore[arg-type]

    def covering(self, cells: int) -> list[Decimal]:
        """The ends of so many parts of the range, equally far apart in ratio, from the smallest to the largest."""
        if self.largest == self.smallest:
            return [self.smallest]
        ratio = (float(self.largest) / float(self.smallest)) ** (1 / cells)
        inner = (_TWELVE.multiply(self.smallest, Decimal(ratio**j)) for j in range(1, cells))
        return [self.smallest, *sorted({t for t in inner if self.smallest < t < self.largest}), self.largest]

    def members(self, cells: int, fineness: int) -> list[Decimal]:
        """About so many parameters of the range that are whole multiples of a part of the smallest."""
        part = self.smallest / fineness
        whole = {int(t / part) for t in self.covering(cells)}
        return [self.smallest, *(part * k for k in sorted(whole) if self.smallest < part * k <= self.largest)]


def worst_delta_over(
    families: Family | Sequence[Family],
    budget: Number,
    epsilon: Number,
    *,
    cells: int = CELLS,
    fineness: int = FINENESS,
    step: Number | None = None,
) -> Bound:
    """The largest delta at `epsilon` of an adaptive analyst who chooses any parameters while costs keep to a budget.

    Guarantee: the supremum over all fully adaptive choices of members of the families, and of anything that they
    dominate, whose costs add up to at most `budget` on every path, lies in the interval.

    Args:
        families: one or several; an analyst may mix them.
        budget: in the unit of the costs.
        epsilon: any real number.
        cells: of each range. More bring the ends together.
        fineness: parts of the smallest parameter; the unit of the budget is the cost of the cheapest event over its
            square. More bring the ends together.
        step: of the lattice of losses; chosen if not given.

    Raises:
        NoGuaranteeError: the game is too large; a coarser grid or a larger smallest parameter help.

    Reference: covering: a member between two grid points is an image of the upper one and costs at least the lower one,
    so replacing it turns any strategy into one for the upper menu that reaches no less; backward induction for both.
    """
    given = (families,) if isinstance(families, Family) else tuple(families)
    parts, fine = count(cells, "cells", largest=MOST_OFFERS), count(fineness, "fineness", largest=10_000)
    total = to_fraction(budget, "budget")
    if not given or total < 0:
        raise InputError("there has to be a family, and a budget of at least 0")
    unit = min(_cost(family, family.smallest) for family in given) / fine**2
    units = math.floor(total / unit)
    if units > LARGEST_BUDGET:
        raise NoGuaranteeError(f"the budget has {units} units; take a coarser grid or a larger smallest parameter")
    low: dict[Event, int] = {}
    high: dict[Event, int] = {}
    for family in given:
        ends = family.covering(parts)
        costs = [_cost(family, end) for end in ends]
        if any(after < before for before, after in itertools.pairwise(costs)):
            raise InputError("a family's cost has to be positive and must not decrease")
        for i, end in enumerate(ends):
            _keep(high, family.event(end), math.floor(costs[max(i - 1, 0)] / unit))
        for member in family.members(parts, fine):
            _keep(low, family.event(member), math.ceil(_cost(family, member) / unit))
    step = _step(given, fine) if step is None else step
    upper = upper_delta(_menu(high, step), units, epsilon)
    return Bound(min(worst_delta(_menu(low, step), units, epsilon).lower, upper), upper)


def _keep(costs: dict[Event, int], event: Event, cost: int) -> None:
    """An event of two families is the cheaper one's."""
    costs[event] = min(cost, costs.get(event, cost))


def _menu(costs: dict[Event, int], step: Number | None) -> Menu:
    if len(costs) > MOST_OFFERS or max(costs.values()) > LARGEST_COST:
        raise NoGuaranteeError("the grids have too many points, or too dear ones; take fewer cells or a coarser grid")
    offers = tuple(Offer(event, cost) for event, cost in costs.items())
    return Menu(offers) if step is None else Menu(offers, to_fraction(step, "step"))


def _step(families: Sequence[Family], fineness: int) -> Fraction | None:
    """The lattice on which randomized responses of all grids lie, where there is nothing else."""
    smallest = {family.smallest for family in families}
    alone = all(family.event is RandomizedResponse for family in families) and len(smallest) == 1
    return Fraction(smallest.pop()) / fineness if alone else None


def _cost(family: Family, parameter: Decimal) -> Fraction:
    found = to_fraction(family.cost(parameter), "cost")
    if found <= 0:
        raise InputError("a family's cost has to be positive and must not decrease")
    return found


def _square(parameter: Decimal) -> Fraction:
    return Fraction(parameter) ** 2


def _gaussian(mu: Decimal) -> Event:
    return Gaussian(Decimal(1), mu)


def _laplace(epsilon: Decimal) -> Event:
    return Laplace(divide_up(Decimal(1), epsilon))
