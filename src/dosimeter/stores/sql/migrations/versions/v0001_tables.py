"""The tables: meta, accounts, identities, records."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them. A migration repeats the tables as they were, because those in the code move on."""
    op.create_table(
        "dosimeter_meta",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dosimeter_accounts",
        sa.Column("account_id", sa.Text, primary_key=True),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("seal", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dosimeter_identities",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, primary_key=True),
        sa.Column("account_id", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dosimeter_records",
        sa.Column("account_id", sa.Text, primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text),
        sa.Column("refers_to", sa.Integer),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("recorded_at", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("previous", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("dosimeter_records_by_request", "dosimeter_records", ["account_id", "request_id"])
