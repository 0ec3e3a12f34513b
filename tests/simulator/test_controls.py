"""Ledgers, stores and clients that are broken on purpose: the checkers must catch each of them, by the right name.

A simulator that finds nothing proves nothing unless it is known to find what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from tests.simulator.backends import Memory
from tests.simulator.clients import Client, Task, request_of
from tests.simulator.world import Failed, simulate

from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import PureFilter
from dosimeter.errors import LedgerUnavailable
from dosimeter.ledger import rules
from dosimeter.ledger.record import Draft, Kind, LedgerKey
from dosimeter.ledger.request import Reserved, Settled
from dosimeter.ledger.store import Store

SEEDS = 60
ALL = ("refused requests change nothing", "a retry replays the same bytes", "history only grows", "unexpected")


def caught(promise: str, *also: str, **options: Any) -> None:
    """Some seed breaks this promise; until then none breaks in another way than `also`."""
    for seed in range(SEEDS):
        said = _failure(seed, options)
        if f": {promise}" in said:
            return
        assert not said or any(f": {other}" in said for other in also), said
    pytest.fail(f"no seed noticed: {promise}")


def _failure(seed: int, options: dict[str, Any]) -> str:
    try:
        simulate(seed, Memory, "memory", **options)
    except Failed as failed:
        return str(failed).partition("\n")[0]
    return ""


class Wrapped:
    """A store with one thing wrong."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def key(self) -> LedgerKey:
        """As it is."""
        return self.inner.key()

    def close(self) -> None:
        """As it is."""

    def read(self) -> Any:
        """As it is."""
        return self.inner.read()

    def write(self) -> Any:
        """As it is."""
        return self.inner.write()


class _Tx:
    """A transaction that answers some verbs itself."""

    def __init__(self, tx: Any, **answers: Callable[..., Any]) -> None:
        self._tx, self._answers = tx, answers

    def __getattr__(self, name: str) -> Any:
        return self._answers.get(name) or getattr(self._tx, name)


class Forgetful(Wrapped):
    """It does not find earlier records of a request, so the ledger takes each retry for a new request."""

    @contextmanager
    def write(self) -> Iterator[Any]:
        """No request was ever made before."""
        with self.inner.write() as tx:
            yield _Tx(tx, history=lambda *_: [], histories=lambda *_: [])


class Lossy(Wrapped):
    """It says that it kept a transaction, and sometimes it did not: a disk that lies about its cache."""

    count = 0

    @contextmanager
    def write(self) -> Iterator[Any]:
        """Every seventh is lost."""
        Lossy.count += 1
        with suppress(EOFError), self.inner.write() as tx:
            yield tx
            _lose(Lossy.count % 7 == 0)


def _lose(now: bool) -> None:
    if now:
        raise EOFError


def test_control_a_store_that_forgets_requests_is_caught() -> None:
    """Without the idempotence check a retry is charged again."""
    caught("one noise draw per request", *ALL, wrap=Forgetful)


def test_control_a_store_that_loses_commits_is_caught() -> None:
    """Rows are touched for a charge that is not there."""
    caught(
        "no answer without a charge", "LedgerCorrupt", *ALL, wrap=Lossy
    )  # the ledger itself notices too, where it can


class AnswersFirst(Client):
    """Run first, charge afterwards, as a peer does it."""

    def _reserve(self, task: Task) -> None:
        if task.drawn is None:
            task.drawn = self.world.draw()
            self.world.checkers.drew(task.account.id, task.name, task.drawn)
            self.world.checkers.shown(task.account.id, task.name, {"drawn": task.drawn, "by": self.number})
        super()._reserve(task)


def test_control_a_client_that_charges_after_the_answer_is_caught() -> None:
    """The answer is out before the charge."""
    caught("no answer without a charge", client=AnswersFirst)


class FailsOpen(Client):
    """When the ledger does not answer, it goes on without one."""

    def _reserve(self, task: Task) -> None:
        try:
            super()._reserve(task)
        except LedgerUnavailable:
            task.handle = Reserved(task.account.id, 2, task.name, request_of(task.account, task.name, "1").event.loss)  # type: ignore[attr-defined]
            self._draw(task)


def test_control_a_client_that_goes_on_without_its_ledger_is_caught() -> None:
    """It touches rows that nobody paid for."""
    caught("no answer without a charge", client=FailsOpen)


class ShowsItsOwn(Client):
    """It shows the noise it drew itself instead of the answer that the ledger kept."""

    def _settle(self, task: Task) -> None:
        if task.handle is not None:
            self.ledger.settle(task.handle, {"drawn": task.drawn, "by": self.number})
            self.world.checkers.shown(task.account.id, task.name, {"drawn": task.drawn, "by": self.number})
        self.task = None


def test_control_a_client_that_shows_its_own_draw_is_caught() -> None:
    """Two attempts at one request show two answers."""
    caught("a retry replays the same bytes", client=ShowsItsOwn)


def test_control_a_filter_that_admits_everything_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model adds up more than the budget."""
    admit = PureFilter.admit

    def generous(self: PureFilter, state: Any, loss: Any) -> Any:
        return admit(replace(self, epsilon=self.epsilon * 1000), state, loss)

    monkeypatch.setattr(PureFilter, "admit", generous)
    caught("never overspent")


def test_control_a_filter_that_charges_too_little_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored state is not the sum of the charges."""
    admit = PureFilter.admit

    def forgets(self: PureFilter, state: Any, loss: Any) -> Any:
        decision = admit(self, state, loss)
        return Admitted(state) if isinstance(decision, Admitted) and str(loss.epsilon) == "0.3" else decision

    monkeypatch.setattr(PureFilter, "admit", forgets)
    caught("re-fold equals stored state")


def test_control_a_ledger_whose_last_answer_wins_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second attempt replaces what was shown."""

    def last_wins(account_id: str, history: Any, entry: int, request_id: str, answer: Any, answer_text: str) -> Any:
        draft = Draft(Kind.SETTLED, f'{{"answer":{answer_text}}}', request_id, entry)
        return draft, Settled(account_id, entry, request_id, answer, first=True)

    monkeypatch.setattr(rules, "settle", last_wins)
    caught("a retry replays the same bytes")


def test_control_a_ledger_where_anybody_voids_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge is given back although its rows were touched, or its answer shown."""

    def void(account: Any, head: Any, history: Any, reserved: Any, reason: str, by: str, records: Any) -> Draft:
        losses = rules.standing_charges(records, head.epoch, without=reserved.entry)
        state = rules.canonical(account.filter.state_to_json(rules.refold(account.filter, losses)))
        return Draft(Kind.VOIDED, f'{{"state":{state}}}', reserved.request_id, reserved.entry, state=state)

    monkeypatch.setattr(rules, "void", void)

    class Greedy(Client):
        """It gives back what it has drawn for."""

        def _settle(self, task: Task) -> None:
            if task.handle is not None and task.handle.void_token is not None:
                self.ledger.void(task.handle, reason="mine", by="greedy")
                self.world.checkers.shown(task.account.id, task.name, {"drawn": task.drawn, "by": self.number})
            super()._settle(task)

    caught("no answer without a charge", client=Greedy)


def test_control_a_ledger_that_trusts_older_copies_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that had seen more charges the copy that was put back."""
    from dosimeter.ledger.desk import Desk

    monkeypatch.setattr(Desk, "saw_up_to", lambda *_: None)
    caught("history only grows", "unexpected")


def test_without_a_defect_the_same_seeds_break_nothing() -> None:
    """The control of the controls."""
    for seed in range(SEEDS):
        simulate(seed, Memory, "memory", wrap=Wrapped)
