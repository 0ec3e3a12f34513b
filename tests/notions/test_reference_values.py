"""Profiles and conversions agree with the reference values to 18 digits, and never lie on the wrong side of them."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from tests.vectors import Vector, agrees, not_above, not_below, vectors

from dosimeter.exact import sqrt_down, sqrt_up
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions import convert as c
from dosimeter.notions import profiles as p

UP: dict[str, Callable[..., Decimal]] = {
    "gauss_delta": lambda mu, eps: p.gaussian_delta(mu, eps),
    "gauss_eps": lambda mu, delta: c.gdp_to_approx(GDP(mu), target_delta=delta).epsilon,
    "agdp_delta": lambda mu, delta0, eps: c.gdp_to_approx(GDP(mu, delta0), target_epsilon=eps).delta,
    "hockey_discrete": lambda P, Q, eps: p.hockey_stick(P, Q, eps),
    "renyi_discrete": lambda P, Q, alpha: p.renyi_divergence(P, Q, alpha),
    "rr_hockey": lambda eps0, delta0, eps: p.randomized_response_delta(eps0, delta0, eps),
    "rr_renyi": lambda eps0, alpha: p.randomized_response_renyi(eps0, alpha),
    "rr_gdp_mu": lambda eps0: c.pure_to_gdp(PureDP(eps0)).mu,
    "laplace_delta": lambda eps0, eps: p.laplace_delta(eps0, eps),
    "laplace_renyi": lambda eps0, alpha: p.laplace_renyi(eps0, alpha),
    "laplace_zcdp": lambda eps0: p.laplace_zcdp(eps0),
    "pure_to_zcdp": lambda eps: c.pure_to_zcdp(PureDP(eps)).rho,
    "dp_to_pdp": lambda eps, delta, eps2: c.approx_to_probabilistic(ApproxDP(eps, delta), target_epsilon=eps2).delta,
    "zcdp_delta_simple": lambda rho, eps: c.zcdp_to_approx_simple(ZCDP(rho), target_epsilon=eps).delta,
    "zcdp_eps_simple": lambda rho, delta: c.zcdp_to_approx_simple(ZCDP(rho), target_delta=delta).epsilon,
    "zcdp_delta_opt": lambda rho, eps: c.zcdp_to_approx(ZCDP(rho), target_epsilon=eps).delta,
    "zcdp_eps_opt": lambda rho, delta: c.zcdp_to_approx(ZCDP(rho), target_delta=delta).epsilon,
    "azcdp_to_dp_delta": lambda delta0, rho, eps: c.zcdp_to_approx(ZCDP(rho, delta0), target_epsilon=eps).delta,
    "rdp_delta": lambda alpha, tau, eps: c.rdp_to_approx(_rdp(alpha, tau), target_epsilon=eps).delta,
    "rdp_eps": lambda alpha, tau, delta: c.rdp_to_approx(_rdp(alpha, tau), target_delta=delta).epsilon,
    "rdp_delta_exact": lambda alpha, tau, eps: c.rdp_to_approx_exact(_rdp(alpha, tau), target_epsilon=eps).delta,
    "group_dp_delta": lambda eps, delta, k: c.group_approx(ApproxDP(eps, delta), size=int(k)).delta,
    "dgauss_norm": lambda sigma2: p.discrete_gaussian_norm(sqrt_up(_decimal(sigma2))),
    "dgauss_variance": lambda sigma2: p.discrete_gaussian_variance(sqrt_up(_decimal(sigma2))),
    "dgauss_delta": lambda sigma2, Delta, eps: p.discrete_gaussian_delta(sqrt_down(_decimal(sigma2)), int(Delta), eps),
    "dgauss_pmf": lambda sigma2, x: p.discrete_gaussian_pmf(sqrt_down(_decimal(sigma2)), int(x)),
    "dlaplace_pmf": lambda t, x: p.discrete_laplace_pmf(t, int(x)),
    "dlaplace_delta": lambda t, Delta, eps: p.discrete_laplace_delta(t, int(Delta), eps),
}
DOWN: dict[str, Callable[..., Decimal]] = {
    "gauss_mu": lambda eps, delta: c.largest_gdp_for_approx(eps, delta),
    "imgm_B_eps0": lambda delta: c.largest_gdp_for_approx(0, delta),
    "gdp_tradeoff": lambda mu, alpha: c.gdp_to_tradeoff(GDP(mu), false_positive_rate=alpha),
    "fdp_eps_delta": lambda eps, delta, alpha: c.approx_to_tradeoff(ApproxDP(eps, delta), false_positive_rate=alpha),
    "laplace_tradeoff": lambda eps0, alpha: p.laplace_tradeoff(eps0, alpha),
    "zcdp_rho_max_simple": lambda eps, delta: c.largest_zcdp_for_approx_simple(eps, delta),
    "zcdp_rho_max_opt": lambda eps, delta: c.largest_zcdp_for_approx(eps, delta),
    "thm8_capacity": lambda eps, delta1: c.largest_square_sum_for_approx(eps, delta1),
    "rdp_tau_exact": lambda alpha, eps, delta: p.renyi_order_bound(alpha, eps, delta),
    "rdp_order_budget": lambda alpha, eps, delta, weight: c.largest_rdp_for_approx(alpha, eps, delta, 0, weight),
}


def _decimal(value: Decimal | Fraction | int) -> Decimal:
    ratio = Fraction(value)
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


def _rdp(order: Any, tau: Any) -> RDP:
    return RDP((_decimal(order),), (tau,))


def _cases(table: dict[str, Callable[..., Decimal]]) -> list[Vector]:
    return [vector for fn in table for vector in vectors(fn)]


@pytest.mark.parametrize("vector", _cases(UP), ids=lambda v: v.id)
def test_losses_agree_and_are_not_below(vector: Vector) -> None:
    """Every loss and every delta agrees with its reference value and is not below it."""
    ours = UP[vector.fn](**vector.args)
    assert agrees(ours, vector.value)
    assert not_below(ours, vector.value)


@pytest.mark.parametrize("vector", _cases(DOWN), ids=lambda v: v.id)
def test_budgets_agree_and_are_not_above(vector: Vector) -> None:
    """Every budget and every trade-off value agrees with its reference value and is not above it."""
    ours, truth = DOWN[vector.fn](**vector.args), max(Decimal(0), vector.value)  # no budget is negative
    assert agrees(ours, truth)
    assert not_above(ours, truth)


@pytest.mark.parametrize("vector", vectors("zcdp_opt_t"), ids=lambda v: v.id)
def test_the_best_order_is_the_best(vector: Vector) -> None:
    """zcdp_opt_t: at the reference's best t the explicit bound is what the conversion returns."""
    rho, eps = vector.args["rho"], vector.args["eps"]
    with mpmath.workdps(40):
        r, e, t = (mpmath.mpf(str(x)) for x in (rho, eps, vector.value))
        bound = mpmath.exp(t * (t + 1) * r - t * e + t * mpmath.log(t) - (t + 1) * mpmath.log(t + 1))
        assert abs(mpmath.mpf(str(p.zcdp_delta(rho, eps))) / bound - 1) < mpmath.mpf("1e-24")


