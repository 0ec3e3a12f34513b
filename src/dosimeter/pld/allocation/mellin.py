"""Moments E (S/t)^(a - i tau) of the mean of log-normals on a vertical line, from the Laplace transform of one of them.

With n = a whole number above a, c = n - a > 0, and B_n(X) = E[(S/t)^n e^(-X S/t)] / n! (the n-th coefficient of a
power of a series, see `series`),

    E (S/t)^(a - i tau) = n! / Gamma(c + i tau) * integral of B_n(X) X^(c + i tau) dv,   X = e^(v + i theta),

along any ray 0 <= theta < pi/2. The exact integrand is as large as the result only near theta = arctan(tau / c), so
heights are grouped, each group with its own ray; the integral over v is a trapezoid sum.

**Errors**, all relative to the real moment E (S/t)^a:

* *Rule.* Poisson summation: the sum with step d adds, for every whole m != 0 and w = 2 pi m / d, the exact value at
  tau + w times e^(theta w) Gamma(c + i(tau + w)) / Gamma(c + i tau). The moment there is at most e^(-s (tau+w)^2 / 2t)
  (see `law`), and Gamma has an elementary bound.
* *Left end.* |B_n(X)| <= B_n(0), so the terms left out are a geometric series.
* *Right end.* |B_n(X)| <= B_n(Re X) <= (n / (e r))^n / n! E e^(-(Re X - r) S/t) for r = Re X / 2; and v -> log E
  e^(-XS) is concave on the real axis, being t times the logarithm of P(log G - log Y > v) for an exponential G, a
  survival function of a sum of two log-concave variables. So the terms left out fall at least as fast as the last two
  bounds.
* *Rounding*: running sums of the sizes of all terms.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.allocation.gamma import log_bound, log_gamma
from dosimeter.pld.allocation.rays import Ray, ray, transform
from dosimeter.pld.allocation.series import coefficients, power, rounding
from dosimeter.pld.laws.law import Complexes, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.blocks import ELEMENTARY
from dosimeter.pld.saddle.characteristic import log1p

LARGEST_ORDER = 40.0  # of a positive moment
LEAST_ORDER = -240.0
_LEAST = 1.25  # c, at least
_SMALL = -39.0  # log of what each error may be
_MOST_LOST = math.log(12.0)  # how much larger than the result the integrand may be, by the choice of rays
_NEGLIGIBLE = 41.0
_LARGEST_LOG = 640.0  # no coefficient, and no power of 1 / steps, is further from one
_MOST_WHOLE = 80
_GOOD = 1e-10
_EXPONENTS = (44.0, 80.0, 140.0, 250.0, 450.0)
_MOST_WORK = 8e9  # ten seconds or so
_BLOCK = 16
_INNER = 64
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Vertical:
    """log E (S/t)^a and its error; E (S/t)^(a - i tau) over E (S/t)^a at the heights tau, and its absolute error."""

    log_moment: float
    log_error: float
    ratio: Complexes
    error: Reals


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean S/t of `steps` log-normals of mean one, whose logarithms have the standard deviation `root`."""

    root: float
    steps: int

    def fall(self, heights: Reals) -> Reals:
        """log of a bound of |E (S/t)^(a + i tau)| / E (S/t)^a, any a: the Gaussian share of log S."""
        rate = self.root * self.root / (2 * self.steps)
        return -rate * heights * heights * (1 - 16 * UNIT)

    def log_moment_above(self, order: float) -> float:
        """log of an upper bound of E (S/t)^order, order >= 0: a chord, since the logarithm is convex in the order.

        Raises:
            NoGuaranteeError: it is beyond floating point.
        """
        known, whole = whole_moments(self), math.floor(order)
        if math.ceil(order) >= len(known):
            raise NoGuaranteeError(f"the moment of order {order:g} of so little noise is beyond floating point")
        rise = known[math.ceil(order)] - known[whole]
        return (known[whole] + (order - whole) * rise) * (1 + 8 * UNIT)

    def log_moment_below(self, order: float) -> float:
        """log of a lower bound of E (S/t)^order, order <= 0 or >= 1: Jensen; S^a >= the sum of the Y_i^a."""
        if order <= 1:
            return 0.0
        own = (order - 1) * (self.root * self.root * order / 2 - math.log(self.steps))
        return max(own - 16 * UNIT * abs(own) - 8 * UNIT * (order - 1) * math.log(self.steps), 0.0)


