"""The shared store: one PostgreSQL database, many machines, commits on the server's disk before anything is released.

Writing transactions run under READ COMMITTED and begin by locking the head of the account they charge, so those of one
account follow each other and those of different accounts do not meet. Reading ones see one snapshot (REPEATABLE READ)
and lock nothing. docs/decisions/0015 argues why this is enough.

What a server adds to a file's troubles is that it can go away in the middle: the store says which transactions were
undone for certain and of which nobody knows, and the ledger finds out before it tries again.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from dosimeter.errors import InputError, LedgerUnavailable
from dosimeter.exact import show
from dosimeter.ledger.record import LedgerKey

if TYPE_CHECKING:
    from types import TracebackType

    from dosimeter.stores.sql.postgresql_server import Session
    from dosimeter.stores.sql.transaction import SQLTransaction

_LONGEST_WAIT: Final = 3600.0
_MOST_CONNECTIONS: Final = 1000


class PostgreSQLStore:
    """A ledger in a PostgreSQL database (14 or newer), which may hold other tables beside it.

    Args:
        url: postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with libpq's options after a question mark. The password
            is never shown; leave it out to have libpq look in PGPASSFILE or PGPASSWORD.
        wait_seconds_max: how long a transaction waits for a lock or for a connection before it gives up.
        connections_max: how many connections this process may hold at once.
        create: make the ledger where the database has none.
        read_only: never write, not even a migration: for replicas, statements and audits.
        require_fsync: refuse a server that does not write through to its disk; False is for throw-away tests.
        key: the id and secret of a ledger that is about to be imported; random ones when left out.

    Raises:
        LedgerUnavailable: the server cannot be reached, refuses the user, or does not keep what it is given.
        LedgerCorrupt: what is there is a part of a ledger only.
        LedgerVersionError: a newer Dosimeter wrote it.
        AccountNotFound: there is no ledger and `create` is False.
        InputError: the address cannot be read, or the extra `dosimeter[postgres]` is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        wait_seconds_max: float = 30.0,
        connections_max: int = 10,
        create: bool = True,
        read_only: bool = False,
        require_fsync: bool = True,
        key: LedgerKey | None = None,
    ) -> None:
        if not 0 <= wait_seconds_max <= _LONGEST_WAIT:
            raise InputError(f"wait_seconds_max={show(wait_seconds_max)} is outside [0, {_LONGEST_WAIT:g}]")
        if not isinstance(connections_max, int) or not 1 <= connections_max <= _MOST_CONNECTIONS:
            raise InputError(f"connections_max={show(connections_max)} is outside [1, {_MOST_CONNECTIONS}]")
        try:
            from dosimeter.stores.sql.postgresql_server import LedgerServer
        except ImportError:
            raise InputError("a ledger on PostgreSQL needs its driver: pip install 'dosimeter[postgres]'") from None
        self._closed = False
        self._process = os.getpid()
        self._server: Final = LedgerServer(
            url, wait_seconds_max, connections_max, read_only=read_only, require_fsync=require_fsync
        )
        self._key: Final = self._server.find_or_make(key, create=create and not read_only)
        _STORES.add(self)

    @property
    def url(self) -> str:
        """The address, without its password."""
        return self._server.where

    def key(self) -> LedgerKey:
        """The ledger's id and secret."""
        return self._key

    def read(self) -> _Turn:
        """One snapshot."""
        return _Turn(self, writing=False)

    def write(self) -> _Turn:
        """One transaction; durable when the block has ended."""
        return _Turn(self, writing=True)

    def close(self) -> None:
        """Close the connections; the store cannot be used afterwards."""
        self._closed = True
        self._server.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) == os.getpid() and hasattr(self, "_server"):
            with suppress(Exception):
                self._server.close()

    def _session(self, *, writing: bool) -> Session:
        from dosimeter.stores.sql.postgresql_server import Session

        if self._closed:
            raise LedgerUnavailable(f"the ledger {self.url} was closed; open it again")
        if os.getpid() != self._process:
            raise LedgerUnavailable("this ledger was opened before the process was forked; open it again in the child")
        if writing and self._server.read_only:
            raise LedgerUnavailable(f"the ledger {self.url} was opened read-only; open it for writing to change it")
        return Session(self._server, writing=writing)

    def _in_child(self) -> None:
        self._server.leave_to_the_parent()
        self._process = os.getpid()


class _Turn:
    """A transaction as a block: begin, hand out the verbs, then commit, or undo when an exception leaves the block."""

    __slots__ = ("_session", "_store", "_writing")

    def __init__(self, store: PostgreSQLStore, *, writing: bool) -> None:
        self._store = store
        self._writing = writing

    def __enter__(self) -> SQLTransaction:
        self._session = self._store._session(writing=self._writing)
        return self._session.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._session.end(error)


_STORES: Final[weakref.WeakSet[PostgreSQLStore]] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for store in list(_STORES):
        store._in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
