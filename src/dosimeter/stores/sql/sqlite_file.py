"""A ledger's file: making it, recognising it, connecting to it, and saying what is wrong with it.

A new ledger is built complete under a temporary name and then linked into place, so nobody ever sees half of one, two
processes that make it at once agree on one, and an existing file is never written over. An empty file is therefore
never a ledger: somebody's ledger may have been cut to nothing.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Engine, create_engine
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.pool import NullPool

from dosimeter.errors import InputError, LedgerCorrupt, LedgerError, LedgerUnavailable, LedgerVersionError
from dosimeter.exact import show
from dosimeter.ledger.record import LedgerKey, Record
from dosimeter.stores.sql import migrate
from dosimeter.stores.sql.sqlite_errors import translate, translated
from dosimeter.stores.sql.statements import Prepared, prepare
from dosimeter.stores.sql.transaction import SQLTransaction

APPLICATION_ID: Final = 0x444F5349  # "DOSI" in the file's header: how a ledger is recognised


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """A file that was found to be a ledger, and how long to wait for it."""

    path: str
    wait_seconds_max: float
    inode: tuple[int, int]
    read_only: bool = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        wait_seconds_max: float,
        key: LedgerKey | None = None,
        *,
        read_only: bool = False,
    ) -> LedgerFile:
        """Find the ledger, or make it (with `key`) where nothing is; then bring it to this version's tables."""
        resolved = _resolve(path)
        with translated(resolved):
            if not os.path.lexists(resolved) and not read_only:
                _create(resolved, wait_seconds_max, key or LedgerKey.new())
            file = cls(resolved, wait_seconds_max, _require_usable(resolved, read_only=read_only), read_only)
            engine = file._engine()
            revision = _revision(engine, resolved)
            if revision != migrate.NEWEST and read_only:
                raise LedgerUnavailable(
                    f"{resolved} has revision {revision}, and bringing it to {migrate.NEWEST} means writing; open it "
                    "once without read-only"
                )
            if revision != migrate.NEWEST:
                _upgrade(engine, resolved)
        return file

    @property
    def frozen(self) -> bool:
        """Whether the file lies where SQLite can neither lock nor log, so that it is read as it is."""
        if not self.read_only or os.access(os.path.dirname(self.path), os.W_OK | os.X_OK):
            return False
        return not (os.path.exists(f"{self.path}-wal") and os.path.exists(f"{self.path}-shm"))

    def moment(self) -> tuple[int, int, bool]:
        """What changes when somebody writes the file or its log."""
        facts = os.stat(self.path)
        return facts.st_mtime_ns, facts.st_size, _has_log(self.path)

    def _engine(self) -> Engine:
        if not self.frozen:
            return _engine(self.path, self.wait_seconds_max, "ro" if self.read_only else "rw")
        if _has_log(self.path):
            raise LedgerUnavailable(
                f"the log {self.path}-wal holds charges that cannot be read where nothing may be written; end every "
                "writer, which folds the log in, or copy the file and its log to a directory that may be written"
            )
        return _engine(self.path, self.wait_seconds_max, "ro&immutable=1")

    def connect(self) -> Connection:
        """A connection of this process's own."""
        with translated(self.path):
            self.require_same()
            raw = self._engine().raw_connection()
            try:
                if self.read_only:
                    raw.cursor().execute("PRAGMA query_only=ON")
                else:
                    _configure(raw, self.path)
                return Connection(self, raw)
            except BaseException:
                raw.close()
                raise

    def require_same(self) -> None:
        """Refuse to charge a file that the path no longer leads to: nobody would find the charge again."""
        try:
            facts = os.stat(self.path)
        except OSError:
            facts = None
        if facts is None or (facts.st_dev, facts.st_ino) != self.inode:
            raise LedgerUnavailable(
                f"{self.path} was moved, removed or replaced while it was open; put the same file back, or open again"
            )


class _Transaction(SQLTransaction):
    """The shared verbs; a whole history is read even where a text in it is damaged, so that an audit can name it."""

    def records(self, account_id: str) -> Sequence[Record]:
        with self._any_text():
            return super().records(account_id)

    def _page(self, account_id: str, after: int) -> list[Record]:
        with self._any_text():
            return super()._page(account_id, after)

    def voids(self, account_id: str) -> Iterator[tuple[int, int | None]]:
        with self._any_text():
            return iter(list(super().voids(account_id)))

    def repeated(self, account_id: str) -> Sequence[str]:
        with self._any_text():
            return super().repeated(account_id)

    @contextmanager
    def _any_text(self) -> Iterator[None]:
        driver = self._cursor.connection
        driver.text_factory = _whatever_is_there
        try:
            yield
        finally:
            driver.text_factory = str


