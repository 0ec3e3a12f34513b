"""Renyi and zero-concentrated guarantees of the same composition, from the same laws."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ZERO, Bound, Number, to_decimal
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.laws.bounded_range import BoundedRangeLaw
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw
from dosimeter.pld.saddle.moments import log_moment

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

_ORDERS = tuple(1 + Fraction(2) ** k for k in range(-8, 13))
_LARGEST_ORDER = Fraction(10**5)


def renyi(accountant: Accountant, order: Number, *, direction: Direction | str | None = None) -> Bound:
    """The Renyi divergence of the composition at one order, the larger of both directions.

    Guarantee: contains the divergence of the composed pairs. Narrow where the moment can be integrated; at very large
    orders of sampled laws it may only say that the divergence is between 0 and order times the zCDP bound.

    Args:
        accountant: what was composed.
        order: in (1, 1e5].
        direction: `remove` or `add`; both by default.

    Raises:
        NoGuaranteeError: a mechanism has infinite losses, so every Renyi divergence is infinite.
    """
    exact = Fraction(to_decimal(order, "order"))
    if not 1 < exact <= _LARGEST_ORDER:
        raise InputError(f"order={order} is outside (1, {float(_LARGEST_ORDER):g}]")
    directions = [Direction(direction)] if direction is not None else list(Direction)
    bounds = [_divergence(accountant, exact, one) for one in directions]
    return Bound(max(b.lower for b in bounds), max(b.upper for b in bounds))


def zcdp(accountant: Accountant) -> Bound:
    """The least rho for which the composition is rho-zCDP, between the best order tried and a proven sum.

    Guarantee: the upper end adds, law by law, the tight rho of Gaussian, Laplace and randomized-response losses,
    eta^2/8 for bounded range, and for sampled laws the smaller of their base's (divergences are quasi-convex) and of
    what their largest loss implies; the lower end is the largest D_a / a among several orders.
    """
    upper, lower = ZERO, ZERO
    for law, count in accountant.counts.items():
        _require_finite(law)
        upper = up(ball(upper) + count * ball(_rho(law)))
    for order in _ORDERS:
        found = [_divergence(accountant, order, direction).lower for direction in Direction]
        lower = max(lower, down(ball(max(found)) / ball(order)))
    return Bound(min(lower, upper), upper)


def _divergence(accountant: Accountant, order: Fraction, direction: Direction) -> Bound:
    """Logarithms of moments increase with a positive order, so the doubles around it bound what lies between."""
    lower, upper = Fraction(0), Fraction(0)
    near = float(order - 1)
    below = near if Fraction(near) <= order - 1 else math.nextafter(near, 0.0)
    above = near if Fraction(near) >= order - 1 else math.nextafter(near, math.inf)
    for law, count in accountant.counts.items():
        _require_finite(law)
        try:
            low, high = log_moment(law, direction, below)[0], log_moment(law, direction, above)[1]
        except NoGuaranteeError:  # out of reach, at a very large order: 0 and the bound of zCDP are left
            low, high = 0.0, math.inf
        lower += count * Fraction(low)
        upper += count * (order * (order - 1) * Fraction(_rho(law)) if math.isinf(high) else Fraction(high))
    return Bound(down(ball(max(lower, Fraction(0)) / (order - 1))), up(ball(upper / (order - 1))))


def _require_finite(law: Law) -> None:
    if any(law.infinite(direction) for direction in Direction):
        raise NoGuaranteeError(
            f"a {law.kind} law has infinite losses; its Renyi divergences are infinite, so read epsilon at a delta"
        )


def _rho(law: Law) -> Decimal:
    """An upper bound of the zCDP parameter of one law, both directions."""
    square = law.gaussian
    if square is not None:
        return up(ball(square) / 2)
    if isinstance(law, DiscreteGaussianLaw):
        return up(ball(Fraction(law.shift**2) / law.sigma_squared) / 2)
    if isinstance(law, BoundedRangeLaw):
        return up(ball(law.width**2) / 8)
    if isinstance(law, LaplaceLaw):
        return up(enclose(lambda: ball(law.epsilon) + (-ball(law.epsilon)).expm1()))
    bounds = []
    ends = [law.highest(direction) for direction in Direction]
    if all(end is not None for end in ends):
        largest = max(end[1] for end in ends if end is not None)
        if not largest:
            return ZERO
        bounds.append(up(enclose(lambda: ball(largest) * (ball(largest) / 2).tanh())))
    if isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw):
        bounds.append(_rho(law.base))
    if isinstance(law, AllocatedGaussianLaw):
        bounds.append(up(ball(law.mu_squared) / 2))
    if not bounds:
        raise NoGuaranteeError(f"no zCDP bound is known here for a {law.kind} law; read epsilon at a delta")
    return min(bounds)
