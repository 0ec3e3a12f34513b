"""A store that fails around its commits: a charge is kept or never made, never doubled, never lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.ledger.ledger_world import PEOPLE, answered, ask, open_account, spent

from dosimeter.errors import CommitUnknown, LedgerUnavailable, RequestConflict, Undone
from dosimeter.ledger import DatasetIdentity, Ledger, Replayed, Reserved, ReservedTogether
from dosimeter.ledger.attempts import in_one_transaction
from dosimeter.ledger.store import Store

FAULTS = ("undone at begin", "undone inside", "undone at commit", "unknown but kept", "unknown and lost")


class Failing:
    """A store around another one, with a list of what goes wrong in the next writing transactions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.script: list[str] = []
        self.tried = 0

    def key(self) -> Any:
        return self._store.key()

    def read(self) -> Any:
        return self._store.read()

    def close(self) -> None:
        self._store.close()

    @contextmanager
    def write(self) -> Iterator[Any]:
        self.tried += 1
        fault = self.script.pop(0) if self.script else ""
        if fault == "undone at begin":
            raise Undone("as if the connection had been lost")
        if fault == "down":
            raise LedgerUnavailable("as if nobody listened")
        try:
            with self._store.write() as tx:
                yield tx
                if fault in {"undone inside", "undone at commit"}:
                    raise Undone("as if there had been a deadlock")
                if fault == "unknown and lost":
                    {}["an exception undoes it"]
        except KeyError:
            raise CommitUnknown("as if the connection had been lost") from None
        if fault == "unknown but kept":
            raise CommitUnknown("as if the connection had been lost")


@pytest.fixture
def failing(store: Store) -> Failing:
    """Each store, made to fail."""
    return Failing(store)


