"""Opening: from a file of rows and a budget to a session, finding the account that this data already has."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dosimeter.errors import AccountConflict, AccountNotFound, InputError
from dosimeter.exact import Number, show
from dosimeter.ledger import Account, DatasetIdentity, Ledger
from dosimeter.ledger.account import GUARDED, SPLIT
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.session.defaults import filter_for, odometers_for
from dosimeter.session.session import Session

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter
    from dosimeter.ledger.split import Split
    from dosimeter.ledger.watch import Watch
    from dosimeter.queries import Schema
    from dosimeter.sources import Source

DEFAULT_LEDGER = "dosimeter.db"
_ENDINGS = (".gz", ".csv", ".tsv", ".parquet", ".pq", ".duckdb", ".ddb", ".db")


def open(  # noqa: A001 - dosimeter.open, as people say it
    data: str | os.PathLike[str] | Source,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    declared_delta: Number = 0,
    filter: Filter[Any] | None = None,  # noqa: A002
    user: str | None = None,
    max_contributions: int = 1,
    relation: str = "add_remove",
    odometers: Sequence[Any] | None = None,
    name: str | None = None,
    table: str | None = None,
    columns: Schema | Mapping[str, str] | None = None,
    split: Split | None = None,
    members: bool = False,
    analyst: str | None = None,
    ledger: str | os.PathLike[str] | Ledger = DEFAULT_LEDGER,
    opened_by: str | None = None,
    pad_seconds: Number | None = None,
) -> Session:
    """Open a data set's account, or the one it already has, and start a session.

    The account belongs to the data: the same content under another path or name finds the same account, with what was
    spent spent. Without a budget an existing account is reopened; with one it must agree with the account's own.

    Args:
        data: a CSV or Parquet file, a DuckDB database (with `table`), or a source.
        epsilon: the budget for everybody's queries together; alone it opens a pure account.
        delta: the probability of failure of the whole; with rho or mu it admits mechanisms that may fail.
        rho: or a budget in zCDP.
        mu: or a budget in Gaussian DP.
        declared_delta: the part of delta kept for mechanisms that declare a probability of failure.
        filter: or any filter of `dosimeter.adaptive.filters`.
        user: the column that identifies a person; None when every row is a person of its own.
        max_contributions: rows of one person that one query may use; the others are dropped.
        relation: ``add_remove``, ``replace_one`` or ``zero_out``.
        odometers: of `dosimeter.adaptive.odometers`; a tuned mixture when left out.
        name: what the data set is called; the file's name without its ending (and the table's) when left out.
        table: of a DuckDB database.
        columns: the public types of the columns, ``{"age": "integer"}``, or a whole `Schema`; inferred from the file
            when left out, which makes the inferred types public. They are fixed when the account opens.
        split: for data that grows: how it is split into blocks, each of which has the whole budget for its own rows
            (`dosimeter.ledger.split.Split`). Fixed when the account opens; questions then name blocks.
        members: with a budget: only members ask, within quotas; whoever opens the account is its first steward and
            grants roles (`Session.members`). Fixed when the account opens.
        analyst: who asks, of an account with members.
        ledger: the ledger's file or postgresql:// address (made when there is a budget to write into it), or a ledger.
        opened_by: who opens the account; the login name when left out.
        pad_seconds: see `Session`.

    Raises:
        AccountConflict: the data changed since the account was opened, or the account has other terms.
        AccountNotFound: no budget was given and the data has no account yet.
        SourceError, InputError, LedgerError: the data, an argument or the ledger is not usable; nothing was changed.
    """
    rule = filter
    if any(value is not None for value in (epsilon, delta, rho, mu)):
        if filter is not None:
            raise InputError("give a budget (epsilon, delta, rho, mu) or a filter, which has its own; not both")
        rule = filter_for(epsilon=epsilon, delta=delta, rho=rho, mu=mu, declared_delta=declared_delta)
    source = source_of(data, table=table, columns=columns)
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, create=rule is not None)
    identity = DatasetIdentity(_known_as(data, name, table), source.content_digest())
    account = _found(book, identity)
    if rule is not None:
        unit = PrivacyUnit(user, max_contributions)
        bound = NeighbouringRelation.read(relation)
        if split is not None:
            _require_type(split, source.schema)
        facts: dict[str, Any] = {SPLIT: split.to_json()} if split is not None else {}
        facts |= {GUARDED: True} if members else {}
        account = _open(book, identity, account, source, rule, unit, bound, odometers, opened_by, facts)
    if account is None:
        raise AccountNotFound(
            f"{show(identity.name)} has no account in this ledger yet; give a budget, as in epsilon='1', delta='1e-6'"
        )
    _require_split(account, split)
    if members and GUARDED not in account.terms:
        raise AccountConflict(f"the account of {account.name!r} was opened without members, and that is fixed")
    session = _session_of(account)(book, account, source, pad_seconds=pad_seconds, analyst=analyst)
    _require_columns(session.schema, source.schema, columns)
    return session


def open_ledger(
    location: str | os.PathLike[str], *, create: bool = True, read_only: bool = False, watch: Watch | None = None
) -> Ledger:
    """The ledger in a file or at a postgresql:// address, made when missing unless `create` is False.

    Args:
        location: the path of an SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE.
        create: make a new ledger where there is none.
        read_only: never write: for statements and audits, also of a file on a read-only disk or of a replica.
        watch: told of what happens, for metrics.
    """
    from dosimeter.stores.location import open_store

    return Ledger(open_store(location, create=create, read_only=read_only), watch=watch)


def _open(
    book: Ledger,
    identity: DatasetIdentity,
    account: Account | None,
    source: Source,
    rule: Filter[Any],
    unit: PrivacyUnit,
    relation: NeighbouringRelation,
    odometers: Sequence[Any] | None,
    opened_by: str | None,
    facts: dict[str, Any],
) -> Account:
    if unit.column is not None:
        source.schema.column(unit.column)
    who = opened_by or _login_name()
    readers = tuple(odometers) if odometers is not None else odometers_for(rule)

    def enter(terms: dict[str, Any] | None) -> Account:
        return book.open(
            identity, unit=unit, relation=relation, filter=rule, odometers=readers, terms=terms, opened_by=who
        )

    if account is None:
        try:  # the salt decides which rows of a person are kept; it is random, so two openers would disagree
            terms = {"schema": source.schema.to_json(), "salt": os.urandom(16).hex()}
            return enter(terms | facts)
        except AccountConflict:
            if book.find(identity) is None:
                raise
    return enter(None)


def _found(book: Ledger, identity: DatasetIdentity) -> Account | None:
    """The account of this data; data that was opened in blocks may have grown, which its steward foresaw."""
    try:
        return book.find(identity)
    except AccountConflict:
        grown = [a for a in book.accounts() if a.name == identity.name and SPLIT in a.terms]
        if len(grown) != 1:
            raise
        why = "rows arrived, as foreseen when the data was opened in blocks"
        return book.accept_data_change(grown[0], identity, reason=why, authorised_by=grown[0].opened_by)


def _session_of(account: Account) -> type[Session]:
    if SPLIT not in account.terms:
        return Session
    from dosimeter.session.split import SplitSession

    return SplitSession


def _require_split(account: Account, split: Split | None) -> None:
    if split is not None and account.terms.get(SPLIT) != split.to_json():
        raise AccountConflict(
            f"the account of {account.name!r} was opened {'with other' if SPLIT in account.terms else 'without'} "
            "blocks, and that is fixed: another split of the same rows would be a second budget for them"
        )


def _require_type(split: Split, schema: Schema) -> None:
    """The column of the blocks exists and is of a type that the rule can split."""
    from dosimeter.ledger.split import TimeWindows

    kind = str(schema.column(split.rule.column).type)
    wanted = ("date", "timestamp") if isinstance(split.rule, TimeWindows) else ("text",)
    if kind not in wanted:
        raise InputError(
            f"column {show(split.rule.column)} is {kind}; these blocks need {' or '.join(wanted)}, which columns= may "
            "declare"
        )


def _require_columns(kept: Schema, given: Schema, declared: Schema | Mapping[str, str] | None) -> None:
    """The columns fixed when the account opened are there, and are not declared as something else now."""
    if gone := sorted(set(kept.names) - set(given.names)):
        raise InputError(
            f"the account was opened with column {show(gone[0])}, which this data no longer has; "
            "bring the column back, or open the data as another data set"
        )
    said = () if declared is None else declared if isinstance(declared, Mapping) else declared.names
    for name in set(said) & set(kept.names):
        if given.column(name) != kept.column(name):
            raise AccountConflict(
                f"the account was opened with column {show(name)} as {kept.column(name).type}, and that is fixed; "
                "leave its type out"
            )


def identity_of(
    data: str | os.PathLike[str] | Source, *, name: str | None = None, table: str | None = None
) -> DatasetIdentity:
    """Which data this is: its declared name and the digest of its content."""
    return DatasetIdentity(_known_as(data, name, table), source_of(data, table=table).content_digest())


def source_of(data: Any, *, table: str | None = None, columns: Schema | Mapping[str, str] | None = None) -> Source:
    """The rows behind a path; a source is returned as it is."""
    if not isinstance(data, str | os.PathLike):
        if not all(hasattr(data, part) for part in ("schema", "content_digest", "aggregate")):
            raise InputError(
                f"rows cannot be read from a {type(data).__name__}; give the path of a file, or make a source of "
                "Python values with dosimeter.sources.DuckDBSource.from_rows(columns, rows)"
            )
        source: Source = data
        return source
    from dosimeter.sources.duckdb import DuckDBSource

    return DuckDBSource.open(data, table=table, columns=columns)


def _known_as(data: Any, name: str | None, table: str | None) -> str:
    if name is not None:
        return name
    if not isinstance(data, str | os.PathLike):
        raise InputError("rows without a file need a name: open(source, name='patients')")
    stem = Path(os.fsdecode(data)).name
    for ending in _ENDINGS:
        if stem.lower().endswith(ending) and len(stem) > len(ending):
            stem = stem[: -len(ending)]
    return stem if table is None else f"{stem}.{table}"


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in many containers
        return "unnamed user"
