"""Events in pure DP: only mechanisms whose loss is bounded everywhere."""

from __future__ import annotations

from dosimeter.accounting.tables import pairs, sampled
from dosimeter.accounting.tables.terms import Table, Terms, cannot, declared, ratio
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
from dosimeter.notions import ApproxDP, Loss, PureDP

_WAY_OUT = "use an account in zcdp, gdp, rdp or approx"


def _laplace(event: Laplace | DiscreteLaplace, terms: Terms) -> PureDP:  # noqa: ARG001
    """epsilon = sensitivity / scale. Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009."""
    return PureDP(ratio(event))


def _gaussian(event: Gaussian | DiscreteGaussian, terms: Terms) -> Loss:  # noqa: ARG001
    cannot(event, "pure", "its privacy loss is unbounded, so epsilon is infinite at delta 0", _WAY_OUT)


def _response(event: RandomizedResponse, terms: Terms) -> PureDP:  # noqa: ARG001
    if event.delta:
        cannot(event, "pure", f"it reveals everything with probability {event.delta}", _WAY_OUT)
    return PureDP(event.epsilon)


def _declared(event: Declared, terms: Terms) -> Loss:
    return declared(event, terms, "pure", _DECLARED, _WAY_OUT)


def _approx(loss: ApproxDP, terms: Terms) -> PureDP:  # noqa: ARG001
    if loss.delta:
        raise NoGuaranteeError(
            f"declared cannot be charged in pure: it may fail with probability {loss.delta}; {_WAY_OUT}"
        )
    return PureDP(loss.epsilon)


_DECLARED: Table = {PureDP: lambda loss, _: loss, ApproxDP: _approx}

TABLE: Table = {
    Gaussian: _gaussian,
    DiscreteGaussian: _gaussian,
    Laplace: _laplace,
    DiscreteLaplace: _laplace,
    RandomizedResponse: _response,
    Declared: _declared,
    DeclaredPair: pairs.pure,
    **sampled.rows("pure", lambda: TABLE),
}
