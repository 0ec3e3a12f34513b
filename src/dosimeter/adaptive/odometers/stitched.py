"""The stitched odometer: a line for every doubling of the intrinsic time, lowest of all in the very long run."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, final

from dosimeter.adaptive.boundaries import (
    lowest_epochs,
    read_probability,
    stitched_envelope,
    stitched_rounded,
    stitching_line,
)
from dosimeter.adaptive.odometers.reading import BettingOdometer, Timed, pointwise_time
from dosimeter.adaptive.roots import log_of_sum
from dosimeter.enclosure import ball
from dosimeter.errors import InputError
from dosimeter.exact import amount, show

if TYPE_CHECKING:
    from dosimeter.adaptive.roots import ValueAndSlope
    from dosimeter.enclosure import Ball

FORMS: Final = {"envelope": stitched_envelope, "rounded": stitched_rounded}


@final
@dataclass(frozen=True, slots=True)
class StitchedOdometer(BettingOdometer):
    """Lines for the epochs [start 2^k, start 2^(k+1)), each with its own share of `delta`.

    Guarantee:
        For pure zCDP rounds chosen with full adaptivity, the loss never exceeds its reading, except with
        probability `delta`.

    Args:
        delta: crossing probability, in (0, 1).
        start: the smallest intrinsic time that matters, > 0; a larger one reads lower everywhere beyond it.
        form: "envelope", the lowest line (default), or "rounded", the published closed form.

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023 (stitched odometer); Howard et al. 2021, Theorem 1.
    """

    delta: Decimal
    start: Decimal
    form: str = "envelope"
    kind: ClassVar[str] = "stitched"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_probability(self.delta))
        object.__setattr__(self, "start", amount(self.start, "start"))
        if self.form not in FORMS:
            raise InputError(f"form={show(self.form)} is unknown; use one of: {', '.join(FORMS)}")

    def bound(self, state: Timed) -> Decimal:
        """The reading, rounded up."""
        return FORMS[self.form](pointwise_time(state), self.delta, self.start)

    def log_wealth(self, time: Decimal) -> ValueAndSlope:
        """Log of the weighted lines' supermartingale as a function of L - V/2; far lines are dropped."""
        terms = []
        for epoch in lowest_epochs(time, self.delta, self.start, keep=8):
            tilt, _, log_share = stitching_line(epoch, self.delta, self.start)
            terms.append((log_share - tilt * tilt * ball(time) / 2, tilt))

        def evaluate(excess: Ball) -> tuple[Ball, Ball]:
            return log_of_sum(terms, excess)

        return evaluate
