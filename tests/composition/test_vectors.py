"""Composition theorems agree with values computed from their formulas by another library at 60 digits."""

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

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

CASES = json.loads(Path(__file__).with_name("vectors.json").read_text())["cases"]


def reduction_mass(args: dict[str, Any]) -> Fraction:
    """An entry of the decomposition or of the kernel."""
    parts = decompose(args["P"], args["Q"], args["delta"])
    kernel = reduce_to_randomized_response(args["P"], args["Q"], args["eps"], args["delta"])
    return {"P1": parts.good_p, "Q1": parts.good_q, "A": kernel.on_one, "B": kernel.on_zero}[args["which"]][
        args["index"]
    ]


def hom(args: dict[str, Any], delta: str = "0") -> tuple[ApproxDP, int]:
    """One guarantee and its count."""
    name = "eps0" if "eps0" in args else "eps"
    return ApproxDP(Fraction(args[name]), args.get("delta0", delta)), int(args["k"])  # type: ignore[arg-type]


def het(args: dict[str, Any]) -> list[ApproxDP]:
    """A list of guarantees."""
    return [ApproxDP(e, d) for e, d in zip(args["eps_list"], args["delta_list"], strict=True)]


OURS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "drv_eps": lambda a: advanced_drv([(a["eps"], int(a["k"]))], a["delta"]).epsilon,
    "adv_eps": lambda a: advanced_squares(a["eps_list"], a["delta"]).epsilon,
    "adv_eps_tanh": lambda a: advanced_tanh(a["eps_list"], a["delta"]).epsilon,
    "kov_simple_eps": lambda a: advanced_kov(a["eps_list"], a["delta"]).epsilon,
    "kov_delta_i": lambda a: optimal_homogeneous_value(*hom(a), int(a["i"])).delta,
    "opt_hom_delta": lambda a: optimal_homogeneous_delta(*hom(a), a["eps"]),
    "opt_hom_eps": lambda a: optimal_homogeneous_epsilon(*hom(a), a["delta"]),
    "opt_het_delta": lambda a: optimal_heterogeneous_delta(het(a), a["eps"]).upper,
    "opt_het_eps": lambda a: optimal_heterogeneous_epsilon(het(a), a["delta"]).upper,
    "gauss_rr_delta": lambda a: mixed_delta([GDP(a["mu"])], [ApproxDP(a["eps0"], a["delta0"])], a["eps"]),
    "gdp_clt_rr_mu": lambda a: central_limit([(RandomizedResponse(a["eps0"]), int(a["n"]))]).mu.upper,
    "gdp_clt_rr_gamma": lambda a: central_limit([(RandomizedResponse(a["eps0"]), int(a["n"]))]).gamma,
    "lemma23_eps1": lambda a: decompose(a["P"], a["Q"], a["delta"]).epsilon_p,
    "cor24_mass": reduction_mass,
}
MINE = [case for case in CASES if case["formula"] in OURS]


@pytest.mark.parametrize("case", MINE, ids=lambda case: f"{case['formula']}-{list(case['arguments'].values())[-1]}")
def test_theorem_agrees_with_its_formula(case: dict[str, Any]) -> None:
    """Every theorem gives the formula's value to 18 digits, and never a smaller one."""
    ours, truth = Fraction(OURS[case["formula"]](case["arguments"])), Fraction(Decimal(case["value"]))
    assert abs(ours - truth) <= truth * Fraction(1, 10**18)
    if case["formula"] not in {"cor24_mass"}:  # masses are two-sided; losses are not
        assert ours >= truth * (1 - Fraction(1, 10**19))


def test_every_formula_of_composition_is_covered() -> None:
    """No vector of this room is left out but the two that speak of lattice laws."""
    rest = {case["formula"] for case in CASES} - set(OURS)
    assert rest == {"laplace2_delta", "laplace_gauss_delta", "ctd_gauss_mass", "ctd_gauss_delta"}
