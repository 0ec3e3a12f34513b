"""Renyi differential privacy at named orders, with an optional probability delta of failure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.errors import InputError, NotionError
from dosimeter.exact import ONE, ZERO, Number, add_up, amount, multiply_up, show, to_decimal
from dosimeter.notions.law import read_runs, require_same_notion

LARGEST_ORDER = Decimal("1e6")


def read_order(value: Number, name: str = "order") -> Decimal:
    """Read a Renyi order: a number in (1, 1e6]."""
    order = to_decimal(value, name)
    if not ONE < order <= LARGEST_ORDER:
        raise InputError(f"{name}={show(value)} is outside (1, {LARGEST_ORDER:g}]")
    return order


def read_several(values: object, name: str) -> tuple[Number, ...]:
    """Several numbers; a text is one number, not a sequence of digits."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return tuple(values)
    raise InputError(f"{name}={show(values)} is not a sequence of numbers; write ({show(values)},) for a single one")


@final
@dataclass(frozen=True, slots=True)
class RDP:
    """delta-approximate (order, epsilon)-RDP at every listed order. Composition: epsilons add order by order.

    Args:
        orders: Renyi orders, each in (1, 1e6], strictly increasing.
        epsilons: the bound at each order, 0 or in [1e-300, 1e12].
        delta: 0 or in [1e-300, 1].
    """

    orders: tuple[Decimal, ...]
    epsilons: tuple[Decimal, ...]
    delta: Decimal = ZERO
    notion: ClassVar[str] = "rdp"

    def __post_init__(self) -> None:
        orders = tuple(read_order(order) for order in read_several(self.orders, "orders"))
        epsilons = tuple(amount(epsilon, "epsilon", zero=True) for epsilon in read_several(self.epsilons, "epsilons"))
        if not orders or len(orders) != len(epsilons):
            raise InputError(f"RDP needs one epsilon per order; got {len(orders)} orders, {len(epsilons)} epsilons")
        if any(a >= b for a, b in itertools.pairwise(orders)):
            raise InputError("RDP orders must be strictly increasing; sort them and drop repetitions")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "epsilons", epsilons)
        object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, largest=ONE))

    def compose(self, other: RDP) -> RDP:
        """The guarantee of both together; both must speak of the same orders."""
        require_same_notion(self, other)
        if self.orders != other.orders:
            raise NotionError("two RDP guarantees at different orders do not add; restate both at the same orders")
        epsilons = tuple(add_up(a, b) for a, b in zip(self.epsilons, other.epsilons, strict=True))
        return RDP(self.orders, epsilons, min(ONE, add_up(self.delta, other.delta)))

    def repeat(self, count: int) -> RDP:
        """The guarantee of `count` runs."""
        count = read_runs(count)
        epsilons = tuple(multiply_up(epsilon, count) for epsilon in self.epsilons)
        return RDP(self.orders, epsilons, min(ONE, multiply_up(self.delta, count)))
