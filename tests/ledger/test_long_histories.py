"""A long history is read a little at a time, and the audit of it keeps almost nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from tests.ledger.ledger_world import answered, ask, open_account

from dosimeter.ledger import Ledger, Reserved
from dosimeter.ledger.audit import LookAhead, audit_account
from dosimeter.ledger.record import Record
from dosimeter.ledger.store import Store


def test_what_is_streamed_is_what_is_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pages of any size, the last one full or not."""
    ledger = Ledger(store)
    account = open_account(ledger, "100")
    for i in range(4):
        answered(ledger, account, f"q{i}")
    for size in (1, 2, 3, 9, 10, 1000):
        monkeypatch.setattr("dosimeter.stores.sql.transaction._PAGE", size)
        with store.read() as view:
            assert list(view.stream(account.id)) == list(view.records(account.id))
            assert list(view.stream("nobody")) == []


def test_the_look_ahead_of_a_store_is_that_of_its_records(store: Store) -> None:
    """Voids, and requests that were decided twice."""
    ledger = Ledger(store)
    account = open_account(ledger, "1")
    for i in range(4):
        held = ledger.reserve(account, ask(f"v{i}", "0.2"))
        assert isinstance(held, Reserved)
        ledger.void(held, reason="no rows", by="test")
    ledger.reserve(account, ask("v1", "0.2"))
    ledger.reserve(account, ask("big", "0.9"))
    ledger.reset(account, reason="another study", authorised_by="Ada")
    ledger.reserve(account, ask("big", "0.9"))
    answered(ledger, account, "once", "0.1")
    with store.read() as view:
        ahead = LookAhead.at(view.records(account.id))
        assert {about for _, about in view.voids(account.id)} == ahead.voided
        assert set(view.repeated(account.id)) == ahead.repeated == {"v1", "big"}
    assert ledger.audit(account).ok


def test_voids_far_from_their_reservations_fold_as_they_should(store: Store) -> None:
    """Several at once, nested and overlapping, with charges between them."""
    ledger = Ledger(store)
    account = open_account(ledger, "100")
    held = [ledger.reserve(account, ask(f"q{i}", f"0.{i + 1}")) for i in range(8)]
    for number in (5, 1, 6, 2):
        ledger.void(held[number], reason="no rows", by="test")  # type: ignore[arg-type]
        answered(ledger, account, f"between {number}", "0.01")
    report = ledger.audit(account)
    assert report.ok, report.message()
    assert report.charges == 8


def test_progress_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many were read, of how many."""
    monkeypatch.setattr("dosimeter.ledger.audit._STEP", 2)
    ledger = Ledger(store)
    account = open_account(ledger, "100")
    for i in range(3):
        answered(ledger, account, f"q{i}")
    told: list[tuple[int, int]] = []
    assert ledger.audit(account, progress=lambda read, total: told.append((read, total))).ok
    assert told == [(2, 7), (4, 7), (6, 7)]


class Body(str):
    """A text whose end can be noticed."""


def test_an_audit_keeps_no_records(store: Store) -> None:
    """While it reads on, the bodies of earlier records are gone."""
    ledger = Ledger(store)
    account = open_account(ledger, "1000")
    held = ledger.reserve_batch(account, [ask(f"q{i}", "0.001") for i in range(300)])
    ledger.settle_batch([(h, 1) for h in held])  # type: ignore[misc]
    with store.read() as view:
        head, records = view.head(account.id), list(view.records(account.id))
        identities = list(view.identities(account.id))
    alive: weakref.WeakSet[Body] = weakref.WeakSet()
    most = 0

    def one_by_one() -> Iterator[Record]:
        nonlocal most
        for record in records:
            body = Body(record.body)
            alive.add(body)
            yield record._replace(body=body)
            del body
            if record.seq % 50 == 0:
                gc.collect()
                most = max(most, len(alive))

    ahead = LookAhead.at(records)
    assert audit_account(account.id, head, one_by_one(), identities, store.key(), look_ahead=ahead).ok
    assert 0 < most <= 2
