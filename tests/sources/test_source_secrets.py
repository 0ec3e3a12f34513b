"""Nothing about a row leaves a source but the aggregates: not in errors, not in logs, not in representations."""

import gc
import logging
import multiprocessing
import threading
import traceback

import pytest

from dosimeter.errors import SourceError
from dosimeter.neighbours import PrivacyUnit
from dosimeter.queries import Price, Schema, count, plan, sum_of
from dosimeter.sources import DuckDBSource, duckdb_load
from dosimeter.sources.failures import STEPS, quietly

SECRET = "Ms-Secret-7391"


def planned(query, schema):
    return plan(query, schema=schema, unit=PrivacyUnit(), relation="add_remove", filter=None, price=Price(mu=1))


def everything_said(error):
    """All text that can be reached from an exception."""
    seen, said, waiting = set(), [], [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        said += [str(each), repr(each), repr(each.args), repr(getattr(each, "__notes__", ""))]
        waiting += [each.__cause__, each.__context__]
    said += traceback.format_exception(error)
    return "\n".join(said)


def caught(action):
    with pytest.raises(SourceError) as found:
        action()
    return found.value


@pytest.fixture
def source():
    """One row with a secret in it."""
    return DuckDBSource.from_rows({"name": "text", "x": "integer"}, [(SECRET, 73_915_551)])


class Broken:
    """An engine whose every error quotes a row, as engines do."""

    def execute(self, *_):
        raise RuntimeError(f"Conversion Error: could not convert '{SECRET}' (73915551) in row 1 of /secret/path.csv")

    def close(self):
        """Nothing to close."""


def test_what_an_engine_says_never_travels(source, caplog, capsys):
    """Message, arguments, cause, context, notes, traceback, logs: a fixed text for the step, and nothing else."""
    source._connection = Broken()
    with caplog.at_level(logging.DEBUG):
        error = caught(lambda: source.aggregate(planned(count(), source.schema)))
    said = everything_said(error)
    assert str(error) == STEPS["aggregate"]
    assert error.args == (STEPS["aggregate"],)
    assert error.__cause__ is error.__context__ is None
    for secret in (SECRET, "73915551", "/secret", "Conversion", "RuntimeError"):
        assert secret not in said
    printed = capsys.readouterr()
    assert not caplog.records
    assert printed.out + printed.err == ""


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_one_fixed_message(step):
    """Whatever failed inside, and with whatever text."""

    def fail():
        raise ValueError(SECRET)

    error = caught(lambda: quietly(step, fail))
    assert everything_said(error).count(SECRET) == 0
    assert str(error) == STEPS[step]


def test_an_interruption_is_not_swallowed():
    """Ctrl-C and exits pass through: they say nothing about rows."""

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quietly("aggregate", stop)


def test_a_control_that_chains_its_errors_is_caught():
    """`raise ... from None` alone would keep the engine's text reachable; this test would see it."""

    def careless():
        try:
            Broken().execute()
        except RuntimeError:
            raise SourceError("fixed") from None

    assert SECRET in everything_said(caught(careless))


@pytest.mark.parametrize(
    "cells",
    [f"1,{SECRET}\n2\n", f'1,"{SECRET}\n', f"1,{SECRET},3\n", f'1,"{SECRET}"x\n'],
)
def test_a_malformed_file_is_refused_without_quoting_it(tmp_path, cells):
    """DuckDB's own message would show the line."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + cells)
    said = everything_said(caught(lambda: DuckDBSource.open(path)))
    assert SECRET not in said
    assert "Line" not in said


def test_representations_show_no_row(source):
    """Not of the source, not of a plan, not of what was computed."""
    made = planned(count().where("x > 1"), source.schema)
    for text in (repr(source), str(source), repr(made), made.describe(), str(made.to_json())):
        assert SECRET not in text
        assert "73915551" not in text.replace("_", "")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{path}')",
        "SELECT * FROM read_text('{path}')",
        "SELECT * FROM glob('/*')",
        "COPY data TO '{path}.out'",
        "ATTACH '{path}.db' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET autoload_known_extensions = true",
        "RESET lock_configuration",
        "EXPORT DATABASE '{path}.dir'",
    ],
)
def test_after_loading_the_engine_can_reach_nothing(tmp_path, statement):
    """Even a statement that got in could read no file, write none, load no code and undo no setting."""
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    source = DuckDBSource.open(path)
    with pytest.raises(Exception, match=r"(?i)disabled|cannot|locked|denied|permission|not allowed"):
        source._connection.execute(statement.format(path=path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]


def test_only_the_typed_copy_stays_in_the_engine(tmp_path):
    """The raw cells and the fingerprints of rows are dropped; a database is detached and can be used by others."""
    import duckdb

    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    source = DuckDBSource.open(path)
    tables = source._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    columns = source._connection.execute("SELECT column_name FROM duckdb_columns() WHERE NOT internal").fetchall()
    assert tables == [("loaded",)]
    assert {name for (name,) in columns} == {"c0", "x"}
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO t VALUES (2)")
    assert source.aggregate(planned(count(), source.schema)) == ((1,),)


def test_a_file_that_changes_later_changes_no_answer(tmp_path):
    """The rows are those whose fingerprint was taken."""
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\n")
    source = DuckDBSource.open(path)
    path.write_text("x\n1\n2\n3\n")
    assert source.aggregate(planned(count(), source.schema)) == ((2,),)
    path.unlink()
    assert source.aggregate(planned(count(), source.schema)) == ((2,),)


def test_a_plan_for_a_column_that_is_not_there_is_refused_before_rows_are_touched(source):
    """The data may have changed since the account's schema was fixed."""
    other = Schema.of({"name": "text", "y": "real"})
    error = caught(lambda: source.aggregate(planned(sum_of("y", lower=0, upper=1), other)))
    assert str(error) == "the data has no column 'y'; plan the query with this source's schema"


def test_a_plan_may_read_a_column_under_another_type():
    """An account's schema is fixed when it opens; a source that inferred other types reads by the account's."""
    source = DuckDBSource.from_rows({"t": "text", "i": "integer", "r": "real"}, [("1", 1, 1.0), ("x", 2, 2.5)])
    other = Schema.of({"t": "integer", "i": "real", "r": "integer"})
    assert source.aggregate(planned(count().where("t = 1"), other)) == ((1,),)
    assert source.aggregate(planned(count().where("r IS NULL"), other)) == ((1,),)
    assert source.aggregate(planned(sum_of("i", lower=0, upper=5), other)) == ((3_000_000,),)


def test_threads_may_share_a_source(source):
    """Each gets the whole answer to its own question."""
    plans = [planned(count().where(f"x > {n}"), source.schema) for n in (0, 10**9)]
    answers = {0: set(), 1: set()}

    def work(which):
        for _ in range(20):
            answers[which].add(source.aggregate(plans[which]))

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {0: {((1,),)}, 1: {((0,),)}}


def _ask_in_child(source, made, said):
    try:
        said.put(str(source.aggregate(made)))
    except SourceError as error:
        said.put(str(error))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_does_not_inherit_the_engine(source):
    """The engine's threads do not survive a fork; the child is told to open the data again."""
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    child = context.Process(target=_ask_in_child, args=(source, planned(count(), source.schema), said))
    child.start()
    assert "another process" in said.get(timeout=30)
    child.join(30)


def test_a_closed_source_says_so_like_any_failure(source):
    """Also to whoever asks which rows it holds, so that a session notices before it pays; and frees what it held."""
    source.close()
    for ask in (lambda: source.aggregate(planned(count(), source.schema)), source.content_digest):
        assert str(caught(ask)) == "the data was closed; open it again"
    gc.collect()


def test_values_that_do_not_fit_their_columns_are_refused_without_quoting_them():
    """from_rows reads Python values with the same silence."""
    for rows in ([("a", SECRET)], [(1,)], [("a", 1, 2)], [(object(), 1)]):
        error = caught(lambda rows=rows: DuckDBSource.from_rows({"name": "text", "x": "integer"}, rows))
        assert SECRET not in everything_said(error)
    assert duckdb_load.TABLE == "data"
