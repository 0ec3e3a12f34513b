"""Checkpoints, signatures, export, import and the registry's entry on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dosimeter as dm
from dosimeter.cli.app import app

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a ledger of one account and two answers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DOSIMETER_LEDGER", raising=False)
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{20 + i % 60},{'FM'[i % 2]}\n" for i in range(90)))
    session = dm.open("people.csv", epsilon="1", opened_by="Ada")
    session.ask(dm.count(), epsilon="0.1")
    session.ask(dm.count().where("age >= 40"), epsilon="0.1")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """Run a command, check its exit code, and return what it printed on both streams."""
    result = RUNNER.invoke(app, list(words))
    said = result.output + (result.stderr if code else "")
    assert result.exit_code == code, said
    assert "Traceback" not in said
    return said


def run_json(*words: str) -> Any:
    """Run a command with --json and read what it printed."""
    return json.loads(run(*words, "--json"))


def ask_more() -> None:
    """One more charge."""
    dm.open("people.csv").ask(dm.count().where("sex = 'F'"), epsilon="0.1")


def test_an_audit_against_a_checkpoint_finds_a_ledger_that_was_put_back() -> None:
    """It passes while the history grows, and fails with exit code 1 on the older copy."""
    shutil.copy("dosimeter.db", "backup.db")
    ask_more()
    assert "1 accounts" in run("checkpoint", "-o", "noted.json")
    ask_more()
    assert "contains the checkpoint" in run("audit", "--against", "noted.json")
    assert run_json("audit", "--against", "noted.json", "--account", "people")["ok"] is True
    shutil.copy("backup.db", "dosimeter.db")
    assert "older copy" in run("audit", "--against", "noted.json", code=1)
    assert "hold" in run("audit")  # control: without the checkpoint nothing can be seen


def test_a_checkpoint_is_printed_without_secrets() -> None:
    """As JSON, whether or not it was asked for."""
    plain = json.loads(run("checkpoint"))
    assert [account["records"] for account in plain["accounts"]] == [5]
    assert plain["signature"] is None


def test_signed_checkpoints() -> None:
    """Made by the command's own key; a signature nobody checks, another signer and an edit are refused."""
    pytest.importorskip("cryptography")
    run("signing-key", "-o", "auditor.pem")
    run("signing-key", "-o", "mallory.pem")
    assert Path("auditor.pem").stat().st_mode & 0o077 == 0
    assert "cannot write" in run("signing-key", "-o", "auditor.pem", code=1)
    run("checkpoint", "--sign", "auditor.pem", "-o", "signed.json")
    words = ("audit", "--against", "signed.json")
    assert "signed checkpoint" in run(*words, "--public-key", "auditor.pem.pub")
    assert "--public-key" in run(*words, code=1)
    assert "another key" in run(*words, "--public-key", "mallory.pem.pub", code=1)
    edited = Path("signed.json").read_text().replace('"records": 5', '"records": 4')
    Path("edited.json").write_text(edited)
    assert "does not fit" in run("audit", "--against", "edited.json", "--public-key", "auditor.pem.pub", code=1)
    assert "--against" in run("audit", "--public-key", "auditor.pem.pub", code=1)


def test_export_and_import() -> None:
    """The new ledger answers the same question free, and its next export is the same to the byte."""
    run("export", "-o", "ledger.jsonl", "--key-output", "ledger.key")
    assert Path("ledger.key").stat().st_mode & 0o077 == 0
    assert run_json("import", "ledger.jsonl", "--check")["imported"] is False
    run("import", "ledger.jsonl", "--key", "ledger.key", "--ledger", "copy.db")
    run("export", "-o", "again.jsonl", "--ledger", "copy.db")
    assert Path("again.jsonl").read_bytes() == Path("ledger.jsonl").read_bytes()
    answer = dm.open("people.csv", ledger="copy.db").ask(dm.count(), epsilon="0.1")
    assert answer.replayed


def test_an_import_that_cannot_be_trusted_makes_no_ledger() -> None:
    """Tampered, cut, without or with another key, over an existing file: one sentence, and no new file."""
    run("export", "-o", "ledger.jsonl", "--key-output", "ledger.key")
    Path("forged.jsonl").write_text(Path("ledger.jsonl").read_text().replace("age >= 40", "age >= 90", 1))
    Path("cut.jsonl").write_text("".join(Path("ledger.jsonl").read_text().splitlines(keepends=True)[:-1]))
    dm.open("people.csv", epsilon="1", ledger="other.db")
    run("export", "-o", "other.jsonl", "--key-output", "other.key", "--ledger", "other.db")
    to = ("--ledger", "new.db")
    assert "does not hold" in run("import", "forged.jsonl", "--key", "ledger.key", *to, code=1)
    assert "does not hold" in run("import", "forged.jsonl", "--check", code=1)
    assert "too early" in run("import", "cut.jsonl", "--key", "ledger.key", *to, code=1)
    assert "another ledger" in run("import", "ledger.jsonl", "--key", "other.key", *to, code=1)
    assert "--key" in run("import", "ledger.jsonl", *to, code=1)
    assert "cannot read" in run("import", "nowhere.jsonl", "--check", code=1)
    assert not Path("new.db").exists()
    assert "exists" in run("import", "ledger.jsonl", "--key", "ledger.key", code=1)
    assert "cannot write" in run("export", "-o", "ledger.jsonl", code=1)


def test_the_registrys_entry() -> None:
    """The technical half is filled in, the rest is left to people."""
    entry = json.loads(run("registry"))["deployment"]
    assert entry["dp_flavor"]["name"] == "Pure DP"
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert "2 releases" in entry["implementation"]["mechanisms"]
    assert entry["product"]["intended_use"].startswith("TODO")
    run("registry", "-o", "entry.json")
    assert json.loads(Path("entry.json").read_text())["deployment"] == entry
