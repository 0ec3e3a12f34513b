"""The laws of the three noises in balls: point masses, tails, variances.

Everything here is an enclosure, so an error bar read from it is a promise. Discrete Laplace has closed forms; discrete
Gaussian sums come from `profiles.gaussian_sums`; a rounded Gaussian is a difference of two error functions.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.exact import Bound, sqrt_up
from dosimeter.mechanisms.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, Noise, require_noise
from dosimeter.notions.profiles.gaussian_sums import half_line_sum, line_sum, line_sum_of_squares

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball


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
        return (-(ball(x) ** 2) / (2 * sigma**2)).exp() / line_sum(noise.sigma)
    if x == 0:
        return 1 - _upper(noise.sigma, 0) * 2
    return _upper(noise.sigma, x - 1) - _upper(noise.sigma, x)


def _tail(noise: Noise, width: int) -> Ball:
    if isinstance(noise, DiscreteLaplaceNoise):
        inverse = 1 / ball(noise.scale)
        return 2 * (-(width + 1) * inverse).exp() / (1 + (-inverse).exp())
    if isinstance(noise, DiscreteGaussianNoise):
        return 2 * half_line_sum(noise.sigma, width + 1) / line_sum(noise.sigma)
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
    return (-x * x).exp() / (x * _pi().sqrt()) * (total + term.union(-term))


def _pi() -> Ball:
    import flint

    return flint.arb.pi()


def _variance(noise: Noise) -> Ball:
    if isinstance(noise, DiscreteLaplaceNoise):
        return 1 / (2 * (1 / (2 * ball(noise.scale))).sinh() ** 2)
    if isinstance(noise, DiscreteGaussianNoise):
        return line_sum_of_squares(noise.sigma) / line_sum(noise.sigma)
    return _rounded_variance(ball(noise.sigma), noise.sigma)


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
                return total + ball(0).union(2 * following)
    decay = 2 * (_pi() * sigma) ** 2
    for k in range(1, 8):
        total += (-1) ** k * (4 * sigma**2 + 1 / (_pi() * k) ** 2) * (-decay * k * k).exp()
    rest = (4 * sigma**2 + 1) * (-decay * 64).exp() * 2
    return sigma**2 + ball(Fraction(1, 12)) + total + rest.union(-rest)
