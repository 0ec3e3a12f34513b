"""What is the case with a ledger's PostgreSQL server, seen through one connection: settings, rights, tables, clocks.

Nothing is written: the connection is one that only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

import psycopg

from dosimeter.errors import LedgerError
from dosimeter.ledger.checkup import AHEAD, Finding, error, ok, warning
from dosimeter.stores.sql.postgresql_errors import translate
from dosimeter.stores.sql.postgresql_server import LedgerServer
from dosimeter.stores.sql.sqlite_checkup import revision_found
from dosimeter.stores.sql.tables import BY_REQUEST, METADATA

TABLES: Final = tuple(sorted(METADATA.tables))
TRIGGERS: Final = frozenset(
    {f"{table}_{what}" for table in TABLES for what in ("no_rewrite", "no_truncate")} | {"dosimeter_accounts_forwards"}
)
OLDEST: Final = 14

_SERVER = "a ledger that cannot be reached charges nothing and answers nothing"
_DISK = "a commit counts only when it survives a power cut"
_ORDER = "two charges of one account must not decide on the same state"
_STANDBY = "a standby that takes over without the last commits would grant their budget again"
_RIGHTS = "who may delete rows, drop triggers or own the tables may rewrite history"
_TABLES = "charges rely on the tables and indexes, and triggers refuse to rewrite history"
_LINK = "questions, answers and the ledger's secret travel over the connection"
_CLOCK = "quotas unlock by the time of the machine that charges, and people compare times of records"
_ROOM = "without a connection left nothing is charged"
_ENCODING = "texts must come back as they were written"

_ASK: Final = """SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000,
  current_setting('fsync'), current_setting('full_page_writes'), current_setting('server_encoding'),
  (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
  (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_isolation'),
  current_setting('default_transaction_read_only'), current_setting('session_replication_role'),
  pg_is_in_recovery(), current_setting('data_checksums'), current_setting('synchronous_standby_names'),
  (SELECT count(*) FROM pg_stat_replication),
  current_setting('max_connections')::int,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
  clock_timestamp(), pg_size_pretty(pg_database_size(current_database())),
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user), current_user,
  coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)"""
_NAMES: Final = (
    "version", "major", "fsync", "full_pages", "encoding", "commit", "isolation", "read_only", "role", "recovering",
    "checksums", "standby_names", "standbys", "connections", "used", "clock", "size", "superuser", "user", "tls",
)  # fmt: skip
_THERE: Final = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname = ANY(%s) AND pg_table_is_visible(oid)"
_FIRE: Final = (
    "SELECT tgname FROM pg_trigger WHERE tgrelid = ANY(%s::regclass[]) AND NOT tgisinternal AND tgenabled IN ('O', 'A')"
)


def examine_server(location: str, *, now: Callable[[], datetime]) -> Iterator[Finding]:
    """Look at everything that can be seen of a server; an error about `server` or `schema` means it cannot be read."""
    try:
        server = LedgerServer(location, 10, 1, read_only=True, require_fsync=False)
        connection = server.connect()
    except LedgerError as failed:
        yield error("server", str(failed), _SERVER, "see docs/operate/postgresql.md")
        return
    try:
        driver: Any = connection.dbapi_connection
        driver.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        host = str(driver.info.host or "")
        facts = dict(zip(_NAMES, driver.execute(_ASK).fetchone(), strict=True))
        yield from _settings(facts)
        yield from _circumstances(facts, now())
        yield _link(facts, host)
        yield from _inside(driver, facts)
        driver.execute("ROLLBACK")
    except psycopg.Error as failed:
        yield error("server", str(translate(failed, server.where)), _SERVER, "see docs/operate/postgresql.md")
    finally:
        connection.close()
        server.close()


def _settings(facts: dict[str, Any]) -> Iterator[Finding]:
    if facts["major"] < OLDEST:
        yield error("server", f"PostgreSQL {facts['version']}", _SERVER, f"use PostgreSQL {OLDEST} or newer")
    else:
        yield ok("server", f"PostgreSQL {facts['version']}; the database takes {facts['size']} of its disk", _SERVER)
    if facts["encoding"] == "UTF8":
        yield ok("encoding", "UTF8", _ENCODING)
    else:
        yield error("encoding", str(facts["encoding"]), _ENCODING, "keep the ledger in a database encoded in UTF8")
    yield _setting("fsync", facts["fsync"], _DISK, error)
    yield _setting("full_page_writes", facts["full_pages"], _DISK, error)
    yield _setting("data_checksums", facts["checksums"], _DISK, warning)
    held = "the ledger's connections wait for the disk" if facts["commit"] == "off" else "commits wait for the disk"
    yield ok("synchronous_commit", f"{facts['commit']} by default; {held}", _DISK)
    named = "every transaction of the ledger names its own"
    yield ok("isolation", f"{facts['isolation']} by default; {named}", _ORDER)


def _circumstances(facts: dict[str, Any], now: datetime) -> Iterator[Finding]:
    if facts["recovering"] or facts["read_only"] == "on":
        what = "this is a standby" if facts["recovering"] else "transactions only read by default"
        yield warning("writing", f"{what}: statements and audits only", _SERVER, "charge at the primary")
    else:
        yield ok("writing", "this server takes charges", _SERVER)
    if facts["role"] != "origin":
        what = f"session_replication_role is {facts['role']} for this user, so triggers do not fire"
        yield error("triggers", what, _TABLES, "set it to origin for every user of the ledger")
    if facts["standbys"] and not facts["standby_names"]:
        what = f"{facts['standbys']} standbys follow, and no commit waits for any of them"
        todo = "set synchronous_standby_names, or compare a checkpoint after a failover"
        yield warning("standby", what, _STANDBY, todo)
    else:
        yield ok("standby", f"{facts['standbys']} standbys follow", _STANDBY)
    if facts["used"] > 0.8 * facts["connections"]:
        what = f"{facts['used']} of {facts['connections']} connections are in use"
        yield warning("connections", what, _ROOM, "lower connections_max of each process, or raise max_connections")
    else:
        yield ok("connections", f"{facts['used']} of {facts['connections']} connections are in use", _ROOM)
    apart = abs(now - facts["clock"])
    if apart > AHEAD:
        todo = "let both machines follow a time server"
        yield warning("clock", f"the server's clock and this one are {apart} apart", _CLOCK, todo)
    else:
        yield ok("clock", "the server's clock and this one agree", _CLOCK)


def _setting(name: str, value: str, why: str, level: Callable[[str, str, str, str], Finding]) -> Finding:
    return ok(name, "on", why) if value == "on" else level(name, str(value), why, f"turn {name} on")


def _link(facts: dict[str, Any], host: str) -> Finding:
    local = host.startswith("/") or host in {"", "localhost", "127.0.0.1", "::1"}
    if facts["tls"] or local:
        said = "the connection is encrypted" if facts["tls"] else "the connection stays on this machine"
        return ok("tls", said, _LINK)
    todo = "add sslmode=verify-full to the address"
    return warning("tls", f"the connection to {host} is not encrypted", _LINK, todo)


def _inside(driver: Any, facts: dict[str, Any]) -> Iterator[Finding]:
    there = _column(driver, _THERE, [*TABLES, "dosimeter_version"])
    if not there:
        yield error("schema", "the database holds no ledger", _SERVER, "give another address, or open an account")
        return
    if missing := sorted({*TABLES, "dosimeter_version"} - there):
        yield error("schema", f"missing: {', '.join(missing)}", _TABLES, "restore the ledger from a backup")
        return
    yield from _rights(driver, facts)
    if not driver.execute("SELECT has_table_privilege('dosimeter_version', 'SELECT')").fetchone()[0]:
        return
    yield revision_found([row[0] for row in driver.execute("SELECT version_num FROM dosimeter_version").fetchall()])
    fire = _column(driver, _FIRE, list(TABLES))
    if gone := sorted(TRIGGERS - fire):
        todo = "find out who did it, then compare the audit with a checkpoint (docs/operate/recover.md)"
        yield error("triggers", f"missing or switched off: {', '.join(gone)}", _TABLES, todo)
    elif facts["role"] == "origin":
        yield ok("triggers", f"all {len(TRIGGERS)} stand", _TABLES)
    if odd := sorted(fire - TRIGGERS):
        yield error("triggers", f"not of this application: {', '.join(odd)}", _TABLES, "find out who made it; drop it")
    index = driver.execute(
        "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = %s",
        (BY_REQUEST.name,),
    ).fetchone()
    if index is None or not index[0]:
        yield error("index", f"{BY_REQUEST.name} is missing or damaged", _TABLES, f"REINDEX INDEX {BY_REQUEST.name}")
    else:
        yield ok("index", "the records of a request are found without reading the others", _TABLES)


def _rights(driver: Any, facts: dict[str, Any]) -> Iterator[Finding]:
    rows = driver.execute(
        "SELECT t, p FROM unnest(%s::text[]) t, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) p "
        "WHERE has_table_privilege(t, p)",
        (list(TABLES),),
    ).fetchall()
    may = {(table, verb) for table, verb in rows}
    owned = driver.execute(
        "SELECT count(*) FROM pg_class WHERE oid = ANY(%s::regclass[]) AND pg_has_role(relowner, 'USAGE')",
        (list(TABLES),),
    ).fetchone()[0]
    user = facts["user"]
    if unread := sorted(table for table in TABLES if (table, "SELECT") not in may):
        todo = "grant what docs/operate/postgresql.md lists"
        yield error("rights", f"{user} may not read {', '.join(unread)}", _SERVER, todo)
        return
    if facts["superuser"] or owned or may & {(table, verb) for table in TABLES for verb in ("DELETE", "TRUNCATE")}:
        what = "is a superuser" if facts["superuser"] else "owns tables, or may delete from them"
        yield warning(
            "rights",
            f"{user} {what}",
            _RIGHTS,
            "charge as a user with the rights of docs/operate/postgresql.md; keep the owner for migrations",
        )
        return
    charges = {(table, "INSERT") for table in TABLES if table != "dosimeter_meta"} | {("dosimeter_accounts", "UPDATE")}
    what = "may charge, and not rewrite" if charges <= may else "may read, and not charge"
    yield ok("rights", f"{user} {what}", _RIGHTS)


def _column(driver: Any, statement: str, names: list[str]) -> set[str]:
    return {str(row[0]) for row in driver.execute(statement, (names,)).fetchall()}
