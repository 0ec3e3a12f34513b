"""Several Renyi orders with a price for the choice: admit while at least ONE order is within its budget.

Without the price this rule is false (see `rdp`). With it, each order a owns a share w_a of delta, fixed beforehand:
the order that happens to end the run contributes at most w_a delta, and the shares add up to at most one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, final

from dosimeter.adaptive.filters.rdp import RenyiSumFilter, by_order, read_orders
from dosimeter.adaptive.filters.sums import Amounts, read_declared
from dosimeter.errors import InputError
from dosimeter.exact import ONE, ZERO, add_up, amount, certainly_le, fraction_down
from dosimeter.notions import ApproxDP
from dosimeter.notions.convert import largest_rdp_for_approx
from dosimeter.notions.rdp import read_several


@final
@dataclass(frozen=True, slots=True)
class WeightedRDPFilter(RenyiSumFilter):
    """Admits RDP queries while at least one order a has sum epsilon_m(a) <= B_a.

    B_a = max(0, epsilon + log(w_a delta' / c_a) / (a - 1)), c_a = (1/a) (1 - 1/a)^(a-1), rounded down, with
    delta' = (delta - declared_delta) / (1 - declared_delta).

    Guarantee:
        The whole interaction is (epsilon, delta)-DP under full adaptivity.

    Args:
        epsilon: the budget, in nats, in [1e-300, 1e12]; a ratio is rounded down.
        delta: the probability of failure of the whole interaction, in [1e-300, 1).
        orders: Renyi orders, each in (1, 1e6], strictly increasing, fixed before the first query.
        weights: one share per order, each in (0, 1], together at most 1; equal shares when not given.
        declared_delta: the part of delta kept for failures of approximate mechanisms, 0 or below delta.

    Reference:
        Own result. Let N_a be the time at which order a alone would stop. The run ends at the last of them; where order
        a ends it, (1 - e^(epsilon-L))+ <= c_a e^((a-1)(L-epsilon)), and optional stopping of the supermartingale
        exp((a-1) L_n - (a-1) sum epsilon_m(a)) at N_a bounds the contribution to delta by w_a delta'. Sum over a.
    """

    epsilon: Decimal
    delta: Decimal
    orders: tuple[Decimal, ...]
    weights: tuple[Decimal, ...] | None = None
    declared_delta: Decimal = ZERO
    budgets: tuple[Decimal, ...] = field(init=False, compare=False)
    kind: ClassVar[str] = "rdp_weighted"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False))
        set_(self, "delta", amount(self.delta, "delta", round_up=False, below_one=True))
        set_(self, "orders", read_orders(self.orders))
        set_(self, "weights", _read_weights(self.weights, len(self.orders)))
        set_(self, "declared_delta", read_declared(self.declared_delta, self.delta))
        pairs = zip(self.orders, self.weights or (), strict=True)
        terms = (self.epsilon, self.delta, self.declared_delta)
        set_(self, "budgets", tuple(largest_rdp_for_approx(order, *terms, weight) for order, weight in pairs))
        if not max(self.budgets):
            raise InputError(
                f"no order can reach epsilon={self.epsilon:g} at delta={self.delta:g}: every budget is 0; "
                "add larger orders, use fewer of them, or ask for a larger epsilon"
            )

    def caps(self) -> dict[str, Decimal]:
        """The budget at every order, and the cap on declared deltas."""
        return by_order(self.orders, self.budgets, self.declared_delta)

    def exceeded(self, totals: Amounts) -> tuple[str, ...]:
        """One order within its budget is enough; the sum of declared deltas must be within its cap as well."""
        caps = self.caps()
        failed = ("delta",) if not certainly_le(totals["delta"], caps.pop("delta")) else ()
        if any(certainly_le(totals[name], cap) for name, cap in caps.items()):
            return failed
        return (*caps, *failed)

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction."""
        return ApproxDP(self.epsilon, self.delta)


def _read_weights(weights: object, length: int) -> tuple[Decimal, ...]:
    if weights is None:
        return (fraction_down(Fraction(1, length)),) * length
    values = read_several(weights, "weights")
    if len(values) != length:
        raise InputError(f"weights needs one share per order; got {len(values)} for {length} orders")
    shares = tuple(amount(value, "weight", round_up=False, largest=ONE) for value in values)
    if not certainly_le(add_up(*shares), ONE):
        raise InputError(f"weights add up to more than 1 ({add_up(*shares):g}); they are shares of one delta")
    return shares
