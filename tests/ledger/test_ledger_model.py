"""A ledger against a model that shares no code with it, under sequences that Hypothesis invents."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.ledger.ledger_world import SetClock, ask, charge, open_account

from dosimeter.errors import LedgerError, RequestConflict
from dosimeter.ledger import Ledger, RefusedRequest, Replayed, Reserved
from dosimeter.stores import MemoryStore

CAP = Fraction(1)
AMOUNTS = st.sampled_from(["0.1", "0.25", "0.3", "1e-9", "0.75", "1.5"])


class Model(RuleBasedStateMachine):
    """Requests by name: what they cost, where they stand, which epoch they were charged to, and who may void them."""

    @initialize()
    def open(self) -> None:
        """An empty account and an empty model of it."""
        self.time = SetClock()
        self.store = MemoryStore()
        self.ledger = Ledger(self.store, self.time)
        self.account = open_account(self.ledger, "1")
        self.amount: dict[str, str] = {}
        self.status: dict[str, str] = {}
        self.epoch_of: dict[str, int] = {}
        self.answer: dict[str, Any] = {}
        self.holder: dict[str, Reserved] = {}  # the live first holder
        self.handles: dict[str, list[Reserved]] = {}  # everybody who was ever told to go on
        self.epoch = 1
        self.drawn = 0

    def used(self, epoch: int) -> Fraction:
        """What the model says an epoch has used."""
        standing = [n for n, s in self.status.items() if s in {"reserved", "settled"} and self.epoch_of[n] == epoch]
        return sum((Fraction(self.amount[n]) for n in standing), Fraction(0))

    @rule(amount=AMOUNTS)
    def ask_anew(self, amount: str) -> None:
        """A request that nobody made before."""
        self.decide(self.ledger, f"q{len(self.amount)}", amount)

    @precondition(lambda self: self.amount)
    @rule(data=st.data(), elsewhere=st.booleans())
    def ask_again(self, data: st.DataObject, elsewhere: bool) -> None:
        """The same request, from this ledger object or from another one on the same store."""
        name = data.draw(st.sampled_from(sorted(self.amount)))
        self.decide(Ledger(self.store, self.time) if elsewhere else self.ledger, name, self.amount[name])

    @precondition(lambda self: self.amount)
    @rule(data=st.data())
    def clash(self, data: st.DataObject) -> None:
        """A used id with another body."""
        name = data.draw(st.sampled_from(sorted(self.amount)))
        with pytest.raises(RequestConflict):
            self.ledger.reserve(self.account, ask(name, "0.123"))

    def decide(self, ledger: Ledger, name: str, amount: str) -> None:
        """Reserve, and compare with what the model expects."""
        outcome = ledger.reserve(self.account, ask(name, amount))
        self.amount[name] = amount
        before = self.status.get(name)
        if before == "settled":
            assert isinstance(outcome, Replayed)
            assert outcome.answer == self.answer[name]
        elif before == "reserved":
            assert isinstance(outcome, Reserved)
            assert outcome.taken_over
            assert outcome.void_token is None
            self.holder.pop(name, None)
            self.handles[name].append(outcome)
        elif self.used(self.epoch) + Fraction(amount) <= CAP:
            assert isinstance(outcome, Reserved)
            assert not outcome.taken_over
            self.status[name], self.epoch_of[name] = "reserved", self.epoch
            self.holder[name], self.handles[name] = outcome, [outcome]
        else:
            assert isinstance(outcome, RefusedRequest)
            self.status[name] = "refused"

    @precondition(lambda self: any(self.handles.values()))
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Anybody who was told to go on settles what they drew."""
        name = data.draw(st.sampled_from(sorted(self.handles)))
        handle = data.draw(st.sampled_from(self.handles[name]))
        self.drawn += 1
        settled = self.ledger.settle(handle, self.drawn)
        if self.status[name] == "settled":
            assert not settled.first
            assert settled.answer == self.answer[name]
        else:
            assert settled.first
            self.status[name], self.answer[name] = "settled", self.drawn

    @precondition(lambda self: any(self.handles.values()))
    @rule(data=st.data())
    def void(self, data: st.DataObject) -> None:
        """Anybody who was told to go on tries to give the charge back; only the live first holder can."""
        name = data.draw(st.sampled_from(sorted(self.handles)))
        handle = data.draw(st.sampled_from(self.handles[name]))
        allowed = (
            self.status[name] == "reserved" and self.holder.get(name) is handle and self.epoch_of[name] == self.epoch
        )
        try:
            self.ledger.void(handle, reason="no rows were touched", by="model")
        except LedgerError:
            assert not allowed
            return
        assert allowed
        self.status[name] = "voided"
        del self.holder[name], self.handles[name]

    @precondition(lambda self: self.epoch < 4)
    @rule()
    def reset(self) -> None:
        """A steward opens the next epoch."""
        self.account = self.ledger.reset(self.account, reason="another study", authorised_by="model")
        self.epoch += 1

    @rule(amount=AMOUNTS)
    def quote(self, amount: str) -> None:
        """A quote says what a new request would be told."""
        fits = self.ledger.quote(self.account, charge(amount), self.account.relation).fits
        assert fits == (self.used(self.epoch) + Fraction(amount) <= CAP)

    @rule(hours=st.integers(-10_000, 10_000))
    def time_passes(self, hours: int) -> None:
        """In either direction."""
        self.time.move(hours=hours)

    @invariant()
    def totals_agree_and_nothing_is_overspent(self) -> None:
        """The stored state is the fold of the charges that stand, in every epoch, and never beyond the cap."""
        if not hasattr(self, "ledger"):
            return
        statement = self.ledger.statement(self.account)
        for epoch in statement.epochs:
            total = Fraction(epoch.spent["epsilon"])
            assert total == self.used(epoch.number)
            assert total <= CAP
        assert statement.account.epoch == self.epoch == len(statement.epochs)
        open_ones = {name for name, status in self.status.items() if status == "reserved"}
        assert {orphan.request_id for orphan in self.ledger.orphans(self.account)} == open_ones

    def teardown(self) -> None:
        """The records that are left prove all of it."""
        if hasattr(self, "ledger"):
            report = self.ledger.audit(self.account)
            assert report.ok, report.message()


Model.TestCase.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestLedgerAgainstTheModel = Model.TestCase
