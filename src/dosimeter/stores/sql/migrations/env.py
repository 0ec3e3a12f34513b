"""Alembic's entry: run on the connection that `dosimeter.stores.sql.migrate` passes, in its transaction."""

from alembic import context

from dosimeter.stores.sql.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table="dosimeter_version",
    transactional_ddl=False,  # the caller's transaction covers all of it
)
context.run_migrations()
