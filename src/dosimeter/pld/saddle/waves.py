"""Exponential pieces at great heights, in closed form: no rule has to follow their oscillation.

A piece e^(alpha + kappa l) on [low, high] contributes e^(alpha) (e^(s high) - e^(s low)) / s with s = kappa + it to the
tilted characteristic function, here relative to the centre m and to the moment e^K. Where |s| times the width is not
small, both terms are at most e^K of their own size, and the errors of their phases (t times a distance, rounded) are
those of any point at the ends: at most (12 + 4 |t| distance) UNIT of each term.
"""

from __future__ import annotations

import math

import numpy as np

from dosimeter.pld.laws.law import Complexes, Part, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.spread import Piece

LONG = 1_500.0  # from this many radians on, the closed form


def is_wave(part: Part, piece: Piece, reach: float) -> bool:
    """Whether a piece is exponential in its own loss and oscillates too often for a rule."""
    return part.rate == 1.0 and piece.gamma == 0 and reach * (piece.high - piece.low) > LONG


def wave(piece: Piece, order: float, centre: float, log_moment: float, heights: Reals) -> tuple[Complexes, Reals]:
    """(contribution to phi at each height minus that at height zero, its absolute error); order counts Q's density."""
    kappa = piece.beta + order
    s = kappa + 1j * np.where(heights == 0, 1.0, heights)
    log_scale = piece.alpha - log_moment
    change = np.zeros(len(heights), dtype=complex)
    error = np.zeros(len(heights))
    for sign, end in ((1, piece.high), (-1, piece.low)):
        size = math.exp(log_scale + kappa * end)
        away = end - centre
        change += sign * size * (np.cos(heights * away) + 1j * np.sin(heights * away)) / s
        error += size / np.abs(s) * UNIT * (12 + 4 * heights * abs(away) + 4 * abs(log_scale) + 4 * abs(kappa * end))
    mass = math.exp(float(piece.tilted(order).log_mass(np.array([piece.low, piece.high]))[0]) - log_moment)
    change -= mass
    error += (64 + 4 * abs(log_moment)) * UNIT * mass
    at_zero = heights == 0
    change[at_zero], error[at_zero] = 0.0, 0.0
    return change, error