def _whatever_is_there(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


class Connection:
    """One connection, used by one thread at a time. After `begin` comes `end`, whatever happened in between."""

    def __init__(self, file: LedgerFile, raw: Any) -> None:
        self._file = file
        self._raw = raw
        self._driver: sqlite3.Connection = raw.driver_connection
        self._cursor = self._driver.cursor()
        statements = _statements()
        self._reading = _Transaction(self._cursor, statements, writing=False)
        self._writing = _Transaction(self._cursor, statements, writing=True)
        self.broken = False
        self._frozen_at = file.moment() if file.frozen else None

    def begin(self, *, writing: bool) -> SQLTransaction:
        """Begin, and hand out the verbs; when this fails nothing was begun."""
        try:
            if self._driver.in_transaction:  # an interrupt came between a block's end and its commit
                self._undo()
            self._cursor.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            self._file.require_same()
        except sqlite3.Error as error:
            self._undo()
            raise translate(error, self._file.path, was_ledger=True) from None
        except BaseException:
            self._undo()
            raise
        self._writing.written.clear()
        return self._writing if writing else self._reading

    def end(self, error: BaseException | None) -> None:
        """Commit, or undo because of `error`; an error of the driver leaves as one of the ledger's."""
        if self._frozen_at is not None:
            self._end_frozen(error)
        if error is None:
            try:
                self._cursor.execute("COMMIT")
            except BaseException as failed:
                self._undo()
                if not isinstance(failed, sqlite3.Error):
                    raise
                raise translate(failed, self._file.path, was_ledger=True) from None
            return
        self._undo()
        if isinstance(error, sqlite3.Error):
            raise translate(error, self._file.path, was_ledger=True) from None

    def _end_frozen(self, error: BaseException | None) -> None:
        """What was read without locks counts only if nobody wrote meanwhile; the next reader looks afresh."""
        self.broken = True
        if error is None and self._file.moment() != self._frozen_at:
            self._undo()
            raise LedgerUnavailable(f"{self._file.path} was written while it was being read; read it again")

    def _undo(self) -> None:
        try:
            if self._driver.in_transaction:
                self._cursor.execute("ROLLBACK")
        except sqlite3.Error:
            self.broken = True  # the next user gets a fresh connection

    def key(self) -> LedgerKey:
        """Read the ledger's id and secret."""
        view, error = self.begin(writing=False), None
        try:
            rows = dict(view.meta())
        except sqlite3.Error as failed:
            error = failed
        self.end(error)
        try:
            return LedgerKey(rows["ledger_id"], bytes.fromhex(rows["key"]))
        except (KeyError, TypeError, ValueError):
            raise LedgerCorrupt(f"{self._file.path} has lost its key; restore it from a backup") from None

    def close(self) -> None:
        """Close for good."""
        with suppress(sqlite3.Error):
            self._raw.close()


# -- finding ---------------------------------------------------------------------------------------------------------


def _resolve(path: str | os.PathLike[str]) -> str:
    text = os.fsdecode(os.fspath(path))
    if not text or "\0" in text:
        raise InputError(f"the ledger's path {show(text)} is not a path")
    return os.path.realpath(text)


def _require_usable(path: str, *, read_only: bool = False) -> tuple[int, int]:
    facts = os.stat(path)
    if not stat.S_ISREG(facts.st_mode):
        what = "a directory" if stat.S_ISDIR(facts.st_mode) else "not a regular file"
        raise LedgerUnavailable(f"{path} is {what}; give the path of the ledger's file")
    if facts.st_size == 0:
        raise LedgerCorrupt(
            f"{path} is empty, which a ledger never is; restore it from a backup, or remove it if it never was one"
        )
    if read_only:
        if not os.access(path, os.R_OK):
            raise LedgerUnavailable(f"{path} may not be read by this user; change its permissions")
        return facts.st_dev, facts.st_ino
    if facts.st_nlink > 1:
        _finish_creation(path, facts)
        if os.stat(path).st_nlink > 1:
            raise LedgerUnavailable(
                f"{path} has a second name (a hard link), under which it would get a second log; remove one name"
            )
    if not os.access(path, os.R_OK | os.W_OK):
        raise LedgerUnavailable(f"{path} may not be read and written by this user; change its permissions")
    if not os.access(os.path.dirname(path), os.W_OK | os.X_OK):
        raise LedgerUnavailable(f"the directory of {path} may not be written; SQLite keeps its log beside the file")
    return facts.st_dev, facts.st_ino


def _revision(engine: Engine, path: str) -> str:
    """Recognise a ledger by its header and its version table, before anything in the file is touched."""
    with engine.connect() as connection:
        found = connection.exec_driver_sql("PRAGMA application_id").scalar()
        if found != APPLICATION_ID:
            raise LedgerCorrupt(f"{path} is the database of another application, not a ledger; give another path")
        revisions = connection.exec_driver_sql("SELECT version_num FROM dosimeter_version").scalars().all()
        page = int(connection.exec_driver_sql("PRAGMA page_size").scalar_one())
    if os.path.getsize(path) % page and not _has_log(path):  # SQLite would read what is missing as zeros
        raise LedgerCorrupt(f"{path} ends in the middle of a page; restore it from a backup, nothing was reset")
    if len(revisions) != 1 or revisions[0] not in migrate.REVISIONS:
        raise _other_version(path, f"revision {show(revisions[0] if revisions else None)}")
    return str(revisions[0])


def _has_log(path: str) -> bool:
    """Whether a write-ahead log still holds pages, so that the file itself may be behind."""
    try:
        return os.path.getsize(f"{path}-wal") > 0
    except OSError:
        return False


def _other_version(path: str, found: str) -> LedgerVersionError:
    return LedgerVersionError(
        f"{path} has {found}, which this version of Dosimeter does not know (it knows {migrate.NEWEST}); "
        "install the newest version everywhere, then open it again"
    )


# -- making ----------------------------------------------------------------------------------------------------------


def _create(path: str, wait: float, key: LedgerKey) -> None:
    directory, base = os.path.split(path)
    if not os.path.isdir(directory):
        raise LedgerUnavailable(f"the directory {directory} does not exist; make it first, then open the ledger")
    temporary = os.path.join(directory, f"{_creating(base)}{os.getpid()}-{os.urandom(6).hex()}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _fill(temporary, wait, key)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return  # somebody else made it in the meantime; theirs is the ledger
        except PermissionError:
            raise
        except OSError as error:
            raise LedgerUnavailable(
                f"the file system of {directory} has no hard links ({error.strerror}); keep the ledger on another one"
            ) from None
    finally:
        for leftover in (temporary, f"{temporary}-journal", f"{temporary}-wal", f"{temporary}-shm"):
            with suppress(OSError):
                os.unlink(leftover)
    _sync_directory(directory)


def _fill(path: str, wait: float, key: LedgerKey) -> None:
    engine = _engine(path, wait)
    with engine.connect() as connection:
        run = connection.exec_driver_sql
        run("PRAGMA synchronous=FULL")
        run("BEGIN IMMEDIATE")
        run(f"PRAGMA application_id={APPLICATION_ID}")
        migrate.upgrade(connection)
        driver = connection.connection.cursor()
        for name, value in (("ledger_id", key.ledger_id), ("key", key.key.hex())):
            _statements()["ADD_META"].run(driver, (name, value))
        run("COMMIT")
        run("PRAGMA journal_mode=WAL")
    with open(path, "rb") as file:  # no other connection to this file exists yet, so closing it drops no locks
        os.fsync(file.fileno())


def _upgrade(engine: Engine, path: str) -> None:
    with engine.connect() as connection:
        run = connection.exec_driver_sql
        run("BEGIN IMMEDIATE")
        migrate.upgrade(connection)  # does nothing if another process has just done it
        run("COMMIT")
    if _revision(engine, path) != migrate.NEWEST:
        raise LedgerError(f"{path} did not reach revision {migrate.NEWEST}; nothing was lost, please report this")


def _creating(base: str) -> str:
    return f".{base}.creating-"


def _finish_creation(path: str, facts: os.stat_result) -> None:
    """Remove the temporary name of a ledger whose maker stopped between linking and unlinking."""
    directory, base = os.path.split(path)
    for entry in os.scandir(directory):
        if entry.name.startswith(_creating(base)) and entry.inode() == facts.st_ino:
            with suppress(FileNotFoundError):
                os.unlink(entry.path)


def _sync_directory(directory: str) -> None:
    with suppress(OSError):  # some systems cannot open a directory; the file itself is synced
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- connecting ------------------------------------------------------------------------------------------------------


def _engine(path: str, wait: float, mode: str = "rw") -> Engine:
    uri = f"file:{quote(path)}?mode={mode}"  # rw: never make a file by connecting to it

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)

    return create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)


def _configure(raw: Any, path: str) -> None:
    cursor = raw.cursor()
    (mode,) = cursor.execute("PRAGMA journal_mode=WAL").fetchone()
    cursor.execute("PRAGMA synchronous=FULL")
    (synchronous,) = cursor.execute("PRAGMA synchronous").fetchone()
    if mode != "wal" or synchronous != 2:
        raise LedgerUnavailable(
            f"{path} lies where SQLite cannot keep a write-ahead log (it offers {mode}); keep it on a local disk"
        )
    cursor.execute("PRAGMA trusted_schema=OFF")


class _Compiler(SQLiteCompiler):
    """SQLAlchemy's own, except that it writes the hint of `HISTORY` (INDEXED BY), which it would leave out."""

    def get_from_hint_text(self, table: Any, text: Any) -> Any:  # noqa: ARG002
        return text


@cache
def _statements() -> dict[str, Prepared]:
    dialect = create_engine("sqlite://").dialect
    dialect.statement_compiler = _Compiler
    return prepare(dialect)
