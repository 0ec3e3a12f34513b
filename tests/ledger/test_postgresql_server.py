"""A ledger on PostgreSQL under everything a server can do: each fault ends in an answer or in a clear error.

After every one of them the charge is kept or was never made; it is never doubled and never lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url
from tests import postgresql
from tests.ledger.ledger_world import PEOPLE, answered, ask, open_account, spent
from tests.ledger.relay import Relay, relay

from dosimeter.errors import (
    AccountNotFound,
    CommitUnknown,
    InputError,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    LedgerVersionError,
    Undone,
)
from dosimeter.ledger import DatasetIdentity, Ledger, RefusedRequest, Replayed, Reserved
from dosimeter.stores import PostgreSQLStore, open_store


@pytest.fixture
def store(postgresql_url: str) -> Iterator[PostgreSQLStore]:
    """An empty ledger's store."""
    made = PostgreSQLStore(postgresql_url, wait_seconds_max=10)
    yield made
    made.close()


@pytest.fixture
def ledger(store: PostgreSQLStore) -> Ledger:
    """A ledger on it."""
    return Ledger(store)


def with_part(address: str, **parts: Any) -> str:
    """The address with another user, database, ..."""
    return make_url(address).set(**parts).render_as_string(hide_password=False)


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("mysql://u@h/d", "starts with postgresql://"),
        ("http://example.org", "starts with postgresql://"),
        ("postgresql://u:p@h", "names no database"),
        ("postgresql://u:s3cret@h:port/d", "cannot be read"),
        ("postgresql://u:s3cret@[::1/d", "cannot be read"),
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_tried(location: str, says: str) -> None:
    """And never becomes the name of a file; the password is not in the message."""
    with pytest.raises(InputError, match=says) as refused:
        open_store(location)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("postgresql://u:s3cret@127.0.0.1:1/d", "nothing listens there"),
        ("postgresql://u:s3cret@/d?host=/nowhere", "nothing listens there"),
        ("postgresql://u:s3cret@no-such-host.invalid/d", "host is not known"),
        ("postgresql://u@127.0.0.1:1/d?password=s3cret", "cannot be reached"),
        ("postgresql://u@127.0.0.1:1/d?no_such_option=s3cret", "cannot be reached"),
    ],
)
def test_a_server_that_is_not_there_is_a_clear_error(location: str, says: str) -> None:
    """What was tried, why it failed, what to check; the password nowhere, and at once."""
    with pytest.raises(LedgerUnavailable, match=says) as refused:
        open_store(location)
    text = str(refused.value)
    assert "s3cret" not in text or "no_such_option" in location
    assert refused.value.__suppress_context__


def test_a_database_that_is_not_there(postgresql_url: str) -> None:
    """It is named, and not made."""
    with pytest.raises(LedgerUnavailable, match=r"no database of this name.*create it"):
        PostgreSQLStore(with_part(postgresql_url, database="nowhere"))


def test_a_user_that_is_not_there(postgresql_url: str) -> None:
    """The server does not let them in."""
    with pytest.raises(LedgerUnavailable, match="cannot be reached"):
        PostgreSQLStore(with_part(postgresql_url, username="nobody_of_this_name"))


def test_a_password_is_shown_nowhere(postgresql_url: str) -> None:
    """Neither in the store's address nor in an error, whether it stood before the @ or among the options."""
    for address in (
        with_part(postgresql_url, username="postgres", password="s3 cret/%"),
        f"{postgresql_url}{'&' if '?' in postgresql_url else '?'}password=s3cret",
    ):
        store = PostgreSQLStore(address)
        assert "cret" not in store.url
        assert "***" in store.url
        store.close()
        with pytest.raises(LedgerUnavailable) as closed:
            Ledger(store).accounts()
        assert "cret" not in str(closed.value)


