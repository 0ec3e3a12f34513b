"""The SQL itself, per dialect: a change of a library that prints other SQL is seen before it runs."""

import json
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from dosimeter.neighbours import PrivacyUnit
from dosimeter.queries import Price, Schema, count, histogram, mean_of, plan, sum_of
from dosimeter.sources import DuckDBSource
from dosimeter.sources.tree import sql_of, tree_of

SCHEMA = Schema.of({"user": "text", "day": "text", "x": "integer", "r": "real", "flag": "boolean"})
USER = PrivacyUnit("user", 2)


def frame(query, unit=None, **kwargs):
    made = plan(
        query,
        schema=SCHEMA,
        unit=unit or PrivacyUnit(),
        relation="add_remove",
        filter=None,
        price=Price(mu=1),
        salt="salt",
        **kwargs,
    )
    return made.frame


FRAMES = {
    "rows": frame(count().where("x >= 1 AND (flag OR day <> 'Mon')")),
    "sum": frame(sum_of("r", lower="-0.5", upper=5), step="0.25"),
    "users": frame(
        mean_of("x", lower=0, upper=9).by("day", keys=["Mon", None]).bounded(max_groups=1, max_rows_per_group=1), USER
    ),
    "bins": frame(histogram("x", edges=[0, "1.5", 9]), USER),
}
DIALECTS = ["duckdb", "spark"]
GOLDEN = json.loads((Path(__file__).parent / "golden_sql.json").read_text())
NODES = (
    "Abs Add Alias And Boolean Case Cast Coalesce Column Count CTE DPipe DataType DataTypeParam DenseRank Div EQ Floor "
    "From GT GTE Group Identifier If In IntDiv Is IsNan Join LT LTE Literal MD5 Mul NEQ Neg Not Null NullSafeEQ Or "
    "Order Ordered Paren RowNumber Select Star Sub Sum Table TableAlias Tuple Values Where Window With"
)


def printed(name, dialect):
    return sql_of(FRAMES[name], exp.to_table("data"), dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", FRAMES)
def test_each_dialect_gets_the_reviewed_text(name, dialect):
    """The texts in golden_sql.json were read by people; a difference is read by people again."""
    assert printed(name, dialect) == GOLDEN[name][dialect]


def test_the_tree_is_made_of_few_kinds_of_nodes():
    """No function that could fail on a row, reach a file, or depend on anything but the row."""
    allowed = set(NODES.split())
    table = exp.to_table("data")
    for each in FRAMES.values():
        used = {type(node).__name__ for node in tree_of(each, table).walk()}
        assert used <= allowed, used - allowed


def test_only_the_columns_that_are_asked_about_are_read():
    """A column that a question does not name never reaches the engine's plan."""
    for each in FRAMES.values():
        given = next(cte for cte in tree_of(each, exp.to_table("data")).find_all(exp.CTE) if cte.alias == "given")
        read = {column.name for column in given.find_all(exp.Column)}
        assert read == {column.name for column in each.columns}


HOSTILE = ["'; DROP TABLE data; --", 'a" OR 1=1', "\\'", "a\nb", "$$", "/* x */", "{{x}}", "\x1f"]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_analysts_are_constants_and_nothing_else(text):
    """Keys and literals are quoted by the library that prints the tree."""
    quoted = "'" + text.replace("'", "''") + "'"
    query = count().where(f"day = {quoted}").by("user", keys=[text])
    made = frame(query)
    sql = sql_of(made, exp.to_table("data"), "duckdb")
    source = DuckDBSource.from_rows(SCHEMA, [(text, text, 1, 1.0, True), ("other", "other", 1, 1.0, True)])
    assert source.compute(made) == ((1,),)
    assert sqlglot.parse_one(sql, dialect="duckdb").sql(dialect="duckdb") == sql


def test_many_keys_and_many_edges_stay_quick_to_write():
    """Thousands of cells are joined or bisected, not compared one by one."""
    keys = frame(count().by("x", keys=range(1_500)))
    edges = frame(histogram("r", edges=range(1_501)))
    rows = [("u", "d", n % 1_501, float(n % 1_501), None) for n in range(0, 3_000, 70)]
    source = DuckDBSource.from_rows(SCHEMA, rows)
    assert sum(source.compute(keys)[0]) == sum(row[2] < 1_500 for row in rows)
    assert sum(source.compute(edges)[0]) == len(rows)