@functools.lru_cache(maxsize=1024)
def whole_moments(mean: Mean) -> tuple[float, ...]:
    """Upper bounds of log E (S/t)^n for n = 0, 1, 2, .. as far as floating point goes: all terms are positive."""
    square = mean.root * mean.root
    last = max(min(_MOST_WHOLE, int(_LARGEST_LOG / math.log(max(mean.steps, 2)))), 1)
    logs = [square * j * (j - 1) / 2 - math.lgamma(j + 1) for j in range(1, last + 1)]
    last = next((j for j, value in enumerate(logs) if value > _LARGEST_LOG), last)
    orders, scaled = range(1, last + 1), np.exp(np.array(logs[:last]))
    found = coefficients(scaled[:, None], mean.steps)
    slack = rounding(last, mean.steps) + UNIT * (64 + 8 * last**2 * (1 + square))
    return (0.0, *(math.log(float(found[n][0])) + math.lgamma(n + 1) + slack for n in orders))


@dataclass(frozen=True, slots=True)
class _Frame:
    """The exponents: a = n - c."""

    mean: Mean
    order: int
    c: float
    log_limit: float  # log of E (S/t)^n, an upper bound
    log_least: float  # log of E (S/t)^a, a lower bound
    exponent: float  # the transform is right to e^-exponent


@dataclass(frozen=True, slots=True)
class _Group:
    """Heights step * (first .. last) and the angle of their ray."""

    first: int
    last: int
    angle: float


def vertical(mean: Mean, exponent: float, step: float, count: int) -> Vertical:
    """The moments of order exponent - i tau, tau = 0, step, 2 step, ...

    Raises:
        NoGuaranteeError: the order, or the number of points that it needs, is out of reach.
    """
    if not (LEAST_ORDER <= exponent <= 0 or 1 <= exponent <= LARGEST_ORDER):
        raise NoGuaranteeError(f"moments of order {exponent:g} under random allocation are out of reach here")
    order = max(math.ceil(exponent + _LEAST), 0)
    ends = mean.log_moment_above(order), mean.log_moment_below(exponent)
    for right_to in _EXPONENTS:
        try:
            return _vertical(_Frame(mean, order, order - exponent, *ends, right_to), step, count)
        except _TooCoarse:
            continue
    raise NoGuaranteeError(f"a moment of order {exponent:g} under random allocation could not be certified")


class _TooCoarse(Exception):
    """The transform is not right enough where this moment needs it."""


def _vertical(frame: _Frame, step: float, count: int) -> Vertical:
    mean = frame.mean
    heights = step * np.arange(count, dtype=float)
    reach = math.sqrt(2 * mean.steps * _NEGLIGIBLE) / mean.root
    within = max(int(np.searchsorted(heights, reach, side="right")), 1)
    ratio, error = np.zeros(count, dtype=complex), np.exp(mean.fall(heights))
    log_moment = 0.0
    groups = [_placed(frame, group, heights) for group in _groups(frame.c, step, within)]
    if sum(_work(one.ray, one.group.last - one.group.first + 1) for one in groups) > _MOST_WORK:
        raise NoGuaranteeError("moments under random allocation need too many points; its line reaches too far")
    for one in groups:
        group = one.group
        part = slice(group.first, group.last + 1)
        logs, log_errors, missed = _on_ray(frame, one, heights[part], step)
        if not group.first:
            log_moment = float(logs[0].real)
        ratio[part] = np.exp(logs - log_moment)
        error[part] = np.exp(np.minimum(log_errors - log_moment, 700.0)) + missed
        if not group.first and not error[0] <= _GOOD:
            raise _TooCoarse
    first = float(error[0])
    error = (error + 1.2 * first * (np.abs(ratio) + error)) * (1 + 1e-9)
    ratio[0], error[0] = 1.0, 0.0
    if not (np.isfinite(ratio).all() and np.isfinite(error).all()):
        raise _TooCoarse
    return Vertical(log_moment, 1.1 * first + 2 * UNIT * abs(log_moment), ratio, error)


