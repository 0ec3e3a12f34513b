"""Several odometers at once, each with its own share of delta: as low as the lowest of them, everywhere.

All of them hold at the same time except with the sum of their probabilities, so the minimum is valid. Where each one
is a supermartingale of the same loss, averaging those with weights proportional to the shares is valid too, and never
higher than the minimum: if one of them alone has reached its level, so has the average.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from dosimeter.adaptive.boundaries import log_one_over
from dosimeter.adaptive.odometers.reading import BettingOdometer, LossOdometer, pointwise_time
from dosimeter.adaptive.roots import root_from_above
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.exact import ONE, add_up, multiply_down, show

if TYPE_CHECKING:
    from dosimeter.adaptive.roots import ValueAndSlope
    from dosimeter.enclosure import Ball

COMBINATIONS: Final = ("minimum", "average")
MOST_PARTS: Final = 64


@final
@dataclass(frozen=True, slots=True)
class UnionOdometer(LossOdometer):
    """The lowest of several loss odometers, or the boundary of their average.

    Guarantee:
        The loss never exceeds its reading, except with the sum of the parts' crossing probabilities; the reading is
        never above the lowest part.

    Args:
        parts: loss odometers, 1 to 64, whose crossing probabilities add up to less than 1.
        combine: "minimum" (default), or "average" for the average of the supermartingales (filter, mixture and
            stitched odometers only).

    Reference:
        Union bound; a convex combination of supermartingales is a supermartingale (Ville 1939).
    """

    parts: tuple[LossOdometer, ...]
    combine: str = "minimum"
    kind: ClassVar[str] = "union"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not 1 <= len(self.parts) <= MOST_PARTS:
            raise InputError(f"a union has 1 to {MOST_PARTS} parts, not {len(self.parts)}")
        wanted = BettingOdometer if self.combine == "average" else LossOdometer
        for part in self.parts:
            if not isinstance(part, wanted):
                raise InputError(f"a {type(part).__name__} cannot be part of a union that takes the {self.combine}")
        if self.combine not in COMBINATIONS:
            raise InputError(f"combine={show(self.combine)} is unknown; use one of: {', '.join(COMBINATIONS)}")
        if self.crossing_probability >= ONE:
            raise InputError(f"the parts' crossing probabilities add up to {self.crossing_probability}, not below 1")

    @property
    def crossing_probability(self) -> Decimal:
        """The parts' crossing probabilities added up."""
        return add_up(*(part.crossing_probability for part in self.parts))

    def bound(self, state: Any) -> Decimal:
        """The reading, rounded up."""
        lowest = min(part.bound(state) for part in self.parts)
        return lowest if self.combine == "minimum" else min(lowest, self._averaged(pointwise_time(state), lowest))

    def _averaged(self, time: Decimal, lowest: Decimal) -> Decimal:
        parts = [(part, part.crossing_probability) for part in self.parts if isinstance(part, BettingOdometer)]
        total = self.crossing_probability

        half = multiply_down(time, Decimal("0.5"))

        def prepare() -> tuple[ValueAndSlope, Ball]:
            level = log_one_over(total)
            bets = [(ball(share) / ball(total), part.log_wealth(time)) for part, share in parts]

            def gap(excess: Ball) -> tuple[Ball, Ball]:
                wealth, rise = ball(0), ball(0)
                for weight, bet in bets:
                    log_part, slope = bet(excess)
                    term = weight * log_part.exp()
                    wealth, rise = wealth + term, rise + slope * term
                return wealth.log() - level, rise / wealth

            return gap, ball(lowest) - ball(half)

        excess = root_from_above(prepare)
        return up(enclose(lambda: excess + ball(time) / 2))
