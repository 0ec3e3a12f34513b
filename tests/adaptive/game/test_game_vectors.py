"""The game against reference values that were computed without any of this code."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flawed import binomial_delta, natural_values, rational, steered_delta
from tests.vectors import vectors

from dosimeter.adaptive import boundaries as b
from dosimeter.adaptive.game import (
    Box,
    budget_rule,
    exact_law,
    randomized_response,
    worst_crossing,
    worst_delta,
    worst_delta_exact,
)
from dosimeter.enclosure import ball, enclose, up
from dosimeter.exact import Bound

D = Decimal
CURVES: dict[str, Callable[[Decimal, Decimal, Decimal], Decimal]] = {
    "filter": b.line,
    "mixture": b.mixture,
    "stitched": b.stitched_rounded,
}


def cases(name: str) -> Any:
    """One parametrised case per reference value of a formula."""
    return pytest.mark.parametrize("case", vectors(name), ids=lambda case: case.id)


def encloses(found: Bound, value: Decimal) -> bool:
    """The interval contains the reference value and is narrow."""
    return value in found and found.upper - found.lower <= D("1e-9") * value


@cases("game_filter_value")
def test_worst_delta_under_a_budget_of_squares(case: Any) -> None:
    """Randomised responses j h at a cost of j^2 units; the interval contains the value."""
    base = Fraction(case.args["base"])
    menu = [(randomized_response(base**j), (j * j,)) for j in map(int, case.args["menu"])]
    rule = budget_rule(menu, (int(case.args["capacity_units"]),))
    assert encloses(worst_delta(rule, base, case.args["eps_g"]), case.value)


@cases("game_filter_value_delta")
def test_worst_delta_with_failing_boxes(case: Any) -> None:
    """Boxes that fail, with a second budget for the sum of their deltas."""
    base, unit = Fraction(case.args["base"]), Fraction(case.args["delta_unit"])
    pairs = [(int(j), int(i)) for j, i in case.args["menu"]]
    menu = [(randomized_response(base**j, i * unit), (j * j, i)) for j, i in pairs]
    rule = budget_rule(menu, (int(case.args["capacity_units"]), int(case.args["delta_units"])))
    assert encloses(worst_delta(rule, base, case.args["eps_g"]), case.value)


@cases("game_odometer_crossing")
def test_worst_crossing_of_an_odometer(case: Any) -> None:
    """The probability that the loss ever exceeds the reading at V = sum of squares."""
    base, horizon = Fraction(case.args["base"]), int(case.args["horizon_units"])
    menu = [(randomized_response(base**j), (j * j,)) for j in map(int, case.args["menu"])]
    curve = CURVES[case.args["kind"]]

    def reading(left: tuple[int, ...]) -> Decimal | None:
        used = horizon - left[0]
        time = up(enclose(lambda: used * ball(base).log() ** 2)) if used else D(0)
        return curve(time, case.args["delta1"], case.args["par"])

    found = worst_crossing(budget_rule(menu, (horizon,)), base, reading)
    assert encloses(found, case.value)
    assert found.upper <= case.args["delta1"]


@cases("game_threshold_delta")
def test_the_law_of_a_strategy_that_follows_the_sign_of_the_loss(case: Any) -> None:
    """Exact law in rationals, read at an irrational level."""
    base = Fraction(case.args["base"])
    boxes = [randomized_response(base ** int(j)) for j in case.args["strategy"]]
    sizes = [int(j) for j in case.args["strategy"]]

    def choose(loss: int) -> Box:
        return boxes[(loss > 0) - (loss < 0) + 1]

    def remember(loss: int, box: Box, outcome: int) -> int:
        return loss + (1 if outcome == 0 else -1) * sizes[boxes.index(box)]

    law = exact_law(choose, rounds=int(case.args["n"]), memory=0, remember=remember)
    with mpmath.workdps(40):
        level = rational(mpmath.exp(mpmath.mpf(str(case.args["eps_g"]))))
    assert math.isclose(law.hockey_stick(level), case.value, rel_tol=1e-15)


@cases("game_natural_counterexample")
def test_the_natural_filter_counterexample(case: Any) -> None:
    """Two plans within budget and an adaptive choice between them that is not."""
    x, u, v, level = (Fraction(case.args[name]) for name in ("x", "u", "v", "g"))
    values = natural_values(x, u, v, int(case.args["k"]), level)
    assert math.isclose(values[case.args["what"]], case.value, rel_tol=1e-15)


def test_plans_of_equal_responses_are_binomial() -> None:
    """The plans' deltas by a second route."""
    for v, k, level in ((Fraction(2), 3, Fraction(3)), (Fraction(5, 2), 3, Fraction(4))):
        rule = budget_rule([(randomized_response(v), (1,))], (k,))
        assert worst_delta_exact(rule, level) == binomial_delta(v, k, level)


@cases("multiorder_counterexample")
def test_the_counterexample_to_several_orders_without_weights(case: Any) -> None:
    """The true delta of the steered run."""
    with mpmath.workdps(60):
        a = {name: mpmath.mpf(Fraction(v).numerator) / Fraction(v).denominator for name, v in case.args.items()}
        found = steered_delta(a["eps"], a["delta"], (int(a["a1"]), int(a["a2"])), a["pb"], a["lb"])
    assert math.isclose(found, case.value, rel_tol=1e-15)
    assert found > Fraction(18, 10) * Fraction(case.args["delta"])
