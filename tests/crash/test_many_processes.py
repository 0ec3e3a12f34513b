"""Many processes on one ledger: together they never spend more than there is, and one request is charged once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.crash.children import Child, Gate
from tests.ledger.ledger_world import ask, open_account, spent

from dosimeter.ledger import Ledger, RefusedRequest, Replayed, Reserved
from dosimeter.stores import SQLiteStore, open_store
from dosimeter.stores.sql.postgresql_url import is_url

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]
HERE = Path(__file__).parent
MANY = 50


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty ledger lies."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgresql_url")


def on(place: str) -> str:
    """The store, for the count of trials."""
    return "PostgreSQL" if is_url(place) else "SQLite"


def together(file: str, count: int, work: Callable[[Ledger, int], str]) -> list[str]:
    """Run `work` in `count` processes that start when every one of them has opened the store; what each said."""
    gate = Gate()

    def child(say: Callable[[str], None], number: int) -> None:
        ledger = Ledger(open_store(file, wait_seconds_max=60))
        gate.wait_here()
        say(work(ledger, number))

    children = [Child(lambda say, number=number: child(say, number)) for number in range(count)]
    gate.open_when(count)
    said = []
    for one in children:
        code, lines = one.wait()
        assert code == 0, lines
        said += lines
    assert len(said) == count
    return said


@pytest.mark.parametrize("attempt", range(4))
def test_fifty_processes_share_ten_tenths(place: str, trials: Counter[str], attempt: int) -> None:
    """Each asks 0.1 of 1.0 at the same moment: exactly ten are admitted, and 1.0 is spent."""
    account = open_account(Ledger(open_store(place)))
    said = together(place, MANY, lambda ledger, n: type(ledger.reserve(account, ask(f"q{n}"))).__name__)
    trials[f"fifty processes at once ({on(place)})"] += 1
    assert Counter(said) == {Reserved.__name__: 10, RefusedRequest.__name__: 40}
    ledger = Ledger(open_store(place))
    assert spent(ledger, account) == "1"
    assert ledger.audit(account).ok


def test_fifty_processes_open_and_make_the_ledger_itself(tmp_path: Path, trials: Counter[str]) -> None:
    """They find no file, make one, open the account and charge it: one ledger, one account, ten charges."""
    file = tmp_path / "ledger.db"
    gate = Gate()

    def child(say: Callable[[str], None], number: int) -> None:
        gate.wait_here()
        ledger = Ledger(SQLiteStore(file, wait_seconds_max=60))
        say(type(ledger.reserve(open_account(ledger), ask(f"q{number}"))).__name__)

    children = [Child(lambda say, number=number: child(say, number)) for number in range(20)]
    gate.open_when(20)
    results = [one.wait() for one in children]
    trials["twenty processes make one ledger"] += 1
    assert [code for code, _ in results] == [0] * 20
    assert Counter(line for _, lines in results for line in lines)[Reserved.__name__] == 10
    ledger = Ledger(SQLiteStore(file))
    assert len(ledger.accounts()) == 1
    assert ledger.audit(ledger.accounts()[0]).ok


def test_simultaneous_retries_in_many_processes_charge_once_and_agree(place: str, trials: Counter[str]) -> None:
    """Each draws an answer of its own, all release the one that was settled first."""
    account = open_account(Ledger(open_store(place)))

    def attempt(ledger: Ledger, number: int) -> str:
        outcome = ledger.reserve(account, ask("the same", "0.7"))
        answer = outcome.answer if isinstance(outcome, Replayed) else ledger.settle(outcome, number).answer
        return str(answer)

    said = together(place, MANY, attempt)
    trials[f"fifty processes retry one request ({on(place)})"] += 1
    assert len(set(said)) == 1
    ledger = Ledger(open_store(place))
    assert spent(ledger, account) == "0.7"
    assert len(ledger.statement(account).entries) == 1
    assert ledger.audit(account).ok


OPTIMISED = """
import sys
sys.path[:0] = [{helpers!r}]
from tests.ledger.ledger_world import *
from dosimeter.errors import *
from dosimeter.ledger import RefusedRequest, Replayed
from dosimeter.stores import MemoryStore, SQLiteStore

assert False, "asserts run, so this proves nothing"
seen = []
for store in (MemoryStore(), SQLiteStore({file!r})):
    ledger = Ledger(store)
    for cap in ("NaN", float("inf"), "-1", "0"):
        try:
            open_account(ledger, cap)
            seen.append(f"cap {{cap}} accepted")
        except InputError:
            pass
    account = open_account(ledger)
    for amount in ("NaN", float("nan"), float("inf"), "-1"):
        try:
            ledger.reserve(account, ask("odd", amount))
            seen.append(f"amount {{amount}} accepted")
        except InputError:
            pass
    admitted = sum(isinstance(ledger.reserve(account, ask(f"q{{i}}")), Reserved) for i in range(20))
    seen.append(admitted)
    seen.append(spent(ledger, account))
    seen.append(type(ledger.reserve(account, ask("big", "1e9"))).__name__)
    holder = ledger.reserve(account, ask("q0"))
    ledger.settle(holder, 1)
    seen.append(ledger.settle(holder, 2).answer)
    try:
        ledger.void(holder, reason="x", by="y")
        seen.append("voided")
    except LedgerError:
        pass
    seen.append(ledger.audit(account).ok)
import json
print(json.dumps(seen))
"""


def test_without_asserts_nothing_changes(tmp_path: Path) -> None:
    """`python -O` removes asserts; caps, checks and decisions are none."""
    code = OPTIMISED.format(helpers=str(HERE.parent / "ledger"), file=str(tmp_path / "l.db"))
    told = subprocess.check_output([sys.executable, "-O", "-c", code], text=True)
    assert json.loads(told) == [10, "1", "RefusedRequest", 1, True] * 2


SPAWNED = """
import sys
sys.path[:0] = [{helpers!r}]
from tests.ledger.ledger_world import *
from dosimeter.stores import SQLiteStore, open_store
from dosimeter.stores.sql.postgresql_url import is_url
ledger = Ledger(SQLiteStore({file!r}))
print(sum(isinstance(ledger.reserve(open_account(ledger), ask(f"{number}-{{i}}")), Reserved) for i in range(4)))
"""


def test_separate_interpreters_share_the_budget(tmp_path: Path) -> None:
    """Not only forks: programs of their own, started at the same time on a file that does not exist yet."""
    codes = [
        SPAWNED.format(helpers=str(HERE.parent / "ledger"), file=str(tmp_path / "l.db"), number=number)
        for number in range(4)
    ]
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for code in codes]
    assert sum(int(process.communicate()[0]) for process in running) == 10
