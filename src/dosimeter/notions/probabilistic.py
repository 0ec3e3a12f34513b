"""Probabilistic differential privacy: the loss exceeds epsilon with probability at most delta.

Stronger than (epsilon, delta)-DP and not closed under post-processing: a pDP claim is about the released object
itself, and only odometers for the actual loss need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.exact import ONE, ZERO, add_up, amount
from dosimeter.notions.law import require_same_notion


@final
@dataclass(frozen=True, slots=True)
class ProbabilisticDP:
    """(epsilon, delta)-pDP: P(|L| > epsilon) <= delta under both neighbours, infinite losses counted.

    Args:
        epsilon: in nats, 0 or in [1e-300, 1e12].
        delta: 0 or in [1e-300, 1].
    """

    epsilon: Decimal
    delta: Decimal = ZERO
    notion: ClassVar[str] = "probabilistic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", zero=True))
        object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, largest=ONE))

    def compose(self, other: ProbabilisticDP) -> ProbabilisticDP:
        """The guarantee of both together: a union bound over the two exceptional events."""
        require_same_notion(self, other)
        return ProbabilisticDP(add_up(self.epsilon, other.epsilon), min(ONE, add_up(self.delta, other.delta)))
