"""What Renyi DP implies in (epsilon, delta)-DP.

The minimum over orders below is for ONE guarantee that was fixed before its data were touched, or that a filter keeps
at every order. Taking the best order at the end of an interaction whose parameters were chosen along the way is not a
theorem: a two-order example reaches 1.97 times the claimed delta. Adaptive runs go through an RDP filter.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

from dosimeter.exact import Number
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.profiles import (
    renyi_budget,
    renyi_budget_simple,
    renyi_delta,
    renyi_delta_simple,
    renyi_epsilon,
    renyi_epsilon_simple,
)
from dosimeter.notions.profiles.renyi_exact import renyi_delta_exact, renyi_epsilon_exact
from dosimeter.notions.profiles.targets import at_target
from dosimeter.notions.rdp import RDP

_OneOrder: TypeAlias = "Callable[[Decimal, Decimal, Decimal, Decimal], Decimal]"


def rdp_to_approx(
    guarantee: RDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ApproxDP:
    """The (epsilon, delta) guarantee of one fixed RDP guarantee at one target: the best of its orders.

    Guarantee: rounded up; at order a, epsilon = max(0, tau + log(1 - 1/a) - log(a delta)/(a-1)). The minimum over
    orders is sound because every listed order holds at once for this one guarantee; it is NOT sound for the realised
    spending of an adaptively stopped interaction (see the module). For one order, give an RDP with one order.

    Args:
        guarantee: delta-approximate RDP at its orders.
        target_epsilon: the epsilon at which delta is wanted, 0 or in [1e-300, 1e12].
        target_delta: the delta at which epsilon is wanted, in [1e-300, 1) and above the guarantee's own delta.

    Raises:
        InputError: not exactly one target.
        NoGuaranteeError: target_delta is 0 (epsilon is infinite) or not above the guarantee's own delta.

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12.
    """
    return _best_order(guarantee, target_epsilon, target_delta, renyi_epsilon, renyi_delta)


def rdp_to_approx_simple(
    guarantee: RDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ApproxDP:
    """The (epsilon, delta) guarantee by the simple form: epsilon = tau + log(1/delta)/(a-1), best order.

    Guarantee: rounded up; never better than `rdp_to_approx`.

    Args and Raises: as in `rdp_to_approx`.

    Reference: Mironov (2017), Proposition 3.
    """
    return _best_order(guarantee, target_epsilon, target_delta, renyi_epsilon_simple, renyi_delta_simple)


def rdp_to_approx_exact(
    guarantee: RDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ApproxDP:
    """The (epsilon, delta) guarantee that a Renyi bound at one order allows and no more; best order of several.

    Guarantee: rounded up; never worse than `rdp_to_approx`, by much for orders near 1 and a large delta, hardly for a
    small delta. Exact for one order and one direction of the pair; with several orders the best of them is taken,
    under the same condition as in `rdp_to_approx`.

    Args and Raises: as in `rdp_to_approx`.

    Reference: Asoodeh, Liao, Calmon, Kosut, Sankar (2021), Three variants of differential privacy.
    """
    return _best_order(guarantee, target_epsilon, target_delta, renyi_epsilon_exact, renyi_delta_exact)


def largest_rdp_for_approx(
    order: Number, epsilon: Number, delta: Number, declared_delta: Number = 0, weight: Number = 1
) -> Decimal:
    """The largest Renyi bound at one order that gives (epsilon, weight delta)-DP; 0 where none does.

    Guarantee: rounded down; epsilon + log(weight delta' / c_a)/(a-1), delta' = (delta - declared)/(1 - declared),
    c_a = (1/a)(1 - 1/a)^(a-1).

    Args:
        order: in (1, 1e6].
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1), above `declared_delta`.
        declared_delta: the part of delta reserved for mechanisms that fail, 0 or in [1e-300, 1).
        weight: the share of delta' set aside for this order, in [1e-300, 1].

    Raises:
        NoGuaranteeError: delta is 0 or not above `declared_delta`.

    Reference: Canonne, Kamath, Steinke (2020), Proposition 12, solved for tau.
    """
    return renyi_budget(order, epsilon, delta, declared_delta, weight)


def largest_rdp_for_approx_simple(order: Number, epsilon: Number, delta: Number, declared_delta: Number = 0) -> Decimal:
    """The largest Renyi bound at one order by the simple form: epsilon - log(1/delta')/(a-1); 0 where none does.

    Guarantee: rounded down; never above `largest_rdp_for_approx`.

    Args, Raises: as in `largest_rdp_for_approx`.

    Reference: Mironov (2017), Proposition 3, solved for tau.
    """
    return renyi_budget_simple(order, epsilon, delta, declared_delta)


def _best_order(
    guarantee: RDP,
    target_epsilon: Number | None,
    target_delta: Number | None,
    epsilon_at: _OneOrder,
    delta_at: _OneOrder,
) -> ApproxDP:
    pairs = tuple(zip(guarantee.orders, guarantee.epsilons, strict=True))
    return at_target(
        target_epsilon,
        target_delta,
        lambda delta: min(epsilon_at(order, tau, delta, guarantee.delta) for order, tau in pairs),
        lambda epsilon: min(delta_at(order, tau, epsilon, guarantee.delta) for order, tau in pairs),
    )
