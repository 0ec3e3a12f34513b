"""A ledger in memory: for tests and for trying things out. It forgets everything when the process ends.

It owes what every store owes except durability: transactions are all or nothing, one at a time, and a forked child is
refused, because it would be a second copy of the same budget.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from dosimeter.errors import LedgerCorrupt, LedgerUnavailable
from dosimeter.ledger.record import Head, Kind, LedgerKey, Record
from dosimeter.ledger.store import IdentityKind, Reading, Writing


class MemoryStore:
    """A store that lives as long as this object.

    Args:
        wait_seconds_max: how long a transaction waits for the others before it gives up.
        key: the id and secret of a ledger that is about to be imported; random ones when left out.
    """

    def __init__(self, *, wait_seconds_max: float = 30.0, key: LedgerKey | None = None) -> None:
        self._key: Final = LedgerKey.new() if key is None else key
        self._wait: Final = wait_seconds_max
        self._turn = threading.Lock()
        self._process = os.getpid()
        self._open = True
        self._tables = _Tables()

    def key(self) -> LedgerKey:
        """The ledger's id and secret."""
        return self._key

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """The tables, while nobody writes."""
        with self._take_turn():
            yield self._tables

    @contextmanager
    def write(self) -> Iterator[Writing]:
        """The tables, alone; an exception takes back what was written."""
        with self._take_turn():
            self._tables.undo.clear()
            self._tables.written.clear()
            try:
                yield self._tables
            except BaseException:
                for step in reversed(self._tables.undo):
                    step()
                raise

    def close(self) -> None:
        """Refuse further use."""
        self._open = False

    @contextmanager
    def _take_turn(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise LedgerUnavailable("a ledger in memory does not follow a fork; keep it in a file to share it")
        if not self._turn.acquire(timeout=self._wait):
            raise LedgerUnavailable(f"the ledger was busy for {self._wait} seconds; nothing was written, try again")
        try:
            if not self._open:
                raise LedgerUnavailable("this ledger was closed; open it again")
            yield
        finally:
            self._turn.release()


class _Tables:
    """What a store keeps, and how to take back the steps of the transaction that is open."""

    def __init__(self) -> None:
        self._heads: dict[str, Head] = {}
        self._records: dict[str, list[Record]] = {}
        self._by_request: dict[tuple[str, str], list[Record]] = {}
        self._owners: dict[tuple[str, str], str] = {}
        self.undo: list[Callable[[], object]] = []
        self.written: list[Record] = []

    def head(self, account_id: str) -> Head | None:
        return self._heads.get(account_id)

    def account_ids(self) -> Sequence[str]:
        return list(self._heads)

    def owner(self, kind: IdentityKind, value: str) -> str | None:
        return self._owners.get((kind, value))

    def identities(self, account_id: str) -> Sequence[tuple[str, str]]:
        return [identity for identity, owner in self._owners.items() if owner == account_id]

    def first(self, account_id: str) -> Record | None:
        return next(iter(self._records.get(account_id, ())), None)

    def record(self, account_id: str, seq: int) -> Record | None:
        records = self._records.get(account_id, [])
        return records[seq - 1] if 1 <= seq <= len(records) else None

    def history(self, account_id: str, request_id: str) -> Sequence[Record]:
        return list(self._by_request.get((account_id, request_id), ()))

    def records(self, account_id: str) -> Sequence[Record]:
        return list(self._records.get(account_id, ()))

    def standing(self, account_id: str, request_id: str) -> tuple[Head | None, Sequence[Record]]:
        return self.head(account_id), self.history(account_id, request_id)

    def histories(self, account_id: str, request_ids: Sequence[str]) -> Sequence[Record]:
        return [record for request_id in set(request_ids) for record in self.history(account_id, request_id)]

    def stream(self, account_id: str) -> Iterator[Record]:
        return iter(self.records(account_id))

    def voids(self, account_id: str) -> Iterator[tuple[int, int | None]]:
        return ((r.seq, r.refers_to) for r in self.records(account_id) if r.kind == Kind.VOIDED)

    def repeated(self, account_id: str) -> Sequence[str]:
        decided = {Kind.RESERVED, Kind.REFUSED}
        found = ((r, rs) for (a, r), rs in self._by_request.items() if a == account_id)
        return [request for request, records in found if sum(r.kind in decided for r in records) > 1]

    def extend(self, records: Sequence[Record], head: Head) -> None:
        for record in records[:-1]:
            self.append(record, head._replace(epoch=record.epoch, seq=record.seq, digest=record.digest))
        self.append(records[-1], head)

    def append(self, record: Record, head: Head) -> None:
        self.written.append(record)
        account_id = record.account_id
        chain, before = self._records.setdefault(account_id, []), self._heads.get(account_id)
        if len(chain) + 1 != record.seq or (before.seq if before else 0) + 1 != record.seq:
            raise LedgerCorrupt(f"record {record.seq} does not follow the head of account {account_id}")
        lists = [chain]
        if record.request_id is not None:
            lists.append(self._by_request.setdefault((account_id, record.request_id), []))
        for records in lists:
            records.append(record)
            self.undo.append(records.pop)
        self._heads[account_id] = head
        if before is None:
            self.undo.append(lambda: self._heads.pop(account_id))
        else:
            self.undo.append(lambda: self._heads.update({account_id: before}))

    def claim(self, kind: IdentityKind, value: str, account_id: str) -> None:
        if (kind, value) in self._owners:
            raise LedgerCorrupt(f"a {kind} was claimed twice")
        self._owners[kind, value] = account_id
        self.undo.append(lambda: self._owners.pop((kind, value)))
