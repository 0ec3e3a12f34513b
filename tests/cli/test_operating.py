"""The commands of whoever looks after a ledger: doctor, metrics, the log, and an audit that shows how far it is."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dosimeter as dm
from dosimeter.cli import output, proving
from dosimeter.cli.app import app
from dosimeter.ledger import Ledger
from dosimeter.ledger.watch import LOGGER

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a ledger of one account and two answers."""
    monkeypatch.chdir(tmp_path)
    for name in ("DOSIMETER_LEDGER", "DOSIMETER_LOG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{20 + i % 60},{'FM'[i % 2]}\n" for i in range(90)))
    session = dm.open("people.csv", epsilon="1", opened_by="Ada")
    session.ask(dm.count(), epsilon="0.1")
    session.ask(dm.count().where("age >= 40"), epsilon="0.1")
    session.ledger.store.close()
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """Run a command, check its exit code, and return what it printed on both streams."""
    result = RUNNER.invoke(app, list(words))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


# -- the doctor ------------------------------------------------------------------------------------------------------


def test_a_healthy_ledger_is_told_so() -> None:
    """By argument or by option, for people or as JSON; exit code 0."""
    said = run("doctor", "dosimeter.db")
    assert "0 errors" in said
    assert "2 charges hold" in said
    told = json.loads(run("doctor", "--ledger", "dosimeter.db", "--json"))
    assert told["ok"] is True
    assert {finding["check"] for finding in told["findings"]} >= {"schema", "chain", "orphans", "clock", "generator"}
    assert "chain" not in run("doctor", "--quick")


def test_an_error_says_why_and_what_to_do_and_exits_with_one() -> None:
    """A trigger is gone; and a file that is not there."""
    with sqlite3.connect("dosimeter.db") as connection:
        connection.execute("DROP TRIGGER dosimeter_records_no_update")
    connection.close()
    said = run("doctor", code=1)
    assert "error   tables: missing or changed" in said
    assert "why:  " in said
    assert "then: " in said
    assert json.loads(run("doctor", "--json", code=1))["ok"] is False
    assert "cannot be reached" in run("doctor", "nowhere.db", code=1)
    assert not Path("nowhere.db").exists()


def test_help_says_what_is_examined() -> None:
    """And what the exit code means."""
    said = run("doctor", "--help")
    assert "Only reads" in " ".join(said.split())
    assert "Exit code 1" in " ".join(said.split())


def test_every_check_is_explained_on_its_page() -> None:
    """What the doctor may say stands in the guide, for files and for servers."""
    from dosimeter.stores.sql import postgresql_checkup, sqlite_checkup

    page = (Path(__file__).parents[2] / "docs/operate/doctor.md").read_text()
    found = {finding["check"] for finding in json.loads(run("doctor", "--json"))["findings"]}
    named = set[str]()
    for module in (postgresql_checkup, sqlite_checkup):
        named |= set(re.findall(r"(?:ok|warning|error)\(\s*\"(\w+)\"", Path(str(module.__file__)).read_text()))
    assert named >= {"rights", "standby", "leftovers"}
    for check in found | named:
        assert f"`{check}`" in page, check


# -- metrics ---------------------------------------------------------------------------------------------------------


def test_metrics_for_a_collector() -> None:
    """Printed, or put into a file in one step; nothing that was asked stands in them."""
    said = run("metrics")
    assert 'quantity="epsilon"} 0.2' in said
    assert "# TYPE dosimeter_account_spent gauge" in said
    assert run("metrics", "-o", "dosimeter.prom") == ""
    assert Path("dosimeter.prom").read_text() == said
    assert list(Path().glob(".dosimeter.prom*")) == []
    assert not any(word in said for word in ("age >=", "count(", "people", "Ada"))
    assert "unanswered_reservations" in run("metrics", "--orphans", "--account", "people", "--read-only")


def test_metrics_as_json_and_where_nothing_can_be_written() -> None:
    """The same numbers; and one sentence."""
    told = json.loads(run("metrics", "--json"))
    spent = next(family for family in told if family["name"] == "dosimeter_account_spent")
    assert spent["samples"][0]["value"] >= 0.2
    assert "cannot write" in run("metrics", "-o", "no/such/folder.prom", code=1)
    Path("taken.prom").mkdir()
    assert "cannot write" in run("metrics", "-o", "taken.prom", code=1)


# -- the log ---------------------------------------------------------------------------------------------------------


def log_of(*words: str, **environment: str) -> str:
    """What a command writes to standard error."""
    result = RUNNER.invoke(app, list(words), env=environment)
    assert result.exit_code == 0, result.output
    return result.stderr


ASK = ("ask", "people.csv", "count", "--where", "age >= 30", "--epsilon", "0.1")


def test_the_log_as_json_lines() -> None:
    """One object per event, on standard error only; no question, no answer; and the handler is gone afterwards."""
    handlers = list(LOGGER.handlers)
    lines = [json.loads(line) for line in log_of("--log", "json", *ASK).splitlines()]
    assert [line["outcome"] for line in lines] == ["reserved", "settled"]
    assert set(lines[0]) == {"time", "level", "logger", "message", "verb", "outcome", "account", "entry"}
    assert not any(word in json.dumps(lines) for word in ("age >=", "question", "people"))
    assert LOGGER.handlers == handlers


def test_the_log_as_text_and_from_the_environment() -> None:
    """`DOSIMETER_LOG` says the same as the option; without either there is no log."""
    assert "INFO dosimeter.ledger reserve: reserved" in log_of("--log", "text", *ASK)
    again = log_of(*ASK, DOSIMETER_LOG="text")
    assert "INFO dosimeter.ledger reserve: replayed" in again
    assert log_of(*ASK) == ""


def test_json_on_standard_output_is_not_disturbed_by_the_log() -> None:
    """A program reads the answer there."""
    result = RUNNER.invoke(app, ["--log", "json", *ASK, "--json"])
    assert json.loads(result.stdout)["replayed"] is False


# -- how far an audit is ---------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_where_a_person_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error, if that is a terminal; never for a machine."""
    seen: list[Any] = []
    audit = Ledger.audit

    def watched(self: Ledger, *arguments: Any, **options: Any) -> Any:
        progress = options["progress"]
        seen.append(progress)
        if progress is not None:
            progress(1, 2)
        return audit(self, *arguments, **options)

    monkeypatch.setattr(Ledger, "audit", watched)
    monkeypatch.setenv("TERM", "xterm")
    run("audit")
    assert seen == [None]
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with output.counting("proving") as progress:
        assert progress is not None
        progress(500, 1000)
    assert "proving" in terminal.getvalue()
    with output.counting("proving", quiet=True) as progress:
        assert progress is None


def test_a_file_is_replaced_in_one_step(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader sees the old text or the new one."""
    target = place / "x.prom"
    target.write_text("old\n")
    seen = []
    replace = Path.replace

    def slowly(self: Path, to: Path) -> Path:
        seen.append(target.read_text())
        return replace(self, to)

    monkeypatch.setattr(Path, "replace", slowly)
    proving.replace_at_once(target, "new\n")
    assert seen == ["old\n"]
    assert target.read_text() == "new\n"
