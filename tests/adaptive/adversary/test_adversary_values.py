"""The worst case over all adaptive analysts: published values, an independent exact solver, and the best strategy."""

import itertools
from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.adaptive.adversary import (
    Menu,
    Offer,
    best_crossing,
    best_strategy,
    largest_budget,
    worst_crossing,
    worst_delta,
    worst_deltas,
    worst_divergence,
    worst_epsilon,
    worst_tail,
)
from dosimeter.adaptive.game import budget_rule, randomized_response, worst_delta_exact
from dosimeter.errors import DosimeterError
from dosimeter.events import Gaussian, Laplace, RandomizedResponse, Repeated
from dosimeter.notions.profiles import gaussian_delta

# steps of u, costs the squares of the multiples: the epsilon at which the worst delta is 1e-3, 1e-5, 1e-7
TABLE = [
    ("0.1", 100, (1,), ("3.11555946", "4.30679137", "5.19216326")),
    ("0.1", 100, (1, 2, 3, 4, 5, 10), ("3.17793884", "4.34550690", "5.23737565")),
    ("0.1", 100, (2, 5), ("2.99525099", "4.08228518", "4.62597543")),
    ("0.1", 25, (1, 2, 3, 5), ("1.34241118", "1.87872578", "2.26480614")),
    ("0.05", 400, (1, 2, 4, 10, 20), ("3.18529134", "4.39404730", "5.34456184")),
]


def responses(step: str, multiples: tuple[int, ...]) -> Menu:
    return Menu(tuple(Offer(RandomizedResponse(Decimal(step) * m), m * m) for m in multiples))


@pytest.mark.parametrize(("step", "budget", "multiples", "wanted"), TABLE)
def test_the_table_of_worst_epsilons(step: str, budget: int, multiples: tuple[int, ...], wanted: tuple[str]) -> None:
    """Five menus at three deltas, to the digits printed; the bracket is at least that tight."""
    menu = responses(step, multiples)
    for delta, value in zip(("1e-3", "1e-5", "1e-7"), wanted, strict=True):
        found = worst_epsilon(menu, budget, delta)
        assert found.lower <= found.upper
        assert abs(found.upper - Decimal(value)) <= Decimal("6e-9")
        assert abs(found.lower - Decimal(value)) <= Decimal("6e-9")


def test_a_choice_is_worth_something_and_a_budget_never_hurts() -> None:
    """A larger menu reaches at least as much; so does a larger budget; nothing left reveals nothing."""
    one, more = worst_deltas(responses("0.1", (1,)), 40, "0.5"), worst_deltas(responses("0.1", (1, 2, 3)), 40, "0.5")
    assert one[0].upper == 0
    assert all(b.upper >= a.lower for a, b in zip(one, more, strict=True))
    assert all(later.upper >= earlier.lower for earlier, later in itertools.pairwise(more))
    assert more[-1].lower > one[-1].upper


@pytest.mark.parametrize("budget", [1, 4, 6])
def test_rationals_agree(budget: int) -> None:
    """Another solver, in exact rationals, finds the same; and so does the exact law of the extracted strategy."""
    ratio = Fraction(3, 2)
    epsilon = Decimal("0.405465108108164381978013115464349136571990423462494")  # log 3/2
    menu = Menu.responses(Fraction(epsilon), (1, 2))
    boxes = [randomized_response(ratio), randomized_response(ratio**2)]
    exact = worst_delta_exact(budget_rule([(boxes[0], (1,)), (boxes[1], (4,))], (budget,)), ratio)
    found = worst_delta(menu, budget, epsilon)
    assert float(found.lower) <= float(exact) * (1 + 1e-12)
    assert float(exact) <= float(found.upper) * (1 + 1e-12)
    assert float(found.upper - found.lower) <= 1e-11
    best = best_strategy(menu, budget, epsilon)
    assert float(best.law(boxes).hockey_stick(ratio)) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(("sigma", "runs", "epsilon"), [("5", 25, "1"), ("4", 4, "0.5"), ("10", 9, "0.2")])
