"""How fast a law's characteristic function certainly falls: the certificate for cutting the line off.

A tilted law with density f contains, for any nested intervals I_1 in I_2 in ... and heights with f >= y_k on I_k, the
uniform layers (y_k - y_(k-1)) on I_k. A uniform law on an interval of length w has |phi(t)| = |sin x / x| with
x = t w / 2, so with e(x) the largest value of |sin/x| at or beyond x,

    |phi(s)| <= 1 - sum_k mass_k (1 - e(t w_k / 2))     for every |s| >= t,

the rest of the law counting in full. For a bell-shaped density and small t this is nearly tight, so it survives
being raised to a high power; points contribute nothing. A law with several modes gives several towers. The minorant is
built on a grid of cells from bounds of f that need no search: the base density is log-concave, the loss and e^(aG) are
monotone, and so is G' = q e^(l - G).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dosimeter.pld.laws.law import Part, Reals
from dosimeter.pld.laws.spread import Piece
from dosimeter.pld.saddle.quadrature import window

_CELLS = 600
_MODES = 4
_SIDE_LOBE = 0.21724  # the largest |sin x / x| beyond the first zero is 0.217233...
_LOBE_FROM = 2.5  # sin x / x is still above it here: 0.2394


@dataclass(frozen=True, slots=True)
class Layers:
    """Uniform layers of one tilted law: widths in loss, and logarithms of the P-moment they carry (not normalised)."""

    widths: Reals
    log_masses: Reals

    def log_bound(self, heights: Reals, log_moment: float) -> Reals:
        """log of a bound of |phi(s)| for all |s| >= each height, when the whole moment is at most e^log_moment."""
        if not len(self.widths):
            return np.zeros(len(heights))
        masses = np.exp(np.minimum(self.log_masses - log_moment, 0.0))
        lost = (masses * (1 - _envelope(np.outer(heights, self.widths) / 2))).sum(axis=1) * (1 - 1e-9)
        result: Reals = np.log1p(-np.minimum(lost, 1 - 1e-12))
        return result


def layers(parts: tuple[Part, ...], order: float, cut: float) -> Layers:
    """The layers of all pieces of all parts, at tilt `order`."""
    each = [
        _piece_layers(part, piece, order + 1 if part.sign > 0 else -order, cut)
        for part in parts
        for piece in part.spread.pieces
    ]
    if not each:
        return Layers(np.empty(0), np.empty(0))
    return Layers(np.concatenate([w for w, _ in each]), np.concatenate([m for _, m in each]))


def _envelope(x: Reals) -> Reals:
    early = x < _LOBE_FROM
    inside = np.where(early, np.maximum(x, 1e-9), 1.0)
    return np.where(
        early, np.sin(inside) / inside, np.where(x < 4.0, 0.2394, np.minimum(_SIDE_LOBE, 1 / np.maximum(x, 1.0)))
    )


def _piece_layers(part: Part, piece: Piece, exponent: float, cut: float) -> tuple[Reals, Reals]:
    low, high, _, _ = window(part, piece, [exponent], cut)
    edges = np.linspace(low, high, _CELLS + 1)
    growth = part.growth(edges)
    density = piece.log_density(edges)
    slope = np.minimum(math.log(part.rate) + edges - growth, 0.0)  # log G', increasing in l
    weighted = exponent * growth
    log_heights = np.minimum(density[1:], density[:-1]) + np.minimum(weighted[1:], weighted[:-1]) - slope[1:]
    widths = growth[1:] - growth[:-1]
    scale = float(np.max(log_heights + np.log(np.maximum(widths, 1e-300))))
    rest = np.exp(log_heights - scale)
    found = [_mode(rest, widths, growth) for _ in range(_MODES)]
    spans, steps = np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])
    kept = spans * steps > 1e-18
    return spans[kept] * (1 - 1e-9), np.log(steps[kept] * spans[kept]) + scale - 1e-9


def _mode(rest: Reals, widths: Reals, growth: Reals) -> tuple[Reals, Reals]:
    """Layers under the largest step function that has one mode, there where most mass is; taken away from `rest`."""
    top = int(np.argmax(rest * widths))
    left = np.minimum.accumulate(rest[: top + 1][::-1])[::-1]  # rises towards the top
    right = np.minimum.accumulate(rest[top:])  # falls from the top
    levels = np.unique(np.concatenate([left, right]))
    first = np.searchsorted(left, levels, side="left")
    last = top + len(right) - 1 - np.searchsorted(right[::-1], levels, side="left")
    rest -= np.concatenate([left, right[1:]]) * (1 + 1e-12)
    np.maximum(rest, 0.0, out=rest)
    return growth[last + 1] - growth[first], np.diff(levels, prepend=0.0)
