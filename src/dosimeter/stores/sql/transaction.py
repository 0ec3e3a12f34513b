"""The ledger's port over one DBAPI cursor inside a transaction that somebody else began and will end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from dosimeter.errors import LedgerCorrupt
from dosimeter.ledger.record import Head, Record
from dosimeter.ledger.store import IdentityKind
from dosimeter.stores.sql.statements import Prepared

_PAGE: Final = 1000  # records read at once from a long history


class SQLTransaction:
    """Reading and writing by the statements of `dosimeter.stores.sql.statements`."""

    def __init__(self, cursor: Any, statements: dict[str, Prepared], *, writing: bool) -> None:
        self.written: list[Record] = []
        self._cursor = cursor
        self._run = statements
        self._head = statements["HEAD_TO_MOVE" if writing else "HEAD"]

    def head(self, account_id: str) -> Head | None:
        row = self._head.run(self._cursor, (account_id,)).fetchone()
        return None if row is None else Head._make(row)

    def meta(self) -> Sequence[tuple[str, str]]:
        """The ledger's id and secret, by name."""
        return [(name, value) for name, value in self._run["META"].run(self._cursor, ()).fetchall()]

    def account_ids(self) -> Sequence[str]:
        return [account_id for (account_id,) in self._run["ACCOUNT_IDS"].run(self._cursor, ()).fetchall()]

    def owner(self, kind: IdentityKind, value: str) -> str | None:
        row = self._run["OWNER"].run(self._cursor, (kind, value)).fetchone()
        return None if row is None else str(row[0])

    def identities(self, account_id: str) -> Sequence[tuple[str, str]]:
        rows = self._run["IDENTITIES"].run(self._cursor, (account_id,)).fetchall()
        return [(kind, value) for kind, value in rows]

    def first(self, account_id: str) -> Record | None:
        return self.record(account_id, 1)

    def record(self, account_id: str, seq: int) -> Record | None:
        row = self._run["RECORD"].run(self._cursor, (account_id, seq)).fetchone()
        return None if row is None else Record._make(row)

    def history(self, account_id: str, request_id: str) -> Sequence[Record]:
        rows = self._run["HISTORY"].run(self._cursor, (account_id, request_id)).fetchall()
        return [Record._make(row) for row in rows]

    def records(self, account_id: str) -> Sequence[Record]:
        return [Record._make(row) for row in self._run["RECORDS"].run(self._cursor, (account_id,)).fetchall()]

    def standing(self, account_id: str, request_id: str) -> tuple[Head | None, Sequence[Record]]:
        return self.head(account_id), self.history(account_id, request_id)

    def histories(self, account_id: str, request_ids: Sequence[str]) -> Sequence[Record]:
        return [record for request_id in set(request_ids) for record in self.history(account_id, request_id)]

    def stream(self, account_id: str) -> Iterator[Record]:
        last = 0
        while page := self._page(account_id, last):
            yield from page
            last = page[-1].seq

    def _page(self, account_id: str, after: int) -> list[Record]:
        rows = self._run["PAGE"].run(self._cursor, (account_id, after, _PAGE)).fetchall()
        return [Record._make(row) for row in rows]

    def voids(self, account_id: str) -> Iterator[tuple[int, int | None]]:
        last = 0
        while page := self._run["VOIDS"].run(self._cursor, (account_id, last, _PAGE)).fetchall():
            yield from ((seq, refers_to) for seq, refers_to in page)
            last = page[-1][0]

    def repeated(self, account_id: str) -> Sequence[str]:
        return [request for (request,) in self._run["REPEATED"].run(self._cursor, (account_id,)).fetchall()]

    def extend(self, records: Sequence[Record], head: Head) -> None:
        first = records[0]
        self.written.extend(records)
        if first.seq == 1:
            raise LedgerCorrupt(f"account {head.account_id} opens with one record alone")
        self._run["ADD_RECORD"].run_many(self._cursor, records)
        self._move(head, first.seq)

    def append(self, record: Record, head: Head) -> None:
        self.written.append(record)
        self._run["ADD_RECORD"].run(self._cursor, record)
        if record.seq == 1:
            self._run["ADD_HEAD"].run(self._cursor, head)
            return
        self._move(head, record.seq)

    def _move(self, head: Head, first: int) -> None:
        moved = self._run["MOVE_HEAD"].run(self._cursor, (*head[1:], head.account_id, first - 1))
        if moved.rowcount != 1:
            raise LedgerCorrupt(f"record {first} does not follow the head of account {head.account_id}")

    def claim(self, kind: IdentityKind, value: str, account_id: str) -> None:
        self._run["ADD_IDENTITY"].run(self._cursor, (kind, value, account_id))