def _groups(c: float, step: float, count: int) -> list[_Group]:
    """Consecutive heights, each with a ray on which the integrand is not much larger than the result."""
    groups: list[_Group] = []
    edge = 0.0
    angle, growth = 0.0, math.sqrt(2 * c)
    first = 0
    while first < count:
        last = min(max(int((edge + growth) / step), first), count - 1)
        groups.append(_Group(first, last, angle))
        first, edge = last + 1, max(edge + growth, (last + 1) * step)
        for factor in (4.0, 3.0, 2.4, 2.0, 1.7, 1.4, 1.2, 1.1):
            growth, angle = edge * (factor - 1), math.atan(edge * math.sqrt(factor) / c)
            limit = _MOST_LOST + 0.5 * math.log(max(edge, 1.0))
            if max(_lost(c, angle, edge), _lost(c, angle, edge * factor)) < limit:
                break
    return groups


def _lost(c: float, angle: float, height: float) -> float:
    """log of (the integral of |e^(-X) X^(c + i height)| along a ray, over |Gamma(c + i height)|)."""
    gamma = float(log_gamma(c, np.array([height]))[0][0].real)
    return math.lgamma(c) - c * math.log(math.cos(angle)) - angle * height - gamma


@dataclass(frozen=True, slots=True)
class _Placed:
    """A group with its ray, and what its sum leaves out: the right end (in logarithms, without n!) and aliases."""

    group: _Group
    ray: Ray
    log_right: float
    missed: Reals
    log_gammas: Complexes
    gamma_errors: Reals


def _placed(frame: _Frame, group: _Group, all_heights: Reals) -> _Placed:
    heights = all_heights[group.first : group.last + 1]
    c, angle = frame.c, group.angle
    log_gammas, gamma_errors = log_gamma(c, heights)
    log_factor = -angle * heights - log_gammas  # of the integral; without n!
    needed = float(np.max(log_factor.real)) + math.lgamma(frame.order + 1) - frame.log_least
    spacing, missed = _spacing(c, angle, frame.mean, heights, log_gammas.real)
    low = (_SMALL - needed - frame.log_limit + math.lgamma(frame.order + 1)) / c
    high, log_right = _right_end(frame, angle, needed)
    at = ray(frame.mean.root, frame.mean.steps, frame.order, angle, (low, high), spacing, frame.exponent)
    return _Placed(group, at, log_right, missed, log_gammas, gamma_errors)


def _work(at: Ray, heights: int) -> float:
    """About how many products a ray takes."""
    return at.count * (2.0 * at.nodes * (at.order + 2) + 3.0 * at.order**2 + heights) + at.entries


def _on_ray(frame: _Frame, placed: _Placed, heights: Reals, step: float) -> tuple[Complexes, Reals, Reals]:
    """log of the moments; logs of the absolute errors of rounding; other errors, relative to the real moment."""
    c, at, group, angle = frame.c, placed.ray, placed.group, placed.group.angle
    log_right, missed = placed.log_right, placed.missed
    log_factor = -angle * heights - placed.log_gammas
    values, errors, log_scale, peak = _integrand(frame, at)
    sums, lost = _waves(values, errors, at.step, peak, (group.first, len(heights), step))
    log_left = c * at.step * at.first - math.log(math.expm1(c * at.step)) + frame.log_limit + math.log(at.step)
    log_ends = np.logaddexp(log_left, log_right + math.lgamma(frame.order + 1)) + log_factor.real
    turned = heights * (at.step * (at.first + peak))
    logs = log_scale + math.log(at.step) + math.lgamma(frame.order + 1) + log_factor + 1j * turned
    relative = placed.gamma_errors + UNIT * (16 + 4 * np.abs(logs) + 4 * np.abs(turned) + 4 * angle * heights)
    lost = lost + np.abs(sums) * np.expm1(relative)
    with np.errstate(divide="ignore"):
        rounded = logs.real + np.log(lost)
        missed = 1.01 * missed + np.exp(np.minimum(log_ends - frame.log_least, 700.0))
        return logs + np.log(sums), rounded, missed


