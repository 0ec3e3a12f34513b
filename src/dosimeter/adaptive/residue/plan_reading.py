"""What a plan, with a Gaussian reserve, guarantees: its delta at an epsilon, rounded up.

The plan's lattice laws are composed by one transform, tilted by e^(order * loss) so that its errors stay small beside
the answer. The reserve is averaged in exactly: H(eps) = sum of masses times h_b(eps - loss).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.adaptive.residue.plan_lattice import Lattice, Points, log_sum, planned_points
from dosimeter.adaptive.residue.rule import gaussian_above
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.parts import UNIT

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Reals

_LOG_TAIL: Final = math.log(1e-18)  # of the tilted mass, on either side of the window
_LONGEST: Final = 1 << 22
_ORDERS: Final = tuple(float(order) for order in np.geomspace(1e-3, 1e4, 120))
_MOMENTS: Final = tuple(float(z) for z in np.geomspace(0.5, 40, 24))
_NARROW: Final = 0.3  # steps: a narrower total is treated as if it had this deviation
_FAR: Final = 14.0  # standard deviations of the reserve beyond which it matters no more
_UP: Final = Context(prec=15, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True)
class _Tilted:
    """One law times e^(order * loss), scaled to a sum of one, run `count` times.

    Each weight is within `error` of itself of the exact one, and `log_total` within `log_error`.
    """

    index: Reals
    weights: Reals
    log_total: float
    error: float
    log_error: float
    count: int


@lru_cache(maxsize=1024)
def plan_delta(runs: tuple[tuple[Law, int], ...], lattice: Lattice, reserve: Decimal, epsilon: Decimal) -> Decimal:
    """The delta at `epsilon` >= 0 of all steps of a plan and its reserve, the larger of both directions, rounded up.

    Raises:
        NoGuaranteeError: the composition is too long for a transform.
    """
    found = 0.0
    own, level = float(reserve) * (1 + 4 * UNIT), float(epsilon) * (1 - 4 * UNIT)
    for direction in Direction:
        totals = sum(count * np.array(_log_totals(law, direction, lattice)) for law, count in runs)
        orders = np.array(_ORDERS)
        order = float(orders[int(np.argmin(totals + own * orders * (orders + 1) / 2 - orders * level))])
        laws = [(planned_points(law, direction, lattice), count) for law, count in runs]
        found = max(found, _delta(laws, order, own, level))
    return min(Decimal(1), _UP.create_decimal(found))


@lru_cache(maxsize=256)
def _log_totals(law: Law, direction: Direction, lattice: Lattice) -> tuple[float, ...]:
    """log E[e^(order * loss)] of a planned law at each order, for choosing one."""
    points = planned_points(law, direction, lattice)
    kept = points.masses > 0
    logs, losses = np.log(points.masses[kept]), points.step * points.index()[kept]
    tops = [float(np.max(logs + order * losses)) for order in _ORDERS]
    sums = [float(np.exp(logs + order * losses - top).sum()) for order, top in zip(_ORDERS, tops, strict=True)]
    return tuple(top + math.log(value) for top, value in zip(tops, sums, strict=True))


def _delta(laws: Sequence[tuple[Points, int]], order: float, reserve: float, epsilon: float) -> float:
    tilted = [_tilt(points, count, order) for points, count in laws]
    log_total = sum(one.count * (one.log_total + one.log_error) for one in tilted)
    low, high = _window(tilted)
    length = 1 << max(int(high - low + 4).bit_length(), 4)
    if length > _LONGEST:
        raise NoGuaranteeError("the plan is too long for its lattice; give it a larger step")
    weights, error = _compose(tilted, length)
    step, far = laws[0][0].step, _FAR * math.sqrt(reserve) + reserve / 2
    index = np.arange(max(low, math.floor((epsilon - far) / step)), low + length, dtype=np.int64)
    weights = np.maximum(weights[index % length], 0.0) + error
    losses = step * index.astype(np.float64)
    scaled = np.exp(np.minimum(log_total - order * losses, 700.0) + 8 * UNIT * (abs(log_total) + order * abs(losses)))
    inside = float((weights * scaled * gaussian_above(reserve, epsilon - losses)).sum())
    beyond = 2 * math.exp(_LOG_TAIL + log_total + reserve * order * (order + 1) / 2 - order * epsilon)
    below = float(gaussian_above(reserve, np.array([far]))[0])  # of losses so far below epsilon that they hardly count
    infinite = -math.expm1(sum(count * math.log1p(-points.infinite) for points, count in laws))
    return (inside + beyond + below + infinite) * (1 + 8 * len(index) * UNIT)


def _tilt(points: Points, count: int, order: float) -> _Tilted:
    with np.errstate(divide="ignore"):
        logs = np.log(points.masses)
    index = points.index()
    shifted = logs + order * points.step * index
    top = float(np.max(shifted))
    weights = np.exp(shifted - top)
    total = float(weights.sum())
    kept = weights > 0
    size = float(np.max(np.abs(logs[kept]) + np.abs(order * points.step * index[kept])))
    error = 16 * UNIT * (1 + size)
    return _Tilted(index, weights / total, top + math.log(total), error, error + 8 * UNIT * len(weights), count)


def _compose(tilted: Sequence[_Tilted], length: int) -> tuple[Reals, float]:
    """The tilted composition on a circle, and how far each weight may be off (see `suffix`)."""
    unit = 8 * (length.bit_length() + 3) * UNIT * (1 + 1e-9)
    log_size = np.zeros(length // 2 + 1)
    log_cap, turn, relative = log_size.copy(), log_size.copy(), log_size.copy()
    for one in tilted:
        place = one.index.astype(np.int64) % length
        transform = np.fft.rfft(np.bincount(place, weights=one.weights, minlength=length))
        size, angle = np.abs(transform), np.angle(transform)
        off = unit + one.error
        cap = size + off
        with np.errstate(divide="ignore"):
            log_size += one.count * np.log(size)
        log_cap += one.count * np.log(cap)
        turn += one.count * angle
        relative += one.count * (off / cap + 8 * UNIT * (np.abs(np.log(cap)) + np.abs(angle) + 1))
    product = np.exp(log_size) * np.exp(1j * turn)
    errors = np.exp(log_cap) * (relative + 16 * UNIT)
    doubled = np.full(len(errors), 2.0)
    doubled[[0, -1]] = 1.0
    error = float(doubled @ (errors + unit * np.abs(product))) / length
    values: Reals = np.fft.irfft(product, length)
    return values, error + 1e-300


def _window(tilted: Sequence[_Tilted]) -> tuple[int, int]:
    """Indices beyond which the tilted composition has weight of at most e^_LOG_TAIL on either side (Chernoff)."""
    means = [float((one.weights * one.index).sum()) for one in tilted]
    mean = sum(one.count * centre for one, centre in zip(tilted, means, strict=True))
    variance = sum(
        one.count * float((one.weights * np.square(one.index - centre)).sum())
        for one, centre in zip(tilted, means, strict=True)
    )
    deviation = max(math.sqrt(variance), _NARROW)
    logs = [np.log(np.maximum(one.weights, 1e-320)) for one in tilted]

    def log_moment(t: float) -> float:
        own = zip(tilted, logs, strict=True)
        return -t * mean + sum(one.count * (log_sum(weights + t * one.index) + 1e-11) for one, weights in own)

    right, left = (
        min((log_moment(sign * z / deviation) - _LOG_TAIL) / (z / deviation) for z in _MOMENTS) for sign in (1, -1)
    )
    if not (math.isfinite(right) and math.isfinite(left)):
        raise NoGuaranteeError("the plan's losses reach too far for its lattice")
    return math.floor(mean - left) - 1, math.ceil(mean + right) + 1
