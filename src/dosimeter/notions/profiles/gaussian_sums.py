"""Sums of exp(-k^2 / (2 sigma^2)) over the integers and over a half line, enclosed.

Small sigma: the terms themselves, with a geometric bound on what is left out. Large sigma: Poisson summation over the
whole line, and Euler-Maclaurin with its remainder over a half line, so that a sigma of a million costs no more than one
of ten.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import ball
from dosimeter.exact import multiply_up

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_POISSON_FROM: Final = Decimal("0.4")  # near 1/sqrt(2 pi), where both series are equally fast
_EULER_MACLAURIN_FROM: Final = 24
_MAX_TERMS: Final = 400


def line_sum(sigma: Decimal) -> Ball:
    """sum over all integers of exp(-k^2 / (2 sigma^2))."""
    import flint

    if sigma < _POISSON_FROM:
        return _theta(1 / (2 * ball(sigma) ** 2), squares=False)
    dual = _theta(2 * (flint.arb.pi() * ball(sigma)) ** 2, squares=False)
    return ball(sigma) * (2 * flint.arb.pi()).sqrt() * dual


def line_sum_of_squares(sigma: Decimal) -> Ball:
    """sum over all integers of k^2 exp(-k^2 / (2 sigma^2))."""
    import flint

    if sigma < _POISSON_FROM:
        return _theta(1 / (2 * ball(sigma) ** 2), squares=True)
    s, rate = ball(sigma), 2 * (flint.arb.pi() * ball(sigma)) ** 2
    return line_sum(sigma) * s * s * (1 - 2 * rate * _theta(rate, squares=True) / _theta(rate, squares=False))


def _theta(rate: Ball, *, squares: bool) -> Ball:
    """sum over all integers of exp(-rate k^2), or of k^2 exp(-rate k^2)."""
    import flint

    total, k = (flint.arb(0) if squares else flint.arb(1)), 1
    while True:
        term = 2 * (-rate * k * k).exp() * (k * k if squares else 1)
        total += term
        # the next terms shrink at least by a factor e^(-2 rate k) 4, whatever the weight
        ratio = 4 * (-2 * rate * k).exp()
        if ratio < 0.5 and term * ratio < _smallest(total if total > 0 else flint.arb(1)):
            return total + _plus_up_to(term * ratio / (1 - ratio))
        k += 1


def half_line_sum(sigma: Decimal, first: int) -> Ball:
    """sum over k >= first of exp(-k^2 / (2 sigma^2))."""
    if first <= 0:
        return line_sum(sigma) - half_line_sum(sigma, 1 - first)
    s = ball(sigma)
    if sigma < _EULER_MACLAURIN_FROM or 2 * first > multiply_up(sigma, sigma):  # few terms matter
        return _direct(s, first)
    return _euler_maclaurin(s, first)


def _direct(s: Ball, first: int) -> Ball:
    step = (-1 / (s * s)).exp()  # each ratio of neighbours is the last one times this
    term, ratio = (-(ball(first) ** 2) / (2 * s * s)).exp(), (-ball(2 * first + 1) / (2 * s * s)).exp()
    total, enough = term, _smallest(term)
    if not enough > 0:  # an exponent so large that the ball has no digits: all that is known is an upper bound
        return _plus_up_to(2 * term.upper())
    while True:
        term = term * ratio
        ratio = ratio * step
        total += term
        if term < enough * (1 - ratio):
            return total + _plus_up_to(term * ratio / (1 - ratio))


def _euler_maclaurin(s: Ball, first: int) -> Ball:
    """Integral + half the first term + corrections with Bernoulli numbers; the remainder is bounded by

    |B_2p|/(2p)! sigma^(1-2p) I_2p, where I_n is the integral from u = first/sigma of A_n(v) e^(-v^2/2), A_n the Hermite
    polynomial with all signs positive: A_(n+1) = v A_n + n A_(n-1), I_(n+1) = A_n(u) e^(-u^2/2) + 2 n I_(n-1).
    """
    import flint

    u = ball(first) / s
    density = (-u * u / 2).exp()
    tail = (flint.arb.pi() / 2).sqrt() * (u / flint.arb(2).sqrt()).erfc()
    total = s * tail + density / 2
    enough = _smallest(total)
    hermite = positive = (flint.arb(1), u)  # with indices n-1 and n, at n = 1
    integral = (tail, density)
    n, power, factorial = 1, 1 / s, 2  # sigma^(1-2j) and (2j)! at j = 1
    worst = None
    for j in range(1, _MAX_TERMS):
        weight = flint.arb(flint.fmpq.bernoulli(2 * j) / factorial) * power
        total += weight * hermite[1] * density
        for _ in range(2):
            hermite = (hermite[1], u * hermite[1] - n * hermite[0])
            integral = (integral[1], positive[1] * density + 2 * n * integral[0])
            positive = (positive[1], u * positive[1] + n * positive[0])
            n += 1
        remainder = abs(weight) * integral[0]  # index n-1 = 2j
        if remainder < enough or (worst is not None and remainder > worst):
            break
        worst = remainder.mid()
        power, factorial = power / (s * s), factorial * (2 * j + 1) * (2 * j + 2)
    return total - remainder + _plus_up_to(2 * remainder)


def _smallest(value: Ball) -> Ball:
    """What no longer matters beside this value at the current precision."""
    import flint

    return value.mid() * flint.arb(2) ** -int(flint.ctx.prec)


def _plus_up_to(bound: Ball) -> Ball:
    """Some unknown number in [0, bound]."""
    import flint

    return flint.arb(0).union(bound)