def _spacing(c: float, angle: float, mean: Mean, heights: Reals, log_gammas: Reals) -> tuple[float, Reals]:
    """A step of the trapezoid rule, and the errors it brings at each height."""
    width = 4.0
    while True:
        missed = _aliases(c, angle, mean, heights, log_gammas, width)
        if float(np.max(missed)) <= math.exp(_SMALL):
            return 2 * math.pi / width, missed
        width *= 1.15


def _aliases(c: float, angle: float, mean: Mean, heights: Reals, log_gammas: Reals, width: float) -> Reals:
    """The sum over m != 0 of e^(theta w) |Gamma(c + i(tau + w)) / Gamma(c + i tau)| * moment's bound, w = m width.

    From m = 6 on terms fall at least as fast as the ratio below, since width > tau (otherwise: no bound).
    """
    total = np.zeros(len(heights))
    ratio = math.exp(-(math.pi / 2 - angle) * width + c * math.log(1.2))
    if ratio > 0.5 or width <= heights[-1]:
        return np.full(len(heights), math.inf)
    for m in (1, 2, 3, 4, 5, 6):
        for w in (m * width, -m * width):
            away = heights + w
            term = np.exp(np.minimum(angle * w + log_bound(c, away) - log_gammas + mean.fall(away), 700.0))
            total += term * (1 / (1 - ratio) if m == 6 else 1.0)
    return total


def _right_end(frame: _Frame, angle: float, needed: float) -> tuple[float, float]:
    """Where v may end, and the logarithm of a bound of the terms beyond (their sum times the step, without n!)."""
    n = frame.order
    points, below, above = _falling(frame.mean, frame.exponent)
    share = math.log(math.cos(angle) / 2) if n else math.log(math.cos(angle))
    bulk = n * (math.log(2 * n) - 1) - n * math.log(math.cos(angle)) - math.lgamma(n + 1) if n else 0.0
    slopes = (above[1:] - below[:-1]) / np.diff(points)
    ends = points[1:] - share
    exponent = frame.c - n + slopes
    with np.errstate(invalid="ignore", divide="ignore"):
        bounds = np.where(
            exponent < -1e-3, (frame.c - n) * ends + bulk + above[1:] - np.log(np.maximum(-exponent, 1e-3)), math.inf
        )
    good = np.flatnonzero(bounds + needed <= _SMALL)
    if not len(good):
        raise _TooCoarse
    return float(ends[good[0]]), float(bounds[good[0]])


@functools.lru_cache(maxsize=256)
def _falling(mean: Mean, exponent: float) -> tuple[Reals, Reals, Reals]:
    """v, and bounds from both sides of log E e^(-X S/t) at the real X = e^v."""
    at = ray(mean.root, mean.steps, 0, 0.0, (-2.0, 16.0 + math.sqrt(2 * exponent) * mean.root), 0.25, exponent)
    found = transform(at)
    ends = []
    for sign in (-1, 1):
        near = np.log1p(np.clip(found.change.real + sign * found.change_error, -0.9, 0.0))
        far = np.log(np.clip(found.scaled[0].real + sign * found.scaled_error[0], 1e-300, 1.0))
        ends.append(mean.steps * np.where(found.change.real > -0.5, near, far) * (1 - sign * 1e-12))
    return at.logs(), ends[0], ends[1]


