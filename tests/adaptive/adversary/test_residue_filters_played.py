"""Residue filters against the optimal analyst with menus of mixed events, charged by the filters' own code.

The analyst plays Gaussian, Laplace, sampled noise and randomized response in any order that helps her. What she reaches
is computed from below, so a broken promise could not hide behind a loose bound; flawed charges are beaten the same way.
"""

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.adaptive.adversary import Menu, Offer, cells_of, worst_delta, worst_delta_against
from dosimeter.adaptive.adversary.points import Side
from dosimeter.adaptive.adversary.values import delta_values
from dosimeter.adaptive.filters import PlanResidueFilter, ResidueFilter
from dosimeter.errors import InputError
from dosimeter.events import Gaussian, Laplace, PoissonSampled, RandomizedResponse
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.pld.laws.law import Direction

D = Decimal
GAUSSIAN = ResidueFilter("1", "0.01", "0.001", 20)
MIXED: list[Any] = [
    RandomizedResponse("0.2"),
    RandomizedResponse("0.05"),
    Laplace("3"),
    Gaussian(1 / (GAUSSIAN.capacity / 10).sqrt()),
    PoissonSampled("0.2", Gaussian("2")),
]
RESPONSES: list[Any] = [RandomizedResponse(e) for e in ("0.2", "0.4", "0.1", "0.6")]
STEP = PoissonSampled("0.1", Gaussian("1.5"))
TRAINING: list[Any] = [STEP, Gaussian("6"), PoissonSampled("0.2", Gaussian("2")), Laplace("10")]


def prices(filter_: Any, events: list[Any]) -> list[Any]:
    return [loss_for(event, filter_, relation=NeighbouringRelation.ADD_REMOVE) for event in events]


def planned(event: Any, steps: int, reserve: str = "0") -> PlanResidueFilter:
    """The plan at its least epsilon for a delta of a thousandth."""
    plan = ((event, steps),)
    epsilon = PlanResidueFilter.smallest_epsilon(plan, "1e-3", "1e-5", reserve)
    return PlanResidueFilter(plan, epsilon, "1e-3", "1e-5", 20, reserve)


@cache
def at_the_gaussian(cells: int) -> Any:
    return cells_of(GAUSSIAN, prices(GAUSSIAN, MIXED), "mu_squared", cells)


@pytest.mark.parametrize("epsilon", ["0", "0.5", "1", "1.5"])
def test_mixed_events_never_reach_more_than_the_gaussian_family_promises(epsilon: str) -> None:
    """At every epsilon at once; and the analyst takes nearly all of what is not slack, so she is no straw man."""
    found = worst_delta_against(MIXED, at_the_gaussian(120), 120, epsilon, "0.01")
    claim = GAUSSIAN.delta_at(epsilon)
    assert found.lower <= claim
    assert found.lower >= D("0.9") * (claim - GAUSSIAN.slack)


def test_a_plan_of_responses_keeps_its_promise_certainly() -> None:
    """Whole steps and losses on a lattice: nothing is rounded, so the upper end proves it; the plan itself is best."""
    rule = planned(RESPONSES[0], 16)
    after = cells_of(rule, prices(rule, RESPONSES), "steps of run 1", 16)
    found = worst_delta_against(RESPONSES, after, 16, rule.epsilon)
    assert D("0.98") * rule.delta <= found.lower <= found.upper <= rule.delta
    alone = worst_delta(Menu((Offer(RESPONSES[0], 1),)), 16, rule.epsilon)
    assert alone.lower <= found.upper <= alone.upper * (1 + D("1e-9"))


def test_leaving_a_training_plan_in_any_way_keeps_its_promise() -> None:
    """Sampled steps, and Gaussian, Laplace and other sampled noise in between, in both directions."""
    rule = planned(STEP, 20)
    after = cells_of(rule, prices(rule, TRAINING), "steps of run 1", 20)
    found = worst_delta_against(TRAINING, after, 20, rule.epsilon)
    assert D("0.9") * rule.delta <= found.lower <= rule.delta


def product(
    rule: PlanResidueFilter, events: list[Any], steps: int, cells: int
) -> Callable[[int, int, bool], int | None]:
    """Both components at once: what is left is steps (cells + 1) + cells of the reserve."""
    price, size = prices(rule, events), rule.reserve / cells

    def after(entry: int, left: int, favour: bool) -> int | None:
        run, rest = divmod(left, cells + 1)
        state = rule.built(
            {"mu_squared": rule.reserve - rest * size, "steps of run 1": D(steps - run), "delta": D(0)}, D(0)
        )
        taken = rule.asked(state, price[entry], 1)
        run -= int(taken["steps of run 1"])
        exact = rest - taken["mu_squared"] / size
        if run < 0 or exact < 0:
            return None
        whole = int(exact) + (favour and exact != int(exact))
        return min(run * (cells + 1) + whole, left - 1)

    return after


