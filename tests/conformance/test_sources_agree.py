"""One suite for every engine: a source computes exactly what the rules say, on any rows, or it is not a source.

Another engine joins by adding one line to `ENGINES`.
"""

import datetime
import math
import random

import pytest
import source_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dosimeter.neighbours import PrivacyUnit
from dosimeter.queries import (
    Column,
    Price,
    Schema,
    count,
    count_distinct_users,
    histogram,
    mean_of,
    plan,
    sum_of,
)
from dosimeter.sources import DuckDBSource

ENGINES = {"duckdb": DuckDBSource.from_rows}
SCHEMA = Schema(
    (
        Column("user", "text"),
        Column("day", "text"),
        Column("x", "integer"),
        Column("r", "real"),
        Column("flag", "boolean"),
        Column("when", "date"),
        Column("sure", "integer", nullable=False),
    )
)
DAYS = [datetime.date(2013, 1, d) for d in (1, 2, 3)]


@pytest.fixture(params=ENGINES, scope="module")
def engine(request):
    """How to make a source of rows."""
    return ENGINES[request.param]


@pytest.fixture(scope="module")
def source(engine):
    """A source of the 400 rows above."""
    return engine(SCHEMA, ROWS)


def frame_of(query, unit=None, schema=SCHEMA, **kwargs):
    made = plan(
        query,
        schema=schema,
        unit=unit or PrivacyUnit(),
        relation="add_remove",
        filter=None,
        price=Price(mu=1),
        **kwargs,
    )
    return made.frame


def agree(source, frame, rows, schema=SCHEMA):
    found = source.compute(frame)
    expected = source_model.aggregate(frame, [dict(zip(schema.names, row, strict=True)) for row in rows])
    assert found == expected
    return found


def some_rows(seed, number=400):
    dice = random.Random(seed)
    pick = dice.choice
    return [
        (
            pick([None, "", "ann", "bob", "cyd", "d|e", "é"]),
            pick([None, "", "Mon", "Tue", "Wed", "mon", "Mon "]),
            pick([None, -(10**12), -7, -1, 0, 1, 2, 3, 4, 5, 50, 51, 10**12, dice.randrange(-20, 60)]),
            pick(
                [
                    None,
                    math.nan,
                    math.inf,
                    -math.inf,
                    -0.0,
                    0.5,
                    1.005,
                    2.5,
                    1e300,
                    -1e300,
                    5e-324,
                    dice.uniform(-9, 60),
                ]
            ),
            pick([None, True, False]),
            pick([None, *DAYS]),
            pick([0, 1, 2, 3]),
        )
        for _ in range(number)
    ]


ROWS = some_rows(1)
USER = PrivacyUnit("user", 3)

QUESTIONS = {
    "count": count(),
    "empty": count().where("x > 1000 AND x < 1001"),
    "sum of integers": sum_of("x", lower=-5, upper=50),
    "sum of reals": sum_of("r", lower=-5, upper="50.5"),
    "sum never missing": sum_of("sure", lower=1, upper=2),
    "mean": mean_of("r", lower=0, upper=50),
    "mean by day": mean_of("x", lower=-5, upper=50).by("day", keys=["Mon", "Tue", "absent", None]),
    "histogram": histogram("r", edges=["-5.5", 0, "0.5", 10, 60]),
    "histogram of integers": histogram("x", edges=["-5.5", 0, "0.5", 10, 51]),
    "many bins": histogram("x", edges=range(-20, 61)),
    "by three": count()
    .by("flag", keys=[True, None])
    .by("when", keys=["2013-01-02", None])
    .by("x", keys=[1, 2, -7, None]),
    "users": count_distinct_users().by("day", keys=["Mon", "Tue", "Wed"]),
    "case matters": count().by("day", keys=["mon"]),
    "blanks matter": count().by("day", keys=["Mon ", "Mon"]),
    "where": count().where("x >= 1.5 AND (day IN ('Mon', 'Tue') OR flag) AND NOT (r > 3 AND x < 5)"),
    "where missing": count().where("day IS NULL OR r IS NULL AND x IS NOT NULL"),
    "where infinite": count().where("r > 1e299 OR r < -1e299"),
    "where arithmetic": sum_of("x", lower=0, upper=9).where("r * 0 = 0 OR x + r > 3 OR r - r = 0 OR x * 2 - sure < 4"),
    "where dates": count().where("\"when\" >= '2013-01-02' AND \"when\" <> '2013-01-03'"),
    "where texts": count().where("day < 'Tue' AND day <> 'Mon'"),
    "where columns": count().where("x = sure OR x < r"),
    "where not in": count().where("NOT (x IN (1, 2, 3) OR flag = TRUE)"),
}


