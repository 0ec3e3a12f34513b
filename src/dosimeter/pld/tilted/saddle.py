"""Where to tilt, how far the losses reach, how fine the lattice must start: estimates only.

A poor estimate here makes an answer wide or slow, never wrong: what is left out is measured, whatever it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dosimeter.pld.laws.law import Direction, Law, Reals
from dosimeter.pld.laws.parts import Part
from dosimeter.pld.laws.spread import Piece

_ORDERS: Reals = np.exp(np.linspace(math.log(1e-3), math.log(1e6), 70))
_SHARES: Reals = _ORDERS * np.log(_ORDERS) - (1 + _ORDERS) * np.log1p(_ORDERS)
_SAMPLES = 500
_NEGLIGIBLE = -40.0  # e^-40 is below the rounding of a double
_ROUNDING = 4e-13  # the sum of a run's rounding errors over all frequencies that matter


@dataclass(frozen=True, slots=True)
class Tilt:
    """An order for one question.

    `deviation` is that of the tilted total, `log_cut` the logarithm of a P-mass that does not matter to the answer, and
    `log_excess` how much the Chernoff bound at this order exceeds delta: what relative errors are multiplied by.
    """

    order: float
    deviation: float
    log_cut: float
    log_excess: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class Samples:
    """A law seen at a few points: losses in increasing order and logarithms of P-masses."""

    losses: Reals
    log_p: Reals

    def moments(self, orders: Reals) -> tuple[Reals, Reals]:
        """log E_P[e^(order L)] as if the samples had the mass one, and the variances of the tilted losses; roughly."""
        exponents = np.outer(np.append(orders, 0.0), self.losses) + self.log_p
        top = exponents.max(axis=1)
        weights = np.exp(exponents - top[:, None])
        totals = weights.sum(axis=1)
        weights /= totals[:, None]
        means = (weights * self.losses).sum(axis=1)
        variances = (weights * (self.losses[None, :] - means[:, None]) ** 2).sum(axis=1)
        values = top + np.log(totals)
        return values[:-1] - values[-1], variances[:-1]


@functools.lru_cache(maxsize=4096)
def sample(law: Law, direction: Direction, log_cut: float) -> Samples:
    """Points and pieces of a law, down to densities of about e^log_cut."""
    losses, log_p = [], []
    for part in law.parts(direction, 0.0):
        own = part.loss(part.spread.losses)
        losses.append(own)
        log_p.append(part.spread.log_mass + (own if part.sign > 0 else 0.0))
        for piece in part.spread.pieces:
            low, high = _ends(part, piece, log_cut)
            at = low + (high - low) * (np.arange(_SAMPLES) + 0.5) / _SAMPLES
            own = part.loss(at)
            losses.append(own)
            log_p.append(piece.log_density(at) + (own if part.sign > 0 else 0.0) + math.log((high - low) / _SAMPLES))
    loss, mass = np.concatenate(losses), np.concatenate(log_p)
    kept = np.isfinite(loss) & (mass > log_cut + _NEGLIGIBLE)
    order = np.argsort(loss[kept], kind="stable")
    return Samples(loss[kept][order], mass[kept][order])


def _ends(part: Part, piece: Piece, log_cut: float) -> tuple[float, float]:
    far = -log_cut - _NEGLIGIBLE
    if piece.gamma < 0:
        deviation = math.sqrt(-0.5 / piece.gamma)
        centres = [piece.tilted(a).beta * deviation**2 for a in ((0.0, 1.0) if part.sign > 0 else (-1.0, 0.0, 1.0))]
        reach = deviation * math.sqrt(2 * far)
        return max(piece.low, min(centres) - reach), min(piece.high, max(centres) + reach)
    return max(piece.low, -far), min(piece.high, far)


def for_delta(
    counts: Mapping[Law, int], direction: Direction, log_delta: float, accuracy: float, epsilon: float = math.inf
) -> Tilt:
    """An order to look for the epsilon of this delta, which is not above `epsilon`."""
    log_cut = _cut(counts, log_delta, accuracy)
    moments, variances = _moments(counts, direction, log_cut)
    best = float(np.min((moments + _SHARES - log_delta) / _ORDERS))
    question = min(max(best, 0.0), epsilon), log_delta
    return _choose(moments, variances, question, log_cut, accuracy, sum(counts.values()))


def for_epsilon(counts: Mapping[Law, int], direction: Direction, epsilon: float, accuracy: float) -> Tilt:
    """An order to read delta at this epsilon."""
    rough, _ = _moments(counts, direction, _cut(counts, -700.0, accuracy))
    log_delta = min(float(np.min(rough + _SHARES - _ORDERS * epsilon)), -1e-3) - 3.0
    log_cut = _cut(counts, log_delta, accuracy)
    moments, variances = _moments(counts, direction, log_cut)
    return _choose(moments, variances, (epsilon, log_delta), log_cut, accuracy, sum(counts.values()))


def reach(law: Law, direction: Direction, tilt: Tilt) -> tuple[float, float]:
    """Where to cut: P-mass to the right must not matter, nor must what lies to the left once it moves up to the cut."""
    seen = sample(law, direction, tilt.log_cut)
    beyond = np.logaddexp.accumulate(seen.log_p[::-1])[::-1]
    right = int(np.searchsorted(-beyond, -tilt.log_cut))
    moved = np.logaddexp.accumulate(seen.log_p) + tilt.order * seen.losses
    left = int(np.searchsorted(moved, np.logaddexp.reduce(seen.log_p + tilt.order * seen.losses) + _NEGLIGIBLE))
    bottom, top = law.support(direction)
    last = len(seen.losses) - 1
    low, high = seen.losses[max(min(left, last) - 1, 0)], seen.losses[min(right + 1, last)]
    end = min(top, float(high))
    return min(max(bottom, float(low)), end), end  # at a very high order both cuts fall on the last losses


def _moments(counts: Mapping[Law, int], direction: Direction, log_cut: float) -> tuple[Reals, Reals]:
    total, variance = np.zeros(len(_ORDERS)), np.zeros(len(_ORDERS))
    for law, times in counts.items():
        own, spread = _own_moments(law, direction, log_cut)
        total, variance = total + times * own, variance + times * spread
    return total, variance


@functools.lru_cache(maxsize=4096)
def _own_moments(law: Law, direction: Direction, log_cut: float) -> tuple[Reals, Reals]:
    return sample(law, direction, log_cut).moments(_ORDERS)


def _cut(counts: Mapping[Law, int], log_delta: float, accuracy: float) -> float:
    """What may be cut off every run; rounded, so that neighbouring questions share their cached values."""
    return float(math.floor(log_delta + math.log(0.1 * accuracy / max(sum(counts.values()), 1))))


def _choose(
    moments: Reals, variances: Reals, question: tuple[float, float], log_cut: float, accuracy: float, runs: int
) -> Tilt:
    """The order with the fewest points (deviation over a useful step) among those that are precise enough.

    A rounding error of `_ROUNDING` per run at every point of a window as wide as 24 deviations becomes an error of
    delta, which must stay well below what the accuracy allows.
    """
    epsilon, log_delta = question
    bound = moments - _ORDERS * epsilon - log_delta
    width = 24 * np.sqrt(variances) + 8 / (1 + _ORDERS)
    reached = np.minimum(1 / (_ORDERS * (1 + _ORDERS)), width * width / 8) / width
    error = bound + np.log(runs * _ROUNDING * reached)
    excess = bound + _SHARES
    points = np.log(width) + 0.5 * np.log1p(_ORDERS) + 0.02 * (excess - np.min(excess))
    precise = error <= math.log(0.1 * accuracy)
    index = int(np.argmin(np.where(precise, points, np.inf)) if precise.any() else np.argmin(error))
    return Tilt(float(_ORDERS[index]), math.sqrt(variances[index]), log_cut, float(excess[index]), epsilon)