@pytest.fixture
def ledger(failing: Failing, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A ledger on it that does not pause."""
    monkeypatch.setattr("dosimeter.ledger.attempts._SHORTEST", 0.0)
    return Ledger(failing)  # type: ignore[arg-type]


def verbs(ledger: Ledger, account: Any) -> dict[str, Callable[[], Any]]:
    """Every writing verb, each once."""
    held = ledger.reserve(account, ask("to settle"))
    voided = ledger.reserve(account, ask("to void"))
    other = open_account(ledger, identity=DatasetIdentity("other", "0f"))
    assert isinstance(held, Reserved)
    assert isinstance(voided, Reserved)
    new = DatasetIdentity("people", "new content")
    return {
        "open": lambda: open_account(ledger, identity=DatasetIdentity("third", "03")),
        "reserve": lambda: ledger.reserve(account, ask("new", "0.2")),
        "reserve_batch": lambda: ledger.reserve_batch(account, [ask("b1", "0.1"), ask("b2", "0.1")]),
        "reserve_all": lambda: ledger.reserve_all([(account, ask("both")), (other, ask("both"))]),
        "settle": lambda: ledger.settle(held, 7),
        "settle_batch": lambda: ledger.settle_batch([(held, 7)]),
        "void": lambda: ledger.void(voided, reason="no rows", by="test"),
        "accept": lambda: ledger.accept_data_change(account, new, reason="new rows", authorised_by="Ada"),
        "reset": lambda: ledger.reset(account, reason="another study", authorised_by="Ada"),
    }


VERBS = ("open", "reserve", "reserve_batch", "reserve_all", "settle", "settle_batch", "void", "accept", "reset")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_verb_happens_once_whatever_the_store_says(failing: Failing, ledger: Ledger, verb: str, fault: str) -> None:
    """Undone or unknown: the verb returns what it would have returned, and its records stand there once."""
    account = open_account(ledger, "1")
    act = verbs(ledger, account)[verb]
    before = {a.id: ledger.statement(a).records for a in ledger.accounts()}
    failing.script = [fault]
    failing.tried = 0
    done = act()
    assert failing.tried == 2
    after = {a.id: ledger.statement(a).records for a in ledger.accounts()}
    added = sum(after.values()) - sum(before.values())
    assert added == {"reserve_batch": 2, "reserve_all": 2}.get(verb, 1)
    if verb == "reserve":
        assert isinstance(done, Reserved)
        assert done.void_token is not None  # the first holder, not somebody who took over
        assert spent(ledger, account) == "0.4"
    if verb == "settle":
        assert done.first
    if verb == "reset":
        assert done.epoch == 2
    if verb == "reserve_all":
        assert isinstance(done, ReservedTogether)
    for one in ledger.accounts():
        report = ledger.audit(one)
        assert report.ok, report.message()


@pytest.mark.parametrize("script", [["unknown but kept", "undone at begin"], ["unknown and lost", "unknown but kept"]])
def test_faults_one_after_the_other(failing: Failing, ledger: Ledger, script: list[str]) -> None:
    """The look-up itself may fail; what was in doubt stays in doubt until it was looked up."""
    account = open_account(ledger)
    failing.script = [*script, "down", "undone inside"]
    outcome = ledger.reserve(account, ask("q", "0.3"))
    assert isinstance(outcome, Reserved)
    assert not outcome.taken_over
    assert spent(ledger, account) == "0.3"
    assert ledger.statement(account).records == 2


def test_a_voided_token_still_works_after_a_lost_commit(failing: Failing, ledger: Ledger) -> None:
    """Whoever reserved through a lost commit is the first holder and may give the charge back."""
    account = open_account(ledger)
    failing.script = ["unknown but kept"]
    held = ledger.reserve(account, ask("q", "0.3"))
    assert isinstance(held, Reserved)
    ledger.void(held, reason="no rows", by="test")
    assert spent(ledger, account) == "0"


def test_somebody_else_may_write_between_the_doubt_and_the_look_up(failing: Failing, ledger: Ledger) -> None:
    """The lost record's place is taken by another one: the charge is made anew, once, behind it."""
    account = open_account(ledger)
    elsewhere = Ledger(failing._store)
    failing.script = ["unknown and lost"]
    failing_write = failing.write

    @contextmanager
    def write() -> Iterator[Any]:
        if failing.tried == 1 and not failing.script:
            answered(elsewhere, account, "theirs", "0.1")
        with failing_write() as tx:
            yield tx

    failing.tried, failing.write = 0, write  # type: ignore[method-assign]
    assert isinstance(ledger.reserve(account, ask("ours", "0.2")), Reserved)
    assert spent(ledger, account) == "0.3"
    assert [e.request_id for e in ledger.statement(account).entries] == ["theirs", "ours"]


def test_time_runs_out_with_the_question_open(failing: Failing) -> None:
    """The error says that it is not known; the same request asked later is charged once and answered."""
    ledger = Ledger(failing, retry_seconds_max=0)  # type: ignore[arg-type]
    account = open_account(ledger)
    for fault in ("unknown but kept", "unknown and lost"):
        failing.script = [fault]
        with pytest.raises(CommitUnknown):
            ledger.reserve(account, ask(fault, "0.2"))
        outcome = ledger.reserve(account, ask(fault, "0.2"))
        assert isinstance(outcome, Reserved)
        assert outcome.taken_over == (fault == "unknown but kept")
    assert spent(ledger, account) == "0.4"


def test_the_last_word_is_about_the_doubt(failing: Failing, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the server stays away after a lost commit, the error is that the outcome is unknown, not that it is away."""
    ledger = Ledger(failing, retry_seconds_max=0.05)  # type: ignore[arg-type]
    account = open_account(ledger)
    failing.script = ["unknown but kept", *["down"] * 1000]
    with pytest.raises(CommitUnknown):
        ledger.reserve(account, ask("q"))
    failing.script = ["undone inside", *["down"] * 1000]
    with pytest.raises(LedgerUnavailable) as away:
        ledger.reserve(account, ask("r"))
    assert not isinstance(away.value, CommitUnknown)


def test_a_store_that_is_down_is_not_waited_for(failing: Failing, ledger: Ledger) -> None:
    """Only a transaction that had begun is tried again: who asks a server that is not there is told at once."""
    account = open_account(ledger)
    failing.script, failing.tried = ["down"], 0
    with pytest.raises(LedgerUnavailable):
        ledger.reserve(account, ask("q"))
    assert failing.tried == 1


def test_errors_of_the_rules_are_not_tried_again(failing: Failing, ledger: Ledger) -> None:
    """A conflict is a conflict."""
    account = open_account(ledger)
    answered(ledger, account, "q", "0.1")
    failing.tried = 0
    with pytest.raises(RequestConflict):
        ledger.reserve(account, ask("q", "0.2"))
    assert failing.tried == 1


def test_a_replay_needs_no_commit(failing: Failing, ledger: Ledger) -> None:
    """Nothing was written, so a connection that broke at its end changes nothing."""
    account = open_account(ledger)
    answered(ledger, account, "q", answer=4)
    failing.script, failing.tried = ["unknown and lost"], 0
    outcome = ledger.reserve(account, ask("q"))
    assert isinstance(outcome, Replayed)
    assert outcome.answer == 4
    assert failing.tried == 1


def test_without_the_look_up_a_lost_commit_would_double_an_epoch(failing: Failing, ledger: Ledger) -> None:
    """A control: plain repetition opens two epochs, which is why it is not done."""
    account = open_account(ledger)

    def plainly(verb: Callable[[], Any]) -> Any:
        try:
            return verb()
        except CommitUnknown:
            return verb()

    careless = Ledger(failing, retry_seconds_max=0)  # type: ignore[arg-type]
    failing.script = ["unknown but kept"]
    doubled = plainly(lambda: careless.reset(account, reason="another study", authorised_by="Ada"))
    assert doubled.epoch == 3
    failing.script = ["unknown but kept"]
    assert ledger.reset(account, reason="another study", authorised_by="Ada").epoch == 4


def test_what_is_retried_is_told_to_the_watch(store: Store) -> None:
    """Each failure once, with its kind."""
    failing, seen = Failing(store), []
    failing.script = ["undone inside", "unknown but kept"]
    identity_account = Ledger(store)
    open_account(identity_account, identity=PEOPLE)
    in_one_transaction(
        failing,  # type: ignore[arg-type]
        lambda tx: None,
        seconds_max=5,
        pause=lambda _: None,
        retried=lambda error: seen.append(type(error)),
    )
    assert seen == [Undone]
