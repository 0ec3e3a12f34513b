"""Whatever is changed in a ledger behind its back, the audit names the first record that does not hold."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.ledger_world import RELATION, answered, ask, charge, open_account

from dosimeter.adaptive.filters import ZCDPFilter
from dosimeter.errors import LedgerCorrupt, LedgerError
from dosimeter.events import Gaussian
from dosimeter.ledger import Account, DatasetIdentity, Ledger, RefusedRequest, Request, Reserved
from dosimeter.ledger.audit import covers
from dosimeter.ledger.record import Head, LedgerKey, digest_of, seal_of
from dosimeter.notions import RDP, ZCDP, ApproxDP, PureDP
from dosimeter.stores import SQLiteStore

COLUMNS = ["kind", "request_id", "refers_to", "epoch", "recorded_at", "body", "previous", "digest"]


def history(ledger: Ledger) -> Account:
    """An account with a record of every kind, two epochs, and numbers 1 to 13."""
    account = open_account(ledger, terms={"bounds": [0, 1]})  # 1
    open_account(ledger, identity=DatasetIdentity("folk", "5f2b"))  # 2, another name
    answered(ledger, account, "q1", "0.2")  # 3, 4
    holder = ledger.reserve(account, ask("q2", "0.3"))  # 5
    assert isinstance(holder, Reserved)
    assert isinstance(ledger.reserve(account, ask("big", "5")), RefusedRequest)  # 6
    ledger.void(holder, reason="no rows", by="session")  # 7
    ledger.reserve(account, ask("q3", "0.1"))  # 8
    ledger.reserve(account, ask("q3", "0.1"))  # 9, taken over
    ledger.accept_data_change(account, DatasetIdentity("people", "new"), reason="new rows", authorised_by="Ada")  # 10
    ledger.reset(account, reason="second study", authorised_by="Ada")  # 11
    answered(ledger, account, "q4", "0.7")  # 12, 13
    return account


RECORDS = 13


@contextmanager
def behind_its_back(file: Path) -> Iterator[sqlite3.Connection]:
    """The file without its triggers, as somebody with an editor sees it."""
    connection = sqlite3.connect(file)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    yield connection
    connection.commit()
    connection.close()


@pytest.fixture
def world(file: Path) -> tuple[Path, Ledger, Account]:
    """A file with a whole history in it."""
    ledger = Ledger(SQLiteStore(file))
    return file, ledger, history(ledger)


def audit_after(world: tuple[Path, Ledger, Account], edit: Callable[[sqlite3.Connection], Any]) -> Any:
    """The verdict after an edit, from a ledger opened afterwards."""
    file, _, account = world
    with behind_its_back(file) as connection:
        edit(connection)
    store = SQLiteStore(file)
    report = Ledger(store).audit(account)
    store.close()
    return report


def test_an_honest_history_holds(ledger: Ledger) -> None:
    """Every kind of record, on every store; the report counts them and gives the digest to note down."""
    account = history(ledger)
    report = ledger.audit(account)
    assert report.ok, report.message()
    assert (report.records, report.charges, report.first_bad) == (RECORDS, 1, None)
    assert report.head == ledger.statement(account).head
    assert report.spent == {"epsilon": "0.7"}
    assert json.loads(json.dumps(report.to_json()))["ok"] is True


@pytest.mark.parametrize("column", COLUMNS)
def test_a_changed_column_is_found_at_its_record(world: tuple[Path, Ledger, Account], column: str) -> None:
    """Any column of any record."""
    file, _, account = world
    with behind_its_back(file) as connection:
        rows = connection.execute(f"SELECT seq, {column} FROM dosimeter_records ORDER BY seq").fetchall()
    assert len(rows) == RECORDS
    for seq, value in rows:
        changed = value + 1 if isinstance(value, int) else (value or "") + " "
        for new, cast in ((changed, "?"), (b"\xff\xfe", "?"), (b"\xff\xfe", "CAST(? AS TEXT)")):
            sql = f"UPDATE dosimeter_records SET {column} = {cast} WHERE seq = ?"
            report = audit_after(world, lambda c, sql=sql, new=new, seq=seq: c.execute(sql, (new, seq)))
            assert not report.ok
            assert report.first_bad.seq == seq, report.message()
            assert f"record {seq} does not hold" in report.message()
            with behind_its_back(file) as connection:
                connection.execute(f"UPDATE dosimeter_records SET {column} = ? WHERE seq = ?", (value, seq))
    assert Ledger(SQLiteStore(file)).audit(account).ok


@pytest.mark.parametrize("seq", range(1, RECORDS + 1))
def test_a_deleted_record_is_missed_at_its_place(world: tuple[Path, Ledger, Account], seq: int) -> None:
    """In the middle by its number, at the end by the head."""
    report = audit_after(world, lambda c: c.execute("DELETE FROM dosimeter_records WHERE seq = ?", (seq,)))
    assert not report.ok
    assert report.first_bad.seq == (seq if seq < RECORDS else None)
    if seq == RECORDS:
        assert "tail was cut" in report.message()


@pytest.mark.parametrize(("one", "other"), [(3, 5), (4, 13), (12, 13), (1, 2)])
def test_reordered_records_are_found_at_the_first(world: tuple[Path, Ledger, Account], one: int, other: int) -> None:
    """Two records that changed places."""

    def swap(connection: sqlite3.Connection) -> None:
        for old, new in ((one, -1), (other, one), (-1, other)):
            connection.execute("UPDATE dosimeter_records SET seq = ? WHERE seq = ?", (new, old))

    report = audit_after(world, swap)
    assert report.first_bad.seq == one


def test_a_slipped_in_record_is_found(world: tuple[Path, Ledger, Account]) -> None:
    """A copy of a refusal behind the tail, and one between."""
    insert = """INSERT INTO dosimeter_records SELECT account_id, 14, kind, request_id, refers_to, epoch, recorded_at,
        body, previous, digest FROM dosimeter_records WHERE seq = 6"""
    assert audit_after(world, lambda c: c.execute(insert)).first_bad.seq == 14


def test_records_moved_from_another_account_are_found(world: tuple[Path, Ledger, Account]) -> None:
    """Each digest covers the account's id."""
    _, ledger, account = world
    other = open_account(ledger, identity=DatasetIdentity("other", "1"))
    sql = "UPDATE dosimeter_records SET account_id = ? WHERE account_id = ? AND seq = 6"
    assert audit_after(world, lambda c: c.execute(sql, (other.id, account.id))).first_bad.seq == 6


