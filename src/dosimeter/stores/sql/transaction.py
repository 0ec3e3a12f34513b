"""The ledger's port over one DBAPI cursor inside a transaction that somebody else began and will end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dosimeter.errors import LedgerCorrupt
from dosimeter.ledger.record import Head, Record
from dosimeter.ledger.store import IdentityKind
from dosimeter.stores.sql.statements import Prepared


class SQLTransaction:
    """Reading and writing by the statements of `dosimeter.stores.sql.statements`."""

    def __init__(self, cursor: Any, statements: dict[str, Prepared], *, writing: bool) -> None:
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
        row = self._run["FIRST"].run(self._cursor, (account_id, 1)).fetchone()
        return None if row is None else Record._make(row)

    def history(self, account_id: str, request_id: str) -> Sequence[Record]:
        rows = self._run["HISTORY"].run(self._cursor, (account_id, request_id)).fetchall()
        return [Record._make(row) for row in rows]

    def records(self, account_id: str) -> Sequence[Record]:
        return [Record._make(row) for row in self._run["RECORDS"].run(self._cursor, (account_id,)).fetchall()]

    def append(self, record: Record, head: Head) -> None:
        self._run["ADD_RECORD"].run(self._cursor, record)
        if record.seq == 1:
            self._run["ADD_HEAD"].run(self._cursor, head)
            return
        moved = self._run["MOVE_HEAD"].run(self._cursor, (*head[1:], head.account_id, record.seq - 1))
        if moved.rowcount != 1:
            raise LedgerCorrupt(f"record {record.seq} does not follow the head of account {head.account_id}")

    def claim(self, kind: IdentityKind, value: str, account_id: str) -> None:
        self._run["ADD_IDENTITY"].run(self._cursor, (kind, value, account_id))
