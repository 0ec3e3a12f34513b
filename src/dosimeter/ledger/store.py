"""The port: what the ledger needs from wherever its records are kept, and what an adapter owes.

A store keeps records, heads and identities, and knows nothing of privacy. It owes:

- `write()` is one transaction: all of it becomes durable when the block ends, or none of it does. While it is open
  no other transaction, in this process or another, changes a head that it has read. When the block has ended without
  an exception the records survive a crash of the process and of the machine.
- `read()` sees one moment: never half of somebody's transaction.
- Records are never changed or removed.
- Anything else is an error: LedgerUnavailable when the store does not answer and nothing was written, its kind Undone
  when the same transaction may do if it is run again, its kind CommitUnknown when the block had ended and nobody can
  say whether all or nothing was kept; LedgerCorrupt when what it holds is not a ledger, LedgerVersionError when
  another version wrote it. Their messages never carry a parameter of a statement, nor a password.
- A store is safe to share between threads. After a fork the child is served by a connection of its own, or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

from dosimeter.ledger.record import Head, LedgerKey, Record

IdentityKind: TypeAlias = Literal["name", "content"]


class Reading(Protocol):
    """A consistent view of the store."""

    def head(self, account_id: str) -> Head | None:
        """Where the account stands; inside `write()` it stays so until the block ends."""
        ...

    def account_ids(self) -> Sequence[str]:
        """Every account, in any order."""
        ...

    def owner(self, kind: IdentityKind, value: str) -> str | None:
        """The account to which a data set's name or content hash belongs."""
        ...

    def identities(self, account_id: str) -> Sequence[tuple[str, str]]:
        """Every (kind, value) that belongs to the account, in any order."""
        ...

    def first(self, account_id: str) -> Record | None:
        """The account's first record."""
        ...

    def record(self, account_id: str, seq: int) -> Record | None:
        """The account's record of this number."""
        ...

    def history(self, account_id: str, request_id: str) -> Sequence[Record]:
        """The records of one request in order, found without reading the others."""
        ...

    def histories(self, account_id: str, request_ids: Sequence[str]) -> Sequence[Record]:
        """The records of several requests, those of each in order, found without reading the others."""
        ...

    def records(self, account_id: str) -> Sequence[Record]:
        """Every record of the account in order."""
        ...

    def stream(self, account_id: str) -> Iterator[Record]:
        """Every record of the account in order, a few at a time, however many there are."""
        ...

    def voids(self, account_id: str) -> Iterator[tuple[int, int | None]]:
        """The number of each void of the account, and of the reservation that it says it is about."""
        ...

    def repeated(self, account_id: str) -> Sequence[str]:
        """The requests of the account that were decided more than once: after a refusal, or after a void."""
        ...


class Writing(Reading, Protocol):
    """A transaction. `written` is what it has appended so far, in order."""

    written: list[Record]

    def standing(self, account_id: str, request_id: str) -> tuple[Head | None, Sequence[Record]]:
        """The head and then the request's records, in as few trips as the store can make."""
        ...

    def append(self, record: Record, head: Head) -> None:
        """Add the record and move the account's head from `record.seq - 1` to `head` (the first creates it)."""
        ...

    def extend(self, records: Sequence[Record], head: Head) -> None:
        """Add several records of one account that follow each other, and move its head once, to `head`."""
        ...

    def claim(self, kind: IdentityKind, value: str, account_id: str) -> None:
        """Let a name or content hash belong to the account for ever; it belongs to nobody yet."""
        ...


class Store(Protocol):
    """Where a ledger is kept."""

    def key(self) -> LedgerKey:
        """The ledger's id and secret: random, made once, the same for everybody who opens this store."""
        ...

    def read(self) -> AbstractContextManager[Reading]:
        """Open a consistent view."""
        ...

    def write(self) -> AbstractContextManager[Writing]:
        """Open a transaction; an exception inside undoes it."""
        ...

    def close(self) -> None:
        """Let go of connections. Using the store afterwards raises LedgerUnavailable."""
        ...
