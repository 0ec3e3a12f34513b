"""Roots of increasing convex functions, from above: every time-uniform boundary without a closed form is one.

The logarithm of a supermartingale, as a function of the loss, is convex and increasing. The boundary is the loss at
which it reaches log(1/delta). Newton's method from a point above the root stays above it, and the point that is
returned is certified: the ball of the function there is not negative, so the true root is not above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from dosimeter.enclosure import precision
from dosimeter.errors import NoGuaranteeError

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

    ValueAndSlope: TypeAlias = Callable[[Ball], tuple[Ball, Ball]]

_FIRST_BITS: Final = 192
_LAST_BITS: Final = 4096
_SETTLED_BITS: Final = 96
_STEPS: Final = 400


def root_from_above(prepare: Callable[[], tuple[ValueAndSlope, Ball]]) -> Ball:
    """A point where an increasing convex function is certainly not negative, within about 1e-27 of its root.

    Args:
        prepare: makes, at the precision in force, the function with its derivative (which only steers) and a point at
            or above the root.

    Raises:
        NoGuaranteeError: no such point was certified (the input is outside every sensible range).
    """
    bits = _FIRST_BITS
    while bits <= _LAST_BITS:
        with precision(bits):
            point = _descend(*prepare())
            if point is not None:
                return point
        bits *= 2
    raise NoGuaranteeError(f"a boundary could not be enclosed with {_LAST_BITS} bits")


def log_of_sum(terms: list[tuple[Ball, Ball]], x: Ball) -> tuple[Ball, Ball]:
    """log sum exp(c + t x) over the terms (c, t), with its slope in x: a mixture of exponential supermartingales."""
    total, slope = x * 0, x * 0
    for constant, tilt in terms:
        term = (constant + tilt * x).exp()
        total, slope = total + term, slope + tilt * term
    return total.log(), slope / total


def _descend(value_and_slope: ValueAndSlope, start: Ball) -> Ball | None:
    import flint

    if not start.is_finite():
        return None
    point = start.mid()
    resolution = flint.arb(2) ** -_SETTLED_BITS
    for _ in range(_STEPS):
        value, slope = value_and_slope(point)
        step = (value / slope).mid()
        if not step.is_finite():
            return None
        point = (point - step).mid()
        if abs(step) <= abs(point) * resolution:
            break
    nudge = abs(point) * resolution * 4
    for _ in range(64):
        point = (point + nudge).mid()
        if value_and_slope(point)[0] >= 0:
            return point
        nudge *= 2
    return None
