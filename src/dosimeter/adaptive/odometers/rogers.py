"""The first published odometer, kept for comparison: it needs a public number of records and reads higher."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, final

from dosimeter.adaptive.boundaries import INVERSE_E, read_probability, rogers
from dosimeter.adaptive.odometers.reading import LossOdometer, require_pointwise
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import count


@final
@dataclass(frozen=True, slots=True)
class RogersOdometer(LossOdometer):
    """For comparison only; reads the states of a Rogers filter: sum epsilon^2 and sum epsilon (e^epsilon - 1)/2.

    Guarantee:
        For pure DP rounds chosen with full adaptivity, the loss never exceeds its reading, except with probability
        `delta`.

    Args:
        delta: crossing probability, in (0, 1/e].
        data_size: the number of records, at least 2; using it here publishes it.

    Reference:
        Rogers, Roth, Ullman, Vadhan 2016, "Privacy Odometers and Filters"; constants re-proved by stitching and by
        the normal mixture.
    """

    delta: Decimal
    data_size: int
    kind: ClassVar[str] = "rogers"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_probability(self.delta))
        if self.delta > INVERSE_E:
            raise InputError(f"delta={self.delta} is above 1/e, where this odometer is not proven; give a smaller one")
        object.__setattr__(self, "data_size", count(self.data_size, "data_size", smallest=2, largest=10**15))

    def bound(self, state: Any) -> Decimal:
        """The reading, rounded up."""
        require_pointwise(state)
        if not isinstance(getattr(state, "drift", None), Decimal):
            raise NoGuaranteeError("this state keeps no sum of epsilon (e^epsilon - 1)/2; only Rogers filters do")
        return rogers(state.sum_of_squares, state.drift, self.delta, self.data_size)
