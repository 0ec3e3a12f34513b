"""Queries as values: builders, digests, JSON, and what cannot be asked."""

import datetime
from fractions import Fraction

import pytest

from dosimeter.errors import InputError, QueryError
from dosimeter.queries import (
    Price,
    Query,
    count,
    count_distinct_users,
    histogram,
    mean_of,
    query_from_json,
    sum_of,
)

QUERIES = [
    count(),
    count().where("age >= 18 AND sex = 'F'"),
    count_distinct_users().by("day", keys=["Mon", "Tue"]),
    sum_of("spend", lower="-0.5", upper=50),
    mean_of("spend", lower=0, upper="50.25").by("a", keys=[1, None]).by("b", keys=[True, False]),
    histogram("age", edges=[0, 18, "65.5"]).bounded(max_groups=2, max_rows_per_group=3),
    count().by("when", keys=[datetime.date(2013, 1, 31)]).bounded(max_rows_per_group=1),
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_query_reads_back_from_its_json(query):
    """The JSON form says everything, and the digest is that of the same question."""
    again = query_from_json(query.to_json())
    assert again == query
    assert again.digest == query.digest
    assert len({q.digest for q in QUERIES}) == len(QUERIES)


def test_the_same_question_has_the_same_digest_however_it_is_spelled():
    """Numbers, conditions and the order of verbs are normalised."""
    one = sum_of("spend", lower="0", upper="50.00").where("18 <= age").where("sex='F'").by("day", keys=["Mon"])
    other = sum_of("spend", lower=0, upper=50.0).by("day", keys=("Mon",)).where("sex = 'F' AND NOT age < 18")
    assert one.digest == other.digest
    assert one.digest != sum_of("spend", lower=0, upper=51).digest
    assert count().digest != count_distinct_users().digest


def test_a_query_reads_like_a_sentence():
    """Its text says what is asked, for statements and messages."""
    query = sum_of("spend", lower="0", upper="50").where("age >= 18").by("day", keys=["Mon", "Tue"])
    assert str(query) == "sum(spend in [0, 50]) where age >= 18 by day (Mon, Tue)"
    assert str(count().by("site", keys=[1, None])) == "count by site (1, NULL)"
    assert str(count().by("site", keys=range(30))) == "count by site (30 keys)"


def test_the_text_of_a_question_fits_a_line_and_a_terminal():
    """Control characters are spelled out and very long questions are cut; the digest speaks of the whole."""
    assert str(count().where("name = 'a\x1b[2J\nb'")) == r"count where name = 'a\x1b[2J\nb'"
    long = count().where(f"x IN ({', '.join(map(str, range(900)))})")
    assert len(str(long)) < 1_100
    assert str(long).endswith(f"... ({len('count where ') + len(long.condition)} characters)")
    assert len(str(count().by("x" * 300, keys=["k" * 5_000]))) < 1_100


UNBOUNDED = [
    lambda: sum_of("spend"),
    lambda: mean_of("spend"),
    lambda: sum_of("spend", lower=0),
    lambda: mean_of("spend", upper=5),
    lambda: query_from_json({"aggregate": "sum", "column": "spend"}),
]


@pytest.mark.parametrize("ask", UNBOUNDED)
def test_a_sum_without_bounds_is_refused_with_the_way_out(ask):
    """One person could move it by any amount, so it has no price."""
    with pytest.raises(QueryError, match=r"unbounded sensitivity.*lower='0', upper='50'"):
        ask()


def test_keys_are_declared_never_found():
    """Grouping by values found in the data would reveal who is in it."""
    with pytest.raises(QueryError, match="declare them"):
        count().by("surname")


IMPOSSIBLE = [
    (lambda: sum_of("x", lower=5, upper=5), "not below"),
    (lambda: sum_of("x", lower=5, upper=1), "not below"),
    (lambda: sum_of("x", lower="nan", upper=1), "finite"),
    (lambda: sum_of("x", lower="-inf", upper=1), "finite"),
    (lambda: sum_of("x", lower=0, upper="1e30"), "outside"),
    (lambda: sum_of("x", lower=0, upper=Fraction(1, 3)), "decimal places"),
    (lambda: sum_of("x", lower=0, upper="1e-30"), "decimal places"),
    (lambda: histogram("x", edges=[1]), "two or more"),
    (lambda: histogram("x", edges=[1, 1]), "increasing"),
    (lambda: histogram("x", edges=[2, 1]), "increasing"),
    (lambda: histogram("x", edges=range(20_000)), "cells"),
    (lambda: count().by("a", keys=[]), "1 to 10000"),
    (lambda: count().by("a", keys=["x", "x"]), "twice"),
    (lambda: count().by("a", keys=["x"]).by("a", keys=["y"]), "twice"),
    (lambda: count().by("a", keys="abc"), "list of keys"),
    (lambda: count().by("a", keys=[1.5]), "not a text"),
    (lambda: count().by("a", keys=range(200)).by("b", keys=range(200)), "cells"),
    (lambda: count().by("a", keys=["x" * 2_000_000]), "characters"),
    (lambda: count().by("a", keys=["x" * 9_999, "y"]).by("b", keys=range(200)), "characters"),
    (lambda: count().by("a", keys=["\0"]), "not a text"),
    (lambda: count().by("a", keys=["a\udfff"]), "not a text"),
    (lambda: count().bounded(max_groups=2), "add .by"),
    (lambda: count().by("a", keys=[1]).bounded(max_groups=0), "max_groups=0"),
    (lambda: count().bounded(max_rows_per_group=True), "whole number"),
    (lambda: count().where("x / 2 > 1"), "division"),
]


@pytest.mark.parametrize(("ask", "why"), IMPOSSIBLE)
def test_a_question_that_cannot_be_asked_says_why(ask, why):
    """Everything about a question that does not depend on the schema is checked when it is built."""
    with pytest.raises(InputError, match=why):
        ask()


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"aggregate": "median", "column": "x"},
        {"aggregate": "count", "column": "x"},
        {"aggregate": "count", "weight": "x"},
        {"aggregate": "count", "by": "day"},
        {"aggregate": "count", "by": [{"column": "day"}]},
        {"aggregate": "count", "by": [{"column": "day", "keys": None}]},
        {"aggregate": "histogram", "column": "x", "edges": "0,1"},
        {"aggregate": "count", "where": 5},
        {"aggregate": "count", "max_groups": "2"},
        {"aggregate": ["count"]},
    ],
)
def test_json_that_is_not_a_query_is_refused(data):
    """A client's JSON is checked like any other input."""
    with pytest.raises(InputError):
        query_from_json(data)


