"""Servers that go away and come back, and servers that only read: answers or clear errors, never a lost charge."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from tests import postgresql
from tests.ledger.ledger_world import answered, ask, open_account, spent

from dosimeter.errors import LedgerUnavailable
from dosimeter.ledger import Ledger
from dosimeter.ledger.checkup import Level
from dosimeter.stores import PostgreSQLStore, doctor

pytestmark = pytest.mark.skipif(
    "DOSIMETER_TEST_POSTGRESQL" in os.environ, reason="a server that somebody lends is not restarted"
)


@pytest.fixture(scope="module")
def server(worker_id: str) -> Iterator[Any]:
    """A server of this file's own, to be stopped and started."""
    made = postgresql.start(f"outages-{os.getpid()}-{worker_id}")
    yield made
    made.cleanup()


@pytest.fixture
def url(server: Any) -> str:
    """An empty ledger on it."""
    return postgresql.ledger_database(server.get_uri(), "outages")


def patiently(ledger: Ledger, account: Any, name: str, troubles: list[str]) -> Any:
    """Ask, and ask the same again whatever the store says, as a person would."""
    while True:
        try:
            return answered(ledger, account, name)
        except LedgerUnavailable as error:
            troubles.append(str(error))
            time.sleep(0.02)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_restarted_in_mid_charge_loses_and_doubles_nothing(server: Any, url: str, mode: str) -> None:
    """Stopped in order or as in a crash, while threads charge: every question has one charge and one answer."""
    store = PostgreSQLStore(url, wait_seconds_max=10)
    ledger = Ledger(store, retry_seconds_max=60)
    account = open_account(ledger, "1000")
    troubles: list[str] = []
    restarts = 0
    with ThreadPoolExecutor(3) as pool:

        def many(thread: int) -> int:
            for number in range(400):
                if number >= 60 and restarts == 2:
                    return number
                patiently(ledger, account, f"{thread}-{number}", troubles)
            return 400

        jobs = [pool.submit(many, thread) for thread in range(3)]
        for _ in range(2):
            time.sleep(0.3)
            postgresql.control(server, "-m", mode, "restart")
            restarts += 1
        asked = sum(job.result() for job in jobs)
    assert asked >= 180
    assert all("the ledger postgresql://" in said for said in troubles)
    statement = ledger.statement(account)
    assert {entry.status for entry in statement.entries} == {"settled"}
    assert len(statement.entries) == asked
    assert 1 + 2 * asked <= statement.records <= 1 + 3 * asked  # a retry may have taken over what was charged
    assert Decimal(spent(ledger, account)) == Decimal(asked) / 10
    report = ledger.audit(account)
    assert report.ok
    assert report.charges == asked
    store.close()


def test_a_server_that_is_down_is_a_clear_error_and_the_ledger_goes_on_afterwards(server: Any, url: str) -> None:
    """Nothing was charged, and no new ledger object is needed."""
    store = PostgreSQLStore(url, wait_seconds_max=2)
    ledger = Ledger(store, retry_seconds_max=0.2)
    account = open_account(ledger)
    postgresql.control(server, "-m", "fast", "stop")
    try:
        with pytest.raises(LedgerUnavailable):
            ledger.reserve(account, ask("q"))
        with pytest.raises(LedgerUnavailable, match="cannot be reached"):
            ledger.balance(account)
        found = doctor.examine(url)
        assert [finding.check for finding in found.findings] == ["server", "generator"]
    finally:
        server.ensure_postgres_running()
    assert spent(ledger, account) == "0"
    assert answered(ledger, account, "q") == 1.5
    assert spent(ledger, account) == "0.1"
    store.close()


def test_a_standby_reads_and_does_not_charge(server: Any, url: str, worker_id: str) -> None:
    """Statements, audits and the doctor work there; a charge is told to go to the primary, and nothing else."""
    store = PostgreSQLStore(url)
    ledger = Ledger(store)
    account = open_account(ledger)
    answered(ledger, account, "q")
    store.close()
    postgresql.control(server, "-m", "fast", "stop")
    try:
        standby = postgresql.copied(server, f"standby-{os.getpid()}-{worker_id}")
    finally:
        server.ensure_postgres_running()
    try:
        there = postgresql.with_database(standby.get_uri(), "outages")
        for read_only in (True, False):
            copy = PostgreSQLStore(there, read_only=read_only)
            book = Ledger(copy, retry_seconds_max=0)
            assert book.audit(account).ok
            assert book.statement(account).records == 3
            assert spent(book, account) == "0.1"
            with pytest.raises(LedgerUnavailable, match=r"charge at the primary|read-only"):
                book.reserve(account, ask("r"))
            with pytest.raises(LedgerUnavailable, match=r"charge at the primary|read-only"):
                open_account(book)
            copy.close()
        found = doctor.examine(there)
        assert found.ok, found.message()
        assert [f.level for f in found.findings if f.check == "writing"] == [Level.WARNING]
    finally:
        standby.cleanup()
