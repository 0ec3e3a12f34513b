"""Gaussian mechanisms in the game: N(0, 1) against N(mu, 1), cut into cells whose losses lie on a lattice.

Cutting is post-processing, so a box is a lower bound of what Gaussian noise reveals: whatever a strategy reaches with
it, it reaches with the real mechanism. More cells come closer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dosimeter.adaptive.game.box import Box
from dosimeter.errors import InputError

_MARGIN = 1e-9  # cells keep this much less than their mass: far more than floating point is wrong by
_SMALLEST_CELL = 1e-6  # relative to the mass outside it; smaller ones would be mostly cancellation


def gaussian_cells(mu: float, base: Fraction, steps: Sequence[int]) -> Box:
    """A symmetric box that N(0, 1) against N(mu, 1) can be post-processed into, with losses step * log(base).

    Guarantee: every strategy reaches at least as much with Gaussian noise of this mu as with the box.

    Args:
        mu: distance of the means in standard deviations, > 0.
        base: e^h, a rational above 1.
        steps: the losses of the cells on one side in units of h, strictly increasing, from 1 on; the other side mirrors
            them, and the middle cell has loss 0. Steps that no cell of the remaining mass can have are left out.

    Raises:
        InputError: the steps are not increasing whole numbers from 1 on.

    Reference: merging outcomes is post-processing; the likelihood ratio is monotone.
    """
    if not mu > 0 or list(steps) != sorted(set(steps)) or not steps or steps[0] < 1:
        raise InputError(f"mu={mu} must be positive and steps={list(steps)} increasing whole numbers from 1 on")
    step = math.log(base)
    outer_p = outer_q = 0.0
    cells: list[tuple[Fraction, Fraction]] = []
    for jump in reversed(steps):
        odds = math.exp(jump * step)
        edge = _edge(mu, odds, outer_p, outer_q)
        if edge is None:
            continue
        p, q = _tail(edge - mu / 2) - outer_p, _tail(edge + mu / 2) - outer_q
        outer_p, outer_q = outer_p + p, outer_q + q
        weight = Fraction(p * (1 - _MARGIN))
        cells.append((weight, weight / base**jump))
    rest = 1 - sum((p + q for p, q in cells), Fraction(0))
    mirrored = [(q, p) for p, q in cells]
    return Box(f"N({mu:g}) in {2 * len(cells) + 1} cells", (*cells, *mirrored, (rest, rest)))


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _edge(mu: float, odds: float, outer_p: float, outer_q: float) -> float | None:
    """The inner edge, measured from the middle mu/2, of the next cell inwards, such that its ratio is `odds`."""

    def excess(edge: float) -> float:  # increasing up to where the density's own ratio is `odds`
        return (_tail(edge - mu / 2) - outer_p) - odds * (_tail(edge + mu / 2) - outer_q)

    low, high = 0.0, math.log(odds) / mu
    if excess(low) >= 0 or _tail(high - mu / 2) <= outer_p * (1 + _SMALLEST_CELL):
        return None
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high
