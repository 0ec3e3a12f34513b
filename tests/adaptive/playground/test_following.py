"""A computed optimum can be played at a table, and reaches there what was computed."""

from fractions import Fraction

from dosimeter.accounting.menus import response_options
from dosimeter.adaptive.adversary import Menu, worst_delta
from dosimeter.adaptive.adversary.strategy import best_strategy
from dosimeter.adaptive.filters import ZCDPFilter
from dosimeter.adaptive.playground import Table, following, play


def test_the_computed_optimum_reaches_its_value_at_the_table() -> None:
    """Twelve units, boxes of one and four units: the played law has the computed delta, to nine digits."""
    base, step = Fraction(6, 5), Fraction("0.182321556793954626")
    menu = Menu.responses(step, (1, 2))
    best, truth = best_strategy(menu, 12, "0.5"), worst_delta(menu, 12, "0.5")
    rule = ZCDPFilter("50")
    result = play(Table(rule, response_options(rule, base, (1, 2)), base, "0.5", 12), following(best))
    assert result.exact
    assert abs(float(result.delta.ends[0]) - float(truth.lower)) < 1e-9
    assert result.strategy == "computed optimum"