def test_a_database_without_a_ledger_is_only_made_into_one_when_asked(postgresql_server: str, worker_id: str) -> None:
    """create=False says that there is none; read-only never makes one; both leave the database as it was."""
    address = postgresql.database(postgresql_server, f"bare_{worker_id}")
    for how in ({"create": False}, {"read_only": True}):
        with pytest.raises(AccountNotFound, match="no ledger"):
            PostgreSQLStore(address, **how)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert postgresql.run(address, tables) == [(0,)]
    stores = []
    with ThreadPoolExecutor(4) as pool:  # several that find nothing at once make one ledger
        stores = list(pool.map(lambda _: PostgreSQLStore(address), range(4)))
    assert len({store.key().ledger_id for store in stores}) == 1
    for store in stores:
        store.close()


def test_other_encodings_are_refused(postgresql_server: str, worker_id: str) -> None:
    """Names would be compared in another alphabet."""
    name = f"latin_{worker_id}"
    with psycopg.connect(postgresql_server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    with pytest.raises(LedgerUnavailable, match="LATIN1"):
        PostgreSQLStore(with_part(postgresql_server, database=name))


# -- lost connections ------------------------------------------------------------------------------------------------


@pytest.fixture
def wire(postgresql_url: str) -> Iterator[Relay]:
    """A relay to the ledger."""
    with relay(postgresql_url) as made:
        yield made


@pytest.mark.parametrize("where", ["before commit", "after commit"])
def test_a_connection_cut_at_the_commit_charges_once(wire: Relay, where: str) -> None:
    """Whether the server kept it or not, reserve returns the first holder's reservation, and one charge stands."""
    ledger = Ledger(PostgreSQLStore(wire.address, wait_seconds_max=5))
    account = open_account(ledger)
    for number in range(4):
        wire.cut = where
        outcome = ledger.reserve(account, ask(f"q{number}"))
        assert isinstance(outcome, Reserved)
        assert outcome.void_token is not None
        wire.cut = where
        assert ledger.settle(outcome, number).first
        assert isinstance(ledger.reserve(account, ask(f"q{number}")), Replayed)
    assert wire.cuts == 8
    assert spent(ledger, account) == "0.4"
    assert ledger.statement(account).records == 9
    assert ledger.audit(account).ok
    ledger.store.close()


@pytest.mark.parametrize("where", ["before commit", "after commit"])
def test_a_reset_cut_at_its_commit_opens_one_epoch(wire: Relay, where: str) -> None:
    """The verb for which plain repetition would be worst."""
    ledger = Ledger(PostgreSQLStore(wire.address, wait_seconds_max=5))
    account = open_account(ledger)
    wire.cut = where
    assert ledger.reset(account, reason="another study", authorised_by="Ada").epoch == 2
    assert [e.number for e in ledger.statement(account).epochs] == [1, 2]
    ledger.store.close()


def test_without_retries_the_error_says_that_the_commit_is_unknown(wire: Relay) -> None:
    """And the same request finds out."""
    ledger = Ledger(PostgreSQLStore(wire.address, wait_seconds_max=5), retry_seconds_max=0)
    account = open_account(ledger)
    wire.cut = "after commit"
    with pytest.raises(CommitUnknown, match="charged once"):
        ledger.reserve(account, ask("q"))
    outcome = ledger.reserve(account, ask("q"))
    assert isinstance(outcome, Reserved)
    assert outcome.taken_over
    assert spent(ledger, account) == "0.1"
    ledger.store.close()


def test_idle_connections_that_were_cut_are_replaced(wire: Relay) -> None:
    """All of the pool, after a server's or a firewall's pause: the next verbs notice and go on, reading ones too."""
    store = PostgreSQLStore(wire.address, wait_seconds_max=5, connections_max=4)
    ledger = Ledger(store)
    account = open_account(ledger, "10")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: answered(ledger, account, f"a{n}"), range(8)))
        wire.cut_all()
        list(pool.map(lambda n: answered(ledger, account, f"b{n}"), range(8)))
    wire.cut_all()
    assert spent(ledger, account) == "1.6"
    assert ledger.audit(account).ok
    store.close()


@contextmanager
def somebody_who_ends(address: str, every: float) -> Iterator[list[int]]:
    """Terminates the ledger's backends again and again; counts them."""
    ended, over = [0], threading.Event()

    def work() -> None:
        with psycopg.connect(address, autocommit=True) as admin:
            while not over.wait(every):
                rows = admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND application_name = 'dosimeter'"
                ).fetchall()
                ended[0] += len(rows)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield ended
    finally:
        over.set()
        thread.join()


