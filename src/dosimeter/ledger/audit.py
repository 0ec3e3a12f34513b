"""The audit: prove an account from its records alone, and name the first one that does not hold.

It trusts nothing that is stored. Every digest is computed again, every loss is priced again from its event (a stored
loss may be larger than today's price, never smaller), every state is folded again through the filter, and the head,
the identities and the totals must be what the records say.

It reads the records once, in order, and keeps none of them: however long a history is, the audit needs room only for
the reservations that are open and for what lies between a reservation and its void. To know beforehand which those
are, it looks ahead for the few requests that were voided or decided twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple

from dosimeter.adaptive.filter import Admitted, Filter
from dosimeter.errors import DosimeterError
from dosimeter.events import event_from_json, loss_from_json
from dosimeter.ledger import pricing
from dosimeter.ledger.account import Account, account_from_json
from dosimeter.ledger.record import Head, Kind, LedgerKey, Record, before_first
from dosimeter.ledger.texts import canonical, parse
from dosimeter.notions import Loss, ResiduePrice

_STEP: Final = 1000  # records between two reports of progress
_PRICES: Final = 4096  # prices kept, of the events seen last


@dataclass(frozen=True, slots=True)
class Problem:
    """What does not hold, and at which record (None: the head, the identities or a digest noted elsewhere)."""

    seq: int | None
    what: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The verdict. `head` is the digest to note down elsewhere: it stands for the whole history up to now."""

    account_id: str
    ok: bool
    first_bad: Problem | None
    records: int
    charges: int
    head: str | None
    spent: dict[str, str]

    def message(self) -> str:
        """One sentence for a person."""
        if self.first_bad is None:
            return f"account {self.account_id}: {self.records} records hold, {self.charges} charges fold to the state"
        place = "the account" if self.first_bad.seq is None else f"record {self.first_bad.seq}"
        return f"account {self.account_id}: {place} does not hold: {self.first_bad.what}"

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON."""
        bad = self.first_bad
        return {
            "account_id": self.account_id,
            "ok": self.ok,
            "first_bad": None if bad is None else {"seq": bad.seq, "what": bad.what},
            "records": self.records,
            "charges": self.charges,
            "head": self.head,
            "spent": self.spent,
        }


class LookAhead(NamedTuple):
    """What the audit must know before it comes to it: reservations that a void names, requests decided twice."""

    voided: frozenset[int | None]
    repeated: frozenset[str]

    @classmethod
    def at(cls, records: Iterable[Record]) -> LookAhead:
        """By looking through records that are at hand."""
        times: Counter[str] = Counter()
        voided = set()
        for record in records:
            if record.kind == Kind.VOIDED:
                voided.add(record.refers_to)
            elif record.kind in (Kind.RESERVED, Kind.REFUSED):
                times[str(record.request_id)] += 1
        return cls(frozenset(voided), frozenset(request for request, count in times.items() if count > 1))


class _Broken(Exception):
    """Says what does not hold; the record is known where it is caught."""


def audit_account(
    account_id: str,
    head: Head | None,
    records: Iterable[Record],
    identities: Sequence[tuple[str, str]],
    key: LedgerKey,
    *,
    known_head: str | None = None,
    look_ahead: LookAhead | None = None,
    progress: Callable[[int], None] | None = None,
) -> AuditReport:
    """Check an account's records, head and identities against each other and against today's prices.

    Without the ledger's secret (an empty `key.key`) everything is checked but the head's seal and the key itself.
    Records that come one at a time need `look_ahead` given. `progress` is told how many were read, now and then.
    """
    if look_ahead is None:
        records = list(records)
        look_ahead = LookAhead.at(records)
    fold = _Fold(account_id, key, look_ahead, known_head)
    problem: Problem | None = None
    number = 0
    for number, record in enumerate(records, start=1):
        if problem is None:
            what = _attempt(fold.take, record, number)
            problem = None if what is None else Problem(number, what)
        if progress is not None and number % _STEP == 0:
            progress(number)
    if problem is None:
        what = _attempt(fold.close, head, identities)
        problem = None if what is None else Problem(None, what)
    return AuditReport(
        account_id=account_id,
        ok=problem is None,
        first_bad=problem,
        records=number,
        charges=fold.standing,
        head=fold.digest if fold.count else None,
        spent=fold.spent(),
    )


def _attempt(step: Callable[..., None], *args: Any) -> str | None:
    try:
        step(*args)
    except _Broken as broken:
        return str(broken)
    except DosimeterError as error:
        return f"it cannot be read: {error}"
    except (AttributeError, KeyError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        return f"it cannot be read ({type(error).__name__})"
    return None


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise _Broken(what)


class _Fold:
    """The history as the records tell it, checked one record at a time."""

    def __init__(self, account_id: str, key: LedgerKey, look_ahead: LookAhead, known_head: str | None) -> None:
        self.account_id, self.key, self.ahead = account_id, key, look_ahead
        self.digest = before_first(account_id, key.ledger_id).digest
        self.known_head, self.known_head_seen = known_head, known_head is None
        self.count = 0
        self.epoch = 1
        self.account: Account | None = None
        self.state: Any = None
        self.standing = 0  # this epoch's charges that stand
        self.window = _Window()
        self.open: dict[int, tuple[str, bool]] = {}  # reservation -> request, taken over
        self.request: dict[str, tuple[Kind, Any]] = {}  # repeated request -> its last record's kind, what was asked
        self.names: set[str] = set()
        self.contents: set[str] = set()
        self.prices: dict[str, Loss] = {}

    def spent(self) -> dict[str, str]:
        """What the records read so far have used in their last epoch."""
        return {} if self.account is None else self.account.filter.spent(self.state)

    def take(self, record: Record, number: int) -> None:
        """Check the next record and fold it."""
        _need(record.seq == number, f"record {number} is missing: the next one is numbered {record.seq}")
        _need(record.account_id == self.account_id, "it belongs to another account")
        _need(record.is_intact(), "a column was changed: the digest is another")
        _need(record.previous == self.digest, "the chain is broken: it does not follow the record before it")
        kind, body = Kind(record.kind), parse(record.body)
        _need(canonical(body) == record.body, "its body is not canonical JSON")
        _need((number == 1) == (kind is Kind.OPENED), "an account opens with its first record and only with it")
        _need(record.epoch == self.epoch + (kind is Kind.RESET), f"it says epoch {record.epoch}")
        getattr(self, f"_{kind}")(record, body)
        self.digest, self.count, self.epoch = record.digest, number, record.epoch
        self.known_head_seen = self.known_head_seen or record.digest == self.known_head

    def close(self, head: Head | None, identities: Sequence[tuple[str, str]]) -> None:
        """Check what is stored beside the records."""
        if head is None or self.account is None:
            raise _Broken("the account's head or its first record is missing")
        _need(head.seq == self.count, f"the head says {head.seq} records, there are {self.count}: the tail was cut")
        _need(head.digest == self.digest, "the head names another last record: the tail was changed")
        _need(head.epoch == self.epoch, f"the head says epoch {head.epoch}, the records say {self.epoch}")
        stored = self.account.filter.state_from_json(parse(head.state))
        _need(stored == self.state, "the stored state is not what the records fold to")
        _need(not self.key.key or head.is_intact(self.key.key), "the head's seal is another: it was edited")
        expected = {("name", name) for name in self.names} | {("content", mac) for mac in self.contents}
        _need(set(identities) == expected, "the names or contents it answers to are not those in its records")
        _need(
            self.known_head_seen,
            "the digest noted earlier is not in the chain: the store was put back from an older copy or rewritten",
        )

    # -- one method per kind -------------------------------------------------------------------------------------

    def _opened(self, record: Record, body: dict[str, Any]) -> None:
        _need(body["ledger"] == self.key.ledger_id, "it was opened in another ledger")
        _need(
            not self.key.key or body["key"] == self.key.check(),
            "the ledger's key is another one than when it was opened",
        )
        account = account_from_json(self.account_id, 1, record.recorded_at, body)
        for promise in (account.filter, *account.odometers):
            pricing.verify(promise)
        for odometer in account.odometers:
            pricing.require_reads(odometer, account.filter)
        self.account = account
        self.names, self.contents = {body["name"]}, {body["content"]}
        self._restart(body)

    def _reset(self, _: Record, body: dict[str, Any]) -> None:
        account = self._opened_account()
        closed = {name: Decimal(value) for name, value in body["closed_spent"].items()}
        folded = {name: Decimal(value) for name, value in account.filter.spent(self.state).items()}
        _need(closed == folded, "the total of the closed epoch is another")
        self._restart(body)

    def _restart(self, body: dict[str, Any]) -> None:
        self.state = self._opened_account().filter.start()
        self.standing, self.window = 0, _Window()
        self._same_state(body)

    def _named(self, _: Record, body: dict[str, Any]) -> None:
        self.names.add(body["name"])

    def _data_changed(self, _: Record, body: dict[str, Any]) -> None:
        self.names.add(body["name"])
        self.contents.add(body["content"])

    def _reserved(self, record: Record, body: dict[str, Any]) -> None:
        before = self._begin(record, body, {Kind.REFUSED, Kind.VOIDED})
        loss = self._priced(body)
        decision = self._opened_account().filter.admit(before, loss)
        if not isinstance(decision, Admitted):
            raise _Broken(f"the account is overspent from here: {decision.message()}")
        self.window.take(record.seq, loss, before, decision.state, voided=record.seq in self.ahead.voided)
        self.state = decision.state
        self.standing += 1
        self._same_state(body)
        self.open[record.seq] = (str(record.request_id), False)

    def _refused(self, record: Record, body: dict[str, Any]) -> None:
        self._begin(record, body, {Kind.VOIDED})
        self._priced(body)

    def _taken_over(self, record: Record, _: dict[str, Any]) -> None:
        request, taken = self._reservation(record)
        _need(not taken, "the reservation was taken over before")
        self.open[record.refers_to or 0] = (request, True)

    def _settled(self, record: Record, body: dict[str, Any]) -> None:
        self._reservation(record)
        _need("answer" in body, "it holds no answer")
        self._end(record, Kind.SETTLED)

    def _voided(self, record: Record, body: dict[str, Any]) -> None:
        _, taken = self._reservation(record)
        seq = record.refers_to or 0
        _need(not taken, "a reservation that was taken over cannot be voided")
        _need(seq in self.window.charges, "a reservation of a closed epoch cannot be voided")
        self.state = self.window.without(seq, self._opened_account().filter)
        self.standing -= 1
        self._same_state(body)
        self._end(record, Kind.VOIDED)

    # -- what they share -----------------------------------------------------------------------------------------

    def _opened_account(self) -> Account:
        if self.account is None:
            raise _Broken("nothing was opened before it")
        return self.account

    def _begin(self, record: Record, body: dict[str, Any], after: set[Kind]) -> Any:
        account, request = self._opened_account(), str(record.request_id)
        _need(body["relation"] == str(account.relation), "it speaks of another neighbouring relation")
        delta = None if body["delta"] is None else Decimal(body["delta"])
        asked = (event_from_json(body["event"]), body["relation"], delta, body["digest"])
        last, earlier = self.request.get(request, (None, asked))
        _need(last is None or last in after, f"request {request!r} was {last} before")
        _need(asked == earlier, f"request {request!r} was made before with another body")
        if request in self.ahead.repeated:
            self.request[request] = (Kind(record.kind), asked)
        return self.state

    def _reservation(self, record: Record) -> tuple[str, bool]:
        found = self.open.get(record.refers_to or 0)
        if found is None:
            raise _Broken(f"it refers to record {record.refers_to}, which is no open reservation")
        _need(found[0] == record.request_id, "it refers to a reservation of another request")
        return found

    def _end(self, record: Record, kind: Kind) -> None:
        request, _ = self.open.pop(record.refers_to or 0)
        if request in self.request:
            self.request[request] = (kind, self.request[request][1])

    def _same_state(self, body: dict[str, Any]) -> None:
        stored = self._opened_account().filter.state_from_json(body["state"])
        _need(stored == self.state, "the stored total is not what the records fold to")

    def _priced(self, body: dict[str, Any]) -> Loss:
        """The stored loss, which must be proven for its event, or not below today's price of it."""
        stored, wanted = loss_from_json(body["loss"]), canonical([body["event"], body["delta"]])
        known = self.prices.get(wanted)
        if known is not None and covers(stored, known):
            return stored
        delta = None if body["delta"] is None else Decimal(body["delta"])
        event, account = event_from_json(body["event"]), self._opened_account()
        proven = isinstance(stored, ResiduePrice) and pricing.is_proven(stored, event, account.filter, account.relation)
        if not proven:  # then it must be at least what would be charged today
            today = pricing.charge(event, account.filter, delta, account.relation).loss
            _need(covers(stored, today), "the stored loss is below the price of its event")
        if len(self.prices) >= _PRICES:
            self.prices.clear()
        self.prices[wanted] = stored
        return stored


