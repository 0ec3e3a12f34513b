"""A ledger's PostgreSQL database: recognising or making it, its pool of connections, and one connection's transactions.

Every connection is made fit before anything is charged on it: the database keeps UTF-8 and writes through to its disk,
commits wait for the disk, a lock is waited for only so long, a client that stops in mid-transaction is put out, and the
ledger is the one that was opened, whatever the address leads to by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import create_engine
from sqlalchemy.dialects.postgresql import psycopg as dialects
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool, QueuePool

from dosimeter.errors import AccountNotFound, LedgerCorrupt, LedgerError, LedgerUnavailable, LedgerVersionError, Undone
from dosimeter.exact import show
from dosimeter.ledger.record import LedgerKey
from dosimeter.stores.sql import migrate
from dosimeter.stores.sql.postgresql_errors import translate, translate_connecting
from dosimeter.stores.sql.postgresql_transaction import PipelinedTransaction
from dosimeter.stores.sql.postgresql_url import read_url, shown
from dosimeter.stores.sql.statements import Prepared, prepare
from dosimeter.stores.sql.transaction import SQLTransaction

if TYPE_CHECKING:
    from sqlalchemy.pool import PoolProxiedConnection

_WRITE: Final = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_READ: Final = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_CREATING: Final = 0x444F5349  # the advisory lock under which a ledger is made or migrated
_FIT: Final = """SELECT
  set_config('lock_timeout', %s, false),
  set_config('idle_in_transaction_session_timeout', %s, false),
  set_config('enable_seqscan', 'off', false),
  set_config('synchronous_commit',
             CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
             ELSE current_setting('synchronous_commit') END, false),
  current_setting('fsync'), current_setting('server_encoding')"""

_TABLES: Final = (  # not to_regclass, which may remember that a table was missing before somebody else made it
    "SELECT relname FROM pg_class WHERE relname IN ('dosimeter_version', 'dosimeter_records') AND relkind = 'r' "
    "AND pg_table_is_visible(oid)"
)


class LedgerServer:
    """Where a ledger lies, and the connections to it that this process has."""

    def __init__(self, location: str, wait: float, connections: int, *, read_only: bool, require_fsync: bool) -> None:
        url = read_url(location)
        self.where: Final = shown(url)
        self.read_only: Final = read_only
        self._wait: Final = wait
        self._require_fsync: Final = require_fsync
        self._size: Final = connections
        _, self._arguments = _dialect().create_connect_args(url)
        self._ledger_id: str | None = None
        self._generation = 0  # counts lost connections: when one breaks, the idle ones of before are not trusted
        self._left_to_the_parent: list[QueuePool] = []
        self._pool = self._new_pool()

    def find_or_make(self, key: LedgerKey | None, *, create: bool) -> LedgerKey:
        """Recognise the ledger, make it where the database has none, bring it to this version's tables; its key."""
        connection = self.connect()
        try:
            found = self._prepared(connection.dbapi_connection, key, create=create)
        except psycopg.Error as error:
            connection.invalidate()
            raise translate(error, self.where) from None
        except DBAPIError as error:
            connection.invalidate()
            raise translate(error.orig or error, self.where) from None
        except BaseException:
            connection.invalidate()
            raise
        connection.close()
        self._ledger_id = found.ledger_id
        return found

    def _prepared(self, driver: Any, key: LedgerKey | None, *, create: bool) -> LedgerKey:
        revision = self._revision(driver)
        if revision is None and not create:
            raise AccountNotFound(
                f"there is no ledger in {self.where}; give another address, or open an account with a budget"
            )
        if revision != migrate.NEWEST:
            if self.read_only:
                raise LedgerUnavailable(
                    f"the ledger {self.where} has revision {revision}, and bringing it to {migrate.NEWEST} means "
                    "writing; open it once without read-only"
                )
            self._migrate(driver, key)
        return self._key(driver)

    # -- connections -------------------------------------------------------------------------------------------------

    def connect(self) -> PoolProxiedConnection:
        """A connection of the pool; give it back with `close`, or with `invalidate` when it may be broken."""
        try:
            while True:
                connection = self._pool.connect()
                trusted = connection.info.setdefault("generation", self._generation) == self._generation
                driver: Any = connection.dbapi_connection
                if trusted and not driver.closed:  # one that broke while it was given back shows here
                    return connection
                connection.invalidate()
                connection.close()
        except PoolTimeout:
            raise LedgerUnavailable(
                f"all {self._size} connections to the ledger {self.where} were in use for {self._wait:g} seconds; "
                "nothing was written, try again"
            ) from None

    def lost(self) -> None:
        """A connection broke: the idle ones are replaced before they are used again."""
        self._generation += 1

    def close(self) -> None:
        """Close the idle connections."""
        self._pool.dispose()

    def leave_to_the_parent(self) -> None:
        """In a forked child: forget the connections without touching them, because their sockets are the parent's."""
        self._left_to_the_parent.append(self._pool)
        self._pool = self._new_pool()

    def _new_pool(self) -> QueuePool:
        return QueuePool(
            self._connect, pool_size=self._size, max_overflow=0, timeout=self._wait, use_lifo=True, reset_on_return=None
        )

    def _connect(self) -> Any:
        defaults = {
            "application_name": "dosimeter",
            "connect_timeout": max(2, min(int(self._wait), 10)),
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
        }
        try:
            made = psycopg.connect(
                **{**defaults, **self._arguments}, autocommit=True, prepare_threshold=2, client_encoding="UTF8"
            )
        except (psycopg.Error, UnicodeError, ValueError) as error:
            raise translate_connecting(error, self.where) from None
        try:
            self._make_fit(made)
        except psycopg.Error as error:
            made.close()
            raise translate(error, self.where) from None
        except BaseException:
            made.close()
            raise
        return made

    def _make_fit(self, made: psycopg.Connection[Any]) -> None:
        milliseconds = max(1, round(self._wait * 1000))
        row = made.execute(_FIT, (str(milliseconds), str(max(10_000, milliseconds)))).fetchone()
        fsync, encoding = row[4:] if row else ("", "")
        if encoding != "UTF8":
            raise LedgerUnavailable(
                f"the database {self.where} is encoded in {encoding}; keep a ledger in one encoded in UTF8"
            )
        if fsync != "on" and self._require_fsync:
            raise LedgerUnavailable(
                f"the server of {self.where} runs with fsync=off, so a power cut would forget charges; set fsync=on"
            )
        if self._ledger_id is not None:
            found = made.execute("SELECT value FROM dosimeter_meta WHERE name = 'ledger_id'").fetchone()
            if found is None or found[0] != self._ledger_id:
                raise LedgerCorrupt(
                    f"{self.where} leads to another ledger than when it was opened; restore the one it was, or open "
                    "it again"
                )

    # -- finding and making ------------------------------------------------------------------------------------------

    def _revision(self, driver: Any) -> str | None:
        """The ledger's revision; None where the database has no ledger."""
        there = {name for (name,) in driver.execute(_TABLES).fetchall()}
        if not there:
            return None
        version = "dosimeter_version" in there
        rows = driver.execute("SELECT version_num FROM dosimeter_version").fetchall() if version else []
        if not rows:
            raise LedgerCorrupt(f"{self.where} holds a part of a ledger only; restore it from a backup")
        if len(rows) != 1 or rows[0][0] not in migrate.REVISIONS:
            raise LedgerVersionError(
                f"{self.where} has revision {show(rows[0][0])}, which this version of Dosimeter does not know (it "
                f"knows {migrate.NEWEST}); install the newest version everywhere, then open it again"
            )
        return str(rows[0][0])

    def _migrate(self, driver: Any, key: LedgerKey | None) -> None:
        """Make or migrate in one transaction; somebody else who does the same at once is waited for."""
        engine = create_engine(
            "postgresql+psycopg://", creator=lambda: driver, poolclass=NullPool, hide_parameters=True
        ).execution_options(isolation_level="AUTOCOMMIT")
        connection = engine.connect()
        run = connection.exec_driver_sql
        run(_WRITE.decode())
        run(f"SELECT pg_advisory_xact_lock({_CREATING})")
        revision = self._revision(driver)
        if revision != migrate.NEWEST:
            migrate.upgrade(connection)
        if revision is None:
            made = key or LedgerKey.new()
            for name, value in (("ledger_id", made.ledger_id), ("key", made.key.hex())):
                _statements()["ADD_META"].run(driver.cursor(), (name, value))
        run("COMMIT")
        connection.detach()
        if self._revision(driver) != migrate.NEWEST:
            raise LedgerError(f"{self.where} did not reach revision {migrate.NEWEST}; please report this")

    def _key(self, driver: Any) -> LedgerKey:
        rows = dict(SQLTransaction(driver.cursor(), _statements(), writing=False).meta())
        try:
            return LedgerKey(rows["ledger_id"], bytes.fromhex(rows["key"]))
        except (KeyError, TypeError, ValueError):
            raise LedgerCorrupt(f"{self.where} has lost its key; restore it from a backup") from None