def test_a_gaussian_menu_brackets_the_closed_form(sigma: str, runs: int, epsilon: str) -> None:
    """One kind of Gaussian noise leaves nothing to choose: the truth is one Gaussian of the whole budget."""
    found = worst_delta(Menu((Offer(Gaussian(sigma), 1),)), runs, epsilon)
    truth = float(gaussian_delta(Decimal(runs).sqrt() / Decimal(sigma), epsilon))
    assert float(found.lower) <= truth <= float(found.upper)
    assert float(found.upper - found.lower) <= 0.02 * truth


def test_laplace_and_gaussian_noise_on_one_menu() -> None:
    """Continuous losses of two kinds, from both sides; each alone reaches no more than both."""
    gaussian, laplace = Offer(Gaussian("10"), 1), Offer(Laplace("8"), 2)
    both = worst_delta(Menu((gaussian, laplace), Fraction(1, 80)), 12, "0.7")
    assert 0 < both.lower <= both.upper
    for alone in (gaussian, laplace):
        assert worst_delta(Menu((alone,), Fraction(1, 80)), 12, "0.7").lower <= both.upper


def test_tails_and_crossings() -> None:
    """A crossing at any time is at least as likely as being above at the end, and certain below zero."""
    menu = responses("0.1", (1, 2))
    end, ever = worst_tail(menu, 20, "0.45"), worst_crossing(menu, 20, lambda used: Decimal("0.45"))
    assert 0 < end.lower <= ever.upper
    assert worst_crossing(menu, 20, lambda used: Decimal("-0.05")).upper == 1
    assert worst_crossing(menu, 4, lambda used: Decimal("1")).upper == 0  # four losses of 0.1, or one of 0.2
    best = best_crossing(menu, 20, lambda used: Decimal("0.45"))
    assert best.value == pytest.approx(float(ever.upper), rel=1e-9)
    assert best.choose(20, 5) is None  # across: nothing is chosen any more


def test_a_renyi_moment_is_a_knapsack() -> None:
    """At equal cost the worse entry is taken every time; with one entry it is a sum."""
    small, large = Offer(RandomizedResponse("0.1"), 1), Offer(RandomizedResponse("0.2"), 1)
    alone = worst_divergence(Menu((large,)), 5, 8)
    both = worst_divergence(Menu((small, large)), 5, 8)
    one = worst_divergence(Menu((large,)), 1, 8)
    assert alone.lower <= both.upper
    assert both.lower <= alone.upper
    assert float(alone.upper) == pytest.approx(5 * float(one.upper), rel=1e-12)


def test_the_largest_budget_is_the_largest() -> None:
    """It keeps the promise, and one unit more does not."""
    menu = responses("0.1", (1, 2, 3))
    units = largest_budget(menu, "1", "1e-6")
    assert worst_delta(menu, units, "1").upper <= Decimal("1e-6") < worst_delta(menu, units + 1, "1").lower


def test_a_strategy_can_be_printed_and_stored() -> None:
    """Regions cover all losses; describing and JSON name every entry that is chosen."""
    best = best_strategy(responses("0.1", (1, 2)), 8, "0.3")
    regions = best.regions(8)
    assert all(nxt[0] == last[1] + 1 for last, nxt in itertools.pairwise(regions))
    assert "8 units left" in best.describe()
    assert best.to_json()["budget"] == 8
    assert Menu.from_json(best.menu.to_json()) == best.menu


def test_what_is_no_menu_is_refused() -> None:
    """Nothing on it, one thing twice, several releases as one, costs of nothing."""
    offer = Offer(RandomizedResponse("0.1"), 1)
    for bad in (lambda: Menu(()), lambda: Menu((offer, Offer(RandomizedResponse("0.1"), 2)))):
        with pytest.raises(DosimeterError):
            bad()
    for cost in (0, -1, 1.5, True):
        with pytest.raises(DosimeterError):
            Offer(RandomizedResponse("0.1"), cost)  # type: ignore[arg-type]
    with pytest.raises(DosimeterError):
        Menu((Offer(Repeated(RandomizedResponse("0.1"), 3), 1),))