UNITS = {"row": None, "user3": USER, "user40": PrivacyUnit("user", 40)}
ASKED = [(name, unit) for name in QUESTIONS for unit in UNITS if (name, unit) != ("users", "row")]


@pytest.mark.parametrize(("name", "unit"), ASKED)
def test_every_question_is_answered_as_the_rules_say(source, name, unit):
    """Missing, NaN, infinite, out of range, empty: every cell has one outcome, and the engine agrees with it."""
    agree(source, frame_of(QUESTIONS[name], UNITS[unit]), ROWS)


CAPS = [(1, 1), (1, 2), (2, 1), (2, 2), (3, None), (None, 1), (None, 2)]


@pytest.mark.parametrize("rows", [1, 2, 5, 100])
@pytest.mark.parametrize(("groups", "per_group"), CAPS)
def test_caps_keep_the_same_rows_as_the_rules(source, groups, per_group, rows):
    """Rows per cell, cells, rows in all: in this order, chosen by the MD5 of salt, user, cell and value."""
    unit = PrivacyUnit("user", rows)
    for query in (
        sum_of("x", lower=-5, upper=50).by("day", keys=["Mon", "Tue", "Wed", None]),
        count().by("flag", keys=[True, False]).by("sure", keys=[0, 1, 2]),
    ):
        frame = frame_of(query.bounded(max_groups=groups, max_rows_per_group=per_group), unit, salt="pepper")
        agree(source, frame, ROWS)


def test_another_salt_keeps_other_rows_and_the_same_salt_the_same(engine, source):
    """The choice is replayable, and not tied to the order of the rows."""
    again = engine(SCHEMA, ROWS[::-1])
    query, unit = sum_of("x", lower=-5, upper=50), PrivacyUnit("user", 2)
    answers = [source.compute(frame_of(query, unit, salt=salt)) for salt in "abcdefgh"]
    assert len(set(answers)) > 1
    assert answers == [again.compute(frame_of(query, unit, salt=salt)) for salt in "abcdefgh"]


def test_order_of_rows_never_changes_a_sum(engine):
    """2^53 followed by 1024 ones, and the reverse: floating point would lose the ones, whole numbers do not."""
    schema = Schema((Column("n", "integer"), Column("f", "real")))
    values = [2**53] + [1] * 1024
    for order in (values, values[::-1]):
        source = engine(schema, [(v, float(v)) for v in order])
        frame = frame_of(sum_of("n", lower=0, upper=2**39), schema=schema, step=1)
        assert source.compute(frame) == ((2**39 + 1024,),)
        wide = _with_bounds(frame, 0, 2**53)
        assert source.compute(wide)[0][0] - 2**53 == 1024


def test_sums_beyond_64_bits_do_not_wrap(engine):
    """A hundred values of 2^62 add up to more than a 64-bit integer holds."""
    schema = Schema((Column("n", "integer"),))
    frame = _with_bounds(frame_of(sum_of("n", lower=0, upper=9), schema=schema), 0, 2**62)
    assert engine(schema, [(2**62,)] * 100).compute(frame) == ((100 * 2**62,),)
    frame = _with_bounds(frame, -(2**62), 2**62)
    assert engine(schema, [(-(2**63),)] * 3 + [(2**63 - 1,)]).compute(frame) == ((-2 * 2**62,),)


def _with_bounds(frame, lower, upper):
    from dataclasses import replace

    return replace(frame, value=replace(frame.value, lattice=replace(frame.value.lattice, lower=lower, upper=upper)))


def test_a_nan_is_missing_and_the_sum_stays_within_what_the_bounds_allow(engine):
    """1, NaN, 3 in [0, 5]: NaN adds nothing; an infinity is clipped; the sensitivity is 5."""
    schema = Schema((Column("v", "real"),))
    query = sum_of("v", lower=0, upper=5)
    made = plan(query, schema=schema, unit=PrivacyUnit(), relation="add_remove", filter=None, price=Price(mu=1))
    step = made.parts[0].step
    assert made.parts[0].sensitivity.l1 * step == 5
    for extra, total in ((math.nan, 4), (None, 4), (math.inf, 9), (-math.inf, 4), (1e308, 9), (7.0, 9), (-1.0, 4)):
        assert engine(schema, [(1.0,), (extra,), (3.0,)]).compute(made.frame)[0][0] * step == total


