"""A ledger on each store, for tests that hold on all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dosimeter.ledger import Ledger
from dosimeter.stores import MemoryStore, SQLiteStore


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


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """An empty ledger; the test runs once per store."""
    store = MemoryStore() if request.param == "memory" else SQLiteStore(request.getfixturevalue("file"))
    yield Ledger(store)
    store.close()
