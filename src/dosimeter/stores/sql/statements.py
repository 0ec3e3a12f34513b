"""Every statement the ledger runs, in one place, with the isolation it needs.

Writing transactions must be serialised per account: two that read the same head may not both move it. SQLite gives
this with BEGIN IMMEDIATE, which admits one writer per file. PostgreSQL gives it with READ COMMITTED, because
`HEAD_TO_MOVE` locks the head's row (FOR UPDATE; SQLite leaves that clause out) before anything else is read; opening
an account is serialised by the primary key of the identities. `MOVE_HEAD` compares before it swaps, so a store that
got this wrong fails instead of overspending. Reading transactions need one snapshot: any SQLite transaction, or
REPEATABLE READ.

The statements are built once with SQLAlchemy Core, compiled once per dialect, and then run by the driver itself: a
charge runs eight of them, and building them anew would cost more than the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, bindparam, insert, select, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from dosimeter.stores.sql.tables import ACCOUNTS, IDENTITIES, META, RECORDS

_ACCOUNT: BindParameter[str] = bindparam("account_id")

STATEMENTS: dict[str, ClauseElement] = {
    "META": select(META.c.name, META.c.value),
    "ADD_META": insert(META).values({c.name: bindparam(c.name) for c in META.c}).inline(),
    "HEAD": select(ACCOUNTS).where(ACCOUNTS.c.account_id == _ACCOUNT),
    "HEAD_TO_MOVE": select(ACCOUNTS).where(ACCOUNTS.c.account_id == _ACCOUNT).with_for_update(),
    "ACCOUNT_IDS": select(ACCOUNTS.c.account_id).order_by(ACCOUNTS.c.account_id),
    "OWNER": select(IDENTITIES.c.account_id).where(
        IDENTITIES.c.kind == bindparam("kind"), IDENTITIES.c.value == bindparam("value")
    ),
    "IDENTITIES": select(IDENTITIES.c.kind, IDENTITIES.c.value).where(IDENTITIES.c.account_id == _ACCOUNT),
    "FIRST": select(RECORDS).where(RECORDS.c.account_id == _ACCOUNT).order_by(RECORDS.c.seq).limit(1),
    "HISTORY": select(RECORDS)
    .where(RECORDS.c.account_id == _ACCOUNT, RECORDS.c.request_id == bindparam("request_id"))
    .order_by(RECORDS.c.seq),
    "RECORDS": select(RECORDS).where(RECORDS.c.account_id == _ACCOUNT).order_by(RECORDS.c.seq),
    "ADD_RECORD": insert(RECORDS).values({c.name: bindparam(c.name) for c in RECORDS.c}).inline(),
    "ADD_HEAD": insert(ACCOUNTS).values({c.name: bindparam(c.name) for c in ACCOUNTS.c}).inline(),
    "MOVE_HEAD": update(ACCOUNTS)
    .where(ACCOUNTS.c.account_id == bindparam("key"), ACCOUNTS.c.seq == bindparam("before"))
    .values({name: bindparam(name) for name in ("epoch", "seq", "digest", "state", "seal")})
    .inline(),
    "ADD_IDENTITY": insert(IDENTITIES).values({c.name: bindparam(c.name) for c in IDENTITIES.c}).inline(),
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement as the driver takes it: its text, and the order of its parameters (None: by name)."""

    text: str
    order: tuple[str, ...] | None
    fixed: dict[str, Any]  # parameters that Core itself adds, such as the number of a LIMIT

    def run(self, cursor: Any, **parameters: Any) -> Any:
        """Execute on a DBAPI cursor and return it."""
        if self.fixed:
            parameters = {**self.fixed, **parameters}
        values = parameters if self.order is None else [parameters[name] for name in self.order]
        cursor.execute(self.text, values)
        return cursor


def prepare(dialect: Dialect) -> dict[str, Prepared]:
    """Compile every statement for a dialect."""
    return {name: _prepare(statement, dialect) for name, statement in STATEMENTS.items()}


def _prepare(statement: ClauseElement, dialect: Dialect) -> Prepared:
    compiled: Any = statement.compile(dialect=dialect)
    order = tuple(compiled.positiontup) if compiled.positional else None
    fixed = {name: value for name, value in compiled.params.items() if value is not None}
    return Prepared(str(compiled), order, fixed)
