"""What the pair of an allocated record says in Renyi DP and in (epsilon, delta)-DP: less than its steps, if known.

One Gaussian release of t holds the record, nobody knows which one. The pair (see `dosimeter.pld.allocation.law`)
dominates the whole pass in both directions, whatever was seen before it, so its Renyi divergences are those of one
release under full adaptivity, and add up with others like any. A record in k of t steps has k such pairs. In zCDP and
Gaussian DP nothing is hidden: at high orders one release decides, and one rho, or mu, speaks of all orders.

Moments are computed in floating point with counted errors, and another machine may differ in a late digit. Prices are
rounded up to seven digits, so that an audit elsewhere finds the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dosimeter.enclosure import ball, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import RandomAllocation, relations_of
from dosimeter.exact import SMALLEST, Bound
from dosimeter.notions import RDP

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

_DIGITS = 7
_SEVEN = Context(prec=_DIGITS, rounding=ROUND_CEILING)


def with_hidden_steps(event: RandomAllocation, known: RDP) -> RDP:
    """The Renyi curve of the event: at every order the smaller of `known` steps' and of the pair's.

    Guarantee: divergences of a pair that dominates bound those of the event, and grow with the order; of several
    bounds the least may be taken per order.

    Args:
        event: what is priced.
        known: what it costs if everyone knows the steps of a record.

    Reference: Feldman and Shenfeld (2025); the proof of domination is in `dosimeter.pld.allocation.law`.
    """
    from dosimeter.pld.laws.events import laws_of

    if known.delta:
        return known
    try:
        laws = laws_of(event)
    except NoGuaranteeError:
        return known
    found = [min(best, _divergence(laws, order)) for order, best in zip(known.orders, known.epsilons, strict=True)]
    epsilons = tuple(accumulate(reversed(found), min))[::-1]
    return RDP(known.orders, epsilons, known.delta)


def plan_epsilon(parts: Sequence[tuple[Any, int]], delta: Decimal) -> Bound:
    """The epsilon of a plan with allocated records, enclosed, by its privacy loss distribution.

    Guarantee: the upper end holds for parts whose parameters are fixed before the first of them runs.

    Raises:
        NoGuaranteeError: nothing in it is allocated, its parts share no relation, or one has no dominating pair.

    Reference: `dosimeter.pld.accountant`.
    """
    if not any(isinstance(part, RandomAllocation) for part, _ in parts):
        raise NoGuaranteeError("no record is allocated here; other plans have other ways")
    relations = frozenset.intersection(*(relations_of(part) for part, _ in parts))
    if not relations:
        raise NoGuaranteeError("these parts speak of different neighbours; they have no price together")
    from dosimeter.pld.accountant import Accountant

    accountant = Accountant(min(relations))
    for part, count in parts:
        accountant.append(part, count)
    found = accountant.epsilon(delta)
    return Bound(found.lower, _SEVEN.plus(found.upper))


def _divergence(laws: tuple[tuple[Law, int], ...], order: Decimal) -> Decimal:
    from dosimeter.pld.allocation.law import AllocatedGaussianLaw
    from dosimeter.pld.allocation.orders import log_moments

    exact = Fraction(order)
    total = Fraction(0)
    for law, count in laws:
        square = law.gaussian
        if square is not None:
            total += count * exact * (exact - 1) * square / 2
        elif isinstance(law, AllocatedGaussianLaw):
            total += count * Fraction(log_moments(law, exact))
        else:
            raise NoGuaranteeError(f"a {law.kind} law is no part of an allocated record")
    return max(SMALLEST, up(ball(total / (exact - 1)), _DIGITS))
