"""Adding epsilons: the oldest filter, and the only one whose guarantee has no failure probability at all."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.adaptive.filters.intrinsic import ClockedState, pure_rho
from dosimeter.adaptive.filters.sums import SumFilter
from dosimeter.exact import ZERO, add_up, amount, multiply_up
from dosimeter.notions import PureDP


@final
@dataclass(frozen=True, slots=True)
class PureState(ClockedState):
    """Running sums over the admitted queries: their epsilons, and what they cost in zCDP (for odometers)."""

    epsilon: Decimal = ZERO
    rho: Decimal = ZERO

    @property
    def delta(self) -> Decimal:
        """Pure queries never fail."""
        return ZERO


@final
@dataclass(frozen=True, slots=True)
class PureFilter(SumFilter[PureState, PureDP]):
    """Admits epsilon_m-DP queries while their epsilons add up to at most `epsilon`.

    Guarantee:
        The whole interaction is epsilon-DP, however mechanisms and epsilons were chosen from earlier answers.

    Args:
        epsilon: the budget, in nats, in [1e-300, 1e12]; a ratio is rounded down.

    Reference:
        Rogers, Roth, Ullman, Vadhan 2016, "Privacy Odometers and Filters": basic composition is a filter.
    """

    epsilon: Decimal
    kind: ClassVar[str] = "pure"
    notion: ClassVar[str] = "pure"
    state_type: ClassVar[type[PureState]] = PureState
    loss_type: ClassVar[type[PureDP]] = PureDP

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False))

    def start(self) -> PureState:
        """Nothing spent."""
        return PureState()

    def caps(self) -> dict[str, Decimal]:
        """The cap on the sum of epsilons."""
        return {"epsilon": self.epsilon}

    def sums(self, state: PureState) -> dict[str, Decimal]:
        """The sum of the admitted epsilons."""
        return {"epsilon": state.epsilon}

    def asked(self, state: PureState, loss: PureDP, count: int) -> dict[str, Decimal]:  # noqa: ARG002
        """The loss's epsilon."""
        return {"epsilon": multiply_up(loss.epsilon, count)}

    def advance(self, state: PureState, loss: PureDP, count: int) -> PureState:
        """Add the epsilon, and its rho for the odometers."""
        epsilon = multiply_up(loss.epsilon, count)
        return PureState(add_up(state.epsilon, epsilon), add_up(state.rho, multiply_up(pure_rho(loss.epsilon), count)))

    def guarantee(self) -> PureDP:
        """epsilon-DP for the whole interaction."""
        return PureDP(self.epsilon)

    def running_sum(self, state: PureState) -> PureDP:
        """The admitted losses added up: what happened so far, not a guarantee for a run that stops on its answers."""
        return PureDP(state.epsilon)
