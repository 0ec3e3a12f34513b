"""Composition theorems agree with values computed from their formulas by another library at 60 digits."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.vectors import Vector, agrees, not_below, vectors

from dosimeter.composition import (
    advanced_drv,
    advanced_kov,
    advanced_squares,
    advanced_tanh,
    central_limit,
    decompose,
    mixed_delta,
    optimal_heterogeneous_delta,
    optimal_heterogeneous_epsilon,
    optimal_homogeneous_delta,
    optimal_homogeneous_epsilon,
    optimal_homogeneous_value,
    reduce_to_randomized_response,
)
from dosimeter.events import RandomizedResponse
from dosimeter.notions import GDP, ApproxDP
from dosimeter.pld.lattice.cells import Place, cut
from dosimeter.pld.lattice.upper import upper
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction
from dosimeter.pld.laws.sampled import PoissonSampledLaw
from dosimeter.pld.tilted.bounds import tilted_delta


def equal(args: dict[str, Any]) -> tuple[ApproxDP, int]:
    """One guarantee and its count."""
    return ApproxDP(args["eps0" if "eps0" in args else "eps"], args.get("delta0", Decimal(0))), int(args["k"])


def unequal(args: dict[str, Any]) -> list[ApproxDP]:
    """A list of guarantees."""
    return [ApproxDP(e, d) for e, d in zip(args["eps_list"], args["delta_list"], strict=True)]


OURS: dict[str, Callable[[dict[str, Any]], Decimal]] = {
    "drv_eps": lambda a: advanced_drv([(a["eps"], int(a["k"]))], a["delta"]).epsilon,
    "adv_eps": lambda a: advanced_squares(a["eps_list"], a["delta"]).epsilon,
    "adv_eps_tanh": lambda a: advanced_tanh(a["eps_list"], a["delta"]).epsilon,
    "kov_simple_eps": lambda a: advanced_kov(a["eps_list"], a["delta"]).epsilon,
    "kov_delta_i": lambda a: optimal_homogeneous_value(*equal(a), int(a["i"])).delta,
    "opt_hom_delta": lambda a: optimal_homogeneous_delta(*equal(a), a["eps"]),
    "opt_hom_eps": lambda a: optimal_homogeneous_epsilon(*equal(a), a["delta"]),
    "opt_het_delta": lambda a: optimal_heterogeneous_delta(unequal(a), a["eps"]).upper,
    "opt_het_eps": lambda a: optimal_heterogeneous_epsilon(unequal(a), a["delta"]).upper,
    "gauss_rr_delta": lambda a: mixed_delta([GDP(a["mu"])], [ApproxDP(a["eps0"], a["delta0"])], a["eps"]),
    "gdp_clt_rr_mu": lambda a: central_limit([(RandomizedResponse(a["eps0"]), int(a["n"]))]).mu.upper,
    "gdp_clt_rr_gamma": lambda a: central_limit([(RandomizedResponse(a["eps0"]), int(a["n"]))]).gamma,
    "lemma23_eps1": lambda a: decompose(a["P"], a["Q"], a["delta"]).epsilon_p,
}


@pytest.mark.parametrize("vector", [v for fn in OURS for v in vectors(fn)], ids=lambda v: v.id)
def test_theorem_agrees_with_its_formula(vector: Vector) -> None:
    """Every theorem gives the formula's value to 18 digits, and never a smaller one."""
    ours = OURS[vector.fn](vector.args)
    assert agrees(ours, vector.value)
    assert not_below(ours, vector.value)


@pytest.mark.parametrize("vector", vectors("cor24_mass"), ids=lambda v: v.id)
def test_the_reduction_has_the_published_masses(vector: Vector) -> None:
    """The good parts of the decomposition and the rows of the kernel, entry by entry."""
    a = vector.args
    parts = decompose(a["P"], a["Q"], a["delta"])
    kernel = reduce_to_randomized_response(a["P"], a["Q"], a["eps"], a["delta"])
    masses = {"P1": parts.good_p, "Q1": parts.good_q, "A": kernel.on_one, "B": kernel.on_zero}[a["which"]]
    assert abs(masses[a["index"]] - Fraction(vector.value)) < Fraction(1, 10**18)


def sampled(a: dict[str, Any]) -> PoissonSampledLaw:
    """Poisson sampling of Gaussian noise."""
    return PoissonSampledLaw(Fraction(a["q"]), GaussianLaw(1 / Fraction(a["sigma"]) ** 2))


ENCLOSED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "laplace2_delta": lambda a: (
        [LaplaceLaw(Fraction(a["eps0a"])), LaplaceLaw(Fraction(a["eps0b"]))],
        Direction.REMOVE,
    ),
    "laplace_gauss_delta": lambda a: (
        [LaplaceLaw(Fraction(a["eps0"])), GaussianLaw(Fraction(a["mu"]) ** 2)],
        Direction.REMOVE,
    ),
    "gauss_rr_delta": lambda a: (
        [GaussianLaw(Fraction(a["mu"]) ** 2), RandomizedResponse(a["eps0"], a["delta0"])],
        Direction.REMOVE,
    ),
    "sg_delta2_remove": lambda a: ([(sampled(a), 2)], Direction.REMOVE),
    "sg_delta2_add": lambda a: ([(sampled(a), 2)], Direction.ADD),
}


@pytest.mark.parametrize("vector", [v for fn in ENCLOSED for v in vectors(fn)], ids=lambda v: v.id)
def test_convolutions_enclose_the_exact_value(vector: Vector) -> None:
    """Two-fold compositions with a known integral lie inside the bounds, which are within a thousandth."""
    parts, direction = ENCLOSED[vector.fn](vector.args)
    bound = tilted_delta(parts, vector.args["eps"], direction=direction, accuracy="1e-4")
    assert bound.lower <= vector.value <= bound.upper
    assert bound.upper - bound.lower < vector.value / 1000


def connect_the_dots(a: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Losses and masses of the upper law of a Gaussian pair on the vector's grid; the last mass is infinite."""
    grid = [float(g) for g in a["grid"]]
    step = grid[1] - grid[0]
    place = Place(step, 0.0, round(grid[0] / step), round(grid[-1] / step))
    law = upper(cut(GaussianLaw(Fraction(a["mu"]) ** 2), Direction.REMOVE, place), 0.0)
    return grid, [*(law.weights * np.exp(law.log_moment)), float(np.exp(law.log_infinite))]


@pytest.mark.parametrize("vector", vectors("ctd_gauss_mass"), ids=lambda v: v.id)
def test_masses_equal_the_published_construction(vector: Vector) -> None:
    """First, interior and infinite masses, which the source takes from second differences of delta."""
    _, masses = connect_the_dots(vector.args)
    assert masses[vector.args["index"]] == pytest.approx(float(vector.value), rel=1e-11)


@pytest.mark.parametrize("vector", vectors("ctd_gauss_delta"), ids=lambda v: v.id)
def test_the_chord_equals_the_published_delta(vector: Vector) -> None:
    """delta between lattice points is the chord of the exact profile."""
    grid, masses = connect_the_dots(vector.args)
    level = float(vector.args["eps"])
    chord = masses[-1] + sum(m * max(0.0, -np.expm1(level - x)) for x, m in zip(grid, masses[:-1], strict=True))
    assert chord == pytest.approx(float(vector.value), rel=1e-11)