def test_queries_are_frozen_values():
    """Verbs return new queries; equal questions are equal values and one key in a dict."""
    query = count()
    assert query.where("a = 1") is not query
    assert query == count()
    assert query.condition is None
    assert len({query, count(), query.where("a=1"), count().where("1 = a")}) == 2
    with pytest.raises(AttributeError):
        query.column = "x"
    assert isinstance(query, Query)


PRICES = [
    ({"epsilon": "0.1"}, {"epsilon": "0.1"}),
    ({"epsilon": 0.1, "delta": 1e-6}, {"epsilon": "0.1", "delta": "1e-6"}),
    ({"rho": "0.01"}, {"rho": "0.01"}),
    ({"mu": 1}, {"mu": "1"}),
]


@pytest.mark.parametrize(("given", "data"), PRICES)
def test_a_price_has_one_form_and_reads_back(given, data):
    """Numbers are exact decimals; a float is its shortest decimal form."""
    price = Price(**given)
    assert price.to_json() == data
    assert Price.from_json(data) == price


def test_a_ratio_as_a_price_is_rounded_down():
    """A price is a cap: what is charged never exceeds what was offered."""
    assert Fraction(Price(epsilon="1/3").epsilon) < Fraction(1, 3)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"rho": 1, "delta": "1e-6"},
        {"mu": 1, "delta": "1e-6"},
        {"delta": "1e-6"},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": "nan"},
        {"epsilon": "inf"},
        {"epsilon": True},
        {"rho": "0"},
        {"mu": "x"},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1e300},
        {"epsilon": "1e-400"},
    ],
)
def test_a_price_that_is_not_one_is_refused(given):
    """Exactly one form, positive and finite; NaN, infinities and zero never pass."""
    with pytest.raises(InputError):
        Price(**given)


@pytest.mark.parametrize("data", [None, {}, {"epsilon": 1}, {"epsilon": "1", "sigma": "2"}, {"delta": "1e-6"}])
def test_a_price_refuses_json_it_did_not_write(data):
    """Read strictly."""
    with pytest.raises(InputError):
        Price.from_json(data)
