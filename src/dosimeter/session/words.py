"""Where an account stands, in words for people: few digits, nothing that is zero, rounded against the spender."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from dosimeter.exact import brief_down, brief_up

if TYPE_CHECKING:
    from dosimeter.ledger import Balance

_LARGEST = "largest_"  # how a filter names the largest single question that still fits


def left_in_words(remaining: Mapping[str, str]) -> str:
    """What is left, such as ``rho 0.05 (one question: at most epsilon 0.31)``; rounded down."""
    single = {name.removeprefix(_LARGEST): value for name, value in remaining.items() if name.startswith(_LARGEST)}
    amounts = {name: value for name, value in remaining.items() if not name.startswith(_LARGEST)}
    words = _listed(amounts, brief_down)
    largest = _listed(single, brief_down, " or ")
    return words if largest == "nothing" else f"{words} (one question: at most {largest})"


def spent_in_words(spent: Mapping[str, str]) -> str:
    """What was used, such as ``rho 0.02``; rounded up."""
    return _listed(spent, brief_up)


def loss_in_words(bound: Decimal | None) -> str:
    """An odometer's reading, such as ``privacy loss so far: at most epsilon 1.51``; nothing where there is none."""
    return "" if bound is None else f"privacy loss so far: at most epsilon {brief_up(bound, 4)}"


def reading(balance: Balance) -> Decimal | None:
    """The lowest of an account's odometers, where one has a bound."""
    bounds = [r.bound for r in balance.readings if r.bound is not None]
    return min(bounds) if bounds else None


def _listed(amounts: Mapping[str, str], brief: Callable[[str], str], joint: str = ", ") -> str:
    return joint.join(f"{name} {brief(value)}" for name, value in amounts.items() if Decimal(value)) or "nothing"
