"""Events in (epsilon, delta)-DP. Mechanisms without such a pair of their own are stated at a delta that must be named.

Parts released together are not converted one by one: squares of mu, or rhos, add up first, and the total is converted
once. Adding converted epsilons would cost sqrt(n) times too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from dosimeter.accounting.sampling import sampled_epsilon
from dosimeter.accounting.tables import gdp, pairs, rdp, sampled, zcdp
from dosimeter.accounting.tables.allocated import plan_epsilon
from dosimeter.accounting.tables.terms import Table, Terms, ratio
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Declared, DeclaredPair, DiscreteLaplace, Laplace, RandomizedResponse
from dosimeter.events.opening import open_event
from dosimeter.events.sampled import SAMPLED_TYPES
from dosimeter.exact import ONE, ZERO, add_up
from dosimeter.notions import RDP, ApproxDP, PureDP
from dosimeter.notions.convert import gdp_to_approx, rdp_to_approx, zcdp_to_approx
from dosimeter.notions.rdp import LARGEST_ORDER

Parts = Sequence[tuple[Any, int]]
_NOTHING = ApproxDP(ZERO)
_NEARLY = Decimal("1.001")
SAMPLED_ORDERS = tuple(
    Decimal(order)
    for line in (
        "1.05 1.1 1.25 1.5 1.75 2 2.25 2.5 2.75 3 3.25 3.5 3.75 4 4.5 5 5.5 6 6.5 7 7.5 8 8.5 9 9.5 10 11 12 13 14 15",
        "16 18 20 22 24 26 28 30 32 36 40 44 48 56 64 80 96 128 192 256 384 512 1024 2048 4096 10000",
    )
    for order in line.split()
)


def charge(parts: Parts, terms: Terms) -> ApproxDP:
    """What the parts cost together, for parameters fixed in advance.

    Guarantee:
        (epsilon, delta)-DP, delta being `terms.delta` (where a part needs it) plus the deltas that parts have of their
        own; a declared pair may take `terms.delta` too. Ways are compared at the same delta: parts with a pair of
        their own are added to the folded rest, or all parts are folded in zCDP, or in Renyi DP if some are sampled or
        declared as pairs; the smallest epsilon is taken. All are theorems, so is their minimum.

    Raises:
        NoGuaranteeError: a part needs a delta and none is given, or no notion holds all parts that need folding.

    Reference: basic composition; Bun, Steinke 2016, Lemma 1.7; Dong, Roth, Su 2022, Corollary 3.3; the conversions.
    """
    own = [(part, n) for part, n in parts if stated(part) is not None]
    rest = [(part, n) for part, n in parts if stated(part) is None]
    added = reduce(ApproxDP.compose, (_own(part).repeat(n) for part, n in own), _NOTHING)
    if not rest:
        return _sharper(parts, added, terms.delta)
    if terms.delta is None:
        kinds = ", ".join(sorted({part.kind for part, _ in rest}))
        raise NoGuaranteeError(
            f"{kinds} has no finite epsilon at delta 0; say at which delta it is to be stated (delta=...), or use an "
            "account in zcdp or gdp"
        )
    separate = _fold(rest, terms.delta).compose(added)
    if not own or separate.delta >= ONE:
        return separate
    offers = [separate]
    if all(_fits(zcdp.TABLE, part) for part, _ in rest):
        total = _sum(zcdp.TABLE, parts, terms)
        if total.delta < separate.delta:
            offers.append(zcdp_to_approx(total, target_delta=separate.delta))
    if any(isinstance(part, (DeclaredPair, *SAMPLED_TYPES)) for part, _ in parts):
        curve = _curve(parts)
        if curve is not None and curve.delta < separate.delta:
            offers.append(rdp_to_approx(curve, target_delta=separate.delta))
    return min(offers, key=lambda loss: loss.epsilon)


def _sharper(parts: Parts, added: ApproxDP, delta: Decimal | None) -> ApproxDP:
    """A declared pair knows more than its own (epsilon, delta): spending a delta that is given may save epsilon."""
    if delta is None or not any(isinstance(part, DeclaredPair) for part, _ in parts):
        return added
    target = add_up(delta, added.delta)
    if target >= ONE:
        return added
    if len(parts) == 1 and parts[0][1] == 1:
        return min(added, pairs.at_delta(parts[0][0], target), key=lambda loss: loss.epsilon)
    total, curve = _sum(zcdp.TABLE, parts, Terms()), _curve(parts)
    offers = [added, zcdp_to_approx(total, target_delta=target)]
    if curve is not None:
        offers.append(rdp_to_approx(curve, target_delta=target))
    return min(offers, key=lambda loss: loss.epsilon)


def stated(event: Any) -> ApproxDP | None:
    """The event's own (epsilon, delta), if it has one."""
    row = _STATED.get(type(event))
    return row(event) if row else None


