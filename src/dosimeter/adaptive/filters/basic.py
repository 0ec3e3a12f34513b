"""Adding epsilons and deltas: basic composition, which no adaptive choice can break."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.adaptive.filters.intrinsic import ClockedState, pure_rho
from dosimeter.adaptive.filters.sums import SumFilter
from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_up
from dosimeter.notions import ApproxDP


@final
@dataclass(frozen=True, slots=True)
class BasicState(ClockedState):
    """Running sums over the admitted queries: epsilons, deltas, and their cost in zCDP (for odometers)."""

    epsilon: Decimal = ZERO
    delta: Decimal = ZERO
    rho: Decimal = ZERO


@final
@dataclass(frozen=True, slots=True)
class BasicFilter(SumFilter[BasicState, ApproxDP]):
    """Admits (epsilon_m, delta_m)-DP queries while both sums stay within `epsilon` and `delta`.

    Guarantee:
        The whole interaction is (epsilon, delta)-DP under full adaptivity.

    Args:
        epsilon: the budget, in nats, in [1e-300, 1e12]; a ratio is rounded down.
        delta: the budget for failures, 0 or in [1e-300, 1); a ratio is rounded down.

    Reference:
        Rogers, Roth, Ullman, Vadhan 2016, "Privacy Odometers and Filters": basic composition is a filter.
    """

    epsilon: Decimal
    delta: Decimal
    kind: ClassVar[str] = "basic"
    notion: ClassVar[str] = "approx"
    state_type: ClassVar[type[BasicState]] = BasicState
    loss_type: ClassVar[type[ApproxDP]] = ApproxDP

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, zero=True, below_one=True))

    def start(self) -> BasicState:
        """Nothing spent."""
        return BasicState()

    def caps(self) -> dict[str, Decimal]:
        """The caps on the two sums."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def sums(self, state: BasicState) -> dict[str, Decimal]:
        """The sums of the admitted epsilons and deltas."""
        return {"epsilon": state.epsilon, "delta": state.delta}

    def asked(self, state: BasicState, loss: ApproxDP, count: int) -> dict[str, Decimal]:  # noqa: ARG002
        """The loss's epsilon and delta."""
        return {"epsilon": multiply_up(loss.epsilon, count), "delta": multiply_up(loss.delta, count)}

    def advance(self, state: BasicState, loss: ApproxDP, count: int) -> BasicState:
        """Add epsilon and delta, and the rho for the odometers."""
        return BasicState(
            add_up(state.epsilon, multiply_up(loss.epsilon, count)),
            add_up(state.delta, multiply_up(loss.delta, count)),
            add_up(state.rho, multiply_up(pure_rho(loss.epsilon), count)),
        )

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction."""
        return ApproxDP(self.epsilon, self.delta)

    def running_sum(self, state: BasicState) -> ApproxDP:
        """The admitted losses added up: what happened so far, not a guarantee for a run that stops on its answers."""
        return ApproxDP(state.epsilon, min(ONE, state.delta))