HEAD_EDITS = [
    ("state", '{"epsilon":"0","kind":"pure","rho":"0"}'),
    ("state", "{}"),
    ("epoch", 3),
    ("epoch", 1),
    ("seq", 12),
    ("seq", 14),
    ("seq", "twelve"),
    ("state", b"\x00"),
    ("seal", b"\x00"),
    ("digest", "0" * 64),
    ("seal", "0" * 64),
]


@pytest.mark.parametrize(("column", "value"), HEAD_EDITS)
def test_an_edited_head_is_found_and_stops_every_charge(
    world: tuple[Path, Ledger, Account], column: str, value: Any
) -> None:
    """The audit names it, and no charge, quote or balance is answered from it."""
    file, _, account = world
    sql = f"UPDATE dosimeter_accounts SET {column} = ?"
    report = audit_after(world, lambda c: c.execute(sql, (value,)))
    assert not report.ok
    assert report.first_bad.seq is None
    ledger = Ledger(SQLiteStore(file))
    for verb in (
        lambda: ledger.reserve(account, ask("q9")),
        lambda: ledger.reserve(account, ask("q4", "0.7")),
        lambda: ledger.balance(account),
        lambda: ledger.quote(account, charge("0.1"), RELATION),
        lambda: ledger.reset(account, reason="x", authorised_by="y"),
        lambda: ledger.statement(account),
    ):
        with pytest.raises(LedgerCorrupt, match="audit"):
            verb()


@pytest.mark.parametrize("body", ["", "not json", "[]", "{}", '{"answer":1}', b"\xff", "null"])
def test_a_damaged_record_is_never_replayed_nor_taken_over(world: tuple[Path, Ledger, Account], body: Any) -> None:
    """What would be released or continued is checked first; the error sends to the audit."""
    file, _, account = world
    with behind_its_back(file) as connection:
        connection.execute("UPDATE dosimeter_records SET body = ? WHERE seq IN (4, 8)", (body,))
    ledger = Ledger(SQLiteStore(file))
    for name, amount in (("q1", "0.2"), ("q3", "0.1")):
        with pytest.raises(LedgerCorrupt, match="audit"):
            ledger.reserve(account, ask(name, amount))


