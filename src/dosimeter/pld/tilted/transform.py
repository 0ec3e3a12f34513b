"""Convolution of many tilted laws by one fast Fourier transform, with everything it may get wrong counted.

Powers and products are taken between the transforms, so a thousand repetitions cost one power. Three errors are
counted, each relative to the tilted mass, which is one:

* *Window.* The transform is periodic. Mass outside a window of the period's length, at most `tail`, reappears inside.
* *Transform.* Every output of a fast Fourier transform of length N = 2^m is a sum over paths through at most m
  butterflies, and a butterfly multiplies by a factor with relative error below 8 units in the last place (a complex
  product, its rounded twiddle factor and one addition: sqrt(5) + 1 + 1 units). So an output is off by at most
  e = 8 (m + 4) u sum |input|, u = 2^-53; the extra levels stand for the real-to-complex step and for adding up the
  masses that fall on one input.
* *Power.* |A'^k - A^k| <= k |A' - A| (|A'| + |A' - A|)^(k-1) for every frequency, and likewise for products; forming
  the power through logarithm and angle adds k units times their sizes.

All three are computed for the laws at hand, not bounded for the worst ones.

Reference: Higham 2002, Theorem 24.2, for the transform (there in the 2-norm; the path argument gives each output).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dosimeter.pld.lattice.points import PointLaw
from dosimeter.pld.laws.law import Reals
from dosimeter.pld.laws.parts import UNIT

Counted = Sequence[tuple[PointLaw, int]]
_DEVIATIONS = 9.0  # for a Gaussian total and a tail of 1e-17, the best moment is nine over its deviation
_MOMENTS = 24


@dataclass(frozen=True, slots=True)
class Window:
    """Indices start .. start + length - 1 of the total, and the tilted mass (an upper bound) outside of them."""

    start: int
    length: int
    tail: float


@dataclass(frozen=True, slots=True)
class Convolution:
    """Tilted weights of the total inside the window; each is off by at most `error`."""

    window: Window
    weights: Reals
    error: float


def window(laws: Counted, log_tail: float, longest: int) -> Window | None:
    """A window outside of which at most 2 e^log_tail of the tilted total lies; None where it would be too long.

    Guarantee: by Chernoff's bound at a few moments t of either sign, P(total beyond b) <= e^(K(t) - t b).
    """
    deviation = max(math.sqrt(sum(times * law.variance for law, times in laws)), 0.3)
    right, left = (_beyond(laws, sign / deviation, log_tail) for sign in (1, -1))
    if not math.isfinite(left + right) or left + right > longest - 4:
        return None
    needed = math.ceil(left) + math.ceil(right) + 3
    length = max(1 << (needed - 1).bit_length(), 8)
    start = -math.ceil(left) - 1 - (length - needed) // 2
    return Window(sum(times * law.centre for law, times in laws) + start, length, 2.001 * math.exp(log_tail))


def _beyond(laws: Counted, unit: float, log_tail: float) -> float:
    """The least b found with P(total beyond b) <= e^log_tail: the moment is varied for as long as that helps."""
    best, scale = math.inf, _DEVIATIONS
    for _ in range(_MOMENTS):
        bound = (_log_moment(laws, scale * unit) - log_tail) / abs(scale * unit)
        if math.isfinite(best) and bound >= 0.97 * best:
            break
        best, scale = min(best, bound), scale * 0.7
    return best


def _log_moment(laws: Counted, t: float) -> float:
    """log E[e^(t (index - centre))] of the tilted total, rounded up; inf where it is beyond floating point."""
    total = 0.0
    for law, times in laws:
        away = np.arange(len(law.weights)) + float(law.first - law.centre)
        with np.errstate(over="ignore", invalid="ignore"):
            change = float((law.weights * np.expm1(t * away)).sum())
        if not math.isfinite(change):
            return math.inf
        total += times * (math.log1p(max(change, -0.5)) + 1e-13)
    return total * (1 + 1e-9 * math.copysign(1.0, total))


def convolve(laws: Counted, where: Window) -> Convolution:
    """The tilted law of the total on a window."""
    length = where.length
    unit = 8 * (length.bit_length() + 3) * UNIT * (1 + 1e-9)
    log_size = np.zeros(length // 2 + 1)
    log_cap, angle, relative = log_size.copy(), log_size.copy(), log_size.copy()
    for law, times in laws:
        index = (np.arange(len(law.weights)) + (law.first - law.centre)) % length
        transform = np.fft.rfft(np.bincount(index, weights=law.weights, minlength=length))
        size = np.abs(transform)
        cap = size + unit
        with np.errstate(divide="ignore"):
            log_size += times * np.log(size)
        own_cap, turn = np.log(cap), np.angle(transform)
        log_cap += times * own_cap
        angle += times * turn
        relative += times * (unit / cap + 8 * UNIT * (np.abs(own_cap) + np.abs(turn) + 1))
    product = np.exp(log_size) * np.exp(1j * angle)
    errors = np.exp(log_cap) * (relative + 16 * UNIT)
    doubled = np.full(len(errors), 2.0)
    doubled[[0, -1]] = 1.0
    error = float((doubled * (errors + unit * np.abs(product))).sum()) / length
    weights = np.fft.irfft(product, length)
    start = where.start - sum(times * law.centre for law, times in laws)
    return Convolution(where, np.roll(weights, -start), error + 1e-290)
