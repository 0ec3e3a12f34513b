"""Optimal composition is exact, and no published form is below it."""

import itertools
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import (
    advanced_capped,
    advanced_drv,
    advanced_kov,
    advanced_squares,
    advanced_tanh,
    advanced_zcdp,
    basic,
    murtagh_vadhan_epsilon,
    optimal_heterogeneous_delta,
    optimal_heterogeneous_epsilon,
    optimal_homogeneous_delta,
    optimal_homogeneous_epsilon,
    optimal_homogeneous_value,
    slack_for,
)
from dosimeter.composition.murtagh_vadhan import bracket
from dosimeter.composition.parts import read_parts
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.notions import ApproxDP

epsilons = st.decimals(min_value=Decimal("0.001"), max_value=3, places=3)


def brute_force(parts: list[ApproxDP], epsilon: Decimal) -> mpmath.mpf:
    """The hockey-stick divergence of the product of randomized responses, over all their answers."""
    e = mpmath.mpf(str(epsilon))
    excess = mpmath.mpf(0)
    for truths in itertools.product((1, -1), repeat=len(parts)):
        mass_p = mass_q = mpmath.mpf(1)
        for sign, part in zip(truths, parts, strict=True):
            truth = 1 / (1 + mpmath.exp(-mpmath.mpf(str(part.epsilon))))
            mass_p *= truth if sign > 0 else 1 - truth
            mass_q *= truth if sign < 0 else 1 - truth
        excess += max(mpmath.mpf(0), mass_p - mpmath.exp(e) * mass_q)
    survive = mpmath.fprod(1 - mpmath.mpf(str(part.delta)) for part in parts)
    return 1 - survive * (1 - excess)


@given(
    st.lists(st.builds(ApproxDP, epsilons, st.sampled_from(["0", "1e-6", "0.01"])), min_size=1, max_size=7), st.data()
)
@settings(max_examples=40, deadline=None)
def test_delta_is_the_divergence_of_randomized_responses(parts: list[ApproxDP], data: st.DataObject) -> None:
    """For any few mechanisms and any epsilon, below zero too, delta is met from both sides to 18 digits."""
    epsilon = data.draw(st.decimals(min_value=-3, max_value=basic(parts).epsilon, places=4))
    ours = optimal_heterogeneous_delta(parts, epsilon)
    with mpmath.workdps(50):
        truth = brute_force(parts, epsilon)
        assert mpmath.mpf(str(ours.lower)) <= truth + mpmath.mpf("1e-45")
        assert mpmath.mpf(str(ours.upper)) >= truth - mpmath.mpf("1e-45")
        assert mpmath.mpf(str(ours.upper - ours.lower)) <= truth * mpmath.mpf("1e-18") + mpmath.mpf("1e-45")


@given(st.lists(epsilons, min_size=1, max_size=7), st.sampled_from(["1e-30", "1e-9", "1e-4", "0.03", "0.4", "0.999"]))
@settings(max_examples=40, deadline=None)
def test_epsilon_is_the_least_that_delta_allows(values: list[Decimal], delta: str) -> None:
    """At the returned epsilon delta holds certainly; a hair below the lower end it certainly does not."""
    found = optimal_heterogeneous_epsilon(values, delta)
    assert optimal_heterogeneous_delta(values, found.upper).upper <= Decimal(delta)
    assert found.upper - found.lower <= found.upper * Decimal("1e-20")
    if found.lower:
        below = found.lower * (1 - Decimal("1e-18"))
        assert optimal_heterogeneous_delta(values, below).lower > Decimal(delta)


@given(epsilons, st.integers(1, 60), st.sampled_from(["0", "1e-7"]), st.sampled_from(["1e-5", "1e-3"]))
@settings(max_examples=25, deadline=None)
def test_equal_mechanisms_agree_by_both_routes(epsilon: Decimal, count: int, own: str, delta: str) -> None:
    """The binomial law and a list of totals give the same answer."""
    part = ApproxDP(epsilon, own)  # type: ignore[arg-type]
    split = [(part, count), (ApproxDP(Decimal("1e-40"), Decimal(0)), 1)]  # a second epsilon that adds nothing
    one, other = optimal_homogeneous_epsilon(part, count, delta), optimal_heterogeneous_epsilon(split, delta)
    assert one <= other.upper
    assert other.lower <= one * (1 + Decimal("1e-18"))