def test_a_missing_head_is_found(world: tuple[Path, Ledger, Account]) -> None:
    """The account's row is gone, its records are not."""
    report = audit_after(world, lambda c: c.execute("DELETE FROM dosimeter_accounts"))
    assert not report.ok
    assert "head" in report.message()


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM dosimeter_identities WHERE kind = 'name' AND value = 'folk'",
        "DELETE FROM dosimeter_identities WHERE kind = 'content'",
        "UPDATE dosimeter_identities SET value = 'x' WHERE kind = 'name' AND value = 'people'",
        "INSERT INTO dosimeter_identities SELECT 'name', 'more', account_id FROM dosimeter_accounts",
        "UPDATE dosimeter_identities SET account_id = 'nobody' WHERE value = 'folk'",
    ],
)
def test_edited_identities_are_found(world: tuple[Path, Ledger, Account], edit: str) -> None:
    """What an account answers to is in its records."""
    report = audit_after(world, lambda c: c.execute(edit))
    assert "names or contents" in report.message()


@pytest.mark.parametrize("name", ["key", "ledger_id"])
def test_another_key_or_id_is_found(world: tuple[Path, Ledger, Account], name: str) -> None:
    """With another key every content would look new, so the first record says which key it was opened under."""
    sql = "UPDATE dosimeter_meta SET value = ? WHERE name = ?"
    report = audit_after(world, lambda c: c.execute(sql, ("ab" * 32, name)))
    assert report.first_bad.seq == 1


