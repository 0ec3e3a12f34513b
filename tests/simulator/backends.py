"""Where a simulated ledger is kept: one place per seed, opened by each process for itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from dosimeter.ledger.store import Store
from dosimeter.stores import MemoryStore, SQLiteStore


class Backend(Protocol):
    """One empty ledger."""

    def open(self) -> Store:
        """A store of a process's own onto the one ledger."""
        ...

    def close(self) -> None:
        """Close what was opened."""
        ...


class Memory:
    """All processes share the object: in memory there is only one process, and a kill ends a client only."""

    def __init__(self) -> None:
        self._store = MemoryStore(wait_seconds_max=0)

    def open(self) -> Store:
        """The one store."""
        return self._store

    def close(self) -> None:
        """Nothing to close."""


class Opened:
    """A ledger that outlives processes; each opens it for itself."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        self._opener = opener
        self._stores: list[Store] = []

    def open(self) -> Store:
        """A new store."""
        store = self._opener()
        self._stores.append(store)
        return store

    def close(self) -> None:
        """Close every store."""
        for store in self._stores:
            store.close()


@contextmanager
def memory() -> Iterator[Callable[[], Backend]]:
    """Makes empty ledgers in memory."""
    yield Memory


@contextmanager
def sqlite() -> Iterator[Callable[[], Backend]]:
    """Makes empty ledgers in files, in memory where the system offers that."""
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if os.access(fast, os.W_OK) else None) as folder:
        template = Path(folder) / "template.db"
        SQLiteStore(template).close()
        number = iter(range(10**9))

        def make() -> Backend:
            path = shutil.copy(template, Path(folder) / f"{next(number)}.db")
            return Opened(lambda: SQLiteStore(path, wait_seconds_max=0))

        yield make


@contextmanager
def postgresql(address: str | None = None) -> Iterator[Callable[[], Backend]]:
    """Makes empty ledgers in one database, one after the other; starts a server unless there is one at `address`."""
    from contextlib import nullcontext

    from tests import postgresql as servers

    from dosimeter.stores import PostgreSQLStore

    with servers.server(f"simulator-{os.getpid()}") if address is None else nullcontext(address) as found:
        url = servers.ledger_database(found, f"simulated_{os.getpid()}") if address is None else found

        def make() -> Backend:
            servers.empty(url)
            return Opened(lambda: PostgreSQLStore(url, wait_seconds_max=0.05, connections_max=3, require_fsync=False))

        yield make


BACKENDS = {"memory": memory, "sqlite": sqlite, "postgresql": postgresql}
