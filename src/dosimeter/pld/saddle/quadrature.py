"""Turn a part with a density into points, with a certified error for every moment the line will ask for.

On each panel a Gauss-Legendre rule with n nodes integrates f with an error of at most

    (64/15) r sup|f| rho^(-2(n-1)) / (1 - rho^-2),

where r is the panel's half width and the supremum is over the Bernstein ellipse rho of the panel, in which f must be
analytic. Here ``f(l) = density(l) e^(a G(l))`` with Re a fixed and |Im a| at most the line's reach. The ellipse lies in
the box |Re l - middle| <= r (rho + 1/rho)/2, |Im l| <= r (rho - 1/rho)/2, and in a box all three factors of |f| have
elementary bounds (`_box`). Panels are halved until the errors add up to less than 1e-22 of the moment itself.

A Gaussian piece is unbounded. It is cut where the rest carries P-mass of at most `cut` (that mass is then missing,
which the reader charges), or earlier where the rest no longer matters to any moment on the line (that is charged to
the error). Several moments may be asked of the same points; the plain mass is the moment of order zero.

Reference: Trefethen (2008), "Is Gauss quadrature better than Clenshaw-Curtis?", Theorem 4.5.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dosimeter.enclosure import precision
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Part, Reals
from dosimeter.pld.laws.parts import LOSS_ERROR, UNIT
from dosimeter.pld.laws.spread import Piece

_NODES = 24
RHOS = np.array([1.3, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.5, 8.5, 11.0, 15.0, 22.0, 40.0])
_LOG_EPSILON = math.log(1e-22)
_MOST_PANELS = 10_000


Moments: TypeAlias = "Sequence[tuple[float, float]]"  # (real order, largest imaginary order)


@dataclass(frozen=True, slots=True)
class Points:
    """Losses and logarithms of P-masses, their errors (absolute), and what the list leaves out.

    `log_rest[k]` bounds the logarithm of the error of the k-th moment the points were made for, beyond what the errors
    of the points explain; `cut` bounds the P-mass that is missing.
    """

    losses: Reals
    log_p: Reals
    loss_error: Reals
    log_error: Reals
    log_rest: Reals
    cut: float


@functools.cache
def rule() -> tuple[Reals, Reals]:
    """Nodes and weights of the Gauss-Legendre rule, each correctly rounded but for one unit in the last place."""
    import flint

    with precision(200):
        pairs = [flint.arb.legendre_p_root(_NODES, k, weight=True) for k in range(_NODES)]
        both = [(float(x.mid()), float(w.mid())) for x, w in pairs]
    both.sort()
    return np.array([x for x, _ in both]), np.array([w for _, w in both])


def part_points(part: Part, moments: Moments, cut: float) -> Points:
    """The points of a part for moments of real order moments[k][0] and imaginary orders up to moments[k][1]."""
    spread = part.spread
    losses = part.loss(spread.losses)
    log_p = spread.log_mass + (losses if part.sign > 0 else 0.0)
    groups = [
        Points(
            losses,
            log_p,
            LOSS_ERROR * np.abs(losses),
            16 * UNIT * (1 + np.abs(spread.log_mass) + np.abs(log_p)),
            np.full(len(moments), -math.inf),
            spread.cut,
        )
    ]
    groups += [_piece_points(part, piece, moments, cut) for piece in spread.pieces]
    return join(groups)


def join(groups: list[Points]) -> Points:
    """Several lists of points as one."""
    return Points(
        np.concatenate([g.losses for g in groups]),
        np.concatenate([g.log_p for g in groups]),
        np.concatenate([g.loss_error for g in groups]),
        np.concatenate([g.log_error for g in groups]),
        np.logaddexp.reduce([g.log_rest for g in groups]),
        sum(g.cut for g in groups),
    )


def _piece_points(part: Part, piece: Piece, moments: Moments, cut: float) -> Points:
    exponents = [(order + 1 if part.sign > 0 else -order, reach) for order, reach in moments]
    low, high, goals, used = window(part, piece, [a for a, _ in exponents], cut)
    middle, half, log_errors = _panels(part, piece, (low, high), exponents, goals)
    nodes, weights = rule()
    base = (middle[:, None] + half[:, None] * nodes[None, :]).ravel()
    log_s = piece.log_density(base) + np.log(half[:, None] * weights[None, :]).ravel()
    growth = part.growth(base)
    losses = growth if part.sign > 0 else -growth
    log_p = log_s + (growth if part.sign > 0 else 0.0)
    moved = 4 * UNIT * np.repeat(np.maximum(np.abs(middle), half), _NODES)  # by how much a node may be off
    slope = np.exp(np.minimum(math.log(part.rate) + base - growth, 0.0))  # G'(l), at most one
    terms = abs(piece.alpha) + np.abs(piece.beta * base) + np.abs(piece.gamma * base * base)
    return Points(
        losses,
        log_p,
        LOSS_ERROR * np.abs(losses) + moved * slope,
        8 * UNIT * (2 + terms + np.abs(growth)) + moved * (np.abs(piece.beta + 2 * piece.gamma * base) + slope),
        np.logaddexp(log_errors, goals + math.log(2)),
        used,
    )


def window(part: Part, piece: Piece, exponents: list[float], cut: float) -> tuple[float, float, Reals, float]:
    """(low, high, logs of 1e-22 of each moment between, P-mass lost outside).

    Either end loses P-mass of at most cut/2, or at most 1e-22 of every moment.
    """
    if piece.gamma == 0:
        goals = np.array([_level(part, piece, piece.low, piece.high, a) for a in exponents]) + _LOG_EPSILON
        return piece.low, piece.high, goals, 0.0
    ends = cut_ends(part, piece, cut)
    goals = np.array([_level(part, piece, *_finite(piece, ends, a), a) for a in exponents]) + _LOG_EPSILON
    outer = [_negligible(part, piece, a, float(goal)) for a, goal in zip(exponents, goals, strict=True)]
    low, high = _apart(piece, max(ends[0], min(x for x, _ in outer)), min(ends[1], max(x for _, x in outer)))
    used = cut if ends[0] == low > piece.low or ends[1] == high < piece.high else 0.0
    return low, high, goals, used


def _finite(piece: Piece, ends: tuple[float, float], exponent: float) -> tuple[float, float]:
    """Finite ends that hold nearly all of a moment."""
    square = -0.5 / piece.gamma
    mean, far = piece.beta * square, 20 * math.sqrt(square)
    return (
        max(ends[0], min(mean, mean + exponent * square) - far),
        min(ends[1], max(mean, mean + exponent * square) + far),
    )


def cut_ends(part: Part, piece: Piece, cut: float) -> tuple[float, float]:
    """Where a piece may be cut: at most cut/2 of P-mass lies beyond either end, as P(N(0, 1) > k) <= e^(-k^2/2) / 2."""
    if piece.gamma == 0 or not cut:
        return piece.low, piece.high
    square = -0.5 / piece.gamma
    mean, reach = piece.beta * square, math.sqrt(-2 * math.log(cut) * square)
    return _apart(
        piece, max(piece.low, mean - reach), min(piece.high, (mean + square if part.sign > 0 else mean) + reach)
    )


def _apart(piece: Piece, low: float, high: float) -> tuple[float, float]:
    """A window of some width, also where a half-line starts beyond all that matters."""
    least = 0.01 * math.sqrt(-0.5 / piece.gamma)
    if high - low >= least:
        return low, high
    return (low, low + least) if low + least <= piece.high else (high - least, high)


def _negligible(part: Part, piece: Piece, exponent: float, goal: float) -> tuple[float, float]:
    """Beyond these ends a moment is at most e^goal: one Gaussian tail each.

    Above: e^(aG) <= 1 + e^(al) for a >= 0, and <= 1 right of zero for a < 0. Below: e^(aG) <= 1 left of zero for
    a >= 0; for a < 0 it is at most (1-q)^a, and at most (q e^l)^a.
    """
    square = -0.5 / piece.gamma
    deviation, mean = math.sqrt(square), piece.beta * square
    log_s, log_t = piece.log_total(), piece.tilted(exponent).log_total()

    def tail(log_size: float) -> float:
        return deviation * math.sqrt(2 * max(log_size - goal, 0.5)) * (1 + 1e-9)

    above, size = (max(mean, mean + exponent * square), max(log_s, log_t) + math.log(2))
    if exponent < 0:
        above, size = max(mean, 0.0), log_s
    high = above + abs(above) * 1e-9 + tail(size)
    below, size = min(mean, 0.0), log_s
    if exponent < 0:
        by_stay = log_s + exponent * math.log(part.stay) if part.stay else math.inf
        by_rate = log_t + exponent * math.log(part.rate)
        below, size = (mean, by_stay) if by_stay <= by_rate else (mean + exponent * square, by_rate)
        below = min(below, 0.0)
    return below - abs(below) * 1e-9 - tail(size), high


def _level(part: Part, piece: Piece, low: float, high: float, exponent: float) -> float:
    """The logarithm of the moment between low and high, roughly: it only decides how fine the panels are.

    A midpoint rule, or the mass of an exponential at an end where the density is steep.
    """
    at = np.linspace(low, high, 801)
    log_f = piece.log_density(at) + exponent * part.growth(at)
    steep = np.abs(np.diff(log_f))[[0, -1]] * 800
    ends = log_f[[0, -1]] - np.log1p(steep)
    return float(max(np.logaddexp.reduce(log_f[1::2]) - math.log(400), ends.max())) + math.log(high - low)


def _panels(
    part: Part, piece: Piece, interval: tuple[float, float], exponents: Moments, goals: Reals
) -> tuple[Reals, Reals, Reals]:
    """Middles and half widths of the panels, and for each moment the logarithm of the sum of their errors."""
    low, high = interval
    scale = math.sqrt(-0.5 / piece.gamma) if piece.gamma else high - low
    first = max(1, math.ceil((high - low) / (2 * scale)))
    if first > _MOST_PANELS:
        raise NoGuaranteeError("a moment of a sampled mechanism needs too many panels; its order is too high")
    edges = np.linspace(low, high, first + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    middles, halves, errors = [], [], []
    total = 0
    while len(middle):
        share = goals[:, None] + np.log(half / (high - low))
        size = np.stack([_log_sizes(part, piece, middle, half, a) for a, _ in exponents])
        empty = (size <= share).all(axis=0)  # so little that it may be left out
        errors.append(size[:, empty])
        middle, half, share = middle[~empty], half[~empty], share[:, ~empty]
        if not len(middle):
            break
        error = np.stack([_log_errors(part, piece, middle, half, a, reach) for a, reach in exponents])
        good = (error <= share).all(axis=0)
        middles.append(middle[good])
        halves.append(half[good])
        errors.append(error[:, good])
        total += int(good.sum())
        middle, half = middle[~good], half[~good] / 2
        middle, half = np.concatenate([middle - half, middle + half]), np.concatenate([half, half])
        if total + len(middle) > _MOST_PANELS:
            raise NoGuaranteeError("a moment of a sampled mechanism needs too many panels; its line reaches too far")
    return (
        np.concatenate([np.empty(0), *middles]),
        np.concatenate([np.empty(0), *halves]),
        np.logaddexp.reduce(np.concatenate(errors, axis=1), axis=1, initial=-math.inf),
    )


def _log_sizes(part: Part, piece: Piece, middle: Reals, half: Reals, exponent: float) -> Reals:
    """Logarithms of bounds of the integral over each panel."""
    flat = np.zeros(len(middle))
    bound = _log_box(part, piece, middle - half, middle + half, flat, exponent, 0.0) + np.log(2 * half)
    return np.asarray(bound)


def log_rule_error() -> Reals:
    """log of (64/15) rho^(-2(n-1)) / (1 - rho^-2) for each ellipse of the list."""
    result: Reals = math.log(64 / 15) - 2 * (_NODES - 1) * np.log(RHOS) - np.log1p(-(RHOS**-2.0))
    return result


def _log_errors(part: Part, piece: Piece, middle: Reals, half: Reals, exponent: float, reach: float) -> Reals:
    m, r = middle[:, None], half[:, None]
    wide, tall = r * (RHOS + 1 / RHOS) / 2, r * (RHOS - 1 / RHOS) / 2
    bound = _log_box(part, piece, m - wide, m + wide, tall, exponent, reach) + log_rule_error() + np.log(r)
    result: Reals = bound.min(axis=1)
    return result


def _log_box(part: Part, piece: Piece, left: Reals, right: Reals, tall: Reals, exponent: float, reach: float) -> Reals:
    """log sup |density(l) e^(aG(l))| over boxes [left, right] x [-tall, tall]; inf where G may not be analytic.

    With l = x + iy: |e^(alpha + beta l + gamma l^2)| = e^(alpha + beta x + gamma (x^2 - y^2)), concave in x. With
    w = q/(1-q) e^l, G = log(1-q) + log(1 + w), and

    * |y| <= pi/2: |1 + w| is least at the left upper corner, |arg(1 + w)| largest at the right upper corner;
    * |w| <= 1/2: |1 + w| >= 1 - |w| and |arg| <= arcsin|w|;
    * |w| >= 2: 1 + w = w (1 + 1/w), so |1 + w| >= |w| - 1 and |arg| <= |y| + arcsin|1/w|.
    """
    vertex = np.clip(-0.5 * piece.beta / piece.gamma, left, right) if piece.gamma else None
    log_f = np.maximum(piece.log_density(left), piece.log_density(right))
    if vertex is not None:
        log_f = np.maximum(log_f, piece.log_density(vertex))
    log_f = log_f - piece.gamma * tall * tall
    if part.rate == 1.0:
        size = np.maximum(exponent * left, exponent * right)
        return log_f + size + reach * tall
    odds = math.log(part.rate / part.stay)
    log_small, log_large = np.minimum(odds + left, 300.0), np.minimum(odds + right, 300.0)
    small, large = np.exp(np.maximum(log_small, -300.0)), np.exp(np.maximum(log_large, -300.0))
    near, low, high = tall <= math.pi / 2, large <= 0.5, small >= 2.0
    turned = np.minimum(tall, math.pi / 2)
    angle = np.where(near, np.arctan2(large * np.sin(turned), 1 + large * np.cos(turned)), math.inf)
    angle = np.minimum(angle, np.where(low, np.arcsin(np.minimum(large, 0.5)), math.inf))
    angle = np.minimum(angle, np.where(high, tall + np.arcsin(1 / np.maximum(small, 2.0)), math.inf))
    if exponent >= 0:
        size = np.logaddexp(math.log(part.stay), math.log(part.rate) + right)
    else:
        leaning = np.hypot(1 + small * np.cos(turned), small * np.sin(turned))
        least = np.maximum(np.where(near, leaning, 0.0), np.where(low, 1 - large, 0.0))
        least = np.maximum(least, np.where(high, small - 1, 0.0))
        size = math.log(part.stay) + np.log(np.maximum(least, 1e-300))
    return np.where(np.isinf(angle), math.inf, log_f + exponent * size + reach * np.minimum(angle, 1e6))
