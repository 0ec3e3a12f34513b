"""How likely a Brownian motion crosses a boundary: an upper bound close to the truth, by backward induction.

Between the nodes of a time grid the boundary is replaced by its chords. They lie below a concave boundary, so they are
crossed at least as often; and whether a Brownian bridge crosses a chord has a closed form. What is left to compute is
a value for every distance z to the boundary, from one node of time to the one before:

    r(z) = P(crossing within the step) + E[ r(next distance), not crossed within the step ]

The later values are kept on a lattice of distances and bounded between its points, sharp to second order: the paths
that stay below a boundary are a convex set, so the chance s = 1 - r of staying below is log-concave in z (Prekopa
1971) and lies above its logarithmic chords. Rounding errors are counted and added, so the answer is certainly not below
the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dosimeter.adaptive.residue.mills import density, mills

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dosimeter.pld.laws.law import Reals

    AnyReals = NDArray[np.floating[Any]]

_WIDE: Final = 14.0  # standard deviations of a step that are kept
_CUT: Final = 1e-43  # more than the probability beyond
_GRAIN: Final = 2.0**20  # heights are multiples of a 2^-20th of the lattice's step, so that differences are exact
_KERNEL: Final = 1e-11  # relative error of a weight: a hundred times what it is
_ULP: Final = 2.0**-52
_FAR: Final = 50.0  # standard deviations: whoever is as far from the boundary is held to be at the lattice's end


@dataclass(frozen=True, slots=True)
class Block:
    """Steps of equal length, and the boundary at their ends.

    Args:
        step: the length of one step, > 0.
        heights: lower bounds of the boundary at the ends of the steps, not decreasing, one more than there are steps.
    """

    step: float
    heights: Sequence[float]

    @property
    def length(self) -> float:
        """Of all steps together."""
        return self.step * (len(self.heights) - 1)


def crossing_probability(blocks: Sequence[Block], *, cells: int = 16, reach: float = 9.0) -> float:
    """An upper bound of the probability that a Brownian motion from 0 ever exceeds a boundary, up to a last time.

    Guarantee: not below P(B_t > boundary(t) for some t in the range) for every boundary that is concave within each
    step, does not fall, and is not below the heights at the nodes; rounding included.

    Args:
        blocks: the range of time cut into blocks of equal steps, each beginning where the one before it ends.
        cells: lattice points per standard deviation of a step; the error falls like the square of their distance.
        reach: how far from the boundary the lattice goes, in standard deviations of the time passed so far.

    Returns:
        The bound, at most 1.

    Reference: crossing of a chord by a Brownian bridge (Siegmund 1986); piecewise linear boundaries (Wang, Potzelberger
    1997); log-concavity (Prekopa 1971).
    """
    values, unit = np.zeros(2), math.inf
    end = sum(block.length for block in blocks)
    start = 0.0
    for block in reversed(blocks):
        own = _unit(math.sqrt(block.step) / cells, block.heights[0])
        count = math.ceil(min(max(block.heights) / math.sqrt(end) + reach, _FAR) * math.sqrt(end) / own) + 2
        values = _resampled(values, own / unit, count)
        grains = [math.floor(height / own * (1 - 8 * _ULP) * _GRAIN) / _GRAIN for height in block.heights]
        for before, after in zip(grains[-2::-1], grains[:0:-1], strict=True):
            values = _step(values, after - before, math.sqrt(block.step) / own)
        unit, end, start = own, end - block.length, grains[0]
    return float(min(1.0, _between(values, np.array([start]))[0]))


def _unit(width: float, height: float) -> float:
    """A step of the lattice of at most `width`, of which the boundary's height at the start is a whole multiple."""
    return height / math.ceil(height / width) if height > 0 else width


