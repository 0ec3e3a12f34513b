"""Declared pairs in every notion: read off the pair itself, never off a single epsilon where more is known."""

from __future__ import annotations

from decimal import Decimal

from dosimeter.accounting.tables.terms import Terms, cannot
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import DeclaredPair
from dosimeter.exact import ONE, ZERO, fraction_up
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, PureDP
from dosimeter.notions.convert import approx_to_zcdp
from dosimeter.notions.profiles.pairs import (
    gdp_of_pair,
    good_part,
    largest_loss,
    least_epsilon,
    renyi_of_pair,
    zcdp_of_pair,
)


def pure(event: DeclaredPair, terms: Terms) -> Loss:  # noqa: ARG001
    """The largest loss, where none is infinite. Dwork, McSherry, Nissim, Smith 2006."""
    if failure_of(event):
        cannot(
            event,
            "pure",
            f"its loss is infinite with probability {failure_of(event):.3g}",
            "use an account in zcdp, rdp, gdp, approx or residue",
        )
    return PureDP(largest_loss(event.with_record, event.without_record))


def zcdp(event: DeclaredPair, terms: Terms) -> ZCDP:  # noqa: ARG001
    """The least rho of the pair outside of failures, within a thousandth. Bun, Steinke 2016, Definitions 1.1, 8.1."""
    good = good_part(event.with_record, event.without_record)
    rho = min(zcdp_of_pair(good.p, good.q), approx_to_zcdp(stated(event)).rho)
    return ZCDP(rho, good.failure)


def rdp(event: DeclaredPair, terms: Terms) -> RDP:
    """The pair's own divergences outside of failures, the larger of both directions. Mironov 2017, Definition 4."""
    good = good_part(event.with_record, event.without_record)
    return RDP(terms.orders, tuple(renyi_of_pair(good.p, good.q, order) for order in terms.orders), good.failure)


def gdp(event: DeclaredPair, terms: Terms) -> GDP:  # noqa: ARG001
    """The least mu of the pair outside of failures, exact. Dong, Roth, Su 2022, Definition 4."""
    good = good_part(event.with_record, event.without_record)
    return GDP(gdp_of_pair(good.p, good.q), good.failure)


def stated(event: DeclaredPair) -> ApproxDP:
    """The pair's (epsilon, delta) without a delta to choose: its largest finite loss, and what is infinite."""
    return ApproxDP(largest_loss(event.with_record, event.without_record), failure_of(event))


def at_delta(event: DeclaredPair, delta: Decimal) -> ApproxDP:
    """The least epsilon of one release at a delta, exact.

    Raises:
        NoGuaranteeError: more than delta of the pair is infinite loss.
    """
    epsilon = least_epsilon(event.with_record, event.without_record, delta)
    if epsilon is None:
        raise NoGuaranteeError(f"its loss is infinite with probability {failure_of(event):.3g}, above delta={delta}")
    return ApproxDP(epsilon, delta)


def failure_of(event: DeclaredPair) -> Decimal:
    """The probability of failure: the larger of both infinite losses, rounded up."""
    largest = max(event.infinite)
    return min(ONE, fraction_up(largest)) if largest else ZERO
