"""What must be true, judged by a model that shares no code with the ledger: it reads records and adds fractions.

never overspent                    the charges that stand add up to no more than the budget, in every epoch
no answer without a charge         rows are touched and answers shown only under a charge that stands on record
one noise draw per request         once answered, nobody is told to draw again; everybody is shown one answer
a retry replays the same bytes     what is shown for a request is what was stored first
re-fold equals stored state        the stored state is the sum of the charges that stand
refused requests change nothing    the state after a refusal, or after an error, is the state before
history only grows                 what was on record stays, to the last byte
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

from dosimeter.ledger.record import Head, Record
from dosimeter.ledger.store import Store


class Violation(Exception):  # not an AssertionError: nothing may mistake it for one of its own
    """A promise was broken; the first word says which."""


@cache
def units(amount: str) -> int:
    """An amount as a whole number of 1e-12, exactly: the model adds nothing but whole numbers."""
    scaled = Fraction(amount) * 10**12
    need(scaled.denominator == 1, "unexpected", f"an amount of {amount}")
    return int(scaled)


def need(holds: bool, promise: str, what: str = "") -> None:
    """Raise a Violation of the promise unless it holds."""
    if not holds:
        raise Violation(f"{promise}: {what}")


@dataclass
class Account:
    """What the model knows about an account. `quantity` is what its events spend, such as epsilon."""

    id: str
    cap: int
    quantity: str
    seen: list[Record] = field(default_factory=list)
    standing: dict[int, tuple[int, int, str]] = field(default_factory=dict)  # seq -> epoch, amount, request
    asked: dict[str, str] = field(default_factory=dict)  # request -> amount as text
    answers: dict[str, str] = field(default_factory=dict)  # request -> what was settled, as text
    shown: dict[str, str] = field(default_factory=dict)  # request -> what clients were shown
    draws: dict[str, list[int]] = field(default_factory=dict)
    epoch: int = 1
    head: Head | None = None

    def used(self, epoch: int) -> int:
        """The sum of the charges of an epoch that stand."""
        return sum(amount for at, amount, _ in self.standing.values() if at == epoch)

    def voided(self, request: str) -> int:
        """How often a charge of the request was given back."""
        return sum(record.kind == "voided" and record.request_id == request for record in self.seen)

    def charge_of(self, request: str) -> int | None:
        """The record of the request's charge that stands."""
        return next((seq for seq, (_, _, name) in self.standing.items() if name == request), None)


class Checkers:
    """Watches a store behind the clients' backs."""

    def __init__(self, store: Store, accounts: list[Account]) -> None:
        self.store = store
        self.accounts = {account.id: account for account in accounts}

    def look(self, *, everything: bool = False) -> None:
        """Fold what is new into the model, and compare with the stored state; where no head moved, nothing is new."""
        with self.store.read() as view:
            heads = {account.id: view.head(account.id) for account in self.accounts.values()}
            moved = [a for a in self.accounts.values() if everything or heads[a.id] != a.head]
            facts = [(account, view.records(account.id), heads[account.id]) for account in moved]
        for account, records, head in facts:
            old = account.seen
            need(list(records[: len(old)]) == old, "history only grows", f"record {len(old)} was changed or is gone")
            for record in records[len(old) :]:
                self._fold(account, record)
            account.seen, account.head = list(records), head
            if head is None or head.seq != len(records):
                raise Violation("history only grows: the head is elsewhere")
            for epoch in range(1, account.epoch + 1):
                used = account.used(epoch)
                need(used <= account.cap, "never overspent", f"{used} of {account.cap} in epoch {epoch}")
            stored = units(str(_find(json.loads(head.state), account.quantity)))
            need(stored == account.used(account.epoch), "re-fold equals stored state", f"{stored} is stored")

    def _fold(self, account: Account, record: Record) -> None:
        body, request, about = json.loads(record.body), str(record.request_id), record.refers_to or 0
        match record.kind:
            case "reserved":
                amount = units(body["loss"][account.quantity])
                need(account.charge_of(request) is None, "one noise draw per request", f"{request} is charged twice")
                need(request not in account.answers, "one noise draw per request", f"{request} was answered before")
                need(amount == units(account.asked[request]), "no answer without a charge", "another amount")
                account.standing[record.seq] = (record.epoch, amount, request)
            case "voided":
                _, _, voided = account.standing.pop(about)
                need(voided == request, "no answer without a charge", "a void of another request's charge")
                need(request not in account.answers, "no answer without a charge", f"{request} was answered")
            case "settled":
                need(about in account.standing, "no answer without a charge", f"{request} was answered uncharged")
                need(request not in account.answers, "a retry replays the same bytes", f"{request} has two answers")
                account.answers[request] = json.dumps(body["answer"], sort_keys=True)
            case "reset":
                account.epoch = record.epoch

    # -- what clients do ---------------------------------------------------------------------------------------------

    def told_to_go_on(self, account_id: str, request: str, answered_before: bool) -> None:
        """A client holds a reservation and is about to touch rows and draw noise."""
        account = self.accounts[account_id]
        self.look()
        need(account.charge_of(request) is not None, "no answer without a charge", f"{request}: rows are touched")
        need(not answered_before, "one noise draw per request", f"{request} was answered and is drawn again")

    def drew(self, account_id: str, request: str, value: int) -> None:
        """A client has drawn noise."""
        self.accounts[account_id].draws.setdefault(request, []).append(value)

    def shown(self, account_id: str, request: str, answer: Any) -> None:
        """A client shows an answer to somebody."""
        account = self.accounts[account_id]
        self.look()
        shown = json.dumps(answer, sort_keys=True)
        need(account.charge_of(request) is not None, "no answer without a charge", f"{request} is shown")
        need(account.answers.get(request) == shown, "a retry replays the same bytes", f"{request}: not what is stored")
        need(account.shown.setdefault(request, shown) == shown, "a retry replays the same bytes", f"{request} differs")
        need(answer["drawn"] in account.draws.get(request, []), "one noise draw per request", "nobody drew this")

    def answered(self, account_id: str, request: str) -> bool:
        """Whether the request has an answer on record now."""
        self.look()
        return request in self.accounts[account_id].answers

    def position(self) -> dict[str, int]:
        """How many records each account has."""
        self.look()
        return {account.id: len(account.seen) for account in self.accounts.values()}


def _find(state: Any, quantity: str) -> Any:
    """The amount under the quantity's name in a state's JSON, however the filter nests it."""
    if isinstance(state, dict):
        if quantity in state and isinstance(state[quantity], str):
            return state[quantity]
        for value in state.values():
            if (found := _find(value, quantity)) is not None:
                return found
    return None
