"""How numbers enter a profile: one reader per quantity, each rounding a ratio such as 1/3 against the spender."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import LARGEST, ONE, ZERO, Number, amount, show, to_decimal, to_fraction
from dosimeter.notions.rdp import LARGEST_ORDER

LARGEST_COUNT: Final = 10**9


def read_target_epsilon(value: Number, name: str = "epsilon") -> Decimal:
    """A level at which a delta is wanted: 0 or in [1e-300, 1e12], a ratio rounded down."""
    return amount(value, name, round_up=False, zero=True)


def read_level(value: Number, name: str = "epsilon") -> Decimal:
    """A level of either sign, in [-1e12, 1e12], a ratio rounded down."""
    level = to_decimal(value, name, round_up=False)
    if level.copy_abs() > LARGEST:
        raise InputError(f"{name}={show(value)} is outside [-{LARGEST:g}, {LARGEST:g}]")
    return level


def read_target_delta(value: Number, name: str = "delta") -> Decimal:
    """A delta that must not be exceeded: 0 or in [1e-300, 1), a ratio rounded down."""
    return amount(value, name, round_up=False, zero=True, below_one=True)


def read_failure(value: Number, name: str = "failure") -> Decimal:
    """The probability with which a guarantee fails altogether: 0 or in [1e-300, 1], a ratio rounded up."""
    return amount(value, name, zero=True, largest=ONE)


def read_loss(value: Number, name: str) -> Decimal:
    """A parameter that measures loss (mu, rho, a sensitivity over a scale): 0 or in [1e-300, 1e12], rounded up."""
    return amount(value, name, zero=True)


def read_order_from_one(value: Number, name: str = "order") -> Decimal:
    """A Renyi order in [1, 1e6]; order 1 is the Kullback-Leibler divergence."""
    order = to_decimal(value, name)
    if not ONE <= order <= LARGEST_ORDER:
        raise InputError(f"{name}={show(value)} is outside [1, {LARGEST_ORDER:g}]")
    return order


def read_fraction(value: Number, name: str) -> Fraction:
    """A number taken exactly, a ratio such as 1/3 included."""
    return to_fraction(value, name)


def good_part(delta: Decimal, failure: Decimal) -> Fraction:
    """What a target delta leaves for the part of a mechanism that does not fail: (delta - f) / (1 - f).

    Raises:
        NoGuaranteeError: there is no delta to work with, or the failures alone use it up.
    """
    if delta == ZERO:
        raise NoGuaranteeError(
            "delta=0: the losses of this guarantee are unbounded, so epsilon is infinite; give a delta above 0"
        )
    if delta <= failure:
        raise NoGuaranteeError(
            f"delta={delta} cannot be reached: the guarantee itself fails with probability {failure}; "
            "ask for a larger delta"
        )
    return (Fraction(delta) - Fraction(failure)) / (1 - Fraction(failure))
