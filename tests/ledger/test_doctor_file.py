"""The doctor finds what is wrong with a ledger's file, says why it matters and what to do, and changes nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import namedtuple
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.ledger_world import SetClock, answered, ask, open_account

from dosimeter.ledger import Ledger, Reserved
from dosimeter.ledger.checkup import Checkup, Level
from dosimeter.mechanisms.entropy import ScriptedTestEntropy, SeededTestEntropy, SystemEntropy
from dosimeter.stores import SQLiteStore, doctor, filesystems
from dosimeter.stores.sql import sqlite_checkup

SECRETS = ("question q1", "2.718", "q1")
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def a_machine_without_troubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local disk with room, and a new SQLite, whatever this machine has."""
    monkeypatch.setattr(filesystems, "read_mounts", lambda: "/dev/a / ext4 rw 0 0\n")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 0, 1 << 40))
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 51, 3))


@pytest.fixture
def ledger_file(file: Path) -> Path:
    """A ledger with one account and two answers; nobody has it open."""
    store = SQLiteStore(file)
    ledger = Ledger(store)
    account = open_account(ledger)
    answered(ledger, account, "q1", answer=2.718)
    answered(ledger, account, "q2", answer=2.718)
    store.close()
    return file


def run(file: Path, *statements: str) -> None:
    """Change the file behind the ledger's back, past its triggers."""
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def drop_triggers(file: Path) -> None:
    """As somebody would who wants to rewrite history."""
    connection = sqlite3.connect(file, isolation_level=None)
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.close()


def worst(found: Checkup, check: str) -> Level:
    """The worst finding of one check."""
    levels = [finding.level for finding in found.findings if finding.check == check]
    assert levels, f"nothing was said about {check}"
    return max(levels, key=list(Level).index)


def what(found: Checkup, check: str) -> str:
    """What was found by one check."""
    return "; ".join(f"{finding.what} -> {finding.todo}" for finding in found.findings if finding.check == check)


def test_a_healthy_ledger_has_nothing_to_be_done(ledger_file: Path) -> None:
    """Everything is looked at and told; the file is as before, to the byte."""
    before = ledger_file.read_bytes()
    found = doctor.examine(ledger_file)
    assert found.ok
    assert [finding.check for finding in found.findings] == [
        *("file", "journal", "permissions", "filesystem", "leftovers", "space", "sqlite"),
        *("schema", "tables", "foreign_keys", "pages", "chain", "orphans", "clock", "generator"),
    ]
    assert {finding.level for finding in found.findings} == {Level.OK}
    assert all(finding.why and not finding.todo for finding in found.findings)
    assert "1 accounts, 5 records and 2 charges hold" in what(found, "chain")
    assert "0 errors, 0 warnings" in found.message()
    assert ledger_file.read_bytes() == before


def test_a_quick_look_leaves_out_what_takes_time(ledger_file: Path) -> None:
    """Neither pages nor proofs."""
    quick = {finding.check for finding in doctor.examine(ledger_file, thorough=False).findings}
    assert {finding.check for finding in doctor.examine(ledger_file).findings} - quick == {"pages", "chain"}


def cut_to_nothing(file: Path) -> None:
    file.write_bytes(b"")


def cut_in_the_middle(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def another_database(file: Path) -> None:
    file.unlink()
    run(file, "CREATE TABLE t (x)")


def a_text(file: Path) -> None:
    file.write_text("no ledger " * 100)


def a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def nothing(file: Path) -> None:
    file.unlink()


def a_second_name(file: Path) -> None:
    os.link(file, file.with_name("other.db"))


def a_rollback_journal(file: Path) -> None:
    run(file, "PRAGMA journal_mode=DELETE")


def open_to_everybody(file: Path) -> None:
    file.chmod(0o666)


def open_to_a_group(file: Path) -> None:
    file.chmod(0o640)


def a_folder_open_to_everybody(file: Path) -> None:
    file.parent.chmod(0o777)


def a_hot_journal(file: Path) -> None:
    Path(f"{file}-journal").write_bytes(b"x" * 512)


def half_a_creation(file: Path) -> None:
    file.with_name(f".{file.name}.creating-1-abc").write_bytes(b"")


def a_log_of_somebody_else(file: Path) -> None:
    Path(f"{file}-wal").write_bytes(b"")
    os.chown(f"{file}-wal", 4321, -1)


def a_pending_migration(file: Path) -> None:
    drop_triggers(file)
    run(file, "UPDATE dosimeter_version SET version_num = '0001'")


def a_newer_version(file: Path) -> None:
    run(file, "UPDATE dosimeter_version SET version_num = '0099'")


def without_triggers(file: Path) -> None:
    drop_triggers(file)


def a_trigger_of_somebody_else(file: Path) -> None:
    run(file, "CREATE TRIGGER odd AFTER INSERT ON dosimeter_records BEGIN SELECT 1; END")


def without_the_index(file: Path) -> None:
    run(file, "DROP INDEX dosimeter_records_by_request")


def foreign_keys(file: Path) -> None:
    run(file, "CREATE TABLE other (a TEXT REFERENCES dosimeter_accounts (account_id))")


def a_rewritten_record(file: Path) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    (statement,) = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE name = 'dosimeter_records_no_update'"
    ).fetchone()
    connection.execute("DROP TRIGGER dosimeter_records_no_update")
    connection.execute("UPDATE dosimeter_records SET body = replace(body, '0.1', '0.01') WHERE seq = 2")
    connection.execute(statement)
    connection.close()


