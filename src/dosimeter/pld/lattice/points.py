"""A law of losses on a lattice, tilted: weights that sum to one, and what undoes the tilt.

Tilting by e^(order L) moves the mass to where the answer lies, so that rounding errors, which are relative to the
tilted mass, stay relative to the answer however small delta is. The tilt is undone only when a delta is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dosimeter.pld.laws.law import Reals
from dosimeter.pld.laws.parts import UNIT


@dataclass(frozen=True, slots=True)
class PointLaw:
    """P-mass ``weights[i] e^(log_moment - order l)`` at the loss ``l = offset + step (first + i)``.

    `shift` is added to every loss (it carries the margins of one mechanism, upwards or downwards), and `log_infinite`
    is the logarithm of an upper bound of P-mass that may lie anywhere, infinity included.
    """

    order: float
    step: float
    offset: float
    shift: float
    first: int
    weights: Reals
    log_moment: float
    log_infinite: float
    centre: int = field(init=False)  # a whole index near the mean of the tilted law
    variance: float = field(init=False)  # of the tilted index

    def __post_init__(self) -> None:
        index = np.arange(len(self.weights), dtype=float)
        mean = float((self.weights * index).sum())
        object.__setattr__(self, "centre", self.first + round(mean))
        object.__setattr__(self, "variance", float((self.weights * (index - mean) ** 2).sum()))


def tilt_margin(log_mass: Reals, losses: Reals, order: float) -> Reals:
    """How far floating point may move a tilted mass, in logarithms: its terms are added and scaled before exp."""
    with np.errstate(invalid="ignore"):
        sizes = np.abs(log_mass) + np.abs(order * losses)
    result: Reals = 8 * UNIT * (1.0 + np.where(np.isfinite(sizes), sizes, 0.0))
    return result


def log_sum(values: Reals) -> float:
    """log of the sum of exponentials; -inf for no mass at all."""
    top = float(np.max(values, initial=-math.inf))
    return top if top == -math.inf else top + math.log(float(np.exp(values - top).sum()))
