"""Every kind of filter can rule an account: its state survives the ledger to the last digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.ledger.ledger_world import RELATION, open_account

from dosimeter.adaptive.filters import (
    FILTERS,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    MenuFilter,
    PlanResidueFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RDPFilter,
    ResidueFilter,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
)
from dosimeter.adaptive.odometers import (
    FilterOdometer,
    MixtureOdometer,
    RDPOdometer,
    StitchedOdometer,
    StoppedRunOdometer,
    UnionOdometer,
)
from dosimeter.events import Gaussian, Laplace, RandomizedResponse
from dosimeter.ledger import Ledger, RefusedRequest, Request, Reserved
from dosimeter.ledger.texts import canonical, parse
from dosimeter.stores import SQLiteStore

RULES: list[tuple[Any, Any, str | None]] = [
    (ApproxFilter("1", "1e-6"), Gaussian(sigma="20"), None),
    (ZCDPFilter("0.1", "1e-7"), Laplace(scale="7"), None),
    (GDPFilter("0.3"), Gaussian(sigma="9"), None),
    (PureFilter("1"), Laplace(scale="7"), None),
    (BasicFilter("1", "1e-5"), Gaussian(sigma="100"), "1e-7"),
    (RDPFilter("8", "0.5"), Gaussian(sigma="9"), None),
    (RDPCurveFilter(("2", "8", "32"), ("0.2", "0.8", "3.2")), Gaussian(sigma="9"), None),
    (WeightedRDPFilter("1", "1e-6", ("4", "16", "64")), Gaussian(sigma="20"), None),
    (PublishedApproxFilter("1", "1e-6"), RandomizedResponse("0.03"), None),
    (RogersFilter("1", "1e-6"), RandomizedResponse("0.02"), None),
    (ResidueFilter("1", "1e-6"), Laplace(scale="20"), None),
    (PlanResidueFilter(((Laplace(scale="20"), 30),), "1", "1e-3"), Laplace(scale="20"), None),
    (MenuFilter.of("1", "1e-6", [Laplace(scale="20"), Gaussian(sigma="50")]), Laplace(scale="25"), None),
]


def test_every_kind_is_here() -> None:
    """A new filter must prove that an account can be opened under it."""
    assert {rule.kind for rule, _, _ in RULES} == set(FILTERS)


@pytest.mark.parametrize(("rule", "event", "delta"), RULES, ids=[rule.kind for rule, _, _ in RULES])
def test_an_account_under_any_filter_charges_restarts_and_audits(
    file: Path, rule: Any, event: Any, delta: str | None
) -> None:
    """Charges across two ledgers on one file equal the fold in memory; a void refolds exactly; the audit holds."""
    mixture = MixtureOdometer("1e-6", "0.1")
    odometers: list[Any] = [StoppedRunOdometer(mixture, "1e-5")]
    if rule.notion == "rdp":
        odometers = [RDPOdometer("1e-6", rule.orders[0], rule.orders)]
    ledgers = [Ledger(SQLiteStore(file)), Ledger(SQLiteStore(file))]
    accounts = [open_account(one, filter=rule, odometers=odometers) for one in ledgers]
    state, holders = rule.start(), []
    for i in range(6):
        request = Request(f"q{i}", event, RELATION, "ab", "a question", delta=delta)
        outcome = ledgers[i % 2].reserve(accounts[i % 2], request)
        assert isinstance(outcome, Reserved)
        holders.append(outcome)
        state = rule.admit(state, outcome.loss).state
        assert (outcome.spent, outcome.remaining) == (rule.spent(state), rule.remaining(state))
        stored = canonical(rule.state_to_json(state))
        assert rule.state_from_json(parse(stored)) == state
        with ledgers[0]._store.read() as view:
            assert view.head(accounts[0].id).state == stored
    ledgers[0].void(holders[2], reason="no rows", by="test")
    without = rule.start()
    for i, holder in enumerate(holders):
        if i != 2:
            without = rule.admit(without, holder.loss).state
    assert ledgers[1].balance(accounts[1]).spent == rule.spent(without)
    report = ledgers[1].audit(accounts[1])
    assert report.ok, report.message()
    reading = ledgers[0].statement(accounts[0]).readings[0]
    assert reading.bound == odometers[0].bound(without)


@pytest.mark.parametrize(("rule", "event", "delta"), RULES, ids=[rule.kind for rule, _, _ in RULES])
def test_no_filter_admits_more_through_the_ledger_than_on_its_own(
    ledger: Ledger, rule: Any, event: Any, delta: str | None
) -> None:
    """The same requests in a row are admitted and refused alike, and every refusal is one entry."""
    account = open_account(ledger, filter=rule)
    state, kinds = rule.start(), []
    for i in range(60):
        outcome = ledger.reserve(account, Request(f"q{i}", event, RELATION, "ab", "again", delta=delta))
        alone = rule.admit(state, outcome.loss)
        state = getattr(alone, "state", state)
        assert isinstance(outcome, RefusedRequest) != hasattr(alone, "state")
        kinds.append(type(outcome))
    assert Reserved in kinds
    assert ledger.audit(account).ok


def test_several_odometers_read_one_account(ledger: Ledger) -> None:
    """In the order the account was opened with, each from the same state."""
    odometers = [
        FilterOdometer("1e-6", "0.1"),
        StitchedOdometer("1e-6", "0.01"),
        UnionOdometer((MixtureOdometer("5e-7", "0.1"), FilterOdometer("5e-7", "0.1"))),
    ]
    account = open_account(ledger, filter=ApproxFilter("1", "1e-6"), odometers=odometers)
    ledger.reserve(account, Request("q", Gaussian(sigma="20"), RELATION, "ab", "one"))
    readings = ledger.balance(account).readings
    assert [r.odometer["kind"] for r in readings] == ["filter", "stitched", "union"]
    assert all(r.bound is not None and r.bound > 0 for r in readings)
    reopened = ledger.account(account.id)
    assert reopened.odometers == tuple(odometers)
    assert [r.bound for r in ledger.statement(account).readings] == [r.bound for r in readings]
