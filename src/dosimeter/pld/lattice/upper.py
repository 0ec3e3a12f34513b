"""The upper law: connect the dots of the divergence, cell by cell.

A cell with P-mass p and Q-mass q is spread onto its two edges so that both masses are kept: the point further right
gets the share v = (1 - e^-u) / (1 - e^-h) of p, u the cell's excess and h the step. The divergence of the spread law
is the chord of the exact one on every cell, hence nowhere below it, and dominating pairs stay so under composition.

The last cell has no end: its right share is an infinite loss. A larger share only moves mass to the right, which only
raises delta, in any composition; so u enters with its margin added. What lies left of the first point moves up to it.

Reference: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022 (the chord); Zhu, Dong and Wang 2022, Theorem 10.
"""

from __future__ import annotations

import math

import numpy as np

from dosimeter.pld.lattice.cells import Cells
from dosimeter.pld.lattice.points import PointLaw, log_sum, tilt_margin
from dosimeter.pld.laws.parts import UNIT


def upper(cells: Cells, order: float) -> PointLaw:
    """The spread law, tilted by e^(order L), every mass rounded up."""
    place, step = cells.place, cells.place.step
    u = cells.excess + cells.margin
    share = np.append(np.expm1(-np.minimum(u[:-1], step)) / math.expm1(-step), -math.expm1(-u[-1]))
    share = np.minimum(share * (1 + 8 * UNIT), 1.0)
    log_p = cells.log_p + cells.log_margin
    with np.errstate(divide="ignore"):
        log_mass, to_right = log_p + np.log1p(-share), log_p + np.log(share)
    log_mass[1:] = np.logaddexp(log_mass[1:], to_right[:-1])
    log_mass[0] = np.logaddexp(log_mass[0], cells.log_left)
    log_mass = np.logaddexp(log_mass, cells.log_points + cells.points_margin)
    losses = place.losses()
    log_weight = log_mass + order * losses + tilt_margin(log_mass, losses, order)
    log_moment = log_sum(log_weight) + 8 * UNIT
    log_infinite = float(np.logaddexp(to_right[-1], cells.log_dropped))
    weights = np.exp(log_weight - log_moment)
    return PointLaw(order, step, place.offset, cells.slack, place.first, weights, log_moment, log_infinite)
