"""The (epsilon, delta) filter in its published form: advanced composition, paid in squares of epsilon.

`approx` is the same idea with sharper constants and admits more; this one stands here because papers and other
systems use it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.adaptive.filters.intrinsic import ClockedState, pure_rho
from dosimeter.adaptive.filters.sums import SumFilter, left, read_declared
from dosimeter.exact import ZERO, add_up, amount, multiply_up, sqrt_down
from dosimeter.notions import ApproxDP
from dosimeter.notions.convert import largest_square_sum_for_approx


@final
@dataclass(frozen=True, slots=True)
class SquaresState(ClockedState):
    """Running sums over the admitted queries: squares of epsilon, deltas, and their cost in zCDP (for odometers)."""

    sum_of_squares: Decimal = ZERO
    delta: Decimal = ZERO
    rho: Decimal = ZERO


@final
@dataclass(frozen=True, slots=True)
class PublishedApproxFilter(SumFilter[SquaresState, ApproxDP]):
    """Admits (epsilon_m, delta_m)-DP queries while sum epsilon_m^2 <= y* and sum delta_m <= declared_delta.

    With delta' = (delta - declared_delta) / (1 - declared_delta),
    y* = (sqrt(2 log(1/delta') + 2 epsilon) - sqrt(2 log(1/delta')))^2 is the largest V with
    sqrt(2 log(1/delta') V) + V/2 <= epsilon; it is rounded down.

    Squares make a difference between n queries and one: n queries of epsilon decided together through `count` cost
    n epsilon^2, while one event that repeats a mechanism n times is one loss of n epsilon and costs its square.

    Guarantee:
        The whole interaction is (epsilon, delta)-DP under full adaptivity.

    Args:
        epsilon: the budget, in nats, in [1e-300, 1e12]; a ratio is rounded down.
        delta: the probability of failure of the whole interaction, in [1e-300, 1).
        declared_delta: the part of delta kept for the deltas of the queries, 0 or below delta.

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023, "Fully-Adaptive Composition in Differential Privacy", Theorem 8. The
        tangent point printed there with "+ epsilon" must read "+ 2 epsilon".
    """

    epsilon: Decimal
    delta: Decimal
    declared_delta: Decimal = ZERO
    capacity: Decimal = field(init=False, compare=False)
    kind: ClassVar[str] = "approx_published"
    notion: ClassVar[str] = "approx"
    state_type: ClassVar[type[SquaresState]] = SquaresState
    loss_type: ClassVar[type[ApproxDP]] = ApproxDP

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, below_one=True))
        object.__setattr__(self, "declared_delta", read_declared(self.declared_delta, self.delta))
        capacity = largest_square_sum_for_approx(self.epsilon, self.delta, self.declared_delta)
        object.__setattr__(self, "capacity", capacity)

    def start(self) -> SquaresState:
        """Nothing spent."""
        return SquaresState()

    def caps(self) -> dict[str, Decimal]:
        """The caps on the sum of squares and on the sum of deltas."""
        return {"sum_of_squares": self.capacity, "delta": self.declared_delta}

    def sums(self, state: SquaresState) -> dict[str, Decimal]:
        """The sums of the admitted squares and deltas."""
        return {"sum_of_squares": state.sum_of_squares, "delta": state.delta}

    def asked(self, state: SquaresState, loss: ApproxDP, count: int) -> dict[str, Decimal]:  # noqa: ARG002
        """The square of the loss's epsilon, and its delta."""
        square = multiply_up(loss.epsilon, loss.epsilon)
        return {"sum_of_squares": multiply_up(square, count), "delta": multiply_up(loss.delta, count)}

    def advance(self, state: SquaresState, loss: ApproxDP, count: int) -> SquaresState:
        """Add the square and the delta, and the rho for the odometers."""
        square = multiply_up(loss.epsilon, loss.epsilon)
        return SquaresState(
            add_up(state.sum_of_squares, multiply_up(square, count)),
            add_up(state.delta, multiply_up(loss.delta, count)),
            add_up(state.rho, multiply_up(pure_rho(loss.epsilon), count)),
        )

    def equivalents(self, state: SquaresState) -> dict[str, Decimal]:
        """The largest epsilon of one more query that fits: the root of what is left."""
        return {"largest_epsilon": sqrt_down(left(self.sums(state), self.caps())["sum_of_squares"])}

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction."""
        return ApproxDP(self.epsilon, self.delta)
