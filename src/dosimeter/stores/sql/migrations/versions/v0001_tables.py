"""The tables: meta, accounts, identities, records."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")  # compared byte by byte


def upgrade() -> None:
    """Create them. A migration repeats the tables as they were, because those in the code move on."""
    op.create_table(
        "dosimeter_meta",
        sa.Column("name", _TEXT, primary_key=True),
        sa.Column("value", _TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dosimeter_accounts",
        sa.Column("account_id", _TEXT, primary_key=True),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("digest", _TEXT, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("seal", _TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dosimeter_identities",
        sa.Column("kind", _TEXT, primary_key=True),
        sa.Column("value", _TEXT, primary_key=True),
        sa.Column("account_id", _TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dosimeter_records",
        sa.Column("account_id", _TEXT, primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("request_id", _TEXT),
        sa.Column("refers_to", sa.Integer),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("recorded_at", _TEXT, nullable=False),
        sa.Column("body", _TEXT, nullable=False),
        sa.Column("previous", _TEXT, nullable=False),
        sa.Column("digest", _TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    columns = ["account_id", "request_id"]
    if op.get_bind().dialect.name == "postgresql":
        columns.reverse()  # so that the primary key, which begins with the account, never looks as good
    op.create_index("dosimeter_records_by_request", "dosimeter_records", columns)