def test_a_product_of_a_plan_and_a_reserve_keeps_its_promise() -> None:
    """A charge falls on the plan or on the Gaussian reserve; the analyst chooses the order that suits her."""
    steps, cells = 8, 24
    rule = planned(RESPONSES[0], steps, "0.2")
    events: list[Any] = [*RESPONSES[:3], Gaussian(1 / (rule.reserve / 2).sqrt())]
    after = product(rule, events, steps, cells)
    full = steps * (cells + 1) + cells
    paid = {divmod(full - (left or 0), cells + 1) for left in (after(i, full, False) for i in range(4))}
    assert {run for run, _ in paid} >= {0, 1}  # some pay by steps, some by the reserve
    found = worst_delta_against(events, after, full, rule.epsilon, "0.02")
    assert D("0.75") * rule.delta <= found.lower <= rule.delta


# --- controls: charges that look right


def test_charging_a_response_its_square_at_all_times_is_beaten() -> None:
    """epsilon^2 is the price while much is left; as the last charge it is too little."""
    mu = D("0.5")
    claim = gaussian_delta(mu, "0.05")
    flat = worst_delta_against([RandomizedResponse(mu)], lambda _, left, __: left - 1 if left else None, 1, "0.05")
    assert flat.lower > D("1.2") * claim
    rule = ResidueFilter("0.05", claim, 0)
    after = cells_of(rule, prices(rule, [RandomizedResponse(D("0.4"))]), "mu_squared", 400)
    assert worst_delta_against([RandomizedResponse(D("0.4"))], after, 400, "0.05").lower <= claim
    after = cells_of(rule, prices(rule, [RandomizedResponse(mu)]), "mu_squared", 400)
    with pytest.raises(InputError):  # the filter itself refuses it: nothing to play
        worst_delta_against([RandomizedResponse(mu)], after, 400, "0.05")


def test_charging_one_direction_only_is_beaten() -> None:
    """A sampled query seems harmless in the direction in which people are added; removing one tells far more."""
    event = PoissonSampled("0.1", RandomizedResponse("4"))
    menu = Menu((Offer(event, 1),))
    mu = D("0.2425")
    for epsilon in (0.0, 0.01, 0.03, 0.05, 0.08, 0.1):
        added = delta_values(menu, 1, epsilon, Side.DOMINATING, Direction.ADD).value(1)
        assert added <= gaussian_delta(mu, epsilon)  # so it was charged mu^2, looking at added people only
    claim = gaussian_delta(mu, "0.3")
    found = worst_delta_against([event], lambda _, left, __: left - 1 if left else None, 1, "0.3")
    assert found.lower > 5 * claim
    rule = ResidueFilter("0.3", claim, claim / 100, 20)
    after = cells_of(rule, prices(rule, [event]), "mu_squared", 50)
    with pytest.raises(InputError):
        worst_delta_against([event], after, 50, "0.3")


def test_charging_strange_queries_one_step_of_a_plan_is_beaten() -> None:
    """A query at twice the epsilon costs seven steps when all are left; for one step it breaks the promise."""
    rule = planned(RESPONSES[0], 16)
    found = worst_delta_against(RESPONSES[:2], lambda _, left, __: left - 1 if left else None, 16, rule.epsilon)
    assert found.lower > 5 * rule.delta


def test_rounding_charges_down_to_cells_is_beaten() -> None:
    """The control of the cells: charges rounded in the analyst's favour are no attack on the filter any more."""
    after = at_the_gaussian(120)
    kind = worst_delta_against(MIXED, lambda i, left, _: after(i, left, True), 120, "1", "0.01")
    assert kind.lower > GAUSSIAN.delta_at("1")


def test_having_more_left_never_leaves_less() -> None:
    """What the upper ends rest on: after the same query, more left stays more left, however it is rounded."""
    rule = planned(STEP, 20)
    ways = [
        (at_the_gaussian(400), len(MIXED), 400),
        (cells_of(rule, prices(rule, TRAINING), "steps of run 1", 20), len(TRAINING), 20),
    ]
    for after, events, cells in ways:
        for event in range(events):
            for favour in (False, True):
                rest = [after(event, left, favour) for left in range(cells + 1)]
                known = [-1 if left is None else left for left in rest]
                assert known == sorted(known)
                assert known[-1] >= 0
