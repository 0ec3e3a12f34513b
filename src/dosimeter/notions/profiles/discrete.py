"""Noise on the integers: discrete Laplace and discrete Gaussian, exact for one integer of known sensitivity.

Both noises are log-concave, so the best test at any level is a threshold and a larger shift is easier to see: the
profile at sensitivity D covers every smaller shift. Neither is the continuous noise: at small scales the discrete
delta is above the continuous one.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, enclose, precision, up
from dosimeter.exact import ZERO, Number, amount, count
from dosimeter.notions.profiles.gaussian import gaussian_mu
from dosimeter.notions.profiles.gaussian_sums import half_line_sum, line_sum, line_sum_of_squares
from dosimeter.notions.profiles.reading import (
    LARGEST_COUNT,
    good_part,
    read_level,
    read_target_delta,
    read_target_epsilon,
)
from dosimeter.notions.profiles.solving import (
    bracketed_root,
    certainly_at_most_zero,
    least,
    not_tiny,
    probability_up,
    root,
)

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_BITS = 224
_SEARCH_DIGITS = 36


def discrete_laplace_pmf(scale: Number, value: int) -> Decimal:
    """P(X = value) = tanh(1/(2 scale)) exp(-|value| / scale).

    Guarantee: rounded up.

    Args:
        scale: in [1e-300, 1e12].
        value: an integer.

    Reference: Ghosh, Roughgarden, Sundararajan (2009).
    """
    scale, distance = amount(scale, "scale"), abs(_integer(value, "value"))
    return probability_up(lambda: (1 / (2 * ball(scale))).tanh() * (-ball(distance) / ball(scale)).exp())


def discrete_laplace_variance(scale: Number) -> Decimal:
    """The variance 2 r / (1 - r)^2 with r = exp(-1/scale), which is below 2 scale^2.

    Guarantee: rounded up.

    Args:
        scale: in [1e-300, 1e12].

    Reference: second moment of `discrete_laplace_pmf`.
    """
    scale = amount(scale, "scale")

    def variance() -> Ball:
        rate = 1 / ball(scale)
        return not_tiny(1 / (2 * (rate / 2).sinh() ** 2))

    return up(enclose(variance))


def discrete_laplace_delta(scale: Number, sensitivity: int, epsilon: Number) -> Decimal:
    """The exact delta at any real epsilon of discrete Laplace noise on one integer.

    Guarantee: rounded up; 0 at and above epsilon = sensitivity / scale. Both directions are the same.

    Args:
        scale: in [1e-300, 1e12].
        sensitivity: the largest change of the integer, 1 to 1e9.
        epsilon: in [-1e12, 1e12].

    Reference: Canonne, Kamath, Steinke (2020), section 2; the sum over the threshold set in closed form.
    """
    scale, shift, level = amount(scale, "scale"), _shift(sensitivity), read_level(epsilon)
    scaled = Fraction(level) * Fraction(scale)
    if scaled >= shift:
        return ZERO
    if scaled < -shift:
        return probability_up(lambda: -ball(level).expm1())
    last = math.ceil((shift - scaled) / 2) - 1  # the loss is above epsilon for outputs up to here

    def delta() -> Ball:
        rate = 1 / ball(scale)
        out = (-rate * (last + 1)).exp() + (ball(level) - rate * (shift - last)).exp()
        return 1 - out / (1 + (-rate).exp())

    return probability_up(delta)


def discrete_gaussian_norm(sigma: Number) -> Decimal:
    """The sum of exp(-k^2 / (2 sigma^2)) over all integers.

    Guarantee: rounded up.

    Args:
        sigma: in [1e-300, 1e12].

    Reference: Canonne, Kamath, Steinke (2020), Definition 1.
    """
    sigma = amount(sigma, "sigma")
    return up(enclose(lambda: line_sum(sigma)))


def discrete_gaussian_pmf(sigma: Number, value: int) -> Decimal:
    """P(X = value), proportional to exp(-value^2 / (2 sigma^2)).

    Guarantee: rounded up.

    Args:
        sigma: in [1e-300, 1e12].
        value: an integer.

    Reference: Canonne, Kamath, Steinke (2020), Definition 1.
    """
    sigma, x = amount(sigma, "sigma"), _integer(value, "value")
    return probability_up(lambda: (-ball(x * x) / (2 * ball(sigma) ** 2)).exp() / line_sum(sigma))


def discrete_gaussian_variance(sigma: Number) -> Decimal:
    """The variance, which is at most sigma^2.

    Guarantee: rounded up.

    Args:
        sigma: in [1e-300, 1e12].

    Reference: Canonne, Kamath, Steinke (2020), Corollary 9.
    """
    sigma = amount(sigma, "sigma")
    return up(enclose(lambda: not_tiny(line_sum_of_squares(sigma) / line_sum(sigma))))


def discrete_gaussian_delta(sigma: Number, sensitivity: int, epsilon: Number) -> Decimal:
    """The exact delta at any real epsilon of discrete Gaussian noise on one integer.

    Guarantee: rounded up; P(X > c) - e^epsilon P(X > c + D), c = epsilon sigma^2 / D - D/2. Both directions are the
    same. Vectors and sums of releases are not covered: account for those in zCDP.

    Args:
        sigma: in [1e-300, 1e12].
        sensitivity: D, the largest change of the integer, 1 to 1e9.
        epsilon: in [-1e12, 1e12].

    Reference: Canonne, Kamath, Steinke (2020), Theorem 7.
    """
    sigma, shift, level = amount(sigma, "sigma"), _shift(sensitivity), read_level(epsilon)
    return probability_up(lambda: _gaussian_profile(sigma, shift, Fraction(level)))


def discrete_gaussian_epsilon(sigma: Number, sensitivity: int, delta: Number) -> Decimal:
    """The least epsilon >= 0 whose exact delta, for one integer, is at most `delta`.

    Guarantee: rounded up, and certified at the returned epsilon.

    Args:
        sigma: in [1e-300, 1e12].
        sensitivity: the largest change of the integer, 1 to 1e9.
        delta: in [1e-300, 1).

    Raises:
        NoGuaranteeError: delta is 0, where epsilon is infinite.

    Reference: Canonne, Kamath, Steinke (2020), Theorem 7, solved for epsilon.
    """
    sigma, shift = amount(sigma, "sigma"), _shift(sensitivity)
    target = good_part(read_target_delta(delta), ZERO)

    def holds(epsilon: Decimal) -> bool:
        return certainly_at_most_zero(
            lambda: not_tiny(_gaussian_profile(sigma, shift, Fraction(epsilon))) - ball(target)
        )

    if holds(ZERO):
        return ZERO
    with precision(_BITS):
        mu = ball(shift) / ball(sigma)
        start = mu * mu / 2 + mu * (-2 * ball(target).log()).sqrt()  # the zCDP bound: never below the root

        def excess(epsilon: Ball) -> tuple[Ball, Ball]:
            level = _fraction(epsilon)
            profile = enclose(lambda: not_tiny(_gaussian_profile(sigma, shift, level)), _SEARCH_DIGITS)
            beyond = half_line_sum(sigma, _threshold(sigma, shift, level) + shift) / line_sum(sigma)
            return profile.log() - ball(target).log(), -epsilon.exp() * beyond / profile

        guess = root(excess, start, 0 * start, 2 * start, rising=False)
    return least(holds, guess)


def discrete_gaussian_sigma(sensitivity: int, epsilon: Number, delta: Number) -> Decimal:
    """A sigma for which discrete Gaussian noise on one integer is (epsilon, delta)-DP and at which delta is used up.

    Guarantee: certified, the exact delta at the returned sigma is at most `delta`; at a sigma smaller by one part in
    10^15 it is not. Use the value as it is: for a large epsilon the exact delta is NOT monotone in sigma (sensitivity
    2, epsilon 8: 0.00118 at sigma 0.875, 0.00173 at 0.947), so a rounded sigma has to be checked again.

    Args:
        sensitivity: the largest change of the integer, 1 to 1e9.
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1).

    Raises:
        NoGuaranteeError: delta is 0.

    Reference: Canonne, Kamath, Steinke (2020), Theorem 7, solved for sigma.
    """
    shift, epsilon = _shift(sensitivity), read_target_epsilon(epsilon)
    target = good_part(read_target_delta(delta), ZERO)
    level = Fraction(epsilon)

    def excess(sigma: Decimal) -> Ball:
        return not_tiny(_gaussian_profile(sigma, shift, level)) - ball(target)

    def log_excess(s: Ball) -> Ball:
        sigma = up(s.exp(), 40)
        return (
            enclose(lambda: not_tiny(_gaussian_profile(sigma, shift, level)), _SEARCH_DIGITS).log() - ball(target).log()
        )

    with precision(_BITS):
        middle = (ball(shift) / ball(gaussian_mu(epsilon, target))).log()
        width = ball(Fraction(1, 1000))
        low, high = middle - width, middle + width
        while not log_excess(low.mid()) > 0:
            width = width * 2
            low, high = low - width, low
        while not log_excess(high.mid()) < 0:
            width = width * 2
            low, high = high, high + width
        guess = bracketed_root(log_excess, low, high).exp()
    return least(lambda sigma: certainly_at_most_zero(lambda: excess(sigma)), guess)


def _gaussian_profile(sigma: Decimal, shift: int, level: Fraction) -> Ball:
    first = _threshold(sigma, shift, level)
    return (half_line_sum(sigma, first) - ball(level).exp() * half_line_sum(sigma, first + shift)) / line_sum(sigma)


def _threshold(sigma: Decimal, shift: int, level: Fraction) -> int:
    """The first output above epsilon sigma^2 / D - D/2."""
    return math.floor(level * Fraction(sigma) ** 2 / shift - Fraction(shift, 2)) + 1


def _fraction(x: Ball) -> Fraction:
    mantissa, exponent = (int(part) for part in x.mid().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def _shift(sensitivity: int) -> int:
    return count(sensitivity, "sensitivity", largest=LARGEST_COUNT)


def _integer(value: int, name: str) -> int:
    return count(value, name, smallest=-(10**18), largest=10**18)
