"""The first advanced-composition filter, kept for comparison: `approx` admits far more under the same guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, final

from dosimeter.adaptive.filters.intrinsic import ClockedState, pure_rho
from dosimeter.adaptive.filters.sums import SumFilter
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.exact import ZERO, add_up, amount, divide_down, multiply_up, show, subtract_up
from dosimeter.notions import ApproxDP

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

LARGEST_EPSILON = Decimal(100)
LARGEST_DELTA = Decimal("0.367879441171442321595523770161")  # 1/e, rounded down


@final
@dataclass(frozen=True, slots=True)
class RogersState(ClockedState):
    """Running sums over the admitted queries: squares, drifts epsilon (e^epsilon - 1)/2, deltas, and rhos."""

    sum_of_squares: Decimal = ZERO
    drift: Decimal = ZERO
    delta: Decimal = ZERO
    rho: Decimal = ZERO


@final
@dataclass(frozen=True, slots=True)
class RogersFilter(SumFilter[RogersState, ApproxDP]):
    """For comparison only. Admits (epsilon_m, delta_m)-DP queries while K <= `epsilon`, sum delta_m <= `delta` / 2.

    With V = sum epsilon_m^2 and H = epsilon^2 / (28.04 log(1/delta)),
    K = sum epsilon_m (e^epsilon_m - 1)/2 + sqrt(2 (V + H) (1 + log(1 + V/H)/2) log(2/delta)).

    Guarantee:
        The whole interaction is (epsilon, delta)-DP under full adaptivity.

    Args:
        epsilon: the budget, in nats, in [1e-300, 100]; a ratio is rounded down.
        delta: the probability of failure of the whole interaction, in [1e-300, 1/e).

    Reference:
        Rogers, Roth, Ullman, Vadhan 2016, "Privacy Odometers and Filters", advanced composition filter. The constants
        are as commonly quoted; the guarantee does not rest on them: for every H > 0 the root dominates the two-sided
        normal-mixture boundary with parameter H, and (e^x - 1)/2 >= tanh(x/2).
    """

    epsilon: Decimal
    delta: Decimal
    kind: ClassVar[str] = "rogers"
    notion: ClassVar[str] = "approx"
    state_type: ClassVar[type[RogersState]] = RogersState
    loss_type: ClassVar[type[ApproxDP]] = ApproxDP

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False, largest=LARGEST_EPSILON))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, below_one=True))
        if self.delta > LARGEST_DELTA:
            raise InputError(
                f"delta={show(self.delta)} is not below 1/e; this filter is proven for smaller deltas only"
            )

    def start(self) -> RogersState:
        """Nothing spent; the bound is positive already, since it must hold at every time."""
        return RogersState()

    def caps(self) -> dict[str, Decimal]:
        """The caps on the bound K and on the sum of deltas."""
        return {"epsilon": self.epsilon, "delta": divide_down(self.delta, 2)}

    def sums(self, state: RogersState) -> dict[str, Decimal]:
        """The bound K over the admitted queries, and the sum of their deltas."""
        return {"epsilon": self.bound(state), "delta": state.delta}

    def asked(self, state: RogersState, loss: ApproxDP, count: int) -> dict[str, Decimal]:
        """How much the query raises the bound, and its delta; its own epsilon where that is over the budget already."""
        if loss.epsilon <= self.epsilon:
            rise = subtract_up(self.bound(self.advance(state, loss, count)), self.bound(state))
        else:
            rise = loss.epsilon  # K > V^(1/2) >= epsilon_m: certainly refused, and e^epsilon_m is best left alone
        return {"epsilon": rise, "delta": multiply_up(loss.delta, count)}

    def advance(self, state: RogersState, loss: ApproxDP, count: int) -> RogersState:
        """Add the square, the drift, the delta, and the rho for the odometers."""
        return RogersState(
            add_up(state.sum_of_squares, multiply_up(multiply_up(loss.epsilon, loss.epsilon), count)),
            add_up(state.drift, multiply_up(_drift(loss.epsilon), count)),
            add_up(state.delta, multiply_up(loss.delta, count)),
            add_up(state.rho, multiply_up(pure_rho(loss.epsilon), count)),
        )

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction."""
        return ApproxDP(self.epsilon, self.delta)

    def bound(self, state: RogersState) -> Decimal:
        """K, rounded up."""

        def value() -> Ball:
            H = ball(self.epsilon) ** 2 / (ball(Decimal("28.04")) * -ball(self.delta).log())
            V = ball(state.sum_of_squares)
            spread = 2 * (V + H) * (1 + (1 + V / H).log() / 2) * (ball(Decimal(2)) / ball(self.delta)).log()
            return ball(state.drift) + spread.sqrt()

        return up(enclose(value))


def _drift(epsilon: Decimal) -> Decimal:
    if not epsilon:
        return ZERO

    def value() -> Ball:
        e = ball(epsilon)
        return e * e.expm1() / 2

    return up(enclose(value))