@pytest.mark.parametrize("vector", vectors("printed_lemma2_delta"), ids=lambda v: v.id)
def test_the_printed_converse_is_not_used(vector: Vector) -> None:
    """printed_lemma2_delta, a claimed delta for (2 epsilon)-pDP, is below what a pair attains; ours is above it."""
    eps, delta = vector.args["eps"], vector.args["delta"]
    ours = c.approx_to_probabilistic(ApproxDP(eps, delta), target_epsilon=2 * eps).delta
    assert ours > vector.value
    attained = {Decimal(1): delta, Decimal("0.1"): Decimal("19.112") * delta}[eps]
    assert vector.value < attained <= ours * Decimal("1.00001")


@pytest.mark.parametrize("vector", vectors("printed_ystar"), ids=lambda v: v.id)
def test_the_printed_capacity_is_not_used(vector: Vector) -> None:
    """printed_ystar, with epsilon for 2 epsilon, wastes half the budget; the corrected capacity spends all of it."""
    eps, delta = vector.args["eps"], vector.args["delta1"]

    def spent(square_sum: Decimal) -> mpmath.mpf:
        v = mpmath.mpf(str(square_sum))
        return mpmath.sqrt(2 * v * mpmath.log(1 / mpmath.mpf(str(delta)))) + v / 2

    with mpmath.workdps(40):
        assert abs(spent(c.largest_square_sum_for_approx(eps, delta)) / mpmath.mpf(str(eps)) - 1) < 1e-20
        assert abs(spent(vector.value) / mpmath.mpf(str(eps)) - 0.5) < 1e-15
