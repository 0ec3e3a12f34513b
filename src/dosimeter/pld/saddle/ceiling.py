"""Rare, huge losses: count them exactly instead of tilting them.

With a tiny sampling rate one rare outcome has a loss thousands of times the body's. A tilt strong enough for the body
would blow such outcomes up. So losses above a ceiling are taken off a law. For a level u at or above the ceiling let
A_u be the event that some run of a composition was above u; P(A_u) = 1 - prod (1 - p_i)^n_i, and Q(A_u) alike. If
every loss is at least its law's floor, the total is on A_u at least u + F, F the sum of all floors (each at most 0).
With A the event of the ceiling itself, what A adds to delta is therefore, for every eps <= u + F, at most

    P(A_u) - e^eps Q(A_u) + P(A) - P(A_u),

because (1 - e^(eps - L))_+ is 1 - e^(eps - L) on A_u, and at most 1. It is at least max(0, P(A_u) - e^eps Q(A_u)) for
every u and eps, and it falls with eps. Only laws without infinite atoms are cut.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.law import Direction, Law, Part, Reals
from dosimeter.pld.laws.spread import Spread

MASS_SLACK = 1e-11  # relative error allowed for the masses above a ceiling


LEVELS: Reals = 4.0 ** np.arange(25.0)  # levels, in multiples of the ceiling


@dataclass(frozen=True, slots=True)
class Above:
    """log(1 - mass above) of one law at each level, under P and under Q."""

    log_p_below: Reals
    log_q_below: Reals


NOTHING = Above(np.zeros(len(LEVELS)), np.zeros(len(LEVELS)))


def can_be_cut(law: Law) -> bool:
    """Whether losses may be taken off a law."""
    return not any(law.infinite(direction) for direction in Direction)


def below(law: Law, direction: Direction, cut: float, ceiling: float) -> tuple[Part, ...]:
    """The parts of a law with losses at most about `ceiling`."""
    parts = law.parts(direction, cut)
    if math.isinf(ceiling) or not can_be_cut(law):
        return parts
    return tuple(_split(part, ceiling)[0] if part.sign > 0 else part for part in parts)


def above(law: Law, direction: Direction, cut: float, ceiling: float) -> Above:
    """What is certainly above the ceiling, and above each level."""
    if math.isinf(ceiling) or not can_be_cut(law):
        return NOTHING
    p, q = np.zeros(len(LEVELS)), np.zeros(len(LEVELS))
    for part in law.parts(direction, cut):
        if part.sign > 0:
            for k, level in enumerate(LEVELS):
                more = masses_above(part, ceiling * float(level))
                p[k], q[k] = p[k] + more[0], q[k] + more[1]
    return Above(np.log1p(-np.minimum(p, 1 - 1e-12)), np.log1p(-np.minimum(q, 1 - 1e-12)))


def masses_above(part: Part, level: float) -> tuple[float, float]:
    """P- and Q-mass above a level."""
    gone = _split(part, level)[1]
    own, raised = math.exp(gone.log_total()), math.exp(gone.tilted(1.0).log_total())
    return part.stay * own + part.rate * raised, own


def _split(part: Part, level: float) -> tuple[Part, Spread]:
    top = float(part.base(np.array([level * (1 + 1e-9)]))[0])  # never below the level, whatever was rounded
    spread = part.spread
    high = spread.losses > top
    gone = Spread(
        spread.losses[high],
        spread.log_mass[high],
        tuple(replace(piece, low=max(piece.low, top)) for piece in spread.pieces if piece.high > top),
    )
    left = Spread(
        spread.losses[~high],
        spread.log_mass[~high],
        tuple(replace(piece, high=min(piece.high, top)) for piece in spread.pieces if piece.low < top),
        spread.cut,
    )
    return replace(part, spread=left), gone


@functools.lru_cache(maxsize=8192)
def floor(law: Law, direction: Direction) -> float:
    """A lower bound of every finite loss, at most 0; -inf if there is none."""
    if law.gaussian is not None or isinstance(law, DiscreteGaussianLaw):
        return -math.inf
    return min(law.support(direction)[0], 0.0)