def _step(values: Reals, rise: float, deviation: float) -> Reals:
    """The values one step earlier, while the boundary rises by `rise`; all lengths in units of the lattice."""
    count = len(values)
    z = np.arange(count, dtype=float)
    wide = math.ceil(_WIDE * deviation + rise) + 2
    excess = np.minimum(_bend(values), 1 - values[1:])  # no value is above 1
    near, far = values[:-1] + excess, values[1:] + excess  # what bounds the values of a cell from above, at its ends
    ahead_near, ahead_far = _weights(np.arange(-wide, wide + 1) - rise, deviation)
    image_near, image_far = _weights(np.arange(2 * wide + 1) - rise, deviation)
    moved = _shifted(near, ahead_near, wide) + _shifted(far, ahead_far, wide)
    mirrored = _mirrored(near, image_near, count) + _mirrored(far, image_far, count)
    shrink = np.exp(-2 * rise / deviation**2 * z)  # the motion mirrored at the chord
    crossed = _tail((z + rise) / deviation) + shrink * _tail((z - rise) / deviation)
    beyond = values[-1] * _tail((count - 1 - z - rise) / deviation)
    kept = np.maximum(moved * (1 + _KERNEL) - shrink * mirrored * (1 - _KERNEL), 0.0)
    total = (kept + (crossed + beyond) * (1 + _KERNEL) + _CUT) * (1 + (4 * wide + 64) * _ULP)
    total[0] = 1.0
    found: Reals = np.minimum.accumulate(np.minimum(total, 1.0))
    return found


def _bend(values: Reals) -> Reals:
    """How far the values in the middle of a cell may lie above the chord of its ends; at u, 4 u (1 - u) as far.

    With a = -log(1 - r), which is convex, r is at most 1 - exp(-chord of a): a concave function whose second derivative
    is at most (difference of a)^2 exp(-the smaller a) per squared cell.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        curved = np.square(np.diff(np.log1p(-values))) * (1 - values[1:]) / 8 * (1 + 1e-10)
    found: Reals = np.where(np.isfinite(curved), curved, math.inf)
    return found


def _between(values: Reals, places: AnyReals) -> Reals:
    """An upper bound of the values at places between the lattice's points; beyond its end, the last value."""
    cell = np.minimum(np.floor(places).astype(np.int64), len(values) - 2)
    away = np.minimum(places - cell, 1.0)
    chord = values[cell] * (1 - away) + values[cell + 1] * away
    bend = np.where(away < 1.0, np.minimum(_scaled(away, _bend(values)[cell]), 1 - values[cell + 1]), 0.0)
    found: Reals = np.minimum((chord + bend) * (1 + 8 * _ULP), values[cell])
    return found


def _scaled(away: Reals, bend: Reals) -> Reals:
    found: Reals = np.where(np.isfinite(bend), 4 * away * (1 - away) * np.where(np.isfinite(bend), bend, 0.0), math.inf)
    return found


def _resampled(values: Reals, ratio: float, count: int) -> Reals:
    """The values on a lattice whose step is `ratio` of the one they are on."""
    if not ratio:  # after the last time, nothing is crossed any more
        return np.zeros(count)
    return _between(values, np.arange(count) * (ratio * (1 - 4 * _ULP)))


def _weights(places: AnyReals, deviation: float) -> tuple[Reals, Reals]:
    """The integrals of 1 - u and of u, u in [0, 1], against the density of N(0, deviation^2) at place + u."""
    left = places < -0.5
    t = np.where(left, -places - 1, places)
    a, b = t / deviation, (t + 1) / deviation
    whole = _tail(a) - _tail(b)
    far = deviation * (density(a) - density(b)) - t * whole
    near = whole - far
    return np.where(left, far, near), np.where(left, near, far)


def _tail(x: Reals) -> Reals:
    """P(N(0, 1) > x)."""
    size = np.abs(x)
    small = mills(size) * density(size)
    found: Reals = np.where(x < 0, 1 - small, small)
    return found


def _shifted(bounds: Reals, weights: Reals, wide: int) -> Reals:
    """sum_j bounds_j weight(j - i) for every point i."""
    found: Reals = np.correlate(np.concatenate([np.zeros(wide), bounds, np.zeros(wide + 1)]), weights, "valid")
    return found


def _mirrored(bounds: Reals, weights: Reals, count: int) -> Reals:
    """sum_j bounds_j weight(j + i) for every point i."""
    near = bounds[: len(weights)]
    padded = np.concatenate([weights, np.zeros(len(near))])
    found = np.correlate(padded, near, "valid")[:count]
    return np.concatenate([found, np.zeros(count - len(found))])
