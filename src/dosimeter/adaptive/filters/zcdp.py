"""Adding rhos: one budget serves all Renyi orders at once, so any conversion may be applied at the end."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.adaptive.filters.intrinsic import ClockedState
from dosimeter.adaptive.filters.sums import SumFilter
from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_up
from dosimeter.notions import ZCDP


@final
@dataclass(frozen=True, slots=True)
class ZCDPState(ClockedState):
    """Running sums over the admitted queries: rhos and deltas."""

    rho: Decimal = ZERO
    delta: Decimal = ZERO


class ConcentratedSumFilter(SumFilter[ZCDPState, ZCDP]):
    """The sums of every filter that takes zCDP losses; a subclass says what they are capped by, and why."""

    __slots__ = ()
    notion: ClassVar[str] = "zcdp"
    state_type: ClassVar[type[ZCDPState]] = ZCDPState
    loss_type: ClassVar[type[ZCDP]] = ZCDP

    def start(self) -> ZCDPState:
        """Nothing spent."""
        return ZCDPState()

    def sums(self, state: ZCDPState) -> dict[str, Decimal]:
        """The sums of the admitted rhos and deltas."""
        return {"rho": state.rho, "delta": state.delta}

    def asked(self, state: ZCDPState, loss: ZCDP, count: int) -> dict[str, Decimal]:  # noqa: ARG002
        """The loss's rho and delta."""
        return {"rho": multiply_up(loss.rho, count), "delta": multiply_up(loss.delta, count)}

    def advance(self, state: ZCDPState, loss: ZCDP, count: int) -> ZCDPState:
        """Add rho and delta."""
        return ZCDPState(
            add_up(state.rho, multiply_up(loss.rho, count)), add_up(state.delta, multiply_up(loss.delta, count))
        )

    def running_sum(self, state: ZCDPState) -> ZCDP:
        """The admitted losses added up: what happened so far, not a guarantee for a run that stops on its answers."""
        return ZCDP(state.rho, min(ONE, state.delta))


@final
@dataclass(frozen=True, slots=True)
class ZCDPFilter(ConcentratedSumFilter):
    """Admits delta_m-approximate rho_m-zCDP queries while rhos and deltas stay within `rho` and `delta`.

    Guarantee:
        The whole interaction is delta-approximate rho-zCDP under full adaptivity, at all orders simultaneously.

    Args:
        rho: the budget, in [1e-300, 1e12]; a ratio is rounded down.
        delta: the budget for failures of approximate mechanisms, 0 or in [1e-300, 1).

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023, "Fully-Adaptive Composition in Differential Privacy", Theorem 1.
    """

    rho: Decimal
    delta: Decimal = ZERO
    kind: ClassVar[str] = "zcdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", amount(self.rho, "rho", round_up=False))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, zero=True, below_one=True))

    def caps(self) -> dict[str, Decimal]:
        """The caps on the two sums."""
        return {"rho": self.rho, "delta": self.delta}

    def guarantee(self) -> ZCDP:
        """delta-approximate rho-zCDP for the whole interaction."""
        return ZCDP(self.rho, self.delta)
