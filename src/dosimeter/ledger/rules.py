"""The ledger's state machine, without any I/O: what may follow what, and what each step writes.

    request:   new ── admitted ──> RESERVED ── rows touched, noise drawn ──> SETTLED   (answered for ever)
                │                     ├── first holder gives up before touching rows ──> VOIDED
                └── refused ──> REFUSED (free; asked again it is decided again)
    RESERVED and never settled is an orphan: it stays spent. The same request may take it over and complete it.

Every charge counts from RESERVED on, whatever happens later. A void gives its charge back by folding the charges
that are left from the start, so the state is always exactly the fold of the charges that stand.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from dosimeter.adaptive.filter import Admitted, Filter, Refused
from dosimeter.errors import DosimeterError, LedgerCorrupt, LedgerError, RequestConflict
from dosimeter.events import event_from_json, loss_from_json
from dosimeter.exact import text
from dosimeter.ledger.account import Account
from dosimeter.ledger.pricing import Charge
from dosimeter.ledger.record import Draft, Head, Kind, Record
from dosimeter.ledger.request import Outcome, RefusedRequest, Replayed, Request, Reserved, Settled
from dosimeter.ledger.texts import canonical, parse, quote
from dosimeter.notions import Loss


class Status(StrEnum):
    """Where a request stands."""

    NEW = "new"
    REFUSED = "refused"
    RESERVED = "reserved"
    SETTLED = "settled"
    VOIDED = "voided"


@dataclass(frozen=True, slots=True)
class Standing:
    """A request's status, the record that says so, and the reservation it is about."""

    status: Status
    reservation: Record | None = None
    last: Record | None = None
    taken_over: bool = False


_NEW: Final = Standing(Status.NEW)


def standing(history: Sequence[Record]) -> Standing:
    """Where a request stands after its records."""
    now = _NEW
    for record in history:
        match record.kind:
            case Kind.RESERVED:
                now = Standing(Status.RESERVED, record, record)
            case Kind.REFUSED:
                now = Standing(Status.REFUSED, None, record)
            case Kind.TAKEN_OVER:
                now = Standing(now.status, now.reservation, record, taken_over=True)
            case Kind.SETTLED:
                now = Standing(Status.SETTLED, now.reservation, record, now.taken_over)
            case Kind.VOIDED:
                now = Standing(Status.VOIDED, now.reservation, record, now.taken_over)
            case _:
                raise LedgerCorrupt(f"record {record.seq} of kind {record.kind} carries a request; run the audit")
        if now.reservation is None and now.status is not Status.REFUSED:
            raise LedgerCorrupt(f"record {record.seq} ({record.kind}) has no reservation before it; run the audit")
    return now


def read_state(account: Account, head: Head) -> Any:
    """The filter's state at `head`."""
    try:
        return account.filter.state_from_json(parse(head.state))
    except (DosimeterError, ValueError):
        raise LedgerCorrupt(f"the state of account {account.id} cannot be read; run the audit") from None


def token_hash(token: bytes) -> str:
    """What the ledger keeps of a void token."""
    return hashlib.sha256(token).hexdigest()


def reserve(
    account: Account,
    head: Head,
    state: Any,
    history: Sequence[Record],
    request: Request,
    priced: Charge | DosimeterError,
    token: bytes,
) -> tuple[Draft | None, Outcome]:
    """Decide about one request at `state`, which is the head's: what to write, if anything, and what to answer."""
    rule = account.filter
    now = standing(history) if history else _NEW
    if history:
        _require_intact(history)
        _same_body(account, history[0], request)
    if now.status is Status.SETTLED and now.reservation and now.last:
        loss = loss_from_json(now.reservation.content()["loss"])
        answer = now.last.content()["answer"]
        return None, Replayed(account.id, now.reservation.seq, request.id, loss, answer)
    if now.status is Status.RESERVED and now.reservation:
        entry = now.reservation.seq
        loss = loss_from_json(now.reservation.content()["loss"])
        mark = None if now.taken_over else Draft(Kind.TAKEN_OVER, "{}", request.id, entry)
        return mark, Reserved(account.id, entry, request.id, loss, taken_over=True, rule=rule, state=state)
    if isinstance(priced, DosimeterError):
        raise priced
    decision = rule.admit(state, priced.loss)
    entry = head.seq + 1
    if isinstance(decision, Admitted):
        after = canonical(rule.state_to_json(decision.state))
        body = _body(request, priced, end=f',"state":{after},"void":{quote(token_hash(token))}')
        draft = Draft(Kind.RESERVED, body, request.id, state=after, folded=decision.state)
        reserved = Reserved(
            account.id, entry, request.id, priced.loss, void_token=token, rule=rule, state=decision.state
        )
        return draft, reserved
    if now.status is Status.REFUSED and now.last:
        return None, RefusedRequest(account.id, now.last.seq, request.id, priced.loss, decision, request, rule, state)
    refusal = canonical(refusal_to_json(decision))
    body = _body(request, priced, middle=f',"refusal":{refusal}')
    draft = Draft(Kind.REFUSED, body, request.id)
    return draft, RefusedRequest(account.id, entry, request.id, priced.loss, decision, request, rule, state)


def _body(request: Request, priced: Charge, *, middle: str = "", end: str = "") -> str:
    """A request as canonical JSON, written out because every charge needs it: its members stand in sorted order."""
    delta = "null" if request.delta is None else quote(text(request.delta))
    return (
        f'{{"delta":{delta},"description":{quote(request.description)},"digest":"{request.body_digest}",'
        f'"event":{priced.event_text},"loss":{priced.loss_text}{middle},"relation":"{request.relation}"{end}}}'
    )


def _require_intact(history: Sequence[Record]) -> None:
    """What is read back to be released or given back is checked first; a retry is rare enough for that."""
    for record in history:
        if not record.is_intact():
            raise LedgerCorrupt(f"record {record.seq} was altered outside Dosimeter; run the audit")


def _same_body(account: Account, first: Record, request: Request) -> None:
    """What makes two requests of one id the same request; compared as values, because a text's form may change."""
    stored = first.content()
    same = {
        "event": event_from_json(stored["event"]) == request.event,
        "relation": stored["relation"] == request.relation,
        "delta": (None if stored["delta"] is None else Decimal(stored["delta"])) == request.delta,
        "digest": stored["digest"] == request.body_digest,
    }
    for part, agrees in same.items():
        if not agrees:
            raise RequestConflict(
                f"request {request.id!r} of account {account.id} was made before with another {part} "
                f"(record {first.seq}); give a new request a new id"
            )


def settle(
    account_id: str, history: Sequence[Record], entry: int, request_id: str, answer: Any, answer_text: str
) -> tuple[Draft | None, Settled]:
    """Store the noisy answer (and its canonical JSON) of a reservation; the first one stored is the answer for ever."""
    reservation, ending, _ = _reservation(history, entry, request_id)
    if ending is not None and ending.kind == Kind.SETTLED:
        _require_intact(history)
        return None, Settled(account_id, entry, request_id, ending.content()["answer"], first=False)
    if ending is not None:
        raise LedgerError(f"reservation {entry} of request {request_id!r} was voided; its answer must not be released")
    return (
        Draft(Kind.SETTLED, f'{{"answer":{answer_text}}}', request_id, reservation.seq),
        Settled(account_id, entry, request_id, answer, first=True),
    )


def void(
    account: Account,
    head: Head,
    history: Sequence[Record],
    reserved: Reserved,
    reason: str,
    by: str,
    records: Iterable[Record],
) -> Draft | None:
    """Give back a charge whose rows were never touched; None where this very void was written before.

    Raises:
        LedgerError: the caller is not the live first holder, or the reservation was settled, taken over, or belongs
            to a closed epoch. The charge stays spent.
    """
    _require_intact(history)
    reservation, ending, taken_over = _reservation(history, reserved.entry, reserved.request_id)
    what = f"reservation {reserved.entry} of request {reserved.request_id!r}"
    stored = str(reservation.content().get("void"))
    if reserved.void_token is None or not hmac.compare_digest(token_hash(reserved.void_token), stored):
        raise LedgerError(f"{what} can be voided only by whoever made it; it stays spent")
    if ending is not None and ending.kind == Kind.VOIDED:
        return None
    if ending is not None:
        raise LedgerError(f"{what} was answered; it stays spent")
    if taken_over:
        raise LedgerError(f"{what} was taken over by a later attempt, which may have touched rows; it stays spent")
    if reservation.epoch != head.epoch:
        raise LedgerError(f"{what} belongs to epoch {reservation.epoch}, which is closed; it stays spent")
    state = refold(account.filter, standing_charges(records, head.epoch, without=reservation.seq))
    body = {"reason": reason, "by": by, "state": account.filter.state_to_json(state)}
    return Draft(Kind.VOIDED, canonical(body), reserved.request_id, reservation.seq, state=canonical(body["state"]))


def _reservation(history: Sequence[Record], entry: int, request_id: str) -> tuple[Record, Record | None, bool]:
    """The reservation at `entry`, the record that ended it if any, and whether it was taken over."""
    found = next((r for r in history if r.seq == entry and r.kind == Kind.RESERVED), None)
    if found is None:
        raise LedgerError(f"request {request_id!r} has no reservation {entry} in this account; reserve it first")
    about = [r for r in history if r.refers_to == entry]
    ending = next((r for r in about if r.kind in (Kind.SETTLED, Kind.VOIDED)), None)
    return found, ending, any(r.kind == Kind.TAKEN_OVER for r in about)


def standing_charges(records: Iterable[Record], epoch: int, without: int | None = None) -> list[Loss]:
    """The losses of an epoch's charges that were not voided, in order."""
    losses: dict[int, Record] = {}
    for record in records:
        if record.epoch == epoch and record.kind == Kind.RESERVED and record.seq != without:
            losses[record.seq] = record
        elif record.kind == Kind.VOIDED and record.refers_to is not None:
            losses.pop(record.refers_to, None)
    return [loss_from_json(record.content()["loss"]) for record in losses.values()]


def refold(rule: Filter[Any], losses: Iterable[Loss]) -> Any:
    """The state after these losses, each admitted again."""
    state = rule.start()
    for loss in losses:
        decision = rule.admit(state, loss)
        if not isinstance(decision, Admitted):
            raise LedgerError("the charges that are left do not fold again; the reservation stays spent")
        state = decision.state
    return state


def reset(account: Account, head: Head, reason: str, by: str) -> Draft:
    """Close the epoch and open the next one with a fresh state."""
    state = read_state(account, head)
    start = account.filter.state_to_json(account.filter.start())
    body = {"reason": reason, "by": by, "closed_spent": account.filter.spent(state), "state": start}
    return Draft(Kind.RESET, canonical(body), state=canonical(start), epoch=head.epoch + 1)


def refusal_to_json(refusal: Refused) -> dict[str, Any]:
    """A refusal as a record keeps it."""
    return {name: getattr(refusal, name) for name in refusal.__dataclass_fields__}
