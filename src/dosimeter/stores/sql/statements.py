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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Integer, Table, bindparam, func, insert, literal_column, or_, select, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from dosimeter.stores.sql.tables import ACCOUNTS, BY_REQUEST, IDENTITIES, META, RECORDS

_ACCOUNT: BindParameter[str] = bindparam("account_id")


def _add(table: Table) -> tuple[ClauseElement, tuple[str, ...]]:
    names = tuple(column.name for column in table.columns)
    return insert(table).values({name: bindparam(name) for name in names}).inline(), names


STATEMENTS: dict[str, tuple[ClauseElement, tuple[str, ...]]] = {  # each with its parameters in the order we give them
    "META": (select(META.c.name, META.c.value), ()),
    "ADD_META": _add(META),
    "HEAD": (select(ACCOUNTS).where(ACCOUNTS.c.account_id == _ACCOUNT), ("account_id",)),
    "HEAD_TO_MOVE": (select(ACCOUNTS).where(ACCOUNTS.c.account_id == _ACCOUNT).with_for_update(), ("account_id",)),
    "ACCOUNT_IDS": (select(ACCOUNTS.c.account_id), ()),
    "OWNER": (
        select(IDENTITIES.c.account_id).where(
            IDENTITIES.c.kind == bindparam("kind"), IDENTITIES.c.value == bindparam("value")
        ),
        ("kind", "value"),
    ),
    "IDENTITIES": (
        select(IDENTITIES.c.kind, IDENTITIES.c.value).where(IDENTITIES.c.account_id == _ACCOUNT),
        ("account_id",),
    ),
    "RECORD": (
        select(RECORDS).where(RECORDS.c.account_id == _ACCOUNT, RECORDS.c.seq == bindparam("seq")),
        ("account_id", "seq"),
    ),
    # Both databases would walk the whole account by its primary key if they were not told. SQLite takes a hint.
    # PostgreSQL has none, but it looks up IS NOT DISTINCT FROM in no index, so only the one by request is left.
    "HISTORY": (
        select(RECORDS)
        .with_hint(RECORDS, f"INDEXED BY {BY_REQUEST.name}", "sqlite")
        .where(RECORDS.c.account_id.is_not_distinct_from(_ACCOUNT), RECORDS.c.request_id == bindparam("request_id"))
        .order_by(RECORDS.c.seq),
        ("account_id", "request_id"),
    ),
    "RECORDS": (select(RECORDS).where(RECORDS.c.account_id == _ACCOUNT).order_by(RECORDS.c.seq), ("account_id",)),
    "PAGE": (
        select(RECORDS)
        .where(RECORDS.c.account_id == _ACCOUNT, RECORDS.c.seq > bindparam("after"))
        .order_by(RECORDS.c.seq)
        .limit(bindparam("count", type_=Integer)),
        ("account_id", "after", "count"),
    ),
    "VOIDS": (
        select(RECORDS.c.seq, RECORDS.c.refers_to)
        .where(
            RECORDS.c.account_id == _ACCOUNT,
            RECORDS.c.seq > bindparam("after"),
            RECORDS.c.kind == literal_column("'voided'"),
        )
        .order_by(RECORDS.c.seq)
        .limit(bindparam("count", type_=Integer)),
        ("account_id", "after", "count"),
    ),
    "REPEATED": (
        select(RECORDS.c.request_id)
        .where(
            RECORDS.c.account_id == _ACCOUNT,
            or_(RECORDS.c.kind == literal_column("'reserved'"), RECORDS.c.kind == literal_column("'refused'")),
        )
        .group_by(RECORDS.c.request_id)
        .having(func.count() > 1),
        ("account_id",),
    ),
    "ADD_RECORD": _add(RECORDS),
    "ADD_HEAD": _add(ACCOUNTS),
    "MOVE_HEAD": (
        update(ACCOUNTS)
        .where(ACCOUNTS.c.account_id == bindparam("key"), ACCOUNTS.c.seq == bindparam("before"))
        .values({name: bindparam(name) for name in ("epoch", "seq", "digest", "state", "seal")})
        .inline(),
        ("epoch", "seq", "digest", "state", "seal", "key", "before"),
    ),
    "ADD_IDENTITY": _add(IDENTITIES),
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement as the driver takes it: its text, and how the driver wants our parameters."""

    text: str
    names: tuple[str, ...]  # ours, in the order of `run`'s values
    order: tuple[str, ...] | None  # the driver's; None: it wants them by name
    constants: dict[str, Any]  # parameters that the dialect added, as an offset of nothing

    def run(self, cursor: Any, values: tuple[Any, ...]) -> Any:
        """Execute on a DBAPI cursor and return it."""
        if self.order == self.names:
            return cursor.execute(self.text, values)
        named = {**self.constants, **dict(zip(self.names, values, strict=True))}
        cursor.execute(self.text, named if self.order is None else [named[name] for name in self.order])
        return cursor

    def run_many(self, cursor: Any, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute once per row."""
        if self.order == self.names:
            cursor.executemany(self.text, rows)
            return
        for row in rows:
            self.run(cursor, row)


def prepare(dialect: Dialect) -> dict[str, Prepared]:
    """Compile every statement for a dialect."""
    return {name: _prepare(statement, names, dialect) for name, (statement, names) in STATEMENTS.items()}


def _prepare(statement: ClauseElement, names: tuple[str, ...], dialect: Dialect) -> Prepared:
    compiled: Any = statement.compile(dialect=dialect)
    constants = {name: value for name, value in compiled.params.items() if name not in names}
    return Prepared(str(compiled), names, tuple(compiled.positiontup) if compiled.positional else None, constants)
