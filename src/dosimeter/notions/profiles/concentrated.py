"""From zCDP to (epsilon, delta): the optimised conversion, its simple form, and their inverses.

With t = order - 1, rho-zCDP gives delta <= exp(t(t+1) rho - t epsilon + t log t - (t+1) log(t+1)) for every t > 0.
Solved for delta, for epsilon or for rho this is an explicit formula in t, valid at *every* t; only the best t is
searched, in floating point. The search decides how tight an answer is, never whether it is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, enclose, precision, up
from dosimeter.exact import ONE, ZERO, Number
from dosimeter.notions.profiles.reading import (
    good_part,
    read_failure,
    read_loss,
    read_target_delta,
    read_target_epsilon,
)
from dosimeter.notions.profiles.solving import (
    log_root,
    nonnegative_down,
    nonnegative_up,
    polish,
    probability_up,
)

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_SEARCH_BITS = 192


def zcdp_delta(rho: Number, epsilon: Number, failure: Number = 0) -> Decimal:
    """The delta at epsilon of failure-approximate rho-zCDP, optimised over all orders.

    Guarantee: rounded up; failure + (1 - failure) inf_{t>0} exp(t(t+1) rho - t epsilon + t log t - (t+1) log(t+1)).

    Args:
        rho: 0 or in [1e-300, 1e12].
        epsilon: 0 or in [1e-300, 1e12]; it may be below rho.
        failure: 0 or in [1e-300, 1].

    Reference: Canonne, Kamath, Steinke (2020), Corollary 13; Steinke (2022), Proposition 14 (all epsilon >= 0).
    """
    rho, epsilon, failure = read_loss(rho, "rho"), read_target_epsilon(epsilon), read_failure(failure)
    if not rho:
        return failure
    t = _best_t_for_delta(rho, epsilon)

    def delta() -> Ball:
        exponent = t * (t + 1) * ball(rho) - t * ball(epsilon) - t * (1 / t).log1p() - t.log1p()
        return ball(failure) + (1 - ball(failure)) * exponent.exp()

    return probability_up(delta)


def zcdp_epsilon(rho: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The least epsilon >= 0 at which failure-approximate rho-zCDP gives delta, optimised over all orders.

    Guarantee: rounded up; 0 where delta is generous.

    Args:
        rho: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `failure`.
        failure: 0 or in [1e-300, 1].

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12, solved for epsilon; Steinke (2022), Proposition 14.
    """
    rho, delta, failure = read_loss(rho, "rho"), read_target_delta(delta), read_failure(failure)
    if not rho and delta >= failure:
        return ZERO
    target = good_part(delta, failure)
    t = _best_t_for_epsilon(rho, target)
    return nonnegative_up(lambda: (t + 1) * ball(rho) - (1 / t).log1p() - (ball(target).log() + t.log1p()) / t)


