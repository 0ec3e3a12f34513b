"""Events as price lists, for accounts that price whole profiles: by the pair of laws that dominates each event."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from dosimeter.accounting.bases import base_of
from dosimeter.accounting.tables.terms import Terms, cannot
from dosimeter.adaptive.residue.prices import gaussian_price
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import RandomAllocation
from dosimeter.exact import ZERO
from dosimeter.notions.residue import ResiduePrice

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.pld.laws.law import Law

Parts = Sequence[tuple[Any, int]]
_SMALLEST: Final = Fraction(1, 10**30)  # laws have no smaller parameters
_NOTHING: Final = ResiduePrice()


def charge(parts: Parts, filter_: Any, terms: Terms) -> ResiduePrice:
    """The price lists of the parts, one after the other.

    Guarantee:
        Each row of a list satisfies the admission rule of the filter's family for a pair that dominates the part.

    Args:
        parts: single releases with their counts.
        filter_: its `price` is the family's; without one the Gaussian family is meant.
        terms: `delta` is the slack that one run of a part may take, if it needs any; the filter's share by default.

    Raises:
        NoGuaranteeError: no dominating pair is known for a part, or it cannot be priced within the slack.
    """
    share = terms.delta if terms.delta is not None else getattr(filter_, "share", ZERO)
    price = getattr(filter_, "price", gaussian_price)
    lists = [_priced(leaf, price, share).repeat(count) for leaf, count in parts]
    return reduce(ResiduePrice.compose, lists, _NOTHING)


def _priced(leaf: Event, price: Any, share: Decimal) -> ResiduePrice:
    """The list for one release: by its own law, else as any (epsilon, delta)-DP release."""
    worst = _worst_case(leaf)
    law = _law(leaf, worst)
    if law is None:
        return _NOTHING
    try:
        found: ResiduePrice = price(law, share)
    except NoGuaranteeError as error:
        if worst is None:
            cannot(leaf, "residue", str(error), "set slack aside, plan fewer queries, or use an account in rdp")
        found = price(worst, share)
    return found


def _law(leaf: Event, worst: Law | None) -> Law | None:
    from dosimeter.pld.laws.events import laws_of

    if isinstance(leaf, RandomAllocation) and worst is not None:
        return worst
    try:
        laws = laws_of(leaf)
    except (NoGuaranteeError, InputError) as error:
        if worst is None:
            cannot(leaf, "residue", str(error), "use an account in zcdp or rdp")
        return worst
    if laws and (len(laws) > 1 or laws[0][1] != 1):
        cannot(leaf, "residue", "it is several releases", "compose its parts, so that each is charged")
    return laws[0][0] if laws else None


def _worst_case(leaf: Event) -> Law | None:
    """The law of the release's (epsilon, delta) or (mu, delta), if it has one."""
    from dosimeter.pld.laws.gaussian import GaussianLaw
    from dosimeter.pld.laws.response import ResponseLaw

    base, gaussian = base_of(leaf), base_of(leaf).gaussian
    if base.failure >= 1:
        return None
    if isinstance(leaf, RandomAllocation):  # as if everyone knew the steps of a record: `selected` runs of the base
        one = base_of(leaf.event).gaussian
        gaussian = None if one is None else one * leaf.selected
    if gaussian is not None:
        return GaussianLaw(max(_SMALLEST, gaussian), Fraction(base.failure)) if gaussian else None
    if base.pure is not None:
        return ResponseLaw(max(_SMALLEST, Fraction(base.pure)), Fraction(base.failure)) if base.pure else None
    return None
