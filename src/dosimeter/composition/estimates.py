"""Estimates of delta: quick, usually close, never a guarantee.

An `Estimate` is its own type, so no ledger, filter or conversion takes it for a loss. Use one to plan, to start a
search, or to see what a paper reports; state a bound from a theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from dosimeter.composition.central_limit import Symmetric, central_limit, normal_delta, read_symmetric
from dosimeter.composition.sums import Many
from dosimeter.enclosure import ball, down, precision
from dosimeter.events import Gaussian, RandomizedResponse
from dosimeter.exact import ZERO, Number, to_decimal

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

_BITS: Final = 192


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number without a guarantee, and how it was found. It may lie on either side of the truth."""

    value: Decimal
    method: str


def estimate_delta_central_limit(parts: Many[Symmetric], epsilon: Number) -> Estimate:
    """delta_mu(epsilon) with the mu of the central limit theorem and without its error term.

    Guarantee: none; typically below the truth. `central_limit(parts).delta(epsilon)` is the guarantee.

    Reference: Dong, Roth and Su 2022, Theorem 3.4; Bu, Dong, Long and Su 2020.
    """
    level = to_decimal(epsilon, "epsilon")
    mu = central_limit(parts).mu.upper
    return _estimate("central_limit", lambda: normal_delta(ball(mu) ** 2 / 2, ball(mu), ball(level)))


def estimate_delta_edgeworth(parts: Many[Symmetric], epsilon: Number) -> Estimate:
    """The normal approximation corrected by skewness and kurtosis (Edgeworth's expansion of order two).

    Guarantee: none; can be negative far in the tail, where 0 is reported.

    Reference: Zheng, Dong, Long and Su 2020; Wang, Gao, Zhang, Shen and Su 2022.
    """
    level = to_decimal(epsilon, "epsilon")
    cumulant = _cumulant_series(parts)

    def delta() -> Ball:
        series = [*cumulant(ball(0), 5).coeffs(), ball(0), ball(0)]  # a normal loss has no third and fourth
        mean, variance, third, fourth = (series[n] * math.factorial(n) for n in range(1, 5))
        deviation = variance.sqrt()
        skew, kurtosis, e = third / variance / deviation, fourth / variance**2, ball(level)
        above_p = _edgeworth_tail((e - mean) / deviation, skew, kurtosis)
        above_q = _edgeworth_tail((e + mean) / deviation, -skew, kurtosis)
        return above_p - e.exp() * above_q

    return _estimate("edgeworth", delta)


def estimate_delta_saddle_point(parts: Many[Symmetric], epsilon: Number) -> Estimate:
    """The leading term of the saddle-point expansion: exp(F(t)) / sqrt(2 pi F''(t)) at the minimum t of F.

    F(t) = K(t) - t epsilon - log t - log(1 + t), K the cumulant generating function of the loss under P.

    Guarantee: none; the relative error is of the order of one over the number of mechanisms, at any small delta.

    Reference: Alghamdi, Gomez, Asoodeh, Calmon, Kosut and Sankar 2023.
    """
    level = to_decimal(epsilon, "epsilon")
    cumulant = _cumulant_series(parts)

    def exponent(t: Ball, order: int) -> list[Ball]:
        import flint

        moving = flint.arb_series([t, 1], order)
        return (cumulant(t, order) - moving * ball(level) - moving.log() - (moving + 1).log()).coeffs()  # type: ignore[no-any-return]

    def delta() -> Ball:
        low, high = ball(Decimal("1e-12")), ball(1)
        while exponent(high, 2)[1] < 0 and high < ball(10) ** 12:
            high = 2 * high
        for _ in range(100):
            middle = ((low + high) / 2).mid()
            low, high = (middle, high) if exponent(middle, 2)[1] < 0 else (low, middle)
        value, _, half = exponent(high, 3)
        return value.exp() / (4 * value.pi() * half).sqrt()

    return _estimate("saddle_point", delta)


def _edgeworth_tail(x: Ball, skew: Ball, kurtosis: Ball) -> Ball:
    density = (-x * x / 2).exp() / (2 * x.pi()).sqrt()
    second, third, fifth = x**2 - 1, x**3 - 3 * x, x**5 - 10 * x**3 + 15 * x
    return (x / ball(2).sqrt()).erfc() / 2 + density * (
        skew / 6 * second + kurtosis / 24 * third + skew**2 / 72 * fifth
    )


def _cumulant_series(parts: Many[Symmetric]) -> Callable[[Ball, int], Any]:
    """K(t + x) as a power series in x, for the total loss."""
    counts = read_symmetric(parts)

    def series(t: Ball, order: int) -> Any:
        import flint

        moving = flint.arb_series([t, 1], order)
        return sum((times * _cumulant(part, moving) for part, times in counts.items()), flint.arb_series([0], order))

    return series


def _cumulant(part: Symmetric, t: Any) -> Any:
    if isinstance(part, Gaussian):
        mu = ball(part.l2_sensitivity) / ball(part.sigma)
        return t * (t + 1) * (mu * mu / 2)
    if isinstance(part, RandomizedResponse):
        e = ball(part.epsilon)
        truth = 1 / (1 + (-e).exp())
        return ((t * e).exp() * truth + (t * (-e)).exp() * (1 - truth)).log()
    e = ball(part.l1_sensitivity) / ball(part.scale)
    return ((t + 1) / (2 * t + 1) * (t * e).exp() + t / (2 * t + 1) * ((t + 1) * (-e)).exp()).log()


def _estimate(method: str, value: Callable[[], Ball]) -> Estimate:
    with precision(_BITS):
        return Estimate(max(ZERO, down(value().mid(), 12)), method)
