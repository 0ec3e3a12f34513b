"""Odometers for accounts kept in Renyi DP: one order fixed beforehand, or a mixture over several.

Renyi bounds control the moments of the loss at each order, so each order gives a line; which order is lowest may only
be used through a mixture. "The best order at the end" is not a bound for a run that stops on its answers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, final

from dosimeter.adaptive.boundaries import log_one_over, read_probability
from dosimeter.adaptive.odometers.reading import LossOdometer, require_pointwise
from dosimeter.adaptive.roots import log_of_sum, root_from_above
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import LARGEST, ONE, Number, add_up, amount, certainly_le, divide_down
from dosimeter.notions.rdp import read_order

if TYPE_CHECKING:
    from dosimeter.adaptive.roots import ValueAndSlope
    from dosimeter.enclosure import Ball


def rdp_order_line(epsilon: Number, delta: Number, order: Number) -> Decimal:
    """The bound on the loss from one Renyi order fixed beforehand.

    Guarantee: for rounds with Renyi bounds at `order` given the history, P(the loss ever exceeds it) <= delta.

    Args:
        epsilon: the sum of the Renyi bounds at the order, 0 or more.
        delta: crossing probability, in (0, 1).
        order: the Renyi order, > 1, fixed before the interaction.

    Returns:
        epsilon + log(1/delta)/(order - 1), rounded up.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Ville 1939 for exp((order-1) L - sum (order-1) epsilon_m).
    """
    spent = amount(epsilon, "epsilon", zero=True, largest=LARGEST**2)  # orders past their budget go on adding up
    share, a = read_probability(delta), read_order(order)
    return up(enclose(lambda: ball(spent) + log_one_over(share) / (ball(a) - 1)))


def rdp_mixture(
    epsilons: tuple[Decimal, ...], delta: Decimal, orders: tuple[Decimal, ...], weights: tuple[Decimal, ...]
) -> Decimal:
    """The bound on the loss from a mixture over Renyi orders with weights fixed beforehand.

    Guarantee: for rounds with Renyi bounds at every order given the history, P(the loss ever exceeds it) <= delta.

    Args:
        epsilons: the sums of the Renyi bounds, one per order.
        delta: crossing probability, in (0, 1).
        orders: Renyi orders, > 1.
        weights: positive, adding up to at most 1.

    Returns:
        The root l of sum_a w_a exp((a-1)(l - epsilon_a)) = 1/delta, rounded up; never above the lowest single order
        with the share w_a delta.

    Raises:
        InputError: the tuples have different lengths.

    Reference: Ville 1939 for the mixture of the supermartingales of all orders.
    """
    given = list(zip(orders, epsilons, weights, strict=True))

    def prepare() -> tuple[ValueAndSlope, Ball]:
        level, terms, lowest = log_one_over(delta), [], None
        for order, spent, weight in given:
            tilt, log_weight = ball(order) - 1, ball(weight).log()
            terms.append((log_weight - tilt * ball(spent), tilt))
            single = ball(spent) + (level - log_weight) / tilt
            lowest = single if lowest is None else lowest.min(single)

        def gap(loss: Ball) -> tuple[Ball, Ball]:
            value, slope = log_of_sum(terms, loss)
            return value - level, slope

        return gap, lowest

    return up(root_from_above(prepare))


def _renyi_sums(state: Any, count: int, orders: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    require_pointwise(state)
    epsilons = getattr(state, "epsilons", None)
    if not isinstance(epsilons, tuple):
        raise NoGuaranteeError("this state keeps no Renyi bounds; use a filter, mixture or stitched odometer")
    if len(epsilons) != count or getattr(state, "orders", orders) != orders:
        raise InputError(f"the state keeps Renyi bounds at {len(epsilons)} orders, not at this odometer's {count}")
    return epsilons


@final
@dataclass(frozen=True, slots=True)
class RDPOdometer(LossOdometer):
    """One Renyi order among those an RDP filter keeps.

    Guarantee:
        For rounds with Renyi bounds at `order` given the history, the loss never exceeds its reading, except with
        probability `delta`.

    Args:
        delta: crossing probability, in (0, 1).
        order: the order to read, one of `orders`.
        orders: the orders of the filter whose states are read, increasing; by default `order` alone.

    Reference:
        Ville 1939 for the moment of one order.
    """

    delta: Decimal
    order: Decimal
    orders: tuple[Decimal, ...] = ()
    kind: ClassVar[str] = "rdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_probability(self.delta))
        object.__setattr__(self, "order", read_order(self.order))
        orders = tuple(read_order(order) for order in self.orders) or (self.order,)
        if self.order not in orders:
            raise InputError(f"order={self.order} is not one of the filter's orders: {', '.join(map(str, orders))}")
        object.__setattr__(self, "orders", orders)

    def bound(self, state: Any) -> Decimal:
        """The reading, rounded up."""
        spent = _renyi_sums(state, len(self.orders), self.orders)[self.orders.index(self.order)]
        return rdp_order_line(spent, self.delta, self.order)


@final
@dataclass(frozen=True, slots=True)
class RDPMixtureOdometer(LossOdometer):
    """All the orders an RDP filter keeps, mixed with weights fixed beforehand.

    Guarantee:
        For rounds with Renyi bounds at every order given the history, the loss never exceeds its reading, except with
        probability `delta`.

    Args:
        delta: crossing probability, in (0, 1).
        orders: the orders of the filter whose states are read, increasing.
        weights: one positive weight per order, adding up to at most 1; equal ones by default.

    Reference:
        Ville 1939 for the mixture of the moments.
    """

    delta: Decimal
    orders: tuple[Decimal, ...]
    weights: tuple[Decimal, ...] = ()
    kind: ClassVar[str] = "rdp_mixture"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_probability(self.delta))
        orders = tuple(read_order(order) for order in self.orders)
        if not orders or any(a >= b for a, b in itertools.pairwise(orders)):
            raise InputError("orders must be given, strictly increasing")
        given = tuple(amount(weight, "weight", round_up=False, largest=ONE) for weight in self.weights)
        weights = given or (divide_down(ONE, len(orders)),) * len(orders)
        if len(weights) != len(orders) or not certainly_le(add_up(*weights), ONE):
            raise InputError(
                f"needs one weight per order, adding up to at most 1; got {len(weights)} for {len(orders)}"
            )
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "weights", weights)

    def bound(self, state: Any) -> Decimal:
        """The reading, rounded up."""
        epsilons = _renyi_sums(state, len(self.orders), self.orders)
        return rdp_mixture(epsilons, self.delta, self.orders, self.weights)
