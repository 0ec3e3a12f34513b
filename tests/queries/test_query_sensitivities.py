"""Sensitivities: exact against every neighbouring pair of small data sets, and the known cases by name."""

import itertools
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import QueryError
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.queries import (
    Column,
    Contribution,
    Price,
    Schema,
    Sensitivity,
    count,
    count_distinct_users,
    histogram,
    mean_of,
    plan,
    sensitivity,
    sum_of,
)

ADD, ZERO, REPLACE = (NeighbouringRelation(name) for name in ("add_remove", "zero_out", "replace_one"))
SCHEMA = Schema.of({"x": "integer", "r": "real", "user": "text", "day": "text", "sex": "text"})


def planned(query, unit=None, relation=ADD, schema=SCHEMA, **price):
    return plan(
        query,
        schema=schema,
        unit=unit or PrivacyUnit(),
        relation=relation,
        filter=None,
        price=Price(**(price or {"epsilon": 1})),
    )


def moved(query, unit=None, relation=ADD, schema=SCHEMA):
    return [part.sensitivity for part in planned(query, unit, relation, schema).parts]


@settings(max_examples=60, deadline=None)
@given(
    cells=st.integers(1, 3),
    caps=st.builds(Contribution, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)),
    lower=st.integers(-3, 3),
    width=st.integers(0, 4),
)
def test_no_neighbouring_pair_moves_the_vector_further_and_one_moves_it_as_far(cells, caps, lower, width):
    """Brute force over every contribution that the caps allow, for one unit removed and for one replaced."""
    upper = lower + width
    vectors = set()
    for rows in itertools.product(range(caps.rows_per_group + 1), repeat=cells):
        if sum(rows) <= caps.rows and sum(n > 0 for n in rows) <= caps.groups:
            for ends in itertools.product((lower, upper), repeat=cells):
                vectors.add(tuple(n * end for n, end in zip(rows, ends, strict=True)))
    pairs = {tuple(a - b for a, b in zip(v, w, strict=True)) for v in vectors for w in vectors}
    for relation, changes in ((ADD, vectors), (ZERO, vectors), (REPLACE, pairs)):
        found = Sensitivity(
            max(sum(map(abs, v)) for v in changes),
            max(sum(a * a for a in v) for v in changes),
            max(max(map(abs, v)) for v in changes),
        )
        assert sensitivity(lower, upper, contribution=caps, relation=relation, cells=cells) == found


def test_three_groups_of_two_rows_between_minus_ten_and_five():
    """L-infinity 20, L1 60, L2 34.64...: the caps multiply, the larger bound counts."""
    caps = Contribution(rows=6, groups=3, rows_per_group=2)
    found = sensitivity(-10, 5, contribution=caps, cells=7)
    assert (found.linf, found.l1, found.l2_squared) == (20, 60, 1200)
    assert abs(found.l2 - Decimal("34.6410161513775458705")) < Decimal("1e-18")
    assert found.l2**2 >= 1200


def test_the_same_caps_asked_for_in_a_query():
    """.bounded() states them; the account's row cap holds beside them."""
    query = sum_of("x", lower=-10, upper=5).by("day", keys=list("abcdefg")).bounded(max_groups=3, max_rows_per_group=2)
    assert moved(query, PrivacyUnit("user", 6)) == [Sensitivity(60, 1200, 20)]
    assert moved(query, PrivacyUnit("user", 100)) == [Sensitivity(60, 1200, 20)]
    assert moved(query, PrivacyUnit("user", 5)) == [Sensitivity(50, 400 + 400 + 100, 20)]
    assert moved(query, PrivacyUnit("user", 1)) == [Sensitivity(10, 100, 10)]
    assert moved(query, PrivacyUnit("user", 6), REPLACE) == [Sensitivity(120, 2700, 30)]


def test_histogram_cells_move_by_one_or_by_two():
    """A row leaves one bin; replaced, it leaves one and enters another: L1 1 and 2, L2 1 and sqrt 2."""
    query = histogram("x", edges=[0, 1, 2, 3])
    assert moved(query) == moved(query, relation=ZERO) == [Sensitivity(1, 1, 1)]
    assert moved(query, relation=REPLACE) == [Sensitivity(2, 2, 1)]
    assert moved(histogram("x", edges=[0, 1]), relation=REPLACE) == [Sensitivity(1, 1, 1)]
    assert moved(count().by("day", keys=["a", "b"]), relation=REPLACE) == [Sensitivity(2, 2, 1)]


