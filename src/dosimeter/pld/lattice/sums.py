"""The law of a sum of alike nonnegative variables, as a list of points certainly below it and one certainly above.

*Below* and *above* are meant for convex functions. Cut the line into cells. Replacing a variable by its conditional
mean on each cell lowers every expected convex function (Jensen); spreading it onto the two edges of its cell, keeping
mass and mean, raises it. A convex function of a sum is convex in each term, so both may be done to the terms, and again
to every sum of two. A sum of t is put together from powers of two: a million terms take some thirty additions of two
lists. Any cells will do. Here they are narrow around the middle, where the mass of a long sum gathers, and grow in
proportion to the distance from it, and to the value where that is smaller.

**Rounding.** Masses are sums of positive products. They are moved outwards by what their sums may have lost (one unit
per term): lists above have at least the mass of the exact ones, lists below at most that. What moves points (rounded
sums, conditional means) is kept as one relative number, `away`.

**Far out.** The last cell has no end. Below, its conditional mean is finite. Above, the variable is capped there: a
function of slope at most c loses at most c E (X - top)+ by that, which is at most c times the P-mass beyond.

Reference: Shaked and Shanthikumar (2007), Stochastic Orders, sections 3.A.1 and 3.A.2. The cells and the margins are
our own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Direction, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.primitive import Primitive

_BLOCK = 1 << 17
_FARTHEST = 280.0  # of a loss: masses and values stay far from the ends of floating point
_LEAST_MASS = 1e-290  # smaller ones may be denormal, where rounding is no longer relative
_UNDERFLOW = 1e-305
_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class Points:
    """Masses at increasing points of [0, inf); every point is right up to the factor 1 + `away`, either way."""

    at: Reals
    mass: Reals
    away: float

    def quantile(self, share: float) -> float:
        """About the point with this share of the mass to its left."""
        total = np.cumsum(self.mass)
        return float(self.at[min(int(np.searchsorted(total, share * total[-1])), len(self.at) - 1)])


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of `terms` copies of X = e^loss, under Q; `lost` bounds the P-mass that the points above leave out."""

    terms: int
    below: Points
    above: Points
    lost: float


Whole: TypeAlias = NDArray[np.int_]
Rule: TypeAlias = Callable[[Points, Points, Reals], Points]


@functools.lru_cache(maxsize=8)
def sum_of(base: Primitive, terms: int, log_tail: float, cells: int) -> Sum:
    """The sum of `terms` independent copies of X = e^loss, the loss of `base` under Q (to remove a record).

    Guarantee: for a convex f >= 0 that rises with slope at most 1/terms, E f(S) is at least the sum of
    mass * f(point * (1 - away)) over the points below, and at most that of mass * f(point * (1 + away)) over those
    above, plus `lost`. For one that falls the signs of `away` change, and nothing is lost.

    Args:
        base: the loss of one term, without infinite losses.
        terms: t, at least 1.
        log_tail: about the logarithm of the P-mass that may be left out.
        cells: about how many points each list may have.

    Raises:
        NoGuaranteeError: losses are infinite, or too large for floating point.
    """
    if any(base.infinite(direction) for direction in Direction):
        raise NoGuaranteeError("a sum of terms that may be infinite is not held as a list of points")
    below, above, tail = _single(base, log_tail, cells)
    below, above = _power(below, terms, cells, averaged), _power(above, terms, cells, spread)
    underflow = 2 * terms.bit_length() * len(above.at) ** 2 * _UNDERFLOW * terms * max(float(above.at[-1]), 1.0)
    return Sum(terms, below, above, (tail + underflow) * (1 + 8 * UNIT))


