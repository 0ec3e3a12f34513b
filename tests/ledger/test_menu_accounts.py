"""Accounts with a menu: charged in units on every store, stated, and their certificate computed again by the audit."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ledger.ledger_world import RELATION, DatasetIdentity, open_account

from dosimeter.accounting import loss_for
from dosimeter.adaptive.adversary import Menu, Offer
from dosimeter.adaptive.filters import Admitted, MenuFilter, PureFilter, filter_from_json
from dosimeter.adaptive.odometers.menu import MenuOdometer, MenuRecord
from dosimeter.adaptive.odometers.reading import STOPPED_RUN
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import DiscreteGaussian, Event, Gaussian, Laplace
from dosimeter.ledger import Ledger, RefusedRequest, Request, Reserved, pricing
from dosimeter.notions import MenuPrice
from dosimeter.session.defaults import odometers_for
from dosimeter.stores import MemoryStore

MENU = Menu((Offer(Gaussian(50), 1), Offer(Laplace(20), 6)))
RULE = MenuFilter("1", "1e-6", MENU)


def request(name: str, event: Event) -> Request:
    """A question with this event."""
    return Request(name, event, RELATION, "ab12", f"question {name}")


def test_an_account_with_a_menu_lives_in_every_store(ledger: Ledger) -> None:
    """Opened, charged, refused, charged less, stated, found again, and audited."""
    account = open_account(ledger, filter=RULE)
    for number in range(22):
        outcome = ledger.reserve(account, request(f"q{number}", Laplace(20)))
        assert isinstance(outcome, Reserved)
        ledger.settle(outcome, number)
    refused = ledger.reserve(account, request("too much", Laplace(20)))
    assert isinstance(refused, RefusedRequest)
    assert ledger.balance(account).remaining == {"units": "5"}
    assert isinstance(ledger.reserve(account, request("less", Gaussian(25))), Reserved)  # four runs of the entry
    made = ledger.statement(account)
    assert [entry.charge for entry in made.entries[-2:]] == ["units 6", "units 4"]
    assert made.spent == {"units": "136"}
    assert made.guarantee == RULE.guarantee()
    with pytest.raises(NoGuaranteeError, match="menu"):
        ledger.reserve(account, request("not there", DiscreteGaussian(500)))
    again = Ledger(ledger.store).account(account.id)
    assert again.filter == RULE
    assert ledger.audit(account).ok


FORGED: dict[str, Any] = {
    "a unit too many": MenuFilter("1", "1e-6", MENU, 138, "9.9e-7", trusted=True),
    "a value too small": MenuFilter("1", "1e-6", MENU, 137, "9e-7", trusted=True),
    "an epsilon too small": MenuFilter("0.9", "1e-6", MENU, 137, RULE.value, trusted=True),
    "an entry too cheap": MenuFilter(
        "1", "1e-6", Menu((Offer(Gaussian(50), 1), Offer(Laplace(20), 3))), 137, RULE.value, trusted=True
    ),
    "an entry with less noise": MenuFilter(
        "1", "1e-6", Menu((Offer(Gaussian(40), 1), Offer(Laplace(20), 6))), 137, RULE.value, trusted=True
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_certificate_opens_nothing_and_is_found_by_the_audit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No account opens under it; one that was written past the door is found, though its chain is intact."""
    forged, book = FORGED[name], Ledger(MemoryStore())
    for rule in (forged, filter_from_json(forged.to_json())):
        with pytest.raises(InputError):
            open_account(book, filter=rule)
    assert not book.accounts()
    with monkeypatch.context() as door:
        door.setattr(pricing, "verify", lambda rule: None)
        account = open_account(book, filter=forged)
        assert isinstance(book.reserve(account, request("q", Laplace(20))), Reserved)
    report = book.audit(account)
    assert not report.ok
    assert "worst case" in report.message()


def test_an_honest_certificate_is_found_good_the_same_way() -> None:
    """The control of the test above."""
    book = Ledger(MemoryStore())
    account = open_account(book, filter=filter_from_json(RULE.to_json()))
    assert isinstance(book.reserve(account, request("q", Laplace(20))), Reserved)
    assert book.audit(account).ok


def test_units_that_an_event_does_not_cost_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge of fewer units than the event costs is found by the audit."""
    book = Ledger(MemoryStore())
    account = open_account(book, filter=RULE)
    with monkeypatch.context() as door:
        door.setattr("dosimeter.accounting.tables.menu.charge", lambda parts, rule: MenuPrice.of(1, "0.002"))
        pricing._charge.cache_clear()
        assert isinstance(book.reserve(account, request("q", Laplace(20))), Reserved)
    pricing._charge.cache_clear()
    assert "below the price" in book.audit(account).message()


def test_a_computed_odometer_of_the_same_menu_reads_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts the same units; one of another menu, or of fewer units, is refused and found by the audit."""
    rule = MenuFilter.of("1", "1e-6", [Gaussian(30)])
    own = MenuOdometer.computed(delta="1e-6", menu=rule.menu, budget=rule.units)
    book = Ledger(MemoryStore())
    account = open_account(book, filter=rule, odometers=(own,))
    for number in range(3):
        assert isinstance(book.reserve(account, request(f"q{number}", Gaussian(60))), Reserved)
    (reading,) = book.balance(account).readings
    assert (reading.bound, reading.semantics) == (own.bound(MenuRecord(3)), STOPPED_RUN)
    (mixture,) = odometers_for(rule)
    full = rule.admit(rule.start(), loss_for(Gaussian(30), rule), rule.units)
    assert isinstance(full, Admitted)
    assert own.bound(full.state) < mixture.bound(full.state)
    assert book.audit(account).ok
    other = Menu((Offer(Gaussian(20), 1),), rule.menu.step)
    for wrong in (
        MenuOdometer.computed(delta="1e-6", menu=other, budget=rule.units),
        MenuOdometer.computed(delta="1e-6", menu=rule.menu, budget=rule.units - 1),
    ):
        for refusing in (rule, PureFilter("1")):
            with pytest.raises(InputError):
                open_account(Ledger(MemoryStore()), filter=refusing, odometers=(wrong,))
        book = Ledger(MemoryStore())
        with monkeypatch.context() as door:
            door.setattr(pricing, "require_reads", lambda odometer, rule: None)
            account = open_account(book, filter=rule, odometers=(wrong,))
        assert not book.audit(account).ok


def test_two_accounts_with_the_same_menu_do_not_mix() -> None:
    """Each data set has its own units."""
    book = Ledger(MemoryStore())
    mine = open_account(book, filter=RULE)
    theirs = open_account(book, identity=DatasetIdentity("others", "77aa"), filter=RULE)
    assert isinstance(book.reserve(mine, request("q", Laplace(20))), Reserved)
    assert (book.balance(mine).spent, book.balance(theirs).spent) == ({"units": "6"}, {"units": "0"})
