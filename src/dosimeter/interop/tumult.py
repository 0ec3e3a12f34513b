"""Budgets of Tumult Analytics, read and written: PureDPBudget, ApproxDPBudget, RhoZCDPBudget.

A Tumult session's relation is add or remove of rows, or of all rows of one identifier, as its protected change says;
a budget carries no relation.
"""

from __future__ import annotations

from typing import Any, Final

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import amount, show
from dosimeter.interop.values import class_name, field, float_down, library
from dosimeter.notions import ZCDP, ApproxDP, PureDP

_FIELDS: Final = {
    "PureDPBudget": ("epsilon",),
    "ApproxDPBudget": ("epsilon", "delta"),
    "RhoZCDPBudget": ("rho",),
}


def from_tumult(budget: object) -> PureDP | ApproxDP | ZCDP:
    """Read a budget as the guarantee it allows.

    Guarantee: rounded down, as what may be spent is.

    Raises:
        NoGuaranteeError: an infinite budget.
        InputError: not one of the three budgets, or a number out of range.
    """
    name = class_name(budget)
    if name not in _FIELDS:
        raise InputError(f"{name} is not a budget of Tumult Analytics; give one of: {', '.join(_FIELDS)}")
    values = [_number(field(budget, part), part) for part in _FIELDS[name]]
    return {"PureDPBudget": PureDP, "ApproxDPBudget": ApproxDP, "RhoZCDPBudget": ZCDP}[name](*values)  # type: ignore[no-any-return]


def to_tumult(guarantee: PureDP | ApproxDP | ZCDP) -> Any:
    """Write a guarantee as a budget; the library must be installed.

    Guarantee: rounded down.

    Raises:
        NoGuaranteeError: Tumult has no budget in this notion.
        InputError: the library is missing.
    """
    match guarantee:
        case PureDP():
            return library("tmlt.analytics").PureDPBudget(float_down(guarantee.epsilon))
        case ApproxDP():
            return library("tmlt.analytics").ApproxDPBudget(float_down(guarantee.epsilon), float_down(guarantee.delta))
        case ZCDP() if not guarantee.delta:
            return library("tmlt.analytics").RhoZCDPBudget(float_down(guarantee.rho))
    raise NoGuaranteeError(
        f"Tumult Analytics has no budget for {type(guarantee).__name__} with these parameters; convert it to "
        "(epsilon, delta) first"
    )


def _number(value: Any, name: str) -> Any:
    if str(value) in ("inf", "oo"):
        raise NoGuaranteeError(f"an infinite {name} promises nothing; give a finite budget")
    if not isinstance(value, str | int | float):
        value = str(value)  # an exact number of its own kind, such as 1/10
    try:
        return amount(value, name, round_up=False, zero=True)
    except InputError:
        raise InputError(f"{name}={show(value)} of the budget is not a number in range") from None
