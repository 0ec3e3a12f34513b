"""Records are only ever added, each chained to the one before; the head says where the chain of an account ends.

A record's digest covers every column of it and the digest before it, so no column can change and no record can go
missing, move or be slipped in without the chain breaking. The head carries the filter's state and a seal over both,
keyed with the ledger's own key, so a charge notices in constant time when somebody edited the state.

What the chain cannot see alone: a whole file put back from an older copy, or rewritten by somebody who recomputes
every digest. Note a head's digest elsewhere and give it to the audit to close that gap.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dosimeter.ledger.texts import canonical, parse


class Kind(StrEnum):
    """What happened."""

    OPENED = "opened"
    RESERVED = "reserved"
    REFUSED = "refused"
    TAKEN_OVER = "taken_over"  # a later attempt continues a reservation: nobody may void it any more
    SETTLED = "settled"
    VOIDED = "voided"
    RESET = "reset"
    DATA_CHANGED = "data_changed"
    NAMED = "named"  # the same content was opened under another name


@dataclass(frozen=True, slots=True)
class Record:
    """One line of an account's history. `body` is canonical JSON; `refers_to` is the reservation it is about."""

    account_id: str
    seq: int
    kind: str
    request_id: str | None
    refers_to: int | None
    epoch: int
    recorded_at: str
    body: str
    previous: str
    digest: str

    def content(self) -> dict[str, Any]:
        """The body, parsed."""
        parsed: dict[str, Any] = parse(self.body)
        return parsed

    def expected_digest(self) -> str:
        """The digest that the other columns call for."""
        columns = [
            "dosimeter record 1",
            self.account_id,
            self.seq,
            self.kind,
            self.request_id,
            self.refers_to,
            self.epoch,
            self.recorded_at,
            self.body,
            self.previous,
        ]
        return hashlib.sha256(canonical(columns).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Head:
    """Where an account stands: the last record's number and digest, the epoch, and the filter's state as JSON text."""

    account_id: str
    epoch: int
    seq: int
    digest: str
    state: str
    seal: str = field(default="", repr=False)

    def expected_seal(self, key: bytes) -> str:
        """The seal that the other columns call for."""
        columns = ["dosimeter head 1", self.account_id, self.epoch, self.seq, self.digest, self.state]
        return hmac.new(key, canonical(columns).encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that a rule wants written, before it has a number, a time and a digest.

    `state` and `epoch` are what the head becomes; None leaves them as they are.
    """

    kind: Kind
    body: dict[str, Any]
    request_id: str | None = None
    refers_to: int | None = None
    state: str | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerKey:
    """A ledger's name for itself and its random secret, made once when the ledger was created."""

    ledger_id: str
    key: bytes = field(repr=False)

    def check(self) -> str:
        """A hash that lets an audit notice another key without showing this one."""
        return hashlib.sha256(b"dosimeter key " + self.key).hexdigest()


def chain(head: Head, draft: Draft, at: str, key: bytes) -> tuple[Record, Head]:
    """The draft as the record after `head`, and the head after it."""
    epoch = head.epoch if draft.epoch is None else draft.epoch
    fields = (str(draft.kind), draft.request_id, draft.refers_to, epoch, at, canonical(draft.body), head.digest)
    bare = Record(head.account_id, head.seq + 1, *fields, digest="")
    record = Record(head.account_id, head.seq + 1, *fields, digest=bare.expected_digest())
    state = head.state if draft.state is None else draft.state
    unsealed = Head(head.account_id, epoch, record.seq, record.digest, state)
    return record, Head(head.account_id, epoch, record.seq, record.digest, state, unsealed.expected_seal(key))


def before_first(account_id: str, ledger_id: str) -> Head:
    """The head of an account without records; the chain starts at the ledger's own id."""
    return Head(account_id, epoch=1, seq=0, digest=hashlib.sha256(ledger_id.encode()).hexdigest(), state="")