def test_published_values_lie_on_the_curve() -> None:
    """((k - 2i) e, delta_i) are points of delta at any epsilon, from the plain sum down to epsilon 0."""
    part = ApproxDP("0.3", "1e-6")  # type: ignore[arg-type]
    values = [optimal_homogeneous_value(part, 9, lies) for lies in range(5)]
    assert [value.epsilon for value in values] == [Decimal(e) for e in ("2.7", "2.1", "1.5", "0.9", "0.3")]
    for value in values:
        assert value.delta == optimal_homogeneous_delta(part, 9, value.epsilon)
    assert values[0].delta == Fraction(1) - (1 - Fraction(1, 10**6)) ** 9 or values[0].delta > Decimal("8.99e-6")
    assert all(a.delta < b.delta for a, b in itertools.pairwise(values))
    with pytest.raises(InputError, match="lies"):
        optimal_homogeneous_value(part, 9, 5)


def test_between_published_values_delta_is_a_chord() -> None:
    """delta is linear in e^epsilon between two lattice points: better than the next published value."""
    left, right = (optimal_homogeneous_value("0.1", 30, lies) for lies in (10, 9))
    middle = (left.epsilon + right.epsilon) / 2
    delta = optimal_homogeneous_delta("0.1", 30, middle)
    with mpmath.workdps(40):
        a, b, m = (mpmath.exp(mpmath.mpf(str(e))) for e in (left.epsilon, right.epsilon, middle))
        share = (m - a) / (b - a)
        chord = (1 - share) * mpmath.mpf(str(left.delta)) + share * mpmath.mpf(str(right.delta))
        assert abs(mpmath.mpf(str(delta)) - chord) < chord * mpmath.mpf("1e-20")
    assert delta < left.delta


def test_the_order_of_the_theorems() -> None:
    """100 times epsilon 0.1 at delta 1e-5: optimal < zCDP < tanh < squares < DRV, as published."""
    parts = [("0.1", 100)]
    values = [
        optimal_homogeneous_epsilon("0.1", 100, "1e-5"),
        advanced_zcdp(parts, "1e-5").epsilon,
        advanced_tanh(parts, "1e-5").epsilon,
        advanced_squares(parts, "1e-5").epsilon,
        advanced_drv(parts, "1e-5").epsilon,
    ]
    assert [round(value, 3) for value in values] == [Decimal(v) for v in ("4.307", "4.726", "5.296", "5.299", "5.850")]
    assert values == sorted(values)
    assert round(advanced_kov(parts, "1e-5").epsilon, 8) == Decimal("5.29810966")


@given(
    st.lists(st.tuples(epsilons, st.integers(1, 20)), min_size=1, max_size=3), st.sampled_from(["1e-9", "1e-5", "0.01"])
)
@settings(max_examples=25, deadline=None)
def test_no_form_beats_the_optimum(parts: list[tuple[Decimal, int]], delta: str) -> None:
    """Every advanced form is at least the optimum; the tight drift beats the squares, the squares beat DRV."""
    optimum = optimal_heterogeneous_epsilon(parts, delta).lower
    forms = (advanced_drv, advanced_squares, advanced_capped, advanced_tanh, advanced_zcdp, advanced_kov)
    drv, squares, _, tanh, zcdp, _ = values = [form(parts, delta).epsilon for form in forms]
    assert all(value >= optimum for value in values)
    assert zcdp <= tanh <= squares <= drv


def test_a_thousand_tenths_do_not_overflow() -> None:
    """k = 1000, 500 and 10 at epsilon 0.1 and delta 1e-6; and DRV's drift, which grows like exp(epsilon)."""
    for count, truth in ((1000, "19.3446714480"), (500, "12.51788"), (10, "0.99937")):
        ours = optimal_homogeneous_epsilon("0.1", count, "1e-6")
        assert round(ours, len(truth.partition(".")[2])) == Decimal(truth)
    assert advanced_drv([("0.1", 1000)], "1e-6").epsilon < Decimal("27.14")
    assert advanced_drv([("20", 10)], "1e-6").epsilon > Decimal("9e10")
    with pytest.raises(NoGuaranteeError, match="basic"):
        advanced_drv([("5000", 1000)], "1e-6")


@pytest.mark.parametrize(
    ("epsilon", "count", "delta", "expected"),
    [
        ("0.01", 100_000, "1e-6", "19.42282195781695"),
        ("0.001", 100_000, "1e-100", "6.7118378234652192"),
        ("1e-6", 100_000, "1e-10", "0.001473098779354309"),
        ("1", 100_000, "1e-10", "47988.53069753503"),
    ],
)
def test_a_hundred_thousand_mechanisms(epsilon: str, count: int, delta: str, expected: str) -> None:
    """Large counts, tiny epsilons and tiny deltas keep their digits: delta at the answer is the target."""
    ours = optimal_homogeneous_epsilon(epsilon, count, delta)
    assert str(ours).startswith(expected)
    back = optimal_homogeneous_delta(epsilon, count, ours)
    assert Decimal(delta) * (1 - Decimal("1e-15")) <= back <= Decimal(delta)