def test_backends_ended_at_random_moments_lose_nothing(postgresql_url: str) -> None:
    """Threads charge while an administrator ends their sessions: every answer has one charge."""
    store = PostgreSQLStore(postgresql_url, wait_seconds_max=10)
    ledger = Ledger(store, retry_seconds_max=60)
    account = open_account(ledger, "100")
    with somebody_who_ends(postgresql_url, 0.2) as ended, ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(lambda n=n: [answered(ledger, account, f"{n}-{i}") for i in range(30)]) for n in range(3)]
        for job in jobs:
            assert len(job.result()) == 30
    assert ended[0] > 0
    assert spent(ledger, account) == "9"
    statement = ledger.statement(account)
    assert {e.status for e in statement.entries} == {"settled"}
    assert statement.records == 181
    assert ledger.audit(account).ok
    store.close()


# -- locks and limits ------------------------------------------------------------------------------------------------


def holding(address: str, account_id: str) -> Any:
    """A connection that holds an account's head."""
    other = psycopg.connect(address)
    other.execute("SELECT 1 FROM dosimeter_accounts WHERE account_id = %s FOR UPDATE", (account_id,))
    return other


def test_an_account_that_somebody_holds_is_waited_for_only_so_long(postgresql_url: str) -> None:
    """The error says so, nothing is written, and the other accounts go on meanwhile."""
    store = PostgreSQLStore(postgresql_url, wait_seconds_max=0.2)
    ledger = Ledger(store)
    account, free = open_account(ledger), open_account(ledger, identity=DatasetIdentity("free", "f0"))
    other = holding(postgresql_url, account.id)
    with pytest.raises(LedgerUnavailable, match=r"waiting.*nothing was written"):
        ledger.reserve(account, ask("q"))
    assert answered(ledger, free, "q") == 1.5
    assert ledger.balance(account).spent["epsilon"] == "0"  # reading waits for nobody
    other.rollback()
    other.close()
    assert answered(ledger, account, "q") == 1.5
    store.close()


def test_a_deadlock_is_broken_and_tried_again(store: PostgreSQLStore, ledger: Ledger, postgresql_url: str) -> None:
    """Somebody else locks two heads in the opposite order: PostgreSQL undoes one side, and the charge is made once."""
    one = open_account(ledger, identity=DatasetIdentity("a", "1"))
    two = open_account(ledger, identity=DatasetIdentity("b", "2"))
    first, second = sorted([one.id, two.id])
    other = holding(postgresql_url, second)
    other.execute("SET deadlock_timeout = '10s'")  # so that it is our side that notices
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(ledger.reserve_all, [(one, ask("q")), (two, ask("q"))])
        while not postgresql.run(postgresql_url, "SELECT 1 FROM pg_locks WHERE NOT granted"):
            time.sleep(0.01)
        with psycopg.connect(postgresql_url) as third:  # waits for the head that the ledger holds
            other.execute("SET lock_timeout = '5s'")
            other.execute("SELECT 1 FROM dosimeter_accounts WHERE account_id = %s FOR UPDATE", (first,))
            third.rollback()
        other.rollback()
        assert type(job.result()).__name__ == "ReservedTogether"
    other.close()
    assert (spent(ledger, one), spent(ledger, two)) == ("0.1", "0.1")
    assert ledger.statement(one).records == ledger.statement(two).records == 2


def test_a_statement_timeout_of_the_server_is_a_clear_error(postgresql_url: str) -> None:
    """An administrator's limit cancels a statement that waits: nothing was written."""
    limited = with_part(postgresql_url, query={**make_url(postgresql_url).query, "options": "-cstatement_timeout=200"})
    store = PostgreSQLStore(limited, wait_seconds_max=20)
    ledger = Ledger(store)
    account = open_account(ledger)
    other = holding(postgresql_url, account.id)
    with pytest.raises(LedgerUnavailable, match="statement_timeout"):
        ledger.reserve(account, ask("q"))
    other.close()
    assert answered(ledger, account, "q") == 1.5
    assert spent(ledger, account) == "0.1"
    store.close()


