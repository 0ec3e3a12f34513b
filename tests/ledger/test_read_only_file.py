"""A ledger's file that is opened read-only is read as it is, and never written."""

import os
import shutil
from pathlib import Path

import pytest
from tests.ledger.ledger_world import answered, ask, open_account

from dosimeter.errors import AccountNotFound, LedgerError
from dosimeter.ledger import Ledger
from dosimeter.stores import SQLiteStore, open_store


def bytes_of(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in directory.iterdir() if not p.name.endswith("-shm")}


def test_statements_and_audits_work_and_charges_do_not(file: Path) -> None:
    """What was written is read; reserving says that the ledger is read-only; the file stays the same bytes."""
    book = Ledger(SQLiteStore(file))
    account = open_account(book)
    answered(book, account, "q")
    book.store.close()  # type: ignore[attr-defined]
    before = bytes_of(file.parent)
    reader = Ledger(SQLiteStore(file, read_only=True))
    found = reader.account(account.id)
    assert reader.audit(found).ok
    assert reader.statement(found).records == 3
    with pytest.raises(LedgerError, match="read-only"):
        reader.reserve(found, ask("r"))
    reader.store.close()  # type: ignore[attr-defined]
    assert bytes_of(file.parent)["ledger.db"] == before["ledger.db"]


def test_a_reader_sees_what_a_writer_adds(file: Path) -> None:
    """Both open at once."""
    writer, reader = Ledger(SQLiteStore(file)), Ledger(SQLiteStore(file, read_only=True))
    account = open_account(writer)
    for i in range(3):
        answered(writer, account, f"q{i}")
        assert reader.statement(reader.account(account.id)).records == 3 + 2 * i


def test_nothing_is_made_where_nothing_is(tmp_path: Path) -> None:
    """Neither a file nor a directory."""
    with pytest.raises(AccountNotFound):
        open_store(tmp_path / "none.db", read_only=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written(file: Path) -> None:
    """Is read without locks, as nobody can write there."""
    book = Ledger(SQLiteStore(file))
    account = open_account(book)
    book.store.close()  # type: ignore[attr-defined]
    file.parent.chmod(0o555)
    try:
        assert Ledger(SQLiteStore(file, read_only=True)).audit(account).ok
    finally:
        file.parent.chmod(0o755)


def test_a_copy_is_read_where_it_lies(file: Path, tmp_path: Path) -> None:
    """A backup is audited without a log beside it."""
    book = Ledger(SQLiteStore(file))
    account = open_account(book)
    answered(book, account, "q")
    book.store.close()  # type: ignore[attr-defined]
    copy = tmp_path / "backup"
    copy.mkdir()
    shutil.copy(file, copy / "ledger.db")
    assert Ledger(SQLiteStore(copy / "ledger.db", read_only=True)).audit(account).ok
