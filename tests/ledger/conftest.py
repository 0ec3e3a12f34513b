"""A ledger on each store, for tests that hold on all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dosimeter.ledger import Ledger
from dosimeter.ledger.store import Store
from dosimeter.stores import MemoryStore, PostgreSQLStore, SQLiteStore


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new ledger's file, made once: copying it is faster than making it."""
    path = tmp_path_factory.mktemp("template") / "empty.db"
    SQLiteStore(path).close()
    return path


@pytest.fixture
def file(empty_file: Path, tmp_path: Path) -> Path:
    """An empty ledger's file of the test's own."""
    return Path(shutil.copy(empty_file, tmp_path / "ledger.db"))


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of each kind; the test runs once per store."""
    made: Store
    if request.param == "memory":
        made = MemoryStore()
    elif request.param == "sqlite":
        made = SQLiteStore(request.getfixturevalue("file"))
    else:
        made = PostgreSQLStore(request.getfixturevalue("postgresql_url"))
    yield made
    made.close()


@pytest.fixture
def ledger(store: Store) -> Ledger:
    """An empty ledger on each store."""
    return Ledger(store)
