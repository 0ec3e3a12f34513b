"""Answers: pure post-processing of noisy numbers, with error bars that hold and flags where they say little."""

import itertools
import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError, QueryError
from dosimeter.mechanisms.accuracy import half_width
from dosimeter.neighbours import PrivacyUnit
from dosimeter.queries import Price, Result, Schema, count, histogram, mean_of, plan, sum_of, variance
from dosimeter.queries.lattice import Lattice, centred
from dosimeter.queries.result import mean_cell

SCHEMA = Schema.of({"age": "integer", "spend": "real", "sex": "text", "day": "text"})


def planned(query, **kwargs):
    kwargs.setdefault("price", Price(epsilon="0.5"))
    return plan(query, schema=SCHEMA, unit=PrivacyUnit(), relation="add_remove", filter=None, **kwargs)


def test_a_count_is_a_whole_number_and_a_sum_is_on_its_lattice():
    """The noisy number in steps becomes the number in the units of the column, exactly."""
    assert planned(count()).answer([[-3]]).value == -3
    result = planned(sum_of("spend", lower=0, upper=50)).answer([[12345678]])
    assert result.value == Decimal("123.45678")
    assert planned(sum_of("spend", lower=0, upper=50), step="0.25").answer([[7]]).value == Decimal("1.75")


def test_groups_are_answered_by_key_in_the_declared_order():
    """Every declared key is there, also where no row has it."""
    one = planned(count().by("sex", keys=["F", "M", None])).answer([[1, 2, 3]])
    assert one.value == {"F": 1, "M": 2, None: 3}
    two = planned(count().by("sex", keys=["F", "M"]).by("day", keys=["a", "b"])).answer([[1, 2, 3, 4]])
    assert two.value == {("F", "a"): 1, ("F", "b"): 2, ("M", "a"): 3, ("M", "b"): 4}
    assert two.axes == ("sex", "day")
    bins = planned(histogram("age", edges=[0, "18.5", 65])).answer([[5, 6]])
    assert bins.value == {"[0, 18.5)": 5, "[18.5, 65]": 6}


@pytest.mark.parametrize("noisy", [[], [[1, 2]], [[1], [2]], [[]]])
def test_an_answer_needs_exactly_the_numbers_that_the_plan_releases(noisy):
    """A source that returns another shape is caught."""
    with pytest.raises(QueryError, match="1 parts of 1 cells"):
        planned(count()).answer(noisy)


def test_a_mean_is_the_ratio_of_sum_and_count_within_its_bounds():
    """Measured from the centre of the bounds, clamped into them."""
    made = planned(mean_of("age", lower=0, upper=100))
    assert made.answer([[1000], [-10_000]]).value == 40
    high = made.answer([[1000], [90_000]])
    assert high.value == 100
    assert high.flags == ("clamped",)


@pytest.mark.parametrize("counted", [-5, 0, 3])
def test_a_mean_over_a_count_that_may_be_zero_is_flagged_and_its_error_is_the_whole_range(counted):
    """There is always a number, never an error or NaN, and it says that it says nothing."""
    result = planned(mean_of("age", lower=0, upper=100)).answer([[counted], [40]])
    assert "count_not_clearly_positive" in result.flags
    assert 0 <= result.value <= 100
    assert result.error >= 50
    assert result.value - result.error <= 0 or result.value + result.error >= 100


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-20, 30), min_size=1, max_size=40),
    count_noise=st.integers(-4, 4),
    sum_noise=st.integers(-60, 60),
)
def test_the_error_bar_of_a_mean_covers_whenever_both_noises_are_within_theirs(values, count_noise, sum_noise):
    """The interval is a consequence of the two error bars, not an approximation."""
    spot = centred(Lattice(Decimal(1), -10, 25))
    clipped = [min(max(value, -10), 25) for value in values]
    exact = sum(clipped) - spot.centre * len(clipped)
    cell = mean_cell((), len(clipped) + count_noise, exact + sum_noise, 4, 60, spot)
    truth = Fraction(sum(clipped), len(clipped))
    assert abs(Fraction(cell.value) - truth) <= Fraction(cell.error)
    assert -10 <= cell.value <= 25


def test_both_parts_of_a_mean_share_the_confidence():
    """A union bound: each part's bar holds with half the failure probability."""
    made = planned(mean_of("age", lower=0, upper=100), confidence="0.9")
    widths = [half_width(part.noise, "0.95", 1) for part in made.parts]
    value = made.answer([[1000], [0]])
    assert value.value == 50
    assert abs(value.error - Decimal(widths[1]) / (1000 - widths[0])) < Decimal("0.01")


@pytest.mark.parametrize(
    "made",
    [
        planned(count()),
        planned(mean_of("age", lower=0, upper=100).by("sex", keys=["F", None])),
        planned(sum_of("spend", lower=0, upper=50).by("day", keys=["a"])),
    ],
    ids=lambda made: str(made.query),
)
def test_an_answer_reads_back_from_its_json(made):
    """What the ledger stores is what is replayed."""
    noisy = [list(range(7, 7 + made.frame.cells)) for _ in made.parts]
    result = made.answer(noisy)
    again = Result.from_json(json.loads(json.dumps(result.to_json())))
    assert again == result
    assert again.value == result.value
    assert [type(cell.value) for cell in again.cells] == [type(cell.value) for cell in result.cells]


@pytest.mark.parametrize("data", [None, [], {}, {"axes": [], "cells": [{}], "confidence": "1"}, {"cells": "x"}])
def test_an_answer_refuses_json_it_did_not_write(data):
    """Stored answers are read strictly."""
    with pytest.raises(InputError):
        Result.from_json(data)


@pytest.mark.parametrize(
    ("squares", "mean", "expected"),
    [("4.0", "2.1", (0, True)), ("5", "2", (1, False)), ("4", "2", (0, False)), ("0", "0", (0, False))],
)
def test_a_variance_from_noisy_moments_is_never_negative(squares, mean, expected):
    """It is raised to zero and says so; its square root is a number."""
    found = variance(Decimal(squares), Decimal(mean))
    assert found == expected
    assert found[0].sqrt() >= 0


def test_answers_depend_on_the_noisy_numbers_alone():
    """The same numbers give the same answer: post-processing is free."""
    made = planned(mean_of("age", lower=0, upper=100))
    for counted, total in itertools.product((-1, 0, 5, 10**6), (-(10**9), 0, 77)):
        assert made.answer([[counted], [total]]) == made.answer([(counted,), (total,)])
