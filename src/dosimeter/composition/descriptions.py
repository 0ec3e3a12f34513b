"""Everything that is known about one release: every notion in which it has a guarantee, none thrown away.

A Laplace release is pure, has its own Renyi curve and its own zCDP constant; turning it into one of them early loses
what another theorem could have used. `best` looks at all descriptions and picks the theorem that says most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from dosimeter.events import (
    Declared,
    DeclaredPair,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    RandomizedResponse,
)
from dosimeter.exact import ZERO, divide_up, multiply_up
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.convert import approx_to_zcdp, gdp_to_zcdp
from dosimeter.notions.profiles import laplace_renyi, laplace_zcdp, randomized_response_renyi
from dosimeter.notions.profiles.pairs import gdp_of_pair, good_part, largest_loss, renyi_of_pair, zcdp_of_pair

ORDERS: Final = tuple(
    Decimal(order)
    for line in (
        "1.01 1.02 1.05 1.1 1.15 1.2 1.25 1.3 1.4 1.5 1.6 1.75 2 2.25 2.5 2.75 3 3.25 3.5 3.75 4 4.5 5 5.5 6 6.5 7 7.5",
        "8 9 10 11 12 13 14 15 16 18 20 22 24 26 28 30 32 36 40 48 56 64 80 96 128 192 256 384 512 768 1024",
        "2048 4096 10000",
    )
    for order in line.split()
)  # what is lost between two of them is a thousandth of epsilon, a hundredth where orders above 1,000 are best


@dataclass(frozen=True, slots=True)
class Description:
    """What one event guarantees, in every notion in which something is known; None elsewhere.

    Args:
        approx: (epsilon, delta)-DP; pure when its delta is 0.
        gdp: Gaussian DP.
        zcdp: zero-concentrated DP.
        renyi: the Renyi bound at an order, outside failures of probability `failure`.
        orders: the orders at which `renyi` is known; None means every order.
        failure: the probability of failure that goes with `renyi`.
    """

    approx: ApproxDP | None = None
    gdp: GDP | None = None
    zcdp: ZCDP | None = None
    renyi: Callable[[Decimal], Decimal] | None = None
    orders: tuple[Decimal, ...] | None = None
    failure: Decimal = ZERO

    def rdp(self, orders: tuple[Decimal, ...]) -> RDP | None:
        """The Renyi bounds at these orders, where they are known at all of them."""
        if self.renyi is None or not orders or not set(orders) <= set(self.orders or orders):
            return None
        return RDP(orders, tuple(self.renyi(order) for order in orders), self.failure)


def describe(event: Event) -> Description:
    """Every guarantee that is known of one release (a nested event is opened first, by `open_event`).

    Guarantee: each field holds for the event under the relation its sensitivity is stated for. An event this room
    knows no theorem about has an empty description.

    Reference: Gaussian: Dong, Roth and Su 2022. Laplace: Mironov 2017, Proposition 6, and its divergence as zCDP
    constant. Discrete Gaussian: Canonne, Kamath and Steinke 2020, Theorem 4. Discrete Laplace: Ghosh, Roughgarden and
    Sundararajan 2009. Randomized response: Kairouz, Oh and Viswanath 2015. A declared pair: read off the pair.
    """
    if isinstance(event, Gaussian):
        return describe_loss(GDP(divide_up(event.l2_sensitivity, event.sigma)))
    if isinstance(event, DiscreteGaussian):
        return describe_loss(gdp_to_zcdp(GDP(divide_up(event.l2_sensitivity, event.sigma))))
    if isinstance(event, Laplace):
        ratio = divide_up(event.l1_sensitivity, event.scale)
        return Description(
            approx=ApproxDP(ratio), zcdp=ZCDP(laplace_zcdp(ratio)), renyi=lambda order: laplace_renyi(ratio, order)
        )
    if isinstance(event, DiscreteLaplace):
        return describe_loss(PureDP(divide_up(event.l1_sensitivity, event.scale)))
    if isinstance(event, RandomizedResponse):
        return describe_loss(ApproxDP(event.epsilon, event.delta))
    if isinstance(event, Declared):
        return describe_loss(event.loss)
    if isinstance(event, DeclaredPair):
        return _describe_pair(event)
    return Description()


def _describe_pair(event: DeclaredPair) -> Description:
    p, q = event.with_record, event.without_record
    good = good_part(p, q)
    return Description(
        approx=ApproxDP(largest_loss(p, q), good.failure),
        gdp=GDP(gdp_of_pair(good.p, good.q), good.failure),
        zcdp=ZCDP(zcdp_of_pair(good.p, good.q), good.failure),
        renyi=lambda order: renyi_of_pair(good.p, good.q, order),
        failure=good.failure,
    )


def describe_loss(loss: PureDP | ApproxDP | ZCDP | RDP | GDP) -> Description:
    """What a bare guarantee implies: its own notion and everything that follows from it without a parameter.

    Guarantee: every description holds for every mechanism that satisfies `loss`.

    Reference: the conversions of `dosimeter.notions.convert`, each with its own theorem.
    """
    if isinstance(loss, PureDP):
        loss = ApproxDP(loss.epsilon)
    if isinstance(loss, ApproxDP):
        epsilon = loss.epsilon
        return Description(
            approx=loss,
            zcdp=approx_to_zcdp(loss),
            renyi=lambda order: randomized_response_renyi(epsilon, order),
            failure=loss.delta,
        )
    if isinstance(loss, RDP):
        known = dict(zip(loss.orders, loss.epsilons, strict=True))
        return Description(renyi=known.__getitem__, orders=loss.orders, failure=loss.delta)
    gdp = loss if isinstance(loss, GDP) else None
    zcdp = loss if isinstance(loss, ZCDP) else gdp_to_zcdp(loss)
    return Description(gdp=gdp, zcdp=zcdp, renyi=lambda order: multiply_up(zcdp.rho, order), failure=zcdp.delta)
