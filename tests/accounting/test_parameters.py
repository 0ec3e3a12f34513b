"""Every number of a plan is found from the others, in every kind of plan: certified, and as good as it gets."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting.calibration import gaussian_sigma
from dosimeter.accounting.fitting import widened
from dosimeter.accounting.fixed_plans import EXACT, PROFILE, composed, group_price, plan_price
from dosimeter.accounting.parameters import PARAMETERS, find_parameter
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
)
from dosimeter.notions import GDP, ZCDP, ApproxDP, PureDP

Build = Callable[[Any], Event]


def coins(q: Any, event: Event, times: int) -> Event:
    """A training run on Poisson samples."""
    return Repeated(PoissonSampled(q, event), times)


def exchange(event: Event, times: int = 100, batch: int = 10, population: int = 1000) -> Event:
    """A training run on batches of fixed size."""
    return Repeated(FixedSizeSampled(batch, population, event), times)


def nested(noise: Any) -> Event:
    """Gaussian noise deep in a tree of other mechanisms."""
    return Repeated(Composed((Repeated(Gaussian(noise), 3), Laplace(50), RandomizedResponse("0.01", "1e-9"))), 7)


def every_noise(factor: Any) -> Event:
    """A tree whose noise is widened everywhere by one factor."""
    return widened(Composed((Laplace(2), coins("0.1", Gaussian(1), 20), RandomizedResponse("0.5"))), factor)


MATRIX: list[tuple[str, str, Build, Any]] = [  # what is found, the kind of plan, the plan, epsilon
    ("noise_multiplier", "one release", lambda v: Gaussian(v), 1),
    ("noise_multiplier", "repeated", lambda v: Repeated(Gaussian(v), 100), 1),
    ("noise_multiplier", "nested, mixed, may fail", nested, 2),
    ("noise_multiplier", "poisson", lambda v: coins("0.01", Gaussian(v), 1000), 1),
    ("noise_multiplier", "two on one sample", lambda v: coins("0.01", Composed((Gaussian(v), Gaussian(5))), 100), 1),
    ("noise_multiplier", "poisson and Laplace", lambda v: Composed((coins("0.01", Gaussian(v), 50), Laplace(10))), 1),
    ("noise_multiplier", "allocation", lambda v: RandomAllocation(10, 1, Gaussian(v)), 2),
    ("noise_multiplier", "every noise", every_noise, 1),
    ("sigma", "discrete", lambda v: Repeated(DiscreteGaussian(v, 1), 5), 1),
    ("sigma", "discrete, poisson", lambda v: coins("0.1", DiscreteGaussian(v, 1), 1), "0.5"),
    ("scale", "Laplace", lambda v: Repeated(Laplace(v), 10), 1),
    ("scale", "discrete Laplace", lambda v: Repeated(DiscreteLaplace(v, 2), 10), 1),
    ("scale", "Laplace, poisson", lambda v: coins("0.1", Laplace(v), 10), 1),
    ("l2_sensitivity", "poisson", lambda v: coins("0.01", Gaussian(2, v), 1000), 1),
    ("l2_sensitivity", "mixed", lambda v: Composed((Gaussian(2, v), Laplace(3))), 1),
    ("l1_sensitivity", "Laplace", lambda v: Repeated(Laplace(2, v), 2), 1),
    ("epsilon", "responses", lambda v: Repeated(RandomizedResponse(v), 1000), 1),
    ("epsilon", "responses, poisson", lambda v: coins("0.1", RandomizedResponse(v), 10), 1),
    ("epsilon", "declared", lambda v: Composed((Declared(PureDP(v), "theirs"), Gaussian(5))), 1),
    ("delta", "may fail", lambda v: Composed((RandomizedResponse("0.3", v), Gaussian(5))), 1),
    ("mu", "declared", lambda v: Composed((Declared(GDP(v), "theirs"), Laplace(5))), 1),
    ("count", "Gaussian", lambda n: Repeated(Gaussian(20), n), 1),
    ("count", "poisson", lambda n: coins("0.01", Gaussian("1.4"), n), 1),
    ("count", "responses", lambda n: Repeated(RandomizedResponse("0.1"), n), 5),
    ("count", "mixed", lambda n: Composed((Repeated(Laplace(50), n), Gaussian(10))), 1),
    ("probability", "Gaussian", lambda q: coins(q, Gaussian("1.4"), 1000), 1),
    ("probability", "Laplace", lambda q: coins(q, Laplace("1.4"), 100), 1),
    ("expected_batch_size", "Gaussian", lambda b: coins(Fraction(b, 60_000), Gaussian("1.1"), 1000), 1),
    ("selected", "allocation", lambda k: RandomAllocation(20, k, Gaussian(5)), 1),
    ("steps", "allocation", lambda n: RandomAllocation(n, 1, Gaussian(2)), 1),
]
EXCHANGES: list[tuple[str, str, Build, Any]] = [
    ("noise_multiplier", "fixed size", lambda v: exchange(Gaussian(v, 2)), 1),
    ("noise_multiplier", "draws", lambda v: WithReplacementSampled(2, 50, Gaussian(v, 2)), 1),
    ("scale", "Laplace, fixed size", lambda v: exchange(Laplace(v, 2), 1, 10, 100), 1),
    ("l2_sensitivity", "fixed size", lambda v: exchange(Gaussian(4, v)), 1),
    ("count", "fixed size", lambda n: exchange(Gaussian(2, 2), n), 1),
    ("batch_size", "fixed size", lambda b: exchange(Gaussian("1.1", 2), 1000, b, 6_000), 3),
    ("draws", "draws", lambda b: WithReplacementSampled(b, 100, Gaussian(2, 2)), "0.5"),
    ("population", "fixed size", lambda n: exchange(Gaussian("1.1", 2), 1000, 100, n), 1),
]
ENDS = {
    "selected": {"high": 20},
    "expected_batch_size": {"high": 60_000},
    "batch_size": {"high": 6_000},
    "steps": {"high": 16},
}
ENDS |= {"population": {"low": 100}, "draws": {"high": 12}}


@pytest.mark.parametrize(
    ("parameter", "build", "epsilon", "relation"),
    [(p, b, e, "add_remove") for p, _, b, e in MATRIX] + [(p, b, e, "replace_one") for p, _, b, e in EXCHANGES],
    ids=[f"{p}-{kind}" for p, kind, _, _ in MATRIX + EXCHANGES],
)
def test_the_number_meets_the_target_and_a_little_more_does_not(
    parameter: str, build: Build, epsilon: Any, relation: str
) -> None:
    """The upper bound is within the target at the value; a millionth further (the next whole number) the lower is not.

    A search that stopped early, on the wrong side, or at the rival would fail one of the two.
    """
    kind, target = PARAMETERS[parameter], Decimal(epsilon)
    found = find_parameter(
        build,
        parameter,
        epsilon=epsilon,
        delta="1e-5",
        relation=relation,
        tolerance="1e-7",
        **ENDS.get(parameter, {}),  # type: ignore[arg-type]
    )
    assert found.way == EXACT

    def price(value: Decimal) -> Any:
        return composed([(build(int(value) if kind.whole else value), 1)], relation).epsilon("1e-5")

    assert price(found.value).upper <= target
    assert found.rival is not None
    beyond = 1 if kind.whole else found.value * Decimal("1e-6")
    worse = found.value + beyond if kind.rising else found.value - beyond
    assert price(worse).lower > target
    assert (found.rival > found.value) is kind.rising
    if kind.whole:
        assert found.rival == worse
        assert found.rival_fails


def test_every_parameter_is_in_the_matrix() -> None:
    """Nothing can be unknown that is not tried above or below."""
    tried = {row[0] for row in (*MATRIX, *EXCHANGES)} | {"rho"}
    assert set(PARAMETERS) == tried


@settings(max_examples=12, deadline=None)
@given(st.floats(0.05, 8), st.integers(2, 12), st.integers(1, 10**6))
def test_gaussian_noise_agrees_with_its_closed_form(epsilon: float, digits: int, count: int) -> None:
    """For any target and number of Gaussian releases the search finds the analytic noise times sqrt(count)."""
    delta = f"1e-{digits}"
    found = find_parameter(lambda v: [(Gaussian(v), count)], "noise_multiplier", epsilon=repr(epsilon), delta=delta)
    best = float(gaussian_sigma(epsilon=epsilon, delta=delta, l2_sensitivity=1)) * count**0.5
    assert best * (1 - 1e-14) <= float(found.value) <= best * (1 + 2e-9)


def test_a_round_number_is_found_again() -> None:
    """Laplace noise of scale 1 is exactly what epsilon 1 allows at delta 0, and so is a hundredth a hundred times."""
    assert find_parameter(Laplace, "scale", epsilon=1, delta=0).value == 1
    responses = find_parameter(lambda v: [(RandomizedResponse(v), 100)], "epsilon", epsilon=1, delta=0)
    assert responses.value == Decimal("0.01")
    assert find_parameter(lambda n: [(Laplace(20), n)], "count", epsilon=1, delta=0).value == 20


def test_epsilon_zero_is_a_target_too() -> None:
    """At epsilon 0 delta is the advantage of an attack, and noise that limits it exists: 39894.23 for 1e-5."""
    found = find_parameter(lambda v: Gaussian(v), "noise_multiplier", epsilon=0, delta="1e-5")
    assert float(found.value) == pytest.approx(39894.228, rel=1e-7)
    assert composed([(Gaussian(found.value), 1)], "add_remove").delta(0).upper <= Decimal("1e-5")
    steps = find_parameter(lambda n: coins("0.001", Gaussian(100), n), "count", epsilon=0, delta="1e-5")
    assert (steps.value, steps.rival) == (6, 7)


FLOORS: list[tuple[str, Build, Any, Any, str]] = [
    ("noise_multiplier", lambda v: Composed((Gaussian(v), Laplace(1))), "0.5", "1e-6", "still costs at least 0.99999"),
    ("noise_multiplier", lambda v: Composed((Gaussian(v), RandomizedResponse(1, "1e-3"))), 5, "1e-6", "infinite"),
    ("noise_multiplier", lambda v: Composed((Gaussian(v), Declared(ApproxDP(1, "1e-4"), "x"))), 5, "1e-5", "infinite"),
    ("noise_multiplier", lambda v: Gaussian(v), 1, 0, "delta=0"),
    ("noise_multiplier", lambda v: Composed((Gaussian(v), Laplace(1))), 0, "1e-6", "delta at epsilon 0 is still"),
    ("count", lambda n: Repeated(Gaussian(1), n), "0.1", "1e-6", "at count=1 it still costs at least"),
    ("probability", lambda q: Composed((coins(q, Gaussian(1), 1), Gaussian(5))), "0.5", "1e-6", "still costs"),
    ("l2_sensitivity", lambda v: Composed((Gaussian(1, v), Laplace(1))), "0.5", "1e-6", "still costs"),
    ("delta", lambda v: Composed((RandomizedResponse("0.5", v), Laplace(1))), "0.5", "1e-6", "still costs"),
]


@pytest.mark.parametrize(("parameter", "build", "epsilon", "delta", "say"), FLOORS)
def test_where_no_value_is_enough_the_floor_is_named(
    parameter: str, build: Build, epsilon: Any, delta: Any, say: str
) -> None:
    """What the rest of the plan costs, or may fail with, cannot be calibrated away; the message says which it is."""
    with pytest.raises(NoGuaranteeError, match=f"no {parameter} from .* meets epsilon=") as caught:
        find_parameter(build, parameter, epsilon=epsilon, delta=delta)
    assert say in str(caught.value)


def test_where_every_value_is_enough_there_is_no_rival() -> None:
    """A target above everything leaves the far end of the range, and says that nothing failed."""
    found = find_parameter(lambda n: [(Laplace(1), 1), (Gaussian(10), n)], "count", epsilon=50, delta="1e-6", high=10)
    assert (found.value, found.rival, found.rival_fails) == (10, None, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "nan"},
        {"epsilon": "inf"},
        {"epsilon": -1},
        {"epsilon": "0", "delta": "0"},
        {"delta": "nan"},
        {"delta": 1},
        {"delta": -1},
        {"parameter": "volume"},
        {"parameter": None},
        {"low": 0},
        {"low": "nan"},
        {"high": -3},
        {"low": 5, "high": 4},
        {"tolerance": 0},
        {"tolerance": "0.5"},
        {"build": lambda _: []},
        {"build": lambda _: "noise"},
        {"build": lambda v: [(Gaussian(v), 0)]},
        {"build": lambda v: [(Gaussian(v), "2.5")]},
    ],
)
def test_senseless_questions_are_refused(changes: dict[str, Any]) -> None:
    """NaN, infinities, negative numbers, unknown names, empty ranges and plans that are none."""
    asked = {"build": lambda v: Gaussian(v), "parameter": "noise_multiplier", "epsilon": 1, "delta": "1e-6", **changes}
    with pytest.raises(InputError):
        find_parameter(asked.pop("build"), asked.pop("parameter"), **asked)


def test_a_scheme_under_another_relation_is_refused() -> None:
    """Calibration does not hide that Poisson samples say nothing about exchanged records."""
    with pytest.raises(NotionError, match="replace_one"):
        find_parameter(
            lambda v: coins("0.01", Gaussian(v), 10),
            "noise_multiplier",
            epsilon=1,
            delta="1e-5",
            relation="replace_one",
        )


BY_THEOREM: list[tuple[str, Build, str]] = [
    ("rho", lambda v: Composed((Declared(ZCDP(v), "theirs"), Laplace(5))), "rdp_sum"),
    ("sigma", lambda v: Repeated(DiscreteGaussian(v, 3), 5), "zcdp_sum"),
    ("scale", lambda v: RandomAllocation(10, 2, Laplace(v)), "notions_folded"),
]


@pytest.mark.parametrize(("parameter", "build", "way"), BY_THEOREM)
def test_plans_without_a_law_are_calibrated_by_a_theorem(parameter: str, build: Build, way: str) -> None:
    """What has no privacy loss distribution is bounded by a theorem, which is named; a little further it says more."""
    found = find_parameter(build, parameter, epsilon=1, delta="1e-6")
    assert (found.way, found.rival_fails) == (way, False)
    assert found.epsilon.upper <= 1
    step = found.value * Decimal("1e-6") * (1 if PARAMETERS[parameter].rising else -1)
    assert plan_price([(build(found.value + step), 1)], "1e-6").epsilon.upper > 1


def test_the_own_deltas_of_a_plan_are_part_of_its_target() -> None:
    """Without a law, what parts fail with of their own is taken from delta; too much of it leaves nothing."""
    parts: list[tuple[Event, int]] = [(RandomAllocation(10, 2, Laplace(20)), 1), (RandomizedResponse("0.1", "1e-6"), 3)]
    price = plan_price(parts, "1e-5")
    assert not price.exact
    assert Decimal("0.3") < price.epsilon.upper < 1
    with pytest.raises(NoGuaranteeError):
        plan_price(parts, "2.9e-6")


def test_groups_are_priced_by_the_better_of_two_ways() -> None:
    """Events restated for two know Gaussian noise exactly; the profile knows a whole training run, and says less."""
    gaussian = group_price([(Gaussian(3), 1)], "1e-5", size=3)
    assert gaussian.exact
    assert float(gaussian.epsilon.upper) == pytest.approx(4.37717809568, rel=1e-9)
    run = [(PoissonSampled("0.01", Gaussian(1)), 300)]
    together, apart = (group_price(run, "1e-5", size=2, sampling=who) for who in ("groups", "records"))
    assert (apart.way, together.way) == (PROFILE, EXACT)
    assert 2 * float(plan_price(run, "1e-5").epsilon.lower) < float(apart.epsilon.upper) < 2.4
    assert group_price(run, "1e-5", size=1) == plan_price(run, "1e-5")
    with pytest.raises(InputError, match="sampling"):
        group_price(run, "1e-5", size=2, sampling="families")
