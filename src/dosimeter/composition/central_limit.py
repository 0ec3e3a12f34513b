"""The central limit theorem of privacy, with its error: what it guarantees, and what it only suggests.

A sum of many small losses is nearly Gaussian, so the composition is nearly mu-GDP. "Nearly" has a price, gamma, from
the Berry-Esseen theorem; leaving it out gives a number that is usually close and usually *below* the truth. Here the
guarantee carries gamma on both sides, and the number without it is an `Estimate`, which nothing accepts as a loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from dosimeter.composition.sums import Many, read_many
from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError
from dosimeter.events import Gaussian, Laplace, RandomizedResponse
from dosimeter.exact import ONE, ZERO, Bound, Number, add_up, amount, subtract_down, to_decimal

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

Symmetric: TypeAlias = Gaussian | Laplace | RandomizedResponse
BERRY_ESSEEN: Final = Decimal("0.56")


@dataclass(frozen=True, slots=True)
class CentralLimit:
    """The normal approximation of a total loss: its mean and deviation under P, and how wrong it can be.

    `gamma` bounds the distance between the loss's distribution function and the normal one, everywhere.
    """

    mean: Bound
    deviation: Bound
    mu: Bound
    gamma: Decimal

    def delta(self, epsilon: Number) -> Bound:
        """delta(epsilon) enclosed: a guarantee on both sides, gamma included.

        Guarantee: delta = P(L > epsilon) - e^epsilon Q(L > epsilon), and each probability is within gamma of the
        normal one; so delta is within gamma (1 + e^epsilon) of the normal value.

        Reference: Berry-Esseen with the constant of Shevtsova 2010; Dong, Roth and Su 2022, Theorem 3.4 states it for
        trade-off functions.
        """
        level = to_decimal(epsilon, "epsilon", round_up=False)

        def normal() -> Ball:
            return normal_delta(_ball(self.mean), _ball(self.deviation), ball(level))

        def width() -> Ball:
            return ball(self.gamma) * (1 + ball(level).exp())

        lower = down(enclose(lambda: normal() - width(), 15), 15)
        upper = up(enclose(lambda: normal() + width(), 15), 15)
        return Bound(min(max(lower, ZERO), ONE), min(max(upper, ZERO), ONE))

    def tradeoff(self, false_positive_rate: Number) -> Bound:
        """The trade-off function at a false positive rate x in [gamma, 1 - gamma], enclosed.

        Guarantee: G_mu(x + gamma) - gamma <= f(x) <= G_mu(x - gamma) + gamma.

        Raises:
            InputError: x is outside [gamma, 1 - gamma], where the theorem says nothing.

        Reference: Dong, Roth and Su 2022, Theorem 3.4.
        """
        x = amount(false_positive_rate, "false_positive_rate", zero=True, largest=ONE)
        if not self.gamma < x < subtract_down(ONE, self.gamma):
            raise InputError(f"false_positive_rate={x} is outside [gamma, 1 - gamma], gamma={self.gamma:.6g}")
        right, left = add_up(x, self.gamma), subtract_down(x, self.gamma)
        lower = ZERO
        if right < ONE:
            lower = down(enclose(lambda: gaussian_tradeoff(ball(right), _ball(self.mu)) - ball(self.gamma), 15), 15)
        upper = ONE
        if left > ZERO:
            upper = up(enclose(lambda: gaussian_tradeoff(ball(left), _ball(self.mu)) + ball(self.gamma), 15), 15)
        return Bound(max(lower, ZERO), min(upper, ONE))


def central_limit(parts: Many[Symmetric]) -> CentralLimit:
    """The normal approximation of a composition and its error gamma.

    Guarantee: mu = 2 sum KL_i / sqrt(sum v_i) and gamma = 0.56 sum k3_i / (sum v_i)^(3/2), with KL_i, v_i and k3_i the
    mean, variance and third absolute central moment of mechanism i's loss; all rounded outwards.

    Args:
        parts: Gaussian, Laplace and RandomizedResponse events (the last without delta), or pairs of one and a count.
            Their trade-off functions are symmetric, as the theorem needs.

    Raises:
        InputError: an event with delta above 0, which no normal law approximates.

    Reference: Dong, Roth and Su 2022, Theorem 3.4.
    """
    counts = read_symmetric(parts)

    def total(which: int) -> Ball:
        return sum((times * _moments(part)[which] for part, times in counts.items()), ball(0))

    mean, variance = enclose(lambda: total(0)), enclose(lambda: total(1))
    mu = enclose(lambda: 2 * total(0) / total(1).sqrt())
    gamma = enclose(lambda: ball(BERRY_ESSEEN) * total(2) / total(1) ** 1.5)
    deviation = enclose(lambda: variance.sqrt(), 20)
    return CentralLimit(_bound(mean), _bound(deviation), _bound(mu), up(gamma))


def read_symmetric(parts: Many[Symmetric]) -> dict[Symmetric, int]:
    """Read events with a finite, symmetric loss and their counts."""
    counts: dict[Symmetric, int] = read_many(parts, (Gaussian, Laplace, RandomizedResponse))
    for part in counts:
        if isinstance(part, RandomizedResponse) and part.delta:
            raise InputError(f"randomized response with delta={part.delta} can lose everything; no normal law does")
    return counts


def normal_delta(mean: Ball, deviation: Ball, epsilon: Ball) -> Ball:
    """P(L > epsilon) - e^epsilon Q(L > epsilon) for a normal loss of this mean under P and its negative under Q."""
    scale = deviation * ball(2).sqrt()
    return (((epsilon - mean) / scale).erfc() - epsilon.exp() * ((epsilon + mean) / scale).erfc()) / 2


def gaussian_tradeoff(false_positive_rate: Ball, mu: Ball) -> Ball:
    """G_mu(x) = Phi(PhiInv(1 - x) - mu)."""
    root_two = ball(2).sqrt()
    quantile = root_two * (1 - 2 * false_positive_rate).erfinv()
    return ((mu - quantile) / root_two).erfc() / 2


def _moments(part: Symmetric) -> tuple[Ball, Ball, Ball]:
    """Mean, variance and third absolute central moment of the loss under P, at the current precision."""
    if isinstance(part, Gaussian):
        mu = ball(part.l2_sensitivity) / ball(part.sigma)
        return mu * mu / 2, mu * mu, mu**3 * (8 / ball(1).pi()).sqrt()
    if isinstance(part, RandomizedResponse):
        e = ball(part.epsilon)
        mean, truth = e * (e / 2).tanh(), 1 / (1 + (-e).exp())
        return mean, (e / (e / 2).cosh()) ** 2, truth * (e - mean) ** 3 + (1 - truth) * (e + mean) ** 3
    return _laplace_moments(ball(part.l1_sensitivity) / ball(part.scale))


def _laplace_moments(e: Ball) -> tuple[Ball, Ball, Ball]:
    """The loss of Laplace noise: atoms 1/2 at e and exp(-e)/2 at -e, density exp((l - e)/2)/4 between."""
    falls = (-e).exp()
    mean = e + falls - 1
    square = e * e - 2 * e + 4 - falls * (2 * e + 4)

    def primitive(u: Ball) -> Ball:  # of u^3 exp(u/2)
        return (u / 2).exp() * (2 * u**3 - 12 * u**2 + 48 * u - 96)

    inside = ((mean - e) / 2).exp() / 4 * (primitive(e - mean) + primitive(-e - mean) + 192)
    return mean, square - mean * mean, (e - mean) ** 3 / 2 + falls * (e + mean) ** 3 / 2 + inside


def _bound(value: Ball) -> Bound:
    return Bound(down(value), up(value))


def _ball(bound: Bound) -> Ball:
    return ball(bound.lower).union(ball(bound.upper))
