"""The statement: everything that happened to an account, in order, and what it adds up to.

It is for people and for other programs: budgets, prices, reasons and descriptions are public, answers are left out,
and neither the content hash of the data nor a void token appears.

Epochs add up. What a steward grants anew after a reset is promised on top of what was granted before, so a
statement shows each epoch's guarantee and, next to it, the guarantee of all epochs so far together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dosimeter.errors import DosimeterError, LedgerCorrupt, NoGuaranteeError
from dosimeter.events import event_from_json, loss_from_json, loss_to_json
from dosimeter.events.event import Declared, Event
from dosimeter.events.nesting import everything_in
from dosimeter.events.pair import DeclaredPair
from dosimeter.exact import text
from dosimeter.ledger.account import Account
from dosimeter.ledger.record import Head, Kind, Record
from dosimeter.ledger.request import Reading
from dosimeter.notions import Loss, MenuPrice, ResiduePrice


@dataclass(frozen=True, slots=True)
class Orphan:
    """A reservation without an answer: in flight, or left by a crash. It stays spent until its request completes."""

    entry: int
    request_id: str
    description: str
    epoch: int
    reserved_at: str
    taken_over: bool
    loss: Loss


@dataclass(frozen=True, slots=True)
class Entry:
    """One request on the statement. `status` is reserved, settled, voided or refused."""

    entry: int
    epoch: int
    request_id: str
    status: str
    requested_at: str
    ended_at: str | None
    description: str
    charge: str
    loss: Loss
    event: dict[str, Any] = field(hash=False)
    declared_reasons: tuple[str, ...] = ()
    void_reason: str | None = None
    voided_by: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a steward, or opening the account, decided: opened, reset, data_changed, named."""

    seq: int
    epoch: int
    kind: str
    at: str
    by: str | None
    reason: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch: what it promises, what it has used, and what its odometers read."""

    number: int
    opened_at: str
    spent: dict[str, str] = field(hash=False)
    remaining: dict[str, str] = field(hash=False)
    guarantee: Loss
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """An account's statement; `spent`, `remaining` and `readings` are those of the current (last) epoch."""

    account: Account
    entries: tuple[Entry, ...]
    decisions: tuple[Decision, ...]
    epochs: tuple[Epoch, ...]
    guarantee: Loss
    guarantee_of_all_epochs: Loss
    head: str
    records: int

    @property
    def spent(self) -> dict[str, str]:
        """What the current epoch has used."""
        return self.epochs[-1].spent

    @property
    def remaining(self) -> dict[str, str]:
        """What the current epoch has left."""
        return self.epochs[-1].remaining

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What the odometers read now."""
        return self.epochs[-1].readings

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON, numbers as texts."""
        return {
            "account": self.account.to_json(),
            "entries": [_json(entry) for entry in self.entries],
            "decisions": [_json(decision) for decision in self.decisions],
            "epochs": [_json(epoch) for epoch in self.epochs],
            "spent": self.spent,
            "remaining": self.remaining,
            "guarantee": loss_to_json(self.guarantee),
            "guarantee_of_all_epochs": loss_to_json(self.guarantee_of_all_epochs),
            "head": self.head,
            "records": self.records,
        }


def _json(value: Any) -> Any:
    if isinstance(value, Entry | Decision | Epoch | Reading):
        return {name: _json(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if isinstance(value, Decimal):
        return text(value)
    return loss_to_json(value) if hasattr(value, "notion") else value


def statement_of(account: Account, head: Head, records: Sequence[Record]) -> Statement:
    """Build the statement from an account's records; raises LedgerCorrupt when they cannot be read."""
    try:
        return _statement(account, head, records)
    except (DosimeterError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, LedgerCorrupt):
            raise
        raise LedgerCorrupt(f"the records of account {account.id} cannot be read; run the audit") from None


def _statement(account: Account, head: Head, records: Sequence[Record]) -> Statement:
    epochs: list[tuple[int, str, Any]] = []  # number, opened at, state of the filter
    decisions: list[Decision] = []
    for record in records:
        body = record.content()
        if "state" in body:
            state = account.filter.state_from_json(body["state"])
            if record.kind in (Kind.OPENED, Kind.RESET):
                epochs.append((record.epoch, record.recorded_at, state))
            epochs[-1] = (*epochs[-1][:2], state)
        if record.kind in (Kind.OPENED, Kind.RESET, Kind.DATA_CHANGED, Kind.NAMED):
            by, reason, name = body.get("by"), body.get("reason"), body.get("name")
            decisions.append(Decision(record.seq, record.epoch, record.kind, record.recorded_at, by, reason, name))
    guarantee = account.filter.guarantee()
    return Statement(
        account=account,
        entries=entries_of(records),
        decisions=tuple(decisions),
        epochs=tuple(
            Epoch(
                number,
                opened_at,
                account.filter.spent(state),
                account.filter.remaining(state),
                guarantee,
                read_odometers(account, state),
            )
            for number, opened_at, state in epochs
        ),
        guarantee=guarantee,
        guarantee_of_all_epochs=_times(guarantee, len(epochs)),
        head=head.digest,
        records=head.seq,
    )


def entries_of(records: Iterable[Record]) -> tuple[Entry, ...]:
    """Every charge and every refusal, in order, each with what became of it."""
    begun = {r.seq: r for r in records if r.kind in (Kind.RESERVED, Kind.REFUSED)}
    ended = {r.refers_to: r for r in records if r.kind in (Kind.SETTLED, Kind.VOIDED)}
    return tuple(_entry(record, ended.get(seq)) for seq, record in begun.items())


def _entry(record: Record, end: Record | None) -> Entry:
    body = record.content()
    closing = end.content() if end is not None and end.kind == Kind.VOIDED else {}
    loss = loss_from_json(body["loss"])
    return Entry(
        entry=record.seq,
        epoch=record.epoch,
        request_id=str(record.request_id),
        status=str(end.kind if end is not None else record.kind),
        requested_at=record.recorded_at,
        ended_at=end.recorded_at if end is not None else None,
        description=body["description"],
        charge=charge_text(loss),
        loss=loss,
        event=body["event"],
        declared_reasons=tuple(_reasons(event_from_json(body["event"]))),
        void_reason=closing.get("reason"),
        voided_by=closing.get("by"),
    )


def _reasons(event: Event) -> Iterable[str]:
    """Why declared parts are believed, wherever they stand, samples included."""
    return (part.reason for part in everything_in(event) if isinstance(part, Declared | DeclaredPair))


def charge_text(loss: Loss) -> str:
    """A charge in a person's words, e.g. "rho 0.02" or "epsilon 0.1, delta 1e-9"."""
    if isinstance(loss, ResiduePrice | MenuPrice):
        return loss.in_words()
    amounts = loss_to_json(loss)
    if loss.notion == "rdp":
        pairs = ", ".join(f"{e} at order {o}" for o, e in zip(amounts["orders"], amounts["epsilons"], strict=True))
        parts = [f"RDP epsilon {pairs}"]
    else:
        names = (name for name in amounts if name not in ("notion", "delta"))
        parts = [f"{name} {amounts[name]}" for name in names]
    if amounts.get("delta", "0") != "0":
        parts.append(f"delta {amounts['delta']}")
    return ", ".join(parts)


def orphans_of(records: Sequence[Record]) -> tuple[Orphan, ...]:
    """The reservations that no record has ended, in order."""
    ended = {r.refers_to for r in records if r.kind in (Kind.SETTLED, Kind.VOIDED)}
    taken = {r.refers_to for r in records if r.kind == Kind.TAKEN_OVER}
    left = []
    for r in records:
        if r.kind == Kind.RESERVED and r.seq not in ended:
            body = r.content()
            loss = loss_from_json(body["loss"])
            name = str(r.request_id)
            left.append(Orphan(r.seq, name, body["description"], r.epoch, r.recorded_at, r.seq in taken, loss))
    return tuple(left)


def read_odometers(account: Account, state: Any) -> tuple[Reading, ...]:
    """What each odometer of the account reads at a state of its filter."""
    return tuple(_read(odometer, state) for odometer in account.odometers)


def _read(odometer: Any, state: Any) -> Reading:
    failing = odometer.crossing_probability if odometer.semantics == "loss" else odometer.delta
    facts = (odometer.to_json(), str(odometer.semantics), failing)
    try:
        return Reading(*facts, bound=odometer.bound(state), why_not=None)
    except NoGuaranteeError as error:
        return Reading(*facts, bound=None, why_not=str(error))


def _times(guarantee: Any, epochs: int) -> Loss:
    """The guarantee of so many epochs together, by the composition law of its notion."""
    together: Loss = guarantee.repeat(epochs)
    return together
