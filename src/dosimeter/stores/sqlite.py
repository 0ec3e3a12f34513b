"""The embedded store: one SQLite file, many processes, every commit on disk before anything is released.

WAL with synchronous=FULL, explicit BEGIN IMMEDIATE (one writer at a time, across processes), a bounded wait. Opening
never resets anything: a missing file is a new ledger, made complete under another name and then put in place; every
other file must be a ledger of ours, or opening fails and says what to do.

Three things that SQLite leaves to its user and that are looked after here. A file with two names (hard links) would
get two logs, so it is refused. A file that is moved or replaced while open would collect charges that nobody finds
again, so each transaction checks that the path still leads to it. A connection must not cross a fork, so it is closed
before a fork and opened again on either side.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from dosimeter.errors import InputError, LedgerUnavailable
from dosimeter.exact import show
from dosimeter.ledger.record import LedgerKey

if TYPE_CHECKING:
    from types import TracebackType

    from dosimeter.stores.sql.sqlite_file import Connection
    from dosimeter.stores.sql.transaction import SQLTransaction

_LONGEST_WAIT: Final = 3600.0


class SQLiteStore:
    """A ledger in one file.

    Args:
        path: the file. It is made, readable by its owner only, when nothing is there; its directory must exist.
            Every spelling of the path (relative, through links) is the same ledger.
        wait_seconds_max: how long a transaction waits for other writers before it gives up.
        read_only: never write, not even a migration: for statements and audits, also where nothing may be written.
        key: the id and secret of a ledger that is about to be imported into a new file; random ones when left out.

    Raises:
        LedgerUnavailable: the file cannot be reached, read or written, or is locked for longer than the wait.
        LedgerCorrupt: what is there is not a ledger, is truncated, or belongs to another application.
        LedgerVersionError: a newer Dosimeter wrote it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        wait_seconds_max: float = 30.0,
        read_only: bool = False,
        key: LedgerKey | None = None,
    ) -> None:
        from dosimeter.stores.sql.sqlite_file import LedgerFile

        if not 0 <= wait_seconds_max <= _LONGEST_WAIT:
            raise InputError(f"wait_seconds_max={show(wait_seconds_max)} is outside [0, {_LONGEST_WAIT:g}]")
        self._file: Final = LedgerFile.open(path, wait_seconds_max, key, read_only=read_only)
        self._wait: Final = wait_seconds_max
        self._turn = threading.Lock()
        self._closed = False
        self._connection: Connection | None = self._file.connect()
        self._process = os.getpid()
        self._key: Final = self._connection.key()
        _STORES.add(self)

    @property
    def path(self) -> str:
        """The file, as an absolute path without links."""
        return self._file.path

    def key(self) -> LedgerKey:
        """The ledger's id and secret."""
        return self._key

    def read(self) -> _Turn:
        """One snapshot."""
        return _Turn(self, writing=False)

    def write(self) -> _Turn:
        """One transaction, alone in the file; durable when the block has ended."""
        if self._file.read_only:
            raise LedgerUnavailable(f"the ledger {self.path} was opened read-only; open it for writing to change it")
        return _Turn(self, writing=True)

    def close(self) -> None:
        """Close the connection; the store cannot be used afterwards."""
        with self._turn:
            self._closed = True
            self._let_go()

    def __del__(self) -> None:
        if getattr(self, "_process", None) == os.getpid():  # a connection that crossed a fork is not even closed
            with suppress(Exception):
                self._let_go()

    def _take_turn(self) -> Connection:
        """One thread of this process at a time: SQLite's own waiting is for other processes, and is not fair."""
        if os.getpid() != self._process:
            raise LedgerUnavailable("this ledger was opened before the process was forked; open it again in the child")
        if not self._turn.acquire(timeout=self._wait):
            raise LedgerUnavailable(
                f"the ledger {self.path} was busy for {self._wait:g} seconds; nothing was written, try again"
            )
        try:
            return self._own_connection()
        except BaseException:
            self._turn.release()
            raise

    def _own_connection(self) -> Connection:
        if self._closed:
            raise LedgerUnavailable(f"the ledger {self.path} was closed; open it again")
        if self._connection is None or self._connection.broken:
            self._let_go()
            self._connection = self._file.connect()
        return self._connection

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- forks ---------------------------------------------------------------------------------------------------

    def _before_fork(self) -> bool:
        """Wait for the transaction in progress, then close: a connection, even an idle one, must not be inherited."""
        ready = self._turn.acquire(timeout=self._wait)
        if ready:
            self._let_go()
        return ready

    def _in_child(self, *, ready: bool) -> None:
        self._turn = threading.Lock()
        if ready:  # otherwise the child is refused, because its process id is another
            self._process = os.getpid()


class _Turn:
    """A transaction as a block: begin, hand out the verbs, then commit, or undo when an exception leaves the block."""

    __slots__ = ("_connection", "_store", "_writing")

    def __init__(self, store: SQLiteStore, *, writing: bool) -> None:
        self._store = store
        self._writing = writing

    def __enter__(self) -> SQLTransaction:
        self._connection = self._store._take_turn()
        try:
            return self._connection.begin(writing=self._writing)
        except BaseException:
            self._store._turn.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._connection.end(error)
        finally:
            self._store._turn.release()


_STORES: Final[weakref.WeakSet[SQLiteStore]] = weakref.WeakSet()
_FORKING: Final[list[tuple[SQLiteStore, bool]]] = []


def _before_fork() -> None:
    _FORKING[:] = [(store, store._before_fork()) for store in list(_STORES)]


def _after_fork_in_parent() -> None:
    for store, ready in _FORKING:
        if ready:
            store._turn.release()
    _FORKING.clear()


def _after_fork_in_child() -> None:
    for store, ready in _FORKING:
        store._in_child(ready=ready)
    _FORKING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
