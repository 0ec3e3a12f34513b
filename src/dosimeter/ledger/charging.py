"""What happens to requests: charged, answered, given back. Each function is one transaction.

A batch is decided in its order inside one transaction, exactly as if its requests had come one after the other with
nobody in between: the same records, the same outcomes, one commit. That is what makes many small charges cheap.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from dosimeter.errors import DosimeterError, InputError
from dosimeter.ledger import pricing, rules, texts
from dosimeter.ledger.account import Account, require_whole
from dosimeter.ledger.clock import stamp
from dosimeter.ledger.desk import Desk
from dosimeter.ledger.pricing import Charge
from dosimeter.ledger.record import Draft, Head, Record
from dosimeter.ledger.request import (
    Outcome,
    RefusedRequest,
    RefusedTogether,
    Replayed,
    Request,
    Reserved,
    ReservedTogether,
    Settled,
)
from dosimeter.ledger.store import Writing
from dosimeter.neighbours import require_same

MAX_BATCH: Final = 10_000
T = TypeVar("T")


class _Priced(NamedTuple):
    """A request with what can be found out before the transaction: a price may take a while."""

    request: Request
    account: Account
    price: Charge | DosimeterError
    token: bytes


def _price(desk: Desk, account: Account, request: Request, *, for_members: bool = False) -> _Priced:
    current = desk.known(account.id)
    require_whole(current, for_members=for_members)
    require_same(current.relation, request.relation)
    try:
        price: Charge | DosimeterError = pricing.charge(request.event, current.filter, request.delta, current.relation)
    except DosimeterError as error:
        price = error  # a request that was answered before is replayed even if it has no price today
    return _Priced(request, current, price, os.urandom(16))


def reserve(desk: Desk, account: Account, request: Request) -> Outcome:
    """Charge one request."""
    asked = _price(desk, account, request)

    def work(tx: Writing) -> tuple[Head, Draft | None, Outcome]:
        head, draft, outcome = _decide(desk, tx, asked)
        if draft is not None:
            desk.append(tx, head, draft)
        return head, draft, outcome

    head, draft, outcome = desk.write("reserve", work)
    desk.saw(head, draft)
    _tell(desk, outcome)
    return outcome


def _decide(desk: Desk, tx: Writing, asked: _Priced) -> tuple[Head, Draft | None, Outcome]:
    request, account, price, token = asked
    head, history = desk.standing(tx, account.id, request.id)
    state = desk.state(account, head)
    return head, *rules.reserve(account, head, state, history, request, price, token)


def reserve_all(
    desk: Desk,
    requests: Sequence[tuple[Account, Request]],
    *,
    shares: Callable[[Writing, Sequence[Reserved]], T | None] | None = None,
) -> ReservedTogether | RefusedTogether | T:
    """Charge several accounts, or none of them.

    `shares` charges in the same transaction what members have to pay for the charges that are new; where it returns
    something nothing is charged anywhere, and that is the outcome.
    """
    ids = [account.id for account, _ in requests]
    if not ids or len(set(ids)) != len(ids):
        raise InputError("reserve_all takes at least one request, and one per account; compose events instead")
    prepared = [_price(desk, account, request, for_members=shares is not None) for account, request in requests]
    prepared.sort(key=lambda asked: asked.account.id)  # every transaction locks accounts in the same order

    def work(tx: Writing) -> tuple[list[tuple[Head, Draft | None, Outcome]], T | None]:
        decided = [_decide(desk, tx, asked) for asked in prepared]
        refused = any(isinstance(outcome, RefusedRequest) for _, _, outcome in decided)
        if shares is not None and not refused:
            new = [one for _, _, one in decided if isinstance(one, Reserved) and not one.taken_over]
            said = shares(tx, new)
            if said is not None:
                return decided, said
        for head, draft, outcome in decided:
            if draft is not None and (not refused or isinstance(outcome, RefusedRequest)):
                desk.append(tx, head, draft)
        return decided, None

    decided, said = desk.write("reserve_all", work)
    if said is not None:
        return said
    refusals = {o.account_id: o for _, _, o in decided if isinstance(o, RefusedRequest)}
    if refusals:
        for refusal in refusals.values():
            _tell(desk, refusal)
        return RefusedTogether(tuple(refusals[account_id] for account_id in ids if account_id in refusals))
    for head, draft, outcome in decided:
        desk.saw(head, draft)
        _tell(desk, outcome)
    granted = {o.account_id: o for _, _, o in decided if not isinstance(o, RefusedRequest)}
    return ReservedTogether(tuple(granted[account_id] for account_id in ids))


def reserve_batch(desk: Desk, account: Account, requests: Sequence[Request]) -> tuple[Outcome, ...]:
    """Charge many requests of one account, each on its own, in order."""
    _require_batch(requests, "requests")
    prepared = [_price(desk, account, request) for request in requests]
    if not prepared:
        return ()
    current = prepared[0].account

    def work(tx: Writing) -> tuple[Head, Any, list[Outcome]]:
        head = desk.head(tx, current.id)
        state, at = desk.state(current, head), stamp(desk.clock)
        histories = _histories(tx, current.id, [asked.request.id for asked in prepared])
        records: list[Record] = []
        outcomes: list[Outcome] = []
        for request, _, price, token in prepared:
            history = histories[request.id]
            draft, outcome = rules.reserve(current, head, state, history, request, price, token)
            outcomes.append(outcome)
            if draft is not None:
                record, head = desk.next(head, draft, at)
                records.append(record)
                history.append(record)
                state = state if draft.state is None else draft.folded
        desk.extend(tx, records, head)
        return head, state, outcomes

    head, state, outcomes = desk.write("reserve_batch", work)
    desk.saw_up_to(current.id, head.seq)
    desk.folded(head, state)
    for outcome in outcomes:
        _tell(desk, outcome)
    return tuple(outcomes)


def settle(desk: Desk, reservation: Reserved, answer: Any) -> Settled:
    """Store one answer."""
    value, text = texts.plain(answer, "answer", largest=texts.MAX_ANSWER)

    def work(tx: Writing) -> tuple[Head, Draft | None, Settled]:
        head, history = desk.standing(tx, reservation.account_id, reservation.request_id)
        draft, settled = rules.settle(
            reservation.account_id, history, reservation.entry, reservation.request_id, value, text
        )
        if draft is not None:
            desk.append(tx, head, draft)
        return head, draft, settled

    head, draft, settled = desk.write("settle", work)
    desk.saw(head, draft)
    _tell_settled(desk, settled)
    return settled


def settle_batch(desk: Desk, answers: Sequence[tuple[Reserved, Any]]) -> tuple[Settled, ...]:
    """Store many answers in one transaction, also of several accounts."""
    _require_batch(answers, "answers")
    read = [(held, *texts.plain(answer, "answer", largest=texts.MAX_ANSWER)) for held, answer in answers]
    if not read:
        return ()
    places: dict[str, list[int]] = defaultdict(list)
    for place, (held, _, _) in enumerate(read):
        places[held.account_id].append(place)

    def work(tx: Writing) -> tuple[dict[int, Settled], list[Head]]:
        settled: dict[int, Settled] = {}
        heads = []
        for account_id in sorted(places):  # every transaction locks accounts in the same order
            head, at, records = desk.head(tx, account_id), stamp(desk.clock), list[Record]()
            histories = _histories(tx, account_id, [read[place][0].request_id for place in places[account_id]])
            for place in places[account_id]:
                held, value, text = read[place]
                history = histories[held.request_id]
                draft, settled[place] = rules.settle(account_id, history, held.entry, held.request_id, value, text)
                if draft is not None:
                    record, head = desk.next(head, draft, at)
                    records.append(record)
                    history.append(record)
            desk.extend(tx, records, head)
            heads.append(head)
        return settled, heads

    settled, heads = desk.write("settle_batch", work)
    for head in heads:
        desk.saw_up_to(head.account_id, head.seq)
    for one in settled.values():
        _tell_settled(desk, one)
    return tuple(settled[place] for place in range(len(read)))


def void(desk: Desk, reservations: Sequence[Reserved], reason: str, by: str) -> None:
    """Give charges back, one per account: all of them or none."""
    reason, by = texts.prose(reason, "reason"), texts.name(by, "by")
    ids = [reservation.account_id for reservation in reservations]
    if not ids or len(set(ids)) != len(ids):
        raise InputError("void takes at least one reservation, and one per account")
    ordered = sorted(reservations, key=lambda held: held.account_id)  # locked in the same order everywhere
    asked = [(desk.known(held.account_id), held) for held in ordered]

    def work(tx: Writing) -> list[tuple[Head, Draft | None]]:
        decided = []
        for current, held in asked:
            head, history = desk.standing(tx, current.id, held.request_id)
            decided.append((head, rules.void(current, head, history, held, reason, by, tx.stream(current.id))))
        for head, draft in decided:
            if draft is not None:
                desk.append(tx, head, draft)
        return decided

    decided = desk.write("void", work)
    for (head, draft), (current, held) in zip(decided, asked, strict=True):
        desk.saw(head, draft)
        desk.watch.outcome("void", "voided", current.id, held.entry)


# -- what they share -------------------------------------------------------------------------------------------------


def _require_batch(items: Sequence[Any], what: str) -> None:
    if len(items) > MAX_BATCH:
        raise InputError(f"a batch of {len(items)} {what} holds the account for too long; give at most {MAX_BATCH}")


def _histories(tx: Writing, account_id: str, request_ids: Sequence[str]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {request_id: [] for request_id in request_ids}
    for record in tx.histories(account_id, list(found)):
        found[str(record.request_id)].append(record)
    return found


def _tell(desk: Desk, outcome: Outcome) -> None:
    match outcome:
        case Replayed():
            what = "replayed"
        case RefusedRequest():
            what = "refused"
        case _:
            what = "taken_over" if outcome.taken_over else "reserved"
    desk.watch.outcome("reserve", what, outcome.account_id, outcome.entry)


def _tell_settled(desk: Desk, settled: Settled) -> None:
    desk.watch.outcome("settle", "settled" if settled.first else "settled_before", settled.account_id, settled.entry)
