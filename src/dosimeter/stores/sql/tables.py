"""The four tables. Numbers that decide privacy are texts inside JSON, so no column type can round them.

Texts are compared byte by byte on every database: two ids that differ only in case or in Unicode form are two ids.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, MetaData, Table
from sqlalchemy import Text as AnyText

METADATA = MetaData()
Text = AnyText().with_variant(AnyText(collation="C"), "postgresql")

META = Table(  # the ledger's id and secret
    "dosimeter_meta",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

ACCOUNTS = Table(  # the heads: the only rows that ever change
    "dosimeter_accounts",
    METADATA,
    Column("account_id", Text, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("seal", Text, nullable=False),
    sqlite_with_rowid=False,
)

IDENTITIES = Table(  # which names and content hashes belong to which account
    "dosimeter_identities",
    METADATA,
    Column("kind", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    sqlite_with_rowid=False,
)

RECORDS = Table(  # append-only
    "dosimeter_records",
    METADATA,
    Column("account_id", Text, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("request_id", Text),
    Column("refers_to", Integer),
    Column("epoch", Integer, nullable=False),
    Column("recorded_at", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("digest", Text, nullable=False),
    sqlite_with_rowid=False,
)

BY_REQUEST = Index(  # on PostgreSQL in the opposite order, see the first migration
    "dosimeter_records_by_request", RECORDS.c.account_id, RECORDS.c.request_id
)
