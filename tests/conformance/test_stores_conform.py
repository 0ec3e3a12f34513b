"""What every store owes the ledger. A new store joins by one line in `STORES`; everything here must then pass."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from tests.ledger.ledger_world import ask, open_account, spent

from dosimeter.errors import LedgerCorrupt, LedgerError, LedgerUnavailable
from dosimeter.ledger import DatasetIdentity, Ledger, RefusedRequest, Replayed, Reserved
from dosimeter.ledger.record import Draft, Head, Kind, Record, before_first, chain
from dosimeter.ledger.store import Store
from dosimeter.stores import MemoryStore, PostgreSQLStore, SQLiteStore

STORES: dict[str, Callable[[pytest.FixtureRequest], Store]] = {
    "memory": lambda _: MemoryStore(wait_seconds_max=20),
    "sqlite": lambda test: SQLiteStore(test.getfixturevalue("tmp_path") / "ledger.db", wait_seconds_max=20),
    "postgresql": lambda test: PostgreSQLStore(test.getfixturevalue("postgresql_url"), wait_seconds_max=20),
}
DURABLE = {kind: make for kind, make in STORES.items() if kind != "memory"}


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of each kind."""
    made = STORES[request.param](request)
    yield made
    made.close()


def steps(store: Store, count: int, account_id: str = "a", request_id: str | None = "q") -> list[tuple[Record, Head]]:
    """A chain of `count` records, each with the head after it."""
    head, made = before_first(account_id, store.key().ledger_id), []
    for number in range(count):
        kind = Kind.OPENED if number == 0 else Kind.RESERVED
        draft = Draft(kind, f'{{"number":{number}}}', request_id if number else None, state=f'"{number}"')
        record, head = chain(head, draft, "2026-01-31T09:30:00.000000Z", store.key().key)
        made.append((record, head))
    return made


def write(store: Store, made: list[tuple[Record, Head]]) -> None:
    """Append records, each in a transaction of its own."""
    for record, head in made:
        with store.write() as tx:
            tx.append(record, head)


def together(verb: Callable[[Record, Head], None], made: list[tuple[Record, Head]]) -> None:
    """Each of them, in the transaction that is open."""
    for record, head in made:
        verb(record, head)


# -- reading back ----------------------------------------------------------------------------------------------------


def test_what_was_written_is_read_back_exactly(store: Store) -> None:
    """Records and heads, in order, of the right account, with every character and number intact."""
    made = steps(store, 4)
    other = steps(store, 2, account_id="b \u00e9'\"\\\U0001f600", request_id="\"q' ? :a %s \u2028")
    write(store, made)
    write(store, other)
    with store.read() as view:
        assert view.records("a") == [record for record, _ in made]
        assert view.first("a") == made[0][0]
        assert view.head("a") == made[-1][1]
        assert view.history("a", "q") == [record for record, _ in made[1:]]
        assert view.records(other[0][0].account_id) == [record for record, _ in other]
        assert view.history(other[1][0].account_id, other[1][0].request_id) == [other[1][0]]
        assert sorted(view.account_ids()) == sorted({"a", other[0][0].account_id})


def test_what_is_not_there_is_nothing(store: Store) -> None:
    """An unknown account has no head, no records, no history and no names."""
    with store.read() as view:
        assert view.head("x") is None
        assert view.first("x") is None
        assert list(view.records("x")) == []
        assert list(view.history("x", "q")) == []
        assert list(view.identities("x")) == []
        assert list(view.account_ids()) == []
        assert view.owner("name", "x") is None


def test_identities_belong_to_one_account_for_ever(store: Store) -> None:
    """A name and a content hash of equal text are different; a second claim fails and changes nothing."""
    with store.write() as tx:
        tx.claim("name", "x", "a")
        tx.claim("content", "x", "b")
    with pytest.raises(LedgerError), store.write() as tx:
        tx.claim("name", "x", "b")
    with store.read() as view:
        assert (view.owner("name", "x"), view.owner("content", "x")) == ("a", "b")
        assert list(view.identities("a")) == [("name", "x")]


def test_a_transaction_sees_its_own_writes(store: Store) -> None:
    """Two appends in one transaction follow each other."""
    made = steps(store, 3)
    with store.write() as tx:
        for record, head in made:
            tx.append(record, head)
            assert tx.head("a") == head
        assert len(tx.records("a")) == 3
    with store.read() as view:
        assert view.head("a") == made[-1][1]