def _own(event: Any) -> ApproxDP:
    loss = stated(event)
    return _NOTHING if loss is None else loss


def _fold(parts: Parts, delta: Decimal) -> ApproxDP:
    """Fold parts that have no pair of their own in the sharpest notion that holds all of them, then convert once."""
    if any(isinstance(part, SAMPLED_TYPES) for part, _ in parts):
        return _fold_sampled(parts, delta)
    if all(_fits(gdp.TABLE, part) for part, _ in parts):
        return gdp_to_approx(_sum(gdp.TABLE, parts, Terms()), target_delta=delta)
    if all(_fits(zcdp.TABLE, part) for part, _ in parts):
        return zcdp_to_approx(_sum(zcdp.TABLE, parts, Terms()), target_delta=delta)
    known = [part.loss.orders for part, _ in parts if isinstance(part, Declared) and isinstance(part.loss, RDP)]
    orders = min(known, key=lambda each: each[-1])  # within every declared range
    return rdp_to_approx(_sum(rdp.TABLE, parts, Terms(orders)), target_delta=delta)


def _fold_sampled(parts: Parts, delta: Decimal) -> ApproxDP:
    """The least of: one release by its exact profile, Renyi sums at many orders, and what holds without sampling.

    A plan with allocated records has its exact price already, if that is known to a thousandth; nothing is smaller.
    """
    offers: list[ApproxDP] = []
    reasons: list[str] = []
    try:
        whole = plan_epsilon(parts, delta)
        offers.append(ApproxDP(whole.upper, delta))
        if whole.upper <= whole.lower * _NEARLY:
            return offers[0]
    except (NoGuaranteeError, InputError) as error:
        reasons.append(str(error))
    ways: list[Callable[[], ApproxDP]] = [
        lambda: gdp_to_approx(_sum(gdp.TABLE, parts, Terms()), target_delta=delta),
        lambda: zcdp_to_approx(_sum(zcdp.TABLE, parts, Terms()), target_delta=delta),
        lambda: rdp_to_approx(_sum(rdp.TABLE, parts, Terms(_orders(parts))), target_delta=delta),
    ]
    if len(parts) == 1 and parts[0][1] == 1:
        ways.append(lambda: ApproxDP(sampled_epsilon(parts[0][0], delta=delta), delta))
    for way in ways:
        try:
            offers.append(way())
        except (NoGuaranteeError, InputError) as error:
            reasons.append(str(error))
    if not offers:
        raise NoGuaranteeError(reasons[1])
    return min(offers, key=lambda loss: loss.epsilon)


def _curve(parts: Parts) -> RDP | None:
    try:
        curve: RDP = _sum(rdp.TABLE, parts, Terms(_orders(parts)))
    except (NoGuaranteeError, InputError):
        return None
    return curve


def _orders(parts: Parts) -> tuple[Decimal, ...]:
    """Renyi orders at which everything is known; the best of them is taken, which is sound for a fixed plan."""
    try:
        _sum(rdp.TABLE, parts, Terms(SAMPLED_ORDERS[-1:]))
    except NoGuaranteeError:
        top = min(_top(part) for part, _ in parts)
        return tuple(order for order in SAMPLED_ORDERS if order <= top) or (top,)
    return SAMPLED_ORDERS


def _top(event: Any) -> Decimal:
    """The largest order at which a declared Renyi guarantee inside the event is known."""
    if isinstance(event, Declared) and isinstance(event.loss, RDP):
        return event.loss.orders[-1]
    inner = open_event(event.event) if isinstance(event, SAMPLED_TYPES) else {}
    return min((_top(leaf) for leaf in inner), default=LARGEST_ORDER)


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
    DeclaredPair: pairs.stated,
    **dict.fromkeys(SAMPLED_TYPES, sampled.stated),
}
