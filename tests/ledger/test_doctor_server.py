"""The doctor finds what is wrong with a ledger's PostgreSQL server or database, from outside and by reading alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url
from tests import postgresql
from tests.ledger.ledger_world import answered, open_account

from dosimeter.errors import InputError
from dosimeter.ledger import Ledger
from dosimeter.ledger.checkup import Checkup, Level
from dosimeter.stores import PostgreSQLStore, doctor
from dosimeter.stores.sql import postgresql_checkup


@pytest.fixture
def url(postgresql_url: str) -> str:
    """A ledger with one account and two answers."""
    store = PostgreSQLStore(postgresql_url)
    ledger = Ledger(store)
    account = open_account(ledger)
    answered(ledger, account, "q1")
    answered(ledger, account, "q2")
    store.close()
    return postgresql_url


def levels(found: Checkup) -> dict[str, Level]:
    """The worst finding of each check."""
    worst: dict[str, Level] = {}
    for finding in found.findings:
        before = worst.get(finding.check, Level.OK)
        worst[finding.check] = max(before, finding.level, key=list(Level).index)
    return worst


def what(found: Checkup, check: str) -> str:
    """What was found by one check."""
    return "; ".join(f"{finding.what} -> {finding.todo}" for finding in found.findings if finding.check == check)


@pytest.fixture
def writer(url: str, worker_id: str) -> Iterator[str]:
    """The address for a user with the rights that the guide grants to those who charge."""
    name = f"doctors_writer_{worker_id}"
    postgresql.run(url, f"CREATE ROLE {name} LOGIN")
    for grant in (
        "SELECT ON ALL TABLES IN SCHEMA public",
        "INSERT ON dosimeter_records, dosimeter_identities, dosimeter_accounts",
        "UPDATE ON dosimeter_accounts",
    ):
        postgresql.run(url, f"GRANT {grant} TO {name}")
    yield make_url(url).set(username=name).render_as_string(hide_password=False)
    postgresql.run(url, f"DROP OWNED BY {name}")
    postgresql.run(url, f"DROP ROLE {name}")


def test_a_healthy_ledger_of_a_user_with_few_rights(writer: str) -> None:
    """No error; each thing that was looked at is told, and the accounts are proved."""
    found = doctor.examine(writer)
    assert found.ok, found.message()
    told = levels(found)
    assert set(told) == {
        *("server", "encoding", "fsync", "full_page_writes", "data_checksums", "synchronous_commit", "isolation"),
        *("writing", "standby", "connections", "clock", "tls", "rights", "schema", "triggers", "index"),
        *("chain", "orphans", "generator"),
    }
    ours = {"data_checksums", "fsync"}  # the tests' own server may do without
    assert {check for check, level in told.items() if level is not Level.OK} <= ours
    assert "may charge, and not rewrite" in what(found, "rights")
    assert "5 records and 2 charges hold" in what(found, "chain")


def test_a_user_who_may_rewrite_history_is_a_warning(url: str) -> None:
    """An owner or a superuser charges, and could do more."""
    found = doctor.examine(url, thorough=False)
    assert levels(found)["rights"] is Level.WARNING
    assert "superuser" in what(found, "rights")


def test_a_user_who_may_not_read_is_an_error(url: str, worker_id: str) -> None:
    """And nothing else is tried."""
    name = f"doctors_stranger_{worker_id}"
    postgresql.run(url, f"CREATE ROLE {name} LOGIN")
    try:
        found = doctor.examine(make_url(url).set(username=name).render_as_string(hide_password=False))
    finally:
        postgresql.run(url, f"DROP ROLE {name}")
    assert levels(found)["rights"] is Level.ERROR
    assert "may not read dosimeter_accounts" in what(found, "rights")
    assert "chain" not in levels(found)


BROKEN = [
    ("UPDATE dosimeter_version SET version_num = '0001'", "schema", Level.WARNING, "migrations 0002 are pending"),
    ("UPDATE dosimeter_version SET version_num = '0099'", "schema", Level.ERROR, "newest version everywhere"),
    ("DELETE FROM dosimeter_version", "schema", Level.ERROR, "revision none"),
    ("DROP TABLE dosimeter_identities", "schema", Level.ERROR, "missing: dosimeter_identities"),
    ("DROP TRIGGER dosimeter_records_no_rewrite ON dosimeter_records", "triggers", Level.ERROR, "no_rewrite"),
    ("ALTER TABLE dosimeter_meta DISABLE TRIGGER ALL", "triggers", Level.ERROR, "dosimeter_meta_no_truncate"),
    (
        "CREATE TRIGGER odd BEFORE INSERT ON dosimeter_records FOR EACH ROW EXECUTE FUNCTION dosimeter_refuse()",
        "triggers",
        Level.ERROR,
        "not of this application: odd",
    ),
    ("DROP INDEX dosimeter_records_by_request", "index", Level.ERROR, "missing"),
    ("UPDATE dosimeter_records SET recorded_at = 'then' WHERE seq = 2", "chain", Level.ERROR, "record 2 does not hold"),
    ("UPDATE dosimeter_accounts SET state = '{{}}'", "chain", Level.ERROR, "its head or its names"),
]


@pytest.mark.parametrize(("damage", "check", "level", "says"), BROKEN)
def test_each_broken_state_is_found(
    postgresql_server: str, url: str, worker_id: str, damage: str, check: str, level: Level, says: str
) -> None:
    """At its level, in a copy of the database that is broken as somebody would who owns it."""
    del url
    copy = postgresql.ledger_database(postgresql_server, f"doctors_copy_{worker_id}")
    store = PostgreSQLStore(copy)
    answered(Ledger(store), open_account(Ledger(store)), "q1")
    store.close()
    postgresql.run(copy, damage.replace("{{", "{").replace("}}", "}"))
    found = doctor.examine(copy)
    assert levels(found)[check] is level
    assert says in what(found, check)
    assert found.ok == (level is Level.WARNING)


@pytest.mark.parametrize(
    ("options", "check", "level", "says"),
    [
        ("-cdefault_transaction_read_only=on", "writing", Level.WARNING, "only read by default"),
        ("-csession_replication_role=replica", "triggers", Level.ERROR, "do not fire"),
        ("-csynchronous_commit=off", "synchronous_commit", Level.OK, "wait for the disk"),
        ("-cdefault_transaction_isolation=serializable", "isolation", Level.OK, "serializable by default"),
    ],
)
def test_settings_of_the_user_or_the_address(url: str, options: str, check: str, level: Level, says: str) -> None:
    """Each of them as the server tells it in a session of this user."""
    there = make_url(url)
    found = doctor.examine(
        there.set(query={**there.query, "options": options}).render_as_string(hide_password=False), thorough=False
    )
    assert levels(found)[check] is level
    assert says in what(found, check)


def facts(**changes: Any) -> dict[str, Any]:
    """What a healthy server tells."""
    healthy = {
        "version": "17.2",
        "major": 17,
        "fsync": "on",
        "full_pages": "on",
        "encoding": "UTF8",
        "commit": "on",
        "isolation": "read committed",
        "read_only": "off",
        "role": "origin",
        "recovering": False,
        "checksums": "on",
        "standby_names": "",
        "standbys": 0,
        "connections": 100,
        "used": 5,
        "clock": datetime(2026, 1, 31, tzinfo=UTC),
        "size": "8 MB",
        "superuser": False,
        "user": "u",
        "tls": True,
    }
    assert set(changes) <= set(healthy) == set(postgresql_checkup._NAMES)
    return {**healthy, **changes}


@pytest.mark.parametrize(
    ("changes", "check", "level"),
    [
        ({"major": 13, "version": "13.9"}, "server", Level.ERROR),
        ({"encoding": "LATIN1"}, "encoding", Level.ERROR),
        ({"fsync": "off"}, "fsync", Level.ERROR),
        ({"full_pages": "off"}, "full_page_writes", Level.ERROR),
        ({"checksums": "off"}, "data_checksums", Level.WARNING),
        ({"recovering": True}, "writing", Level.WARNING),
        ({"standbys": 2}, "standby", Level.WARNING),
        ({"standbys": 2, "standby_names": "*"}, "standby", Level.OK),
        ({"used": 95}, "connections", Level.WARNING),
        ({"clock": datetime(2026, 1, 31, 0, 9, tzinfo=UTC)}, "clock", Level.WARNING),
        ({"clock": datetime(2026, 1, 31, 0, 1, tzinfo=UTC)}, "clock", Level.OK),
    ],
)
def test_servers_that_are_set_up_otherwise(changes: dict[str, Any], check: str, level: Level) -> None:
    """What a server's settings mean, each away from a healthy one; nothing else changes."""
    now = datetime(2026, 1, 31, tzinfo=UTC)

    def told(**changes: Any) -> dict[str, Level]:
        seen = facts(**changes)
        found = [*postgresql_checkup._settings(seen), *postgresql_checkup._circumstances(seen, now)]
        return levels(Checkup("x", tuple(found)))

    assert set(told().values()) == {Level.OK}
    assert {name: found for name, found in told(**changes).items() if found is not Level.OK} == (
        {} if level is Level.OK else {check: level}
    )


