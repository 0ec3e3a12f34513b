"""Randomized response: the worst case of (epsilon, delta)-DP, and a mechanism of its own."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, enclose, up
from dosimeter.exact import ONE, ZERO, Number
from dosimeter.notions.profiles.reading import read_failure, read_level, read_loss, read_order_from_one
from dosimeter.notions.profiles.solving import probability_up

if TYPE_CHECKING:
    Ball: TypeAlias = Any


def randomized_response_delta(epsilon0: Number, delta0: Number, epsilon: Number) -> Decimal:
    """The exact delta at any real epsilon of (epsilon0, delta0)-randomized response.

    Guarantee: rounded up; d0 + (1-d0) [(e^e0 - e^epsilon)+ + (1 - e^(epsilon + e0))+] / (1 + e^e0). Every
    (epsilon0, delta0)-DP mechanism is a post-processing of it, so this bounds the whole profile of that guarantee.

    Args:
        epsilon0: 0 or in [1e-300, 1e12].
        delta0: 0 or in [1e-300, 1].
        epsilon: in [-1e12, 1e12].

    Reference: Kairouz, Oh, Viswanath (2015), Theorem 3.3.
    """
    e0, d0, level = read_loss(epsilon0, "epsilon0"), read_failure(delta0, "delta0"), read_level(epsilon)
    if level >= e0:
        return d0

    def delta() -> Ball:
        e, g = ball(e0), ball(level)
        good = -(g - e).expm1() / (1 + (-e).exp())
        if level < -e0:
            good = good - (g + e).expm1() / (1 + e.exp())
        return ball(d0) + (1 - ball(d0)) * good

    return probability_up(delta)


def randomized_response_renyi(epsilon0: Number, order: Number) -> Decimal:
    """The exact Renyi divergence of this order of epsilon0-randomized response; order 1 gives e0 tanh(e0/2).

    Guarantee: rounded up; log(cosh((a - 1/2) e0) / cosh(e0/2)) / (a-1), the largest divergence any epsilon0-DP
    mechanism can have.

    Args:
        epsilon0: 0 or in [1e-300, 1e12].
        order: in [1, 1e6].

    Reference: Bun, Steinke (2016), proof of Proposition 3.3; the pair is extreme by post-processing.
    """
    e0, order = read_loss(epsilon0, "epsilon0"), read_order_from_one(order)
    if not e0:
        return ZERO
    if order == ONE:
        return min(e0, up(enclose(lambda: ball(e0) * (ball(e0) / 2).tanh())))

    def divergence() -> Ball:
        a, e = ball(order), ball(e0)
        # cosh(x)/cosh(y) = 1 + 2 sinh((x+y)/2) sinh((x-y)/2) / cosh(y), with x = (a - 1/2) e and y = e/2
        rise = 2 * (a * e / 2).sinh() * ((a - 1) * e / 2).sinh() / (e / 2).cosh()
        return rise.log1p() / (a - 1)

    return min(e0, up(enclose(divergence)))  # a divergence is at most the largest loss


def randomized_response_mu(epsilon0: Number) -> Decimal:
    """The least mu for which epsilon0-randomized response is mu-GDP: 2 PhiInv(e^e0 / (1 + e^e0)).

    Guarantee: rounded up.

    Args:
        epsilon0: 0 or in [1e-300, 1e12].

    Reference: Dong, Roth, Su (2022), section 2: the curves touch at the kink of randomized response.
    """
    e0 = read_loss(epsilon0, "epsilon0")
    if not e0:
        return ZERO

    def mu() -> Ball:
        import flint

        e, root_eight = ball(e0), flint.arb(8).sqrt()
        if e0 < ONE:  # PhiInv((1 + tanh(e/2))/2), without a difference of near numbers
            return root_eight * (e / 2).tanh().erfinv()
        return root_eight * (2 / (1 + e.exp())).erfcinv()

    return up(enclose(mu))
