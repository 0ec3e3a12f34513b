"""Short words for the ledger's tests: an account with a pure budget, declared charges, a clock that can be set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from dosimeter.adaptive.filters import PureFilter
from dosimeter.events import Declared
from dosimeter.ledger import Account, DatasetIdentity, Ledger, Replayed, Request, Reserved
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.notions import PureDP

RELATION = NeighbouringRelation.ADD_REMOVE
PEOPLE = DatasetIdentity("people", "5f2b")


def open_account(ledger: Ledger, cap: Any = "1.0", identity: DatasetIdentity = PEOPLE, **changes: Any) -> Account:
    """An account under a pure filter with budget `cap`; keywords override any term."""
    terms = {"unit": PrivacyUnit(), "relation": RELATION, "filter": PureFilter(cap), "opened_by": "steward"}
    return ledger.open(identity, **{**terms, **changes})


def charge(amount: Any) -> Declared:
    """An event that costs exactly `amount`."""
    return Declared(PureDP(amount), "a mechanism of a test")


def ask(name: str, amount: Any = "0.1", **changes: Any) -> Request:
    """A request that costs exactly `amount`."""
    parts = {"relation": RELATION, "body_digest": "ab12", "description": f"question {name}"}
    return Request(id=name, event=charge(amount), **{**parts, **changes})


def answered(ledger: Ledger, account: Account, name: str, amount: Any = "0.1", answer: Any = 1.5) -> Any:
    """Reserve and settle; the released answer."""
    outcome = ledger.reserve(account, ask(name, amount))
    if isinstance(outcome, Replayed):
        return outcome.answer
    assert isinstance(outcome, Reserved), f"{name} was refused"
    return ledger.settle(outcome, answer).answer


def spent(ledger: Ledger, account: Account) -> str:
    """The epsilon that the current epoch has used."""
    return ledger.balance(account).spent["epsilon"]


class SetClock:
    """A clock that a test sets, also backwards."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        """Move the clock by hours=, days=, ...; negative is back."""
        self.now += timedelta(**by)
