"""The lower law: merge each cell into one point, then bring the points onto the lattice without gaining anything.

Merging a cell is post-processing, so the merged pair is dominated. Its points lie inside the cells; its divergence H
is piecewise linear in g = e^epsilon with one kink per cell. A law on the lattice has its kinks at the lattice's g_i,
and it is dominated by the merged pair as soon as its divergence lies below H everywhere. Start from the chord of H
(the spread of the upper law) and lower it by some e_i >= 0 at every lattice point. On a cell with Q-shares q_left and
q_right and width d = g_right - g_left the lowered chord is below H if one of these holds:

* *both*: e >= q_left q_right d / (q_left + q_right) at both ends: so far does the chord exceed H at its kink;
* *right*: e >= q_left d at the right end, since then both ends are at most the tangent of H at the left end;
* *left*: e >= q_right d at the left end, likewise.

What is left is a law if it is still convex, that is, if no mass becomes negative; masses change by minus the second
difference of e. So the lower law is a sharpening that undoes (twice over) the spread of the upper one, keeps its mean,
and is off by the square of the step, too.

Cells ask for *both* where neighbouring masses are alike, for *right* where they rise fast (at the lower end of the
support) and for *left* where they fall fast. A mass that still comes out negative is paid for by its right neighbour:
moving mass to the left lowers the loss, and hence delta in any composition. For an isolated point off the lattice all
of this together comes to moving it down to the next lattice point. Tails are dropped.

Reference: merging is data processing; the comparison of piecewise linear convex functions is that of Doroshenko,
Ghazi, Kamath, Kumar and Manurangsi 2022, from below.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dosimeter.pld.lattice.cells import Cells
from dosimeter.pld.lattice.points import PointLaw, tilt_margin
from dosimeter.pld.laws.law import Reals
from dosimeter.pld.laws.parts import UNIT

Modes: TypeAlias = NDArray[np.int_]

_BOTH, _RIGHT, _LEFT = range(3)
_STEEPEST = 30.0  # a tilt so strong that neighbouring points differ by e^30 leaves nothing to sharpen


def lower(cells: Cells, order: float) -> PointLaw:
    """The sharpened law, tilted by e^(order L), every mass rounded down."""
    place, step = cells.place, cells.place.step
    log_p, u = cells.log_p[:-1], np.maximum(cells.excess - cells.margin, 0.0)[:-1]
    share = np.maximum(np.expm1(-np.minimum(u, step)) / math.expm1(-step) * (1 - 8 * UNIT), 0.0)
    losses = place.losses()
    log_p = log_p - cells.log_margin[:-1] - tilt_margin(log_p, losses[:-1], order)
    log_points = cells.log_points - cells.points_margin - tilt_margin(cells.log_points, losses, order) + order * losses
    with np.errstate(divide="ignore"):
        log_left, log_right = np.log1p(-share) + log_p + order * losses[:-1], np.log(share) + log_p + order * losses[1:]
    scale = max(float(np.max(np.concatenate([log_left, log_right, log_points]))), -1e300)
    left, right, points = (np.exp(each - scale) for each in (log_left, log_right, log_points))
    weights = _sharpen(left, right, points, order * step, step)
    total, shift = float(weights.sum()), -cells.slack
    if total <= 0:  # everything is in the tails: the law of no mass at all
        return PointLaw(order, step, place.offset, shift, place.first, weights, 0.0, -math.inf)
    log_moment = scale + math.log(total) - 8 * UNIT * (1 + abs(scale))
    return PointLaw(order, step, place.offset, shift, place.first, weights / total, log_moment, -math.inf)


def _sharpen(left: Reals, right: Reals, points: Reals, tilt: float, step: float) -> Reals:
    """Tilted masses of the lattice points from what lies on them and from each cell's shares for its two edges."""
    mass = left + right
    filled = np.flatnonzero(mass > 0)
    if tilt > _STEEPEST or step > 1.0 or not len(filled):
        return _all_down(left, right, points, tilt)
    mode = np.full(len(mass), _BOTH)
    mode[np.append(0.0, mass[:-1]) < mass / 2] = _RIGHT
    mode[np.append(mass[1:], 0.0) < mass / 2] = _LEFT
    mode[filled[-2:]] = _LEFT
    last = filled[-1:]  # the end is paid for by the last cell itself, which moves down
    left[last], right[last] = _down(left[last], right[last], tilt)
    base = np.append(left, 0.0) + np.append(0.0, right) + points
    lowering = _lowering(left, right, tilt, step, mode)
    if lowering[0] > 0:  # it would take mass from a point before the first, where nothing can pay for that
        return _all_down(left, right, points, tilt)
    growth, fall = math.expm1(step), -math.expm1(-step)
    ahead, behind = np.append(lowering[1:], 0.0) * math.exp(-tilt), np.append(0.0, lowering[:-1]) * math.exp(tilt)
    result: Reals = base - (ahead - lowering) / growth - (behind - lowering) / fall
    result -= 16 * UNIT * (base + (ahead + lowering) / growth + (behind + lowering) / fall)
    return result if _settle(result, math.exp(tilt)) else _all_down(left, right, points, tilt)


def _settle(masses: Reals, growth: float) -> bool:
    """Let right neighbours pay for negative masses, in place; whether there was always one left to pay."""
    for start in np.flatnonzero(masses < 0):
        at = int(start)
        while masses[at] < 0:
            if at + 1 == len(masses):
                return False
            masses[at + 1] += masses[at] * growth
            masses[at] = 0.0
            at += 1
    return True


def _lowering(left: Reals, right: Reals, tilt: float, step: float, mode: Modes) -> Reals:
    """At every point the larger of what its two cells ask for, tilted."""
    falls = math.exp(-tilt - step)
    both = left + right * falls
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where((both > 0) & (mode == _BOTH), left * (right / both), 0.0) * (falls * math.expm1(step))
    inside = (left > 0) & (right > 0)  # a cell with one share only is a lattice point, where the chord is exact
    at_left = np.where((mode == _LEFT) & inside, right * (math.exp(-tilt) * -math.expm1(-step)), gap)
    at_right = np.where((mode == _RIGHT) & inside, left * (math.exp(tilt) * math.expm1(step)), gap * math.exp(tilt))
    result: Reals = np.maximum(np.append(at_left, 0.0), np.append(0.0, at_right))
    return result


def _down(left: Reals, right: Reals, tilt: float) -> tuple[Reals, Reals]:
    """Move cells to their left edges."""
    return left + right * math.exp(-tilt), np.zeros(len(right))


def _all_down(left: Reals, right: Reals, points: Reals, tilt: float) -> Reals:
    """Every cell moves to its left edge."""
    result: Reals = np.append(_down(left, right, tilt)[0], 0.0) + points
    return result