def test_the_database_itself_refuses_to_rewrite(world: tuple[Path, Ledger, Account]) -> None:
    """Without removing the triggers no statement changes or deletes a record, a name or the key."""
    file, _, _ = world
    connection = sqlite3.connect(file)
    for table in ("dosimeter_records", "dosimeter_identities", "dosimeter_meta", "dosimeter_accounts"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(f"DELETE FROM {table}")
    for table, column in (("records", "body"), ("identities", "account_id"), ("meta", "value")):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(f"UPDATE dosimeter_{table} SET {column} = ''")
    connection.close()


# -- forgers who recompute every digest ------------------------------------------------------------------------------


def forge(file: Path, key: LedgerKey, seq: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Change one body and then mend every digest, the head and its seal: what somebody with the code could do."""
    with behind_its_back(file) as connection:
        rows = connection.execute("SELECT * FROM dosimeter_records ORDER BY seq").fetchall()
        previous = rows[0][8]
        for row in rows:
            account_id, number, kind, request, refers, epoch, at, body = row[:8]
            if number == seq:
                data = json.loads(body)
                change(data)
                body = json.dumps(data, sort_keys=True, separators=(",", ":"))
            digest = digest_of(account_id, number, kind, request, refers, epoch, at, body, previous)
            connection.execute(
                "UPDATE dosimeter_records SET body = ?, previous = ?, digest = ? WHERE seq = ?",
                (body, previous, digest, number),
            )
            previous = digest
        head = Head._make(connection.execute("SELECT * FROM dosimeter_accounts").fetchone())
        seal = seal_of(key.key, head.account_id, head.epoch, head.seq, previous, head.state)
        connection.execute("UPDATE dosimeter_accounts SET digest = ?, seal = ?", (previous, seal))


FORGERIES: list[tuple[int, Callable[[dict[str, Any]], Any], str]] = [
    (12, lambda b: b["loss"].update(epsilon="0.6"), "below the price"),
    (12, lambda b: b["event"]["loss"].update(epsilon="0.8"), "below the price"),
    (12, lambda b: b["state"].update(epsilon="0.1"), "stored total"),
    (12, lambda b: b.update(relation="replace_one"), "relation"),
    (12, lambda b: b.pop("loss"), "cannot be read"),
    (12, lambda b: b["event"].update(kind="magic"), "cannot be read"),
    (13, lambda b: b.clear(), "no answer"),
    (7, lambda b: b["state"].update(epsilon="0"), "stored total"),
    (11, lambda b: b["closed_spent"].update(epsilon="0"), "closed epoch"),
    (11, lambda b: b["state"].update(epsilon="-1"), "cannot be read"),
    (1, lambda b: b["filter"].update(epsilon="0.1"), "overspent"),
    (1, lambda b: b.update(ledger="another"), "another ledger"),
]


@pytest.mark.parametrize(("seq", "change", "what"), FORGERIES)
def test_a_forged_body_with_mended_digests_is_found_by_the_fold(
    world: tuple[Path, Ledger, Account], seq: int, change: Callable[[dict[str, Any]], Any], what: str
) -> None:
    """The chain is consistent again, but losses, totals and the filter's verdict are computed anew."""
    file, ledger, account = world
    before = ledger.audit(account).head
    forge(file, ledger._key, seq, change)
    report = Ledger(SQLiteStore(file)).audit(account)
    assert not report.ok
    assert what in report.message()
    assert report.first_bad.seq == (seq if what != "overspent" else 3)
    assert Ledger(SQLiteStore(file)).audit(account, known_head=before).ok is False


def test_a_consistent_forgery_is_found_only_by_a_digest_noted_elsewhere(
    world: tuple[Path, Ledger, Account],
) -> None:
    """The limit of what a file can prove about itself, and the way past it."""
    file, ledger, account = world
    noted = ledger.audit(account).head
    forge(file, ledger._key, 3, lambda b: b.update(description="something harmless"))
    again = Ledger(SQLiteStore(file))
    assert again.audit(account).ok
    report = again.audit(account, known_head=noted)
    assert not report.ok
    assert "noted earlier" in report.message()


def test_a_digest_noted_earlier_stays_in_the_chain(ledger: Ledger) -> None:
    """Every head there ever was is still found later."""
    account = open_account(ledger)
    noted = [ledger.audit(account).head]
    for i in range(4):
        answered(ledger, account, f"q{i}")
        noted.append(ledger.statement(account).head)
    assert all(ledger.audit(account, known_head=head).ok for head in noted)
    assert not ledger.audit(account, known_head="0" * 64).ok


def test_a_loss_may_be_dearer_than_todays_price_but_not_cheaper(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tighter theorem later does not break an old ledger; a looser one shows where too little was charged."""
    from dosimeter.ledger.pricing import Charge

    account = open_account(ledger, filter=ZCDPFilter("10"))
    ledger.reserve(account, Request("q", Gaussian(sigma="1"), RELATION, "ab", "a sum"))
    for rho, holds in (("0.4", True), ("0.5", True), ("0.51", False)):
        monkeypatch.setattr("dosimeter.ledger.pricing.charge", lambda *_, rho=rho: Charge(ZCDP(rho), "", ""))
        assert ledger.audit(account).ok is holds


def test_covers_compares_every_parameter() -> None:
    """One loss covers another only in the same notion, at the same orders, and in every part."""
    assert covers(ApproxDP("1", "1e-5"), ApproxDP("1", "1e-6"))
    assert not covers(ApproxDP("1", "1e-6"), ApproxDP("1", "1e-5"))
    assert not covers(PureDP("2"), ApproxDP("1", "0"))
    assert covers(RDP((2, 4), ("0.1", "0.2")), RDP((2, 4), ("0.1", "0.1")))
    assert not covers(RDP((2, 4), ("0.1", "0.2")), RDP((2, 4), ("0.1", "0.3")))
    assert not covers(RDP((2, 4), ("9", "9")), RDP((2, 5), ("0.1", "0.1")))
    assert not covers(RDP((2, 4), ("9", "9")), RDP((2,), ("0.1",)))


def test_a_store_put_back_from_an_older_copy_is_noticed_by_whoever_saw_the_newer(file: Path) -> None:
    """A running process refuses to charge it; a new process needs a digest noted elsewhere."""
    store = SQLiteStore(file)
    ledger = Ledger(store)
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.5")
    older = Path(f"{file}.bak")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(older)) as copy:
        source.backup(copy)
    answered(ledger, account, "q2", "0.5")
    noted = ledger.audit(account).head
    with closing(sqlite3.connect(older)) as source, closing(sqlite3.connect(file)) as target:
        source.backup(target)
    with pytest.raises(LedgerCorrupt, match="older copy"):
        ledger.reserve(account, ask("q3", "0.5"))
    assert not Ledger(store).audit(account, known_head=noted).ok
    with pytest.raises(LedgerError):
        ledger.reset(account, reason="x", authorised_by="y")
