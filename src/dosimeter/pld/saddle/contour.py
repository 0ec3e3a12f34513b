"""Great heights without great effort: carry the integral over a piece into the complex plane, where waves die out.

The moment of a piece at height t is the integral over [low, high] of f(l) e^(it G(l)), with f(l) = S(l) e^(a G(l)) and
G(l) = log(1 - q + q e^l). For t >= 0 it is taken along low -> low + iY -> high + iY -> high instead (Cauchy; f and G
are analytic for |Im l| < pi). There |e^(itG)| = e^(-t Im G) <= 1, so a fixed number of Gauss points, crowded towards
the two real ends, serves every height of a line at once. A vertical
segment that carries next to nothing (at the far end of a Gaussian piece) is bounded and left out.

The rule's error on each segment is that of `quadrature`, with boxes around segments; in a box with |Im l| <= pi/2,
arg(1 - q + q e^(x+iy)) increases with y and its size with x, so Im G is least at the lower edge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Complexes, Part, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.spread import Piece
from dosimeter.pld.saddle.blocks import rounding, turns
from dosimeter.pld.saddle.characteristic import log1p
from dosimeter.pld.saddle.quadrature import RHOS, cut_ends, log_rule_error, rule, window

LONG = 600.0  # radians of oscillation from which on the contour is used
_RISE = 1.0
_TURN = 30.0  # how far e^(aG) may turn along a vertical segment
_LOG_GOAL = math.log(1e-18)
_MOST_PANELS = 20_000


@dataclass(frozen=True, slots=True)
class Contour:
    """Complex points: the sum of weights * (e^(it growths) - 1) is the piece's share of phi - 1, for every t >= 0."""

    growths: Complexes  # minus the centre
    weights: Complexes
    relative: Reals  # relative error of each weight
    absolute: float  # error of the sum at every height, beyond that of the points


def is_long(part: Part, piece: Piece, reach: float, cut: float) -> bool:
    """Whether a piece oscillates too often on a line for a rule on the real axis."""
    wide = part.growth(np.array(cut_ends(part, piece, cut)))
    if reach * (wide[1] - wide[0]) <= LONG:
        return False  # not even over more than the part that matters
    low, high, _, _ = window(part, piece, [1.0 if part.sign > 0 else 0.0], cut)
    ends = part.growth(np.array([low, high]))
    return bool(reach * (ends[1] - ends[0]) > LONG)


def contour(part: Part, piece: Piece, order: float, reach: float, cut: float, frame: tuple[float, float]) -> Contour:
    """The points of a piece for heights in [0, reach]; `frame` is (log moment, centre of the growths)."""
    exponent = order + 1 if part.sign > 0 else -order
    low, high, _, _ = window(part, piece, [exponent], cut)
    starts, steps, log_error = _panels(part, piece, (low, high), exponent, reach, frame[0])
    nodes, rule_weights = rule()
    at = (starts[:, None] + steps[:, None] * nodes[None, :]).ravel()
    growth = grow(part, at)
    exponents = piece.alpha + at * (piece.beta + piece.gamma * at) + exponent * growth - frame[0]
    weights = np.exp(exponents) * (steps[:, None] * rule_weights[None, :]).ravel()
    size = abs(piece.alpha) + abs(piece.beta) * np.abs(at) + abs(piece.gamma) * np.abs(at) ** 2
    steep = np.exp(np.minimum(math.log(part.rate) + (at - growth).real, 1.0))  # |G'|
    slope = abs(piece.beta) + 2 * abs(piece.gamma) * np.abs(at) + abs(exponent) * steep
    relative = UNIT * (64 + 8 * size + 32 * abs(exponent) * np.abs(growth) + 4 * abs(frame[0]) + 8 * slope * np.abs(at))
    return Contour(growth - frame[1], weights, relative, math.exp(min(log_error, 700.0)))


def grow(part: Part, at: Complexes) -> Complexes:
    """G where |Im l| <= pi/2, within a few units of its size."""
    if part.rate == 1.0:
        return at
    large = at.real > 300.0
    x, y = np.where(large, 0.0, at.real), at.imag
    sine = np.sin(y / 2)
    inner = np.exp(x) * np.sin(y) * 1j + (np.expm1(x) * np.cos(y) - 2 * sine * sine)  # e^l - 1
    near = np.abs(part.rate * inner) < 0.5
    plain = np.log(part.stay + part.rate * (inner + 1))
    result = np.where(near, log1p(np.where(near, part.rate * inner, 0.0)), plain)
    return np.where(large, at + math.log(part.rate), result)


def values(points: Contour, step: float, count: int) -> tuple[Complexes, Reals]:
    """The sum of weights * (e^(it growth) - 1) at step * (0, 1, ..., count - 1), and its absolute error.

    Weights and sums are off by a share of weight * min(2, t |growth|), which rises with t; phases by t |growth| UNIT of
    a term of size e^(-t Im growth), which falls. So either is bounded on a stretch of heights by its value at one end.
    """
    heights: Reals = step * np.arange(count, dtype=float)
    marks = np.concatenate([[0.0], heights[-1] * 2.0 ** np.arange(-24.0, 1.0)])
    sizes, far = np.abs(points.weights), np.abs(points.growths)
    shares = sizes * (points.relative + rounding(len(sizes)))
    rising = (np.minimum(np.outer(marks, far), 2.0) * shares).sum(axis=1)
    fades = np.exp(-np.outer(marks, np.maximum(points.growths.imag, 0.0)))
    falling = (fades * sizes * far).sum(axis=1) * 16 * UNIT
    below = np.minimum(np.searchsorted(marks, heights, side="right") - 1, len(marks) - 1)
    above = np.minimum(below + 1, len(marks) - 1)
    error = (rising[above] + heights * falling[below]) * 1.01 + 2 * points.absolute
    error[0] = 0.0
    return turns(points.growths, points.weights, step, count), error


