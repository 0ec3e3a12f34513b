"""The filter odometer: one straight line, as low as advanced composition at the intrinsic time it is tuned for."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, final

from dosimeter.adaptive.boundaries import line, log_one_over, read_probability
from dosimeter.adaptive.odometers.reading import BettingOdometer, Timed, pointwise_time
from dosimeter.adaptive.odometers.tuning import line_target
from dosimeter.enclosure import ball
from dosimeter.exact import Number, amount

if TYPE_CHECKING:
    from dosimeter.adaptive.roots import ValueAndSlope


@final
@dataclass(frozen=True, slots=True)
class FilterOdometer(BettingOdometer):
    """The line tangent to advanced composition at V = `target`.

    Guarantee:
        For pure zCDP rounds (pure DP and Gaussian ones included) chosen with full adaptivity, the loss never exceeds
        its reading, except with probability `delta`.

    Args:
        delta: crossing probability, in (0, 1).
        target: the intrinsic time the line is tuned for, > 0.

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 4 and the filter odometer.
    """

    delta: Decimal
    target: Decimal
    kind: ClassVar[str] = "filter"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_probability(self.delta))
        object.__setattr__(self, "target", amount(self.target, "target"))

    @classmethod
    def tuned(cls, *, delta: Number, epsilon: Number) -> FilterOdometer:
        """Tangent to advanced composition where its value is `epsilon`."""
        share = read_probability(delta)
        return cls(share, line_target(epsilon, share))

    def bound(self, state: Timed) -> Decimal:
        """The reading, rounded up."""
        return line(pointwise_time(state), self.delta, self.target)

    def log_wealth(self, time: Decimal) -> ValueAndSlope:
        """Log of the supermartingale behind the line as a function of L - V/2, with its slope."""
        tilt = (2 * log_one_over(self.delta) / ball(self.target)).sqrt()
        paid = tilt * tilt * ball(time) / 2
        return lambda excess: (tilt * excess - paid, tilt)
