"""Many processes that charge at once: ours through the ledger, the bare ones with the same statements and nothing else.

A bare client runs, for each of the two steps of a charge (reserve, settle), the transaction that the ledger runs:
begin, read and lock the head, read the request's records, insert a record, move the head, commit. Texts, sizes of
parameters, tables, triggers, connection settings and driver are the same; it computes nothing and checks nothing. On
PostgreSQL there are two: one waits for each statement, the other's statements travel together as the ledger's do.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dosimeter.adaptive.filters import ZCDPFilter
from dosimeter.events import Gaussian
from dosimeter.ledger import Account, DatasetIdentity, Ledger, Request, Reserved
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.stores import open_store

QUERY = Gaussian(sigma="1000")
RELATION = NeighbouringRelation.ADD_REMOVE
PROCESSES = multiprocessing.get_context("fork")  # nothing is open when clients begin, and imports take long
WARM_UP = 10


@dataclass(frozen=True)
class Measured:
    """What all clients together did."""

    charges: int
    seconds: float
    latencies: list[float]

    @property
    def rate(self) -> float:
        """Charges per second."""
        return self.charges / self.seconds

    def percentile(self, share: float) -> float:
        """A latency in milliseconds."""
        ordered = sorted(self.latencies)
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def account_of(ledger: Ledger, number: int) -> Account:
    """The numbered account, which does not run out."""
    return ledger.open(
        DatasetIdentity(f"people {number}", f"{number:x}"),
        unit=PrivacyUnit(),
        relation=RELATION,
        filter=ZCDPFilter("1000000"),
        opened_by="benchmark",
    )


def request(name: str) -> Request:
    """A question that costs little."""
    return Request(name, QUERY, RELATION, "ab" * 32, f"question {name} of the benchmark")


def prepared(how: str, location: str, accounts: int) -> list[Any]:
    """What the clients need of each of so many new accounts; those of bare clients are no ledger afterwards."""
    ledger = Ledger(open_store(location))
    names = [time.time_ns() + number for number in range(accounts)]
    made = [(number, account_of(ledger, number)) for number in names]
    if not how.startswith("bare"):
        ledger.store.close()
        return names
    samples = []
    for _, account in made:
        ledger.settle(ledger.reserve(account, request("sample")), {"value": [0.5]})  # type: ignore[arg-type]
        with ledger.store.read() as view:
            samples.append(([tuple(r) for r in view.history(account.id, "sample")], tuple(view.head(account.id) or ())))
    ledger.store.close()
    return samples


def ours(location: str, account: int, client: str) -> Callable[[int], None]:
    """Reserve and settle through the ledger."""
    ledger = Ledger(open_store(location))
    where = account_of(ledger, account)

    def charge(number: int) -> None:
        outcome = ledger.reserve(where, request(f"{client}-{number}"))
        if not isinstance(outcome, Reserved):
            raise TypeError("the benchmark's account ran out")
        ledger.settle(outcome, {"value": [number + 0.5]})

    return charge


def ours_in_batches(location: str, account: int, client: str, size: int = 50) -> Callable[[int], None]:
    """The same, so many at a time."""
    ledger = Ledger(open_store(location))
    where = account_of(ledger, account)

    def charge(number: int) -> None:
        outcomes = ledger.reserve_batch(where, [request(f"{client}-{number}-{i}") for i in range(size)])
        ledger.settle_batch([(held, {"value": [i + 0.5]}) for i, held in enumerate(outcomes)])  # type: ignore[misc]

    return charge


def bare(location: str, sample: tuple[Any, Any], client: str) -> Callable[[int], None]:
    """The same statements on the same tables, through the driver alone."""
    rows, head = sample
    account_id = head[0]
    run, begin = _postgresql(location) if location.startswith("postgresql") else _sqlite(location)

    def charge(number: int) -> None:
        name = f"{client}-{number}"
        for row in rows:
            run("BEGIN", begin)
            seq = run("HEAD_TO_MOVE", (account_id,)).fetchone()[2] + 1
            run("HISTORY", (account_id, name)).fetchall()
            run("ADD_RECORD", (row[0], seq, row[2], name, row[4] and seq - 1, *row[5:]))
            run("MOVE_HEAD", (head[1], seq, *head[3:], account_id, seq - 1))
            run("COMMIT", None)

    return charge


def _postgresql(location: str) -> tuple[Callable[..., Any], str]:
    import psycopg
    from sqlalchemy.engine import make_url

    from dosimeter.stores.sql.postgresql_server import _FIT, _WRITE, _statements

    connection = psycopg.connect(
        make_url(location).render_as_string(hide_password=False), autocommit=True, prepare_threshold=2
    )
    connection.execute(_FIT, ("30000", "30000"))
    texts = {name: statement.text for name, statement in _statements().items()}
    cursor = connection.cursor()

    def run(name: str, values: Any) -> Any:
        if name == "BEGIN":
            return cursor.execute(_WRITE, prepare=False)
        if name == "COMMIT":
            return cursor.execute(b"COMMIT", prepare=False)
        return cursor.execute(texts[name], values)

    return run, ""


def bare_together(location: str, sample: tuple[Any, Any], client: str) -> Callable[[int], None]:
    """The same statements on PostgreSQL in two trips per transaction, as the ledger sends them."""
    import psycopg
    from sqlalchemy.engine import make_url

    from dosimeter.stores.sql.postgresql_server import _FIT, _WRITE, _statements
    from dosimeter.stores.sql.postgresql_transaction import APPEND

    rows, head = sample
    connection = psycopg.connect(
        make_url(location).render_as_string(hide_password=False), autocommit=True, prepare_threshold=2
    )
    connection.execute(_FIT, ("30000", "30000"))
    texts = {name: statement.text for name, statement in _statements().items()}

    def charge(number: int) -> None:
        name = f"{client}-{number}"
        for row in rows:
            with connection.pipeline():
                first, second, last = (connection.cursor() for _ in range(3))
                first.execute(_WRITE, prepare=False)
                first.execute(texts["HEAD_TO_MOVE"], (head[0],))
                second.execute(texts["HISTORY"], (head[0], name))
                seq = first.fetchall()[0][2] + 1
                second.fetchall()
                values = (row[0], seq, row[2], name, row[4] and seq - 1, *row[5:])
                last.execute(APPEND, (head[1], seq, *head[3:], head[0], seq - 1, *values[1:]))
                last.execute(b"COMMIT", prepare=False)

    return charge


def _sqlite(location: str) -> tuple[Callable[..., Any], str]:
    from dosimeter.stores.sql.sqlite_file import _statements

    connection = sqlite3.connect(location, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    texts = {name: statement.text for name, statement in _statements().items()}
    cursor = connection.cursor()

    def run(name: str, values: Any) -> Any:
        if name == "BEGIN":
            return cursor.execute("BEGIN IMMEDIATE")
        if name == "COMMIT":
            return cursor.execute("COMMIT")
        return cursor.execute(texts[name], values)

    return run, ""


MAKERS: dict[str, Callable[..., Callable[[int], None]]] = {
    "ledger": ours,
    "batches": ours_in_batches,
    "bare": bare,
    "bare together": bare_together,
}


def measure(how: str, location: str, *, clients: int, accounts: int, seconds: float, each: int = 1) -> Measured:
    """So many clients on so many accounts for so long."""
    given = prepared(how, location, accounts)
    gate, results = PROCESSES.Barrier(clients + 1), PROCESSES.SimpleQueue()
    running = [
        PROCESSES.Process(
            target=_client, args=(how, location, given[n % accounts], f"{how}-{n}", seconds, gate, results)
        )
        for n in range(clients)
    ]
    for process in running:
        process.start()
    gate.wait(timeout=120)
    before = time.perf_counter()
    told: list[list[float]] = [results.get() for _ in running]
    took = time.perf_counter() - before
    for process in running:
        process.join()
    latencies = [one for several in told for one in several]
    return Measured(len(latencies) * each, took, latencies)


def _client(how: str, location: str, account: Any, name: str, seconds: float, gate: Any, results: Any) -> None:
    charge = MAKERS[how](location, account, name)
    for number in range(WARM_UP):
        charge(-number - 1)
    gate.wait(timeout=120)
    latencies, number = [], 0
    end = time.perf_counter() + seconds
    while (now := time.perf_counter()) < end:
        charge(number)
        number += 1
        latencies.append(time.perf_counter() - now)
    results.put(latencies)
