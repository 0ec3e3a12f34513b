"""A second certificate of decay, for few runs: move the integral over a Gaussian density off the real axis.

For a sampled Gaussian mechanism M(c + it) = integral of S(l) e^((a + it) G(l)) dl, with a Gaussian density S and
G = log(1 - q + q e^l). By Cauchy's theorem the path may run along Im l = y for any y in (0, pi/2], joined to the real
ends by two vertical segments. On it

    |S(l + iy)| = S(l) e^(y^2 / 2 variance),   |e^((a+it)G)| = |1 - q + q e^(l+iy)|^a e^(-t arg(1 - q + q e^(l+iy))),

where modulus and argument increase with l, so cells of a grid give an upper sum, which decreases in t. Unlike the
layers this decays faster than any power; it is not tight enough to be raised to a high power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dosimeter.pld.laws.law import Part, Reals
from dosimeter.pld.laws.spread import Piece
from dosimeter.pld.saddle.quadrature import window

_CELLS = 300


@dataclass(frozen=True, slots=True)
class Shifted:
    """Upper sums for several rises y: |M(order + is)| <= sum of e^(inside - t angle) + e^ends, for all |s| >= t."""

    inside: Reals  # rises x cells
    angle: Reals
    ends: Reals

    def log_bound(self, height: float) -> float:
        """log of the least of the bounds at this height."""
        along = np.logaddexp.reduce(self.inside - height * self.angle, axis=1)
        return float(np.min(np.logaddexp(along, self.ends))) + 1e-9


def shifted(parts: tuple[Part, ...], order: float, cut: float) -> Shifted | None:
    """The upper sums of a law that is one Gaussian piece on the whole line; None for others."""
    if not _movable(parts):
        return None
    part, piece = parts[0], parts[0].spread.pieces[0]
    exponent = order + 1 if part.sign > 0 else -order
    low, high, _, _ = window(part, piece, [exponent], cut)
    deviation = math.sqrt(-0.5 / piece.gamma)
    rises = np.unique(np.minimum(math.pi / 2, deviation * np.exp2(np.arange(-1.0, 7.0))))
    edges = np.linspace(low, high, _CELLS + 1)
    each = [_along(part, piece, exponent, edges, float(rise)) for rise in rises]
    return Shifted(np.array([e[0] for e in each]), np.array([e[1] for e in each]), np.array([e[2] for e in each]))


def _movable(parts: tuple[Part, ...]) -> bool:
    if len(parts) != 1 or len(parts[0].spread.losses) or len(parts[0].spread.pieces) != 1:
        return False
    piece = parts[0].spread.pieces[0]
    return piece.gamma < 0 and math.isinf(piece.low) and math.isinf(piece.high)


def _along(part: Part, piece: Piece, exponent: float, edges: Reals, rise: float) -> tuple[Reals, Reals, float]:
    density = piece.log_density(edges)
    peak = -0.5 * piece.beta / piece.gamma
    top = np.maximum(density[1:], density[:-1])
    top = np.where((edges[:-1] <= peak) & (peak <= edges[1:]), piece.log_density(np.array([peak]))[0], top)
    moved = part.rate * np.exp(np.minimum(edges, 600.0))
    x, y = part.stay + moved * math.cos(rise), moved * math.sin(rise)
    log_size, angle = np.log(np.hypot(x, y)), np.arctan2(y, x)
    size = exponent * (log_size[1:] if exponent >= 0 else log_size[:-1])
    lift = -piece.gamma * rise * rise
    inside = top + size + lift + np.log(edges[1:] - edges[:-1])
    ends = density[[0, -1]] + np.maximum(exponent * log_size[[0, -1]], exponent * part.growth(edges[[0, -1]])) + lift
    return inside, angle[:-1], float(np.logaddexp.reduce(ends)) + math.log(rise)
