"""A process killed at any boundary: spent is never less than what was or may have been released.

The child does what a session does: reserve, read rows, draw noise, settle, release. It is killed with SIGKILL at each
step, also in the middle of both transactions; then another process looks at the ledger, a file or a database.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests import postgresql
from tests.crash.children import Child, die
from tests.ledger.ledger_world import answered, ask, open_account, spent

from dosimeter.ledger import Ledger, Replayed, Reserved
from dosimeter.stores import open_store
from dosimeter.stores.sql.postgresql_server import Session
from dosimeter.stores.sql.postgresql_transaction import PipelinedTransaction
from dosimeter.stores.sql.postgresql_url import is_url
from dosimeter.stores.sql.sqlite_file import Connection
from dosimeter.stores.sql.transaction import SQLTransaction

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]

POINTS = (
    "before reserve",
    "in reserve, record written",
    "in reserve, head moved",
    "in reserve, committed",
    "after reserve",
    "after rows read",
    "after noise drawn",
    "in settle, record written",
    "in settle, head moved",
    "in settle, committed",
    "after settle",
    "after release",
)
CHARGED_FROM = POINTS.index("in reserve, committed")
ANSWERED_FROM = POINTS.index("in settle, committed")


@contextlib.contextmanager
def killed_inside(verb: str, point: str) -> Iterator[None]:
    """Put the kill into the store's transaction, at the asked place, for the length of the block (in a child)."""
    append, end, end_remote = SQLTransaction.append, Connection.end, Session.end
    append_remote = PipelinedTransaction.append

    def append_half(self: SQLTransaction, record: Any, head: Any) -> None:
        self._run["ADD_RECORD"].run(self._cursor, record)
        die()

    def append_half_remote(self: PipelinedTransaction, record: Any, head: Any) -> None:
        self._run["ADD_RECORD"].run(self._cursor, record)
        self.first(record.account_id)  # an answer to a later statement: the record has reached the server
        die()

    def end_killed(self: Any, error: BaseException | None) -> None:
        if point.endswith("committed"):
            (end if isinstance(self, Connection) else end_remote)(self, error)
        die()

    if point == f"in {verb}, record written":
        SQLTransaction.append = append_half  # type: ignore[method-assign]
        PipelinedTransaction.append = append_half_remote  # type: ignore[method-assign]
    if point in {f"in {verb}, head moved", f"in {verb}, committed"}:
        Connection.end = Session.end = end_killed  # type: ignore[method-assign]
    yield
    SQLTransaction.append, Connection.end = append, end  # type: ignore[method-assign]
    Session.end, PipelinedTransaction.append = end_remote, append_remote  # type: ignore[method-assign]


def kind(file: str) -> str:
    """The store, for the count of trials."""
    return "PostgreSQL" if is_url(file) else "SQLite"


def one_query(file: str, point: str, say: Callable[[str], None]) -> None:
    """What a session does for one query of 0.2; it dies at `point`."""

    def at(name: str) -> None:
        if point == name:
            die()

    ledger = Ledger(open_store(file))
    account = open_account(ledger)
    at("before reserve")
    with killed_inside("reserve", point):
        outcome = ledger.reserve(account, ask("second", "0.2"))
    at("after reserve")
    say("rows read")
    at("after rows read")
    noisy = random.SystemRandom().randrange(10**9)
    at("after noise drawn")
    with killed_inside("settle", point):
        settled = ledger.settle(outcome, noisy)
    at("after settle")
    say(f"released {settled.answer}")
    at("after release")


@pytest.fixture(params=["sqlite", "postgresql"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger of 1.0 in which 0.3 was charged and answered: where it lies."""
    new = str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    return begun(new)


def begun(new: str) -> str:
    """Make it there."""
    store = open_store(new)
    ledger = Ledger(store)
    answered(ledger, open_account(ledger), "first", "0.3")
    store.close()
    return new


def again(file: str) -> None:
    """Make it anew, with nothing but the first charge."""
    if is_url(file):
        postgresql.empty(file)
    else:
        Path(file).unlink()
    begun(file)


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_boundary(file: str, point: str, trials: Counter[str]) -> None:
    """From the commit of the reservation on the charge stands; rows are read and answers released only after that."""
    for _ in range(3):
        code, said = Child(lambda say: one_query(file, point, say)).wait()
        assert code == -9, said
        trials[f"killed {point} ({kind(file)})"] += 1
        ledger = Ledger(open_store(file))
        account = open_account(ledger)
        charged = POINTS.index(point) >= CHARGED_FROM
        released = [line for line in said if line.startswith("released")]
        assert spent(ledger, account) == ("0.5" if charged else "0.3")
        assert charged or not said  # nothing was read or released without a charge
        assert ledger.audit(account).ok

        outcome = ledger.reserve(account, ask("second", "0.2"))
        if POINTS.index(point) >= ANSWERED_FROM:
            assert isinstance(outcome, Replayed)
            assert released in ([], [f"released {outcome.answer}"])
        else:
            assert isinstance(outcome, Reserved)
            assert outcome.taken_over is charged
            assert not released
            assert ledger.settle(outcome, "completed").answer == "completed"
        assert spent(ledger, account) == "0.5"
        assert ledger.audit(account).ok
        ledger._store.close()
        again(file)


def test_killed_between_charge_and_answer_leaves_an_orphan_that_stays_spent(file: str, trials: Counter[str]) -> None:
    """Charge 0.3 and answer, charge 0.2, kill: 0.5 is spent, the orphan is listed, and nobody can void it."""
    Child(lambda say: one_query(file, "after rows read", say)).wait()
    trials[f"killed between charge and answer ({kind(file)})"] += 1
    ledger = Ledger(open_store(file))
    account = open_account(ledger)
    (orphan,) = ledger.orphans(account)
    assert (orphan.request_id, str(orphan.loss.epsilon)) == ("second", "0.2")
    taken = ledger.reserve(account, ask("second", "0.2"))
    assert isinstance(taken, Reserved)
    assert taken.void_token is None
    assert spent(ledger, account) == "0.5"


def test_killed_again_and_again_while_retrying_charges_once(file: str, trials: Counter[str]) -> None:
    """The same request dies at every boundary in turn, and in the end has one charge and one answer."""
    released = set()
    for point in (*POINTS, *POINTS):
        _, said = Child(lambda say, point=point: one_query_or_replay(file, point, say)).wait()
        released |= {line for line in said if line.startswith("released")}
        trials[f"killed while retrying ({kind(file)})"] += 1
    ledger = Ledger(open_store(file))
    account = open_account(ledger)
    assert spent(ledger, account) == "0.5"
    assert len(released) == 1
    assert released == {f"released {ledger.reserve(account, ask('second', '0.2')).answer}"}
    assert ledger.audit(account).ok


def one_query_or_replay(file: str, point: str, say: Callable[[str], None]) -> None:
    """As `one_query`, but it asks first whether the answer exists."""
    ledger = Ledger(open_store(file))
    account = open_account(ledger)
    if point == "before reserve":
        die()
    with killed_inside("reserve", point):
        outcome = ledger.reserve(account, ask("second", "0.2"))
    if isinstance(outcome, Replayed):
        say(f"released {outcome.answer}")
        die()
    ledger._store.close()
    one_query(file, point, say)


def endless(file: str, worker: int, say: Callable[[str], None]) -> None:
    """Charge and answer until killed; write down each answer just after it was released."""
    ledger = Ledger(open_store(file))
    account = open_account(ledger, "1000000")
    for i in range(100_000):
        settled = ledger.settle(ledger.reserve(account, ask(f"w{worker}-{i}", "0.001")), i)
        say(f"w{worker}-{i} {settled.answer}")


def test_killed_at_random_moments_under_contention(file: str, trials: Counter[str]) -> None:
    """Three processes charge one ledger and are killed at random; every released answer has its charge and replays."""
    if is_url(file):
        postgresql.empty(file)
    else:
        Path(file).unlink()
    setup = open_store(file)
    open_account(Ledger(setup), "1000000")
    setup.close()
    rng = random.Random(20260131)  # decides moments only
    for round_ in range(8):
        children = [Child(lambda say, w=3 * round_ + n: endless(file, w, say)) for n in range(3)]
        time.sleep(0.05 + rng.random() * 0.2)
        for child in children:
            child.kill()
            trials[f"killed at a random moment ({kind(file)})"] += 1
        said = [line for child in children for line in child.wait()[1]]
        ledger = Ledger(open_store(file))
        (account,) = ledger.accounts()
        report = ledger.audit(account)
        assert report.ok, report.message()
        entries = {entry.request_id: entry for entry in ledger.statement(account).entries}
        for line in said:
            if line.count(" ") == 1:  # a line cut by the kill says nothing
                name, answer = line.split(" ")
                assert entries[name].status == "settled"
                assert ledger.reserve(account, ask(name, "0.001")).answer == int(answer)
        assert Fraction(spent(ledger, account)) == Fraction(len(entries), 1000)
        orphans = len(ledger.orphans(account))
        assert orphans <= 3 * (round_ + 1)
        ledger._store.close()
    if is_url(file):
        return
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
