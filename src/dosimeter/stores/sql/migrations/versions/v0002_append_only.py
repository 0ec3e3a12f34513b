"""The database itself refuses to rewrite history."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_FOR_EVER = ("dosimeter_records", "dosimeter_identities", "dosimeter_meta")


def upgrade() -> None:
    """Refuse UPDATE and DELETE where rows are for ever, and DELETE of a head."""
    if op.get_bind().dialect.name != "sqlite":
        raise NotImplementedError("another dialect writes its own triggers here")
    for table in _FOR_EVER:
        _refuse("UPDATE", table)
        _refuse("DELETE", table)
    _refuse("DELETE", "dosimeter_accounts")


def _refuse(verb: str, table: str) -> None:
    op.execute(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )
