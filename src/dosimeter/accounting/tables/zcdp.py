"""Events in (approximate) zCDP: each mechanism with its own constant, which is what makes the default filter sharp."""

from __future__ import annotations

from dosimeter.accounting.tables import pairs, sampled
from dosimeter.accounting.tables.terms import Table, Terms, declared, gaussian_rho, ratio
from dosimeter.events import (
    Declared,
    DeclaredPair,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
)
from dosimeter.notions import GDP, ZCDP, ApproxDP, Loss, PureDP
from dosimeter.notions.convert import approx_to_zcdp, gdp_to_zcdp, pure_to_zcdp
from dosimeter.notions.profiles.laplace import laplace_zcdp

_WAY_OUT = (
    "Renyi bounds at finitely many orders bound no rho; use an account in rdp, or declare it as (epsilon, delta)-DP"
)


def _gaussian(event: Gaussian | DiscreteGaussian, terms: Terms) -> ZCDP:  # noqa: ARG001
    """sensitivity^2 / (2 sigma^2). Bun, Steinke 2016, Prop. 1.6; discrete: Canonne, Kamath, Steinke 2020, Thm. 4."""
    return ZCDP(gaussian_rho(event))


def _laplace(event: Laplace, terms: Terms) -> ZCDP:  # noqa: ARG001
    """e0 + e^-e0 - 1, the divergence of order 1; the curve of divergence over order falls from there."""
    return ZCDP(laplace_zcdp(ratio(event)))


def _discrete_laplace(event: DiscreteLaplace, terms: Terms) -> ZCDP:  # noqa: ARG001
    """epsilon tanh(epsilon/2), the bound for every epsilon-DP mechanism."""
    return pure_to_zcdp(PureDP(ratio(event)))


def _response(event: RandomizedResponse, terms: Terms) -> ZCDP:  # noqa: ARG001
    """delta-approximate (epsilon tanh(epsilon/2))-zCDP, tight."""
    return approx_to_zcdp(ApproxDP(event.epsilon, event.delta))


def _declared(event: Declared, terms: Terms) -> Loss:
    return declared(event, terms, "zcdp", _DECLARED, _WAY_OUT)


_DECLARED: Table = {
    PureDP: lambda loss, _: pure_to_zcdp(loss),
    ApproxDP: lambda loss, _: approx_to_zcdp(loss),
    ZCDP: lambda loss, _: loss,
    GDP: lambda loss, _: gdp_to_zcdp(loss),
}

TABLE: Table = {
    Gaussian: _gaussian,
    DiscreteGaussian: _gaussian,
    Laplace: _laplace,
    DiscreteLaplace: _discrete_laplace,
    RandomizedResponse: _response,
    Declared: _declared,
    DeclaredPair: pairs.zcdp,
    **sampled.rows("zcdp", lambda: TABLE),
}