def _single(base: Primitive, log_tail: float, cells: int) -> tuple[Points, Points, float]:
    """One term below and above, and a bound of the P-mass beyond the last edge."""
    low, high = (_end(base, log_tail, right=right) for right in (False, True))
    edges = grid(math.exp(low), math.exp(high), (1.0, math.inf), cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(edges)
        masses = base.masses(Direction.REMOVE, np.append(logs, math.inf))
        log_p, log_q = masses.log_p, masses.log_q
        known = np.isfinite(log_q) & np.isfinite(log_p)
        slack_p, slack_q = (
            (masses.error + 8 * UNIT) * np.maximum(1.0, np.where(known, -x, 1.0)) for x in (log_p, log_q)
        )
        mean = np.where(known, np.exp(np.where(known, log_p - log_q, 0.0)), edges)
    edge_error = (masses.edge_error + 4 * UNIT) * float(np.max(np.abs(logs[1:])))
    away = float(np.max(slack_p + slack_q)) + edge_error + 8 * UNIT
    mean = np.clip(mean, edges, np.append(edges[1:], math.inf))
    below = _kept(Points(mean, np.exp(log_q - slack_q), away))
    above = _on_edges(np.minimum(mean, edges[-1]), np.exp(log_q + slack_q), edges)
    return below, Points(above.at, above.mass, away), float(np.exp(log_p[-1] + slack_p[-1]))


def _end(base: Primitive, log_tail: float, *, right: bool) -> float:
    """A loss beyond which lies P-mass of about e^log_tail (right), or Q-mass (left)."""
    bottom, top = base.support(Direction.REMOVE)
    near, far = 0.0, min(top, 4 * _FARTHEST) if right else max(bottom, -4 * _FARTHEST)
    for _ in range(40):
        middle = (near + far) / 2
        edges = np.array([middle, math.inf] if right else [-math.inf, middle])
        with np.errstate(all="ignore"):
            found = base.masses(Direction.REMOVE, edges)
        mass = float((found.log_p if right else found.log_q)[0])
        near, far = (middle, far) if mass > log_tail else (near, middle)
    if abs(far) > _FARTHEST:
        raise NoGuaranteeError("losses are too large for a list of their exponentials; price the steps as if known")
    return far


def _power(one: Points, terms: int, cells: int, rule: Rule) -> Points:
    """The sum of `terms` copies, by doubling."""
    result = one
    for bit in bin(terms)[3:]:
        result = _added(result, result, cells, rule)
        if bit == "1":
            result = _added(result, one, cells, rule)
    return result


def _added(a: Points, b: Points, cells: int, rule: Rule) -> Points:
    """The sum of two independent lists, on cells made for it."""
    middle = a.quantile(0.5) + b.quantile(0.5)
    width = math.hypot(*(one.quantile(0.84) - one.quantile(0.16) for one in (a, b))) / 2
    low = next(float(x) for x in a.at if x > 0) + next(float(x) for x in b.at if x > 0)
    return rule(a, b, grid(low, float(a.at[-1] + b.at[-1]), (middle, max(width, 1e-9 * middle)), cells))


def grid(low: float, high: float, bulk: tuple[float, float], cells: int) -> Reals:
    """Edges 0, low, .., high. Their distances are proportional to min(x, |x - centre| or the width), roughly."""
    centre, width = bulk
    high = max(high, low * (1 + 1e-9))
    far = np.geomspace(low, high, _SAMPLES * cells)
    near = centre + width * np.sinh(np.linspace(-12.0, 12.0, _SAMPLES * cells)) if math.isfinite(width) else far
    x = np.unique(np.concatenate([far, near[(near > low) & (near < high)]]))
    speed = 1 / np.minimum(x, np.hypot(width, x - centre) if math.isfinite(width) else x)
    steps = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(x))])
    inner = np.interp(np.linspace(0, steps[-1], cells - 1), steps, x)
    inner[0], inner[-1] = low, high
    return np.concatenate([[0.0], np.unique(inner)])


def averaged(a: Points, b: Points, edges: Reals) -> Points:
    """The sum of two lists below: pairs that fall into one cell become their mean."""
    size = len(edges)
    mass, moment, terms = np.zeros(size), np.zeros(size), np.zeros(size, dtype=int)
    for z, m, cell in _pairs(a, b, edges):
        mass += np.bincount(cell, weights=m, minlength=size)
        moment += np.bincount(cell, weights=m * z, minlength=size)
        terms += np.bincount(cell, minlength=size)
    filled = mass > 0
    lost = UNIT * (terms + 40)
    at = np.divide(moment, mass, out=edges.copy(), where=filled)
    away = max(a.away, b.away) * (1 + 1e-9) + 2 * float(lost.max()) + 4 * UNIT
    return _kept(Points(at, mass * (1 - 2 * lost), away))


def spread(a: Points, b: Points, edges: Reals) -> Points:
    """The sum of two lists above: every pair is divided between the edges of its cell; its mean stays."""
    size = len(edges)
    edges = np.append(edges[:-1], max(float(edges[-1]), float(a.at[-1] + b.at[-1])))
    mass, terms = np.zeros(size), np.zeros(size, dtype=int)
    for z, m, found in _pairs(a, b, edges):
        cell = np.minimum(found, size - 2)
        left, right = edges[cell], edges[cell + 1]
        share = m / (right - left)
        mass += np.bincount(cell, weights=share * (right - z), minlength=size)
        mass += np.bincount(cell + 1, weights=share * (z - left), minlength=size)
        counted = np.bincount(cell, minlength=size)
        terms += counted + np.append(0, counted[:-1])
    filled = mass > 0
    away = max(a.away, b.away) + 2 * UNIT
    return Points(edges[filled], (mass * (1 + 2 * UNIT * (terms + 48)))[filled], away)


def _pairs(a: Points, b: Points, edges: Reals) -> Iterator[tuple[Reals, Reals, Whole]]:
    """Sums of two points, products of their masses and the cells they fall into, some rows at a time.

    For a list with itself the pairs left of the block of rows are counted as their mirror images on its right.
    """
    rows = max(_BLOCK // len(b.at), 1)
    for first in range(0, len(a.at), rows):
        at, mass = b.at, b.mass
        if a is b:
            at, mass = at[first:], np.append(mass[first : first + rows], 2 * mass[first + rows :])
        z = (a.at[first : first + rows, None] + at[None, :]).ravel()
        m = (a.mass[first : first + rows, None] * mass[None, :]).ravel()
        yield z, m, np.searchsorted(edges, z, side="right") - 1


def _on_edges(at: Reals, mass: Reals, edges: Reals) -> Points:
    """Single points, each divided between the edges of its cell."""
    nothing = Points(np.zeros(1), np.ones(1), 0.0)
    return spread(Points(at, mass, 0.0), nothing, edges)


def _kept(points: Points) -> Points:
    """Leave out what has hardly any mass: below, that is safe."""
    good = points.mass > _LEAST_MASS
    return Points(points.at[good], points.mass[good], points.away)
