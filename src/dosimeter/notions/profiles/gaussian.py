"""The Gaussian pair N(0, 1) against N(mu, 1): its exact privacy profile and both inverses.

Everything Gaussian comes down to this pair: mu = sensitivity / sigma, and mu-GDP is defined by it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, enclose, precision
from dosimeter.exact import ZERO, Number
from dosimeter.notions.profiles.concentrated import zcdp_rho
from dosimeter.notions.profiles.reading import (
    good_part,
    read_failure,
    read_level,
    read_loss,
    read_target_delta,
    read_target_epsilon,
)
from dosimeter.notions.profiles.solving import certainly_at_most_zero, largest, least, not_tiny, probability_up, root

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_BITS = 224
_SEARCH_DIGITS = 36
_FAR = 10**5  # deviations from which the ratio of a tail to its density is a series of a few terms
_TERMS = 8


def profile_ball(mu: Ball, epsilon: Ball) -> Ball:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), mu > 0, at the current precision."""
    import flint

    below = (epsilon / mu - mu / 2) / flint.arb(2).sqrt()
    return below.erfc() / 2 - raised_tail_ball(mu, epsilon)


def complement_ball(mu: Ball, epsilon: Ball) -> Ball:
    """1 - profile, as a sum of positive terms: exact where the profile is close to 1."""
    import flint

    below = (epsilon / mu - mu / 2) / flint.arb(2).sqrt()
    return (-below).erfc() / 2 + raised_tail_ball(mu, epsilon)


def raised_tail_ball(mu: Ball, epsilon: Ball) -> Ball:
    """e^epsilon Phi(-b), b = mu/2 + epsilon/mu, at the current precision: minus the slope of the profile.

    Far out neither factor can be written down. With a = epsilon/mu - mu/2 the product is phi(a) (1 - Phi(b)) / phi(b),
    as b^2 - a^2 = 2 epsilon, and the ratio lies between consecutive sums of 1/b - 1/b^3 + 3/b^5 - 15/b^7 + ...

    Reference: Abramowitz and Stegun (1964), 26.2.12.
    """
    import flint

    above = epsilon / mu + mu / 2
    if not above > _FAR:
        return epsilon.exp() * (above / flint.arb(2).sqrt()).erfc() / 2
    below = epsilon / mu - mu / 2
    term, ratio = 1 / above, flint.arb(0)
    for k in range(_TERMS):
        ratio += term
        term *= -(2 * k + 1) / (above * above)
    density = (-below * below / 2).exp() / (2 * flint.arb.pi()).sqrt()
    return density * (ratio + term / 2 + flint.arb(0, 1) * term / 2)


def gaussian_delta(mu: Number, epsilon: Number, failure: Number = 0) -> Decimal:
    """The exact delta of the pair, with failures added: failure + (1 - failure) delta_mu(epsilon).

    Guarantee: rounded up, for every real epsilon; both directions are the same.

    Args:
        mu: sensitivity / sigma, 0 or in [1e-300, 1e12].
        epsilon: in [-1e12, 1e12].
        failure: 0 or in [1e-300, 1].

    Reference: Balle, Wang (2018), Theorem 8; Dong, Roth, Su (2022), Corollary 2.13.
    """
    mu, level, f = read_loss(mu, "mu"), read_level(epsilon), read_failure(failure)
    if not mu and level >= 0:
        return f

    def delta() -> Ball:
        profile = _profile(mu, level) if mu else -ball(level).expm1()
        return ball(f) + (1 - ball(f)) * profile

    return probability_up(delta)


def gaussian_epsilon(mu: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The least epsilon >= 0 at which the pair, with failures added, has at most this delta.

    Guarantee: rounded up, and certified: the exact delta at the returned epsilon is at most `delta`.

    Args:
        mu: sensitivity / sigma, 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `failure`.
        failure: 0 or in [1e-300, 1].

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Balle, Wang (2018), Theorem 8.
    """
    mu, delta, failure = read_loss(mu, "mu"), read_target_delta(delta), read_failure(failure)
    if not mu and delta >= failure:
        return ZERO
    target = good_part(delta, failure)

    def holds(epsilon: Decimal) -> bool:
        return certainly_at_most_zero(lambda: _profile(mu, epsilon) - ball(target))

    if holds(ZERO):
        return ZERO
    with precision(_BITS):
        m = ball(mu)
        start = m * m / 2 + m * (-2 * ball(target).log()).sqrt()  # the zCDP bound: never below the root

        def excess(epsilon: Ball) -> tuple[Ball, Ball]:
            excess, scale = _log_excess(lambda: ball(mu), lambda: epsilon, target)
            return excess, -raised_tail_ball(m, epsilon) * scale

        guess = root(excess, start, 0 * start, 2 * start, rising=False)
    return least(holds, guess)


def gaussian_mu(epsilon: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The largest mu whose pair, with failures added, has at most this delta at epsilon.

    Guarantee: rounded down, and certified: the exact delta at the returned mu is at most `delta`. This is the
    analytic calibration of the Gaussian mechanism, sigma = sensitivity / mu.

    Args:
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `failure`.
        failure: 0 or in [1e-300, 1].

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Balle, Wang (2018), Theorem 9; at epsilon = 0, mu = 2 PhiInv((1 + delta)/2).
    """
    import flint

    epsilon, delta, failure = read_target_epsilon(epsilon), read_target_delta(delta), read_failure(failure)
    target = good_part(delta, failure)
    with precision(_BITS):
        tail = ball(target).erfinv() if target < Fraction(1, 2) else ball(1 - target).erfcinv()
        total_variation = flint.arb(8).sqrt() * tail  # the answer at epsilon = 0, and a lower bound otherwise
    if not epsilon:
        return down(total_variation)
    with precision(_BITS):
        concentrated = (2 * ball(zcdp_rho(epsilon, target))).sqrt()
        start = concentrated if concentrated > total_variation else total_variation
        e = ball(epsilon)

        def excess(s: Ball) -> tuple[Ball, Ball]:
            mu = s.exp().mid()
            x = e / mu - mu / 2
            density = (-x * x / 2).exp() / (2 * flint.arb.pi()).sqrt()
            excess, scale = _log_excess(lambda: mu, lambda: ball(epsilon), target)
            return excess, mu * density * scale

        s = start.log()
        guess = root(excess, s, s - 1, s + 1_000, rising=True).exp()
    return largest(lambda mu: certainly_at_most_zero(lambda: _profile(mu, epsilon) - ball(target)), guess)


def _profile(mu: Decimal, epsilon: Decimal) -> Ball:
    import flint

    if not epsilon:  # one term, no cancellation
        return (ball(mu) / flint.arb(8).sqrt()).erf()
    return not_tiny(profile_ball(ball(mu), ball(epsilon)))


def _log_excess(mu: Callable[[], Ball], epsilon: Callable[[], Ball], target: Fraction) -> tuple[Ball, Ball]:
    """A function of the same sign as profile - target, in logarithms so that Newton is quick, and its derivative
    with respect to the profile. Near 1 the logarithm of the complement is the one that still tells values apart."""
    if target <= Fraction(1, 2):
        profile = enclose(lambda: profile_ball(mu(), epsilon()), _SEARCH_DIGITS)
        return profile.log() - ball(target).log(), 1 / profile
    complement = enclose(lambda: complement_ball(mu(), epsilon()), _SEARCH_DIGITS)
    return ball(1 - target).log() - complement.log(), 1 / complement
