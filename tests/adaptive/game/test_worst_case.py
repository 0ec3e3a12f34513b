"""The worst case over all strategies: three ways of computing it agree, and its general properties hold."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.game import (
    Box,
    Rule,
    budget_rule,
    exact_law,
    from_laws,
    gaussian_cells,
    randomized_response,
    restrict,
    single_use_rule,
    three_atoms,
    worst_crossing,
    worst_crossing_exact,
    worst_delta,
    worst_delta_exact,
    worst_delta_over_range,
    worst_moment,
)
from dosimeter.errors import InputError
from dosimeter.notions import GDP
from dosimeter.notions.convert import gdp_to_approx

F = Fraction
D = Decimal
BASE = F(3, 2)
Leaves = tuple[tuple[Fraction, Fraction], ...]


def responses(base: Fraction, steps: tuple[int, ...]) -> list[tuple[Box, tuple[int, ...]]]:
    """Randomised responses at a cost of j^2 units."""
    return [(randomized_response(base**j), (j * j,)) for j in steps]


def every_strategy(menu: list[tuple[Box, tuple[int, ...]]], left: int) -> Iterator[Leaves]:
    """Every deterministic strategy as the list of its histories' probabilities; shares nothing with the solvers."""
    yield ((F(1), F(1)),)
    for box, (cost,) in menu:
        if cost <= left:
            futures = list(every_strategy(menu, left - cost))
            for chosen in itertools.product(futures, repeat=len(box.outcomes)):
                yield tuple(
                    (a * p, b * q) for (a, b), future in zip(box.outcomes, chosen, strict=True) for p, q in future
                )


def test_brute_force_over_all_strategy_trees_agrees() -> None:
    """e^h = 3/2, steps {1, 2}, 4 units, epsilon = 1/2: 0.185008839785 from 678 strategies one by one."""
    level = F(math.exp(0.5))
    menu = responses(BASE, (1, 2))
    trees = list(every_strategy(menu, 4))
    assert len(trees) == 678
    brute = max(sum(max(F(0), p - level * q) for p, q in leaves) for leaves in trees)
    assert worst_delta_exact(budget_rule(menu, (4,)), level) == brute
    assert abs(float(brute) - 0.185008839785) < 1e-12
    assert float(brute) in worst_delta(budget_rule(menu, (4,)), BASE, "0.5")


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([F(3, 2), F(11, 10), F(2)]),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)).filter(any), min_size=1, max_size=3, unique=True),
    st.integers(1, 5),
    st.integers(0, 3),
    st.sampled_from([F(1), F(6, 5), F(3, 2), F(4)]),
)
def test_the_fast_solver_encloses_the_exact_one(
    base: Fraction, menu: list[tuple[int, int]], units: int, failures: int, level: Fraction
) -> None:
    """With failing boxes too: the interval of the lattice solver contains the exact rational value."""
    rule = budget_rule([(randomized_response(base**j, F(i, 50)), (j * j, i)) for j, i in menu], (units, failures))
    exact = worst_delta_exact(rule, level)
    assert D(math.log(level)) >= 0
    found = worst_delta(rule, base, repr(math.log(level)))
    assert float(found.lower) - 1e-12 <= exact <= float(found.upper) + 1e-12
    assert found.upper - found.lower < D("1e-11")


def test_the_fast_solver_takes_any_box_on_its_lattice() -> None:
    """Asymmetric boxes, infinite losses and mirrored directions against the exact solver."""
    skew = from_laws("skew", (F(1, 2), F(1, 4), F(1, 4)), (F(1, 4), F(1, 2), F(1, 4)))
    reveal = from_laws("reveal", (F(9, 10), F(1, 10)), (F(1), F(0)))
    with pytest.raises(InputError, match="not a power"):
        worst_delta(single_use_rule([reveal]), F(2), "1")
    even = from_laws("reveal", (F(1, 2), F(1, 2), F(0)), (F(1, 2), F(0), F(1, 2)))
    for boxes in ([skew, skew, skew], [skew, even], [skew.reversed(), even.reversed(), skew]):
        rule = single_use_rule(boxes)
        for level in (F(1), F(3, 2), F(5)):
            found = worst_delta(rule, F(2), repr(math.log(level)))
            assert abs(float(worst_delta_exact(rule, level)) - float(found.upper)) < 1e-12


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.sampled_from(["0.1", "0.5", "1"]))
def test_more_budget_more_boxes_and_a_smaller_epsilon_never_help_the_defender(units: int, epsilon: str) -> None:
    """The worst case is monotone in the budget, in the menu, and in epsilon."""
    small = worst_delta(budget_rule(responses(F(11, 10), (1, 2)), (units,)), F(11, 10), epsilon)
    richer = worst_delta(budget_rule(responses(F(11, 10), (1, 2)), (units + 1,)), F(11, 10), epsilon)
    wider = worst_delta(budget_rule(responses(F(11, 10), (1, 2, 3)), (units,)), F(11, 10), epsilon)
    looser = worst_delta(budget_rule(responses(F(11, 10), (1, 2)), (units,)), F(11, 10), D(epsilon) + 1)
    assert small.lower <= richer.upper
    assert small.lower <= wider.upper
    assert looser.lower <= small.upper


def test_stopping_early_never_helps() -> None:
    """An analyst who must go on while anything fits reaches the same delta."""
    menu = responses(BASE, (1, 2))
    level = F(8, 5)

    def forced(left: int, ratio: Fraction) -> Fraction:
        fitting = [(box, cost) for box, (cost,) in menu if cost <= left]
        if not fitting:
            return max(F(0), 1 - level / ratio)
        return max(
            sum((p * forced(left - cost, ratio * p / q) for p, q in box.outcomes), F(0)) for box, cost in fitting
        )

    assert forced(6, F(1)) == worst_delta_exact(budget_rule(menu, (6,)), level)


