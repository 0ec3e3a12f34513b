"""The mixture odometer: tight over a wide range of intrinsic times, and the default."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, final

from dosimeter.adaptive.boundaries import mixture, mixture_wealth, read_probability
from dosimeter.adaptive.odometers.reading import BettingOdometer, Timed, pointwise_time
from dosimeter.adaptive.odometers.tuning import gamma_one_sided
from dosimeter.enclosure import ball
from dosimeter.exact import Number, amount

if TYPE_CHECKING:
    from dosimeter.adaptive.roots import ValueAndSlope
    from dosimeter.enclosure import Ball


@final
@dataclass(frozen=True, slots=True)
class MixtureOdometer(BettingOdometer):
    """The exact boundary of a one-sided normal mixture of width `gamma`.

    Guarantee:
        For pure zCDP rounds chosen with full adaptivity, the loss never exceeds its reading, except with
        probability `delta`.

    Args:
        delta: crossing probability, in (0, 1).
        gamma: width of the mixture, > 0.

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023 (mixture odometer); Howard, Ramdas, McAuliffe, Sekhon 2021.
    """

    delta: Decimal
    gamma: Decimal
    kind: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_probability(self.delta))
        object.__setattr__(self, "gamma", amount(self.gamma, "gamma"))

    @classmethod
    def tuned(cls, *, delta: Number, intrinsic_time: Number) -> MixtureOdometer:
        """As low as a mixture can be at this intrinsic time (about 5 percent above advanced composition at 1e-6)."""
        share = read_probability(delta)
        return cls(share, gamma_one_sided(intrinsic_time, share))

    def bound(self, state: Timed) -> Decimal:
        """The reading, rounded up."""
        return mixture(pointwise_time(state), self.delta, self.gamma)

    def log_wealth(self, time: Decimal) -> ValueAndSlope:
        """Log of the supermartingale behind the boundary as a function of L - V/2, with its slope."""
        spread = (ball(time) + ball(self.gamma)).sqrt()
        standardised = mixture_wealth(ball(time), ball(self.gamma))

        def evaluate(excess: Ball) -> tuple[Ball, Ball]:
            value, slope = standardised(excess / spread)
            return value, slope / spread

        return evaluate