# -- all or nothing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, LedgerError])
def test_an_exception_undoes_the_whole_transaction(store: Store, error: type[BaseException]) -> None:
    """Records, heads and claims of the block are gone, what was there before is untouched, and the store goes on."""
    made = steps(store, 4)
    write(store, made[:2])

    def half() -> None:
        with store.write() as tx:
            tx.append(*made[2])
            tx.append(*made[3])
            tx.append(*steps(store, 1, account_id="b")[0])
            tx.claim("name", "n", "a")
            raise error("in the middle")

    with pytest.raises(error):
        half()
    with store.read() as view:
        assert view.head("a") == made[1][1]
        assert len(view.records("a")) == 2
        assert len(view.history("a", "q")) == 1
        assert view.head("b") is None
        assert view.owner("name", "n") is None
    write(store, made[2:])
    with store.read() as view:
        assert view.head("a") == made[3][1]


def test_a_record_that_does_not_follow_the_head_is_refused(store: Store) -> None:
    """Twice the same number, a gap, a first record of an account that exists: an error, and nothing is written."""
    made = steps(store, 5)
    write(store, made[:3])
    for wrong in (made[0], made[2], made[4]):
        with pytest.raises(LedgerCorrupt), store.write() as tx:
            tx.append(*wrong)
    with store.read() as view:
        assert view.head("a") == made[2][1]
        assert len(view.records("a")) == 3


@pytest.mark.parametrize("wrong_last", [True, False])
def test_a_head_that_does_not_follow_undoes_the_other_accounts_too(store: Store, wrong_last: bool) -> None:
    """Two accounts in one transaction, one of them at another place than was thought: neither moves."""
    good, bad = steps(store, 3), steps(store, 4, account_id="b")
    write(store, good[:2])
    write(store, bad[:2])
    moves = [good[2], bad[3]] if wrong_last else [bad[3], good[2]]
    with pytest.raises(LedgerCorrupt), store.write() as tx:
        together(tx.append, moves)
    with pytest.raises(LedgerCorrupt), store.write() as tx:
        together(lambda record, head: tx.extend([record], head), moves)
    with store.read() as view:
        assert (view.head("a"), view.head("b")) == (good[1][1], bad[1][1])
        assert len(view.records("a")) == len(view.records("b")) == 2


def test_several_records_and_their_head_move_at_once(store: Store) -> None:
    """`extend` is `append` many times over, and all of it or nothing."""
    made = steps(store, 9)
    write(store, made[:1])
    with store.write() as tx:
        tx.extend([record for record, _ in made[1:6]], made[5][1])
        assert tx.head("a") == made[5][1]
    with pytest.raises(LedgerCorrupt), store.write() as tx:
        tx.extend([record for record, _ in made[7:]], made[8][1])
    with store.read() as view:
        assert view.head("a") == made[5][1]
        assert view.records("a") == [record for record, _ in made[:6]]


def test_where_an_account_stands_is_read_with_its_request(store: Store) -> None:
    """The head, and then the request's records, as two reads would tell."""
    made = steps(store, 4)
    write(store, made)
    with store.write() as tx:
        assert tx.standing("a", "q") == (made[3][1], [record for record, _ in made[1:]])
        assert tx.standing("a", "r") == (made[3][1], [])
        assert tx.standing("b", "q") == (None, [])


def test_a_closed_store_answers_nothing(store: Store) -> None:
    """Not even from memory: nothing may be released meanwhile."""
    ledger = Ledger(store)
    account = open_account(ledger)
    store.close()
    for verb in (
        lambda: ledger.balance(account),
        lambda: ledger.reserve(account, ask("q1")),
        lambda: ledger.statement(account),
        lambda: open_account(ledger),
    ):
        with pytest.raises(LedgerUnavailable, match="closed"):
            verb()


def test_the_key_is_made_once(store: Store) -> None:
    """The same on every call, random, and shown nowhere."""
    key = store.key()
    assert store.key() == key
    assert len(key.key) >= 32
    assert key.key.hex() not in repr(key)
    assert MemoryStore().key().key != key.key


# -- sharing ---------------------------------------------------------------------------------------------------------


