"""Data in blocks on the command line: opened with a split, asked by blocks, listed, audited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.cli.app import app

RUNNER = CliRunner()
OPEN = ("open", "visits.csv", "--epsilon", "100", "--split-by", "day", "--column", "day=date")
DAYS = (*OPEN, "--every", "month", "--start", "2026-01-01")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with visits.csv: a hundred rows in January, fifty in February."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DOSIMETER_LEDGER", raising=False)
    rows = [f"2026-01-{1 + i % 28:02d},{i}" for i in range(100)] + [f"2026-02-{1 + i % 28:02d},{i}" for i in range(50)]
    (tmp_path / "visits.csv").write_text("day,value\n" + "\n".join(rows) + "\n")


def run(*words: str, code: int = 0) -> str:
    """Run a command, check its exit code, and return what it printed on both streams."""
    result = RUNNER.invoke(app, list(words))
    said = result.output + (result.stderr if code else "")
    assert result.exit_code == code, said
    assert "Traceback" not in said
    return said


def run_json(*words: str, code: int = 0) -> Any:
    """Run a command with --json and read what it printed."""
    return json.loads(run(*words, "--json", code=code))


def count(*blocks: str, epsilon: str = "50") -> tuple[str, ...]:
    """The words of a count."""
    return ("ask", "visits.csv", "count", "--epsilon", epsilon, *blocks)


def test_a_story_in_blocks() -> None:
    """Open, ask January, ask both, be refused in January alone, list, audit."""
    assert run_json(*DAYS)["terms"]["split"]["rule"]["every"] == "month"
    january = run_json(*count("--blocks", "2026-01"))
    assert abs(float(january["answer"]["cells"][0]["value"]) - 100) < 2
    both = run_json(*count("--blocks", "last:30:2026-02-10"))
    assert abs(float(both["answer"]["cells"][0]["value"]) - 150) < 2
    assert run_json("quote", "visits.csv", "count", "--epsilon", "9", "--blocks", "2026-02-01..2026-02-02")["fits"]
    refused = run_json(*count("--blocks", "2026-01,2026-02", epsilon="1"), code=3)
    assert "block 2026-01" in refused["error"]["message"]
    told = run_json("blocks")
    assert [(b["block"], b["spent"], b["retired"]) for b in told["blocks"]] == [
        ("2026-01", {"epsilon": "100"}, True),
        ("2026-02", {"epsilon": "50"}, False),
    ]
    assert told["per_person"] == {"notion": "pure", "epsilon": "100"}
    assert "retired" in run("blocks")
    assert len(run_json("audit")["accounts"]) == 3
    assert len(run_json("accounts")) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (OPEN, "--every"),
        ((*DAYS, "--block", "x"), "--every"),
        ((*OPEN, "--every", "month"), "--start"),
        ((*OPEN, "--every", "hour", "--start", "2026-01-01"), "hour"),
        ((*OPEN, "--every", "month", "--start", "January"), "January"),
        (("open", "visits.csv", "--epsilon", "1", "--every", "day", "--start", "2026-01-01"), "--split-by"),
        ((*OPEN, "--block", "north"), "text"),
    ],
)
def test_a_split_that_makes_no_sense_opens_nothing(words: tuple[str, ...], said: str) -> None:
    """One sentence, and no account."""
    assert said in run(*words, code=1)


def test_blocks_that_make_no_sense_charge_nothing() -> None:
    """Unknown keys, other forms, none at all; and blocks of data that has none."""
    run(*DAYS)
    for blocks in ("2025-12", "last:x:2026-01-31", "last:30", "2026-03-01..2026-02-01", ""):
        run(*count("--blocks", blocks), code=1)
    assert "name those to read" in run(*count(), code=1)
    assert run_json("blocks")["blocks"] == []
    Path("other.csv").write_text("value\n1\n")
    run("open", "other.csv", "--epsilon", "1", "--ledger", "o.db")
    assert "not opened in blocks" in run("blocks", "--ledger", "o.db", code=1)
    assert "leave --blocks out" in run(
        "ask", "other.csv", "count", "--epsilon", "1", "--blocks", "x", "--ledger", "o.db", code=1
    )


def test_groups_with_a_whole_person() -> None:
    """Declared values; the statement speaks of a whole person."""
    run(
        "open",
        "visits.csv",
        "--epsilon",
        "1",
        "--split-by",
        "day",
        "--column",
        "day=text",
        "--block",
        "2026-01-01",
        "--block",
        "2026-01-02",
        "--user",
        "value",
        "--blocks-per-person",
        "2",
    )
    told = run_json("blocks")
    assert told["per_person"] == {"notion": "pure", "epsilon": "2"}
    assert "up to 2 blocks" in run("blocks")