def test_a_client_that_stops_in_mid_transaction_is_put_out(store: PostgreSQLStore) -> None:
    """Every connection carries a limit, so a suspended machine does not hold an account for ever."""
    with store._server.connect().dbapi_connection.cursor() as cursor:  # type: ignore[union-attr]
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("10s",)
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("10s",)
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)


def test_a_server_that_commits_without_the_disk_is_told_to_wait_for_it(postgresql_url: str) -> None:
    """synchronous_commit=off of the user or the database does not hold for the ledger."""
    off = with_part(postgresql_url, query={**make_url(postgresql_url).query, "options": "-csynchronous_commit=off"})
    store = PostgreSQLStore(off)
    with store._server.connect().dbapi_connection.cursor() as cursor:  # type: ignore[union-attr]
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)
    store.close()


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_another_default_isolation_changes_nothing(postgresql_url: str, level: str) -> None:
    """Each transaction names its own."""
    options = f"-cdefault_transaction_isolation={level.replace(' ', chr(92) + ' ')}"
    odd = with_part(postgresql_url, query={**make_url(postgresql_url).query, "options": options})
    store = PostgreSQLStore(odd)
    ledger = Ledger(store)
    account = open_account(ledger)
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda n: ledger.reserve(account, ask(f"q{n}")), range(16)))
    assert sum(isinstance(o, Reserved) for o in outcomes) == 10
    store.close()


def test_a_busy_pool_is_waited_for_only_so_long(postgresql_url: str) -> None:
    """One connection, held by a transaction that goes on: the next one is told."""
    store = PostgreSQLStore(postgresql_url, wait_seconds_max=0.2, connections_max=1)
    ledger = Ledger(store)
    account = open_account(ledger)
    with store.write(), pytest.raises(LedgerUnavailable, match="all 1 connections"):
        ledger.balance(account)
    assert answered(ledger, account, "q") == 1.5
    store.close()


def test_a_server_without_connections_left(postgresql_url: str) -> None:
    """The role's limit is reached: the error says which limit to look at."""
    postgresql.run(postgresql_url, "DROP ROLE IF EXISTS few_connections")
    postgresql.run(postgresql_url, "CREATE ROLE few_connections LOGIN CONNECTION LIMIT 0")
    with pytest.raises(LedgerUnavailable, match="connection"):
        PostgreSQLStore(with_part(postgresql_url, username="few_connections"))
    postgresql.run(postgresql_url, "DROP ROLE few_connections")


@pytest.mark.parametrize(
    ("code", "says", "kind"),
    [
        ("53100", "disk is full", LedgerUnavailable),
        ("53200", "no memory", LedgerUnavailable),
        ("58030", "its disk", LedgerUnavailable),
        ("XX001", "damaged", LedgerCorrupt),
        ("40001", "try again", Undone),
        ("99999", "99999", LedgerUnavailable),
    ],
)
@pytest.mark.parametrize("verb", ["reserve", "settle"])
def test_what_fails_inside_a_charge_charges_nothing(
    postgresql_url: str, code: str, says: str, kind: type[LedgerError], verb: str
) -> None:
    """A full disk, among others, as the server reports it in the middle: undone as a whole, and it can be mended."""
    store = PostgreSQLStore(postgresql_url)
    ledger = Ledger(store, retry_seconds_max=0)
    account = open_account(ledger)
    held = ledger.reserve(account, ask("held"))
    assert isinstance(held, Reserved)
    postgresql.run(
        postgresql_url,
        "CREATE OR REPLACE FUNCTION failing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION 'with a parameter: secret' USING ERRCODE = '{code}'; END $$",
    )
    postgresql.run(
        postgresql_url,
        "CREATE TRIGGER failing BEFORE UPDATE ON dosimeter_accounts FOR EACH ROW EXECUTE FUNCTION failing()",
    )
    try:
        with pytest.raises(kind, match=says) as failed:
            ledger.reserve(account, ask("q")) if verb == "reserve" else ledger.settle(held, "secret")
        assert "secret" not in str(failed.value)
        assert spent(ledger, account) == "0.1"
    finally:
        postgresql.run(postgresql_url, "DROP FUNCTION failing CASCADE")
    assert answered(ledger, account, "q") == 1.5
    assert ledger.settle(held, 3).first
    assert ledger.audit(account).ok
    store.close()


