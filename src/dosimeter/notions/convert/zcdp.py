"""What rho-zCDP implies in the other notions.

There is no conversion to Gaussian DP: randomized response at epsilon 1 is 0.4622-zCDP, but not sqrt(2 rho) = 0.9614-GDP
(it needs 1.2320), and with rarer, larger losses no finite mu is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from dosimeter.exact import Number, multiply_down, multiply_up
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.profiles import (
    zcdp_delta,
    zcdp_delta_simple,
    zcdp_epsilon,
    zcdp_epsilon_simple,
    zcdp_rho,
    zcdp_rho_simple,
)
from dosimeter.notions.profiles.targets import at_target
from dosimeter.notions.rdp import RDP, read_order
from dosimeter.notions.zcdp import ZCDP


def zcdp_to_approx(
    guarantee: ZCDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ApproxDP:
    """The (epsilon, delta) guarantee of zCDP at one target, optimised over all Renyi orders.

    Guarantee: rounded up, whether epsilon is above or below rho; a failure probability of the guarantee is part of
    delta: failure + (1 - failure) delta(epsilon).

    Args:
        guarantee: delta-approximate rho-zCDP.
        target_epsilon: the epsilon at which delta is wanted, 0 or in [1e-300, 1e12].
        target_delta: the delta at which epsilon is wanted, in [1e-300, 1) and above the guarantee's own delta.

    Raises:
        InputError: not exactly one target.
        NoGuaranteeError: target_delta is 0 (epsilon is infinite) or not above the guarantee's own delta.

    Reference: Canonne, Kamath, Steinke (2020), Corollary 13; Steinke (2022), Proposition 14.
    """
    return at_target(
        target_epsilon,
        target_delta,
        lambda delta: zcdp_epsilon(guarantee.rho, delta, guarantee.delta),
        lambda epsilon: zcdp_delta(guarantee.rho, epsilon, guarantee.delta),
    )


def zcdp_to_approx_simple(
    guarantee: ZCDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ApproxDP:
    """The (epsilon, delta) guarantee of zCDP in closed form: epsilon = rho + 2 sqrt(rho log(1/delta)).

    Guarantee: rounded up; never better than `zcdp_to_approx`. For epsilon below rho, delta is 1.

    Args and Raises: as in `zcdp_to_approx`.

    Reference: Bun, Steinke (2016), Proposition 1.3.
    """
    return at_target(
        target_epsilon,
        target_delta,
        lambda delta: zcdp_epsilon_simple(guarantee.rho, delta, guarantee.delta),
        lambda epsilon: zcdp_delta_simple(guarantee.rho, epsilon, guarantee.delta),
    )


def zcdp_to_rdp(guarantee: ZCDP, *, orders: Iterable[Number]) -> RDP:
    """rho-zCDP at the given Renyi orders: rho a, with the same failure probability.

    Guarantee: rounded up; zCDP is this bound at every order.

    Args:
        orders: strictly increasing, each in (1, 1e6].

    Reference: Bun, Steinke (2016), Definition 1.1 and, for the failures, Definition 8.1.
    """
    read: tuple[Decimal, ...] = tuple(read_order(order) for order in orders)
    return RDP(read, tuple(multiply_up(guarantee.rho, order) for order in read), guarantee.delta)


def largest_zcdp_for_approx(epsilon: Number, delta: Number, declared_delta: Number = 0) -> Decimal:
    """The largest rho such that declared_delta-approximate rho-zCDP is (epsilon, delta)-DP.

    Guarantee: rounded down; declared + (1 - declared) delta_zCDP(rho, epsilon) <= delta, by the optimised conversion.

    Args:
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `declared_delta`.
        declared_delta: the part of delta reserved for mechanisms that fail, 0 or in [1e-300, 1).

    Raises:
        NoGuaranteeError: delta is 0 or not above `declared_delta`.

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12, solved for rho.
    """
    return zcdp_rho(epsilon, delta, declared_delta)


def largest_zcdp_for_approx_simple(epsilon: Number, delta: Number, declared_delta: Number = 0) -> Decimal:
    """The largest rho by the simple conversion: (sqrt(log(1/delta') + epsilon) - sqrt(log(1/delta')))^2.

    Guarantee: rounded down; delta' = (delta - declared) / (1 - declared).

    Args and Raises: as in `largest_zcdp_for_approx`.

    Reference: Bun, Steinke (2016), Proposition 1.3, solved for rho.
    """
    return zcdp_rho_simple(epsilon, delta, declared_delta)


def largest_square_sum_for_approx(epsilon: Number, delta: Number, declared_delta: Number = 0) -> Decimal:
    """The largest V with sqrt(2 V log(1/delta')) + V/2 <= epsilon, the sum of epsilon_m^2 the published filter admits.

    Guarantee: rounded down; V = (sqrt(2 log(1/delta') + 2 epsilon) - sqrt(2 log(1/delta')))^2, twice the rho of the
    simple conversion. (The paper prints epsilon where 2 epsilon is right, which wastes half the budget.)

    Args and Raises: as in `largest_zcdp_for_approx`.

    Reference: Whitehouse, Ramdas, Rogers, Wu (2023), Theorem 8, with its y* corrected.
    """
    return multiply_down(zcdp_rho_simple(epsilon, delta, declared_delta), 2)
