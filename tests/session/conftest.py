"""A small data set, a ledger in memory, and sessions over both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dosimeter.ledger import Ledger
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.session import Session
from dosimeter.session import open as open_session
from dosimeter.sources.duckdb import DuckDBSource
from dosimeter.stores.memory import MemoryStore

COLUMNS = {"person": "integer", "age": "integer", "sex": "text", "spend": "real"}
ROWS = [(i // 3, 20 + i % 60, "FM"[i % 2], (i * 7 % 100) / 2) for i in range(900)]


@pytest.fixture
def source() -> DuckDBSource:
    """900 rows of 300 people."""
    return DuckDBSource.from_rows(COLUMNS, ROWS)


@pytest.fixture
def ledger() -> Ledger:
    """A ledger that lives as long as the test."""
    return Ledger(MemoryStore())


@pytest.fixture
def make(source: DuckDBSource, ledger: Ledger) -> Callable[..., Session]:
    """Open a session; keywords override a budget of (1, 1e-6) for people of up to three rows."""

    def opened(**changes: Any) -> Session:
        terms: dict[str, Any] = {
            "epsilon": "1",
            "delta": "1e-6",
            "user": "person",
            "max_contributions": 3,
            "name": "people",
            "ledger": ledger,
            "opened_by": "steward",
            **changes,
        }
        session = open_session(source, **terms)
        session._entropy = SeededTestEntropy(5)
        return session

    return opened
