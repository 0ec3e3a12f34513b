"""One law on one line: its real moment, and its tilted characteristic function at equally spaced heights.

On the line c + it write ``E_P[e^((c+it)L)] = e^(K + itm) phi(t)`` with K = log E_P[e^(cL)] and any centre m: phi is the
characteristic function of L - m under the tilted law, so |phi| <= 1 and K, m and log phi add under composition. Both
are computed as sums of small terms (e^x - 1 rather than e^x), so a law that barely moves keeps its relative accuracy
and may be repeated 10^9 times.

Errors. An operation rounds with relative error UNIT; exp, expm1, log, log1p, sin and cos of the numerical library are
taken to be right to eight units in the last place (they are documented to be right to four; a test compares them with
ball arithmetic). `error[j]` is an absolute bound for phi at node j and `log_error` one for K; their derivations stand
beside the code. A pairwise sum of n terms is off by at most (20 + log2 n) UNIT times the sum of their sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dosimeter.pld.laws.law import Complexes, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.blocks import ELEMENTARY, SUM, rounding, turns
from dosimeter.pld.saddle.quadrature import Points


@dataclass(frozen=True, slots=True)
class Tilted:
    """A law tilted by e^(cL): log moment, centre, centred losses and normalised weights, and the errors they carry."""

    log_moment: float
    log_error: float
    centre: float
    losses: Reals  # minus the centre
    weights: Reals
    rest: float  # absolute error of phi that is the same at every height
    slope: float  # absolute error of phi per unit of height
    size: float  # sum of weight * |centred loss|


@dataclass(frozen=True, slots=True)
class Characteristic:
    """phi at heights 0, h, 2h, ... of a line: log phi, and a bound eta with |exact / computed - 1| <= eta."""

    log_moment: float
    log_error: float
    centre: float
    log_phi: Complexes
    eta: Reals


def tilt(points: Points, order: float, log_mass: float, index: int = 1) -> Tilted:
    """Tilt the points by e^(order L).

    `log_mass` is the logarithm of the exact P-mass of finite losses; the points were made for the moments zero (the
    plain mass) and `index`, the one asked for.
    """
    x = order * points.losses
    relative = points.log_error + order * points.loss_error + ELEMENTARY + 3 * UNIT * (np.abs(points.log_p) + np.abs(x))
    log_rest = float(np.logaddexp(points.log_rest[0], points.log_rest[index]))
    log_rest = float(np.logaddexp(log_rest, math.log(points.cut + 1e-300)))
    log_terms = points.log_p + x
    top = float(np.max(log_terms))
    if top < 1.0 and order * float(np.max(points.losses)) < 600.0:
        # M = mass + sum p (e^x - 1); the error of a term is at most p |e^x - 1| (its weight's) + p e^x (its loss's)
        p = np.exp(points.log_p)
        moved = np.exp(log_terms) * (order * points.loss_error + 2 * UNIT * np.abs(x))
        terms = p * np.expm1(x)
        mass = math.exp(log_mass)
        change = float(terms.sum()) / mass
        error = float((np.abs(terms) * (relative + SUM + 4 * UNIT) + moved).sum()) + math.exp(log_rest)
        log_moment = log_mass + math.log1p(change)
        log_error = error / mass / (1 + change) * (1 + 1e-9) + 16 * UNIT * abs(math.log1p(change))
        log_error += 4 * UNIT * abs(log_mass)
    else:
        scaled = np.exp(log_terms - top)
        total = float(scaled.sum())
        log_moment = top + math.log(total)
        log_error = float((scaled * relative).sum()) / total + SUM + 4 * UNIT * (1 + abs(top))
        log_error += math.exp(min(log_rest - log_moment, 0.0))
    weights = np.exp(log_terms - log_moment)
    centre = float((weights * points.losses).sum())
    losses = points.losses - centre
    size = float((weights * np.abs(losses)).sum())
    weight_error = relative + ELEMENTARY + 2 * UNIT * abs(log_moment) + log_error
    slope = float((weights * (np.abs(losses) * (weight_error + 4 * UNIT) + points.loss_error)).sum()) * 1.001
    lost = 2.001 * math.exp(min(log_rest - log_moment, 0.0))
    return Tilted(log_moment, log_error, centre, losses, weights, lost, slope, size)


def characteristic(
    tilted: Tilted, line: Reals, used: int, more: tuple[Complexes, Reals] | None = None
) -> Characteristic:
    """phi at equally spaced heights: phi - 1 is the weighted sum of e^(i t loss) - 1.

    Args:
        tilted: the law.
        line: the heights 0, h, 2h, ...
        used: how many of the tilted points to sum; `more` brings what the others contribute, and its error.
    """
    change = turns(tilted.losses[:used], tilted.weights[:used], float(line[1]), len(line))
    error = tilted.rest + line * (tilted.slope + rounding(used) * tilted.size) * 1.001
    if more is not None:
        change, error = change + more[0], error + more[1]
    return finish((tilted.log_moment, tilted.log_error, tilted.centre), change, error)


def finish(frame: tuple[float, float, float], change: Complexes, error: Reals) -> Characteristic:
    """From phi - 1 and its absolute error to log phi and its relative one; the frame is (K, its error, centre).

    Where phi is smaller than its own error, the error stands in for it: the exact phi is then at most twice that, so
    within three times the stand-in of it.
    """
    with np.errstate(divide="ignore"):
        log_phi = log1p(change)
    size = np.exp(log_phi.real)
    error = error + 4 * ELEMENTARY * np.minimum(np.abs(change), 2.0)
    lost = size <= error
    log_phi = np.where(lost, np.log(np.maximum(error, 1e-300)), log_phi)
    eta = np.where(lost, 3.0, error / np.where(lost, 1.0, size))
    return Characteristic(*frame, log_phi, eta)


def log1p(u: Complexes) -> Complexes:
    """log(1 + u) for complex u, right where u is small (the library's own loses the real part there)."""
    x, y = u.real, u.imag
    small = np.abs(u) < 0.5
    near = 0.5 * np.log1p(np.where(small, x * (2 + x) + y * y, 0.0))
    result: Complexes = np.where(small, near, np.log(np.hypot(1 + x, y))) + 1j * np.arctan2(y, 1 + x)
    return result