def _panels(
    part: Part, piece: Piece, interval: tuple[float, float], exponent: float, reach: float, level: float
) -> tuple[Complexes, Complexes, float]:
    """Midpoints and half steps of the panels along the path, and the logarithm of all errors relative to e^level."""
    low, high = interval
    turns = abs(exponent) * float(np.exp(min(math.log(part.rate) + high - part.growth(np.array([high]))[0], 0.0)))
    rise = min(_RISE, _TURN / (1 + turns), 4 * math.sqrt(-0.5 / piece.gamma) if piece.gamma else math.inf)
    corners, errors = [low + 1j * rise, high + 1j * rise], [-math.inf]
    for end, at in ((low, 0), (high, 3)):
        bound = _vertical(part, piece, end, exponent, rise) - level
        if bound < _LOG_GOAL:
            errors.append(bound)
        else:
            corners.insert(at, complex(end))
    path = np.array(corners)
    middle, half = (path[1:] + path[:-1]) / 2, (path[1:] - path[:-1]) / 2
    length = float(np.abs(half).sum())
    middles, halves = [], []
    total = 0
    while len(middle):
        share = _LOG_GOAL + np.log(np.abs(half) / length)
        size = _log_sizes(part, piece, middle, half, exponent) - level
        empty = size <= share  # so little that it may be left out
        errors.append(float(np.logaddexp.reduce(size[empty], initial=-math.inf)))
        middle, half, share = middle[~empty], half[~empty], share[~empty]
        error = _log_errors(part, piece, middle, half, exponent, reach) - level
        good = error <= share
        good |= np.abs(half) < 1e-14 * (1 + np.abs(middle))
        middles.append(middle[good])
        halves.append(half[good])
        errors.append(float(np.logaddexp.reduce(error[good], initial=-math.inf)))
        total += int(good.sum())
        middle, half = middle[~good], half[~good] / 2
        middle, half = np.concatenate([middle - half, middle + half]), np.concatenate([half, half])
        if total + len(middle) > _MOST_PANELS:
            raise NoGuaranteeError("a moment needs too many points; its line reaches too far")
    return np.concatenate(middles), np.concatenate(halves), float(np.logaddexp.reduce(errors))


def _vertical(part: Part, piece: Piece, end: float, exponent: float, rise: float) -> float:
    """Logarithm of a bound of the segment from a real end up to the path."""
    at = np.array([end])
    real, lifted = part.growth(at), grow(part, at + 1j * rise).real
    size = np.maximum(exponent * real, exponent * lifted)
    return float((piece.log_density(at) - piece.gamma * rise * rise + size)[0]) + math.log(rise)


def _log_sizes(part: Part, piece: Piece, middle: Complexes, half: Complexes, exponent: float) -> Reals:
    """Logarithms of bounds of the integral over each panel, at any height."""
    wide, tall = np.abs(half.real), np.abs(half.imag)
    box = middle.real - wide, middle.real + wide, middle.imag - tall, middle.imag + tall
    return np.asarray(_log_box(part, piece, box, exponent, 0.0) + np.log(2 * np.abs(half)))


def _log_errors(part: Part, piece: Piece, middle: Complexes, half: Complexes, exponent: float, reach: float) -> Reals:
    radius = np.abs(half)[:, None]
    along, across = radius * (RHOS + 1 / RHOS) / 2, radius * (RHOS - 1 / RHOS) / 2
    flat = (np.abs(half.imag) <= np.abs(half.real))[:, None]
    wide, tall = np.where(flat, along, across), np.where(flat, across, along)
    x, y = middle.real[:, None], middle.imag[:, None]
    bound = _log_box(part, piece, (x - wide, x + wide, y - tall, y + tall), exponent, reach)
    result: Reals = (bound + log_rule_error() + np.log(radius)).min(axis=1)
    return result


def _log_box(part: Part, piece: Piece, box: tuple[Reals, Reals, Reals, Reals], exponent: float, reach: float) -> Reals:
    """log of the largest |f e^(itG)| in a box, for any t in [0, reach]; inf unless |Im l| <= pi/2 there."""
    left, right, bottom, top = box
    far = np.maximum(np.abs(bottom), np.abs(top))
    log_f = np.maximum(piece.log_density(left), piece.log_density(right))
    if piece.gamma:
        peak = np.clip(-0.5 * piece.beta / piece.gamma, left, right)
        log_f = np.maximum(log_f, piece.log_density(peak))
    log_f = log_f - piece.gamma * far * far
    if part.rate == 1.0:
        size, least = np.maximum(exponent * left, exponent * right), bottom
    else:
        turned = np.clip(bottom, -math.pi / 2, math.pi / 2)
        moved = part.rate * np.exp(np.minimum(np.where(turned >= 0, left, right), 300.0))
        least = np.arctan2(moved * np.sin(turned), part.stay + moved * np.cos(turned))
        if exponent >= 0:
            size = np.logaddexp(math.log(part.stay), math.log(part.rate) + right)
        else:
            corner = np.minimum(far, math.pi / 2)
            still = part.rate * np.exp(np.minimum(left, 300.0))
            size = np.log(np.hypot(part.stay + still * np.cos(corner), still * np.sin(corner)))
        size = exponent * size
    return np.where(far <= math.pi / 2, log_f + size + reach * np.maximum(-least, 0.0), math.inf)
