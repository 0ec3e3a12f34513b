"""Renyi divergence under sampling, for any base: what the base's own divergences D_2 .. D_a say about the sample.

Whole orders come from theorems; the order between two whole ones follows because log A(a) = (a-1) D_a is convex in a
and 0 at order 1. A(a) - 1 is summed directly, so that a tiny q keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.accounting.amplification import read_probability
from dosimeter.accounting.renyi_sampling import sum_excess
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.exact import LARGEST, ZERO, Number, amount
from dosimeter.notions.profiles.solving import not_tiny
from dosimeter.notions.rdp import read_order

if TYPE_CHECKING:
    Ball: TypeAlias = Any

LARGEST_WHOLE_ORDER: Final = 512


def poisson_renyi_remove(*, sampling_probability: Number, divergences: Sequence[Number]) -> Decimal:
    """D_a of (1-q) P0 + q P1 from P0, given D_2 .. D_a of P1 from P0; a = len(divergences) + 1.

    Guarantee: rounded up; an equality in the divergences. One direction; both when the pair is symmetric.

    Args:
        sampling_probability: q, in (0, 1].
        divergences: at the orders 2, 3, ..., each 0 or in [1e-300, 1e12]; at most 511 of them.

    Reference: Mironov, Talwar, Zhang (2019), section 3.3, for any base; Zhu, Wang (2019), Theorem 6.
    """
    q, known = read_probability(sampling_probability), _read(divergences)
    return _divergence(len(known) + 1, lambda: _plain(q, known))


def poisson_renyi(*, sampling_probability: Number, divergences: Sequence[Number]) -> Decimal:
    """A bound on D_a of a Poisson-sampled release, both directions, for ANY base under add or remove.

    Guarantee: rounded up; the sum of `poisson_renyi_remove` with a factor 3 on the terms from j = 3.

    Args:
        sampling_probability: q, in (0, 1].
        divergences: bounds for both directions at the orders 2, 3, ..., at most 511 of them.

    Reference: Zhu, Wang (2019), Theorem 5.
    """
    q, known = read_probability(sampling_probability), _read(divergences)
    return _divergence(len(known) + 1, lambda: _tripled(q, known))


def fixed_size_renyi(*, sampling_share: Number, divergences: Sequence[Number]) -> Decimal:
    """A bound on D_a of a release from a uniform batch of fixed size, for any base under replace-one.

    Guarantee: rounded up; 1 + q^2 C(a,2) min(4 (e^D_2 - 1), 2 e^D_2) + sum_j>=3 2 q^j C(a,j) e^((j-1) D_j).

    Args:
        sampling_share: q = batch size / population, in (0, 1].
        divergences: under replace-one at the orders 2, 3, ..., at most 511 of them.

    Reference: Wang, Balle, Kasiviswanathan (2019), Theorem 9.
    """
    q, known = read_probability(sampling_share, "sampling_share"), _read(divergences)
    return _divergence(len(known) + 1, lambda: _batch(q, known))


def fixed_size_renyi_of_pair(*, sampling_share: Number, divergences: Sequence[Number]) -> Decimal:
    """A bound on D_a of a batch of fixed size when a symmetric pair dominates the base: log(1 + 2 (A(a) - 1)) / (a-1).

    Guarantee: rounded up; A(a) is the moment of `poisson_renyi_remove`. About half of `fixed_size_renyi` at low orders.

    Args:
        sampling_share: q = batch size / population, in (0, 1].
        divergences: of a pair that dominates the base under replace-one, at the orders 2, 3, ..., at most 511 of them.

    Reference: own result. The profile of a batch is at most that of (1-q) P0 + q P1 against P0 at every level >= 0, in
        both directions (Balle, Barthe, Gaboardi 2018, Theorem 9). A - 1 is the integral of a(a-1) (g^(a-2) + g^(-a-1))
        over g >= 1 against the profile; the second weight is never the larger one, and the first alone gives the
        remove pair's A - 1 at most.
    """
    q, known = read_probability(sampling_share, "sampling_share"), _read(divergences)
    return _divergence(len(known) + 1, lambda: 2 * _plain(q, known))


def poisson_response_renyi(*, sampling_probability: Number, epsilon: Number, order: Number) -> Decimal:
    """The largest D_a of any Poisson-sampled epsilon-DP release: that of sampled randomized response.

    Guarantee: rounded up; both directions, every real order, attained.

    Args:
        sampling_probability: q, in (0, 1].
        epsilon: of the base, 0 or in [1e-300, 1e12].
        order: in (1, 1e6].

    Reference: every epsilon-DP pair is a post-processed randomized response (Kairouz, Oh, Viswanath 2015), and
        sampling commutes with post-processing; the two-point sum.
    """
    q, e, a = read_probability(sampling_probability), amount(epsilon, "epsilon", zero=True), read_order(order)
    return response_excess(q, e, a)


def response_excess(q: Fraction, epsilon: Decimal, order: Decimal, times: int = 1) -> Decimal:
    """log(1 + times (A(a) - 1)) / (a - 1) for sampled randomized response, rounded up."""
    if not epsilon:
        return ZERO

    def value() -> Ball:
        a, e, rate = ball(order), ball(epsilon), ball(q)
        up_log, down_log = (rate * e.expm1()).log1p(), (rate * (-e).expm1()).log1p()
        excess = ((a * up_log).expm1() + e.exp() * (a * down_log).expm1()) / (1 + e.exp())
        return not_tiny((times * excess).log1p() / (a - 1))

    return min(LARGEST, up(enclose(value)))


def convex_bound(q: Fraction, divergence: Decimal, order: Decimal) -> Decimal:
    """log(1 - q + q e^((a-1) D_a)) / (a - 1): sampling never hurts, and always helps by this much.

    Guarantee: rounded up; both directions, Poisson samples and batches of fixed size, any base.

    Reference: e^((a-1) D_a) is jointly convex in both laws (van Erven, Harremoes 2014, section III.B); the sampled pair
        is a mixture, with weight 1 - q on equal laws.
    """
    if not divergence:
        return ZERO
    return up(enclose(lambda: not_tiny((ball(q) * _lift(order, divergence).expm1()).log1p() / (ball(order) - 1))))


def norm_bound(q: Fraction, divergence: Decimal, order: Decimal) -> Decimal:
    """a/(a-1) log(1 - q + q e^((a-1) D_a / a)): the remove direction of a Poisson sample at any real order.

    Guarantee: rounded up; both directions when the pair is symmetric.

    Reference: Minkowski's inequality for the norm of 1 - q + q dP1/dP0 in L^a(P0).
    """
    if not divergence:
        return ZERO

    def value() -> Ball:
        a = ball(order)
        return not_tiny(a / (a - 1) * (ball(q) * (_lift(order, divergence) / a).expm1()).log1p())

    return up(enclose(value))


def between(order: Decimal, whole: Callable[[int], Decimal]) -> Decimal:
    """A bound at any real order from bounds at the whole orders around it.

    Guarantee: rounded up; for the divergence of one pair, or the supremum over pairs.

    Reference: log-convexity of moments (Lyapunov): (a-1) D_a <= (1-t) (n-1) D_n + t n D_(n+1), a = n + t.
    """
    n = int(order)
    if order == n:
        return whole(n)
    below, above = (whole(n) if n > 1 else ZERO), whole(n + 1)
    if not above:
        return ZERO

    def value() -> Ball:
        t = ball(order) - n
        return not_tiny(((1 - t) * (n - 1) * ball(below) + t * n * ball(above)) / (ball(order) - 1))

    return up(enclose(value))


def _lift(order: Decimal, divergence: Decimal) -> Ball:
    return (ball(order) - 1) * ball(divergence)


def _plain(q: Fraction, known: tuple[Decimal, ...]) -> Ball:
    if q == 1:
        return (len(known) * ball(known[-1])).expm1()
    return sum_excess(q, len(known) + 1, lambda j: ball(known[j - 2]))


def _tripled(q: Fraction, known: tuple[Decimal, ...]) -> Ball:
    order, ratio = len(known) + 1, ball(q / (1 - q)) if q != 1 else ball(0)
    if q == 1:
        return (len(known) * ball(known[-1])).expm1()
    total, weight = _plain(q, known), ball(1 - q) ** order
    for j in range(1, order + 1):
        weight = weight * ratio * (order - j + 1) / j
        if j >= 3:
            total = total + 2 * weight * ((j - 1) * ball(known[j - 2])).exp()
    return total


def _batch(q: Fraction, known: tuple[Decimal, ...]) -> Ball:
    order, rate, weight, total = len(known) + 1, ball(q), ball(1), ball(0)
    second = ball(known[0])
    for j in range(1, order + 1):
        weight = weight * rate * (order - j + 1) / j
        if j == 2:
            total = total + weight * (4 * second.expm1()).min(2 * second.exp())
        elif j > 2:
            total = total + 2 * weight * ((j - 1) * ball(known[j - 2])).exp()
    return total


def _divergence(order: int, excess: Callable[[], Ball]) -> Decimal:
    return max(ZERO, up(enclose(lambda: _unless_zero(excess(), order))))


def _unless_zero(excess: Ball, order: int) -> Ball:
    return excess if excess.is_zero() else not_tiny(excess.log1p() / (order - 1))


def _read(divergences: Sequence[Number]) -> tuple[Decimal, ...]:
    values = tuple(divergences) if isinstance(divergences, list | tuple) else ()
    if not 1 <= len(values) < LARGEST_WHOLE_ORDER:
        raise InputError(f"divergences needs a list of D_2, D_3, ..., at most {LARGEST_WHOLE_ORDER - 1} of them")
    return tuple(amount(value, "divergence", zero=True) for value in values)
