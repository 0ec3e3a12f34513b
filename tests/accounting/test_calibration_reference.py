"""Calibrated noise agrees with the reference values and is never below them."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from tests.vectors import Vector, agrees, not_above, not_below, vectors

from dosimeter.accounting import calibration as cal
from dosimeter.notions.convert import largest_zcdp_for_approx_simple

SIGMAS: dict[str, Callable[..., Decimal]] = {
    "gauss_sigma_analytic": lambda Delta, eps, delta: cal.gaussian_sigma(
        epsilon=eps, delta=delta, l2_sensitivity=Delta
    ),
    "gauss_sigma_classical": lambda Delta, eps, delta: cal.classical_gaussian_sigma(
        epsilon=eps, delta=delta, l2_sensitivity=Delta
    ),
    "gauss_sigma_zcdp": lambda Delta, eps, delta: cal.zcdp_sigma(
        rho=largest_zcdp_for_approx_simple(eps, delta), l2_sensitivity=Delta
    ),
}


@pytest.mark.parametrize("vector", [v for fn in SIGMAS for v in vectors(fn)], ids=lambda v: v.id)
def test_noise_agrees_and_is_not_below(vector: Vector) -> None:
    """Each way to calibrate Gaussian noise gives its reference value, rounded up."""
    ours = SIGMAS[vector.fn](**vector.args)
    assert agrees(ours, vector.value)
    assert not_below(ours, vector.value)


@pytest.mark.parametrize("vector", vectors("krr_truth"), ids=lambda v: v.id)
def test_truth_agrees_and_is_not_above(vector: Vector) -> None:
    """krr_truth: the probability of the truth in k-ary randomized response, rounded down."""
    ours = cal.randomized_response_truth(epsilon=vector.args["eps"], categories=int(vector.args["k"]))
    assert agrees(ours, vector.value)
    assert not_above(ours, vector.value)