def _integrand(frame: _Frame, at: Ray) -> tuple[Complexes, Reals, float, int]:
    """B_n(X) X^c e^(-scale) on the ray, absolute errors, the scale, and the index of the largest.

    Where a_0 is hardly larger than its error, the integrand counts as zero, and a bound of it as its error: the same
    power of the same series with |a_0| plus its error in front and absolute values behind.
    """
    t = frame.mean.steps
    found = transform(at)
    first, error = found.scaled[0], found.scaled_error[0]
    size = np.abs(first)
    near = np.abs(found.change) < 0.5
    weak = np.where(near, np.maximum(error, found.change_error), error) > size / 64
    first, size = np.where(weak, size + error, first), np.where(weak, size + error, size)
    log_first = np.where(near, log1p(np.where(near, found.change, 0.0)), np.log(first))
    relative = np.where(near, found.change_error, error) / size
    logs = t * log_first + frame.c * (at.logs() + 1j * at.angle)
    log_error = 1.01 * t * relative + 2 * ELEMENTARY * t * np.abs(log_first)
    log_error += UNIT * (16 + 4 * np.abs(logs) + 4 * frame.c * (np.abs(at.logs()) + at.angle))
    scaled = found.scaled[1:] / first
    moved = (found.scaled_error[1:] + np.abs(found.scaled[1:]) * (error / size + 8 * UNIT)) * (1.02 / size)
    values, errors = power(np.where(weak, np.abs(scaled), scaled), t, moved * (1 + 1e-9))
    magnitude = logs.real + np.log(np.abs(values) + errors)
    peak = int(np.argmax(magnitude))
    scale = float(magnitude[peak])
    base, sizes = np.exp(logs - scale), np.abs(values)
    growth = np.expm1(np.minimum(np.where(weak, 0.0, log_error), 700.0))
    with np.errstate(over="ignore"):
        lost = np.exp(logs.real - scale) * (errors * (1 + growth) + sizes * np.where(weak, 1.0, growth))
    return np.where(weak, 0.0, base * values), lost, scale, peak


def _waves(
    values: Complexes, errors: Reals, spacing: float, peak: int, line: tuple[int, int, float]
) -> tuple[Complexes, Reals]:
    """Sums of values[i] e^(i tau spacing (i - peak)) at tau = step * (first .. first + count - 1), and their errors.

    Heights are split into a coarse and a fine part, so that two small tables of turns serve all; products are summed
    over 16 terms at a time and then pairwise.
    """
    first, count, step = line
    size = -(-len(values) // _BLOCK) * _BLOCK
    padded = np.zeros(size, dtype=complex)
    padded[: len(values)] = values
    away = spacing * (np.arange(size, dtype=float) - peak)
    inner = min(_INNER, count)
    fine = np.exp(1j * np.outer(away, step * np.arange(inner))).reshape(-1, _BLOCK, inner)
    starts = step * (first + inner * np.arange(-(-count // inner)))
    rows = max(_CHUNK // (size // _BLOCK * inner), 1)
    found = []
    for at in range(0, len(starts), rows):
        coarse = np.exp(1j * np.outer(starts[at : at + rows], away)) * padded
        blocks = coarse.reshape(len(coarse), -1, _BLOCK).transpose(1, 0, 2) @ fine
        found.append(_pairwise(blocks).ravel())
    sizes = np.abs(values)
    heights: Reals = step * np.arange(first, first + count, dtype=float)
    rounding = UNIT * (96 + 2 * math.log2(size))
    turned = float((sizes * np.abs(away[: len(values)])).sum()) * 4 * UNIT
    lost: Reals = (float(errors.sum()) + float(sizes.sum()) * rounding + heights * turned) * (1 + 1e-9)
    return np.concatenate(found)[:count], lost


def _pairwise(blocks: Complexes) -> Complexes:
    while len(blocks) > 1:
        half = len(blocks) // 2
        merged = blocks[:half] + blocks[half : 2 * half]
        blocks = np.concatenate([merged, blocks[2 * half :]])
    result: Complexes = blocks[0]
    return result
