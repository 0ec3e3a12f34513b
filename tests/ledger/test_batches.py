"""Many charges in one transaction: decided in order, each on its own, exactly as if they had come one by one."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ledger.ledger_world import SetClock, answered, ask, open_account, spent

from dosimeter.errors import InputError, LedgerError, NotionError, RequestConflict
from dosimeter.ledger import DatasetIdentity, Ledger, RefusedRequest, Replayed, Reserved
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.stores import MemoryStore

OTHER = DatasetIdentity("other", "0f")


def test_a_batch_admits_what_fits_and_refuses_the_rest(ledger: Ledger) -> None:
    """Fifteen tenths of one: the first ten are charged, the others refused, a smaller one after them fits no more."""
    account = open_account(ledger)
    outcomes = ledger.reserve_batch(account, [ask(f"q{i}") for i in range(15)])
    assert [type(o) for o in outcomes] == [Reserved] * 10 + [RefusedRequest] * 5
    assert [o.entry for o in outcomes] == list(range(2, 17))
    assert spent(ledger, account) == "1"
    assert ledger.audit(account).ok


def test_a_refusal_does_not_stop_the_ones_after_it(ledger: Ledger) -> None:
    """Each is decided on its own."""
    account = open_account(ledger)
    outcomes = ledger.reserve_batch(account, [ask("a", "0.6"), ask("big", "0.6"), ask("c", "0.4")])
    assert [type(o) for o in outcomes] == [Reserved, RefusedRequest, Reserved]
    assert spent(ledger, account) == "1"


def test_a_batch_replays_takes_over_and_charges_an_id_once(ledger: Ledger) -> None:
    """Answered before: its answer. Reserved before, or twice in the batch: one charge."""
    account = open_account(ledger)
    answered(ledger, account, "old", answer=[1, 2.5])
    ledger.reserve(account, ask("open"))
    replayed, taken, new, twice = ledger.reserve_batch(account, [ask("old"), ask("open"), ask("new"), ask("new")])
    assert isinstance(replayed, Replayed)
    assert replayed.answer == [1, 2.5]
    assert isinstance(taken, Reserved)
    assert taken.taken_over
    assert isinstance(new, Reserved)
    assert isinstance(twice, Reserved)
    assert (new.taken_over, twice.taken_over, twice.entry) == (False, True, new.entry)
    assert spent(ledger, account) == "0.3"
    with pytest.raises(LedgerError, match="taken over"):
        ledger.void(new, reason="no rows", by="test")
    assert ledger.audit(account).ok


def test_one_conflict_charges_nothing_of_the_batch(ledger: Ledger) -> None:
    """Errors are of the whole: what raises has written nothing."""
    account = open_account(ledger)
    answered(ledger, account, "old")
    before = ledger.statement(account)
    with pytest.raises(RequestConflict, match="old"):
        ledger.reserve_batch(account, [ask("a"), ask("old", "0.2"), ask("c")])
    with pytest.raises(NotionError):
        ledger.reserve_batch(account, [ask("a"), ask("b", relation=NeighbouringRelation.REPLACE_ONE)])
    with pytest.raises(InputError, match="10001"):
        ledger.reserve_batch(account, [ask("a")] * 10_001)
    assert ledger.statement(account) == before
    assert ledger.reserve_batch(account, []) == ()


def test_answers_are_settled_together(ledger: Ledger) -> None:
    """Also of two accounts; what was settled first stays, in the order asked."""
    one, two = open_account(ledger), open_account(ledger, identity=OTHER)
    held = [*ledger.reserve_batch(one, [ask("a"), ask("b")]), ledger.reserve(two, ask("c"))]
    assert all(isinstance(h, Reserved) for h in held)
    ledger.settle(held[1], "earlier")  # type: ignore[arg-type]
    settled = ledger.settle_batch([(h, n) for n, h in enumerate(reversed(held))])  # type: ignore[misc]
    assert [(s.request_id, s.answer, s.first) for s in settled] == [
        ("c", 0, True),
        ("b", "earlier", False),
        ("a", 2, True),
    ]
    assert ledger.settle_batch([]) == ()
    for account in (one, two):
        assert ledger.orphans(account) == ()
        assert ledger.audit(account).ok


def test_a_voided_reservation_among_the_answers_stores_none(ledger: Ledger) -> None:
    """All of them or none."""
    account = open_account(ledger)
    held = ledger.reserve_batch(account, [ask("a"), ask("b")])
    ledger.void(held[1], reason="no rows", by="test")  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="voided"):
        ledger.settle_batch([(h, 1) for h in held])  # type: ignore[misc]
    assert [o.request_id for o in ledger.orphans(account)] == ["a"]


AMOUNTS = st.sampled_from(["0.05", "0.1", "0.3", "0.55", "2"])
REQUESTS = st.lists(st.tuples(st.integers(0, 5), AMOUNTS), max_size=9)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=REQUESTS, batch=REQUESTS)
def test_a_batch_is_its_requests_one_by_one(before: list[tuple[int, str]], batch: list[tuple[int, str]]) -> None:
    """The same outcomes and, apart from random tokens, the same records as so many calls of reserve."""
    amounts: dict[int, str] = {}

    def requests(pairs: list[tuple[int, str]]) -> list[object]:
        return [ask(f"q{n}", amounts.setdefault(n, amount)) for n, amount in pairs]

    sides = []
    for together in (False, True):
        amounts.clear()
        ledger = Ledger(MemoryStore(), SetClock())
        account = open_account(ledger)
        for number, request in enumerate(requests(before)):
            outcome = ledger.reserve(account, request)  # type: ignore[arg-type]
            if isinstance(outcome, Reserved) and number % 2:
                ledger.settle(outcome, number)
        asked = requests(batch)
        outcomes = (
            ledger.reserve_batch(account, asked)  # type: ignore[arg-type]
            if together
            else tuple(ledger.reserve(account, request) for request in asked)  # type: ignore[arg-type]
        )
        told = [(type(o), o.entry, o.request_id, str(o.loss), getattr(o, "taken_over", None)) for o in outcomes]
        with ledger.store.read() as view:
            records = [(r.seq, r.kind, r.request_id, r.refers_to, r.epoch) for r in view.records(account.id)]
        sides.append((told, records, ledger.balance(account).spent))
        assert ledger.audit(account).ok
        assert Decimal(spent(ledger, account)) <= 1
    assert sides[0] == sides[1]
