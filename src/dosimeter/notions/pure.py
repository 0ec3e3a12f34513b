"""Pure differential privacy: the privacy loss never exceeds epsilon in absolute value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.exact import add_up, amount, multiply_up
from dosimeter.notions.law import read_runs, require_same_notion


@final
@dataclass(frozen=True, slots=True)
class PureDP:
    """epsilon-DP. Composition: epsilons add.

    Args:
        epsilon: privacy loss bound, in nats, 0 or in [1e-300, 1e12].
    """

    epsilon: Decimal
    notion: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", zero=True))

    def compose(self, other: PureDP) -> PureDP:
        """The guarantee of both together, for parameters fixed in advance."""
        require_same_notion(self, other)
        return PureDP(add_up(self.epsilon, other.epsilon))

    def repeat(self, count: int) -> PureDP:
        """The guarantee of `count` runs."""
        count = read_runs(count)
        return PureDP(multiply_up(self.epsilon, count))
