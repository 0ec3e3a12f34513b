"""The laws of the three noises in balls: point masses, tails, variances.

Everything here is an enclosure, so an error bar read from it is a promise. Sums over the integers that have no closed
form are summed until what is left is below the working precision, and the rest is added as a ball; for a wide discrete
Gaussian the sum over a tail is an Euler-Maclaurin sum with its remainder bound.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import Bound, sqrt_up
from dosimeter.mechanisms.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, Noise, require_noise

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

_WIDE: Final = 20  # from this sigma on, Euler-Maclaurin; below, the sum itself
_TERMS: Final = (8, 24, 72)
_MAX_DIRECT: Final = 200_000


def probability(noise: Noise, value: int) -> Bound:
    """P(noise = value), enclosed to 25 digits.

    Reference: Canonne, Kamath, Steinke (2020), Definition 1 for the discrete Gaussian; Phi for the rounded one.
    """
    require_noise(noise)
    mass = enclose(lambda: _mass(noise, abs(value)))
    return Bound(down(mass), up(mass))


def tail(noise: Noise, width: int) -> Ball:
    """P(|noise| > width) for a whole width >= 0, as a ball of at least 30 digits."""
    require_noise(noise)
    return enclose(lambda: _tail(noise, width), digits=30)


@lru_cache(maxsize=1024)
def variance(noise: Noise) -> Decimal:
    """The variance in squared steps, rounded up.

    Reference: discrete Laplace 1/(2 sinh^2(1/(2 scale))); discrete Gaussian at most sigma^2 (Canonne, Kamath, Steinke,
    Corollary 9); rounded Gaussian near sigma^2 + 1/12 (Widrow, Kollar, "Quantization noise" (2008), chapter 4).
    """
    require_noise(noise)
    return up(enclose(lambda: _variance(noise)))


def standard_deviation(noise: Noise) -> Decimal:
    """The standard deviation in steps, rounded up."""
    return sqrt_up(variance(noise))


def _mass(noise: Noise, x: int) -> Ball:
    if isinstance(noise, DiscreteLaplaceNoise):
        inverse = 1 / ball(noise.scale)
        return (inverse / 2).tanh() * (-x * inverse).exp()
    sigma = ball(noise.sigma)
    if isinstance(noise, DiscreteGaussianNoise):
        return _gauss(sigma, x) / _lattice_sum(sigma, noise.sigma)
    if x == 0:
        return 1 - _upper(noise.sigma, 0) * 2
    return _upper(noise.sigma, x - 1) - _upper(noise.sigma, x)


def _tail(noise: Noise, width: int) -> Ball:
    if isinstance(noise, DiscreteLaplaceNoise):
        inverse = 1 / ball(noise.scale)
        return 2 * (-(width + 1) * inverse).exp() / (1 + (-inverse).exp())
    if isinstance(noise, DiscreteGaussianNoise):
        sigma = ball(noise.sigma)
        return 2 * _upper_sum(sigma, noise.sigma, width + 1) / _lattice_sum(sigma, noise.sigma)
    return 2 * _upper(noise.sigma, width)


def _upper(sigma: Decimal, width: int) -> Ball:
    """Q((width + 1/2)/sigma): the chance that the Gaussian rounds to more than `width`."""
    return _erfc(ball(Fraction(2 * width + 1, 2)) / (ball(sigma) * ball(2).sqrt())) / 2


def _erfc(x: Ball) -> Ball:
    """erfc, also where Arb's stops giving digits: beyond 1000 an asymptotic series, its error below its next term."""
    if not x > 1000:
        return x.erfc()
    total, term = ball(0), ball(1)
    for k in range(1, 24):
        total += term
        term *= -(2 * k - 1) / (2 * x * x)
    return (-x * x).exp() / (x * _pi().sqrt()) * (total + _between(-abs(term), abs(term)))


def _gauss(sigma: Ball, x: int) -> Ball:
    return (-(ball(x) ** 2) / (2 * sigma**2)).exp()


def _theta(decay: Ball, power: int) -> Ball:
    """sum_{k>=1} k^power exp(-decay k^2) for power 0 or 2 and decay > 1, the rest enclosed."""
    total, k = ball(0), 1
    while True:
        term = k**power * (-decay * k * k).exp()
        total += term
        k += 1
        following = k**power * (-decay * k * k).exp()
        if following < total * ball(Fraction(1, 1 << 600)):
            # ratios of later terms only fall: what is left is below following (1 + 1/2 + ...)
            return total + _between(ball(0), 2 * following)


def _between(low: Ball, high: Ball) -> Ball:
    return low.union(high)


def _lattice_sum(sigma: Ball, declared: Decimal) -> Ball:
    """sum over the integers of exp(-x^2/(2 sigma^2)): as it stands, or by Poisson's summation when sigma is large."""
    if declared < Decimal("0.4"):
        return 1 + 2 * _theta(1 / (2 * sigma**2), 0)
    root = sigma * (2 * _pi()).sqrt()
    return root * (1 + 2 * _theta(2 * (_pi() * sigma) ** 2, 0))


