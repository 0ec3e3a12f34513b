"""The formulas once more, in mpmath: what tests compare with where no stored value exists.

Slow and simple on purpose: definitions, at 60 digits or more, with no regard for cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import mpmath
from mpmath import mpf

Real = Decimal | Fraction | int | str


def m(value: Real | mpmath.mpf) -> mpmath.mpf:
    """An exact number at the current precision."""
    if isinstance(value, mpmath.mpf):
        return value
    ratio = Fraction(value)
    return mpf(ratio.numerator) / ratio.denominator


def normal_cdf(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gaussian_delta(mu: Real, epsilon: Real) -> mpmath.mpf:
    u, e = m(mu), m(epsilon)
    return normal_cdf(u / 2 - e / u) - mpmath.exp(e) * normal_cdf(-u / 2 - e / u)


def zcdp_delta(rho: Real, epsilon: Real) -> mpmath.mpf:
    """exp of the minimum over t > 0, found as the root of the derivative in log t."""
    r, e = m(rho), m(epsilon)

    def derivative(s: mpmath.mpf) -> mpmath.mpf:
        return (2 * mpmath.exp(s) + 1) * r - e - mpmath.log1p(mpmath.exp(-s))

    s = bisect(derivative, -3 * r - 5, abs(mpmath.log(e + 1)) + abs(mpmath.log(r)) + 5)
    t = mpmath.exp(s)
    return mpmath.exp(t * (t + 1) * r - t * e - t * mpmath.log1p(1 / t) - mpmath.log1p(t))


def bisect(rising: Callable[[mpmath.mpf], mpmath.mpf], low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    for _ in range(int(mpmath.mp.prec) + 40):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return high


def renyi_constant(order: Real) -> mpmath.mpf:
    a = m(order)
    return (1 - 1 / a) ** (a - 1) / a


def is_upper(ours: Decimal, truth: mpmath.mpf, relative: str = "1e-20") -> bool:
    """Not below the truth, and above it by no more than this share (or it is the smallest amount, 1e-300)."""
    value = m(ours)
    return truth <= value and (value - truth <= mpf(relative) * abs(truth) or value <= mpf("1e-300"))


def is_lower(ours: Decimal, truth: mpmath.mpf, relative: str = "1e-20") -> bool:
    """Not above the truth, and below it by no more than this share (or too small to be an amount)."""
    value = m(ours)
    return value <= truth and (truth - value <= mpf(relative) * abs(truth) or truth <= mpf("1e-300"))