@pytest.mark.parametrize(
    ("tls", "host", "level"),
    [
        (False, "/run/postgresql", Level.OK),
        (False, "127.0.0.1", Level.OK),
        (False, "db.example.org", Level.WARNING),
        (True, "db.example.org", Level.OK),
    ],
)
def test_a_connection_over_a_network_without_encryption(tls: bool, host: str, level: Level) -> None:
    """Is a warning; one that stays on the machine is none."""
    assert postgresql_checkup._link(facts(tls=tls), host).level is level


def test_a_server_that_is_not_there_is_a_finding() -> None:
    """Without the password."""
    found = doctor.examine("postgresql://u:s3cret@127.0.0.1:1/d")
    assert [finding.check for finding in found.findings] == ["server", "generator"]
    assert not found.ok
    assert "s3cret" not in str(found.to_json())
    with pytest.raises(InputError):
        doctor.examine("mysql://u@h/d")


def test_a_database_without_a_ledger(postgresql_server: str, worker_id: str) -> None:
    """Is told, and gets none."""
    bare = postgresql.database(postgresql_server, f"doctors_bare_{worker_id}")
    found = doctor.examine(bare)
    assert "holds no ledger" in what(found, "schema")
    with psycopg.connect(bare) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'dosimeter%'").fetchone() == (0,)


def test_a_clock_far_from_the_servers(url: str) -> None:
    """Both are told apart by more than a few minutes."""
    found = doctor.examine(url, thorough=False, clock=lambda: datetime.now(UTC) - timedelta(hours=3))
    assert levels(found)["clock"] is Level.WARNING
