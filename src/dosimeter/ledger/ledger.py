"""The durable ledger: charge first, durably; touch rows afterwards; release only what was settled.

A ledger looks after accounts, one per data set. Each verb below is one transaction of the store; between `reserve`
and `settle` nothing is open. Whatever crashes, races or repeats, the charges that were ever committed stay, and the
filter decides about each with all the earlier ones counted.

Why concurrent requests are sound: a request's event is fixed when it is reserved and its noise does not depend on
anything later, so its answer may be thought of as drawn at that moment and read later. The interaction is then the
sequence of reservations, in the order in which the store committed them, and that is what the filter folded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dosimeter.adaptive.filter import Admitted, Filter
from dosimeter.errors import (
    AccountConflict,
    AccountNotFound,
    DosimeterError,
    InputError,
    LedgerCorrupt,
    NotAuthorised,
)
from dosimeter.events import Event
from dosimeter.exact import amount, show
from dosimeter.ledger import pricing, rules, texts
from dosimeter.ledger.account import Account, DatasetIdentity, account_from_json, agreement
from dosimeter.ledger.audit import AuditReport, audit_account
from dosimeter.ledger.clock import Clock, stamp, utc_now
from dosimeter.ledger.pricing import Charge
from dosimeter.ledger.record import Draft, Head, Kind, before_first, chain
from dosimeter.ledger.request import (
    Balance,
    Outcome,
    Quote,
    RefusedRequest,
    RefusedTogether,
    Request,
    Reserved,
    ReservedTogether,
    Settled,
)
from dosimeter.ledger.statement import Orphan, Statement, orphans_of, read_odometers, statement_of
from dosimeter.ledger.store import Reading, Store, Writing
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit, require_same


class Ledger:
    """Accounts of data sets, kept in a store. Safe to share between threads; make one per process.

    Args:
        store: where the records live (`MemoryStore`, `SQLiteStore`).
        clock: tells the time that records carry; no decision depends on it.
    """

    def __init__(self, store: Store, clock: Clock = utc_now) -> None:
        self._store = store
        self._clock = clock
        self._key = store.key()
        self._accounts: dict[str, Account] = {}  # terms never change, so they are read once
        self._states: dict[str, tuple[str, Any]] = {}  # the last state read from each account's text, to read it once
        self._seen: dict[str, int] = {}  # the furthest record seen: a store that goes back was put back from a copy

    @property
    def store(self) -> Store:
        """Where the records live."""
        return self._store

    # -- accounts ------------------------------------------------------------------------------------------------

    def open(
        self,
        identity: DatasetIdentity,
        *,
        unit: PrivacyUnit,
        relation: NeighbouringRelation,
        filter: Filter[Any],  # noqa: A002 - the word of the domain
        odometers: Sequence[Any] = (),
        terms: dict[str, Any] | None = None,
        opened_by: str,
    ) -> Account:
        """Open the data set's account, or return it if it was opened before under the same terms.

        The same name or the same content finds the same account, whatever path, copy, process or restart asks.
        `terms=None` accepts the stored terms; a new account then gets none.

        Raises:
            AccountConflict: the account exists under other terms, or the data under this name has changed. There is
                never a second budget.
        """
        opened_by = _who(opened_by, "opened_by")
        relation = NeighbouringRelation.read(relation)
        agreed = agreement(unit, relation, _stored_form(filter), tuple(odometers))
        for data in agreed["odometers"]:
            pricing.read_odometer(data).bound(filter.start())  # refuses one that cannot read this filter's states
        facts, _ = texts.plain(terms if terms is not None else {}, "terms", largest=texts.MAX_TERMS)
        if not isinstance(facts, dict):
            raise InputError("terms is not an object of JSON; give a dict")
        mac = identity.content_mac(self._key.key)
        with self._store.write() as tx:
            found = self._owner(tx, identity, mac)
            if found is not None:
                return self._reopen(tx, found, identity, mac, agreed, facts if terms is not None else None)
            account_id = os.urandom(12).hex()
            start = filter.state_to_json(filter.start())
            body = {
                "ledger": self._key.ledger_id,
                "key": self._key.check(),
                "name": identity.name,
                "content": mac,
                **agreed,
                "terms": facts,
                "by": opened_by,
                "state": start,
            }
            draft = Draft(Kind.OPENED, texts.canonical(body), state=texts.canonical(start))
            self._append(tx, before_first(account_id, self._key.ledger_id), draft)
            tx.claim("name", identity.name, account_id)
            tx.claim("content", mac, account_id)
            return self._account(tx, account_id)

    def find(self, identity: DatasetIdentity) -> Account | None:
        """The account of this data set, or None. Raises AccountConflict when the data under this name has changed."""
        mac = identity.content_mac(self._key.key)
        with self._store.read() as view:
            found = self._owner(view, identity, mac)
            if found is None:
                return None
            self._same_content(view, found, identity, mac)
            return self._account(view, found)

    def account(self, account_id: str) -> Account:
        """The account of this id; raises AccountNotFound."""
        with self._store.read() as view:
            return self._account(view, account_id)

    def accounts(self) -> list[Account]:
        """Every account, oldest first."""
        with self._store.read() as view:
            found = [self._account(view, account_id) for account_id in view.account_ids()]
        return sorted(found, key=lambda account: (account.opened_at, account.id))

    def accept_data_change(
        self, account: Account, identity: DatasetIdentity, *, reason: str, authorised_by: str
    ) -> Account:
        """A steward lets the account go on with changed data. What was spent stays spent.

        Raises:
            AccountConflict: the name or the content belongs to another account.
            NotAuthorised: no reason, or nobody's name.
        """
        reason, authorised_by = _decision(reason, authorised_by)
        mac = identity.content_mac(self._key.key)
        with self._store.write() as tx:
            current = self._account(tx, account.id)
            owners = (tx.owner("name", identity.name), tx.owner("content", mac))
            if any(owner not in (None, current.id) for owner in owners):
                raise AccountConflict(
                    f"the name {identity.name!r} or its content belongs to another account; an account cannot take "
                    "over data that another one already speaks for"
                )
            if all(owner == current.id for owner in owners):
                return current
            new_name, new_content = owners[0] is None, owners[1] is None
            body = {"name": identity.name, "content": mac, "reason": reason, "by": authorised_by}
            self._append(tx, self._head(tx, current.id), Draft(Kind.DATA_CHANGED, texts.canonical(body)))
            if new_name:
                tx.claim("name", identity.name, current.id)
            if new_content:
                tx.claim("content", mac, current.id)
            return current

    def reset(self, account: Account, *, reason: str, authorised_by: str) -> Account:
        """A steward opens a new epoch with a fresh budget. Logged, and every statement adds up all epochs.

        Raises:
            NotAuthorised: no reason, or nobody's name.
        """
        reason, authorised_by = _decision(reason, authorised_by)
        with self._store.write() as tx:
            current = self._account(tx, account.id)
            head = self._head(tx, current.id)
            draft = rules.reset(current, head, reason, authorised_by)
            self._append(tx, head, draft)
        self._saw(head, draft)
        return replace(current, epoch=head.epoch + 1)

    # -- requests ------------------------------------------------------------------------------------------------

    def request_name(self, identity: DatasetIdentity, body_digest: str) -> str:
        """A request id that is the same whenever the same question is asked of the same content, and only then."""
        return identity.request_name(self._key.key, body_digest)

    def quote(
        self, account: Account, event: Event, relation: NeighbouringRelation, *, delta: Decimal | None = None
    ) -> Quote:
        """What a release would cost now and whether it fits; changes nothing."""
        current = self._known(account.id)
        require_same(current.relation, NeighbouringRelation.read(relation))
        loss = pricing.charge(event, current.filter, _delta(delta), current.relation).loss
        with self._store.read() as view:
            head = self._head(view, current.id)
        rule, state = current.filter, self._state(current, head)
        decision = rule.admit(state, loss)
        if isinstance(decision, Admitted):
            return Quote(loss, True, None, rule.remaining(state), rule.remaining(decision.state))
        return Quote(loss, False, decision, rule.remaining(state), None)

    def balance(self, account: Account) -> Balance:
        """What is spent and left in the current epoch, and what the odometers read: constant time, changes nothing."""
        current = self._known(account.id)
        with self._store.read() as view:
            head = self._head(view, current.id)
        rule, state = current.filter, self._state(current, head)
        return Balance(head.epoch, rule.spent(state), rule.remaining(state), read_odometers(current, state))

    def reserve(self, account: Account, request: Request) -> Outcome:
        """Charge the account for a request, durably, before any private row is touched.

        Returns:
            Reserved: charged now, or earlier by an attempt that was never answered: go on, then `settle`.
            Replayed: answered before; here is that answer, free.
            RefusedRequest: the filter does not admit it; nothing was charged.

        Raises:
            RequestConflict: this id was used with another event, relation, digest or delta.
            NoGuaranteeError: no theorem prices the event in this account's notion.
            NotionError: the request was planned under another neighbouring relation.
        """
        current, priced, token = self._prepare(account, request)
        with self._store.write() as tx:
            head, draft, outcome = self._decide(tx, current, request, priced, token)
            if draft is not None:
                self._append(tx, head, draft)
        self._saw(head, draft)
        return outcome

    def reserve_all(self, requests: Sequence[tuple[Account, Request]]) -> ReservedTogether | RefusedTogether:
        """Charge several accounts in one transaction, or none of them."""
        ids = [account.id for account, _ in requests]
        if not ids or len(set(ids)) != len(ids):
            raise InputError("reserve_all takes at least one request, and one per account; compose events instead")
        prepared = [(request, *self._prepare(account, request)) for account, request in requests]
        prepared.sort(key=lambda one: one[1].id)  # every transaction locks accounts in the same order
        with self._store.write() as tx:
            decided = [
                self._decide(tx, current, request, priced, token) for request, current, priced, token in prepared
            ]
            refusals = {o.account_id: o for _, _, o in decided if isinstance(o, RefusedRequest)}
            for head, draft, outcome in decided:
                if draft is not None and (not refusals or isinstance(outcome, RefusedRequest)):
                    self._append(tx, head, draft)
        if refusals:
            return RefusedTogether(tuple(refusals[account_id] for account_id in ids if account_id in refusals))
        for head, draft, _ in decided:
            self._saw(head, draft)
        granted = {o.account_id: o for _, _, o in decided if not isinstance(o, RefusedRequest)}
        return ReservedTogether(tuple(granted[account_id] for account_id in ids))

    def _prepare(self, account: Account, request: Request) -> tuple[Account, Charge | DosimeterError, bytes]:
        """What can be done before the transaction: a price may take a while."""
        current = self._known(account.id)
        require_same(current.relation, request.relation)
        try:
            priced: Charge | DosimeterError = pricing.charge(
                request.event, current.filter, request.delta, current.relation
            )
        except DosimeterError as error:
            priced = error  # a request that was answered before is replayed even if it has no price today
        return current, priced, os.urandom(16)

    def _decide(
        self, tx: Writing, current: Account, request: Request, priced: Charge | DosimeterError, token: bytes
    ) -> tuple[Head, Draft | None, Outcome]:
        head = self._head(tx, current.id)
        history = tx.history(current.id, request.id)
        state = self._state(current, head)
        return head, *rules.reserve(current, head, state, history, request, priced, token)

    def settle(self, reservation: Reserved, answer: Any) -> Settled:
        """Store the noisy answer (a JSON value). Release what this returns: the first answer stored, for ever.

        Raises:
            LedgerError: the reservation was voided or is not of this ledger; nothing may be released.
        """
        value, text = texts.plain(answer, "answer", largest=texts.MAX_ANSWER)
        with self._store.write() as tx:
            head = self._head(tx, reservation.account_id)
            history = tx.history(reservation.account_id, reservation.request_id)
            draft, settled = rules.settle(
                reservation.account_id, history, reservation.entry, reservation.request_id, value, text
            )
            if draft is not None:
                self._append(tx, head, draft)
        self._saw(head, draft)
        return settled

    def void(self, reservation: Reserved, *, reason: str, by: str) -> None:
        """Give the charge back, which only its live first holder may do, and only before rows are touched."""
        reason, by = texts.prose(reason, "reason"), _who(by, "by")
        current = self._known(reservation.account_id)
        with self._store.write() as tx:
            head = self._head(tx, current.id)
            history = tx.history(current.id, reservation.request_id)
            draft = rules.void(current, head, history, reservation, reason, by, tx.records(current.id))
            if draft is not None:
                self._append(tx, head, draft)
        self._saw(head, draft)

    # -- looking back --------------------------------------------------------------------------------------------

    def orphans(self, account: Account) -> tuple[Orphan, ...]:
        """Reservations without an answer: in flight, or left by a crash. They stay spent; a retry completes them."""
        with self._store.read() as view:
            self._head(view, account.id)
            records = view.records(account.id)
        return orphans_of(records)

    def statement(self, account: Account) -> Statement:
        """Everything that happened to the account, in order, and what it adds up to."""
        with self._store.read() as view:
            head, current, records = (
                self._head(view, account.id),
                self._account(view, account.id),
                view.records(account.id),
            )
        return statement_of(current, head, records)

    def audit(self, account: Account, *, known_head: str | None = None) -> AuditReport:
        """Prove the account from its records: chain, losses, totals. Names the first record that does not hold.

        `known_head` is a digest noted earlier (from a statement or an audit); the chain must still contain it, which
        is how a file put back from an older copy is noticed.
        """
        return self.audit_by_id(account.id, known_head=known_head)

    def audit_by_id(self, account_id: str, *, known_head: str | None = None) -> AuditReport:
        """The same, for an account that is too damaged to be opened."""
        with self._store.read() as view:
            head = view.head(account_id)
            records = view.records(account_id)
            identities = view.identities(account_id)
        if head is None and not records:
            raise _not_found(account_id)
        return audit_account(account_id, head, records, identities, self._key, known_head=known_head)

    # -- inside --------------------------------------------------------------------------------------------------

    def _owner(self, view: Reading, identity: DatasetIdentity, mac: str) -> str | None:
        by_name, by_content = view.owner("name", identity.name), view.owner("content", mac)
        if by_name and by_content and by_name != by_content:
            raise AccountConflict(
                f"the name {identity.name!r} belongs to account {by_name}, but its content is that of account "
                f"{by_content}; use the name of the data set whose content this is"
            )
        return by_name or by_content

    def _same_content(self, view: Reading, account_id: str, identity: DatasetIdentity, mac: str) -> None:
        if view.owner("content", mac) != account_id:
            raise AccountConflict(
                f"the data of {identity.name!r} has changed since account {account_id} was opened; a steward decides "
                "with accept_data_change, and the budget already spent stays spent"
            )

    def _reopen(
        self,
        tx: Writing,
        account_id: str,
        identity: DatasetIdentity,
        mac: str,
        agreed: dict[str, Any],
        facts: dict[str, Any] | None,
    ) -> Account:
        self._same_content(tx, account_id, identity, mac)
        current = self._account(tx, account_id)
        stored = agreement(current.unit, current.relation, current.filter, current.odometers)
        for part, value in (*stored.items(), ("terms", current.terms)):
            asked = facts if part == "terms" else agreed[part]
            if asked is not None and asked != value:
                raise AccountConflict(
                    f"account {account_id} of {current.name!r} was opened with {part}={texts.canonical(value)}, "
                    f"not {texts.canonical(asked)}; open it with its own terms"
                )
        if tx.owner("name", identity.name) is None:
            self._append(tx, self._head(tx, account_id), Draft(Kind.NAMED, texts.canonical({"name": identity.name})))
            tx.claim("name", identity.name, account_id)
        return current

    def _known(self, account_id: str) -> Account:
        found = self._accounts.get(account_id)
        return found if found is not None else self.account(account_id)

    def _account(self, view: Reading, account_id: str) -> Account:
        head = self._head(view, account_id)
        known = self._accounts.get(account_id)
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
            self._accounts[account_id] = known
        return replace(known, epoch=head.epoch, terms=texts.parse(texts.canonical(known.terms)))

    def _head(self, view: Reading, account_id: str) -> Head:
        head = view.head(account_id)
        if head is None:
            raise _not_found(account_id)
        if not head.is_intact(self._key.key):
            raise LedgerCorrupt(f"the state of account {account_id} was altered outside Dosimeter; run the audit")
        return head

    def _append(self, tx: Writing, head: Head, draft: Draft) -> None:
        seen = self._seen.get(head.account_id, 0)
        if head.seq < seen:
            raise LedgerCorrupt(
                f"account {head.account_id} ends at record {head.seq}, but this process has seen record {seen}: the "
                "store was put back from an older copy; restore the newest one"
            )
        record, after = chain(head, draft, stamp(self._clock), self._key.key)
        if len(record.body) > texts.MAX_BODY and draft.kind is not Kind.SETTLED:
            raise InputError(f"this takes {len(record.body)} characters to record; at most {texts.MAX_BODY} fit")
        tx.append(record, after)

    def _saw(self, head: Head, draft: Draft | None) -> None:
        furthest = head.seq + (draft is not None)
        if draft is not None and draft.state is not None and draft.folded is not None:
            self._states[head.account_id] = (draft.state, draft.folded)
        if self._seen.get(head.account_id, 0) < furthest:
            self._seen[head.account_id] = furthest

    def _state(self, account: Account, head: Head) -> Any:
        """The state that the head's text says; a text that was read or written last time is not read again."""
        known = self._states.get(account.id)
        if known is not None and known[0] == head.state:
            return known[1]
        state = rules.read_state(account, head)
        self._states[account.id] = (head.state, state)
        return state


def _stored_form(rule: Filter[Any]) -> Filter[Any]:
    """The filter as it will be read back, so that an account never opens under a rule it cannot restart with."""
    stored = pricing.read_filter(rule.to_json())
    if type(stored) is not type(rule) or stored.to_json() != rule.to_json():
        raise InputError(f"the filter {rule.kind} does not read back from its own JSON as itself")
    return stored


def _not_found(account_id: str) -> AccountNotFound:
    return AccountNotFound(f"this ledger has no account {show(account_id)}; accounts() lists them")


def _delta(delta: Any) -> Decimal | None:
    return None if delta is None else amount(delta, "delta", zero=True, below_one=True)


def _who(value: object, what: str) -> str:
    return texts.name(value, what)


def _decision(reason: object, authorised_by: object) -> tuple[str, str]:
    if not isinstance(reason, str) or not reason.strip():
        raise NotAuthorised("this changes what the data set's people were promised; give a reason")
    if not isinstance(authorised_by, str) or not authorised_by.strip():
        raise NotAuthorised("this changes what the data set's people were promised; say who authorised it")
    return texts.prose(reason, "reason"), texts.name(authorised_by, "authorised_by")