def test_unequal_mechanisms_between_their_bounds() -> None:
    """Ten of 0.1 and two of 0.5 at 1e-6: just below the plain sum of 2."""
    ours = optimal_heterogeneous_epsilon([*["0.1"] * 10, "0.5", "0.5"], "1e-6")
    assert str(ours.upper).startswith("1.99837553681786")


@given(st.lists(st.integers(1, 400), min_size=2, max_size=9), st.sampled_from(["1e-6", "1e-2"]))
@settings(max_examples=15, deadline=None)
def test_the_bracket_holds_the_exact_answer(values: list[int], delta: str) -> None:
    """Rounding every epsilon to a lattice gives a lower and an upper bound, no wider than the moves add up to."""
    parts = [Decimal(value) / 997 for value in values]
    exact = optimal_heterogeneous_epsilon(parts, delta)
    rounded = murtagh_vadhan_epsilon(parts, delta, "0.01")
    assert rounded.lower <= exact.upper
    assert exact.lower <= rounded.upper
    assert rounded.upper - rounded.lower <= Decimal("0.02")


def test_too_many_totals_are_enclosed() -> None:
    """Sixty epsilons without a common lattice: the exact answer is out of reach, two enclosures of it overlap."""
    parts = [Decimal(1) / (7 + i) for i in range(60)]
    ours, rounded = optimal_heterogeneous_epsilon(parts, "1e-6"), murtagh_vadhan_epsilon(parts, "1e-6", "0.05")
    assert ours.upper - ours.lower <= ours.upper * Decimal("1e-5")
    assert rounded.lower <= ours.upper
    assert ours.lower <= rounded.upper
    assert rounded.upper - rounded.lower <= Decimal("0.1")
    assert ours.upper < advanced_zcdp(parts, "1e-6").epsilon
    level = ours.lower / 2
    delta = optimal_heterogeneous_delta(parts, level)
    assert Decimal(0) < delta.upper - delta.lower <= delta.upper / 1000


def test_lattices_too_long_to_multiply_are_spread() -> None:
    """Ten thousand mechanisms of two epsilons: both routes enclose the same number."""
    parts = [("0.01", 6_000), (Decimal("0.0123456789"), 4_000)]
    ours, spread = optimal_heterogeneous_epsilon(parts, "1e-6"), murtagh_vadhan_epsilon(parts, "1e-6", "1e-6")
    assert spread.lower <= ours.upper
    assert ours.lower <= spread.upper
    assert spread.upper - spread.lower <= spread.upper / 50


def test_own_deltas_take_their_share() -> None:
    """Below the chance of failing no epsilon helps; at it, the plain sum; above it, less."""
    part = ApproxDP("0.1", "1e-6")  # type: ignore[arg-type]
    failing = optimal_homogeneous_value(part, 10, 0).delta
    assert optimal_homogeneous_epsilon(part, 10, failing) == 1
    assert optimal_homogeneous_epsilon(part, 10, "2e-5") < 1
    with pytest.raises(NoGuaranteeError, match="fail outright"):
        optimal_homogeneous_epsilon(part, 10, "9e-6")
    slack = slack_for([(part, 10)], "2e-5")
    assert optimal_homogeneous_epsilon(part, 10, "2e-5") <= advanced_zcdp([(part, 10)], slack).epsilon


def test_delta_zero_is_the_plain_sum() -> None:
    """Without a delta nothing beats adding up."""
    assert optimal_homogeneous_epsilon("0.1", 1000, 0) == 100
    assert optimal_heterogeneous_epsilon(["0.1", "0.25"], 0).upper == Decimal("0.35")


def test_understating_an_epsilon_is_caught() -> None:
    """Control: rounding epsilons down instead of up gives an answer below the exact one."""
    parts = [Decimal(value) / 997 for value in (100, 211, 307, 401)]
    both = bracket(read_parts(parts), Decimal("0.1"))
    assert both is not None
    exact = optimal_heterogeneous_epsilon(parts, "1e-6")
    assert both[0].least_epsilon(Decimal("1e-6")).upper < exact.lower