def zcdp_rho(epsilon: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The largest rho for which failure-approximate rho-zCDP gives (epsilon, delta)-DP by the optimised conversion.

    Guarantee: rounded down; failure + (1 - failure) delta_zCDP(rho, epsilon) <= delta.

    Args:
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `failure`.
        failure: 0 or in [1e-300, 1].

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12, solved for rho.
    """
    epsilon, delta, failure = read_target_epsilon(epsilon), read_target_delta(delta), read_failure(failure)
    target = good_part(delta, failure)
    t = _best_t_for_rho(epsilon, target)

    def rho() -> Ball:
        return (t * ball(epsilon) + t * (1 / t).log1p() + t.log1p() + ball(target).log()) / (t * (t + 1))

    return nonnegative_down(rho)


def zcdp_delta_simple(rho: Number, epsilon: Number, failure: Number = 0) -> Decimal:
    """The delta at epsilon in closed form: failure + (1 - failure) exp(-(epsilon - rho)^2 / (4 rho)).

    Guarantee: rounded up; 1 for epsilon below rho; never below `zcdp_delta`.

    Args: as in `zcdp_delta`.

    Reference: Bun, Steinke (2016), Proposition 1.3.
    """
    rho, epsilon, failure = read_loss(rho, "rho"), read_target_epsilon(epsilon), read_failure(failure)
    if not rho:
        return failure
    if epsilon < rho:
        return ONE

    def delta() -> Ball:
        gap = ball(epsilon) - ball(rho)
        return ball(failure) + (1 - ball(failure)) * (-gap * gap / (4 * ball(rho))).exp()

    return probability_up(delta)


def zcdp_epsilon_simple(rho: Number, delta: Number, failure: Number = 0) -> Decimal:
    """Epsilon in closed form: rho + 2 sqrt(rho log(1/delta)), delta being what the failures leave.

    Guarantee: rounded up; never below `zcdp_epsilon`.

    Args: as in `zcdp_epsilon`.

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Bun, Steinke (2016), Proposition 1.3.
    """
    rho, delta, failure = read_loss(rho, "rho"), read_target_delta(delta), read_failure(failure)
    if not rho and delta >= failure:
        return ZERO
    target = good_part(delta, failure)
    return up(enclose(lambda: ball(rho) + 2 * (-ball(rho) * ball(target).log()).sqrt()))


def zcdp_rho_simple(epsilon: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The largest rho in closed form: (sqrt(log(1/delta) + epsilon) - sqrt(log(1/delta)))^2.

    Guarantee: rounded down, delta being what the failures leave; never above `zcdp_rho`.

    Args: as in `zcdp_rho`.

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Bun, Steinke (2016), Proposition 1.3, solved for rho.
    """
    epsilon, delta, failure = read_target_epsilon(epsilon), read_target_delta(delta), read_failure(failure)
    target = good_part(delta, failure)
    if not epsilon:
        return ZERO

    def rho() -> Ball:
        loss = -ball(target).log()
        quotient = ball(epsilon) / ((loss + ball(epsilon)).sqrt() + loss.sqrt())
        return quotient * quotient

    return down(enclose(rho))


def _best_t_for_delta(rho: Decimal, epsilon: Decimal) -> Ball:
    r, e = float(rho), float(epsilon)

    def derivative(s: float) -> float:  # of the exponent in t, at t = exp(s)
        return math.exp(s + math.log(2 * r)) + r - e - _softplus(-s)

    s = log_root(derivative, -3 * r - 1, max(0.0, math.log(e + 1) - math.log(2 * r)))
    return _polished(
        s, lambda t: ((2 * t + 1) * ball(rho) - ball(epsilon) - (1 / t).log1p(), 2 * ball(rho) + 1 / (t * (t + 1)))
    )


def _best_t_for_epsilon(rho: Decimal, target: Fraction) -> Ball:
    r, loss = float(rho), _log_inverse_float(target)

    def derivative(s: float) -> float:
        return math.exp(2 * s + math.log(r)) + _softplus(s) - loss

    low = min(_log_expm1(loss / 2), (math.log(loss / 2) - math.log(r)) / 2)
    high = min(_log_expm1(loss), (math.log(loss) - math.log(r)) / 2)
    return _polished(
        log_root(derivative, low, high),
        lambda t: (ball(rho) * t * t + t.log1p() + ball(target).log(), 2 * ball(rho) * t + 1 / (1 + t)),
    )


def _best_t_for_rho(epsilon: Decimal, target: Fraction) -> Ball:
    e, loss = float(epsilon), _log_inverse_float(target)

    def stationary(s: float) -> float:
        return math.exp(2 * s - _softplus(s + math.log(2))) * (e + _softplus(-s)) + _softplus(s) - loss

    def stationary_ball(t: Ball) -> tuple[Ball, Ball]:
        value = ball(epsilon) + (1 / t).log1p()
        h = t * t / (2 * t + 1)
        slope = 2 * t * (t + 1) / (2 * t + 1) ** 2 * value - h / (t * (t + 1)) + 1 / (1 + t)
        return h * value + t.log1p() + ball(target).log(), slope

    low = min(0.0, math.log(loss / 8), (math.log(loss / 8) - math.log(e + 1)) / 2)
    return _polished(log_root(stationary, low, max(low, _log_expm1(loss))), stationary_ball)


def _softplus(s: float) -> float:
    return max(s, 0.0) + math.log1p(math.exp(-abs(s)))


def _log_expm1(x: float) -> float:
    return x if x > 40 else math.log(math.expm1(x))


def _log_inverse_float(target: Fraction) -> float:
    with precision(_SEARCH_BITS):
        return max(float(-ball(target).log()), 1e-300)


def _polished(s: float, derivative: Callable[[Ball], tuple[Ball, Ball]]) -> Ball:
    import flint

    with precision(_SEARCH_BITS):
        return polish(derivative, flint.arb(s).exp().mid())