def test_a_cap_taken_over_groups_is_not_a_cap_after_they_are_merged():
    """One row in each of a hundred groups is a hundred rows in one: L2 100, not the stale 10."""
    before = Contribution(rows=100, groups=100, rows_per_group=1)
    stale = sensitivity(1, 1, contribution=before, cells=100)
    assert stale.l2 == 10
    fresh = sensitivity(1, 1, contribution=before.merged(), cells=1)
    assert (fresh.l1, fresh.l2) == (100, 100)


def test_a_grouped_cap_does_not_outlive_the_grouping_of_a_query():
    """Without .by there is one cell, and a user moves it by every row that is kept."""
    assert moved(count(), PrivacyUnit("user", 100)) == [Sensitivity(100, 100**2, 100)]
    with pytest.raises(QueryError):
        count().bounded(max_groups=100)
    one = count().by("day", keys=["Mon"]).bounded(max_groups=100, max_rows_per_group=1)
    assert moved(one, PrivacyUnit("user", 100)) == [Sensitivity(1, 1, 1)]


def test_a_mean_is_a_sum_and_a_count_and_both_are_charged():
    """The sum is measured from the middle of the bounds, so it moves by half their width."""
    assert moved(mean_of("x", lower=0, upper=10)) == [Sensitivity(1, 1, 1), Sensitivity(5, 25, 5)]
    assert moved(mean_of("x", lower=100, upper=110)) == [Sensitivity(1, 1, 1), Sensitivity(5, 25, 5)]
    assert moved(mean_of("x", lower=0, upper=10), relation=REPLACE)[1] == Sensitivity(10, 100, 10)
    assert moved(mean_of("x", lower=0, upper=11), PrivacyUnit("user", 3))[1] == Sensitivity(18, 18**2, 18)


def test_replacing_a_row_moves_a_sum_by_the_width_only_where_every_row_must_count():
    """A row that may be left out (a condition, a group, a missing value) may also go from its value to nothing."""
    sure = Schema((Column("x", "integer", nullable=False), Column("day", "text")))
    query = sum_of("x", lower=10, upper=20)
    assert moved(query, relation=REPLACE, schema=sure) == [Sensitivity(10, 100, 10)]
    for other in (query.where("day = 'a'"), query.where("x > 1"), query.by("day", keys=["a"])):
        assert moved(other, relation=REPLACE, schema=sure) == [Sensitivity(20, 400, 20)]
    assert moved(query, relation=REPLACE) == [Sensitivity(20, 400, 20)]
    assert moved(query, relation=ADD, schema=sure) == [Sensitivity(20, 400, 20)]
    assert moved(sum_of("x", lower=-10, upper=20), relation=REPLACE) == [Sensitivity(30, 900, 30)]
    assert moved(sum_of("x", lower=-20, upper=-10), relation=REPLACE) == [Sensitivity(20, 400, 20)]


def test_a_user_counts_once_in_a_distinct_count_and_once_per_group():
    """max_contributions bounds the groups, max_groups bounds them further."""
    unit = PrivacyUnit("user", 3)
    assert moved(count_distinct_users(), unit) == [Sensitivity(1, 1, 1)]
    assert moved(count_distinct_users(), unit, REPLACE) == [Sensitivity(1, 1, 1)]
    grouped = count_distinct_users().by("day", keys=list("abcdefg"))
    assert moved(grouped, unit) == [Sensitivity(3, 3, 1)]
    assert moved(grouped.bounded(max_groups=2), unit, REPLACE) == [Sensitivity(4, 4, 1)]
    assert moved(count_distinct_users().by("day", keys=["a"]), unit) == [Sensitivity(1, 1, 1)]


def test_sensitivities_are_counted_in_steps_of_the_lattice():
    """In halves, a value of at most five moves a sum by ten steps."""
    query = sum_of("x", lower=0, upper=5)
    fine = plan(query, schema=SCHEMA, unit=PrivacyUnit(), relation=ADD, filter=None, price=Price(mu=1), step="0.5")
    assert fine.parts[0].sensitivity == Sensitivity(10, 100, 10)
    assert fine.parts[0].step == Decimal("0.5")


@pytest.mark.parametrize("bad", [{"lower": 3, "upper": 2}, {"lower": 0, "upper": 1, "cells": 0}])
def test_impossible_sensitivities_are_refused(bad):
    """Bounds the wrong way round, no cell at all."""
    with pytest.raises(ValueError):
        sensitivity(bad.pop("lower"), bad.pop("upper"), **bad)
