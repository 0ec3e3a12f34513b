"""Zero-concentrated differential privacy, with an optional probability delta of failure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_up
from dosimeter.notions.law import read_runs, require_same_notion


@final
@dataclass(frozen=True, slots=True)
class ZCDP:
    """delta-approximate rho-zCDP: every Renyi divergence of order a is at most rho a, outside a failure of delta.

    Composition: rhos add; the probabilities of not failing multiply, and deltas are added here, which is never less.

    Args:
        rho: 0 or in [1e-300, 1e12].
        delta: 0 or in [1e-300, 1].
    """

    rho: Decimal
    delta: Decimal = ZERO
    notion: ClassVar[str] = "zcdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", amount(self.rho, "rho", zero=True))
        object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, largest=ONE))

    def compose(self, other: ZCDP) -> ZCDP:
        """The guarantee of both together."""
        require_same_notion(self, other)
        return ZCDP(add_up(self.rho, other.rho), min(ONE, add_up(self.delta, other.delta)))

    def repeat(self, count: int) -> ZCDP:
        """The guarantee of `count` runs."""
        count = read_runs(count)
        return ZCDP(multiply_up(self.rho, count), min(ONE, multiply_up(self.delta, count)))
