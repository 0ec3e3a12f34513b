"""Gaussian differential privacy: no test tells the neighbours apart better than N(0, 1) from N(mu, 1)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_up, sqrt_up
from dosimeter.notions.law import read_runs, require_same_notion


@final
@dataclass(frozen=True, slots=True)
class GDP:
    """(mu, delta)-approximate Gaussian DP: with probability delta everything is revealed, else mu-GDP.

    Composition: squares of mu add; the probabilities of not failing multiply, and deltas are added here, which is
    never less.

    Args:
        mu: 0 or in [1e-300, 1e6].
        delta: 0 or in [1e-300, 1].
    """

    mu: Decimal
    delta: Decimal = ZERO
    notion: ClassVar[str] = "gdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", amount(self.mu, "mu", zero=True, largest=Decimal("1e6")))
        object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, largest=ONE))

    def mu_squared(self) -> Decimal:
        """The quantity that adds up, rounded up."""
        return multiply_up(self.mu, self.mu)

    def compose(self, other: GDP) -> GDP:
        """The guarantee of both together."""
        require_same_notion(self, other)
        mu = sqrt_up(add_up(self.mu_squared(), other.mu_squared()))
        return GDP(mu, min(ONE, add_up(self.delta, other.delta)))

    def repeat(self, count: int) -> GDP:
        """The guarantee of `count` runs."""
        count = read_runs(count)
        return GDP(sqrt_up(multiply_up(self.mu_squared(), count)), min(ONE, multiply_up(self.delta, count)))
