"""Choose a line: near the saddle, dense enough for the losses it must tell apart, long enough for what it leaves out.

Everything here is an estimate. A poor choice makes an answer wide, never wrong: the reader bounds what it gets. The
numbers of a line are rounded to a grid, so that similar questions share their cached values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dosimeter.pld.allocation.line import gaussian_share, is_allocated, largest_order, rough_moments
from dosimeter.pld.laws.law import Direction, Law, Reals
from dosimeter.pld.laws.primitive import log_of
from dosimeter.pld.saddle.line import Line, tower, upper_sums
from dosimeter.pld.saddle.quadrature import cut_ends
from dosimeter.pld.saddle.theta import is_smooth

_RATIO = 1.5
ORDERS: Reals = 1e-5 * _RATIO ** np.arange(-16.0, 92.0)
_FINE = _RATIO ** np.linspace(-1, 1, 17)
_MARGIN = math.log(1e9)  # how far each error is put below delta
_SHORT = 600  # nodes that are not worth another look
_FEW = 4_096  # nodes from which smoothing may pay
_MOST_NODES = 1 << 17
_MOST_PERIODIC = (1 << 20) + 1
_GENTLEST = 0.25  # a variance from which smoothing leaves no lower end (at 4 log sqrt(2) = 1.39), or next to none
_SAMPLES = 400
_MOST_SAMPLES = 4_000
_TINIEST = -680.0  # no delta below e^this is looked for
_ALL = -0.5  # log delta from which nearly all losses are above epsilon
_SEVERAL = 100  # runs up to which the second certificate of decay may help


@dataclass(frozen=True, slots=True)
class Plan:
    """A line, and the Gaussian variance to add when nothing else ends it.

    With a lattice step the line is one period: it needs neither.
    """

    line: Line
    smoothing: float
    lattice_step: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Mix:
    """What one direction composes: laws with counts, a Gaussian of total mu^2, a lattice if all losses have one."""

    counts: Mapping[Law, int]
    direction: Direction
    variance: float
    lattice_step: Fraction | None


@dataclass(frozen=True, slots=True)
class _Question:
    """What a line is for: a mix, log delta, and an epsilon that is not above the answer."""

    mix: Mix
    log_delta: float
    epsilon: float
    cut: float

    def moments(self, orders: Reals) -> Reals:
        """log E[e^(cL)] of the composition, roughly."""
        total: Reals = orders * (orders + 1) * (self.mix.variance / 2)
        for law, count in self.mix.counts.items():
            total = total + count * _log_moments(law, self.mix.direction, self.cut, orders)
        return total


def for_delta(mix: Mix, log_delta: float, margin: float = 3.0) -> Plan:
    """A line on which to look for the epsilon of this delta, at most `margin` tilts below Chernoff's."""
    question = _Question(mix, log_delta, 0.0, _cut(mix.counts, log_delta))
    order, epsilon = _least(_chernoff(question), 3e-7)
    near = max(epsilon - margin / order, 0.0)
    return _best(replace(question, epsilon=near), order)


def order_for_delta(mix: Mix, log_delta: float) -> float:
    """The order at which Chernoff's bound of the epsilon for this delta is least, or about so."""
    question = _Question(mix, log_delta, 0.0, _cut(mix.counts, log_delta))
    return _least(_chernoff(question), 3e-7)[0]


def for_moment(mix: Mix, log_delta: float, cut: float | None = None) -> Line:
    """A line for nothing but the moment at the order at which Chernoff's bound of the epsilon is least."""
    question = _Question(mix, log_delta, 0.0, _cut(mix.counts, log_delta) if cut is None else cut)
    order = min(_least(_chernoff(question), 3e-7)[0], _within(mix))
    return Line(order, 1.5 * order, 1e-6 * order, 8, question.cut)


def _chernoff(question: _Question) -> Callable[[Reals], Reals]:
    """Chernoff's bound of the epsilon for the question's delta, as a function of the order."""

    def bound(orders: Reals) -> Reals:
        bounds = (question.moments(orders) - question.log_delta + _log_kernel(orders)) / orders
        return np.where(bounds > 0, bounds, np.inf)

    return bound


def for_epsilon(mix: Mix, epsilon: float) -> Plan:
    """A line on which to read delta at this epsilon."""

    def place(log_delta: float) -> tuple[_Question, float, float]:
        question = _Question(mix, log_delta, epsilon, _cut(mix.counts, log_delta))
        return question, *_least(
            lambda orders: np.maximum(question.moments(orders) - orders * epsilon + _log_kernel(orders), _TINIEST)
        )

    _, _, rough = place(-600.0)
    question, order, value = place(min(max(rough, _TINIEST) - 1.0, -1e-3))
    if value > _ALL:  # delta is nearly one, and the best order nearly zero; the largest as good needs fewer nodes
        bounds = question.moments(ORDERS) - ORDERS * epsilon + _log_kernel(ORDERS)
        order = max([order, *ORDERS[bounds <= value + 1].tolist()])
    return _best(question, order)


