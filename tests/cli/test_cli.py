"""The command line mirrors the library, speaks JSON, and says what is wrong in one sentence, without a traceback."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dosimeter as dm
from dosimeter.cli.app import app

RUNNER = CliRunner()
PEOPLE = "person,age,sex,spend\n" + "".join(f"{i // 3},{20 + i % 60},{'FM'[i % 2]},{i % 50}.5\n" for i in range(600))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with people.csv, and nothing else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DOSIMETER_LEDGER", raising=False)
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """Run a command, check its exit code, and return what it printed (both streams when it failed)."""
    result = RUNNER.invoke(app, list(words))
    said = result.output if code == 0 else result.output + result.stderr
    assert result.exit_code == code, said
    assert "Traceback" not in said
    return said


def run_json(*words: str, code: int = 0) -> Any:
    """Run a command with --json and read what it printed."""
    result = RUNNER.invoke(app, [*words, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


OPEN = ("open", "people.csv", "--epsilon", "1", "--delta", "1e-6", "--user", "person", "--max-contributions", "3")


def test_the_whole_story() -> None:
    """Open, quote, ask, ask again, be refused, look, prove, draw: the same numbers as the library's."""
    opened = run_json(*OPEN)
    assert opened["filter"] == {"kind": "approx", "epsilon": "1", "delta": "1e-6", "declared_delta": "0"}
    quoted = run_json("quote", "people.csv", "count", "--where", "age >= 40", "--epsilon", "0.1")
    assert quoted["fits"] is True
    words = ("ask", "people.csv", "count", "--where", "age >= 40", "--epsilon", "0.1")
    answer = run_json(*words)
    assert answer["charge"] == quoted["charge"]
    assert answer["remaining"] == quoted["remaining_after"]
    again = run_json(*words)
    assert again["replayed"] is True
    assert again["answer"] == answer["answer"]
    refused = run_json("ask", "people.csv", "count", "--epsilon", "9", code=3)
    assert refused["error"]["kind"] == "refused"
    assert refused["error"]["remaining"]["rho"] == answer["remaining"]["rho"]
    left = run_json("remaining")
    assert left["remaining"] == answer["remaining"]
    assert left["odometers"][0]["bound"] is not None
    statement = run_json("statement")
    assert [entry["status"] for entry in statement["entries"]] == ["settled", "refused"]
    assert run_json("audit")["ok"] is True
    assert run_json("audit", "--against", statement["head"])["ok"] is True
    assert run_json("plot", "-o", "figure.svg")["queries"] == 1
    assert Path("figure.svg").read_text().startswith("<svg")
    run("statement", "--html", "page.html")
    page = Path("page.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert run_json("accounts")[0]["id"] == opened["id"]


@pytest.mark.parametrize(
    "words",
    [
        ("count",),
        ("users",),
        ("sum", "spend", "--lower", "0", "--upper", "50"),
        ("mean", "spend", "--lower", "0", "--upper", "50", "--by", "sex=F,M"),
        ("histogram", "age", "--edges", "0,30,60,90"),
        ("count", "--by", "sex=F,M,NULL", "--by", "age=20,21", "--max-groups", "2"),
        ("count", "--by", 'sex=["F", "M"]'),
    ],
)
def test_every_question_has_words(words: tuple[str, ...]) -> None:
    """Each aggregate, group and bound of the library can be said on the command line, for people and machines."""
    run(*OPEN)
    said = run("ask", "people.csv", *words, "--rho", "0.0005")
    assert "±" in said
    assert "left:" in said
    assert run_json("ask", "people.csv", *words, "--rho", "0.0005")["replayed"] is True
    assert "charge" in run("quote", "people.csv", *words, "--rho", "0.0005")


@pytest.mark.parametrize(
    ("words", "say"),
    [
        (("ask", "people.csv", "count", "--epsilon", "NaN"), "finite"),
        (("ask", "people.csv", "count", "--epsilon", "0"), "epsilon"),
        (("ask", "people.csv", "count", "--epsilon", "-1"), "epsilon"),
        (("ask", "people.csv", "count", "--epsilon", "1e-400"), "epsilon"),
        (("ask", "people.csv", "count", "--epsilon", "1e400"), "epsilon"),
        (("ask", "people.csv", "count", "--epsilon", "0,1"), "epsilon"),
        (("ask", "people.csv", "count"), "cost"),
        (("ask", "people.csv", "count", "spend", "--epsilon", "0.1"), "takes no column"),
        (("ask", "people.csv", "median", "age", "--epsilon", "0.1"), "median"),
        (("ask", "people.csv", "sum", "--epsilon", "0.1"), "needs a column"),
        (("ask", "people.csv", "sum", "spend", "--epsilon", "0.1"), "sum spend --lower 0 --upper 50"),
        (("ask", "people.csv", "mean", "spend", "--lower", "0", "--epsilon", "0.1"), "mean spend --lower 0 --upper 50"),
        (("ask", "people.csv", "histogram", "age", "--epsilon", "0.1"), "--edges 0,18,65,100"),
        (("ask", "people.csv", "histogram", "age", "--edges", "0,,5", "--epsilon", "0.1"), "edge=''"),
        (("ask", "people.csv", "count", "--lower", "5", "--epsilon", "0.1"), "--where"),
        (("ask", "people.csv", "count", "--edges", "5,6", "--epsilon", "0.1"), "histogram"),
        (("ask", "people.csv", "count", "--request", "", "--epsilon", "0.1"), "request id"),
        (("ask", "people.csv", "sum", "spnd", "--lower", "0", "--upper", "1", "--epsilon", "0.1"), "spend"),
        (("ask", "people.csv", "count", "--by", "sex", "--epsilon", "0.1"), "--by sex=a,b"),
        (("ask", "people.csv", "count", "--by", "age=x", "--epsilon", "0.1"), "whole number"),
        (("ask", "people.csv", "count", "--by", "sex=[F", "--epsilon", "0.1"), "JSON"),
        (("ask", "people.csv", "count", "--where", "age >", "--epsilon", "0.1"), "age"),
        (("ask", "nobody.csv", "count", "--epsilon", "0.1"), "nobody.csv"),
        (("ask", ".", "count", "--epsilon", "0.1"), "director"),
        (("open", "people.csv", "--epsilon", "1", "--delta", "1"), "delta"),
        (("open", "people.csv", "--epsilon", "1", "--delta", "2"), "delta"),
        (("open", "people.csv", "--epsilon", "2", "--delta", "1e-6"), "terms"),
        (("open", "people.csv", "--epsilon", "1", "--rho", "1"), "budget"),
        (("open", "people.csv", "--epsilon", "1", "--relation", "swap"), "add_remove"),
        (("open", "people.csv", "--epsilon", "1", "--column", "age"), "name=type"),
        (("remaining", "--account", "nobody"), "nobody"),
        (("remaining", "--ledger", "nothing.db"), "nothing.db"),
        (("statement", "--html", "no/such/folder/page.html"), "page.html"),
        (("reset", "--reason", " ", "--authorised-by", "Ada"), "reason"),
        (("audit", "--against", "deadbeef"), "noted earlier"),
    ],
)
def test_bad_input_gets_one_sentence(words: tuple[str, ...], say: str) -> None:
    """What is wrong, why and what to do, on one line; the account is as it was."""
    run(*OPEN)
    before = run_json("remaining")
    said = run(*words, code=1)
    assert say in said
    assert run_json("remaining") == before
    assert not Path("nothing.db").exists()


@pytest.mark.parametrize("damage", ["text", "truncated", "other", "directory", "empty"])
def test_a_file_that_is_not_a_ledger_is_refused(place: Path, damage: str) -> None:
    """A damaged or foreign ledger file is named and left as it is; nothing is reset."""
    run(*OPEN)
    run("ask", "people.csv", "count", "--epsilon", "0.1")
    ledger = place / "dosimeter.db"
    sqlite3.connect(ledger).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    for extra in place.glob("dosimeter.db-*"):
        extra.unlink()
    content = ledger.read_bytes()
    ledger.unlink()
    if damage == "text":
        ledger.write_text("this is not a ledger, " * 100)
    elif damage == "truncated":
        ledger.write_bytes(content[: len(content) // 2])
    elif damage == "other":
        connection = sqlite3.connect(ledger)
        connection.execute("CREATE TABLE shopping (item TEXT)")
        connection.commit()
        connection.close()
    elif damage == "directory":
        ledger.mkdir()
    else:
        ledger.write_bytes(b"")
    found = ledger.read_bytes() if ledger.is_file() else b""
    said = run("ask", "people.csv", "count", "--epsilon", "0.1", code=1)
    assert "dosimeter.db" in said
    assert (ledger.read_bytes() if ledger.is_file() else b"") == found


def test_steward_decisions_are_shown_for_ever(place: Path) -> None:
    """Changed data needs a decision; a reset opens a new epoch; both stand on the statement with name and reason."""
    run(*OPEN)
    run("ask", "people.csv", "count", "--epsilon", "0.1")
    spent = run_json("remaining")["spent"]
    with (place / "people.csv").open("a") as file:
        file.write("999,40,F,3.5\n")
    assert "changed" in run("ask", "people.csv", "count", "--epsilon", "0.1", code=1)
    run("accept-change", "people.csv", "--reason", "a late row", "--authorised-by", "Ada")
    assert run_json("remaining")["spent"] == spent
    run("reset", "--reason", "second study", "--authorised-by", "Ada")
    data = run_json("statement")
    assert [(d["kind"], d["by"]) for d in data["decisions"][1:]] == [("data_changed", "Ada"), ("reset", "Ada")]
    assert len(data["epochs"]) == 2
    said = run("statement")
    assert "second study" in said
    assert "epochs" in said


def test_help_teaches() -> None:
    """The command alone lists the commands; each has help with an explanation of its options; it knows its version."""
    assert run("--version") == f"dosimeter {dm.__version__}\n"
    assert "audit" in RUNNER.invoke(app, []).output
    for command in ("open", "ask", "quote", "remaining", "statement", "audit", "plot", "demo", "reset"):
        assert "--json" in run(command, "--help")


def test_the_ledger_may_stand_in_the_environment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DOSIMETER_LEDGER names the file for every command."""
    monkeypatch.setenv("DOSIMETER_LEDGER", str(place / "other.db"))
    run(*OPEN)
    assert (place / "other.db").exists()
    assert run_json("remaining")["spent"]["rho"] == "0"


def test_what_was_refused_is_not_shown_as_charged() -> None:
    """The statement says what a refused question would have cost, in another column than what was paid."""
    run(*OPEN)
    run("ask", "people.csv", "count", "--epsilon", "9", code=3)
    said = run("statement")
    assert "nothing" in said
    assert "refused" in said
    run("statement", "--html", "page.html")
    page = Path("page.html").read_text()
    assert "<td>nothing</td><td>refused (rho 8.99" in page
    assert "Declared because" not in page
    assert "Epoch" not in page


def test_an_output_that_cannot_be_written_is_no_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk behind the standard output: the sentence says that asking again is free."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    run(*OPEN)
    monkeypatch.setattr("typer.echo", full)
    said = run("ask", "people.csv", "count", "--epsilon", "0.1", code=1)
    assert "No space left on device" in said
    assert "asking again is free" in said


def test_markup_in_a_question_is_not_obeyed() -> None:
    """Text of an analyst is shown as it is, in a terminal table and on the page."""
    run(*OPEN)
    run("ask", "people.csv", "count", "--where", "sex = '[red]<b>x</b>'", "--epsilon", "0.1")
    run("statement", "--html", "page.html")
    assert "<b>x</b>" not in Path("page.html").read_text()
    assert "[red]" in run("statement")
