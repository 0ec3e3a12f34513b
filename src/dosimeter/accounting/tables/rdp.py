"""Events in (approximate) Renyi DP, at the orders that the filter fixed before the first query."""

from __future__ import annotations

from bisect import bisect_left

from dosimeter.accounting.tables import pairs, sampled
from dosimeter.accounting.tables.terms import Table, Terms, declared, gaussian_rho, ratio
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import (
    Declared,
    DeclaredPair,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
)
from dosimeter.exact import text
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, PureDP
from dosimeter.notions.convert import gdp_to_rdp, pure_to_rdp, zcdp_to_rdp
from dosimeter.notions.profiles.laplace import laplace_renyi


def _gaussian(event: Gaussian | DiscreteGaussian, terms: Terms) -> RDP:
    """order x sensitivity^2 / (2 sigma^2). Mironov 2017, Prop. 7; discrete: Canonne, Kamath, Steinke 2020, Thm. 4."""
    return zcdp_to_rdp(ZCDP(gaussian_rho(event)), orders=terms.orders)


def _laplace(event: Laplace, terms: Terms) -> RDP:
    """The exact divergence. Mironov 2017, Proposition 6."""
    return RDP(terms.orders, tuple(laplace_renyi(ratio(event), order) for order in terms.orders))


def _discrete_laplace(event: DiscreteLaplace, terms: Terms) -> RDP:
    """The bound for every epsilon-DP mechanism: that of randomized response."""
    return pure_to_rdp(PureDP(ratio(event)), orders=terms.orders)


def _response(event: RandomizedResponse, terms: Terms) -> RDP:
    return _approx(ApproxDP(event.epsilon, event.delta), terms)


def _approx(loss: ApproxDP, terms: Terms) -> RDP:
    """An (epsilon, delta)-DP mechanism is epsilon-DP but for a failure of delta. Kairouz, Oh, Viswanath 2015."""
    return RDP(terms.orders, pure_to_rdp(PureDP(loss.epsilon), orders=terms.orders).epsilons, loss.delta)


def restate(loss: RDP, terms: Terms) -> RDP:
    """The same guarantee at other orders: divergences grow with the order, so the next larger known order bounds.

    Raises:
        NoGuaranteeError: an order asked for is above every known order.
    """
    epsilons = []
    for order in terms.orders:
        place = bisect_left(loss.orders, order)
        if place == len(loss.orders):
            raise NoGuaranteeError(
                f"the guarantee is known up to Renyi order {text(loss.orders[-1])} and says nothing about order "
                f"{text(order)}; open the account at orders within that range"
            )
        epsilons.append(loss.epsilons[place])
    return RDP(terms.orders, tuple(epsilons), loss.delta)


def _declared(event: Declared, terms: Terms) -> Loss:
    return declared(event, terms, "rdp", _DECLARED, "declare it in another notion")


_DECLARED: Table = {
    PureDP: lambda loss, terms: pure_to_rdp(loss, orders=terms.orders),
    ApproxDP: _approx,
    ZCDP: lambda loss, terms: zcdp_to_rdp(loss, orders=terms.orders),
    RDP: restate,
    GDP: lambda loss, terms: gdp_to_rdp(loss, orders=terms.orders),
}

TABLE: Table = {
    Gaussian: _gaussian,
    DiscreteGaussian: _gaussian,
    Laplace: _laplace,
    DiscreteLaplace: _discrete_laplace,
    RandomizedResponse: _response,
    Declared: _declared,
    DeclaredPair: pairs.rdp,
    **sampled.rows("rdp", lambda: TABLE),
}
