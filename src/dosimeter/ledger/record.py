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
import os
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from dosimeter.ledger.texts import parse, quote


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


class Record(NamedTuple):
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
        """The body, parsed; raises ValueError or TypeError when it is none."""
        parsed: dict[str, Any] = parse(self.body)
        return parsed

    def is_intact(self) -> bool:
        """Whether the digest is the one that the other columns call for."""
        try:
            return self.digest == digest_of(*self[:-1])
        except (TypeError, ValueError):  # a column of another type, or a text that is none
            return False


class Head(NamedTuple):
    """Where an account stands: the last record's number and digest, the epoch, and the filter's state as JSON text."""

    account_id: str
    epoch: int
    seq: int
    digest: str
    state: str
    seal: str = ""

    def is_intact(self, key: bytes) -> bool:
        """Whether the seal is the one that the other columns call for."""
        try:
            return hmac.compare_digest(self.seal, seal_of(key, *self[:-1]))
        except (TypeError, ValueError):
            return False


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that a rule wants written, before it has a number, a time and a digest.

    `state` (canonical JSON of `folded`) and `epoch` are what the head becomes; None leaves them as they are.
    """

    kind: Kind
    body: str  # canonical JSON
    request_id: str | None = None
    refers_to: int | None = None
    state: str | None = None
    folded: Any = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerKey:
    """A ledger's name for itself and its random secret, made once when the ledger was created."""

    ledger_id: str
    key: bytes = field(repr=False)

    @classmethod
    def new(cls) -> LedgerKey:
        """A random one."""
        return cls(os.urandom(16).hex(), os.urandom(32))

    def check(self) -> str:
        """A hash that lets an audit notice another key without showing this one."""
        return hashlib.sha256(b"dosimeter key " + self.key).hexdigest()


def digest_of(
    account_id: str,
    seq: int,
    kind: str,
    request_id: str | None,
    refers_to: int | None,
    epoch: int,
    recorded_at: str,
    body: str,
    previous: str,
) -> str:
    """SHA-256 over the canonical JSON array of a record's columns, which is written out here: charges need it often."""
    request = "null" if request_id is None else quote(request_id)
    refers = "null" if refers_to is None else f"{refers_to:d}"
    text = (
        f'["dosimeter record 1",{quote(account_id)},{seq:d},{quote(kind)},{request},{refers},{epoch:d},'
        f"{quote(recorded_at)},{quote(body)},{quote(previous)}]"
    )
    return hashlib.sha256(text.encode()).hexdigest()


def seal_of(key: bytes, account_id: str, epoch: int, seq: int, digest: str, state: str) -> str:
    """Keyed BLAKE2b over the canonical JSON array of a head's columns."""
    text = f'["dosimeter head 1",{quote(account_id)},{epoch:d},{seq:d},{quote(digest)},{quote(state)}]'
    return hashlib.blake2b(text.encode(), key=key, digest_size=32).hexdigest()


def chain(head: Head, draft: Draft, at: str, key: bytes) -> tuple[Record, Head]:
    """The draft as the record after `head`, and the head after it."""
    record, after = link(head, draft, at)
    return record, sealed(after, key)


def link(head: Head, draft: Draft, at: str) -> tuple[Record, Head]:
    """The same without a seal, for a head that will not be stored because another record follows at once."""
    account_id, seq, previous = head.account_id, head.seq + 1, head.digest
    epoch = head.epoch if draft.epoch is None else draft.epoch
    state = head.state if draft.state is None else draft.state
    kind, request_id, refers_to, body = draft.kind.value, draft.request_id, draft.refers_to, draft.body
    digest = digest_of(account_id, seq, kind, request_id, refers_to, epoch, at, body, previous)
    record = Record(account_id, seq, kind, request_id, refers_to, epoch, at, body, previous, digest)
    return record, Head(account_id, epoch, seq, digest, state)


def sealed(head: Head, key: bytes) -> Head:
    """The head with its seal."""
    account_id, epoch, seq, digest, state, _ = head
    return Head(account_id, epoch, seq, digest, state, seal_of(key, account_id, epoch, seq, digest, state))


def before_first(account_id: str, ledger_id: str) -> Head:
    """The head of an account without records; the chain starts at the ledger's own id."""
    return Head(account_id, epoch=1, seq=0, digest=hashlib.sha256(ledger_id.encode()).hexdigest(), state="")
