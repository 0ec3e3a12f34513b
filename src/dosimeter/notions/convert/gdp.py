"""What mu-GDP implies in the other notions. Its (epsilon, delta) profile is exact, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from dosimeter.exact import Number, divide_up, multiply_up, visible
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.gdp import GDP
from dosimeter.notions.profiles import gaussian_delta, gaussian_epsilon, gaussian_mu
from dosimeter.notions.profiles.targets import at_target
from dosimeter.notions.rdp import RDP, read_order
from dosimeter.notions.zcdp import ZCDP


def gdp_to_approx(
    guarantee: GDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ApproxDP:
    """The (epsilon, delta) guarantee of mu-GDP at one target: the exact profile of the Gaussian pair.

    Guarantee: rounded up; nothing is lost, and mu-GDP is equivalent to this profile at all epsilons. A failure
    probability of the guarantee is part of delta: failure + (1 - failure) delta_mu(epsilon).

    Args:
        guarantee: (mu, delta)-approximate GDP.
        target_epsilon: the epsilon at which delta is wanted, 0 or in [1e-300, 1e12].
        target_delta: the delta at which epsilon is wanted, in [1e-300, 1) and above the guarantee's own delta.

    Raises:
        InputError: not exactly one target.
        NoGuaranteeError: target_delta is 0 (epsilon is infinite) or not above the guarantee's own delta.

    Reference: Dong, Roth, Su (2022), Corollary 2.13; Balle, Wang (2018), Theorem 8.
    """
    return at_target(
        target_epsilon,
        target_delta,
        lambda delta: gaussian_epsilon(guarantee.mu, delta, guarantee.delta),
        lambda epsilon: gaussian_delta(guarantee.mu, epsilon, guarantee.delta),
    )


def gdp_to_zcdp(guarantee: GDP) -> ZCDP:
    """mu-GDP is (mu^2/2)-zCDP, with the same failure probability.

    Guarantee: rounded up; tight (the Gaussian mechanism). There is no way back: zCDP does not imply GDP.

    Reference: Dong, Roth, Su (2022), Corollary B.6; Bun, Steinke (2016), Proposition 1.6.
    """
    return ZCDP(visible(divide_up(guarantee.mu_squared(), 2)), guarantee.delta)


def gdp_to_rdp(guarantee: GDP, *, orders: Iterable[Number]) -> RDP:
    """mu-GDP at the given Renyi orders: a mu^2 / 2, with the same failure probability.

    Guarantee: rounded up; tight (the Gaussian mechanism).

    Args:
        orders: strictly increasing, each in (1, 1e6].

    Reference: Mironov (2017), Proposition 7; Dong, Roth, Su (2022), Corollary B.6.
    """
    read: tuple[Decimal, ...] = tuple(read_order(order) for order in orders)
    rho = divide_up(guarantee.mu_squared(), 2)
    return RDP(read, tuple(visible(multiply_up(rho, order)) for order in read), guarantee.delta)


def largest_gdp_for_approx(epsilon: Number, delta: Number, declared_delta: Number = 0) -> Decimal:
    """The largest mu such that (mu, declared_delta)-approximate GDP is (epsilon, delta)-DP.

    Guarantee: rounded down; declared + (1 - declared) delta_mu(epsilon) <= delta, exactly.

    Args:
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `declared_delta`.
        declared_delta: the part of delta reserved for mechanisms that fail, 0 or in [1e-300, 1).

    Raises:
        NoGuaranteeError: delta is 0 or not above `declared_delta`.

    Reference: Balle, Wang (2018), Theorem 9; Dong, Roth, Su (2022), Corollary 2.13.
    """
    return gaussian_mu(epsilon, delta, declared_delta)
