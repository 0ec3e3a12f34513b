"""What every verb of the ledger needs: finding accounts, reading heads, adding records, one transaction at a time.

A desk remembers only what cannot change (an account's terms), what is checked against the store's text on every use
(a parsed state), and how far each account had come, so that a store that goes back is noticed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dosimeter.errors import AccountNotFound, DosimeterError, InputError, LedgerCorrupt, LedgerUnavailable
from dosimeter.exact import show
from dosimeter.ledger import rules, texts
from dosimeter.ledger.account import Account, account_from_json
from dosimeter.ledger.attempts import in_one_transaction
from dosimeter.ledger.clock import Clock, stamp
from dosimeter.ledger.record import Draft, Head, Kind, Record, link, sealed
from dosimeter.ledger.store import Reading, Store, Writing
from dosimeter.ledger.watch import Watch

T = TypeVar("T")


class Desk:
    """The store, the clock, and the caches that are safe."""

    def __init__(self, store: Store, clock: Clock, retry_seconds_max: float, watch: Watch) -> None:
        self.store = store
        self.clock = clock
        self.key = store.key()
        self.watch = watch
        self.accounts: dict[str, Account] = {}  # terms never change, so they are read once
        self._retry = retry_seconds_max
        self._states: dict[str, tuple[str, Any]] = {}  # the last state read from each account's text, to read it once
        self._seen: dict[str, int] = {}  # the furthest record seen

    def write(self, verb: str, work: Callable[[Writing], T]) -> T:
        """Run `work` in one transaction that is kept exactly once; see `in_one_transaction`."""
        began = time.perf_counter()
        try:
            done = in_one_transaction(
                self.store, work, seconds_max=self._retry, retried=lambda error: self.watch.retried(verb, error)
            )
        except LedgerUnavailable as error:
            self.watch.failed(verb, error)
            raise
        self.watch.done(verb, time.perf_counter() - began)
        return done

    def known(self, account_id: str) -> Account:
        """The account with the terms it was opened under; its epoch may be an old one."""
        found = self.accounts.get(account_id)
        if found is not None:
            return found
        with self.store.read() as view:
            return self.account(view, account_id)

    def account(self, view: Reading, account_id: str) -> Account:
        """The account as it stands now."""
        head = self.head(view, account_id)
        known = self.accounts.get(account_id)
        if known is None:
            first = view.first(account_id)
            if first is None or first.seq != 1 or first.kind != Kind.OPENED:
                raise LedgerCorrupt(f"account {account_id} has no opening record; run the audit")
            if not first.is_intact():
                raise LedgerCorrupt(f"the opening record of account {account_id} was altered; run the audit")
            try:
                known = account_from_json(account_id, 1, first.recorded_at, first.content())
            except (DosimeterError, KeyError, TypeError, ValueError):
                raise LedgerCorrupt(f"this version cannot read the opening record of account {account_id}") from None
            self.accounts[account_id] = known
        return replace(known, epoch=head.epoch, terms=texts.parse(texts.canonical(known.terms)))

    def head(self, view: Reading, account_id: str) -> Head:
        """Where the account stands; its seal was checked."""
        return self._checked(view.head(account_id), account_id)

    def standing(self, tx: Writing, account_id: str, request_id: str) -> tuple[Head, Sequence[Record]]:
        """Where the account stands, locked, and the records of one of its requests."""
        head, history = tx.standing(account_id, request_id)
        return self._checked(head, account_id), history

    def _checked(self, head: Head | None, account_id: str) -> Head:
        if head is None:
            raise not_found(account_id)
        if not head.is_intact(self.key.key):
            raise LedgerCorrupt(f"the state of account {account_id} was altered outside Dosimeter; run the audit")
        return head

    def append(self, tx: Writing, head: Head, draft: Draft) -> None:
        """Add one record."""
        record, after = self.next(head, draft, stamp(self.clock))
        tx.append(record, sealed(after, self.key.key))

    def extend(self, tx: Writing, records: list[Record], after: Head) -> None:
        """Add records that `next` has made, each from the head after the one before."""
        if records:
            tx.extend(records, sealed(after, self.key.key))

    def next(self, head: Head, draft: Draft, at: str) -> tuple[Record, Head]:
        """The draft as the next record, and the head after it, without its seal."""
        seen = self._seen.get(head.account_id, 0)
        if head.seq < seen:
            raise LedgerCorrupt(
                f"account {head.account_id} ends at record {head.seq}, but this process has seen record {seen}: the "
                "store was put back from an older copy; restore the newest one"
            )
        record, after = link(head, draft, at)
        if len(record.body) > texts.MAX_BODY and draft.kind is not Kind.SETTLED:
            raise InputError(f"this takes {len(record.body)} characters to record; at most {texts.MAX_BODY} fit")
        return record, after

    def saw(self, head: Head, draft: Draft | None) -> None:
        """Remember, after the commit, how far the account had come, and the state if it was folded here."""
        self.saw_up_to(head.account_id, head.seq + (draft is not None))
        if draft is not None and draft.state is not None and draft.folded is not None:
            self._states[head.account_id] = (draft.state, draft.folded)

    def folded(self, head: Head, state: Any) -> None:
        """Remember the state that a committed head's text says."""
        self._states[head.account_id] = (head.state, state)

    def saw_up_to(self, account_id: str, seq: int) -> None:
        """Remember how far the account had come."""
        if self._seen.get(account_id, 0) < seq:
            self._seen[account_id] = seq

    def state(self, account: Account, head: Head) -> Any:
        """The state that the head's text says; a text that was read or written last time is not read again."""
        known = self._states.get(account.id)
        if known is not None and known[0] == head.state:
            return known[1]
        state = rules.read_state(account, head)
        self._states[account.id] = (head.state, state)
        return state


def not_found(account_id: str) -> AccountNotFound:
    """No account has this id."""
    return AccountNotFound(f"this ledger has no account {show(account_id)}; accounts() lists them")
