"""Approximate differential privacy: the hockey-stick divergence at e^epsilon is at most delta, both ways."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_up
from dosimeter.notions.law import read_runs, require_same_notion


@final
@dataclass(frozen=True, slots=True)
class ApproxDP:
    """(epsilon, delta)-DP. Composition: epsilons add, deltas add (basic composition).

    Args:
        epsilon: in nats, 0 or in [1e-300, 1e12].
        delta: 0 or in [1e-300, 1]; 1 means that nothing is promised.
    """

    epsilon: Decimal
    delta: Decimal = ZERO
    notion: ClassVar[str] = "approx"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", zero=True))
        object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, largest=ONE))

    def compose(self, other: ApproxDP) -> ApproxDP:
        """The guarantee of both together, for parameters fixed in advance."""
        require_same_notion(self, other)
        return ApproxDP(add_up(self.epsilon, other.epsilon), min(ONE, add_up(self.delta, other.delta)))

    def repeat(self, count: int) -> ApproxDP:
        """The guarantee of `count` runs."""
        count = read_runs(count)
        return ApproxDP(multiply_up(self.epsilon, count), min(ONE, multiply_up(self.delta, count)))
