"""One planned mechanism as P-masses on the lattice of its plan: the same doubles wherever they are computed.

The masses are those of the chords of the exact divergence between lattice points, so the lattice law is never below
the mechanism and is a dominating pair of its own. Each is enclosed in balls and rounded up to a double.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import ball, precision
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Direction, Law

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_BITS: Final = 320
_CLOSE: Final = 2.0**-80  # masses are enclosed so closely, relative to themselves, before they are rounded
MOST_POINTS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class LatticeLaw:
    """P-mass `masses[i]` at the loss ``step * (first + i)`` and `infinite` at infinity.

    These numbers are the law: whatever rounding led to them, they are never below the mechanism.
    """

    step: float
    first: int
    masses: tuple[float, ...]
    infinite: float


@lru_cache(maxsize=64)
def lattice_law(law: Law, direction: Direction, step: Fraction, reach: int) -> LatticeLaw:
    """A law on the lattice points from -reach to reach steps; what lies above counts as infinite, below it moves up.

    Args:
        law: one of the laws with a closed form.
        direction: which data set is P.
        step: a double.
        reach: steps on either side.

    Raises:
        NoGuaranteeError: the law has no closed form, or the lattice is too long.
    """
    from dosimeter.adaptive.residue.exact_profile import divergence

    low, high = law.support(direction)
    first = max(-reach, math.floor(low / float(step)) - 1) if math.isfinite(low) else -reach
    last = min(reach, math.ceil(high / float(step)) + 1) if math.isfinite(high) else reach
    if last - first > MOST_POINTS:
        raise NoGuaranteeError(f"a {law.kind} law reaches over {last - first} points of the plan's lattice")
    bits = _BITS
    while bits <= 16 * _BITS:
        with precision(bits):
            levels = [ball(j * step) for j in range(first, last + 1)]
            values = [divergence(law, direction, level) for level in levels]
            masses = _masses(levels, values)
            if all(_is_close(mass) for mass in masses) and _is_close(values[-1]):
                return LatticeLaw(float(step), first, tuple(_up(mass) for mass in masses), _up(values[-1]))
        bits *= 2
    raise NoGuaranteeError(f"the lattice of a {law.kind} law could not be enclosed")


def _masses(levels: list[Ball], values: list[Ball]) -> list[Ball]:
    """P-masses from the kinks of a piecewise linear divergence: g times the change of slope in g."""
    g = [level.exp() for level in levels]
    slopes = [(values[0] - 1) / g[0]]  # to the left: the line to H(0) = 1, so that all P-mass is there
    slopes += [(values[i + 1] - values[i]) / (g[i + 1] - g[i]) for i in range(len(g) - 1)]
    slopes.append(ball(0))
    return [g[i] * (slopes[i + 1] - slopes[i]) for i in range(len(g))]


def _is_close(value: Ball) -> bool:
    """Whether a mass is known well enough: to 80 bits of itself, or so small that it does not matter."""
    return bool(value.rad() <= abs(value.mid()) * _CLOSE or abs(value).upper() < 1e-40)


def _up(value: Ball) -> float:
    """The smallest double that is certainly not below; 0 for what is certainly nothing."""
    top = value.upper()
    if top < 1e-60:
        return 0.0 if top <= 0 else 1e-60
    import flint

    found = float(top)
    while not flint.arb(found) >= value:  # a double is a ball without radius
        found = math.nextafter(found, math.inf)
    return found