# -- rights ----------------------------------------------------------------------------------------------------------

RIGHTS = {
    "reader": ("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",),
    "writer": (
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",
        "GRANT INSERT ON dosimeter_records, dosimeter_identities, dosimeter_accounts TO {role}",
        "GRANT UPDATE ON dosimeter_accounts TO {role}",
    ),
    "stranger": (),
}


@pytest.fixture
def role(request: pytest.FixtureRequest, postgresql_url: str, worker_id: str) -> Iterator[str]:
    """The address for a user with the rights of `request.param`."""
    name = f"{request.param}_{worker_id}"
    postgresql.run(postgresql_url, f"CREATE ROLE {name} LOGIN")
    for grant in RIGHTS[request.param]:
        postgresql.run(postgresql_url, grant.format(role=name))
    yield with_part(postgresql_url, username=name)
    postgresql.run(postgresql_url, f"DROP OWNED BY {name}")
    postgresql.run(postgresql_url, f"DROP ROLE {name}")


@pytest.mark.parametrize("role", ["stranger"], indirect=True)
def test_a_user_without_rights_cannot_open_a_ledger(role: str) -> None:
    """And is told that rights are missing."""
    with pytest.raises(LedgerUnavailable, match="grant"):
        PostgreSQLStore(role)


@pytest.mark.parametrize("role", ["reader"], indirect=True)
def test_a_reader_reads_and_cannot_charge(role: str, ledger: Ledger) -> None:
    """Statements and audits with SELECT alone; a charge is refused by the server."""
    account = open_account(ledger)
    answered(ledger, account, "q")
    for store in (PostgreSQLStore(role), PostgreSQLStore(role, read_only=True)):
        book = Ledger(store)
        assert book.audit(account).ok
        assert book.statement(account).records == 3
        with pytest.raises(LedgerUnavailable, match=r"grant|read-only"):
            book.reserve(account, ask("r"))
        store.close()
    assert spent(ledger, account) == "0.1"


@pytest.mark.parametrize("role", ["writer"], indirect=True)
def test_a_writer_needs_only_what_the_guide_grants(role: str, ledger: Ledger) -> None:
    """Opening accounts, charging, answering; rewriting history is refused by rights and by triggers."""
    store = PostgreSQLStore(role)
    book = Ledger(store)
    account = open_account(book)
    assert answered(book, account, "q") == 1.5
    book.reset(account, reason="another study", authorised_by="Ada")
    with psycopg.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("DELETE FROM dosimeter_records")
    store.close()


def test_the_database_refuses_to_rewrite_history(ledger: Ledger, postgresql_url: str) -> None:
    """Also to its owner, as long as the triggers stand: no update, no delete, no truncate, no head that goes back."""
    account = open_account(ledger)
    answered(ledger, account, "q")
    for statement in (
        "UPDATE dosimeter_records SET body = '{}'",
        "DELETE FROM dosimeter_records",
        "TRUNCATE dosimeter_records",
        "UPDATE dosimeter_identities SET account_id = 'x'",
        "DELETE FROM dosimeter_meta",
        "DELETE FROM dosimeter_accounts",
        "TRUNCATE dosimeter_accounts",
        "UPDATE dosimeter_accounts SET seq = seq - 1",
        "UPDATE dosimeter_accounts SET state = state",
    ):
        with psycopg.connect(postgresql_url) as connection, pytest.raises(psycopg.errors.IntegrityError):
            connection.execute(statement)
    assert ledger.audit(account).ok


# -- versions, replacement -------------------------------------------------------------------------------------------


def test_a_newer_ledger_is_not_touched(store: PostgreSQLStore, postgresql_url: str) -> None:
    """It says which revision it found."""
    postgresql.run(postgresql_url, "UPDATE dosimeter_version SET version_num = '0099'")
    try:
        with pytest.raises(LedgerVersionError, match=r"0099.*newest version"):
            PostgreSQLStore(postgresql_url)
    finally:
        postgresql.run(postgresql_url, "UPDATE dosimeter_version SET version_num = '0002'")