def a_damaged_page(file: Path) -> None:
    content = bytearray(file.read_bytes())
    connection = sqlite3.connect(file)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'dosimeter_identities'").fetchone()
    connection.close()
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    file.write_bytes(bytes(content))


BROKEN: list[tuple[Callable[[Path], None], str, Level, str]] = [
    (cut_to_nothing, "file", Level.ERROR, "is empty"),
    (cut_in_the_middle, "pages", Level.ERROR, "backup"),
    (another_database, "file", Level.ERROR, "another application"),
    (a_text, "file", Level.ERROR, "no SQLite database"),
    (a_directory, "file", Level.ERROR, "no regular file"),
    (nothing, "file", Level.ERROR, "cannot be reached"),
    (a_second_name, "file", Level.ERROR, "remove the other names"),
    (a_rollback_journal, "journal", Level.WARNING, "rollback journal"),
    (open_to_everybody, "permissions", Level.ERROR, "chmod o-w"),
    (open_to_a_group, "permissions", Level.WARNING, "chmod 600"),
    (a_folder_open_to_everybody, "permissions", Level.ERROR, "chmod o-w"),
    (a_hot_journal, "leftovers", Level.ERROR, "cut short"),
    (half_a_creation, "leftovers", Level.WARNING, "half-made"),
    (a_pending_migration, "schema", Level.WARNING, "migrations 0002 are pending"),
    (a_newer_version, "schema", Level.ERROR, "newest version everywhere"),
    (without_triggers, "tables", Level.ERROR, "trigger dosimeter_records_no_update"),
    (a_trigger_of_somebody_else, "tables", Level.ERROR, "trigger odd"),
    (without_the_index, "tables", Level.ERROR, "dosimeter_records_by_request"),
    (foreign_keys, "foreign_keys", Level.WARNING, "foreign keys were added"),
    (a_rewritten_record, "chain", Level.ERROR, "record 2 does not hold"),
    (a_damaged_page, "pages", Level.ERROR, "damaged"),
]


@pytest.mark.parametrize(("damage", "check", "level", "says"), BROKEN, ids=[row[0].__name__ for row in BROKEN])
def test_each_broken_state_is_found(
    ledger_file: Path, damage: Callable[[Path], None], check: str, level: Level, says: str
) -> None:
    """At its level, with why and what to do, and nothing else raises or is called an error."""
    damage(ledger_file)
    found = doctor.examine(ledger_file)
    assert worst(found, check) is level
    assert says in what(found, check)
    assert found.ok == (level is Level.WARNING)
    bad = [finding for finding in found.findings if finding.level is not Level.OK]
    assert all(finding.why and finding.todo for finding in bad)
    assert not any(secret in str(found.to_json()) for secret in SECRETS)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_log_that_belongs_to_somebody_else(ledger_file: Path) -> None:
    """Its owner could not charge."""
    a_log_of_somebody_else(ledger_file)
    found = doctor.examine(ledger_file)
    assert worst(found, "permissions") is Level.ERROR
    assert "belongs to user 4321" in what(found, "permissions")


# -- what surrounds the file -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mounts", "level", "says"),
    [
        ("/dev/a / ext4 rw 0 0\nserver:/x {folder} nfs4 rw 0 0\n", Level.ERROR, "nfs4"),
        ("/dev/a / ext4 rw 0 0\n//s/x {folder} cifs rw 0 0\n", Level.ERROR, "cifs"),
        ("x {folder} fuse.sshfs rw 0 0\n", Level.ERROR, "sshfs"),
        ("tmpfs {folder} tmpfs rw 0 0\n", Level.WARNING, "in memory"),
        ("overlay / overlay rw 0 0\n", Level.WARNING, "container"),
        ("server:/x {folder} nfs4 rw 0 0\n/dev/b {folder} xfs rw 0 0\n", Level.OK, "xfs"),  # mounted over it
        ("server:/x {folder}x nfs4 rw 0 0\n/dev/b / ext4 rw 0 0\n", Level.OK, "ext4"),  # a name that begins alike
        ("", Level.OK, "not to be found out"),
    ],
)
def test_where_the_file_lies(
    ledger_file: Path, monkeypatch: pytest.MonkeyPatch, mounts: str, level: Level, says: str
) -> None:
    """A file system of a network is an error, one that forgets is a warning; the innermost mount counts."""
    monkeypatch.setattr(filesystems, "read_mounts", lambda: mounts.replace("{folder}", str(ledger_file.parent)))
    found = doctor.examine(ledger_file, thorough=False)
    assert worst(found, "filesystem") is level
    assert says in what(found, "filesystem")