class Session:
    """One transaction on one connection of the pool: `begin`, the verbs, `end`."""

    __slots__ = ("_block", "_connection", "_cursor", "_driver", "_pipeline", "_server", "_writing")

    def __init__(self, server: LedgerServer, *, writing: bool) -> None:
        self._server = server
        self._writing = writing
        self._block: Any = None
        self._pipeline: Any = None
        self._take(server.connect())

    def begin(self) -> SQLTransaction:
        """Begin, and hand out the verbs; when this fails nothing was begun."""
        return self._begin_writing() if self._writing else self._begin_reading()

    def _begin_writing(self) -> SQLTransaction:
        """Nothing is sent yet: beginning travels with the first statement."""
        try:
            self._block = self._driver.pipeline()
            self._pipeline = self._block.__enter__()
            self._cursor.execute(_WRITE, prepare=False)
        except BaseException as error:
            self._leave_pipeline()
            self._give_back(broken=True)
            if not isinstance(error, psycopg.Error):
                raise
            raise self._translated(error) from None
        return PipelinedTransaction(self._driver, _statements())

    def _begin_reading(self) -> SQLTransaction:
        """A connection that broke while nobody used it shows only now: then another one is taken, once."""
        try:
            self._begin()
        except Undone as first:
            try:
                self._take(self._server.connect())
                self._begin()
            except LedgerUnavailable:
                raise first from None
        return SQLTransaction(self._cursor, _statements(), writing=False)

    def _begin(self) -> None:
        try:
            self._cursor.execute(_READ, prepare=False)
        except BaseException as error:
            self._give_back(broken=True)
            if not isinstance(error, psycopg.Error):
                raise
            raise self._translated(error) from None

    def end(self, error: BaseException | None) -> None:
        """Commit, or undo because of `error`; an error of the driver leaves as one of the ledger's."""
        if error is not None:
            self._undo()
            if isinstance(error, psycopg.Error):
                raise self._translated(error) from None
            return
        try:
            commit = self._driver.cursor()
            commit.execute(b"COMMIT", prepare=False)
            if self._pipeline is not None:
                self._pipeline.sync()
        except BaseException as failed:
            self._undo()
            if not isinstance(failed, psycopg.Error):
                raise
            raise self._translated(failed, committing=True) from None
        self._leave_pipeline()
        kept = commit.statusmessage == "COMMIT"
        self._give_back(broken=not kept)
        if not kept:
            raise Undone(f"the ledger {self._server.where} undid a transaction instead of keeping it; try again")

    def _undo(self) -> None:
        broken = True
        self._leave_pipeline()
        with suppress(psycopg.Error):
            if self._driver.info.transaction_status != TransactionStatus.IDLE:
                self._cursor.execute(b"ROLLBACK", prepare=False)
            broken = self._driver.info.transaction_status != TransactionStatus.IDLE
        self._give_back(broken=broken)

    def _leave_pipeline(self) -> None:
        """Errors of what was under way are known already, or do not matter any more."""
        block, self._block, self._pipeline = self._block, None, None
        if block is not None:
            with suppress(psycopg.Error):
                block.__exit__(None, None, None)

    def _take(self, connection: PoolProxiedConnection) -> None:
        driver: Any = connection.dbapi_connection
        self._connection, self._driver, self._cursor = connection, driver, driver.cursor()

    def _give_back(self, *, broken: bool) -> None:
        if broken:
            self._server.lost()
            self._connection.invalidate()
        self._connection.close()

    def _translated(self, error: psycopg.Error, *, committing: bool = False) -> LedgerError:
        standby = self._driver.info.parameter_status("in_hot_standby") == "on"
        return translate(error, self._server.where, committing=committing, standby=standby)


def statements() -> Sequence[str]:
    """The texts of all statements, as the driver gets them."""
    return [statement.text for statement in _statements().values()]


@cache
def _statements() -> dict[str, Prepared]:
    return prepare(_dialect())


def _dialect() -> Any:
    make: Any = dialects.dialect
    return make(paramstyle="format")