def test_single_use_boxes_in_the_best_order() -> None:
    """Choosing the order of single-use boxes by the answers gains nothing: all of them end up open."""
    boxes = [randomized_response(odds) for odds in (F(3, 2), F(2), F(7, 2))]
    level = F(3)
    worst = worst_delta_exact(single_use_rule(boxes), level)
    for order in itertools.permutations(boxes):
        law = exact_law(lambda h, order=order: order[len(h)] if len(h) < 3 else None, rounds=3)  # type: ignore[misc]
        assert law.hockey_stick(level) == worst


def test_crossing_probabilities_agree_between_the_solvers() -> None:
    """The chance that the loss ever exceeds a line through the budget, exactly and fast."""
    menu = responses(BASE, (1, 2))
    rule = budget_rule(menu, (7,))

    def reading(left: tuple[int, ...]) -> Decimal:
        return D("0.6") + D("0.1") * (7 - left[0])

    exact = worst_crossing_exact(rule, reading)
    found = worst_crossing(rule, BASE, reading)
    assert 0 < exact < 1
    assert found.lower - D("1e-12") <= D(float(exact)) <= found.upper + D("1e-12")
    assert worst_crossing(rule, BASE, lambda _: None).upper == 0


def test_a_loss_equal_to_its_bound_does_not_cross_and_a_bound_of_zero_is_crossed_by_any_loss() -> None:
    """Crossing means strictly above."""
    rule = budget_rule(responses(BASE, (1,)), (1,))
    assert worst_crossing_exact(rule, lambda _: D(0)) == F(3, 5)
    assert worst_crossing(rule, BASE, lambda _: D(0)).lower > D("0.59")
    above = D("0.405465108108164381978013115465")  # log(3/2), rounded up
    assert worst_crossing_exact(rule, lambda _: above) == 0
    assert worst_crossing(rule, BASE, lambda _: above).upper == 0


def test_moments_of_constant_play_are_the_closed_form() -> None:
    """n rounds of randomised response have n times one round's Renyi divergence, and no adaptive play has more."""
    j, rounds, order = 2, 5, 4
    rule = budget_rule([(randomized_response(BASE**j), (1,))], (rounds,))
    e0 = j * math.log(BASE)
    one = math.log(math.cosh((order - 0.5) * e0) / math.cosh(e0 / 2)) / (order - 1)
    found = worst_moment(rule, BASE, order)
    assert abs(float(found.upper) - rounds * one) < 1e-11
    assert found.lower <= found.upper


def test_a_continuous_menu_lies_between_two_lattices_and_the_bracket_narrows() -> None:
    """epsilon_m anywhere in about [0.2, 0.4] while sum epsilon_m^2 <= 0.2: finer lattices, narrower brackets."""
    widths = []
    for power, scale in ((F(26, 25), 5), (F(51, 50), 10), (F(101, 100), 20)):
        found = worst_delta_over_range(power, scale, 2 * scale, "0.6", "0.2")
        widths.append(found.upper - found.lower)
        assert 0 < found.lower < found.upper < D("0.2")
    assert widths[2] < widths[1] < widths[0]
    with pytest.raises(InputError, match="range of whole steps"):
        worst_delta_over_range(F(2), 0, 1, "1", "1")


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([0.1, 0.3, 0.7, 1.0, 2.0]),
    st.lists(st.integers(1, 14), min_size=1, max_size=8, unique=True).map(sorted),
    st.sampled_from(["0", "0.2", "1", "2"]),
)
def test_gaussian_cells_reveal_less_than_the_gaussian(mu: float, steps: list[int], epsilon: str) -> None:
    """A coarsening is never above the exact profile of its Gaussian, at any epsilon."""
    base = F(6, 5)
    box = gaussian_cells(mu, base, steps)
    found = worst_delta(single_use_rule([box]), base, epsilon)
    assert found.lower <= gdp_to_approx(GDP(D(str(mu))), target_epsilon=epsilon).delta


def test_many_gaussian_cells_come_close() -> None:
    """Fifteen cells keep 98 percent of delta at epsilon = 0.3."""
    for mu in ("0.3", "0.5", "1"):
        box = gaussian_cells(float(mu), F(6, 5), (1, 2, 3, 4, 5, 6, 8, 10))
        found = worst_delta(single_use_rule([box]), F(6, 5), "0.3")
        assert found.lower > D("0.98") * gdp_to_approx(GDP(D(mu)), target_epsilon="0.3").delta
    with pytest.raises(InputError, match="increasing"):
        gaussian_cells(1.0, F(2), (2, 1))


def test_rules_must_end() -> None:
    """A box without a cost would be opened for ever; a limit on rounds makes it a game again."""
    free = three_atoms(F(2), F(1, 10))
    with pytest.raises(InputError, match="cost"):
        budget_rule([(free, (0,))], (3,))
    with pytest.raises(InputError, match="earlier state"):
        worst_delta(Rule(0, lambda state: [(free, state)]), F(2), "1")
    assert worst_delta(budget_rule([(free, (0,))], (3,), rounds=2), F(2), "0.1").lower > 0


def test_a_restricted_rule_enters_only_allowed_states() -> None:
    """Restricting to the budget itself changes nothing; restricting further lowers the value."""
    rule = budget_rule(responses(BASE, (1, 2)), (6,))
    same = restrict(rule, lambda left: left[0] >= 0)
    less = restrict(rule, lambda left: left[0] >= 3)
    assert worst_delta_exact(same, F(3, 2)) == worst_delta_exact(rule, F(3, 2))
    assert worst_delta_exact(less, F(3, 2)) == worst_delta_exact(budget_rule(responses(BASE, (1, 2)), (3,)), F(3, 2))
