"""Adding squares of mu: exact for Gaussian noise, with nothing lost to adaptivity."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, final

from dosimeter.adaptive.filters.sums import SumFilter, left, require_sums
from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_down, multiply_up, sqrt_down, sqrt_up
from dosimeter.notions import GDP

LARGEST_MU = Decimal("1e6")


@final
@dataclass(frozen=True, slots=True)
class GDPState:
    """Running sums over the admitted queries: squares of mu, and deltas."""

    mu_squared: Decimal = ZERO
    delta: Decimal = ZERO

    def __post_init__(self) -> None:
        require_sums(self)

    @property
    def intrinsic_time(self) -> Decimal:
        """V = 2 sum rho with rho = mu^2 / 2."""
        return self.mu_squared


@final
@dataclass(frozen=True, slots=True)
class GDPFilter(SumFilter[GDPState, GDP]):
    """Admits (mu_m, delta_m)-approximate GDP queries while sum mu_m^2 <= `mu`^2 and sum delta_m <= `delta`.

    Deltas are added. The theorem would also allow the slightly larger set 1 - prod(1 - delta_m) <= delta; for the
    deltas people use the difference is in the sixth digit and beyond, and a plain sum is one that people can check.

    Guarantee:
        The whole interaction is (mu, delta)-approximate GDP under full adaptivity.

    Args:
        mu: the budget, in [1e-300, 1e6]; a ratio is rounded down.
        delta: the budget for failures of approximate mechanisms, 0 or in [1e-300, 1).

    Reference:
        Smith, Thakurta 2022, "Fully Adaptive Composition for Gaussian Differential Privacy", main theorem; Koskela,
        Tobaben, Honkela 2023, "Individual Privacy Accounting with Gaussian Differential Privacy". With delta: round m
        is a randomised image of an increment of length mu_m^2 of a Brownian motion with drift 0 or 1, and of an
        independent clock that reveals everything at rate 1 and runs for -log(1 - delta_m). Increments are independent
        and stationary and the lengths are known from the past, so the transcript is an image of the two paths up to
        mu^2 and -log(1 - delta).
    """

    mu: Decimal
    delta: Decimal = ZERO
    kind: ClassVar[str] = "gdp"
    notion: ClassVar[str] = "gdp"
    state_type: ClassVar[type[GDPState]] = GDPState
    loss_type: ClassVar[type[GDP]] = GDP

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", amount(self.mu, "mu", round_up=False, largest=LARGEST_MU))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, zero=True, below_one=True))

    def start(self) -> GDPState:
        """Nothing spent."""
        return GDPState()

    def caps(self) -> dict[str, Decimal]:
        """The caps on the two sums."""
        return {"mu_squared": multiply_down(self.mu, self.mu), "delta": self.delta}

    def sums(self, state: GDPState) -> dict[str, Decimal]:
        """The sums of the admitted squares and deltas."""
        return {"mu_squared": state.mu_squared, "delta": state.delta}

    def asked(self, state: GDPState, loss: GDP, count: int) -> dict[str, Decimal]:  # noqa: ARG002
        """The loss's square and delta."""
        return {"mu_squared": multiply_up(loss.mu_squared(), count), "delta": multiply_up(loss.delta, count)}

    def advance(self, state: GDPState, loss: GDP, count: int) -> GDPState:
        """Add the square and the delta."""
        square = multiply_up(loss.mu_squared(), count)
        return GDPState(add_up(state.mu_squared, square), add_up(state.delta, multiply_up(loss.delta, count)))

    def equivalents(self, state: GDPState) -> dict[str, Decimal]:
        """The largest mu that still fits: the root of what is left."""
        return {"largest_mu": sqrt_down(left(self.sums(state), self.caps())["mu_squared"])}

    def guarantee(self) -> GDP:
        """(mu, delta)-approximate GDP for the whole interaction."""
        return GDP(self.mu, self.delta)

    def running_sum(self, state: GDPState) -> GDP:
        """The admitted losses added up: what happened so far, not a guarantee for a run that stops on its answers."""
        return GDP(sqrt_up(state.mu_squared), min(ONE, state.delta))