def test_mounts_with_spaces_in_their_names() -> None:
    """The system's table writes them as octal numbers."""
    mounts = "a / ext4 rw\nb /mnt/my\\040share cifs rw\nodd\n"
    assert filesystems.filesystem_of("/mnt/my share/ledger.db", mounts) == "cifs"
    assert filesystems.filesystem_of("/mnt/my/ledger.db", mounts) == "ext4"


@pytest.mark.parametrize(("free", "level"), [(1 << 20, Level.ERROR), (1 << 29, Level.WARNING), (1 << 31, Level.OK)])
def test_room_on_the_disk(ledger_file: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level) -> None:
    """Little is a warning, next to none an error."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 0, free))
    assert worst(doctor.examine(ledger_file, thorough=False), "space") is level


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ((3, 40, 1), Level.WARNING),
        ((3, 44, 6), Level.OK),
        ((3, 45, 0), Level.WARNING),
        ((3, 50, 7), Level.OK),
        ((3, 51, 0), Level.WARNING),
        ((3, 51, 3), Level.OK),
        ((3, 53, 0), Level.OK),
    ],
)
def test_a_version_of_sqlite_with_a_known_fault(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], level: Level
) -> None:
    """Two writers may, very rarely, damage the file."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    assert sqlite_checkup._sqlite().level is level


def test_a_log_that_grows_without_end(ledger_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that never ends keeps it from being folded in."""
    monkeypatch.setattr(sqlite_checkup, "LONG_LOG", 1)
    store = SQLiteStore(ledger_file)
    ledger = Ledger(store)
    account = ledger.accounts()[0]
    with sqlite3.connect(ledger_file) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM dosimeter_records").fetchone()
        for number in range(20):
            ledger.reserve(account, ask(f"r{number}", "0.01"))
        found = doctor.examine(ledger_file, thorough=False)
    reader.close()
    store.close()
    assert worst(found, "leftovers") is Level.WARNING
    assert "has grown to" in what(found, "leftovers")


# -- what it holds ---------------------------------------------------------------------------------------------------


def test_orphans_are_told_once_they_are_old(file: Path) -> None:
    """A young reservation is a question being answered; an hour later nobody is answering it any more."""
    clock = SetClock()
    ledger = Ledger(SQLiteStore(file), clock)
    account = open_account(ledger)
    held = ledger.reserve(account, ask("secret name"))
    ledger.reserve(account, ask("q2"))
    assert isinstance(held, Reserved)
    clock.move(minutes=59)
    young = doctor.examine(file, clock=clock)
    assert worst(young, "orphans") is Level.OK
    assert "2 younger ones" in what(young, "orphans")
    clock.move(minutes=2)
    old = doctor.examine(file, clock=clock)
    assert worst(old, "orphans") is Level.WARNING
    assert f"entry {held.entry} of {account.id}" in what(old, "orphans")
    assert "secret name" not in str(old.to_json())
    ledger.settle(held, 1)
    assert "1 reservations" in what(doctor.examine(file, clock=clock), "orphans")
    ledger.store.close()


def test_a_clock_that_was_set_back_is_noticed(ledger_file: Path) -> None:
    """Records from the future: this clock is wrong, or another was."""
    back = datetime.now(UTC) - timedelta(days=2)
    assert worst(doctor.examine(ledger_file, clock=lambda: back), "clock") is Level.WARNING
    ahead = datetime.now(UTC) + timedelta(days=2)
    assert worst(doctor.examine(ledger_file, clock=lambda: ahead), "clock") is Level.OK


def test_a_ledger_in_use_is_examined_beside_its_writer(ledger_file: Path) -> None:
    """While another process has a transaction open, and without keeping it waiting."""
    store = SQLiteStore(ledger_file)
    with store.write():
        assert doctor.examine(ledger_file).ok
    ledger = Ledger(store)
    ledger.reserve(ledger.accounts()[0], ask("q3"))
    found = doctor.examine(ledger_file)
    assert found.ok
    assert "copy both" in what(found, "leftovers")
    assert "3 charges hold" in what(found, "chain")
    store.close()


class Broken(SystemEntropy):
    """A generator that repeats itself."""

    __slots__ = ()

    def bits(self, width: int) -> int:
        return 4


@pytest.mark.parametrize("source", [SeededTestEntropy(1), ScriptedTestEntropy([1, 0]), Broken()])
def test_randomness_that_is_none_is_an_error(source: Any) -> None:
    """One for tests, or one that repeats."""
    assert doctor.examine_generator(source).level is Level.ERROR
    assert doctor.examine_generator().level is Level.OK


def test_a_path_that_is_no_path_is_a_finding_or_an_input_error(tmp_path: Path) -> None:
    """A missing folder is told like a missing file."""
    found = doctor.examine(tmp_path / "nowhere" / "ledger.db")
    assert not found.ok
    assert [finding.check for finding in found.findings] == ["file", "generator"]
