"""From a Renyi bound at one order to (epsilon, delta), and back.

D_a <= tau gives delta <= c_a exp((a-1)(tau - epsilon)) with c_a = (1/a)(1 - 1/a)^(a-1). The simple form drops c_a; the
exact form solves the two-point problem that is the worst case for one order.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball
from dosimeter.exact import ONE, ZERO, Number, amount
from dosimeter.notions.profiles.reading import (
    good_part,
    read_failure,
    read_loss,
    read_target_delta,
    read_target_epsilon,
)
from dosimeter.notions.profiles.solving import nonnegative_down, nonnegative_up, probability_up
from dosimeter.notions.rdp import read_order

if TYPE_CHECKING:
    Ball: TypeAlias = Any


def log_constant_ball(order: Decimal) -> Ball:
    """log c_a at the current precision."""
    a = ball(order)
    return (a - 1) * (-1 / a).log1p() - a.log()


def renyi_delta(order: Number, renyi_epsilon: Number, epsilon: Number, failure: Number = 0) -> Decimal:
    """The delta at epsilon of a failure-approximate bound `renyi_epsilon` on the Renyi divergence of this order.

    Guarantee: rounded up; failure + (1 - failure) min(1, c_a exp((a-1)(tau - epsilon))).

    Args:
        order: in (1, 1e6].
        renyi_epsilon: tau, 0 or in [1e-300, 1e12].
        epsilon: 0 or in [1e-300, 1e12].
        failure: 0 or in [1e-300, 1].

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12.
    """
    order, tau = read_order(order), read_loss(renyi_epsilon, "renyi_epsilon")
    epsilon, failure = read_target_epsilon(epsilon), read_failure(failure)
    if not tau:
        return failure

    def delta() -> Ball:
        exponent = (ball(order) - 1) * (ball(tau) - ball(epsilon)) + log_constant_ball(order)
        return ball(1) if exponent > 0 else ball(failure) + (1 - ball(failure)) * exponent.exp()

    return probability_up(delta)


def renyi_epsilon(order: Number, renyi_epsilon: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The least epsilon >= 0 at which a Renyi bound of this order gives at most this delta.

    Guarantee: rounded up; max(0, tau + log(1 - 1/a) - log(a delta)/(a-1)).

    Args:
        order: a, in (1, 1e6].
        renyi_epsilon: tau, 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `failure`.
        failure: 0 or in [1e-300, 1].

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12, solved for epsilon.
    """
    order, tau = read_order(order), read_loss(renyi_epsilon, "renyi_epsilon")
    delta, failure = read_target_delta(delta), read_failure(failure)
    if not tau and delta >= failure:
        return ZERO
    target = good_part(delta, failure)
    return nonnegative_up(lambda: ball(tau) + (log_constant_ball(order) - ball(target).log()) / (ball(order) - 1))


def renyi_budget(order: Number, epsilon: Number, delta: Number, failure: Number = 0, weight: Number = 1) -> Decimal:
    """The largest Renyi bound of this order that gives (epsilon, weight delta)-DP; 0 where none does.

    Guarantee: rounded down; max(0, epsilon + log(weight delta / c_a)/(a-1)), delta being what the failures leave. A
    bound of 0 means equal distributions, so a budget of 0 is sound whatever the formula says.

    Args:
        order: a, in (1, 1e6].
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `failure`.
        failure: 0 or in [1e-300, 1].
        weight: the share of delta set aside for this order, in [1e-300, 1], a ratio rounded down.

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12, solved for tau.
    """
    order, share = read_order(order), amount(weight, "weight", round_up=False, largest=ONE)
    epsilon, delta, failure = read_target_epsilon(epsilon), read_target_delta(delta), read_failure(failure)
    target = good_part(delta, failure)
    return nonnegative_down(
        lambda: ball(epsilon) + ((ball(share) * ball(target)).log() - log_constant_ball(order)) / (ball(order) - 1)
    )


def renyi_delta_simple(order: Number, renyi_epsilon: Number, epsilon: Number, failure: Number = 0) -> Decimal:
    """The delta at epsilon by the simple form: failure + (1 - failure) min(1, exp((a-1)(tau - epsilon))).

    Guarantee: rounded up; never below `renyi_delta`.

    Args: as in `renyi_delta`.

    Reference: Mironov (2017), Proposition 3.
    """
    order, tau = read_order(order), read_loss(renyi_epsilon, "renyi_epsilon")
    epsilon, failure = read_target_epsilon(epsilon), read_failure(failure)
    if not tau:
        return failure
    if tau >= epsilon:
        return ONE

    def delta() -> Ball:
        return ball(failure) + (1 - ball(failure)) * ((ball(order) - 1) * (ball(tau) - ball(epsilon))).exp()

    return probability_up(delta)


def renyi_epsilon_simple(order: Number, renyi_epsilon: Number, delta: Number, failure: Number = 0) -> Decimal:
    """Epsilon by the simple form: tau + log(1/delta)/(a-1), delta being what the failures leave.

    Guarantee: rounded up; never below `renyi_epsilon`.

    Args: as in `renyi_epsilon`.

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Mironov (2017), Proposition 3.
    """
    order, tau = read_order(order), read_loss(renyi_epsilon, "renyi_epsilon")
    delta, failure = read_target_delta(delta), read_failure(failure)
    if not tau and delta >= failure:
        return ZERO
    target = good_part(delta, failure)
    return nonnegative_up(lambda: ball(tau) - ball(target).log() / (ball(order) - 1))


def renyi_budget_simple(order: Number, epsilon: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The largest Renyi bound by the simple form: max(0, epsilon - log(1/delta)/(a-1)).

    Guarantee: rounded down; never above `renyi_budget`.

    Args: as in `renyi_budget`.

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Mironov (2017), Proposition 3, solved for tau.
    """
    order = read_order(order)
    epsilon, delta, failure = read_target_epsilon(epsilon), read_target_delta(delta), read_failure(failure)
    target = good_part(delta, failure)
    return nonnegative_down(lambda: ball(epsilon) + ball(target).log() / (ball(order) - 1))
