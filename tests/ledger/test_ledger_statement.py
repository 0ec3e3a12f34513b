"""The statement tells everything that happened, in order, and what it adds up to."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from tests.ledger.ledger_world import RELATION, SetClock, answered, ask, open_account

from dosimeter.adaptive.filters import PureFilter, ZCDPFilter
from dosimeter.adaptive.odometers import MixtureOdometer, StoppedRunOdometer
from dosimeter.errors import LedgerCorrupt
from dosimeter.events import Composed, Declared, Gaussian, PoissonSampled, Repeated, loss_from_json
from dosimeter.ledger import DatasetIdentity, Ledger, Request, Reserved
from dosimeter.ledger.statement import charge_text
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP


def busy(ledger: Ledger) -> object:
    """An account with every kind of entry and decision."""
    account = open_account(ledger, terms={"bounds": [0, 1]}, odometers=[MixtureOdometer("1e-6", "0.1")])
    answered(ledger, account, "settled", "0.2", answer="the noisy answer")
    holder = ledger.reserve(account, ask("voided", "0.3"))
    assert isinstance(holder, Reserved)
    ledger.void(holder, reason="the source was gone", by="session")
    ledger.reserve(account, ask("refused", "5"))
    ledger.reserve(account, ask("open", "0.1"))
    open_account(ledger, identity=DatasetIdentity("folk", "5f2b"), odometers=[MixtureOdometer("1e-6", "0.1")])
    ledger.reset(account, reason="second study", authorised_by="Ada")
    answered(ledger, account, "later", "0.4")
    return account


def test_entries_stand_in_order_with_what_became_of_them(ledger: Ledger) -> None:
    """Reserved, settled, voided and refused requests, with charge, description, times and reasons."""
    statement = ledger.statement(busy(ledger))
    rows = [(e.request_id, e.status, e.charge, e.epoch) for e in statement.entries]
    assert rows == [
        ("settled", "settled", "epsilon 0.2", 1),
        ("voided", "voided", "epsilon 0.3", 1),
        ("refused", "refused", "epsilon 5", 1),
        ("open", "reserved", "epsilon 0.1", 1),
        ("later", "settled", "epsilon 0.4", 2),
    ]
    voided = statement.entries[1]
    assert (voided.void_reason, voided.voided_by) == ("the source was gone", "session")
    assert voided.ended_at is not None
    assert statement.entries[0].description == "question settled"
    assert statement.entries[0].declared_reasons == ("a mechanism of a test",)
    assert [(d.kind, d.name, d.by) for d in statement.decisions] == [
        ("opened", "people", "steward"),
        ("named", "folk", None),
        ("reset", None, "Ada"),
    ]


def test_epochs_are_listed_and_added_up(ledger: Ledger) -> None:
    """Each with its guarantee, what it used and what its odometers read; all together promise the sum."""
    statement = ledger.statement(busy(ledger))
    first, second = statement.epochs
    assert (first.number, first.spent["epsilon"], first.remaining["epsilon"]) == (1, "0.3", "0.7")
    assert (second.number, second.spent["epsilon"]) == (2, "0.4")
    assert first.guarantee == second.guarantee == statement.guarantee == PureDP("1")
    assert statement.guarantee_of_all_epochs == PureDP("2")
    assert (statement.spent, statement.remaining) == (second.spent, second.remaining)
    reading = second.readings[0]
    assert (reading.semantics, reading.failure_probability) == ("loss", Decimal("0.000001"))
    assert reading.bound is not None
    assert first.readings[0].bound < second.readings[0].bound


def test_the_statement_is_json_and_keeps_secrets(ledger: Ledger) -> None:
    """It survives a round trip; answers, content hashes and void tokens are not on it."""
    account = busy(ledger)
    data = ledger.statement(account).to_json()
    text = json.dumps(data)
    assert json.loads(text) == data
    assert "noisy answer" not in text
    assert '"void"' not in text
    assert '"content"' not in text
    assert data["account"]["terms"] == {"bounds": [0, 1]}
    assert loss_from_json(data["guarantee_of_all_epochs"]) == PureDP("2")
    assert data["epochs"][1]["readings"][0]["odometer"]["kind"] == "mixture"


def test_times_are_those_of_the_clock() -> None:
    """In UTC, to the microsecond, whatever zone the clock speaks of."""
    from datetime import timedelta, timezone

    from dosimeter.stores import MemoryStore

    clock = SetClock()
    clock.now = clock.now.astimezone(timezone(timedelta(hours=5, minutes=30)))
    ledger = Ledger(MemoryStore(), clock)
    account = open_account(ledger)
    clock.move(seconds=1.5)
    answered(ledger, account, "q1")
    statement = ledger.statement(account)
    assert statement.account.opened_at == "2026-01-31T09:30:00.000000Z"
    assert statement.entries[0].requested_at == "2026-01-31T09:30:01.500000Z"


def test_declared_reasons_are_found_inside_composed_events(ledger: Ledger) -> None:
    """A charge that was declared, not derived, shows it for ever, wherever it is nested."""
    account = open_account(ledger, filter=ZCDPFilter("100"))
    inner = Repeated(Declared(ZCDP("0.1"), "their audit report"), 2)
    event = Composed((Gaussian(sigma="10"), inner, Declared(ZCDP("0.2"), "their paper")))
    ledger.reserve(account, Request("q", event, RELATION, "ab", "mixed"))
    (entry,) = ledger.statement(account).entries
    assert entry.declared_reasons == ("their audit report", "their paper")


def test_declared_reasons_are_found_inside_samples(ledger: Ledger) -> None:
    """A declared mechanism that runs on a sample is no less declared."""
    account = open_account(ledger, filter=PureFilter("100"))
    event = Repeated(PoissonSampled("0.5", Declared(PureDP("0.1"), "their audit report")), 2)
    ledger.reserve(account, Request("q", event, RELATION, "ab", "sampled"))
    (entry,) = ledger.statement(account).entries
    assert entry.declared_reasons == ("their audit report",)


def test_an_odometer_that_has_no_bound_says_why(ledger: Ledger) -> None:
    """After a round with a declared delta the loss itself has no bound; stopped runs still have one."""
    odometers = [MixtureOdometer("1e-6", "0.1"), StoppedRunOdometer(MixtureOdometer("1e-6", "0.1"), "1e-5")]
    account = open_account(ledger, filter=ZCDPFilter("1", "1e-5"), odometers=odometers)
    before = ledger.balance(account).readings
    assert [r.why_not for r in before] == [None, None]
    event = Declared(ZCDP("0.1", "1e-6"), "approximate")
    ledger.reserve(account, Request("q", event, RELATION, "ab", "approximate"))
    loss, stopped = ledger.balance(account).readings
    assert (loss.semantics, loss.bound) == ("loss", None)
    assert "declared delta" in (loss.why_not or "")
    assert stopped.semantics == "dp"
    assert stopped.bound is not None
    assert stopped.failure_probability > Decimal("1e-5")
    assert json.dumps(ledger.statement(account).to_json())


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (PureDP("0.10"), "epsilon 0.1"),
        (ApproxDP("1", "1e-9"), "epsilon 1, delta 1e-9"),
        (ZCDP("0.02"), "rho 0.02"),
        (ZCDP("0.02", "1e-7"), "rho 0.02, delta 1e-7"),
        (GDP("0.5"), "mu 0.5"),
        (RDP((2, 8), ("0.1", "0.4")), "RDP epsilon 0.1 at order 2, 0.4 at order 8"),
    ],
)
def test_charges_are_said_in_words(loss: object, words: str) -> None:
    """The quantities of the notion, zero deltas left out."""
    assert charge_text(loss) == words  # type: ignore[arg-type]


def test_a_damaged_history_is_an_error_not_a_statement(ledger: Ledger) -> None:
    """A statement is never made from records that cannot be read."""
    account = busy(ledger)
    from dosimeter.ledger.statement import statement_of

    with ledger._store.read() as view:
        records, head = view.records(account.id), view.head(account.id)
    for body in ("", "[]", '{"event":{}}'):
        damaged = [r._replace(body=body) if r.seq == 2 else r for r in records]
        with pytest.raises(LedgerCorrupt):
            statement_of(account, head, damaged)
