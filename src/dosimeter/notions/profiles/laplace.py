"""Laplace noise, continuous: profile, Renyi divergences, zCDP constant, trade-off curve.

`ratio` is sensitivity / scale, the pure epsilon of the mechanism.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import ball, enclose, up
from dosimeter.exact import ONE, ZERO, Number, amount
from dosimeter.notions.profiles.reading import read_level, read_loss, read_order_from_one, read_target_delta
from dosimeter.notions.profiles.solving import nonnegative_down, nonnegative_up, probability_up

if TYPE_CHECKING:
    Ball: TypeAlias = Any

HALF: Final = Decimal("0.5")


def laplace_delta(ratio: Number, epsilon: Number) -> Decimal:
    """The exact delta at any real epsilon: 1 - exp((epsilon - ratio)/2) where |epsilon| <= ratio.

    Guarantee: rounded up; 0 above the ratio, 1 - e^epsilon below minus the ratio; both directions are the same.

    Args:
        ratio: sensitivity / scale, 0 or in [1e-300, 1e12].
        epsilon: in [-1e12, 1e12].

    Reference: integral of (dP - e^epsilon dQ)+ for two shifted Laplace densities; Balle, Wang (2018), section 2.
    """
    ratio, level = read_loss(ratio, "ratio"), read_level(epsilon)
    if level >= ratio:
        return ZERO
    if level < -ratio:
        return probability_up(lambda: -ball(level).expm1())
    return probability_up(lambda: -((ball(level) - ball(ratio)) / 2).expm1())


def laplace_epsilon(ratio: Number, delta: Number) -> Decimal:
    """The least epsilon >= 0 whose exact delta is at most `delta`: ratio + 2 log(1 - delta); the ratio at delta 0.

    Guarantee: rounded up.

    Args:
        ratio: sensitivity / scale, 0 or in [1e-300, 1e12].
        delta: 0 or in [1e-300, 1).

    Reference: `laplace_delta`, solved for epsilon.
    """
    ratio, delta = read_loss(ratio, "ratio"), read_target_delta(delta)
    if not delta:
        return ratio
    return min(ratio, nonnegative_up(lambda: ball(ratio) + 2 * (-ball(delta)).log1p()))


def laplace_renyi(ratio: Number, order: Number) -> Decimal:
    """The exact Renyi divergence of this order, either direction; order 1 gives ratio + e^-ratio - 1.

    Guarantee: rounded up; log(a/(2a-1) e^((a-1) ratio) + (a-1)/(2a-1) e^(-a ratio)) / (a-1).

    Args:
        ratio: sensitivity / scale, 0 or in [1e-300, 1e12].
        order: in [1, 1e6].

    Reference: Mironov (2017), Proposition 6.
    """
    ratio, order = read_loss(ratio, "ratio"), read_order_from_one(order)
    if not ratio:
        return ZERO
    if order == ONE:
        return laplace_zcdp(ratio)

    def divergence() -> Ball:
        a, e = ball(order), ball(ratio)
        # log of 1 + (the mixture - 1), so that a small ratio keeps its digits
        return ((a * ((a - 1) * e).expm1() + (a - 1) * (-a * e).expm1()) / (2 * a - 1)).log1p() / (a - 1)

    return min(ratio, up(enclose(divergence)))  # a divergence is at most the largest loss


def laplace_zcdp(ratio: Number) -> Decimal:
    """The least rho for which Laplace noise is rho-zCDP: ratio + e^-ratio - 1, its Kullback-Leibler divergence.

    Guarantee: rounded up; tight (attained as the order goes to 1), below the pure bound ratio tanh(ratio/2).

    Args:
        ratio: sensitivity / scale, 0 or in [1e-300, 1e12].

    Reference: cosh(e s) + sinh(e s)/(2 s) is, in u = s^2, an entire function of order 1/2 with negative zeros only,
        so its logarithm is concave in u and lies below its tangent at order 1, whose slope is the divergence.
    """
    ratio = read_loss(ratio, "ratio")
    if not ratio:
        return ZERO
    return min(ratio, up(enclose(lambda: ball(ratio) + (-ball(ratio)).expm1())))


def laplace_tradeoff(ratio: Number, false_positive_rate: Number) -> Decimal:
    """The least false-negative rate of any test against Laplace noise, at this false-positive rate x.

    Guarantee: rounded down. 1 - e^r x for x < e^-r / 2, then e^-r / (4 x) up to x = 1/2, then e^-r (1 - x).

    Args:
        ratio: r = sensitivity / scale, 0 or in [1e-300, 1e12].
        false_positive_rate: x, 0 or in [1e-300, 1].

    Reference: Dong, Roth, Su (2022), section 2.
    """
    ratio, x = read_loss(ratio, "ratio"), amount(false_positive_rate, "false_positive_rate", zero=True, largest=ONE)

    def miss() -> Ball:
        e, rate = ball(ratio), ball(x)
        if x >= HALF:
            return (-e).exp() * ball(1 - Fraction(x))
        middle = (-e).exp() / (4 * rate) if x else ball(0)
        steep = 1 - e.exp() * rate
        return middle if rate > (-e).exp() / 2 else steep if rate < (-e).exp() / 2 else steep.union(middle)

    return nonnegative_down(miss)