def test_a_missing_value_where_none_is_declared_possible_counts_as_the_lower_bound(engine):
    """The declaration is enforced: the row still contributes exactly one value within the bounds."""
    schema = Schema((Column("v", "real", nullable=False),))
    frame = frame_of(sum_of("v", lower=2, upper=5), schema=schema, step=1)
    for extra in (None, math.nan):
        assert engine(schema, [(4.0,), (extra,)]).compute(frame) == ((6,),)


HALVES = [(0.5, 1), (1.5, 2), (2.5, 3), (-0.5, -1), (-1.5, -2), (-2.5, -3), (0.4, 0), (-0.4, 0), (2.4999, 2)]


@pytest.mark.parametrize(("value", "steps"), HALVES)
def test_halves_round_away_from_zero(engine, value, steps):
    """The same on every engine, whatever its own ROUND does."""
    schema = Schema((Column("v", "real"),))
    frame = frame_of(sum_of("v", lower=-9, upper=9), schema=schema, step=1)
    assert engine(schema, [(value,)]).compute(frame) == ((steps,),)


@pytest.mark.parametrize(
    ("value", "steps"), [(1, 0), (2, 1), (4, 1), (5, 2), (-1, 0), (-2, -1), (-5, -2), (100, 3), (-100, -3)]
)
def test_whole_numbers_round_to_a_coarse_step_without_floating_point(engine, value, steps):
    """|x| + half, divided as whole numbers."""
    schema = Schema((Column("v", "integer"),))
    frame = frame_of(sum_of("v", lower=-10, upper=10), schema=schema, step=3)
    assert engine(schema, [(value,)]).compute(frame) == ((steps,),)


NEAR_AND_FAR = [None, -(2**63), 2**63 - 1, -(10**12), *range(-30, 31)]


@pytest.mark.parametrize("step", ["1", "3", "0.5", "0.7", "2.5", "10"])
@pytest.mark.parametrize(("lower", "upper"), [(10, 21), (-21, -10), (-9, 21), (0, 25), (-25, 0)])
def test_any_whole_number_lands_within_the_bounds_on_any_lattice(engine, lower, upper, step):
    """Bounds above, below and around zero; values on either side of zero and of the bounds."""
    schema = Schema((Column("place", "integer"), Column("v", "integer"), Column("r", "real")))
    rows = [(place, v, None if v is None else v / 4) for place, v in enumerate(NEAR_AND_FAR)]
    source = engine(schema, rows)
    for column in "vr":
        query = sum_of(column, lower=lower, upper=upper).by("place", keys=range(len(rows)))
        frame = frame_of(query, schema=schema, step=step)
        (found,) = agree(source, frame, rows, schema)
        assert min(found) >= min(0, frame.value.lattice.lower)
        assert max(found) <= max(0, frame.value.lattice.upper)


def test_a_source_without_rows_answers_with_zeros(engine):
    """The shape of an answer does not depend on the rows."""
    source = engine(SCHEMA, [])
    for query in QUESTIONS.values():
        frame = frame_of(query, USER)
        assert source.compute(frame) == tuple((0,) * frame.cells for _ in frame.measures)


numbers = st.none() | st.integers(-60, 60) | st.sampled_from([-(2**63), 2**63 - 1])
reals = st.none() | st.floats(allow_nan=True, allow_infinity=True, width=64)
rows = st.lists(
    st.tuples(
        st.sampled_from([None, "", "a", "b"]),
        st.sampled_from([None, "Mon", "Tue"]) | st.text(max_size=3),
        numbers,
        reals,
        st.sampled_from([None, True, False]),
        st.sampled_from([None, *DAYS]),
        numbers,
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows, name=st.sampled_from(sorted(QUESTIONS)), cap=st.integers(1, 4), scale=st.sampled_from(["1", "0.25"]))
def test_no_row_can_raise_an_error_or_change_the_shape_of_an_answer(engine, rows, name, cap, scale):
    """Any rows at all: the engine answers, and as the rules say."""
    rows = [tuple(None if isinstance(v, str) and "\0" in v else v for v in row) for row in rows]
    query = QUESTIONS[name]
    step = scale if query.column == "x" and query.lower is not None else None
    agree(engine(SCHEMA, rows), frame_of(query, PrivacyUnit("user", cap), step=step), rows)


def test_an_engine_that_forgets_a_cap_is_caught(source):
    """A control: without the cap on rows the comparison fails."""
    from dataclasses import replace

    from dosimeter.queries import Contribution

    frame = frame_of(count(), PrivacyUnit("user", 2))
    loose = replace(frame, contribution=Contribution(100, 1, 100))
    with pytest.raises(AssertionError):
        assert source.compute(loose) == source_model.aggregate(
            frame, [dict(zip(SCHEMA.names, row, strict=True)) for row in ROWS]
        )
