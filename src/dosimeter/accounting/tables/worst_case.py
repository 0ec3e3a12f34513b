"""The pair that stands for a release of which only numbers are known: its worst case, for notions that price pairs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dosimeter.accounting.bases import base_of
from dosimeter.events import RandomAllocation

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.pld.laws.law import Law

_SMALLEST: Final = Fraction(1, 10**30)  # laws have no smaller parameters


def worst_case(leaf: Event) -> Law | None:
    """The law of the release's (epsilon, delta) or (mu, delta), if it has one.

    Guarantee: its pair dominates the release in both directions.

    Reference: Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022.
    """
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