def _pi() -> Ball:
    import flint

    return flint.arb.pi()


def _upper_sum(sigma: Ball, declared: Decimal, start: int) -> Ball:
    """sum_{x >= start} exp(-x^2/(2 sigma^2)), start >= 1."""
    if declared >= _WIDE:
        for terms in _TERMS:
            total = _euler_maclaurin(sigma, start, terms)
            if total.rel_accuracy_bits() >= 110:
                return total
        if declared > _MAX_DIRECT:
            raise NoGuaranteeError("the tail of a discrete Gaussian could not be enclosed")
    return _direct(sigma, start)


def _direct(sigma: Ball, start: int) -> Ball:
    """Add terms until the geometric series that bounds the rest is negligible."""
    inverse = 1 / (2 * sigma**2)
    term = (-(ball(start) ** 2) * inverse).exp()
    ratio = (-(2 * start + 1) * inverse).exp()  # of the next term to this one
    shrink = (-2 * inverse).exp()
    total = ball(0)
    small = ball(Fraction(1, 1 << 130))
    for _ in range(_MAX_DIRECT * 8):
        total += term
        term *= ratio
        ratio *= shrink
        rest = term / (1 - ratio)  # the ratios only fall from here on
        if rest < total * small:
            return total + _between(ball(0), rest)
    raise NoGuaranteeError("the tail of a discrete Gaussian could not be enclosed")


def _euler_maclaurin(sigma: Ball, start: int, terms: int) -> Ball:
    """The integral from `start`, half the first value, `terms` corrections, and a ball for the remainder.

    With f(x) = exp(-x^2/(2 sigma^2)), f^(j)(x) = (-1)^j sigma^-j He_j(x/sigma) f(x). The remainder after m corrections
    is at most 2 zeta(2m) (2 pi)^-2m times the integral of |f^(2m)|, which the Cauchy-Schwarz inequality under the
    Gaussian weight bounds by sigma^(1-2m) sqrt(2 pi) sqrt((2m)!); and 2 zeta(2m) < 4.
    """
    import flint

    u = ball(start) / sigma
    value = (-u * u / 2).exp()
    root = (2 * _pi()).sqrt()
    total = sigma * root * _erfc(u / ball(2).sqrt()) / 2 + value / 2
    before, current = ball(1), u  # He_0, He_1
    factorial = 1
    for k in range(1, terms + 1):
        order = 2 * k - 1
        factorial *= (2 * k) * (2 * k - 1)
        coefficient = ball(Fraction(int(flint.fmpq.bernoulli(2 * k).p), int(flint.fmpq.bernoulli(2 * k).q)))
        total += coefficient / factorial * current * value / sigma**order  # minus (-1)^order = plus
        for _ in range(2):
            before, current = current, u * current - order * before
            order += 1
    remainder = 4 * root * ball(factorial).sqrt() * sigma / (2 * _pi() * sigma) ** (2 * terms)
    return total + _between(-remainder, remainder)


def _variance(noise: Noise) -> Ball:
    if isinstance(noise, DiscreteLaplaceNoise):
        return 1 / (2 * (1 / (2 * ball(noise.scale))).sinh() ** 2)
    sigma = ball(noise.sigma)
    if isinstance(noise, DiscreteGaussianNoise):
        if noise.sigma < Decimal("0.4"):
            decay = 1 / (2 * sigma**2)
            return 2 * _theta(decay, 2) / (1 + 2 * _theta(decay, 0))
        decay = 2 * (_pi() * sigma) ** 2
        return sigma**2 - 8 * _pi() ** 2 * sigma**4 * _theta(decay, 2) / (1 + 2 * _theta(decay, 0))
    return _rounded_variance(sigma, noise.sigma)


def _rounded_variance(sigma: Ball, declared: Decimal) -> Ball:
    """sum (2t+1) P(|noise| > t) for a small sigma, and what Poisson's summation makes of it for a large one.

    The latter is sigma^2 + 1/12 + sum_{k>=1} (-1)^k (4 sigma^2 + 1/(pi k)^2) exp(-2 (pi sigma k)^2).
    """
    total = ball(0)
    if declared < 1:
        t = 0
        while True:
            total += (2 * t + 1) * 2 * _upper(declared, t)
            t += 1
            following = (2 * t + 1) * 2 * _upper(declared, t)
            if t >= 3 and following < total * ball(Fraction(1, 1 << 110)):
                return total + _between(ball(0), 2 * following)
    decay = 2 * (_pi() * sigma) ** 2
    for k in range(1, 8):
        total += (-1) ** k * (4 * sigma**2 + 1 / (_pi() * k) ** 2) * (-decay * k * k).exp()
    rest = (4 * sigma**2 + 1) * (-decay * 64).exp() * 2
    return sigma**2 + ball(Fraction(1, 12)) + total + _between(-rest, rest)
