"""The database itself refuses to rewrite history."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_FOR_EVER = ("dosimeter_records", "dosimeter_identities", "dosimeter_meta")


_REFUSE = """
CREATE FUNCTION dosimeter_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only', ERRCODE = 'integrity_constraint_violation';
END $$
"""
_FORWARDS = """
CREATE FUNCTION dosimeter_forwards() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.account_id <> OLD.account_id OR NEW.seq <= OLD.seq OR NEW.epoch < OLD.epoch THEN
    RAISE EXCEPTION USING MESSAGE = 'a head only moves forwards', ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$
"""


def upgrade() -> None:
    """Refuse UPDATE and DELETE where rows are for ever, and DELETE of a head."""
    if op.get_bind().dialect.name == "postgresql":
        _on_postgresql()
        return
    for table in _FOR_EVER:
        _refuse("UPDATE", table)
        _refuse("DELETE", table)
    _refuse("DELETE", "dosimeter_accounts")


def _on_postgresql() -> None:
    """The same, and TRUNCATE, and a head that goes back."""
    op.execute(_REFUSE)
    op.execute(_FORWARDS)
    run = "EXECUTE FUNCTION dosimeter_refuse()"
    for table in (*_FOR_EVER, "dosimeter_accounts"):
        verbs = "DELETE" if table == "dosimeter_accounts" else "UPDATE OR DELETE"
        op.execute(f"CREATE TRIGGER {table}_no_rewrite BEFORE {verbs} ON {table} FOR EACH ROW {run}")
        op.execute(f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {run}")
    op.execute(
        "CREATE TRIGGER dosimeter_accounts_forwards BEFORE UPDATE ON dosimeter_accounts "
        "FOR EACH ROW EXECUTE FUNCTION dosimeter_forwards()"
    )


def _refuse(verb: str, table: str) -> None:
    op.execute(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )
