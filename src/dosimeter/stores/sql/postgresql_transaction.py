"""A writing transaction on PostgreSQL in two trips: one to begin, lock and read, one to write and commit.

While an account is locked everybody else who charges it waits, so what counts is how long the lock is held, and that is
mostly the way to the server and back. The driver's pipeline sends statements that do not need each other's answers
together; the server still runs them one after the other. Under READ COMMITTED each of them sees what was committed
when it starts, so the request's records are read as they are once the lock is held, not as they were before.

What is sent together with the commit must undo all of it where it fails. An error does: the server skips whatever
follows, the commit included. So a head that is no longer where it was is made an error too: moving the head and adding
the record are one statement, and a head that was not moved leaves the record without its account, which the table
forbids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dosimeter.errors import LedgerCorrupt
from dosimeter.ledger.record import Head, Record
from dosimeter.ledger.store import IdentityKind
from dosimeter.stores.sql.statements import Prepared
from dosimeter.stores.sql.tables import ACCOUNTS, RECORDS
from dosimeter.stores.sql.transaction import SQLTransaction

_COLUMNS: Final = tuple(column.name for column in RECORDS.columns)
_WHOLE: Final = frozenset({"seq", "refers_to", "epoch"})


def _append_text() -> str:
    values = ", ".join(f"%s::{'INTEGER' if name in _WHOLE else 'TEXT'}" for name in _COLUMNS[1:])
    return (
        f"WITH moved AS (UPDATE {ACCOUNTS.name} SET epoch = %s::INTEGER, seq = %s::INTEGER, digest = %s::TEXT, "  # noqa: S608
        "state = %s::TEXT, seal = %s::TEXT WHERE account_id = %s::TEXT AND seq = %s::INTEGER RETURNING account_id) "
        f"INSERT INTO {RECORDS.name} ({', '.join(_COLUMNS)}) SELECT (SELECT account_id FROM moved), {values}"
    )


APPEND: Final = _append_text()  # names of our own tables and columns, and nothing else, are put into these texts
_HISTORIES: Final = (
    f"SELECT {', '.join(_COLUMNS)} FROM {RECORDS.name} "  # noqa: S608
    "WHERE account_id IS NOT DISTINCT FROM %s AND request_id = ANY(%s) ORDER BY seq"
)


class PipelinedTransaction(SQLTransaction):
    """The verbs of a writing transaction whose driver is in pipeline mode."""

    def __init__(self, driver: Any, statements: dict[str, Prepared]) -> None:
        super().__init__(driver.cursor(), statements, writing=True)
        self._driver = driver

    def standing(self, account_id: str, request_id: str) -> tuple[Head | None, Sequence[Record]]:
        second = self._driver.cursor()
        self._head.run(self._cursor, (account_id,))
        self._run["HISTORY"].run(second, (account_id, request_id))
        row = self._cursor.fetchone()
        return None if row is None else Head._make(row), [Record._make(row) for row in second.fetchall()]

    def histories(self, account_id: str, request_ids: Sequence[str]) -> Sequence[Record]:
        rows = self._cursor.execute(_HISTORIES, (account_id, list(set(request_ids)))).fetchall()
        return [Record._make(row) for row in rows]

    def append(self, record: Record, head: Head) -> None:
        if record.seq != 1:
            self.extend([record], head)
            return
        self.written.append(record)
        self._run["ADD_RECORD"].run(self._driver.cursor(), record)
        self._run["ADD_HEAD"].run(self._driver.cursor(), head)

    def extend(self, records: Sequence[Record], head: Head) -> None:
        first, last = records[0], records[-1]
        self.written.extend(records)
        if first.seq == 1:
            raise LedgerCorrupt(f"account {head.account_id} opens with one record alone")
        if len(records) > 1:
            self._run["ADD_RECORD"].run_many(self._driver.cursor(), records[:-1])
        self._driver.cursor().execute(APPEND, (*head[1:], head.account_id, first.seq - 1, *last[1:]))

    def claim(self, kind: IdentityKind, value: str, account_id: str) -> None:
        self._run["ADD_IDENTITY"].run(self._driver.cursor(), (kind, value, account_id))
