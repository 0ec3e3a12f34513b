"""Renyi divergence of the Poisson-sampled Gaussian (one step of DP-SGD), enclosed at every real order.

A(a) = E (1 - q + q e^(mu t - mu^2/2))^a for a standard normal t; D_a = log A(a) / (a - 1), mu = 1 / noise multiplier.
Whole orders are finite sums. Others are one integral, taken by the trapezoid rule with an error that is proven, not
estimated. The published pair of binomial series for fractional orders is not used: its terms alternate and decay
slowly.

Reference:
    Mironov, Talwar, Zhang (2019). Trapezoid: Trefethen, Weideman (2014), Theorem 5.1. In the strip |Im t| < d <= pi/mu
    the integrand is analytic, since 1 - q + q e^w meets (-inf, 0] only where Im w is an odd multiple of pi; and its
    modulus at x + iy is at most e^(y^2/2) times its value at x. So the sum T with step h obeys |T - A| <= eta A,
    eta = 2 e^(d^2/2) / (e^(2 pi d/h) - 1): relative to the unknown itself. Nodes further than c from both 0 and a mu
    are left out: f(t) <= 2^(a-1) [(1-q)^a phi(t) + q^a e^(a(a-1) mu^2/2) phi(t - a mu)], both weights are at most A,
    so they add up to at most zeta A, zeta = 2^(a+1) phi(c) (1/c + h).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.accounting.amplification import read_probability
from dosimeter.enclosure import ball, enclose, up
from dosimeter.exact import ZERO, Number, amount
from dosimeter.notions.profiles.solving import not_tiny
from dosimeter.notions.rdp import read_order

if TYPE_CHECKING:
    Ball: TypeAlias = Any

LARGEST_SUM: Final = 512
_LARGEST_LAST_SUM: Final = 4_096
_MOST_NODES: Final = 40_000
_LARGEST_SQUARE: Final = 10**8
_NEGLIGIBLE: Final = Fraction(1, 10**40)


def poisson_gaussian_renyi(*, sampling_probability: Number, noise_multiplier: Number, order: Number) -> Decimal:
    """The Renyi divergence of one Poisson-sampled Gaussian release, both directions, under add or remove.

    Guarantee: rounded up. Exact to 25 digits, except at orders that are not whole with hardly any noise (a noise
    multiplier below about 0.01) or a negligible loss (below 1e-40), where it is a bound from the neighbouring whole
    orders. The remove direction is the larger one at every order. The divergence does not scale like q^2 once the
    order passes about noise^2 log(1/q): never multiply a rho by q^2, nor a mu by q.

    Args:
        sampling_probability: q, in (0, 1].
        noise_multiplier: sigma / clip norm, in [1e-300, 1e12].
        order: in (1, 1e6].

    Reference: Mironov, Talwar, Zhang (2019), Theorems 4 and 5, section 3.3; the module.
    """
    noise = Fraction(amount(noise_multiplier, "noise_multiplier", round_up=False))
    return gaussian_divergence(read_probability(sampling_probability), 1 / noise**2, read_order(order))


@lru_cache(maxsize=65_536)
def gaussian_divergence(q: Fraction, square: Fraction, order: Decimal) -> Decimal:
    """D_a of the sampled pair N(mu, 1) against N(0, 1), mu^2 = `square`; rounded up."""
    if not square:
        return ZERO
    return up(enclose(lambda: not_tiny(_log_moment(q, square, order) / (ball(order) - 1))))


@lru_cache(maxsize=65_536)
def gaussian_excess(q: Fraction, square: Fraction, order: Decimal, times: int = 1) -> Decimal:
    """log(1 + times (A(a) - 1)) / (a - 1), rounded up: `times` copies of what the sampled pair has above 1."""
    if not square:
        return ZERO
    return up(enclose(lambda: not_tiny((times * _log_moment(q, square, order).expm1()).log1p() / (ball(order) - 1))))


def _log_moment(q: Fraction, square: Fraction, order: Decimal) -> Ball:
    """log A(a), enclosed or, where that would take too long, bounded from above by a ball that lies above it."""
    if q == 1:
        return ball(order) * (ball(order) - 1) * ball(square) / 2
    if order == order.to_integral_value() and order <= LARGEST_SUM:
        return sum_excess(q, int(order), lambda k: ball(square) * k / 2).log1p()
    if q**2 * square > _NEGLIGIBLE and nodes(square, order) <= _MOST_NODES:
        return _by_integral(q, square, order).log()
    return _above(q, square, order)


def sum_excess(q: Fraction, order: int, divergence: Callable[[int], Ball]) -> Ball:
    """sum_j>=2 C(a,j) (1-q)^(a-j) q^j (e^((j-1) D_j) - 1): A(a) - 1 without a difference of near numbers; 0 < q < 1."""
    ratio, weight = ball(q / (1 - q)), ball(1 - q) ** order
    total = ball(0)
    for j in range(1, order + 1):
        weight = weight * ratio * (order - j + 1) / j
        if j >= 2:
            total = total + weight * ((j - 1) * divergence(j)).expm1()
    return total


def nodes(square: Fraction, order: Decimal, bits: int = 160) -> int:
    """How many values the integral takes, about."""
    if square > _LARGEST_SQUARE:
        return 10**9
    step, cut = _grid(float(square) ** 0.5, float(order), bits)
    return int(4 * cut / step) + 8


def _grid(mu: float, order: float, bits: int) -> tuple[float, float]:
    """A step and a cut for errors of about 2^-bits; any choice is sound, since the errors are enclosed afterwards."""
    size = (bits + 4) * math.log(2)
    step = math.sqrt(2 * math.pi**2 / size)
    if mu > 0 and step < 2 * mu:  # the strip of analyticity is narrower than the best one
        step = 4 * math.pi**2 * mu / (2 * mu * mu * size + math.pi**2)
    return step, math.sqrt(2 * (size + (order + 2) * math.log(2))) + 1


def _by_integral(q: Fraction, square: Fraction, order: Decimal) -> Ball:
    import flint

    bits = int(flint.ctx.prec)
    a, mu = ball(order), ball(square).sqrt()
    rough_mu, rough_order = float(square) ** 0.5, float(order)
    rough_step, cut = _grid(rough_mu, rough_order, bits - 16)
    step = Fraction(max(1, int(rough_step * 2**20)), 2**20) if rough_step > 2**-12 else Fraction(rough_step)
    h, c = ball(step), ball(Fraction(math.floor(cut)))
    windows = _windows(rough_mu * rough_order, math.floor(cut), float(step))
    total = ball(0)
    for first, last in windows:
        total = total + _nodes_sum(q, mu, a, step, first, last)
    pi = flint.arb.pi()
    width = flint.arb.min(2 * pi / h, pi / mu)
    eta = 2 * (width * width / 2).exp() / (2 * pi * width / h).expm1()
    zeta = flint.arb(2) ** (a + 1) * (-c * c / 2).exp() / (2 * pi).sqrt() * (1 / c + h)
    if not eta + zeta < ball(Fraction(1, 2)):
        return flint.arb("nan")  # this grid was too coarse for its precision; the next precision has a finer one
    kept = total * h / (2 * pi).sqrt()
    return (kept / (1 + eta)).union(kept / (1 - eta - zeta))


def _windows(centre: float, cut: int, step: float) -> list[tuple[int, int]]:
    """Node numbers that certainly include everything within `cut` of 0 and of `centre` (floats, hence the margin)."""
    reach = math.ceil(cut / step) + 2
    middle, slack = round(centre / step), 2 + int(abs(centre / step) * 1e-12)
    if middle - reach - slack <= reach + 1:
        return [(-reach, middle + reach + slack)]
    return [(-reach, reach), (middle - reach - slack, middle + reach + slack)]


def _nodes_sum(q: Fraction, mu: Ball, a: Ball, step: Fraction, first: int, last: int) -> Ball:
    """sum over the nodes t = n h of e^(-t^2/2) (1 - q + q e^(mu t - mu^2/2))^a; powers by recurrence."""
    h, start = ball(step), ball(step * first)
    stay, rate = ball(1 - q), ball(q)
    bell, fall, spread = (-start * start / 2).exp(), (-start * h - h * h / 2).exp(), (-h * h).exp()
    tilt, climb = (mu * start - mu * mu / 2).exp(), (mu * h).exp()
    total = ball(0)
    for _ in range(first, last + 1):
        total = total + bell * ((stay + rate * tilt).log() * a).exp()
        bell, fall, tilt = bell * fall, fall * spread, tilt * climb
    return total


def _above(q: Fraction, square: Fraction, order: Decimal) -> Ball:
    """Upper bounds of log A where neither sum nor integral is feasible (very little noise at very large orders)."""
    bounds = []
    floor = int(order)
    if floor + 1 <= _LARGEST_LAST_SUM:  # log A is convex in the order, and 0 at order 1
        share = ball(order) - floor
        low = ball(0) if floor == 1 else sum_excess(q, floor, lambda k: ball(square) * k / 2).log1p()
        high = sum_excess(q, floor + 1, lambda k: ball(square) * k / 2).log1p()
        bounds.append((1 - share) * low + share * high)
    # the norm of 1 - q + q l is at most 1 - q + q |l| (Minkowski)
    bounds.append(ball(order) * (ball(q) * ((ball(order) - 1) * ball(square) / 2).expm1()).log1p())
    return min(bounds, key=lambda bound: bound.upper()) if len(bounds) > 1 else bounds[0]
