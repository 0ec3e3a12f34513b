"""Conditions meet the schema: unknown columns and impossible comparisons are found before anything is charged."""

import pytest

from dosimeter.errors import InputError, QueryError
from dosimeter.queries import Column, ColumnType, Schema
from dosimeter.queries.check import check
from dosimeter.queries.condition import write
from dosimeter.queries.parse import parse

SCHEMA = Schema.of(
    {
        "age": "integer",
        "spend": "real",
        "sex": "text",
        "smoker": "boolean",
        "day": "date",
        "seen": "timestamp",
    }
)


def checked(text):
    return write(check(parse(text), SCHEMA))


FITTING = [
    ("age >= 17.5", "age > 17"),
    ("age > 17.5", "age > 17"),
    ("age < 17.5", "age <= 17"),
    ("age <= 17.5", "age <= 17"),
    ("age < -0.5", "age <= -1"),
    ("spend = 1", "spend = 1"),
    ("age < spend", "age < spend"),
    ("day >= '2013-1-01'", None),
    ("day >= '20130101'", "day >= '2013-01-01'"),
    ("seen < '2013-01-01'", "seen < '2013-01-01 00:00:00'"),
    ("seen < '2013-01-01T05:06'", "seen < '2013-01-01 05:06:00'"),
    ("smoker", "smoker = TRUE"),
    ("NOT smoker", "smoker <> TRUE"),
    ("age + 2 * spend > 3", "((2 * spend) + age) > 3"),
    ("sex < 'F'", "sex < 'F'"),
]


@pytest.mark.parametrize(("text", "normal"), FITTING)
def test_literals_take_the_type_of_the_column_they_meet(text, normal):
    """No engine has to convert a constant, or a column, while it reads rows."""
    if normal is None:
        with pytest.raises(QueryError, match="date"):
            checked(text)
    else:
        assert checked(text) == normal


UNFIT = [
    ("agee > 1", "did you mean 'age'"),
    ("Age > 1", "did you mean 'age'"),
    ("zzz = 1", "The columns are: age, spend"),
    ("age = 'old'", "age is integer"),
    ("age = 17.5", "never equal to 17.5"),
    ("age IN (1, 2.5)", "never equal"),
    ("age = TRUE", "age is integer"),
    ("age > 9223372036854775808", "64-bit"),
    ("sex = 1", "sex is text"),
    ("sex = ''", "IS NULL"),
    ("sex = age", "cannot be compared"),
    ("smoker > FALSE", "no order"),
    ("smoker = 'yes'", "smoker is boolean"),
    ("day = 'yesterday'", "date"),
    ("day = seen", "cannot be compared"),
    ("seen = '2013-01-01 00:00:00+01:00'", "without a time zone"),
    ("sex + 1 > 2", "arithmetic needs numbers"),
    ("age + 'a' > 2", "arithmetic needs numbers"),
    ("day > 2013", "day is date"),
]


@pytest.mark.parametrize(("text", "why"), UNFIT)
def test_what_does_not_fit_the_schema_is_refused_by_name(text, why):
    """The message names the column, its type, and the columns there are."""
    with pytest.raises(QueryError, match=why):
        checked(text)


def test_a_schema_reads_back_from_its_json():
    """What is public about the columns survives the ledger."""
    schema = Schema((Column("a", ColumnType.REAL, nullable=False), Column("b", ColumnType.TEXT)))
    assert Schema.from_json(schema.to_json()) == schema
    assert schema.names == ("a", "b")


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"": "integer"},
        {"a": "int"},
        {"a": "integer", "A": "text"},
        [("a", "integer"), ("a", "integer")],
        {"a" * 300: "text"},
        {"a\0b": "text"},
    ],
)
def test_a_schema_has_distinct_named_columns_of_known_types(columns):
    """Names that differ only by case are refused: engines do not tell them apart."""
    with pytest.raises(InputError):
        Schema.of(columns)


@pytest.mark.parametrize("data", [None, {}, [1], [{"name": "a"}], [{"name": "a", "type": "text", "nullable": 1}]])
def test_a_schema_refuses_json_it_did_not_write(data):
    """An account's stored schema is read strictly."""
    with pytest.raises(InputError):
        Schema.from_json(data)