def test_an_older_ledger_is_migrated_and_keeps_everything(ledger: Ledger, postgresql_url: str) -> None:
    """From the first revision, without the triggers of the second, by several who meet it at once."""
    account = open_account(ledger)
    answered(ledger, account, "q", "0.9")
    for function in ("dosimeter_refuse", "dosimeter_forwards"):
        postgresql.run(postgresql_url, f"DROP FUNCTION {function} CASCADE")
    postgresql.run(postgresql_url, "UPDATE dosimeter_version SET version_num = '0001'")
    with pytest.raises(LedgerUnavailable, match="0001"):
        PostgreSQLStore(postgresql_url, read_only=True)
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: PostgreSQLStore(postgresql_url), range(4)))
    assert spent(Ledger(stores[0]), account) == "0.9"
    assert Ledger(stores[1]).audit(account).ok
    assert postgresql.run(postgresql_url, "SELECT version_num FROM dosimeter_version") == [("0002",)]
    triggers = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'dosimeter%'"
    assert postgresql.run(postgresql_url, triggers) == [(9,)]
    for store in stores:
        store.close()


def test_a_migration_that_fails_leaves_the_old_ledger(
    store: PostgreSQLStore, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole migration is one transaction."""
    from dosimeter.stores.sql import migrate

    for function in ("dosimeter_refuse", "dosimeter_forwards"):
        postgresql.run(postgresql_url, f"DROP FUNCTION {function} CASCADE")
    postgresql.run(postgresql_url, "UPDATE dosimeter_version SET version_num = '0001'")
    upgrade = migrate.upgrade

    def fails_at_the_end(connection: Any, to: str = "0002") -> None:
        upgrade(connection, to)
        raise LedgerUnavailable("power cut")

    monkeypatch.setattr(migrate, "upgrade", fails_at_the_end)
    with pytest.raises(LedgerUnavailable, match="power cut"):
        PostgreSQLStore(postgresql_url)
    assert postgresql.run(postgresql_url, "SELECT version_num FROM dosimeter_version") == [("0001",)]
    monkeypatch.undo()
    PostgreSQLStore(postgresql_url).close()
    assert postgresql.run(postgresql_url, "SELECT version_num FROM dosimeter_version") == [("0002",)]


def test_a_process_that_was_overtaken_by_a_newer_version_stops(ledger: Ledger, postgresql_url: str) -> None:
    """A newer version that changes what charging means renames the heads' table, and old processes cannot charge."""
    account = open_account(ledger)
    answered(ledger, account, "q")
    postgresql.run(postgresql_url, "ALTER TABLE dosimeter_accounts RENAME TO dosimeter_accounts_3")
    try:
        with pytest.raises(LedgerVersionError, match="newer"):
            ledger.reserve(account, ask("r"))
    finally:
        postgresql.run(postgresql_url, "ALTER TABLE dosimeter_accounts_3 RENAME TO dosimeter_accounts")
    assert answered(ledger, account, "r") == 1.5


def test_the_migrations_build_the_tables_that_the_code_uses(store: PostgreSQLStore, postgresql_url: str) -> None:
    """Alembic finds no difference between a new ledger and the tables' definition."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlalchemy import create_engine

    from dosimeter.stores.sql.tables import METADATA

    engine = create_engine(make_url(postgresql_url).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        skip_index = {"include_object": lambda item, name, kind, *_: kind != "index"}  # in another order here
        context = MigrationContext.configure(connection, opts={"version_table": "dosimeter_version", **skip_index})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def test_another_ledger_under_the_same_address_is_noticed(ledger: Ledger, postgresql_url: str) -> None:
    """The database was dropped and made anew: its budget is not ours, and nothing is charged there."""
    account = open_account(ledger)
    answered(ledger, account, "q")
    postgresql.empty(postgresql_url)
    ledger.store._server.lost()  # type: ignore[attr-defined]
    with pytest.raises(LedgerCorrupt, match="another ledger"):
        ledger.reserve(account, ask("r"))


def test_a_ledger_put_back_from_an_older_copy_is_noticed(ledger: Ledger, postgresql_url: str) -> None:
    """By a process that has seen further, at its next charge; by an audit, from a digest noted elsewhere."""
    account = open_account(ledger)
    answered(ledger, account, "q1")
    older = postgresql.run(postgresql_url, "SELECT * FROM dosimeter_accounts")[0]
    answered(ledger, account, "q2")
    noted = ledger.audit(account).head
    postgresql.run(postgresql_url, "DELETE FROM dosimeter_records WHERE seq > 3")
    postgresql.run(
        postgresql_url,
        "UPDATE dosimeter_accounts SET epoch = %s, seq = %s, digest = %s, state = %s, seal = %s",
        *older[1:],
    )
    with pytest.raises(LedgerCorrupt, match="older copy"):
        ledger.reserve(account, ask("q3"))
    report = Ledger(ledger.store).audit(account, known_head=noted)
    assert not report.ok
    assert "put back from an older copy" in report.message()


# -- ids -------------------------------------------------------------------------------------------------------------


def test_ids_that_differ_only_in_case_or_accent_are_different_requests(ledger: Ledger) -> None:
    """Whatever the database's collation; the same id in another normal form is the same request."""
    account = open_account(ledger, "10")
    for name in ("Zo\u00eb", "zo\u00eb", "Zoe", "ZO\u00cb", "stra\u00dfe", "strasse", "\u0131", "i", "I"):
        assert isinstance(ledger.reserve(account, ask(name)), Reserved)
    again = ledger.reserve(account, ask("Zoe\u0308"))
    assert isinstance(again, Reserved)
    assert again.taken_over
    assert spent(ledger, account) == "0.9"


@pytest.mark.parametrize("name", ["x" * 10_000_000, "a\x00b", "a\nb", "\ud800", "", " padded"])
def test_ids_that_are_none_never_reach_the_server(ledger: Ledger, name: str) -> None:
    """Ten megabytes, control characters, lone surrogates: refused with a short message, nothing charged."""
    account = open_account(ledger)
    with pytest.raises(InputError) as refused:
        ledger.reserve(account, ask(name))
    assert len(str(refused.value)) < 400
    assert spent(ledger, account) == "0"


# -- plans -----------------------------------------------------------------------------------------------------------


def test_no_statement_reads_the_history_to_decide_a_charge(ledger: Ledger, store: PostgreSQLStore) -> None:
    """Each statement of a charge is answered by an index, by all it knows, whatever the statistics say."""
    from dosimeter.stores.sql.postgresql_server import _statements

    account = open_account(ledger, "1000")
    ledger.reserve_batch(account, [ask(f"q{i}", "0.001") for i in range(2000)])
    with store._server.connect().dbapi_connection.cursor() as cursor:  # type: ignore[union-attr]
        for name, values, index in (
            ("HEAD_TO_MOVE", (account.id,), "dosimeter_accounts_pkey"),
            ("HISTORY", (account.id, "q7"), "dosimeter_records_by_request"),
            ("RECORD", (account.id, 7), "dosimeter_records_pkey"),
            ("OWNER", ("name", "people"), "dosimeter_identities_pkey"),
        ):
            cursor.execute("EXPLAIN " + _statements()[name].text, values)
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert f"Index Scan using {index}" in plan or f"on {index}" in plan
            assert "Seq Scan" not in plan


def test_a_fork_has_connections_of_its_own(postgresql_url: str) -> None:
    """Ledgers opened before the fork work on both sides, and both sides spend from one budget."""
    from tests.crash.children import Child

    ledger = Ledger(PostgreSQLStore(postgresql_url))
    account = open_account(ledger)
    answered(ledger, account, "before", "0.1")

    def work(say: Any) -> None:
        say(str(sum(isinstance(ledger.reserve(account, ask(f"c{i}")), Reserved) for i in range(5))))

    assert Child(work).wait() == (0, ["5"])
    outcomes = [ledger.reserve(account, ask(f"p{i}")) for i in range(9)]
    assert sum(isinstance(o, Reserved) for o in outcomes) == 4
    assert sum(isinstance(o, RefusedRequest) for o in outcomes) == 5
    assert spent(ledger, account) == "1"
    assert ledger.find(PEOPLE) is not None
    ledger.store.close()
