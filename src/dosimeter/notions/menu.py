"""What a mechanism takes of a budget that was computed for a declared menu: whole units."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.errors import InputError
from dosimeter.exact import LARGEST, ONE, ZERO, Number, add_up, amount, brief_up, multiply_up
from dosimeter.notions.law import read_runs, require_same_notion


@final
@dataclass(frozen=True, slots=True)
class MenuPrice:
    """Units of a menu's budget. They mean something for the account that names the menu, and nothing elsewhere.

    Args:
        units: a whole number, 0 or more.
        rho: what the mechanism is in zCDP outside of failures, for odometers.
        delta: its own probability of failure, for odometers; the units pay for it.
    """

    units: Decimal
    rho: Decimal = ZERO
    delta: Decimal = ZERO
    notion: ClassVar[str] = "menu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", amount(self.units, "units", zero=True, largest=LARGEST * LARGEST))
        object.__setattr__(self, "rho", amount(self.rho, "rho", zero=True, largest=LARGEST * LARGEST))
        object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, largest=ONE))
        if self.units != self.units.to_integral_value():
            raise InputError(f"units={self.units} is not a whole number")

    @classmethod
    def of(cls, units: int, rho: Number = 0, delta: Number = 0) -> MenuPrice:
        """From whole units."""
        return cls(Decimal(units), rho, delta)  # type: ignore[arg-type]

    def compose(self, other: MenuPrice) -> MenuPrice:
        """Both: everything adds up."""
        require_same_notion(self, other)
        delta = min(ONE, add_up(self.delta, other.delta))
        return MenuPrice(add_up(self.units, other.units), add_up(self.rho, other.rho), delta)

    def repeat(self, count: int) -> MenuPrice:
        """`count` times."""
        runs = read_runs(count)
        delta = min(ONE, multiply_up(self.delta, runs))
        return MenuPrice(multiply_up(self.units, runs), multiply_up(self.rho, runs), delta)

    def in_words(self, digits: int = 6) -> str:
        """Such as ``units 6``: what is charged; the rest is for odometers."""
        return f"units {brief_up(self.units, digits)}" if self.units else "nothing"
