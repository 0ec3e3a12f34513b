"""The durable ledger: charge first, durably; touch rows afterwards; release only what was settled.

A ledger looks after accounts, one per data set. Each verb below is one transaction of the store; between `reserve`
and `settle` nothing is open. Whatever crashes, races or repeats, the charges that were ever committed stay, and the
filter decides about each with all the earlier ones counted.

Why concurrent requests are sound: a request's event is fixed when it is reserved and its noise does not depend on
anything later, so its answer may be thought of as drawn at that moment and read later. The interaction is then the
sequence of reservations, in the order in which the store committed them, and that is what the filter folded.

This is the front: what a steward's verbs do is in `stewarding`, what requests do in `charging`, both over one `desk`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from dosimeter.adaptive.filter import Admitted, Filter
from dosimeter.errors import InputError
from dosimeter.events import Event
from dosimeter.exact import amount, show
from dosimeter.ledger import charging, pricing, stewarding
from dosimeter.ledger.account import Account, DatasetIdentity
from dosimeter.ledger.audit import AuditReport, LookAhead, audit_account
from dosimeter.ledger.clock import Clock, utc_now
from dosimeter.ledger.desk import Desk, not_found
from dosimeter.ledger.request import (
    Balance,
    Outcome,
    Quote,
    RefusedTogether,
    Request,
    Reserved,
    ReservedTogether,
    Settled,
)
from dosimeter.ledger.statement import Orphan, Statement, orphans_of, read_odometers, statement_of
from dosimeter.ledger.store import Store
from dosimeter.ledger.watch import LogWatch, Watch, Watches
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit, require_same


class Ledger:
    """Accounts of data sets, kept in a store. Safe to share between threads; make one per process.

    Args:
        store: where the records live (`MemoryStore`, `SQLiteStore`, `PostgreSQLStore`).
        clock: tells the time that records carry; no filter's decision depends on it.
        retry_seconds_max: for how long a transaction that the store undid (a deadlock, a lost connection) is tried
            again before the verb fails; a charge is never made twice by that.
        watch: told of what happens, for metrics; the logger ``dosimeter.ledger`` is told in any case.
    """

    def __init__(
        self, store: Store, clock: Clock = utc_now, *, retry_seconds_max: float = 15.0, watch: Watch | None = None
    ) -> None:
        if not 0 <= retry_seconds_max <= 3600:
            raise InputError(f"retry_seconds_max={show(retry_seconds_max)} is outside [0, 3600]")
        watches = Watches((LogWatch(),) if watch is None else (LogWatch(), watch))
        self._desk = Desk(store, clock, retry_seconds_max, watches)
        self._store = store
        self._key = self._desk.key

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
        asked = stewarding.wanted(identity, unit, relation, filter, odometers, terms, opened_by)
        return stewarding.open_or_find(self._desk, asked)

    def find(self, identity: DatasetIdentity) -> Account | None:
        """The account of this data set, or None. Raises AccountConflict when the data under this name has changed."""
        mac = identity.content_mac(self._key.key)
        with self._store.read() as view:
            found = stewarding.owner(view, identity, mac)
            if found is None:
                return None
            stewarding.same_content(view, found, identity, mac)
            return self._desk.account(view, found)

    def account(self, account_id: str) -> Account:
        """The account of this id; raises AccountNotFound."""
        with self._store.read() as view:
            return self._desk.account(view, account_id)

    def accounts(self) -> list[Account]:
        """Every account, oldest first."""
        with self._store.read() as view:
            found = [self._desk.account(view, account_id) for account_id in view.account_ids()]
        return sorted(found, key=lambda account: (account.opened_at, account.id))

    def accept_data_change(
        self, account: Account, identity: DatasetIdentity, *, reason: str, authorised_by: str
    ) -> Account:
        """A steward lets the account go on with changed data. What was spent stays spent.

        Raises:
            AccountConflict: the name or the content belongs to another account.
            NotAuthorised: no reason, or nobody's name.
        """
        return stewarding.accept_data_change(self._desk, account, identity, reason, authorised_by)[0]

    def knows(self, account: Account, identity: DatasetIdentity) -> bool:
        """Whether the account already speaks for data of this name and this content."""
        mac = identity.content_mac(self._key.key)
        with self._store.read() as view:
            return view.owner("name", identity.name) == view.owner("content", mac) == account.id

    def reset(self, account: Account, *, reason: str, authorised_by: str) -> Account:
        """A steward opens a new epoch with a fresh budget. Logged, and every statement adds up all epochs.

        Raises:
            NotAuthorised: no reason, or nobody's name.
        """
        return stewarding.reset(self._desk, account, reason, authorised_by)

    # -- requests ------------------------------------------------------------------------------------------------

    def request_name(self, identity: DatasetIdentity, body_digest: str) -> str:
        """A request id that is the same whenever the same question is asked of the same content, and only then."""
        return identity.request_name(self._key.key, body_digest)

    def quote(
        self, account: Account, event: Event, relation: NeighbouringRelation, *, delta: Decimal | None = None
    ) -> Quote:
        """What a release would cost now and whether it fits; changes nothing."""
        current = self._desk.known(account.id)
        require_same(current.relation, NeighbouringRelation.read(relation))
        at = None if delta is None else amount(delta, "delta", zero=True, below_one=True)
        loss = pricing.charge(event, current.filter, at, current.relation).loss
        with self._store.read() as view:
            head = self._desk.head(view, current.id)
        rule, state = current.filter, self._desk.state(current, head)
        decision = rule.admit(state, loss)
        if isinstance(decision, Admitted):
            return Quote(loss, True, None, rule.remaining(state), rule.remaining(decision.state))
        return Quote(loss, False, decision, rule.remaining(state), None)

    def balance(self, account: Account) -> Balance:
        """What is spent and left in the current epoch, and what the odometers read: constant time, changes nothing."""
        current = self._desk.known(account.id)
        with self._store.read() as view:
            head = self._desk.head(view, current.id)
        rule, state = current.filter, self._desk.state(current, head)
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
            CommitUnknown: the store went away during the commit and did not come back in time; asking the same
                request again finds out, and charges it once.
        """
        return charging.reserve(self._desk, account, request)

    def reserve_all(self, requests: Sequence[tuple[Account, Request]]) -> ReservedTogether | RefusedTogether:
        """Charge several accounts in one transaction, or none of them."""
        return charging.reserve_all(self._desk, requests)

    def reserve_batch(self, account: Account, requests: Sequence[Request]) -> tuple[Outcome, ...]:
        """Charge many requests of one account in one transaction, each on its own.

        The records and the outcomes are those of as many calls of `reserve` in the same order with nobody in between:
        a refusal does not stop the ones after it, an answered request is replayed, an id that stands twice is charged
        once. They become durable together, with one commit.

        Raises:
            RequestConflict, NoGuaranteeError, NotionError: of any of the requests; then none of them was charged.
        """
        return charging.reserve_batch(self._desk, account, requests)

    def settle(self, reservation: Reserved, answer: Any) -> Settled:
        """Store the noisy answer (a JSON value). Release what this returns: the first answer stored, for ever.

        Raises:
            LedgerError: the reservation was voided or is not of this ledger; nothing may be released.
        """
        return charging.settle(self._desk, reservation, answer)

    def settle_batch(self, answers: Sequence[tuple[Reserved, Any]]) -> tuple[Settled, ...]:
        """Store many answers in one transaction, all of them or none; release what this returns, in the order asked."""
        return charging.settle_batch(self._desk, answers)

    def void(self, reservation: Reserved, *, reason: str, by: str) -> None:
        """Give the charge back, which only its live first holder may do, and only before rows are touched."""
        charging.void(self._desk, [reservation], reason, by)

    def void_all(self, reservations: Sequence[Reserved], *, reason: str, by: str) -> None:
        """Give several accounts' charges back in one transaction, or none of them; what `reserve_all` charged.

        Raises:
            LedgerError: one of them cannot be voided; then all stay spent.
        """
        charging.void(self._desk, reservations, reason, by)

    # -- looking back --------------------------------------------------------------------------------------------

    def orphans(self, account: Account) -> tuple[Orphan, ...]:
        """Reservations without an answer: in flight, or left by a crash. They stay spent; a retry completes them."""
        with self._store.read() as view:
            self._desk.head(view, account.id)
            records = view.records(account.id)
        return orphans_of(records)

    def statement(self, account: Account) -> Statement:
        """Everything that happened to the account, in order, and what it adds up to."""
        with self._store.read() as view:
            head, current, records = (
                self._desk.head(view, account.id),
                self._desk.account(view, account.id),
                view.records(account.id),
            )
        return statement_of(current, head, records)

    def audit(
        self, account: Account, *, known_head: str | None = None, progress: Callable[[int, int], None] | None = None
    ) -> AuditReport:
        """Prove the account from its records: chain, losses, totals. Names the first record that does not hold.

        The records are read a few at a time, so a long history needs no more memory than a short one.

        Args:
            account: which.
            known_head: a digest noted earlier (from a statement or an audit); the chain must still contain it, which
                is how a file put back from an older copy is noticed.
            progress: told now and then how many records were read, and of how many.
        """
        return self.audit_by_id(account.id, known_head=known_head, progress=progress)

    def audit_by_id(
        self, account_id: str, *, known_head: str | None = None, progress: Callable[[int, int], None] | None = None
    ) -> AuditReport:
        """The same, for an account that is too damaged to be opened."""
        with self._store.read() as view:
            head = view.head(account_id)
            if head is None and view.record(account_id, 1) is None:
                raise not_found(account_id)
            ahead = LookAhead(
                frozenset(about for _, about in view.voids(account_id)),
                frozenset(str(request) for request in view.repeated(account_id)),
            )
            total = head.seq if head is not None else 0
            return audit_account(
                account_id,
                head,
                view.stream(account_id),
                view.identities(account_id),
                self._key,
                known_head=known_head,
                look_ahead=ahead,
                progress=None if progress is None else lambda read: progress(read, max(read, total)),
            )
