"""Asking data in blocks: exactly the named blocks' rows are read and paid for, also after the data has grown."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import dosimeter as dm
from dosimeter.errors import AccountConflict, InputError, QueryError, QueryRefused
from dosimeter.ledger.split import Groups, Split, TimeWindows
from dosimeter.session.split import SplitSession

MONTHS = Split(TimeWindows("day", "month", datetime.date(2026, 1, 1)))
REGIONS = Split(Groups("region", ("north", "south")), blocks_per_person=1)


def write(path: Path, months: int) -> Path:
    """A hundred rows for each month from January on, then ten without a day."""
    rows = [
        f"2026-{m:02d}-{1 + i % 28:02d},{'north' if i % 4 else 'south'},{i}"
        for m in range(1, months + 1)
        for i in range(100)
    ]
    rows += [f",north,{i}" for i in range(10)]
    path.write_text("day,region,value\n" + "\n".join(rows) + "\n")
    return path


def opened(folder: Path, months: int = 2, split: Split | None = MONTHS, **budget: Any) -> SplitSession:
    """A session on a file of so many months."""
    given = budget or {"epsilon": "100"}
    session = dm.open(
        write(folder / "visits.csv", months),
        split=split,
        ledger=folder / "l.db",
        opened_by="Ada",
        columns={"day": "date", "region": "text", "value": "integer"},
        **given,
    )
    assert isinstance(session, SplitSession)
    return session


def near(answer: dm.Answer, truth: int) -> bool:
    """At epsilon 50 the noise is less than one in all but one of 1e20 answers."""
    return abs(answer.value - truth) < 2


def test_only_the_named_blocks_are_read_and_paid_for(tmp_path: Path) -> None:
    """One month, two months; rows without a day lie in no block."""
    session = opened(tmp_path, months=3)
    assert near(session.ask(dm.count(), blocks=["2026-01"], epsilon="50"), 100)
    assert near(session.ask(dm.count(), blocks=["2026-02", "2026-03"], epsilon="50"), 200)
    spent = {block.key: block.balance.spent["epsilon"] for block in session.book.blocks()}
    assert spent == {"2026-01": "50", "2026-02": "50", "2026-03": "50"}
    with pytest.raises(QueryRefused, match="block 2026-01"):
        session.ask(dm.count().where("value < 10"), blocks=["2026-01", "2026-04"], epsilon="51")
    assert session.remaining(["2026-04"]) == {"epsilon": "100"}
    assert all(report.ok for report in session.book.audit())


def test_a_condition_cannot_reach_beyond_its_blocks(tmp_path: Path) -> None:
    """Whatever the question says, OR included."""
    session = opened(tmp_path, months=2)
    question = dm.count().where("day >= '2026-01-01' OR value >= 0")
    assert near(session.ask(question, blocks=["2026-02"], epsilon="50"), 100)


def test_data_that_grows_keeps_what_was_spent(tmp_path: Path) -> None:
    """The file has a month more; old months have what they had left, the new one all of its own."""
    opened(tmp_path, months=1).ask(dm.count(), blocks=["2026-01"], epsilon="80")
    session = opened(tmp_path, months=2)
    with pytest.raises(QueryRefused):
        session.ask(dm.count(), blocks=["2026-01", "2026-02"], epsilon="30")
    assert near(session.ask(dm.count(), blocks=session.live(["2026-02"]), epsilon="90"), 100)
    decisions = [d.kind for d in session.statement().decisions]
    assert decisions == ["opened", "data_changed"]


def test_the_same_question_is_replayed_free(tmp_path: Path) -> None:
    """Over the same blocks of the same rows, also by another session."""
    first = opened(tmp_path).ask(dm.count(), blocks=["2026-01"], epsilon="10")
    again = opened(tmp_path).ask(dm.count(), blocks=["2026-01"], epsilon="10")
    other = opened(tmp_path).ask(dm.count(), blocks=["2026-02"], epsilon="10")
    assert (again.value, again.replayed) == (first.value, True)
    assert not other.replayed
    assert again.remaining == {"epsilon": "90"}


def test_the_last_days_resolve_to_blocks(tmp_path: Path) -> None:
    """By the day that the analyst says today is; a clock decides nothing."""
    session = opened(tmp_path)
    assert session.last(30, "2026-02-10") == ("2026-01", "2026-02")
    assert session.between("2026-01-05", "2026-01-06") == ("2026-01",)
    quoted = session.quote(dm.count(), blocks=session.last(30, "2026-02-10"), epsilon="10")
    assert quoted.fits
    assert not session.quote(dm.count(), blocks=["2026-01"], epsilon="101").fits


def test_groups_of_users(tmp_path: Path) -> None:
    """A declared value per block; the statement speaks of whole persons."""
    session = opened(tmp_path, split=REGIONS, months=1)
    assert near(session.ask(dm.count(), blocks=["south"], epsilon="50"), 25)
    statement = session.blocks_statement()
    assert statement.per_person == statement.per_block
    with pytest.raises(InputError, match="not split by time"):
        session.last(30, "2026-02-10")


def test_blocks_must_be_named(tmp_path: Path) -> None:
    """There is no question to all of it by accident."""
    session = opened(tmp_path)
    for attempt in (
        lambda: session.ask(dm.count(), epsilon="1"),
        lambda: session.quote(dm.count(), epsilon="1"),
        lambda: session.ask(dm.count(), blocks=["2025-12"], epsilon="1"),
        lambda: session.ask(dm.count(), blocks="2026-01", epsilon="1"),
        session.balance,
        lambda: session.marginals([["region"]], {"region": ["a", "b"]}, mu=1),
    ):
        with pytest.raises(InputError):
            attempt()
    assert "0 blocks" in str(session)


def test_another_split_of_the_same_rows_is_refused(tmp_path: Path) -> None:
    """And so is a split of data that was opened as a whole, and a column that cannot be split so."""
    opened(tmp_path)
    with pytest.raises(AccountConflict, match="second budget"):
        opened(tmp_path, split=REGIONS)
    whole = {"epsilon": "1", "ledger": tmp_path / "other.db", "opened_by": "Ada"}
    dm.open(tmp_path / "visits.csv", **whole)
    with pytest.raises(AccountConflict, match="without"):
        dm.open(tmp_path / "visits.csv", split=MONTHS, **whole)
    fresh = {"epsilon": "1", "ledger": tmp_path / "third.db", "opened_by": "Ada"}
    with pytest.raises(InputError, match="text"):
        dm.open(tmp_path / "visits.csv", split=Split(Groups("value", ("1",))), **fresh)
    with pytest.raises(QueryError, match="does not exist"):
        dm.open(tmp_path / "visits.csv", split=Split(Groups("nowhere", ("1",))), **fresh)
