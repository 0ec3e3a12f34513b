"""Trade-off functions: known curves, duality with profiles in the right direction, and what is refused."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.vectors.ranges import magnitudes

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.notions import GDP, ApproxDP, PureDP
from dosimeter.notions import convert as c
from dosimeter.notions import profiles as p

rates = st.integers(0, 1000).map(lambda k: Decimal(k) / 1000)


@given(magnitudes(-3, 1), rates)
@settings(max_examples=60, deadline=None)
def test_every_curve_is_below_perfect_ignorance_and_above_its_profile(mu: Decimal, x: Decimal) -> None:
    """A curve stays below 1 - x, and no (epsilon, delta) point of the same guarantee says more than it does."""
    curve = c.gdp_to_tradeoff(GDP(mu), false_positive_rate=x)
    assert 0 <= curve <= 1 - x
    points = [c.gdp_to_approx(GDP(mu), target_epsilon=e) for e in ("0", "0.1", "0.5", "1", "2", "5")]
    assert c.profile_to_tradeoff(points, false_positive_rate=x) <= curve + Decimal("1e-24")


@given(magnitudes(-2, 1), rates)
@settings(max_examples=60, deadline=None)
def test_randomized_response_is_above_its_gdp(epsilon: Decimal, x: Decimal) -> None:
    """The curve of epsilon-DP is above the curve of the mu it converts to, and Laplace is above epsilon-DP."""
    response = c.approx_to_tradeoff(ApproxDP(epsilon), false_positive_rate=x)
    assert c.gdp_to_tradeoff(c.pure_to_gdp(PureDP(epsilon)), false_positive_rate=x) <= response + Decimal("1e-24")
    assert response <= p.laplace_tradeoff(epsilon, x) + Decimal("1e-24")


def test_curves_at_their_ends() -> None:
    """No false positives and no false negatives at the two ends; failures take their share off."""
    assert c.gdp_to_tradeoff(GDP(1), false_positive_rate=0) == 1
    assert c.gdp_to_tradeoff(GDP(1), false_positive_rate=1) == 0
    assert c.gdp_to_tradeoff(GDP(1, "0.1"), false_positive_rate=0) == Decimal("0.9")
    assert c.gdp_to_tradeoff(GDP(1, "0.1"), false_positive_rate="0.9") == 0
    assert c.gdp_to_tradeoff(GDP(0), false_positive_rate="0.3") <= Decimal("0.7")
    assert c.approx_to_tradeoff(ApproxDP(1, "0.1"), false_positive_rate="0.95") == 0
    assert p.laplace_tradeoff(1, 0) == 1


def test_failures_in_a_gaussian_curve_match_its_profile() -> None:
    """(mu, d)-approximate GDP as a curve and as a profile are one guarantee, on a fine grid of epsilons."""
    guarantee = GDP(1, "0.05")
    points = [c.gdp_to_approx(guarantee, target_epsilon=Decimal(k) / 50) for k in range(200)]
    for x in ("0.01", "0.1", "0.3", "0.45"):
        curve = c.gdp_to_tradeoff(guarantee, false_positive_rate=x)
        assert abs(c.profile_to_tradeoff(points, false_positive_rate=x) - curve) < Decimal("2e-4")


tables = st.lists(st.integers(0, 30), min_size=2, max_size=5)


@given(tables, tables, st.sampled_from(["0", "0.05", "0.3", "1", "3"]))
@settings(max_examples=100, deadline=None)
def test_duality_in_the_right_direction(ps: list[int], qs: list[int], epsilon: str) -> None:
    """1 + f*(-e^eps) for f = T(P, Q) is the divergence of Q from P, not of P from Q."""
    size = min(len(ps), len(qs))
    assume(sum(ps[:size]) and sum(qs[:size]))
    p_ = [Fraction(k, sum(ps[:size])) for k in ps[:size]]
    q_ = [Fraction(k, sum(qs[:size])) for k in qs[:size]]
    dual = c.tradeoff_to_approx(p.best_tests(p_, q_), target_epsilon=epsilon).delta
    assert abs(dual - p.hockey_stick(q_, p_, epsilon)) < Decimal("1e-24")


def test_duality_of_an_asymmetric_pair_has_a_direction() -> None:
    """The control: for an asymmetric pair the other direction gives another number."""
    p_, q_ = ["0.5", "0.3", "0.2", "0"], ["0.35", "0.3", "0.2", "0.15"]
    dual = c.tradeoff_to_approx(p.best_tests(p_, q_), target_epsilon="0.1").delta
    right, wrong = p.hockey_stick(q_, p_, "0.1"), p.hockey_stick(p_, q_, "0.1")
    assert abs(dual - right) < Decimal("1e-24") < abs(dual - wrong)


def test_the_response_pair_is_the_curve_of_its_guarantee() -> None:
    """The tests between the two answers of (0, 0.2)-randomized response trace max(0, 1 - d - x)."""
    top = Fraction(1, 5)
    p_, q_ = [Fraction(2, 5), Fraction(2, 5), top, 0], [Fraction(2, 5), Fraction(2, 5), 0, top]
    vertices = p.best_tests(p_, q_)
    assert vertices[0] == (0, Fraction(4, 5))
    assert all(miss == max(0, 1 - top - x) for x, miss in vertices)


@pytest.mark.parametrize(
    "vertices",
    [
        [(0, 1)],
        [("0.1", "0.9"), (1, 0)],
        [(0, 1), ("0.5", "0.6"), (1, 0)],  # above 1 - x
        [(0, "0.5"), ("0.5", "0.45"), (1, 0)],  # not convex
        [(0, "0.5"), ("0.2", "0.6"), (1, 0)],  # rises
        [(0, 1), ("0.5", "0.2"), ("0.4", "0.1"), (1, 0)],  # goes back
        [(0, 1), (1, "0.1")],  # does not end at (1, 0)
    ],
)
def test_what_is_not_a_trade_off_function_is_refused(vertices: list[tuple[str, str]]) -> None:
    """Vertices that no pair of distributions has are an input error."""
    with pytest.raises(InputError, match="trade-off"):
        c.tradeoff_to_approx(vertices, target_epsilon=1)


def test_an_empty_profile_says_nothing() -> None:
    """Without any point there is no curve to state."""
    with pytest.raises(InputError, match="at least one"):
        c.profile_to_tradeoff([], false_positive_rate="0.1")


def test_finite_pairs_are_read_exactly() -> None:
    """Tables must be distributions over the same outputs; ratios stay exact; an impossible output has no divergence."""
    assert p.hockey_stick(["1/3", "2/3"], ["2/3", "1/3"], 0) >= Decimal("0.3333333333333333333333333333333333333333333")
    assert p.hockey_stick(["0.5", "0.5"], ["0.5", "0.5"], "0.1") == 0
    assert p.hockey_stick(["0.5", "0.5"], ["0.5", "0.5"], "-0.1") > 0
    assert p.renyi_divergence(["0.5", "0.5"], ["0.5", "0.5"], 3) == 0
    with pytest.raises(InputError, match="sum to exactly 1"):
        p.hockey_stick(["0.5", "0.4"], ["0.5", "0.5"], 0)
    with pytest.raises(InputError, match="same outputs"):
        p.hockey_stick(["1"], ["0.5", "0.5"], 0)
    with pytest.raises(InputError, match="outside"):
        p.hockey_stick(["1.5", "-0.5"], ["0.5", "0.5"], 0)
    with pytest.raises(NoGuaranteeError, match="infinite"):
        p.renyi_divergence(["0.5", "0.5"], ["1", "0"], 2)
