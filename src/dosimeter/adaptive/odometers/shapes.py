"""Shapes of boundaries: how the part of a reading beyond the drift V/2 may grow with the intrinsic time V.

A computed odometer reads V/2 + c g(V). The shape g is chosen, the scale c is computed. Every shape here is concave
(apart from the flat start of the square root), does not fall, and is positive from V = 0 on; that is all that the
computations ask of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final, final

from dosimeter.adaptive.boundaries import mixture, read_probability, read_time, stitched_envelope
from dosimeter.adaptive.odometers.tuning import gamma_one_sided
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.exact import Number, amount, multiply_down, multiply_up, show, sqrt_up, subtract_up

SQUARE_ROOT, LINE, MIXTURE, STITCHED = "square_root", "line", "mixture", "stitched"
SHAPES: Final[dict[str, str]] = {
    SQUARE_ROOT: "sqrt(max(V, parameter)): the same multiple of a standard deviation at every time from `parameter` on",
    LINE: "(parameter + V) / (2 sqrt(parameter)): touches the square root at V = parameter",
    MIXTURE: "the mixture odometer's with gamma = parameter; the scale is at most 1",
    STITCHED: "the lowest stitching line's with start = parameter; the scale is at most 1",
}
_HALF: Final = Decimal("0.5")
_OCTAVES: Final = 40


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """One shape.

    Args:
        name: a key of `SHAPES`.
        parameter: an intrinsic time, > 0; what it means depends on the shape.
        delta: the crossing probability that mixture and stitched lines are for, in (0, 1).
    """

    name: str
    parameter: Decimal
    delta: Decimal

    def __post_init__(self) -> None:
        if self.name not in SHAPES:
            raise InputError(f"shape={show(self.name)} is unknown; use one of: {', '.join(SHAPES)}")
        object.__setattr__(self, "parameter", amount(self.parameter, "parameter"))
        object.__setattr__(self, "delta", read_probability(self.delta))

    def excess(self, intrinsic_time: Number) -> Decimal:
        """g(V), rounded up, to about 25 digits."""
        return _excess(self, read_time(intrinsic_time))

    def reading(self, intrinsic_time: Number, scale: Decimal) -> Decimal:
        """V/2 + scale g(V), rounded up.

        Raises:
            InputError: the time is outside its range.
        """
        time = read_time(intrinsic_time)
        moved = multiply_up(self.excess(time), scale)
        return up(enclose(lambda: ball(moved) + ball(time) / 2))

    def pieces(self, horizon: Decimal, steps: int) -> tuple[tuple[Decimal, Decimal, int], ...]:
        """The range of time as (start, end, number of equal steps): finer towards 0, where shapes bend most.

        Raises:
            InputError: the range is too long for the parameter.
        """
        if self.name == LINE:
            return ((Decimal(0), horizon, 1),)
        first = min(self.parameter, horizon)
        found = [(Decimal(0), first, 1 if self.name == SQUARE_ROOT else steps)]
        while first < horizon:
            after = min(2 * first, horizon)
            found.append((first, after, steps))
            first = after
        if len(found) > _OCTAVES:
            raise InputError(
                f"horizon={horizon} is more than 2^{_OCTAVES} times parameter={self.parameter}; take a larger parameter"
            )
        return tuple(found)


def tuned_parameter(name: str, horizon: Decimal, delta: Decimal) -> Decimal:
    """A parameter that suits readings up to a horizon: lowest around the last tenth of it.

    Guarantee: none is needed; every positive parameter is valid.

    Args:
        name: a key of `SHAPES`.
        horizon: the largest intrinsic time, > 0.
        delta: crossing probability, in (0, 1).
    """
    tenth = max(multiply_down(horizon, Decimal("0.1")), Decimal("1e-300"))
    if name == MIXTURE:
        return gamma_one_sided(multiply_up(horizon, _HALF), delta)
    return multiply_up(horizon, _HALF) if name == LINE else tenth


def scale_guess(shape: Shape) -> float:
    """About the scale at which a boundary of the shape is crossed with the shape's delta."""
    if shape.name in {MIXTURE, STITCHED}:
        return 1.0
    return float((-2 * shape.delta.ln()).sqrt()) + 0.3


@lru_cache(maxsize=1 << 16)
def _excess(shape: Shape, time: Decimal) -> Decimal:
    start = shape.parameter
    if shape.name == SQUARE_ROOT:
        return sqrt_up(max(time, start))
    if shape.name == LINE:
        return up(enclose(lambda: (ball(start) + ball(time)) / (2 * ball(start).sqrt())))
    curve = mixture if shape.name == MIXTURE else stitched_envelope
    return subtract_up(curve(time, shape.delta, start), multiply_down(time, _HALF))
