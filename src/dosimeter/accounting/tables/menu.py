"""Events as units of a menu's budget: by the entry that reveals at least as much, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from dosimeter.accounting.tables.terms import cannot
from dosimeter.accounting.tables.worst_case import worst_case
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.notions import MenuPrice

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.pld.laws.law import Law

_NOTHING: Final = MenuPrice.of(0)


def charge(parts: Sequence[tuple[Any, int]], filter_: Any) -> MenuPrice:
    """The units of the parts, added up.

    Guarantee:
        Each part is a randomised image of the entries it is charged as, so whoever asks it could have asked those.

    Args:
        parts: single releases with their counts.
        filter_: a menu filter; its `price` knows the menu.

    Raises:
        NoGuaranteeError: no dominating pair is known for a part, or no entry of the menu covers it.
    """
    price = getattr(filter_, "price", None)
    if price is None:
        raise NoGuaranteeError("units mean something for an account with a menu; open one, and give its filter")
    return reduce(MenuPrice.compose, [_priced(leaf, price).repeat(count) for leaf, count in parts], _NOTHING)


def _priced(leaf: Event, price: Any) -> MenuPrice:
    """The cheaper of what a release's own laws take, one after the other, and what its worst case takes."""
    worst, found, reasons = worst_case(leaf), [], []
    for option in [None, *([] if worst is None else [((worst, 1),)])]:
        try:
            laws = _own(leaf) if option is None else option
            found.append(reduce(MenuPrice.compose, [price(law).repeat(n) for law, n in laws], _NOTHING))
        except (NoGuaranteeError, InputError) as error:
            reasons.append(str(error))
    if found:
        return min(found, key=lambda one: (one.units, one.rho, one.delta))
    return cannot(leaf, "menu", reasons[0], "ask for an entry of the menu, or with more noise")


def _own(leaf: Event) -> tuple[tuple[Law, int], ...]:
    from dosimeter.pld.laws.events import laws_of

    return laws_of(leaf)
