"""Adding Renyi divergences: at one order chosen beforehand, or at several orders that must all hold.

"Take the best order at the end" is not a filter: with two orders an analyst can reach 1.968 times the claimed delta by
steering a run that went well towards one order and a run that went badly towards the other. What is proven is one
order; every order (this file); or a price for the choice (`weighted`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, final

from dosimeter.adaptive.filters.sums import SumFilter, require_sums
from dosimeter.errors import InputError, NotionError
from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_up, show, text, to_decimal
from dosimeter.notions import RDP
from dosimeter.notions.rdp import read_several


@final
@dataclass(frozen=True, slots=True)
class RDPState:
    """Running sums over the admitted queries: the divergence at each order, and deltas."""

    orders: tuple[Decimal, ...]
    epsilons: tuple[Decimal, ...]
    delta: Decimal = ZERO

    def __post_init__(self) -> None:
        require_sums(self)
        if len(self.orders) != len(self.epsilons):
            raise InputError("a Renyi state has one sum per order")

    @property
    def intrinsic_time(self) -> Decimal | None:
        """None: divergences at finitely many orders bound no rho."""
        return None


def name_of(order: Decimal) -> str:
    """How the sum at one order is called in refusals and statements."""
    return f"epsilon at order {text(order)}"


def by_order(orders: tuple[Decimal, ...], epsilons: tuple[Decimal, ...], delta: Decimal) -> dict[str, Decimal]:
    """Amounts by name, delta last."""
    return {**{name_of(a): e for a, e in zip(orders, epsilons, strict=True)}, "delta": delta}


def read_budgets(epsilons: object) -> tuple[Decimal, ...]:
    """Read one budget per order, ratios rounded down."""
    return tuple(amount(value, "epsilon", round_up=False, zero=True) for value in read_several(epsilons, "epsilons"))


def read_orders(orders: object) -> tuple[Decimal, ...]:
    """Read Renyi orders exactly: each in (1, 1e6], strictly increasing.

    Raises:
        InputError: an order is outside the range, or written as a ratio that no decimal equals.
    """
    values = read_several(orders, "orders")
    for value in values:
        if to_decimal(value, "order") != to_decimal(value, "order", round_up=False):
            raise InputError(f"order={show(value)} has no exact decimal form; choose a decimal such as 1.5")
    return RDP(values, (ZERO,) * len(values)).orders  # type: ignore[arg-type]


class RenyiSumFilter(SumFilter[RDPState, RDP]):
    """The sums of every filter that takes Renyi losses; a subclass says what they are capped by, and why."""

    __slots__ = ()
    notion: ClassVar[str] = "rdp"
    state_type: ClassVar[type[RDPState]] = RDPState
    loss_type: ClassVar[type[RDP]] = RDP

    if TYPE_CHECKING:

        @property
        def orders(self) -> tuple[Decimal, ...]:
            """The orders at which losses are stated, fixed before the first query."""
            ...

    def start(self) -> RDPState:
        """Nothing spent."""
        return RDPState(self.orders, (ZERO,) * len(self.orders))

    def sums(self, state: RDPState) -> dict[str, Decimal]:
        """The sums at every order, and of deltas.

        Raises:
            InputError: the state speaks of other orders.
        """
        if state.orders != self.orders:
            raise InputError("the state speaks of other Renyi orders than the filter")
        return by_order(state.orders, state.epsilons, state.delta)

    def asked(self, state: RDPState, loss: RDP, count: int) -> dict[str, Decimal]:  # noqa: ARG002
        """The loss at every order, and its delta.

        Raises:
            NotionError: the loss speaks of other orders.
        """
        if loss.orders != self.orders:
            raise NotionError(
                f"the loss is stated at {len(loss.orders)} Renyi orders that are not the filter's; "
                f"restate it at the orders {', '.join(text(a) for a in self.orders[:8])}"
            )
        epsilons = tuple(multiply_up(epsilon, count) for epsilon in loss.epsilons)
        return by_order(loss.orders, epsilons, multiply_up(loss.delta, count))

    def advance(self, state: RDPState, loss: RDP, count: int) -> RDPState:
        """Add the divergences and the delta."""
        epsilons = tuple(add_up(a, multiply_up(b, count)) for a, b in zip(state.epsilons, loss.epsilons, strict=True))
        return RDPState(state.orders, epsilons, add_up(state.delta, multiply_up(loss.delta, count)))

    def running_sum(self, state: RDPState) -> RDP:
        """The admitted losses added up: what happened so far, not a guarantee for a run that stops on its answers."""
        return RDP(state.orders, state.epsilons, min(ONE, state.delta))


@final
@dataclass(frozen=True, slots=True)
class RDPFilter(RenyiSumFilter):
    """Admits approximate RDP queries while their divergences at one order stay within `epsilon`.

    Guarantee:
        The whole interaction is delta-approximate (order, epsilon)-RDP under full adaptivity. The order is fixed
        before the first query.

    Args:
        order: the Renyi order, in (1, 1e6].
        epsilon: the budget at that order, 0 or in [1e-300, 1e12]; a ratio is rounded down.
        delta: the budget for failures of approximate mechanisms, 0 or in [1e-300, 1).

    Reference:
        Feldman, Zrnic 2021, "Individual Privacy Accounting via a Renyi Filter"; with delta: Whitehouse, Ramdas,
        Rogers, Wu 2023, remark after Theorem 1.
    """

    order: Decimal
    epsilon: Decimal
    delta: Decimal = ZERO
    kind: ClassVar[str] = "rdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", read_orders((self.order,))[0])
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False, zero=True))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, zero=True, below_one=True))

    @property
    def orders(self) -> tuple[Decimal, ...]:
        """The one order at which losses are stated."""
        return (self.order,)

    def caps(self) -> dict[str, Decimal]:
        """The caps at the order, and on delta."""
        return by_order(self.orders, (self.epsilon,), self.delta)

    def guarantee(self) -> RDP:
        """delta-approximate (order, epsilon)-RDP for the whole interaction."""
        return RDP(self.orders, (self.epsilon,), self.delta)


@final
@dataclass(frozen=True, slots=True)
class RDPCurveFilter(RenyiSumFilter):
    """Admits approximate RDP queries while the sums stay within the budget at EVERY order.

    Guarantee:
        The whole interaction is delta-approximate (a, epsilon_a)-RDP at all the orders at once, so the best of their
        conversions may be taken at the end.

    Args:
        orders: Renyi orders, each in (1, 1e6], strictly increasing, fixed before the first query.
        epsilons: the budget at each order, 0 or in [1e-300, 1e12]; ratios are rounded down.
        delta: the budget for failures of approximate mechanisms, 0 or in [1e-300, 1).

    Reference:
        Feldman, Zrnic 2021, "Individual Privacy Accounting via a Renyi Filter", applied at each order: the run stops no
        later than the filter of any one order would.
    """

    orders: tuple[Decimal, ...]
    epsilons: tuple[Decimal, ...]
    delta: Decimal = ZERO
    kind: ClassVar[str] = "rdp_curve"

    def __post_init__(self) -> None:
        object.__setattr__(self, "orders", read_orders(self.orders))
        object.__setattr__(self, "epsilons", read_budgets(self.epsilons))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, zero=True, below_one=True))
        RDP(self.orders, self.epsilons, self.delta)  # one budget per order

    def caps(self) -> dict[str, Decimal]:
        """The caps at every order, and on delta."""
        return by_order(self.orders, self.epsilons, self.delta)

    def guarantee(self) -> RDP:
        """delta-approximate RDP at every order for the whole interaction."""
        return RDP(self.orders, self.epsilons, self.delta)
