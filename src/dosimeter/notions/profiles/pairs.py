"""What a pair of finite laws guarantees in each notion: exactly where the number is one, else from the safe side.

A pair that dominates a mechanism makes it a post-processing of the pair (Blackwell), so every notion that survives
post-processing may be read off the pair. Outcomes that only one law reaches are failures: with delta the larger of
their two probabilities, both laws are delta parts failure and 1 - delta parts of what is left, which is the pair that
Renyi divergences are taken of.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import ball, enclose, up
from dosimeter.exact import SMALLEST, ZERO, fraction_up
from dosimeter.notions.profiles.finite import best_tests, renyi_divergence
from dosimeter.notions.rdp import LARGEST_ORDER

if TYPE_CHECKING:
    Ball: TypeAlias = Any

Probabilities: TypeAlias = tuple[Fraction, ...]
_CLOSE: Final = 1.001  # a rho is found within a thousandth
_MOST: Final = 2000  # divergences that are computed for it, at most
_FEW: Final = 64  # outcomes up to which divergences are computed in balls
_STEEPEST: Final = 500.0  # the largest exponent in floating point
_FIRST: Final = 1e-3  # how far from order 1 the first cell reaches
_UNIT: Final = 2.0**-53
_LOST: Final = 1e-90  # of a term whose probability is too small for a double


@dataclass(frozen=True, slots=True)
class Good:
    """A pair without its infinite losses, both laws scaled to one again; and the probability of what was left out."""

    p: Probabilities
    q: Probabilities
    failure: Decimal


def good_part(p: Probabilities, q: Probabilities) -> Good:
    """What is left of a pair outside of failures. Its laws may be equal: then only failures reveal anything."""
    both = [(a, b) for a, b in zip(p, q, strict=True) if a and b]
    of_p, of_q = sum((a for a, _ in both), Fraction(0)), sum((b for _, b in both), Fraction(0))
    failure = 1 - min(of_p, of_q)
    kept = tuple(a / of_p for a, _ in both), tuple(b / of_q for _, b in both)
    return Good(*kept, fraction_up(failure) if failure else ZERO)


def largest_loss(p: Probabilities, q: Probabilities) -> Decimal:
    """The largest finite |log(p/q)|, rounded up; 0 if every loss is 0 or infinite."""
    ratios = [max(a / b, b / a) for a, b in zip(p, q, strict=True) if a and b]
    return _log_up(max(ratios))


def least_epsilon(p: Probabilities, q: Probabilities, delta: Decimal) -> Decimal | None:
    """The least epsilon >= 0 at which both divergences are at most delta, rounded up; None if there is none.

    Guarantee: exact but for the rounding. The divergence is linear in e^epsilon between the losses.

    Reference: Zhu, Dong, Wang 2022, Definition 4.
    """
    found = [_level(p, q, Fraction(delta)), _level(q, p, Fraction(delta))]
    if None in found:
        return None
    return _log_up(max(g for g in found if g is not None))


def renyi_of_pair(p: Probabilities, q: Probabilities, order: Decimal) -> Decimal:
    """The larger of both Renyi divergences of laws on the same outcomes, rounded up.

    Of many outcomes the sum is taken in floating point, its error added: within 1e-9 of itself, or 1e-15.
    """
    if len(p) <= _FEW:
        return max(renyi_divergence(p, q, order), renyi_divergence(q, p, order))
    away = float(order - 1)
    if away <= 0 or away * float(largest_loss(p, q)) > _STEEPEST:
        return max(renyi_divergence(p, q, order), renyi_divergence(q, p, order))
    return Decimal(max(side.log_moment(away) for side in _sides(p, q)) / away * (1 + 8 * _UNIT))


@lru_cache(maxsize=256)
def zcdp_of_pair(p: Probabilities, q: Probabilities) -> Decimal:
    """A rho with D_a <= rho a for every order a > 1 and both directions, within a thousandth of the least.

    Guarantee: holds at every order, not only where it was computed. K(a) = (a - 1) D_a is convex, so between two orders
    it lies below its chord, and the largest ratio of the chord to a (a - 1) is known in closed form. Beyond the last
    order D_a is at most the largest loss.

    Reference: Bun, Steinke 2016, Definition 1.1; van Erven, Harremoes 2014, Theorem 3 and Corollary 2.
    """
    top = float(largest_loss(p, q)) * (1 + 4 * _UNIT)
    if not top:
        return ZERO
    sides = _sides(p, q)
    last = min(_STEEPEST / top, float(LARGEST_ORDER))
    return Decimal(max([_ratio(side, last) for side in sides] + [top / (1 + last)]) * (1 + 64 * _UNIT))


@dataclass(frozen=True, slots=True)
class _Side:
    """One direction in floating point: probabilities under P and losses, each within a unit of itself."""

    masses: Any
    losses: Any

    def log_moment(self, away: float) -> float:
        """log E_P[e^(away L)] = K(1 + away), not below it; away * max L is at most _STEEPEST."""
        import numpy as np

        x = away * self.losses
        terms = self.masses * np.expm1(x)
        error = self.masses * (np.abs(np.expm1(x)) + np.abs(x) * np.exp(np.maximum(x, 0.0))) * (8 * _UNIT)
        total = float(terms.sum()) + float(error.sum()) + len(x) * (_UNIT * float(np.abs(terms).sum()) + _LOST)
        return max(math.log1p(max(total, 0.0)), 0.0) * (1 + 4 * _UNIT)


def _sides(p: Probabilities, q: Probabilities) -> tuple[_Side, _Side]:
    import numpy as np

    losses = np.array([_log(a / b) for a, b in zip(p, q, strict=True)])
    return _Side(np.array([float(a) for a in p]), losses), _Side(np.array([float(b) for b in q]), -losses)


def _log(ratio: Fraction) -> float:
    return float(enclose(lambda: ball(ratio).log())) if ratio != 1 else 0.0


def _ratio(side: _Side, last: float) -> float:
    """The largest D_a / a for a in [1, 1 + last], from above: cells are halved where their bound is the largest."""
    known: dict[float, float] = {0.0: 0.0}

    def cell(low: float, high: float) -> tuple[float, float, float]:
        for away in (low, high):
            if away not in known:
                known[away] = side.log_moment(away)
        return -_steepest(low, known[low], high, known[high]), low, high

    first = min(_FIRST, last)
    edges = [0.0, *(first * (last / first) ** (i / 16) for i in range(16)), last]
    cells = [cell(low, high) for low, high in pairwise(edges) if low < high]
    heapq.heapify(cells)
    best = max(moment / (away * (1 + away)) for away, moment in known.items() if away)
    while -cells[0][0] > best * _CLOSE and len(known) < _MOST:
        _, low, high = heapq.heappop(cells)
        middle = math.sqrt(low * high) if low else high / 4
        for one in (cell(low, middle), cell(middle, high)):
            heapq.heappush(cells, one)
        best = max(best, known[middle] / (middle * (1 + middle)))
    return -cells[0][0]


def _steepest(low: float, at_low: float, high: float, at_high: float) -> float:
    """The largest value of a chord of K over a (a - 1) between two orders, t = a - 1 being `low` to `high`.

    The chord is rise t - gap, gap >= 0 since K is convex and 0 at t = 0; its ratio grows up to
    t = (gap + sqrt(gap (rise + gap))) / rise and falls from there. At t = 0, where gap is 0, it is `rise`.
    """
    rise = (at_high - at_low) / (high - low)
    if not low:
        return at_high / high * (1 + 8 * _UNIT)
    gap = max(rise * low - at_low, 0.0)
    t = (gap + math.sqrt(gap * (rise + gap))) / rise if rise > 0 else high
    t = min(max(t, low), high)
    upper = at_low + rise * (t - low)
    return max(upper / (t * (1 + t)), at_low / (low * (1 + low)), at_high / (high * (1 + high))) * (1 + 1e-9)


def gdp_of_pair(p: Probabilities, q: Probabilities) -> Decimal:
    """The least mu for which the pair is mu-GDP, rounded up.

    Guarantee: exact but for the rounding: straight pieces lie above a convex curve if their corners do.

    Args:
        p: positive probabilities.
        q: positive probabilities of the same outcomes.

    Reference: Dong, Roth, Su 2022, Definitions 3 and 4.
    """
    corners = [(x, miss) for x, miss in best_tests(p, q) if x > 0 and miss > 0]
    if all(x + miss >= 1 for x, miss in corners):
        return ZERO

    def least() -> Ball:
        found = ball(0)
        for x, miss in corners:
            found = found.max(_upper_quantile(x) + _upper_quantile(miss))
        return found

    return max(SMALLEST, up(enclose(least)))


def _upper_quantile(x: Fraction) -> Ball:
    """The point that a standard normal exceeds with probability x."""
    root = ball(2).sqrt()
    small = min(x, 1 - x)
    if small == Fraction(1, 2):
        return ball(0)
    size = root * (2 * ball(small)).erfcinv()
    return size if x < Fraction(1, 2) else -size


def _level(p: Probabilities, q: Probabilities, delta: Fraction) -> Fraction | None:
    """The least g >= 1 with sum (p - g q)+ <= delta."""
    mass = sum((a for a, b in zip(p, q, strict=True) if not b), Fraction(0))
    if mass > delta:
        return None
    weight = Fraction(0)
    finite = [(a / b, a, b) for a, b in zip(p, q, strict=True) if b]
    for ratio, a, b in sorted(finite, reverse=True):
        if ratio <= 1 or mass - ratio * weight > delta:
            break
        mass, weight = mass + a, weight + b
    return Fraction(1) if mass - weight <= delta else (mass - delta) / weight


def _log_up(ratio: Fraction) -> Decimal:
    return up(enclose(lambda: ball(ratio).log())) if ratio > 1 else ZERO