def _within(mix: Mix) -> float:
    """The largest order at which all laws have a moment that can be computed."""
    own = (largest_order(law, mix.direction) for law in mix.counts if is_allocated(law))
    return min(own, default=math.inf)


def _log_kernel(orders: Reals) -> Reals:
    result: Reals = orders * np.log(orders) - (1 + orders) * np.log1p(orders)
    return result


def _least(function: Callable[[Reals], Reals], slack: float = 0.0) -> tuple[float, float]:
    """Where a function of the order is least, and its value there: on the grid, then between its neighbours.

    With `slack`, the first order that comes as near to the least value: bounded losses have no best order.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        values = function(ORDERS)[: len(ORDERS) - 4]
        index = int(np.flatnonzero(values <= np.nanmin(values) * (1 + slack))[0])
        finer = ORDERS[index] * _FINE
        values = function(finer)
        best = int(np.nanargmin(values))
    return float(finer[best]), float(values[best])


def _cut(counts: Mapping[Law, int], log_delta: float) -> float:
    """The P-mass that one run may leave out: a power of ten."""
    digits = (log_delta - _MARGIN) / math.log(10) - math.log10(max(sum(counts.values()), 1))
    return float(10.0 ** max(math.floor(digits), -320))


@functools.lru_cache(maxsize=2048)
def _samples(law: Law, direction: Direction, cut: float) -> tuple[Reals, Reals]:
    """A coarse list of losses and logarithms of P-masses."""
    losses: list[Reals] = []
    log_p: list[Reals] = []
    for part in law.parts(direction, cut):
        gain = 1.0 if part.sign > 0 else 0.0
        losses.append(part.loss(part.spread.losses))
        log_p.append(part.spread.log_mass + gain * losses[-1])
        for piece in part.spread.pieces:
            low, high = cut_ends(part, piece, cut)
            at = low + (high - low) * (np.arange(_SAMPLES) + 0.5) / _SAMPLES
            losses.append(part.loss(at))
            log_p.append(piece.log_density(at) + gain * losses[-1] + math.log((high - low) / _SAMPLES))
    loss, log_mass = np.concatenate(losses), np.concatenate(log_p)
    kept = log_mass > math.log(cut) - 40
    return _thinned(loss[kept], log_mass[kept])


def _thinned(loss: Reals, log_mass: Reals) -> tuple[Reals, Reals]:
    """At most a few thousand points: neighbours of a long list are lumped together."""
    size = math.ceil(len(loss) / _MOST_SAMPLES)
    if size <= 1:
        return loss, log_mass
    order = np.argsort(loss)
    starts = np.arange(0, len(loss), size)
    return loss[order][starts], np.logaddexp.reduceat(log_mass[order], starts)


@functools.lru_cache(maxsize=8192)
def _on_grid(law: Law, direction: Direction, cut: float) -> Reals:
    return _moments_at(law, direction, cut, ORDERS)


def _log_moments(law: Law, direction: Direction, cut: float, orders: Reals) -> Reals:
    if is_allocated(law):
        return rough_moments(law, direction, orders)
    if is_smooth(law):
        return orders * (orders + 1) * (float(law.shift**2 / law.sigma_squared) / 2)
    return _on_grid(law, direction, cut) if orders is ORDERS else _moments_at(law, direction, cut, orders)


def _moments_at(law: Law, direction: Direction, cut: float, orders: Reals) -> Reals:
    loss, log_mass = _samples(law, direction, cut)
    x = np.outer(orders, loss)
    top = (x + log_mass).max(axis=1)
    large = top + np.log(np.exp(x + log_mass - top[:, None]).sum(axis=1))
    low = top < 0
    if low.any():
        change = (np.exp(log_mass) * np.expm1(np.minimum(x[low], 500.0))).sum(axis=1)
        small = np.log1p(np.maximum(change, -0.9)) + log_of(1 - law.infinite(direction))
        large[low] = np.where(x[low].max(axis=1) < 500, small, large[low])
    return np.asarray(large)


def _best(question: _Question, order: float) -> Plan:
    """The line at the saddle, unless it is long: with heavy tails a line further left may need far fewer nodes."""
    order = min(order, _within(question.mix))
    best = _place(question, order)
    for back in (1.6, 2.5, 5.0, 13.0, 40.0, 160.0):
        if best.line.count <= _SHORT:
            break
        if _excess(question, order / back) > max(_excess(question, order) + 6, 16):
            break  # so far from the saddle that rounding would show
        other = _place(question, order / back)
        if (other.smoothing > 0, other.line.count) < (best.smoothing > 0, best.line.count):
            best = other
    return best


def _excess(question: _Question, order: float) -> float:
    """log of Chernoff's bound over delta: how much larger than the answer the terms of the sum are."""
    at = np.array([order])
    return float((question.moments(at) - at * question.epsilon + _log_kernel(at))[0]) - question.log_delta


