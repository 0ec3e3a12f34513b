"""Prices of allocated records hold the truth, which is computed here in other ways."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.pld.allocation import oracles

from dosimeter.events import Gaussian, Laplace, PoissonSampled, RandomAllocation, Repeated
from dosimeter.pld.accountant import Accountant

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())


def composed(*events: object) -> Accountant:
    accountant = Accountant()
    accountant.extend(events)  # type: ignore[arg-type]
    return accountant


def allocated(steps: int, sigma: object, selected: int = 1) -> Accountant:
    return composed(RandomAllocation(steps, selected, Gaussian(sigma)))  # type: ignore[arg-type]


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("sigma", ["0.6", "1", "3"])
def test_two_steps_equal_the_integral(sigma: str, direction: str) -> None:
    """One of two steps, by quadrature over the other, to ten digits."""
    for epsilon in (0.0, 0.25, 0.7, 1.5):
        exact = oracles.delta(2, float(sigma), epsilon, direction, points=40_001)
        bound = allocated(2, sigma).delta(repr(epsilon), direction=direction)
        assert float(bound.lower) <= exact + 1e-11
        assert float(bound.upper) >= exact - 1e-11
        assert float(bound.upper - bound.lower) <= 1e-8 * exact + 1e-12


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("sigma", "epsilon"), [("1", 0.5), ("2", 0.3)])
def test_three_steps_equal_the_integral(sigma: str, epsilon: float, direction: str) -> None:
    """One of three steps, by quadrature over the two others."""
    exact = oracles.delta(3, float(sigma), epsilon, direction, points=1501)
    bound = allocated(3, sigma).delta(repr(epsilon), direction=direction)
    assert float(bound.lower) <= exact + 1e-11
    assert float(bound.upper) >= exact - 1e-11
    assert bound.upper - bound.lower <= Decimal("1e-8") * bound.upper


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("steps", "sigma", "epsilon"), [(50, 1.0, 0.3), (20, 0.5, 2.0), (150, 1.5, 0.05)])
def test_many_steps_agree_with_simulation(steps: int, sigma: float, epsilon: float, direction: str) -> None:
    """Seeded sums of log-normals meet the bounds within five standard errors (false alarm below 1e-6)."""
    ratio, g = oracles.simulated(steps, sigma, 200_000, 20_261_130), math.exp(epsilon)
    values = np.maximum(ratio - g, 0) if direction == "remove" else np.maximum(1 - g * ratio, 0)
    error = 5 * float(values.std()) / math.sqrt(len(values))
    bound = allocated(steps, repr(sigma)).delta(repr(epsilon), direction=direction)
    assert float(bound.lower) - error <= float(values.mean()) <= float(bound.upper) + error
    assert bound.upper - bound.lower <= Decimal("1e-6") * bound.upper


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_published_brackets_hold_ours(case: dict[str, str]) -> None:
    """Certified brackets of others (4 to 5 per cent wide) contain ours, which is a thousand times narrower and more."""
    found = allocated(int(case["steps"]), case["sigma"], int(case["selected"])).epsilon(case["delta"])
    assert Decimal(case["low"]) < found.lower <= found.upper < Decimal(case["high"])
    assert found.upper - found.lower <= Decimal("1e-5") * found.upper


def test_one_step_is_the_step_and_all_steps_are_all_of_them() -> None:
    """1 of 1 is a release; t of t are t releases."""
    assert allocated(1, 2).epsilon("1e-6") == composed(Gaussian(2)).epsilon("1e-6")
    assert allocated(7, 2, 7).epsilon("1e-6") == composed(Repeated(Gaussian(2), 7)).epsilon("1e-6")


def test_groups_need_not_be_equal() -> None:
    """3 of 7: two groups of two and one of three, more than 3 of 9 and less than 3 of 6."""
    few, between, many = (allocated(steps, 1, 3).epsilon("1e-6") for steps in (6, 7, 9))
    assert few.lower > between.upper > between.lower > many.upper


@given(steps=st.integers(2, 300), more=st.integers(1, 300), sigma=st.floats(0.5, 4), delta=st.floats(1e-9, 1e-2))
@settings(max_examples=12, deadline=None)
def test_more_steps_and_more_noise_cost_less(steps: int, more: int, sigma: float, delta: float) -> None:
    """Means of more alike variables are smaller in convex order; so are log-normals of smaller variance."""
    here = allocated(steps, repr(sigma)).epsilon(repr(delta))
    assert here.lower <= here.upper
    assert here.upper - here.lower <= Decimal("1e-5") * here.upper + Decimal("1e-12")
    assert allocated(steps + more, repr(sigma)).epsilon(repr(delta)).lower <= here.upper
    assert allocated(steps, repr(1.25 * sigma)).epsilon(repr(delta)).lower <= here.upper


@given(steps=st.integers(2, 2000), sigma=st.floats(0.4, 5), epsilon=st.floats(0, 3))
@example(steps=10, sigma=4.0, epsilon=2.0)  # beyond nearly every loss: the second engine's window is one point
@settings(max_examples=12, deadline=None)
def test_between_one_coin_and_a_known_step(steps: int, sigma: float, epsilon: float) -> None:
    """One Poisson-sampled run of rate 1/t lies below in both directions (a conditional mean), the step itself above."""
    step = Gaussian(repr(sigma))
    for direction in ("remove", "add"):
        here = allocated(steps, repr(sigma)).delta(repr(epsilon), direction=direction)
        rate = Decimal(1) / steps
        below = composed(PoissonSampled(rate.quantize(Decimal("1e-20"), "ROUND_FLOOR"), step))
        assert below.delta(repr(epsilon), direction=direction).lower <= here.upper
        assert composed(step).delta(repr(epsilon)).upper >= here.lower


def test_a_poisson_sample_is_another_scheme() -> None:
    """Control: t Poisson-sampled steps can be far too cheap. A record that surely takes part is easier to see."""
    ours = allocated(10, "0.3").delta(0)
    poisson = composed(Repeated(PoissonSampled("0.1", Gaussian("0.3")), 10)).delta(0)
    assert poisson.upper < Decimal("0.66") < Decimal("0.76") < ours.lower
    ratio = oracles.simulated(10, 0.3, 400_000, 7)
    assert float(np.maximum(1 - ratio, 0).mean()) == pytest.approx(float(ours.upper), abs=0.003)


def test_the_average_loss_is_no_price() -> None:
    """Control: t runs with 1/t of the loss each, one Gaussian of mu^2 = s/t, are caught by the lower bound."""
    wrong = composed(Gaussian(Decimal("31.62"))).epsilon("1e-6")  # sigma sqrt(1000)
    assert wrong.upper < allocated(1000, 1).epsilon("1e-6").lower


def test_tiny_deltas_are_read_as_closely() -> None:
    """At 1e-30 one release of the thousand decides; the bracket stays narrow."""
    bound = allocated(1000, 1).epsilon("1e-30")
    assert bound.upper - bound.lower <= Decimal("1e-8") * bound.upper
    assert Decimal("4.844") < bound.lower < Decimal("4.8441")


def test_passes_and_other_releases_compose() -> None:
    """Five passes cost less than five times one; a Laplace release adds at most its epsilon."""
    one = RandomAllocation(100, 1, Gaussian(2))
    single, five = composed(one).epsilon("1e-6"), composed(Repeated(one, 5)).epsilon("1e-6")
    assert single.upper < five.lower < 5 * single.lower
    both = composed(Repeated(one, 5), Laplace(10)).epsilon("1e-6")
    assert five.upper < both.lower
    assert both.upper < five.upper + Decimal("0.1")
    gaussian = composed(one, Gaussian(5)).epsilon("1e-6")
    assert gaussian.upper < composed(Gaussian(2), Gaussian(5)).epsilon("1e-6").lower
    assert gaussian.upper - gaussian.lower <= Decimal("1e-6") * gaussian.upper


def test_an_extreme_plan_has_a_wide_and_valid_price_at_once() -> None:
    """Moments beyond floating point: the price lies between simpler compositions, and says so by its width."""
    for steps, sigma in ((1000, "0.03"), (10, "0.001"), (10**12, "0.01")):
        bound = allocated(steps, sigma).epsilon("1e-6")
        assert 0 < bound.lower < bound.upper == composed(Gaussian(sigma)).epsilon("1e-6").upper
        some = allocated(steps, sigma).delta(1)
        assert 0 < some.lower <= some.upper <= 1
