"""A law as points on a grid, never below it: connect the dots of its divergence between grid points.

The grid is fine where the law has its mass and coarse in its tails, so that a rare loss of 5 and a typical one of 0.01
fit into a thousand points. All points are whole multiples of one step. What floating point does is added on top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Direction, Law, Reals
from dosimeter.pld.laws.parts import UNIT

_FINE: Final = 16  # grid points per standard deviation of the loss
_WIDE: Final = 8  # standard deviations on either side that get the fine grid
_GROWTH: Final = 16  # the tails' grid is so much coarser
_LONGEST: Final = 1 << 21  # steps from one end of a law to the other
Whole: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
_LEFT_OUT: Final = 1e-14  # P-mass below the first point, which is moved up to it


@dataclass(frozen=True, slots=True)
class Dots:
    """P-mass at most `masses[i]` at the loss ``step * index[i] + shift``, and at most `infinite` at infinity.

    Guarantee: at every real s the divergence of these points is at least that of the law.
    """

    step: float
    index: tuple[int, ...]
    masses: tuple[float, ...]
    shift: float
    infinite: float
    deviation: float


def dots(law: Law, direction: Direction, cut: float) -> Dots:
    """The points of one direction; P-mass of at most about `cut` is counted as infinite on the right.

    Reference: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022; see `dosimeter.pld.lattice.upper` for the argument.

    Raises:
        NoGuaranteeError: the losses reach too far for a grid.
    """
    low, high, deviation = extent(law, direction, cut)
    step = three_bits(deviation / _FINE)
    first, last = math.floor(low / step), math.ceil(high / step)
    if max(last - first, last, -first) > _LONGEST:
        raise NoGuaranteeError(f"the losses of a {law.kind} law reach too far, from {low:.3g} to {high:.3g}")
    index = _grid(first, last)
    held = spread(law, direction, index, step)
    kept = held.masses > 0
    return Dots(
        step,
        tuple(index[kept].tolist()),
        tuple(held.masses[kept].tolist()),
        held.shift,
        held.infinite,
        deviation,
    )


@dataclass(frozen=True, slots=True)
class Held:
    """P-masses that points hold after the cells between them were spread onto them, each rounded up.

    The divergence of these masses, with every loss larger by `shift`, is nowhere below that of the law.
    """

    masses: Reals
    infinite: float
    shift: float


def spread(law: Law, direction: Direction, index: Whole, step: float) -> Held:
    """Connect the dots: what lies between two points goes to both so that its P-mass and its Q-mass stay the same.

    What lies left of the first point moves up to it; what lies right of the last one counts as infinite.
    """
    points = step * index.astype(np.float64)
    masses = law.masses(direction, np.concatenate([[-math.inf], points, [math.inf]]))
    log_p, log_q = masses.log_p, masses.log_q
    size_p, size_q = (np.maximum(1.0, np.abs(np.where(np.isfinite(x), x, 0.0))) for x in (log_p, log_q))
    relative = (masses.error + 8 * UNIT) * size_p
    mass = np.exp(log_p + relative)
    inner = slice(1, -1)
    width = np.diff(points)
    with np.errstate(invalid="ignore"):
        excess = np.where(mass[inner] > 0, log_p[inner] - log_q[inner] - points[:-1], 0.0)
    shift = (masses.edge_error + 8 * UNIT) * float(np.max(np.abs(points)))
    margin = (masses.error + 8 * UNIT) * (size_p[inner] + size_q[inner] + np.abs(points[:-1])) + shift
    excess = np.clip(excess + margin, 0.0, width)
    right = np.minimum(1.0, np.expm1(-excess) / np.expm1(-width) * (1 + 16 * UNIT))
    held = np.zeros(len(points))
    held[0] = mass[0]
    held[:-1] += mass[inner] * (1 - right * (1 - 32 * UNIT))
    held[1:] += mass[inner] * right
    dropped = sum(part.spread.cut for part in law.parts(direction, 0.0))
    return Held(held * (1 + 8 * UNIT), (float(mass[-1]) + dropped) * (1 + 8 * UNIT), shift)


def three_bits(value: float) -> float:
    """A double of three binary digits, not above a positive value: the same wherever it is computed."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(mantissa * 8) / 8, exponent)


def _grid(first: int, last: int) -> Whole:
    """Every whole number near zero, every so many further out."""
    fine = _FINE * _WIDE
    left, right = max(first, -fine), min(last, fine)
    outside = [np.arange(left, first - _GROWTH, -_GROWTH)[:0:-1]] if first < left else []
    beyond = [np.arange(right, last + _GROWTH, _GROWTH)[1:]] if last > right else []
    return np.concatenate([*outside, np.arange(left, right + 1), *beyond])


def extent(law: Law, direction: Direction, cut: float) -> tuple[float, float, float]:
    """Where the law's P-mass lies, and the standard deviation of its finite losses; estimates that only cost."""
    bottom, top = law.support(direction)
    edges = np.concatenate([-np.geomspace(1e4, 1e-9, 800), [0.0], np.geomspace(1e-9, 1e4, 800)])
    log_p = law.masses(direction, np.concatenate([[-math.inf], edges, [math.inf]])).log_p
    p = np.exp(log_p)
    below, above = np.cumsum(p)[:-1], np.cumsum(p[::-1])[::-1][1:]
    low = float(edges[max(int(np.searchsorted(below, _LEFT_OUT)) - 1, 0)])
    high = float(edges[min(int(np.searchsorted(-above, -cut)), len(edges) - 1)])
    low, high = max(low, bottom), min(high, top)
    middle = np.sqrt(np.abs(edges[1:] * edges[:-1])) * np.sign(edges[1:] + edges[:-1])
    deviation = math.sqrt(float(p[1:-1] @ np.minimum(np.square(middle), max(high, -low) ** 2)))
    return low, high, max(deviation, 1e-9)
