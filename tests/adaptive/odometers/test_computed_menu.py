"""Computed readings for a menu: the worst case of stopping anywhere, for everything the menu's pairs dominate."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.adversary import Menu, Offer, worst_delta, worst_epsilon
from dosimeter.adaptive.game import Box, randomized_response
from dosimeter.adaptive.odometers import GaussianOdometer, MenuOdometer, MenuRecord, odometer_from_json
from dosimeter.adaptive.odometers.stopping import worst_stopping
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import Composed, Gaussian, Laplace, PoissonSampled, RandomizedResponse, Repeated
from dosimeter.exact import Bound

D = Decimal
F = Fraction
STEP = D("0.2")


def exact(boxes: Any, levels: Any) -> Fraction:
    """The game in rationals: boxes with costs, e^reading by used units; reward (1 - e^reading / ratio)+."""
    units = len(levels) - 1

    @cache
    def value(used: int, ratio: Fraction) -> Fraction:
        best = max(F(0), 1 - levels[used] / ratio)
        for box, cost in boxes:
            if used + cost <= units:
                found = sum((p * value(used + cost, ratio * p / q) for p, q in box.outcomes if p), F(0))
                best = max(best, found)
        return best

    return value(0, F(1))


def log_of(level: Fraction) -> Decimal:
    """A reading whose exponential is not above the level."""
    return (D(level.numerator) / D(level.denominator)).ln() * (1 - D("1e-25"))


# --- the game


@pytest.mark.parametrize("multiples", [(1,), (1, 2), (2, 3)])
@pytest.mark.parametrize("growth", ["1", "1.1", "1.3"])
def test_rationals_agree(multiples: tuple[int, ...], growth: str) -> None:
    """With odds of e^0.2 as a ratio: not below the exact value, and equal to ten digits."""
    odds, units = F(math.exp(0.2)).limit_denominator(10**15), 12
    levels = [F(6, 5) * F(growth) ** used for used in range(units + 1)]
    truth = exact([(randomized_response(odds**m), m * m) for m in multiples], levels)
    menu = Menu.responses(STEP, multiples)
    found = float(worst_stopping(menu, [log_of(level) for level in levels]))
    assert truth * (1 - F(1, 10**12)) <= F(found)
    assert found <= float(truth) * (1 + 1e-10) + 1e-14


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_dominated_mechanisms_reach_no_more(data: Any) -> None:
    """Random boxes whose ratios stay within the odds, instead of randomized response: never above its value."""
    odds = F(3, 2)
    pieces = data.draw(st.lists(st.tuples(st.integers(1, 20), st.fractions(F(2, 3), F(3, 2))), min_size=2, max_size=3))
    under_q = [F(weight) for weight, _ in pieces]
    under_p = [F(weight) * ratio for weight, ratio in pieces]
    whole_q, whole_p = sum(under_q), sum(under_p)
    box = Box("some", tuple((p / whole_p, q / whole_q) for p, q in zip(under_p, under_q, strict=True)))
    if not all(1 / odds <= ratio <= odds for ratio in box.ratios() if ratio is not None):
        return
    levels = [F(11, 10) * F(data.draw(st.sampled_from(["1", "1.1", "1.3"]))) ** used for used in range(5)]
    assert exact([(box, 1)], levels) <= exact([(randomized_response(odds), 1)], levels)


def test_a_crossing_of_the_loss_is_not_bounded_so() -> None:
    """Why only stopped runs: a dominated box passes a loss more often than the response that dominates it."""
    odds = F(3, 2)
    half = Box("half", ((F(5, 7), F(4, 7)), (F(2, 7), F(3, 7))))  # ratios 5/4 and 2/3
    level = F(6, 5)

    def above(box: Box) -> Fraction:
        return sum((p for p, q in box.outcomes if p / q > level), F(0))

    assert all(1 / odds <= ratio <= odds for ratio in half.ratios() if ratio is not None)
    assert above(half) > above(randomized_response(odds))
    reward = [exact([(box, 1)], [level, level]) for box in (half, randomized_response(odds))]
    assert reward[0] < reward[1]


def test_a_constant_reading_is_the_worst_delta() -> None:
    """Stopping early never helps when the reading does not move."""
    menu = Menu.responses("0.1", (1, 2, 3))
    found = worst_stopping(menu, [D(2)] * 61)
    truth: Bound = worst_delta(menu, 60, 2)
    assert truth.lower <= found <= truth.upper * (1 + D("1e-12"))


# --- the odometer


@cache
def computed() -> MenuOdometer:
    """Responses of 0.1 to 0.3 up to 100 units at 1e-6."""
    return MenuOdometer.computed(delta="1e-6", menu=Menu.responses("0.1", (1, 2, 3)), budget=100)


def test_the_scale_is_certified_and_a_lower_one_is_refused() -> None:
    """Within a tenth of a percent of delta; the worst case of half a percent less is above it."""
    odometer = computed()
    assert 0.999e-6 < odometer.delta_upper() <= 1e-6
    with pytest.raises(InputError, match="only certified for"):
        MenuOdometer(
            odometer.delta,
            odometer.shape,
            odometer.parameter,
            odometer.horizon,
            odometer.menu,
            odometer.budget,
            odometer.scale * D("0.995"),
        )


def test_readings_are_little_above_what_one_epsilon_fixed_beforehand_would_need() -> None:
    """Above the worst epsilon of the units used, which holds for one epsilon only; within five percent at the end."""
    odometer = computed()
    for used in (10, 30, 60, 100):
        assert odometer.bound(MenuRecord(used)) >= worst_epsilon(odometer.menu, used, "1e-6").lower
    assert odometer.bound(MenuRecord(100)) < D("1.05") * worst_epsilon(odometer.menu, 100, "1e-6").upper


def test_stopped_runs_read_lower_than_losses() -> None:
    """Gaussian rounds of mu = 0.1: five percent or more below the boundary that bounds the loss itself."""
    menu = Menu((Offer(Gaussian(sigma=10), 1),), F(1, 200))
    stopped = MenuOdometer.computed(delta="1e-6", menu=menu, budget=100)
    loss = GaussianOdometer(D("1e-6"), "square_root", D("0.1"), D(1), D("5.436"), trusted=True)
    for used in (10, 50, 100):
        assert stopped.bound(MenuRecord(used)) < D("0.95") * loss.reading(D(used) / 100)


def test_only_entries_of_the_menu_are_recorded() -> None:
    """Repetitions and joint releases of entries add their costs; everything else is refused with the menu's names."""
    gaussian, laplace = Gaussian(sigma=10), Laplace(scale=10)
    menu = Menu((Offer(gaussian, 2), Offer(laplace, 3)), F(1, 50))
    odometer = MenuOdometer.computed(delta="0.01", menu=menu, budget=30)
    record = odometer.record(odometer.start(), Composed((gaussian, Repeated(laplace, 2))))
    assert record.units == 8
    assert odometer.read(record).delta == D("0.01")
    for event in (Gaussian(sigma=9), PoissonSampled(D("0.1"), gaussian), RandomizedResponse("0.1")):
        with pytest.raises(NotionError, match="not on the menu"):
            odometer.record(record, event)
    with pytest.raises(NoGuaranteeError, match="beyond this odometer's budget"):
        odometer.bound(odometer.record(record, Repeated(laplace, 8)))
    with pytest.raises(InputError, match="not a record"):
        odometer.bound("a state")


def test_what_is_stored_reads_back_and_is_verified_again() -> None:
    """JSON carries the menu; `verify` finds an edited scale."""
    data = computed().to_json()
    assert odometer_from_json(data) == computed()
    odometer_from_json(data).verify()  # type: ignore[union-attr]
    with pytest.raises(InputError, match="only certified for"):
        odometer_from_json({**data, "scale": "4"}).verify()  # type: ignore[union-attr]
    for broken in ({**data, "scale": 4}, {**data, "menu": {}}, {**data, "more": "1"}):
        with pytest.raises(InputError):
            odometer_from_json(broken)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"menu": "a menu"}, "not a Menu"),
        ({"budget": 0}, "budget"),
        ({"horizon": "0"}, "horizon"),
        ({"scale": "1"}, "only certified"),
    ],
)
def test_what_cannot_be_computed_is_refused(change: dict[str, Any], message: str) -> None:
    """Each field has a range; a scale has to be certified."""
    fields: dict[str, Any] = {"delta": "1e-6", "shape": "line", "parameter": "0.1", "horizon": "1"}
    fields |= {"menu": Menu.responses("0.1", (1,)), "budget": 100, "scale": "6"}
    with pytest.raises(InputError, match=message):
        MenuOdometer(**{**fields, **change})
