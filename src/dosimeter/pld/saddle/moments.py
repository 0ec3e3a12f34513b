"""Real moments of one law, with certified ends: what Renyi divergences are made of."""

from __future__ import annotations

import functools
import math

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.allocation.line import is_allocated
from dosimeter.pld.allocation.line import log_moment as allocated_moment
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.primitive import log_of
from dosimeter.pld.saddle import theta
from dosimeter.pld.saddle.characteristic import tilt
from dosimeter.pld.saddle.quadrature import join, part_points

_LEFT_OUT = 1e-300


@functools.lru_cache(maxsize=4096)
def log_moment(law: Law, direction: Direction, order: float) -> tuple[float, float]:
    """Bounds of log E_P[e^(order L)] over finite losses, for order > 0; nothing is cut off.

    A law of infinitely many points is summed over all but P-mass 1e-300; its upper end is infinite.
    """
    square = law.gaussian
    if square is not None:
        value = order * (order + 1) * float(square) / 2 + log_of(1 - law.infinite(direction))
        return _around(value, 16 * UNIT * (abs(value) + 1e-300))
    if is_allocated(law):
        return _outwards(*allocated_moment(law, direction, order))
    if theta.is_smooth(law):
        return _around(*theta.log_moment(law, order))
    parts = law.parts(direction, _LEFT_OUT)
    points = join([part_points(part, [(0.0, 0.0), (order, 0.0)], 0.0) for part in parts])
    tilted = tilt(points, order, log_of(1 - law.infinite(direction)))
    if not math.isfinite(tilted.log_moment):
        raise NoGuaranteeError(f"the moment of order {order:g} of a {law.kind} law is beyond floating point")
    low, high = _around(tilted.log_moment, tilted.log_error)
    return low, math.inf if points.cut else high


def _around(value: float, error: float) -> tuple[float, float]:
    return _outwards(value - error, value + error)


def _outwards(low: float, high: float) -> tuple[float, float]:
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
