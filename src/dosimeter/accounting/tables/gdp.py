"""Events in (approximate) Gaussian DP: exact for continuous Gaussian noise, and not implied by zCDP."""

from __future__ import annotations

from dosimeter.accounting.tables import pairs, sampled
from dosimeter.accounting.tables.terms import Table, Terms, cannot, declared, gaussian_mu, ratio
from dosimeter.events import (
    Declared,
    DeclaredPair,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
)
from dosimeter.notions import GDP, ApproxDP, Loss, PureDP
from dosimeter.notions.convert import approx_to_gdp, pure_to_gdp

_WAY_OUT = "use an account in zcdp, rdp or approx"


def _gaussian(event: Gaussian, terms: Terms) -> GDP:  # noqa: ARG001
    """mu = sensitivity / sigma, exact. Dong, Roth, Su 2022, Theorem 2.7."""
    return GDP(gaussian_mu(event))


def _discrete_gaussian(event: DiscreteGaussian, terms: Terms) -> Loss:  # noqa: ARG001
    cannot(
        event,
        "gdp",
        "noise on a lattice is not (sensitivity / sigma)-GDP (sigma^2 = 1/2, sensitivity 1, epsilon 2: delta is 0.141, "
        "not the Gaussian 0.115)",
        _WAY_OUT,
    )


def _laplace(event: Laplace | DiscreteLaplace, terms: Terms) -> GDP:  # noqa: ARG001
    """2 PhiInv(e^epsilon / (1 + e^epsilon)), the bound for every epsilon-DP mechanism."""
    return pure_to_gdp(PureDP(ratio(event)))


def _response(event: RandomizedResponse, terms: Terms) -> GDP:  # noqa: ARG001
    return approx_to_gdp(ApproxDP(event.epsilon, event.delta))


def _declared(event: Declared, terms: Terms) -> Loss:
    return declared(event, terms, "gdp", _DECLARED, _WAY_OUT + ", or declare it as (epsilon, delta)-DP")


_DECLARED: Table = {
    PureDP: lambda loss, _: pure_to_gdp(loss),
    ApproxDP: lambda loss, _: approx_to_gdp(loss),
    GDP: lambda loss, _: loss,
}

TABLE: Table = {
    Gaussian: _gaussian,
    DiscreteGaussian: _discrete_gaussian,
    Laplace: _laplace,
    DiscreteLaplace: _laplace,
    RandomizedResponse: _response,
    Declared: _declared,
    DeclaredPair: pairs.gdp,
    **sampled.rows("gdp", lambda: TABLE),
}