class _Window:
    """The charges since the earliest one that will be voided, each with the state after it; mostly there are none."""

    def __init__(self) -> None:
        self.charges: dict[int, tuple[Loss, Any]] = {}
        self._base: Any = None  # the state before the first of them
        self._to_void: set[int] = set()

    def take(self, seq: int, loss: Loss, before: Any, after: Any, *, voided: bool) -> None:
        """A charge that was admitted at the state `before`."""
        if voided:
            self._to_void.add(seq)
        if self._to_void:
            if not self.charges:
                self._base = before
            self.charges[seq] = (loss, after)

    def without(self, seq: int, rule: Filter[Any]) -> Any:
        """The state of the charges that stand when this one is given back; those before it keep their states."""
        state, charges = self._base, self.charges
        del charges[seq]
        for number, (loss, after) in charges.items():
            if number < seq:
                state = after
                continue
            decision = rule.admit(state, loss)
            if not isinstance(decision, Admitted):
                raise _Broken("the charges that are left do not fold again")
            state = decision.state
            charges[number] = (loss, state)
        self._to_void.discard(seq)
        self._forget_before(min(self._to_void, default=None))
        return state

    def _forget_before(self, first: int | None) -> None:
        for number in list(self.charges):
            if first is not None and number >= first:
                break
            self._base = self.charges.pop(number)[1]


def covers(stored: Loss, price: Loss) -> bool:
    """Whether one loss is at least another in every parameter; losses of other notions or orders never are."""
    if type(stored) is not type(price):
        return False
    if isinstance(stored, ResiduePrice):
        return stored.covers(price)
    pairs = [(getattr(stored, name), getattr(price, name)) for name in stored.__dataclass_fields__]
    if any(name == "orders" and getattr(stored, name) != getattr(price, name) for name in stored.__dataclass_fields__):
        return False
    flat = [p for a, b in pairs for p in (zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)])]
    return all(a >= b for a, b in flat)
