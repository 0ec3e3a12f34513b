"""Randomized response: exact probabilities, two recipes with two prices, unbiased estimates."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import RandomizedResponse
from dosimeter.mechanisms import randomized_response as rr
from dosimeter.mechanisms.entropy import SeededTestEntropy


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-9", "0.1", "1", "1/3", "5", "50", "1e9", "1e12"])
@pytest.mark.parametrize("categories", [2, 3, 10, 10**9])
def test_the_truth_is_never_told_more_often_than_epsilon_allows(epsilon: str, categories: int) -> None:
    """The probability is a rational between 1/k and e^eps/(e^eps + k - 1), and within 1e-30 of the latter."""
    p = rr.truth_probability(epsilon, categories)
    assert Fraction(1, categories) <= p < 1
    with mpmath.workdps(700):
        eps = mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        truth = 1 / (1 + (categories - 1) * mpmath.exp(-eps))
        exact = mpf(p.numerator) / p.denominator
        assert exact <= truth
        assert truth - exact < mpf(10) ** -30


def test_known_truth_probability() -> None:
    """Ten categories at epsilon 1: 0.23196931668407393639."""
    value = rr.truth_probability(1, 10)
    assert abs(value / Fraction("0.23196931668407393639") - 1) < Fraction(1, 10**18)


class _Bits:
    """The two numbers a report draws, forced."""

    for_tests_only = True

    def __init__(self, bits) -> None:
        self.bits = bits


@pytest.mark.parametrize("categories", [2, 3, 5])
def test_the_reports_law_from_the_tree_of_all_bits(bit_tree, monkeypatch, categories: int) -> None:
    """With a truth probability of 11/16, the truth has 11/16 and every other category an equal share of the rest."""
    monkeypatch.setattr(rr, "truth_probability", lambda epsilon, k: Fraction(11, 16))
    tree = bit_tree(lambda bits: rr.randomize(1, categories, 1, _Bits(bits)), depth=14)
    for category in range(categories):
        share = Fraction(11, 16) if category == 1 else Fraction(5, 16) / (categories - 1)
        assert tree.agrees(category, share)
    assert tree.undecided < Fraction(1, 100)
    assert not tree.agrees(1, Fraction(11, 16) + Fraction(5, 16) / categories)  # control: the other recipe


@pytest.mark.parametrize(
    ("recipe", "probability", "categories", "epsilon"),
    [
        (rr.truth_or_other_epsilon, "0.75", 2, "1.09861228866811"),
        (rr.truth_or_uniform_epsilon, "0.75", 2, "1.94591014905531"),
        (rr.truth_or_other_epsilon, "0.25", 2, "1.09861228866811"),  # lying more often than not tells as much
        (rr.truth_or_other_epsilon, "0.5", 2, "0"),
        (rr.truth_or_uniform_epsilon, "0", 7, "0"),
        (rr.truth_or_other_epsilon, "1/3", 3, "0"),  # a ratio is taken exactly
        (rr.truth_or_other_epsilon, "0.5", 3, "0.69314718055994530942"),
        (rr.truth_or_uniform_epsilon, "0.5", 4, "1.60943791243410037460"),
    ],
)
def test_the_two_recipes_have_their_own_price(recipe, probability: str, categories: int, epsilon: str) -> None:
    """Truth-or-other and truth-or-uniform at the same probability cost differently, and each is named."""
    got = recipe(probability, categories)
    assert (got == 0) == (epsilon == "0")
    assert abs(Fraction(got) - Fraction(epsilon)) < Fraction(1, 10**13)


@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), st.integers(2, 50))
@settings(max_examples=40, deadline=None)
def test_prices_are_the_largest_ratio_of_the_channel(p: Fraction, k: int) -> None:
    """Both prices equal the log of the largest ratio between two rows of the report matrix, rounded up."""
    other = [[p if i == j else (1 - p) / (k - 1) for j in range(k)] for i in range(2)]
    uniform = [[p + (1 - p) / k if i == j else (1 - p) / k for j in range(k)] for i in range(2)]
    for price, rows in ((rr.truth_or_other_epsilon(p, k), other), (rr.truth_or_uniform_epsilon(p, k), uniform)):
        ratio = max(a / b for a, b in zip(rows[0] + rows[1], rows[1] + rows[0], strict=True))
        with mpmath.workdps(60):
            truth = mpmath.log(mpf(ratio.numerator) / ratio.denominator)
            assert truth <= mpf(str(price)) <= truth * (1 + mpf(10) ** -22) + mpf(10) ** -300


def test_recipes_without_a_guarantee_get_no_number() -> None:
    """Always the truth, never the truth: some report excludes a value for sure."""
    for call in (
        lambda: rr.truth_or_other_epsilon(1),
        lambda: rr.truth_or_other_epsilon(0, 5),
        lambda: rr.truth_or_uniform_epsilon("1.0", 3),
    ):
        with pytest.raises(NoGuaranteeError):
            call()


def test_a_report_is_priced_as_randomized_response() -> None:
    """The event is randomized response at the same epsilon, with no delta."""
    assert rr.response_event("0.5") == RandomizedResponse(Decimal("0.5"))


@pytest.mark.parametrize("bad", [-1, 3, 77, True, None, 1.0, "1"])
def test_a_value_outside_the_categories_is_refused_without_being_quoted(bad: object) -> None:
    """The message names the allowed indices, never the value."""
    with pytest.raises(InputError) as caught:
        rr.randomize(bad, 3, 1)  # type: ignore[arg-type]
    assert str(caught.value) == "a value to randomize is not one of the indices 0 to 2"


@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", None])
def test_a_bad_epsilon_is_refused(epsilon: object) -> None:
    """NaN, infinity, zero and negative prices are refused by name."""
    with pytest.raises(InputError, match="epsilon"):
        rr.randomize(0, 2, epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [1, 0, -2, 2.5, 10**10])
def test_a_bad_number_of_categories_is_refused(bad: object) -> None:
    """One category has nothing to hide; the error says so by range."""
    with pytest.raises(InputError, match="categories"):
        rr.randomize(0, bad, 1)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=6), st.sampled_from(["0.1", "1", "3"]))
@settings(max_examples=40, deadline=None)
def test_estimates_are_unbiased_as_an_identity(holders: list[int], epsilon: str) -> None:
    """Fed with the expected reports, the estimator returns the true counts; the estimates always sum to the people."""
    k, people = len(holders), sum(holders)
    p = rr.truth_probability(epsilon, k)
    q = (1 - p) / (k - 1)
    expected = [m * p + (people - m) * q for m in holders]
    assert [(c - people * q) / (p - q) for c in expected] == holders
    estimates = rr.estimate_frequencies(holders, epsilon)
    assert abs(sum(Fraction(f.estimate) for f in estimates) - people) < Fraction(1, 10**30)


def test_estimates_scatter_as_much_as_they_say() -> None:
    """3000 people, 400 rounds: mean and variance of the estimate match (seeded; beyond 5 sigmas, below 1e-6)."""
    people, holders, epsilon, rounds = 300, 90, 1, 400
    entropy = SeededTestEntropy(11)
    values = [1] * holders + [0] * (people - holders)
    estimates = []
    for _ in range(rounds):
        reports = rr.randomize_all(values, 2, epsilon, entropy)
        estimates.append(float(rr.estimate_frequencies([reports.count(0), reports.count(1)], epsilon)[1].estimate))
    variance = float(rr.frequency_variance(holders, people, epsilon))
    mean = sum(estimates) / rounds
    scatter = sum((e - mean) ** 2 for e in estimates) / (rounds - 1)
    assert abs(mean - holders) < 5 * (variance / rounds) ** 0.5
    assert abs(scatter / variance - 1) < 5 * (2 / rounds) ** 0.5
    assert abs(sum(values) - mean) < abs(sum(reports) - mean)  # control: the raw count of reports is biased


@given(st.integers(1, 10**6), st.integers(2, 9), st.sampled_from(["0.01", "1", "8"]), st.data())
@settings(max_examples=30, deadline=None)
def test_the_stated_deviation_covers_every_truth(people: int, k: int, epsilon: str, data) -> None:
    """Whatever the true count, the variance is at most the square of the deviation that is stated."""
    holders = data.draw(st.integers(0, people))
    stated = rr.estimate_frequencies([people] + [0] * (k - 1), epsilon)[0].standard_deviation
    assert rr.frequency_variance(holders, people, epsilon, k) <= Fraction(stated) ** 2
