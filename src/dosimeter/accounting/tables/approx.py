"""Events in (epsilon, delta)-DP. Mechanisms without such a pair of their own are stated at a delta that must be named.

Parts released together are not converted one by one: squares of mu, or rhos, add up first, and the total is converted
once. Adding converted epsilons would cost sqrt(n) times too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from dosimeter.accounting.tables import gdp, rdp, zcdp
from dosimeter.accounting.tables.terms import Table, Terms, ratio
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import Declared, DiscreteLaplace, Laplace, RandomizedResponse
from dosimeter.exact import ONE, ZERO
from dosimeter.notions import RDP, ApproxDP, PureDP
from dosimeter.notions.convert import gdp_to_approx, rdp_to_approx, zcdp_to_approx

Parts = Sequence[tuple[Any, int]]
_NOTHING = ApproxDP(ZERO)


def charge(parts: Parts, terms: Terms) -> ApproxDP:
    """What the parts cost together, for parameters fixed in advance.

    Guarantee:
        (epsilon, delta)-DP, delta being `terms.delta` (where a part needs it) plus the deltas that parts have of their
        own. Two ways are compared at the same delta: parts with a pair of their own are added to the folded rest, or
        all parts are folded in zCDP; the smaller epsilon is taken. Both are theorems, so is their minimum.

    Raises:
        NoGuaranteeError: a part needs a delta and none is given, or no notion holds all parts that need folding.

    Reference: basic composition; Bun, Steinke 2016, Lemma 1.7; Dong, Roth, Su 2022, Corollary 3.3; the conversions.
    """
    own = [(part, n) for part, n in parts if stated(part) is not None]
    rest = [(part, n) for part, n in parts if stated(part) is None]
    added = reduce(ApproxDP.compose, (_own(part).repeat(n) for part, n in own), _NOTHING)
    if not rest:
        return added
    if terms.delta is None:
        kinds = ", ".join(sorted({part.kind for part, _ in rest}))
        raise NoGuaranteeError(
            f"{kinds} has no finite epsilon at delta 0; say at which delta it is to be stated (delta=...), or use an "
            "account in zcdp or gdp"
        )
    separate = _fold(rest, terms.delta).compose(added)
    if not own or not all(_fits(zcdp.TABLE, part) for part, _ in rest):
        return separate
    total = _sum(zcdp.TABLE, parts, terms)
    together = zcdp_to_approx(total, target_delta=separate.delta) if total.delta < separate.delta < ONE else separate
    return min(separate, together, key=lambda loss: loss.epsilon)


def stated(event: Any) -> ApproxDP | None:
    """The event's own (epsilon, delta), if it has one."""
    row = _STATED.get(type(event))
    return row(event) if row else None


def _own(event: Any) -> ApproxDP:
    loss = stated(event)
    return _NOTHING if loss is None else loss


def _fold(parts: Parts, delta: Decimal) -> ApproxDP:
    """Fold parts that have no pair of their own in the sharpest notion that holds all of them, then convert once."""
    if all(_fits(gdp.TABLE, part) for part, _ in parts):
        return gdp_to_approx(_sum(gdp.TABLE, parts, Terms()), target_delta=delta)
    if all(_fits(zcdp.TABLE, part) for part, _ in parts):
        return zcdp_to_approx(_sum(zcdp.TABLE, parts, Terms()), target_delta=delta)
    known = [part.loss.orders for part, _ in parts if isinstance(part, Declared) and isinstance(part.loss, RDP)]
    orders = min(known, key=lambda each: each[-1])  # within every declared range
    return rdp_to_approx(_sum(rdp.TABLE, parts, Terms(orders)), target_delta=delta)


def _fits(table: Table, event: Any) -> bool:
    try:
        table[type(event)](event, Terms())
    except NoGuaranteeError:
        return False
    return True


def _sum(table: Table, parts: Parts, terms: Terms) -> Any:
    losses: list[Any] = [table[type(part)](part, terms).repeat(n) for part, n in parts]  # type: ignore[union-attr]
    return reduce(lambda a, b: a.compose(b), losses)


def _declared(event: Declared) -> ApproxDP | None:
    if isinstance(event.loss, PureDP):
        return ApproxDP(event.loss.epsilon)
    return event.loss if isinstance(event.loss, ApproxDP) else None


_STATED: dict[type, Callable[[Any], ApproxDP | None]] = {
    Laplace: lambda event: ApproxDP(ratio(event)),
    DiscreteLaplace: lambda event: ApproxDP(ratio(event)),
    RandomizedResponse: lambda event: ApproxDP(event.epsilon, event.delta),
    Declared: _declared,
}
