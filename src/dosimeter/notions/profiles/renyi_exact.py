"""The exact (epsilon, delta) meaning of a Renyi bound at one order, in one direction.

The worst pair has two points: mass p against q = (p - delta) e^-epsilon. So D_a <= tau forces delta exactly while
tau <= log min_p [p^a q^(1-a) + (1-p)^a (1-q)^(1-a)] / (a-1). The minimum is over a convex function; at the point that
was found, its value minus its slope times the length of the interval is a certain lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, precision
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import SMALLEST, ZERO, Number
from dosimeter.notions.profiles.reading import (
    good_part,
    read_failure,
    read_loss,
    read_target_delta,
    read_target_epsilon,
)
from dosimeter.notions.profiles.renyi import renyi_delta
from dosimeter.notions.profiles.renyi import renyi_epsilon as explicit_epsilon
from dosimeter.notions.profiles.solving import certainly_at_most_zero, least, nonnegative_up, probability_up, root
from dosimeter.notions.rdp import read_order

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_BITS = 256
_RANGE = 2_000_000  # of the logit of p between a delta and 1: far beyond every accepted parameter


def renyi_delta_exact(order: Number, renyi_epsilon: Number, epsilon: Number, failure: Number = 0) -> Decimal:
    """The largest delta at epsilon that a pair with D_order <= renyi_epsilon can have, failures added.

    Guarantee: rounded up, and certified; never above `renyi_delta`. Exact for one order and one direction.

    Args:
        order: in (1, 1e6].
        renyi_epsilon: tau, 0 or in [1e-300, 1e12].
        epsilon: 0 or in [1e-300, 1e12].
        failure: 0 or in [1e-300, 1].

    Reference: Asoodeh, Liao, Calmon, Kosut, Sankar (2021), Three variants of differential privacy.
    """
    order, tau = read_order(order), read_loss(renyi_epsilon, "renyi_epsilon")
    epsilon, failure = read_target_epsilon(epsilon), read_failure(failure)
    if not tau:
        return failure
    good = _good_delta(order, tau, epsilon)
    if not failure:
        return good
    return probability_up(lambda: ball(failure) + (1 - ball(failure)) * ball(good))


def _good_delta(order: Decimal, tau: Decimal, epsilon: Decimal) -> Decimal:
    if certainly_at_most_zero(lambda: 1 / ball(order) + (ball(epsilon) - ball(tau)).expm1()):
        return probability_up(lambda: -(ball(epsilon) - ball(tau)).expm1())  # the best p is 1
    loose = renyi_delta(order, tau, epsilon)
    if loose <= SMALLEST:
        return loose
    with precision(_bits(order, tau)):
        start = min(Fraction(loose), 1 / Fraction(order) * (1 - Fraction(1, 10**6)))
        a, t = ball(order), ball(tau)
        state: dict[str, Ball] = {}

        def excess(x: Ball) -> tuple[Ball, Ball]:
            point = _best_point(a, ball(epsilon), x.exp().mid(), state.get("v"))
            state["v"] = point.v
            return point.log_ratio(a, t), point.slope_in_log_delta() / point.tau(a)

        top = ball(start).log()
        guess = root(excess, top, top - 10_000, ball(0), rising=True).exp()
    return _certified(lambda delta: _forces(order, tau, epsilon, Fraction(delta)), guess, loose)


def renyi_epsilon_exact(order: Number, renyi_epsilon: Number, delta: Number, failure: Number = 0) -> Decimal:
    """The least epsilon >= 0 at which every pair with D_order <= renyi_epsilon has at most this delta.

    Guarantee: rounded up, and certified; never above the explicit formula. Exact for one order and one direction.

    Args:
        order: in (1, 1e6].
        renyi_epsilon: tau, 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `failure`.
        failure: 0 or in [1e-300, 1].

    Raises:
        NoGuaranteeError: delta is 0 or not above the failure probability.

    Reference: Asoodeh, Liao, Calmon, Kosut, Sankar (2021), Three variants of differential privacy, solved for epsilon.
    """
    order, tau = read_order(order), read_loss(renyi_epsilon, "renyi_epsilon")
    delta, failure = read_target_delta(delta), read_failure(failure)
    if not tau and delta >= failure:
        return ZERO
    target = good_part(delta, failure)
    if target * Fraction(order) >= 1:
        return nonnegative_up(lambda: ball(tau) + ball(1 - target).log())  # the best p is 1
    loose = explicit_epsilon(order, tau, target)
    if not loose or _forces(order, tau, ZERO, target):
        return ZERO
    with precision(_bits(order, tau)):
        a, t = ball(order), ball(tau)
        state: dict[str, Ball] = {}

        def excess(size: Ball) -> tuple[Ball, Ball]:
            """At epsilon = e^size: the answer may be 1e-80 of the explicit one, too far for halves of epsilon."""
            epsilon = size.exp()
            point = _best_point(a, epsilon, ball(target), state.get("v"))
            state["v"] = point.v
            return point.log_ratio(a, t), epsilon * point.slope_in_epsilon() / point.tau(a)

        top = ball(loose).log()
        guess = root(excess, top, ball(SMALLEST).log(), top, rising=True).exp()
    return _certified(lambda epsilon: _forces(order, tau, epsilon, target), guess, loose)


def renyi_order_bound(order: Number, epsilon: Number, delta: Number) -> Decimal:
    """The largest tau such that D_order <= tau in both directions still forces (epsilon, delta)-DP.

    Guarantee: rounded down; at least the tau of the explicit formula (`renyi_budget`).

    Args:
        order: in (1, 1e6].
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1).

    Raises:
        NoGuaranteeError: delta is 0.

    Reference: Asoodeh, Liao, Calmon, Kosut, Sankar (2021), Three variants of differential privacy.
    """
    order, epsilon, delta = read_order(order), read_target_epsilon(epsilon), read_target_delta(delta)
    target = good_part(delta, ZERO)
    with precision(_bits(order, delta)):
        return max(ZERO, down(_certain_tau(order, epsilon, target)))


def _bits(order: Decimal, tau: Decimal) -> int:
    """Enough to tell exp((a-1) tau) from 1 and still have _BITS left."""
    return _BITS + max(0, -int(6.66 * (tau.adjusted() + (order - 1).adjusted())))


def _certified(holds: Callable[[Decimal], bool], guess: Ball, loose: Decimal) -> Decimal:
    try:
        return min(loose, least(holds, guess))
    except NoGuaranteeError:  # out of reach of the search: the explicit formula still holds
        return loose


def _forces(order: Decimal, tau: Decimal, epsilon: Decimal, delta: Fraction) -> bool:
    """Whether D_order <= tau certainly forces H <= delta at epsilon."""
    if delta >= 1:
        return True
    with precision(_bits(order, tau)):
        return bool(ball(tau) <= _certain_tau(order, epsilon, delta))


def _certain_tau(order: Decimal, epsilon: Decimal, delta: Fraction) -> Ball:
    """A ball whose lower end is a certain lower bound on the largest tau that forces delta."""
    a = ball(order)
    if delta * Fraction(order) >= 1:
        return ball(epsilon) - ball(1 - delta).log()
    return _best_point(a, ball(epsilon), ball(delta)).certain_tau(a)


@dataclass(frozen=True, slots=True)
class _Point:
    """The function to minimise at one p, as two logarithms of terms and their slopes in p."""

    v: Ball  # logit of p between a delta and 1
    first: Ball  # log p^a q^(1-a)
    second: Ball  # log (1-p)^a (1-q)^(1-a)
    rise: Ball  # of the first logarithm in p, positive
    fall: Ball  # of the second, negated
    q: Ball
    one_minus_q: Ball
    delta: Ball
    shrink: Ball  # e^-epsilon

    def tau(self, a: Ball) -> Ball:
        return _log_sum(self.first, self.second) / (a - 1)

    def log_ratio(self, a: Ball, goal: Ball) -> Ball:
        """log(tau / goal), the function whose root is wanted: nearly linear in log delta and in epsilon."""
        tau = self.tau(a).mid()
        return (tau / goal).log() if tau > 0 else ball(-1)

    def certain_tau(self, a: Ball) -> Ball:
        total = _log_sum(self.first, self.second)
        slope = self.rise * (self.first - total).exp() - self.fall * (self.second - total).exp()
        lost = abs(slope) * (1 - self.delta)
        return (total + (-lost).log1p()) / (a - 1)

    def slope_in_log_delta(self) -> Ball:
        total = _log_sum(self.first, self.second)  # the factor a - 1 cancels against the one in tau
        inner = (self.first - total).exp() / self.q - (self.second - total).exp() / self.one_minus_q
        return self.delta * self.shrink * inner

    def slope_in_epsilon(self) -> Ball:
        total = _log_sum(self.first, self.second)
        return (self.first - total).exp() - (self.second - total).exp() * self.q / self.one_minus_q


def _log_sum(x: Ball, y: Ball) -> Ball:
    return x + (y - x).exp().log1p() if x > y else y + (x - y).exp().log1p()


def _at(a: Ball, epsilon: Ball, delta: Ball, v: Ball) -> tuple[_Point, Ball, Ball]:
    """The point at v, and the balance of the two slopes in logarithms with its derivative in v."""
    w = v.exp()
    p, one_minus_p = (a * delta + w) / (1 + w), (1 - a * delta) / (1 + w)
    past = w * one_minus_p  # p - a delta
    p_minus_delta = ((a - 1) * delta + w * (1 - delta)) / (1 + w)
    shrink = (-epsilon).exp()
    q = p_minus_delta * shrink
    one_minus_q = one_minus_p - p * (-epsilon).expm1() + delta * shrink
    n = a * one_minus_q - (a - 1) * shrink * one_minus_p
    first, second = a * p.log() + (1 - a) * q.log(), a * one_minus_p.log() + (1 - a) * one_minus_q.log()
    rise, fall = past / (p * p_minus_delta), n / (one_minus_p * one_minus_q)
    balance = first + rise.log() - second - fall.log()
    in_p = rise + 1 / past - 1 / p - 1 / p_minus_delta
    in_p += fall + shrink / n - 1 / one_minus_p - shrink / one_minus_q
    point = _Point(v, first, second, rise, fall, q, one_minus_q, delta, shrink)
    return point, balance, in_p * past * one_minus_p / (1 - a * delta)


def _best_point(a: Ball, epsilon: Ball, delta: Ball, start: Ball | None = None) -> _Point:
    def balance(v: Ball) -> tuple[Ball, Ball]:
        _, value, slope = _at(a, epsilon, delta, v)
        return value, slope

    zero = 0 * a
    if epsilon > 0 and a * epsilon < 1:  # small losses: p is near delta / epsilon, which no step from afar would reach
        start = (delta.log() - epsilon.log()).min(zero)
    v = root(balance, start if start is not None else zero, zero - _RANGE, zero + _RANGE, rising=True)
    return _at(a, epsilon, delta, v)[0]
