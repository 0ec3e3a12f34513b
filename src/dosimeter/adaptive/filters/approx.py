"""The default filter: an (epsilon, delta) promise kept by adding zCDP losses, each with its own sharp constant.

Gaussian noise is charged mu^2/2, Laplace noise e0 + e^-e0 - 1, any other epsilon-DP query epsilon tanh(epsilon/2); the
budget for their sum comes from the optimised conversion. At epsilon = 1, delta = 1e-6 this admits 487 pure queries of
0.01 where the published form admits 349.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.adaptive.filters.intrinsic import largest_pure
from dosimeter.adaptive.filters.sums import left, read_declared
from dosimeter.adaptive.filters.zcdp import ConcentratedSumFilter, ZCDPState
from dosimeter.exact import ZERO, Number, amount
from dosimeter.notions import ZCDP, ApproxDP
from dosimeter.notions.convert import largest_zcdp_for_approx, zcdp_to_approx


@final
@dataclass(frozen=True, slots=True)
class ApproxFilter(ConcentratedSumFilter):
    """Admits delta_m-approximate rho_m-zCDP queries while sum rho_m <= `rho` and sum delta_m <= `declared_delta`.

    `rho` is the largest with declared_delta + (1 - declared_delta) delta_zCDP(rho, epsilon) <= delta, rounded down.

    Guarantee:
        The whole interaction is (epsilon, delta)-DP under full adaptivity; more than that, it is
        declared_delta-approximate rho-zCDP, so it has a delta at every epsilon at once (`delta_at`). Queries may be
        (epsilon_m, delta_m)-DP: each is delta_m-approximate (epsilon_m tanh(epsilon_m/2))-zCDP.

    Args:
        epsilon: the budget, in nats, in [1e-300, 1e12]; a ratio is rounded down.
        delta: the probability of failure of the whole interaction, in [1e-300, 1).
        declared_delta: the part of delta kept for failures of approximate mechanisms, 0 or below delta. With 0 only
            mechanisms that never fail (Gaussian, Laplace, pure ones) are admitted.

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023, "Fully-Adaptive Composition in Differential Privacy", Theorems 1 and 2,
        with the conversion of Canonne, Kamath, Steinke 2020 and the tight constant of pure DP in place of epsilon^2/2.
    """

    epsilon: Decimal
    delta: Decimal
    declared_delta: Decimal = ZERO
    rho: Decimal = field(init=False, compare=False)
    kind: ClassVar[str] = "approx"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, below_one=True))
        object.__setattr__(self, "declared_delta", read_declared(self.declared_delta, self.delta))
        object.__setattr__(self, "rho", largest_zcdp_for_approx(self.epsilon, self.delta, self.declared_delta))

    def caps(self) -> dict[str, Decimal]:
        """The caps on the sum of rhos and on the sum of declared deltas."""
        return {"rho": self.rho, "delta": self.declared_delta}

    def equivalents(self, state: ZCDPState) -> dict[str, Decimal]:
        """The largest epsilon of one more pure query that fits."""
        return {"largest_epsilon": largest_pure(left(self.sums(state), self.caps())["rho"])}

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction."""
        return ApproxDP(self.epsilon, self.delta)

    def profile_guarantee(self) -> ZCDP:
        """What holds besides: declared_delta-approximate rho-zCDP, hence a delta at every epsilon at once."""
        return ZCDP(self.rho, self.declared_delta)

    def delta_at(self, epsilon: Number) -> Decimal:
        """The delta of the whole interaction at another epsilon, rounded up; it holds for all epsilons at once.

        Args:
            epsilon: in nats, at least 0.
        """
        return zcdp_to_approx(self.profile_guarantee(), target_epsilon=epsilon).delta
