"""One side of the answer: a composition certainly below or certainly above the exact one, and its delta and epsilon.

delta(epsilon) = P(some loss is infinite) + e^(M - c epsilon) sum_j s_j f(l_j - epsilon), with the tilted weights s,
c the tilt, e^M what the tilt took out, and f(d) = e^(-c d) (1 - e^-d) for d > 0, which is at most
c^c / (1 + c)^(1 + c). That largest value turns the mass outside the window into an error of delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dosimeter.pld.laws.law import Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.tilted.transform import Convolution, Counted, convolve, window

_SLOP = 1e-11
_STEPS = 200


@dataclass(frozen=True, slots=True)
class Side:
    """The composed law of one side. `losses` already carry the margins of all mechanisms, in the safe direction."""

    above: bool
    order: float
    losses: Reals
    weights: Reals
    error: float
    tail: float
    log_moment: float
    log_infinite: float

    def log_delta(self, epsilon: float) -> float:
        """log of delta at epsilon: certainly not below (above) the exact value; -inf when nothing is certain."""
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        away = self.losses[first:] - epsilon
        weights = self.weights[first:]
        weights = weights + self.error if self.above else np.maximum(weights - self.error, 0.0)
        total = float((weights * np.exp(-self.order * away) * -np.expm1(-away)).sum())
        outside = math.exp(largest_share(self.order)) * self.tail
        total = total * (1 + _SLOP) + outside if self.above else total * (1 - _SLOP) - outside
        if total <= 0:
            return self.log_infinite
        rounding = 8 * UNIT * (abs(self.log_moment) + abs(self.order * epsilon))
        finite = self.log_moment - self.order * epsilon + math.log(total) + (rounding if self.above else -rounding)
        return float(np.logaddexp(finite, self.log_infinite))

    def epsilon(self, log_delta: float, start: float) -> float:
        """An epsilon certainly enough (above), or one at which delta is certainly still at least the one given.

        The search goes out from `start`; what is returned has been checked itself. 0 (below) and inf (above) when
        nothing is certain; inf when infinite losses alone reach the delta.
        """
        if self.log_infinite >= log_delta:
            return math.inf
        sign = 1.0 if self.above else -1.0

        def certain(epsilon: float) -> float:
            """At most zero where `epsilon` will do."""
            return sign * (self.log_delta(epsilon) - log_delta)

        return _outermost(certain, max(start, 0.0), 1 / (1 + self.order), sign)


def _outermost(certain: Callable[[float], float], start: float, reach: float, sign: float) -> float:
    """The point with certain <= 0 closest to the answer: the least one for sign 1, the largest one for sign -1."""
    good, bad = start, start
    value, worse = certain(start), certain(start)
    for _ in range(_STEPS):  # towards safety, until it holds
        if value <= 0:
            break
        bad, worse = good, value
        good, reach = max(good + sign * reach, 0.0), 2 * reach
        value = certain(good)
        if good == bad == 0.0:
            return 0.0
    else:
        return math.inf if sign > 0 else 0.0
    while worse <= 0:  # towards the answer, until it does not hold
        if sign > 0 and good == 0.0:
            return 0.0
        good, value = bad, worse
        bad, reach = max(bad - sign * reach, 0.0), 2 * reach
        worse = certain(bad)
    return _narrow(certain, (good, value), (bad, worse))


def _narrow(certain: Callable[[float], float], good: tuple[float, float], bad: tuple[float, float]) -> float:
    """Regula falsi with halving where it stalls; returns the good end."""
    for step in range(_STEPS):
        width = abs(good[0] - bad[0])
        if width <= 2e-14 * max(good[0], bad[0]):
            break
        share = -good[1] / (bad[1] - good[1]) if math.isfinite(bad[1] - good[1]) and step % 3 < 2 else 0.5
        at = good[0] + (bad[0] - good[0]) * min(max(share, 1e-3), 0.999)
        if at in (good[0], bad[0]):
            break
        value = certain(at)
        if value <= 0:
            good = at, value
        else:
            bad = at, value
    return good[0]


def largest_share(order: float) -> float:
    """log of c^c / (1 + c)^(1 + c)."""
    return order * math.log(order) - (1 + order) * math.log1p(order) if order > 0 else 0.0


def compose(
    laws: Counted, *, above: bool, log_infinite: float, log_scale: float, log_tail: float, longest: int
) -> Side | None:
    """Compose point laws of one order and one step; None when no window of `longest` points holds them.

    All but a tilted mass of 2 e^`log_tail` lies in the window. `log_infinite` bounds log P(some loss is infinite) from
    the right side; `log_scale` is added to the log moment.
    """
    where = window(laws, log_tail, longest)
    if where is None:
        return None
    law, _ = laws[0]
    convolution: Convolution = convolve(laws, where)
    shift = math.fsum(times * one.shift for one, times in laws)
    size = math.fsum(times * (abs(one.offset) + abs(one.shift)) for one, times in laws)
    steps = where.start + np.arange(where.length, dtype=float)
    losses = math.fsum(times * one.offset for one, times in laws) + shift + law.step * steps
    sign = 1.0 if above else -1.0
    moved = sign * 8 * UNIT * (size + float(np.max(np.abs(losses))))
    log_moment = math.fsum(times * one.log_moment for one, times in laws) + log_scale
    log_moment += law.order * (shift + 2 * moved)  # masses were tilted where they were before they moved
    sizes = math.fsum(times * abs(one.log_moment) for one, times in laws) + abs(log_scale)
    return Side(
        above,
        law.order,
        losses + moved,
        convolution.weights,
        convolution.error,
        where.tail,
        log_moment + sign * 4 * UNIT * (sizes + abs(law.order * shift)),
        _infinite(laws, log_infinite) if above else log_infinite,
    )


def _infinite(laws: Counted, log_infinite: float) -> float:
    terms = [log_infinite] + [one.log_infinite + math.log(times) for one, times in laws]
    return float(np.logaddexp.reduce(terms)) + 1e-12
