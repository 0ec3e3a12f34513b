"""Gaussian noise together with mechanisms of which only (epsilon, delta) is known: the exact joint profile.

Neither family's own theorem holds both. The loss of the second family is at worst that of randomized responses, a list
of points; given a point s, what is left for the Gaussian pair is epsilon - s. The joint profile is the average.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from dosimeter.composition.parts import (
    Part,
    delta_counts,
    epsilon_sum,
    failure_ball,
    failure_up,
    read_delta,
    read_parts,
)
from dosimeter.composition.responses import loss_atoms
from dosimeter.composition.sums import Many, gdp_total
from dosimeter.enclosure import ball
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ZERO, Number, add_up, to_decimal
from dosimeter.notions import GDP
from dosimeter.notions.profiles.gaussian import gaussian_epsilon, profile_ball
from dosimeter.notions.profiles.solving import certainly_at_most_zero, least, probability_up, root

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

MOST_ATOMS: Final = 4_096


def mixed_delta(gaussians: Many[GDP], parts: Iterable[Part], epsilon: Number) -> Decimal:
    """The delta at `epsilon` of GDP mechanisms together with (epsilon_i, delta_i)-DP ones.

    Guarantee: mechanisms of both families, each chosen with knowledge of earlier answers and with parameters fixed in
    advance, are together (epsilon, returned)-DP; Gaussian noise with randomized responses attains it:
    delta = d + (1 - d) E_s delta_mu(epsilon - s), s the total loss of the responses.

    Args:
        gaussians: GDP values or pairs of one and a count.
        parts: guarantees, bare epsilons, or pairs of one and a count.
        epsilon: any real number, in nats.

    Raises:
        NoGuaranteeError: the responses have more than 4096 different totals; use a privacy loss distribution.

    Reference: Dong, Roth and Su 2022, Theorem 3.2 (tensor products dominate); Kairouz, Oh and Viswanath 2015.
    """
    joint = _Joint(gaussians, parts)
    level = to_decimal(epsilon, "epsilon", round_up=False)
    return probability_up(lambda: joint.delta(ball(level)))


def mixed_epsilon(gaussians: Many[GDP], parts: Iterable[Part], delta: Number) -> Decimal:
    """The least epsilon at `delta` of GDP mechanisms together with (epsilon_i, delta_i)-DP ones, rounded up.

    Guarantee: as `mixed_delta`, certified at the decimal returned.

    Raises:
        NoGuaranteeError: delta is not above the chance that a mechanism fails; or there are too many totals.

    Reference: as `mixed_delta`.
    """
    joint, target = _Joint(gaussians, parts), read_delta(delta)
    if target <= joint.failing:
        raise NoGuaranteeError(f"delta={target} is not above the chance {joint.failing:.6g} that a mechanism fails")

    def holds(epsilon: Decimal) -> bool:
        return certainly_at_most_zero(lambda: joint.delta(ball(epsilon)) - ball(target))

    if holds(ZERO):
        return ZERO
    highest = ball(joint.largest_epsilon(target))

    def log_excess(epsilon: Ball) -> tuple[Ball, Ball]:
        value, slope = joint.delta(epsilon), joint.slope(epsilon)
        return value.log() - ball(target).log(), slope / value

    return least(holds, root(log_excess, highest, 0 * highest, highest, rising=False))


class _Joint:
    """The loss atoms of the responses, the total mu of the Gaussians, and the chance that a mechanism fails."""

    def __init__(self, gaussians: Many[GDP], parts: Iterable[Part]) -> None:
        counts, total = read_parts(parts), gdp_total(gaussians)
        self.deltas = delta_counts(counts)
        if total.delta:
            self.deltas[total.delta] = self.deltas.get(total.delta, 0) + 1
        self.failing = failure_up(self.deltas)
        self.mu = total.mu
        self.epsilon_sum = epsilon_sum(counts)
        self._counts = counts
        self._atoms: dict[int, list[tuple[Ball, Ball]]] = {}
        if not self.mu:
            raise NoGuaranteeError("there is no Gaussian part (mu = 0); use the optimal composition theorems")

    def atoms(self) -> list[tuple[Ball, Ball]]:
        """(total loss, P-mass) at the current precision."""
        import flint

        if flint.ctx.prec not in self._atoms:
            self._atoms[flint.ctx.prec] = loss_atoms(self._counts, MOST_ATOMS)
        return self._atoms[flint.ctx.prec]

    def delta(self, epsilon: Ball) -> Ball:
        failing, mu = failure_ball(self.deltas), ball(self.mu)
        excess = ball(0)
        for loss, mass in self.atoms():
            excess += mass * profile_ball(mu, epsilon - loss)
        return failing + (1 - failing) * excess

    def slope(self, epsilon: Ball) -> Ball:
        import flint

        mu, root_two, total = ball(self.mu), flint.arb(2).sqrt(), ball(0)
        for loss, mass in self.atoms():
            left = epsilon - loss
            total -= mass * left.exp() * ((left / mu + mu / 2) / root_two).erfc() / 2
        return (1 - failure_ball(self.deltas)) * total

    def largest_epsilon(self, delta: Decimal) -> Decimal:
        """Certainly enough: the plain sum of the responses, then the Gaussian's own epsilon."""
        return add_up(self.epsilon_sum, gaussian_epsilon(self.mu, delta, self.failing))
