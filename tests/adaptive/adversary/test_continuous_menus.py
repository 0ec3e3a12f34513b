"""Analysts who choose any parameter of a range: certified from both sides by two finite menus."""

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.vectors import vectors

from dosimeter.adaptive import boundaries
from dosimeter.adaptive.adversary import Family, Menu, Offer, worst_crossing, worst_delta, worst_delta_over
from dosimeter.adaptive.game import worst_delta_over_range
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Gaussian, Laplace, RandomizedResponse
from dosimeter.notions.profiles import gaussian_delta

D = Decimal
SMALL: dict[str, Any] = {"cells": 10, "fineness": 4}


@pytest.mark.parametrize(("mu_squared", "epsilon"), [("0.36", "0.5"), ("0.64", "0"), ("0.64", "2"), ("0.04", "0.3")])
def test_gaussians_of_any_mu_bracket_the_closed_form(mu_squared: str, epsilon: str) -> None:
    """Whatever the sizes, squares of mu add up: the truth is one Gaussian of the whole budget."""
    found = worst_delta_over(Family.gaussian("0.2", "0.6"), mu_squared, epsilon, **SMALL)
    truth = gaussian_delta(D(mu_squared).sqrt(), epsilon)
    assert found.lower <= truth <= found.upper
    assert found.lower >= D("0.95") * truth


def test_a_finer_grid_brings_the_ends_together() -> None:
    """Both ends move towards the truth."""
    family = Family.pure("0.2", "0.5")
    coarse = worst_delta_over(family, "0.4", "0.7", cells=4, fineness=2)
    fine = worst_delta_over(family, "0.4", "0.7", cells=16, fineness=8)
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    assert fine.upper - fine.lower < (coarse.upper - coarse.lower) / 2


@pytest.mark.parametrize("seed", range(4))
def test_no_choice_of_members_beats_the_upper_end(seed: int) -> None:
    """Random parameters off every grid, at their real costs, among them those just below the ends of cells."""
    draw = random.Random(seed)
    family, budget = Family.pure("0.2", "0.5"), Fraction(3, 10)
    found = worst_delta_over(family, budget, "0.6", **SMALL)
    ends = family.covering(SMALL["cells"])
    chosen = {D(f"{draw.uniform(0.2, 0.5):.4f}") for _ in range(3)} | {draw.choice(ends) - D("1e-4")}
    unit = Fraction(1, 10_000)
    members = [value for value in chosen if D("0.2") <= value <= D("0.5")]
    offers = tuple(Offer(RandomizedResponse(e), math.ceil(Fraction(e) ** 2 / unit)) for e in members)
    assert worst_delta(Menu(offers, Fraction(1, 80)), int(budget / unit), "0.6").lower <= found.upper


def test_playing_the_grid_alone_would_not_be_an_upper_bound() -> None:
    """The control: a member between two points of a grid reaches more than both, so each cell needs its upper end."""
    family, size = Family.pure("0.2", "0.39"), D("0.39")
    budget = 3 * size**2
    found = worst_delta_over(family, budget, "0.9", cells=1, fineness=1)
    member = worst_delta(Menu((Offer(RandomizedResponse(size), 1),)), 3, "0.9")
    assert found.lower < member.lower
    assert member.lower <= found.upper


def test_another_bracket_of_the_same_game_overlaps() -> None:
    """Epsilons of 5 to 15 steps of log 26/25, bounded by other code."""
    base, capacity = Fraction(26, 25), D("0.3")
    other = worst_delta_over_range(base, 5, 15, "0.8", capacity)
    step = D(math.log(base))
    found = worst_delta_over(Family.pure(5 * step, 15 * step), capacity, "0.8", cells=12, fineness=5)
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert found.lower >= D("0.95") * other.lower


def test_laplace_noise_of_any_scale_is_between_its_members_and_pure_rounds() -> None:
    """At least as much as one scale alone, at most as much as all mechanisms of these epsilons."""
    laplace = worst_delta_over(Family.laplace("0.3", "0.6"), "0.36", "0.6", **SMALL)
    pure = worst_delta_over(Family.pure("0.3", "0.6"), "0.36", "0.6", **SMALL)
    assert laplace.lower <= laplace.upper
    assert laplace.lower <= pure.upper
    alone = worst_delta(Menu((Offer(Laplace(1 / D("0.3")), 1),)), 4, "0.6")
    assert 0 < alone.lower <= laplace.upper