@contextmanager
def _frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run `work` in `count` threads that start at the same moment."""
    gate = threading.Barrier(count)

    def start(number: int) -> Any:
        gate.wait()
        return work(number)

    with _frequent_switches(), ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def test_eight_threads_never_overspend(store: Store) -> None:
    """Each asks five tenths of a budget of one, with the interpreter switching every microsecond: ten are admitted."""
    ledger = Ledger(store)
    account = open_account(ledger)
    outcomes = _together(8, lambda n: [ledger.reserve(account, ask(f"q{n}-{i}")) for i in range(5)])
    kinds = [type(outcome) for several in outcomes for outcome in several]
    assert kinds.count(Reserved) == 10
    assert kinds.count(RefusedRequest) == 30
    assert spent(ledger, account) == "1"
    assert ledger.audit(account).ok


def test_ledgers_of_one_store_share_the_budget(store: Store) -> None:
    """Every thread with a ledger object of its own."""
    account = open_account(Ledger(store))
    outcomes = _together(8, lambda n: [Ledger(store).reserve(account, ask(f"q{n}-{i}")) for i in range(3)])
    assert sum(isinstance(o, Reserved) for several in outcomes for o in several) == 10
    assert Ledger(store).audit(account).ok


def test_simultaneous_retries_charge_once_and_agree(store: Store) -> None:
    """Eight threads make the same request and settle what each of them drew: one charge, one answer."""
    ledger = Ledger(store)
    account = open_account(ledger)

    def attempt(number: int) -> Any:
        outcome = ledger.reserve(account, ask("q", "0.7"))
        if isinstance(outcome, Replayed):
            return outcome.answer
        return ledger.settle(outcome, number).answer

    assert len(set(_together(8, attempt))) == 1
    assert spent(ledger, account) == "0.7"
    statement = ledger.statement(account)
    assert len(statement.entries) == 1
    assert ledger.audit(account).ok


def test_simultaneous_openings_find_one_account(store: Store) -> None:
    """Under the data's name and under copies of it."""
    ledgers = [Ledger(store) for _ in range(8)]
    names = ["people", "folk"] * 4
    opened = _together(8, lambda n: open_account(ledgers[n], identity=DatasetIdentity(names[n], "1")))
    assert len({account.id for account in opened}) == 1
    assert len(ledgers[0].accounts()) == 1


def test_voids_and_charges_interleave_without_losing_a_charge(store: Store) -> None:
    """Threads that reserve, void and settle at once leave the fold of the charges that stand."""
    ledger = Ledger(store)
    account = open_account(ledger, "100")

    def work(number: int) -> None:
        for i in range(6):
            outcome = ledger.reserve(account, ask(f"q{number}-{i}"))
            assert isinstance(outcome, Reserved)
            if i % 2:
                ledger.void(outcome, reason="no rows", by="thread")
            else:
                ledger.settle(outcome, i)

    _together(6, work)
    assert spent(ledger, account) == "1.8"
    report = ledger.audit(account)
    assert report.ok, report.message()


def test_joint_reservations_in_opposite_orders_do_not_block_each_other(store: Store) -> None:
    """Accounts are locked in one order whatever order the callers list them in."""
    ledger = Ledger(store)
    one = open_account(ledger, identity=DatasetIdentity("a", "1"))
    two = open_account(ledger, identity=DatasetIdentity("b", "2"))

    def work(number: int) -> str:
        pair = [(one, ask(f"q{number}")), (two, ask(f"q{number}"))]
        return type(ledger.reserve_all(pair if number % 2 else pair[::-1])).__name__

    outcomes = [kind for _ in range(2) for kind in _together(8, work)]
    assert outcomes.count("ReservedTogether") >= 8
    assert spent(ledger, one) == spent(ledger, two)


@pytest.mark.parametrize("kind", sorted(DURABLE))
def test_a_durable_store_opened_again_is_the_same_ledger(kind: str, request: pytest.FixtureRequest) -> None:
    """The key, the accounts, the answers and what is spent outlive the object."""
    store = DURABLE[kind](request)
    ledger = Ledger(store)
    account = open_account(ledger)
    outcome = ledger.reserve(account, ask("q", "0.3"))
    assert isinstance(outcome, Reserved)
    ledger.settle(outcome, [1, 2.5])
    key = store.key()
    store.close()
    again = DURABLE[kind](request)
    assert again.key() == key
    reopened = Ledger(again)
    assert reopened.accounts() == [account]
    assert reopened.reserve(account, ask("q", "0.3")).answer == [1, 2.5]
    assert spent(reopened, account) == "0.3"
    again.close()