def _place(question: _Question, order: float) -> Plan:
    c = _snap(order, 1.02)
    here = float(question.moments(np.array([c]))[0])
    right = np.arange(int(np.searchsorted(ORDERS, 1.05 * c)), len(ORDERS))
    orders = ORDERS[right]
    with np.errstate(invalid="ignore", over="ignore"):
        tail = question.moments(ORDERS)[right] - orders * question.epsilon + _log_kernel(orders)
        needed = (tail - question.log_delta + _MARGIN) / (orders - c)
        period = max(float(np.nanmin(needed)) * 1.02, (_MARGIN - question.log_delta) / c)
        beyond = float(orders[np.flatnonzero(needed <= period)[0]])
    if question.mix.lattice_step is not None:
        points = 2 * math.ceil(0.6 * period / float(question.mix.lattice_step)) + 1
        if points <= _MOST_PERIODIC:
            step = 2 * math.pi / (points * float(question.mix.lattice_step))
            line = Line(c, beyond, step, (points + 1) // 2, question.cut)
            return Plan(line, 0.0, question.mix.lattice_step)
    step = _snap(2 * math.pi / (1.2 * period), 1.04)
    budget = _budget(question, c, here)
    end = _end(question, c, budget, step)
    smoothing = 0.0
    if end > _FEW * step:
        gentle = 1e-7 / (1.2 * c * c) * min(max(1.0, c * question.epsilon), 1e6)
        least = -2 * min(budget, -1.0) / (step * _MOST_NODES) ** 2
        gentle = max(min(max(gentle, least), _GENTLEST), least / 9)
        smooth_end = math.sqrt(-2 * min(budget, -1.0) / gentle)
        if smooth_end < end:
            end, smoothing = smooth_end, gentle
    return Plan(Line(c, beyond, step, _count(end, step), question.cut, _few(question.mix)), smoothing)


def shorter(mix: Mix, plan: Plan, log_delta: float) -> Plan:
    """The same line, only as long as a composition that has grown still needs it."""
    line = plan.line
    here = float(_Question(mix, log_delta, 0.0, line.cut).moments(np.array([line.order]))[0])
    near = (here - log_delta + float(_log_kernel(np.array([line.order]))[0]) - 3.0) / line.order
    question = _Question(mix, log_delta, max(near, 0.0), line.cut)
    end = _end(question, line.order, _budget(question, line.order, here), line.step)
    if plan.lattice_step is not None or end >= line.end:
        return plan
    return Plan(replace(line, count=_count(end, line.step), few=_few(mix)), 0.0)


def _budget(question: _Question, order: float, here: float) -> float:
    """What may be left out at the end of a line, as a logarithm."""
    return question.log_delta - _MARGIN - here + order * question.epsilon + math.log(math.pi * order)


def _count(end: float, step: float) -> int:
    return 8 * math.ceil(end / step / 8)


def _few(mix: Mix) -> bool:
    return sum(mix.counts.values()) <= _SEVERAL


def _snap(value: float, ratio: float) -> float:
    return float(ratio ** math.floor(math.log(value) / math.log(ratio)))


def _end(question: _Question, order: float, budget: float, step: float) -> float:
    """The first height, on a grid, from which the rest of the line does not matter."""
    mix, cut, at = question.mix, question.cut, np.array([order])
    bounds = []
    variance = mix.variance
    for law, count in mix.counts.items():
        if is_allocated(law):
            variance += count * gaussian_share(law)
        elif not is_smooth(law):  # a law that recurs never ends a line
            own = float(_log_moments(law, mix.direction, cut, at)[0])
            bounds.append((law, count, tower(law, mix.direction, order, cut), own))

    def fall(height: float, *, moved: bool) -> float:
        result = -height * height * (variance / 2) - math.log(height / order)
        if result <= budget:
            return result
        here = np.array([height])
        for law, count, certificate, own in bounds:
            one = float(certificate.log_bound(here, own)[0])
            sums = upper_sums(law, mix.direction, order, cut) if moved else None
            if sums is not None:
                one = min(one, sums.log_bound(height) - own)
            result += count * one
        return result

    end = _first(lambda height: fall(height, moved=False) <= budget, order)
    if end > _SHORT * step and sum(mix.counts.values()) <= _SEVERAL:
        end = min(end, _first(lambda height: fall(height, moved=True) <= budget, order))
    return end


def _first(good: Callable[[float], bool], order: float) -> float:
    """The first height order * 2^(k/4) that is good, for a property that stays true."""
    low, high = -8, 100
    if not good(order * 2 ** (high / 4)):
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(order * 2 ** (middle / 4)) else (middle, high)
    return float(order * 2 ** (high / 4))
