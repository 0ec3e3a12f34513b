"""Events as price lists, for accounts that price whole profiles: by the pair of laws that dominates each event."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from dosimeter.accounting.tables.terms import Terms, cannot
from dosimeter.accounting.tables.worst_case import worst_case
from dosimeter.adaptive.residue.prices import gaussian_price
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ZERO
from dosimeter.notions.residue import ResiduePrice

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.pld.laws.law import Law

Parts = Sequence[tuple[Any, int]]
_NOTHING: Final = ResiduePrice()
_LOG_TAIL: Final = -40.0  # of P-mass that counts as infinite loss: far less than any slack
_POINTS: Final = 400


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
    share = _share(filter_, terms)
    price = getattr(filter_, "price", _gaussian)
    return reduce(ResiduePrice.compose, (_priced(leaf, count, price, share) for leaf, count in parts), _NOTHING)


def is_proven(parts: Parts, filter_: Any, stored: ResiduePrice) -> bool:
    """Whether a stored list is proven for the parts of an event, whatever machine computed it.

    Guarantee: if so, each of its rows satisfies the admission rule with the slack that the list takes, for a pair that
    dominates the part it speaks of.
    """
    waiting = list(stored.singles())
    for leaf, count in parts:
        for laws in _options(leaf):
            own = waiting[: len(laws)]
            if len(own) == len(laws) and all(
                filter_.proves(law, many * count, one) for (law, many), one in zip(laws, own, strict=True)
            ):
                waiting = waiting[len(laws) :]
                break
        else:
            return False
    return not waiting


def _share(filter_: Any, terms: Terms) -> Decimal:
    return terms.delta if terms.delta is not None else getattr(filter_, "share", ZERO)


def _gaussian(law: Law, share: Decimal, count: int) -> ResiduePrice:
    return gaussian_price(law, share).repeat(count)


def _priced(leaf: Event, count: int, price: Any, share: Decimal) -> ResiduePrice:
    """The list for runs of one release: by its own laws, else as any (epsilon, delta)-DP release.

    A release that opens into several laws is dominated by their product, so they are charged one after the other.
    """
    reasons = []
    for laws in _options(leaf):
        try:
            lists = [price(law, share, many * count) for law, many in laws]
        except NoGuaranteeError as error:
            reasons.append(str(error))
            continue
        return reduce(ResiduePrice.compose, lists, _NOTHING)
    return cannot(
        leaf,
        "residue",
        reasons[0],
        "ask with more noise (accounting.least_fit finds how much), set slack aside, or use an account in rdp",
    )


def _options(leaf: Event) -> list[Sequence[tuple[Law, int]]]:
    """Laws whose product dominates a release, each with how often: its own, then those of its worst case."""
    from dosimeter.pld.laws.events import laws_of

    worst = worst_case(leaf)
    options: list[Sequence[tuple[Law, int]]] = [] if worst is None else [((worst, 1),)]
    try:
        return [_held(laws_of(leaf)), *options]
    except (NoGuaranteeError, InputError) as error:
        if not options:
            cannot(leaf, "residue", str(error), "use an account in zcdp or rdp")
        return options


def _held(laws: Sequence[tuple[Law, int]]) -> Sequence[tuple[Law, int]]:
    """Allocated records as the list of points above them: always the same, so that any machine proves its charges."""
    from dosimeter.pld.lattice.allocated import above

    return tuple((above(law, _LOG_TAIL, _POINTS), many) for law, many in laws)
