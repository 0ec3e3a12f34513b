"""Computed odometers for Gaussian noise: boundaries that are crossed exactly as often as they may be.

The loss of Gaussian releases, chosen with full adaptivity, is a Brownian motion with drift 1/2 on the intrinsic time
V = sum mu^2: whatever an analyst does only decides when it is looked at. So the worst case of a boundary is a number,
the probability that the motion ever crosses it, and the lowest boundary of a shape on a range of times can be computed.

That is a statement about the loss of Gaussian releases. Other mechanisms may well be *dominated* by Gaussian noise, and
GDP accounts add up just that, but then their losses are not: a loss of two or none may become a loss of one that is
certain. For them there is `stopped_gaussian`.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar, Final, final

from dosimeter.adaptive.odometers.computed import require_certified, tightest_scale
from dosimeter.adaptive.odometers.reading import LossOdometer
from dosimeter.adaptive.odometers.shapes import SQUARE_ROOT, Shape, scale_guess, tuned_parameter
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import Composed, Event, Gaussian, Repeated
from dosimeter.events.event import require_event
from dosimeter.exact import (
    ONE,
    ZERO,
    Number,
    add_up,
    amount,
    count,
    divide_up,
    multiply_up,
    text,
)

_CELLS: Final = 32
_STEPS: Final = 16
_ROUGH: Final = 8
_LARGEST: Final = Decimal("1e9")
_SMALLEST_DELTA: Final = Decimal("1e-30")
_FLOATS: Final = 1 - 1e-12  # a float of a reading, moved below it


@final
@dataclass(frozen=True, slots=True)
class GaussianRecord:
    """The intrinsic time of Gaussian releases: the sum of their (sensitivity / sigma)^2, rounded up."""

    intrinsic_time: Decimal = ZERO

    def __post_init__(self) -> None:
        object.__setattr__(self, "intrinsic_time", amount(self.intrinsic_time, "intrinsic_time", zero=True))

    @property
    def delta(self) -> Decimal:
        """Nothing fails: every odometer that reads an intrinsic time may read the record."""
        return ZERO


@final
@dataclass(frozen=True, slots=True)
class GaussianOdometer(LossOdometer):
    """V/2 + scale g(V), for the loss of Gaussian releases while V is at most `horizon`.

    Guarantee:
        For Gaussian releases chosen with full adaptivity, at every moment at which V <= `horizon` the loss is at most
        its reading, except with probability `delta`. Neighbours that differ by less than the sensitivity only run on a
        slower clock, and readings do not fall. The releases are real numbers: rounding them is post-processing. Other
        releases do not qualify, dominated or not.

    Args:
        delta: crossing probability, in [1e-30, 1).
        shape: of the part beyond V/2, a key of `SHAPES`.
        parameter: of the shape, an intrinsic time, > 0.
        horizon: the largest intrinsic time that is read, in [1e-300, 1e9].
        scale: c; `computed` finds the smallest.
        steps: of time per doubling, in the computation.
        cells: lattice points per standard deviation of a step, in the computation.
        trusted: leaves out the check of the scale, which `verify` makes; for what was stored.

    Raises:
        InputError: the boundary is not certified to be crossed with probability at most `delta`.

    Reference:
        Time change of a martingale with Gaussian increments (Dambis, Dubins, Schwarz 1965); `passage` for the
        crossing probability.
    """

    delta: Decimal
    shape: str
    parameter: Decimal
    horizon: Decimal
    scale: Decimal
    steps: int = _STEPS
    cells: int = _CELLS
    trusted: InitVar[bool] = False
    kind: ClassVar[str] = "gaussian"
    certified: ClassVar[bool] = True

    def __post_init__(self, trusted: bool) -> None:
        shape = Shape(self.shape, self.parameter, self.delta)
        if shape.delta < _SMALLEST_DELTA:
            raise InputError(f"delta={self.delta} is below {_SMALLEST_DELTA}, where the computation has no digits left")
        object.__setattr__(self, "delta", shape.delta)
        object.__setattr__(self, "parameter", shape.parameter)
        object.__setattr__(self, "horizon", amount(self.horizon, "horizon", largest=_LARGEST))
        object.__setattr__(self, "scale", amount(self.scale, "scale"))
        object.__setattr__(self, "steps", count(self.steps, "steps", largest=64))
        object.__setattr__(self, "cells", count(self.cells, "cells", largest=64, smallest=4))
        shape.pieces(self.horizon, self.steps)  # refuses a range that is too long
        if not trusted:
            require_certified(self._crossing(), self.delta, self.scale)

    @classmethod
    def computed(
        cls, *, delta: Number, horizon: Number, shape: str = SQUARE_ROOT, parameter: Number | None = None
    ) -> GaussianOdometer:
        """The lowest boundary of a shape up to a horizon.

        Args:
            delta: crossing probability, in [1e-30, 1).
            horizon: the largest intrinsic time that is read, fixed before the interaction.
            shape: a key of `SHAPES`; the square root if not given.
            parameter: of the shape; one that suits the horizon if not given.

        Returns:
            The odometer with the smallest scale, to five digits, that is certified.
        """
        share, end = (
            amount(delta, "delta", round_up=False, below_one=True),
            amount(horizon, "horizon", largest=_LARGEST),
        )
        own = Shape(shape, tuned_parameter(shape, end, share) if parameter is None else parameter, share)  # type: ignore[arg-type]
        trial = cls(share, own.name, own.parameter, end, ONE, trusted=True)

        def crossing(scale: Decimal, steps: int = _STEPS, cells: int = _CELLS) -> float:
            return _crossing(own, end, scale, steps, cells)

        scale = tightest_scale(crossing, share, scale_guess(own), lambda c: crossing(c, _ROUGH, _ROUGH))
        return cls(trial.delta, own.name, own.parameter, end, scale, trusted=True)

    def verify(self) -> None:
        """Compute the certificate again.

        Raises:
            InputError: the boundary is crossed too often.
        """
        require_certified(self._crossing(), self.delta, self.scale)

    def crossing_upper(self) -> float:
        """The certified upper bound of the probability that the boundary is ever crossed up to the horizon."""
        return self._crossing()

    def start(self) -> GaussianRecord:
        """The record before the first release."""
        return GaussianRecord()

    def record(self, state: GaussianRecord, event: Event) -> GaussianRecord:
        """The record after one more release; the one given is not changed.

        Raises:
            NotionError: a part of the event is not Gaussian noise.
        """
        _own(state)
        require_event(event)
        return GaussianRecord(add_up(state.intrinsic_time, gaussian_time(event)))

    def bound(self, state: Any) -> Decimal:
        """The reading of a record, rounded up.

        Raises:
            NoGuaranteeError: the record is beyond the horizon.
        """
        _own(state)
        return self.reading(state.intrinsic_time)

    def reading(self, intrinsic_time: Number) -> Decimal:
        """The boundary at an intrinsic time, rounded up.

        Raises:
            NoGuaranteeError: the time is beyond the horizon.
        """
        time = amount(intrinsic_time, "intrinsic_time", zero=True)
        if time > self.horizon:
            raise NoGuaranteeError(
                f"the intrinsic time {text(time)} is beyond this odometer's horizon of {text(self.horizon)}, which is "
                "fixed before the interaction"
            )
        return Shape(self.shape, self.parameter, self.delta).reading(time, self.scale)

    def _crossing(self) -> float:
        own = Shape(self.shape, self.parameter, self.delta)
        return _crossing(own, self.horizon, self.scale, self.steps, self.cells)


def gaussian_time(event: Event) -> Decimal:
    """The intrinsic time of an event that is nothing but Gaussian noise, rounded up.

    Raises:
        NotionError: a part of it is something else.
    """
    if isinstance(event, Gaussian):
        mu = divide_up(event.l2_sensitivity, event.sigma)
        return multiply_up(mu, mu)
    if isinstance(event, Repeated):
        return multiply_up(gaussian_time(event.event), event.count)
    if isinstance(event, Composed):
        return add_up(ZERO, *(gaussian_time(part) for part in event.events))
    raise NotionError(
        f"the loss of a {event.kind} release is not Gaussian, and no bound on a Gaussian loss is one on it; use a "
        "mixture odometer, or keep a GDP account and read `StoppedGaussianOdometer`"
    )


@lru_cache(maxsize=256)
def _crossing(shape: Shape, horizon: Decimal, scale: Decimal, steps: int, cells: int) -> float:
    from dosimeter.adaptive.odometers.passage import Block, crossing_probability

    factor = float(scale) * _FLOATS
    blocks = []
    for start, end, number in shape.pieces(horizon, steps):
        heights = [factor * height for height in _heights(shape, start, end, number)]
        blocks.append(Block(float(end - start) / number * (1 + 1e-15), heights))
    return crossing_probability(blocks, cells=cells)


@lru_cache(maxsize=1024)
def _heights(shape: Shape, start: Decimal, end: Decimal, number: int) -> tuple[float, ...]:
    """The shape at the ends of equal steps, not above it."""
    return tuple(float(shape.excess(start + (end - start) * i / number)) * _FLOATS for i in range(number + 1))


def _own(state: object) -> None:
    if not isinstance(state, GaussianRecord):
        raise InputError(
            f"a {type(state).__name__} is not a record of Gaussian releases; fold events with `start` and `record`, "
            "or read a GDP account with `StoppedGaussianOdometer`"
        )


__all__ = ["GaussianOdometer", "GaussianRecord", "gaussian_time"]