def test_families_may_be_mixed() -> None:
    """Two kinds reach at least what either reaches alone."""
    gaussian, pure = Family.gaussian("0.3", "0.6"), Family.pure("0.3", "0.6")
    both = worst_delta_over((gaussian, pure), "0.36", "0.5", **SMALL)
    for one in (gaussian, pure):
        assert worst_delta_over(one, "0.36", "0.5", **SMALL).lower <= both.upper
    dear = Family(RandomizedResponse, lambda t: 4 * t**2, D("0.3"), D("0.6"))
    for order in ((pure, dear), (dear, pure)):  # an event of both is the cheaper one's
        found = worst_delta_over(order, "0.36", "0.5", **SMALL)
        assert found == worst_delta_over(pure, "0.36", "0.5", **SMALL)


def test_a_family_of_ones_own() -> None:
    """Any event with one parameter and any cost that does not decrease, such as a least price for every question."""
    family = Family(lambda t: Gaussian(1 / t), lambda t: max(D("0.09"), t**2), D("0.1"), D("0.6"))
    found = worst_delta_over(family, "0.36", "0.5", cells=10, fineness=4)
    assert found.lower <= gaussian_delta("0.6", "0.5") <= found.upper  # cheap questions cost more than they tell


def test_what_is_no_range_is_refused() -> None:
    """Empty ranges, costs that vanish or fall, no family, budgets below zero, games that are too large."""
    with pytest.raises(InputError):
        Family.pure("0.5", "0.2")
    with pytest.raises(InputError):
        Family.pure(0, "0.2")
    for cost in (lambda t: 1 - t, lambda t: 0 * t, lambda t: -t):
        with pytest.raises(InputError):
            worst_delta_over(Family(RandomizedResponse, cost, D("0.2"), D("0.4")), 1, 1, **SMALL)
    with pytest.raises(InputError):
        worst_delta_over((), 1, 1)
    with pytest.raises(InputError):
        worst_delta_over(Family.pure("0.2", "0.4"), -1, 1)
    with pytest.raises(NoGuaranteeError):
        worst_delta_over(Family.pure("0.0001", "0.4"), 1, 1)


def steps_of(case: Any) -> Menu:
    """Randomised responses whose losses are multiples of the logarithm of the case's base."""
    size = up(enclose(lambda: ball(Fraction(case.args["base"])).log()))
    return Menu.responses(size, [int(j) for j in case.args["menu"]])


@pytest.mark.parametrize("case", vectors("game_filter_value"), ids=lambda case: case.id)
def test_reference_values_of_finite_menus(case: Any) -> None:
    """Values that were computed without any of this code, to ten digits."""
    found = worst_delta(steps_of(case), int(case.args["capacity_units"]), case.args["eps_g"])
    assert abs(found.lower / case.value - 1) < D("1e-10")
    assert abs(found.upper / case.value - 1) < D("1e-10")


@pytest.mark.parametrize("case", vectors("game_odometer_crossing"), ids=lambda case: case.id)
def test_reference_values_of_crossings(case: Any) -> None:
    """The same for odometers read at the sum of squares."""
    curve: Any = {
        "filter": boundaries.line,
        "mixture": boundaries.mixture,
        "stitched": boundaries.stitched_rounded,
    }[case.args["kind"]]
    menu, base = steps_of(case), Fraction(case.args["base"])

    def reading(used: int) -> Decimal | None:
        time = up(enclose(lambda: used * ball(base).log() ** 2)) if used else D(0)
        found: Decimal | None = curve(time, case.args["delta1"], case.args["par"]) if used else None
        return found

    found = worst_crossing(menu, int(case.args["horizon_units"]), reading)
    assert abs(found.lower / case.value - 1) < D("1e-10")
    assert abs(found.upper / case.value - 1) < D("1e-10")
