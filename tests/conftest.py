"""What many folders of tests share: an empty ledger on a real PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgresql_server(worker_id: str) -> Iterator[str]:
    """The address of the run's one server."""
    from tests import postgresql

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
    with postgresql.server(f"test-{run}") as address:
        yield address


@pytest.fixture(scope="session")
def postgresql_database(postgresql_server: str, worker_id: str) -> str:
    """The address of this worker's database."""
    from tests import postgresql

    return postgresql.ledger_database(postgresql_server, f"dosimeter_{worker_id}")


@pytest.fixture
def postgresql_url(postgresql_database: str) -> str:
    """The address of an empty ledger."""
    from tests import postgresql

    postgresql.empty(postgresql_database)
    return postgresql_database
