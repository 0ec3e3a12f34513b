"""Opening a ledger's file: what is no ledger is refused and left as it was; every spelling of a path is one ledger."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.ledger.ledger_world import PEOPLE, answered, ask, open_account, spent

from dosimeter.errors import InputError, LedgerCorrupt, LedgerError, LedgerUnavailable, LedgerVersionError
from dosimeter.ledger import Ledger, RefusedRequest, Reserved
from dosimeter.stores import MemoryStore, SQLiteStore

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # tests fork on purpose
TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


def filled(file: Path) -> Path:
    """A ledger in which 0.9 of 1.0 is spent, in several pages."""
    store = SQLiteStore(file)
    ledger = Ledger(store)
    account = open_account(ledger)
    for i in range(9):
        answered(ledger, account, f"q{i}", answer="x" * 2000)
    store.close()
    return file


# -- a new ledger ----------------------------------------------------------------------------------------------------


def test_a_missing_file_is_a_new_ledger_with_nothing_spent(tmp_path: Path) -> None:
    """Readable by its owner only, recognisable, in WAL mode, and without leftovers beside it."""
    store = SQLiteStore(tmp_path / "new.db")
    ledger = Ledger(store)
    assert spent(ledger, open_account(ledger)) == "0"
    store.close()
    assert [p.name for p in tmp_path.iterdir()] == ["new.db"]
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600
    assert run(tmp_path / "new.db", "PRAGMA application_id") == [(0x444F5349,)]
    assert run(tmp_path / "new.db", "PRAGMA journal_mode") == [("wal",)]


def test_many_who_make_the_same_ledger_at_once_get_one(tmp_path: Path) -> None:
    """Nobody sees half of a ledger, and nobody's ledger replaces another's."""
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: SQLiteStore(tmp_path / "l.db"), range(6)))
    assert len({store.key().ledger_id for store in stores}) == 1
    for store in stores:
        store.close()
    assert [p.name for p in tmp_path.iterdir()] == ["l.db"]


@pytest.mark.parametrize("name", ["a b.db", "what?mode=ro#x%20y&z.db", "é'\"; DROP.db", ":memory:", "file:x.db"])
def test_any_file_name_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """No character of a path is taken for an instruction, and no name means "in memory"."""
    monkeypatch.chdir(tmp_path)
    store = SQLiteStore(name)
    open_account(Ledger(store))
    store.close()
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert len(Ledger(SQLiteStore(tmp_path / name)).accounts()) == 1


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    """Before anything is touched."""
    with pytest.raises(InputError):
        SQLiteStore(path)


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), 10**9])
def test_what_is_no_wait_is_refused(tmp_path: Path, wait: float) -> None:
    """Waiting is bounded."""
    with pytest.raises(InputError):
        SQLiteStore(tmp_path / "l.db", wait_seconds_max=wait)
    assert list(tmp_path.iterdir()) == []


# -- files that are no ledger ----------------------------------------------------------------------------------------


def run(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """Run statements on the file behind the ledger's back; the rows of the last one."""
    connection = sqlite3.connect(path)
    rows: list[tuple[object, ...]] = []
    for statement in statements:
        rows = connection.execute(statement).fetchall()
    connection.commit()
    connection.close()
    return rows


def _drop_triggers(path: Path) -> None:
    names = run(path, TRIGGERS)
    run(path, *(f"DROP TRIGGER {name}" for (name,) in names))


def _other_application(path: Path) -> None:
    run(path, "CREATE TABLE notes (body TEXT)", "INSERT INTO notes VALUES ('keep me')")


def _same_tables_of_another_application(path: Path) -> None:
    run(filled(path), "PRAGMA application_id = 7")


def _without_a_table(path: Path) -> None:
    run(filled(path), "DROP TABLE dosimeter_version")


def _without_a_key(path: Path) -> None:
    _drop_triggers(filled(path))
    run(path, "DELETE FROM dosimeter_meta WHERE name = 'key'")


def _cut(keep: Callable[[int], int]) -> Callable[[Path], None]:
    def cut(path: Path) -> None:
        size = filled(path).stat().st_size
        os.truncate(path, keep(size))

    return cut


def _overwritten(path: Path) -> None:
    data = bytearray(filled(path).read_bytes())
    data[4096 * 2 : 4096 * 6] = os.urandom(4096 * 4)
    path.write_bytes(data)


BAD_FILES: dict[str, tuple[Callable[[Path], object], type[LedgerError]]] = {
    "missing parent": (lambda p: p.parent.rmdir(), LedgerUnavailable),
    "a file as parent": (lambda p: (p.parent.rmdir(), p.parent.write_text("x")), LedgerUnavailable),
    "a directory": (lambda p: p.mkdir(), LedgerUnavailable),
    "a pipe": (lambda p: os.mkfifo(p), LedgerUnavailable),
    "a link to itself": (lambda p: p.symlink_to(p), LedgerUnavailable),
    "empty": (lambda p: p.write_bytes(b""), LedgerCorrupt),
    "unparsable": (lambda p: p.write_bytes(b"{ not json" * 500), LedgerCorrupt),
    "another shape": (lambda p: p.write_text('{"spent": 0}'), LedgerCorrupt),
    "a table of numbers": (lambda p: p.write_text("epsilon,spent\n1,0\n" * 1000), LedgerCorrupt),
    "noise": (lambda p: p.write_bytes(os.urandom(8192)), LedgerCorrupt),
    "zeros": (lambda p: p.write_bytes(bytes(8192)), LedgerCorrupt),
    "another application's": (_other_application, LedgerCorrupt),
    "another application's, alike": (_same_tables_of_another_application, LedgerCorrupt),
    "a table is missing": (_without_a_table, LedgerCorrupt),
    "the key is missing": (_without_a_key, LedgerCorrupt),
    "cut to nothing": (_cut(lambda _: 0), LedgerCorrupt),
    "cut in the header": (_cut(lambda _: 60), LedgerCorrupt),
    "cut to a page": (_cut(lambda _: 4096), LedgerCorrupt),
    "cut in half": (_cut(lambda size: size // 2), LedgerCorrupt),
    "cut by a page": (_cut(lambda size: size - 4096), LedgerCorrupt),
    "cut by a byte": (_cut(lambda size: size - 1), LedgerCorrupt),
}


@pytest.mark.parametrize("damage", BAD_FILES)
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    """The error says what, where and what to do; nothing is reset, also when it is tried twice."""
    path = tmp_path / "somewhere" / "ledger.db"
    path.parent.mkdir()
    make, error = BAD_FILES[damage]
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for _ in range(2):
        with pytest.raises(error) as raised:
            SQLiteStore(path, wait_seconds_max=1)
        assert str(tmp_path) in str(raised.value)
        assert "keep me" not in str(raised.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_damaged_pages_are_an_error_and_not_a_fresh_budget(file: Path) -> None:
    """If the damage is not met on opening, it is met on the first use, and nothing is charged."""
    _overwritten(file)

    def use() -> None:
        ledger = Ledger(SQLiteStore(file))
        account = open_account(ledger)
        ledger.reserve(account, ask("fresh", "1.0"))

    with pytest.raises(LedgerCorrupt):
        use()


# -- permissions -----------------------------------------------------------------------------------------------------


def _as_nobody(work: Callable[[], None]) -> int:
    """Run `work` in a child without the rights of root; 0 when it raises LedgerUnavailable."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        work()
    except LedgerUnavailable:
        code = 0
    finally:
        os._exit(code)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("what", ["unreadable file", "read-only file", "read-only folder", "closed folder"])
def test_without_the_rights_it_is_unavailable(empty_file: Path, what: str) -> None:
    """Permission denied is never a new ledger, and a ledger that cannot be written answers nothing."""
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    try:
        path = Path(shutil.copy(empty_file, folder / "ledger.db"))
        before = path.read_bytes()
        path.chmod({"unreadable file": 0, "read-only file": 0o444}.get(what, 0o666))
        folder.chmod({"read-only folder": 0o555, "closed folder": 0}.get(what, 0o777))

        def use() -> None:
            open_account(Ledger(SQLiteStore(path, wait_seconds_max=1)))

        assert _as_nobody(use) == 0
        folder.chmod(0o700)
        path.chmod(0o600)
        assert path.read_bytes() == before
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


# -- stores that do not answer ---------------------------------------------------------------------------------------


def test_a_locked_ledger_is_unavailable_after_the_wait(file: Path) -> None:
    """Nothing is charged meanwhile, and as soon as the lock is gone everything goes on."""
    ledger = Ledger(SQLiteStore(file, wait_seconds_max=0.05))
    account = open_account(ledger)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for verb in (lambda: ledger.reserve(account, ask("q1")), lambda: open_account(ledger)):
        with pytest.raises(LedgerUnavailable, match="locked"):
            verb()
    assert spent(ledger, account) == "0"
    other.execute("ROLLBACK")
    other.close()
    assert answered(ledger, account, "q1") == 1.5


def test_a_full_disk_charges_nothing_and_can_be_mended(file: Path) -> None:
    """The charge that does not fit on the disk is undone as a whole."""
    store = SQLiteStore(file)
    ledger = Ledger(store)
    account = open_account(ledger)
    assert store._connection is not None
    limit = store._connection._driver.execute("PRAGMA page_count").fetchone()[0]
    store._connection._driver.execute(f"PRAGMA max_page_count = {limit}")
    holder = ledger.reserve(account, ask("q1"))
    with pytest.raises(LedgerUnavailable, match="full"):
        ledger.settle(holder, "x" * 100_000)

    def fill_up() -> None:
        for i in range(100):
            ledger.reserve(account, ask(f"r{i}", "1e-9", description="y" * 2000))

    with pytest.raises(LedgerUnavailable, match="full"):
        fill_up()
    entries = ledger.statement(account).entries
    store._connection._driver.execute("PRAGMA max_page_count = 100000")
    assert [o.request_id for o in ledger.orphans(account)] == [e.request_id for e in entries]
    assert ledger.settle(holder, "x" * 100_000).first
    assert ledger.audit(account).ok


FULL_DISK = """
import resource, signal, sys
sys.path[:0] = [{here!r}]
from tests.ledger.ledger_world import *
from dosimeter.errors import LedgerUnavailable
from dosimeter.stores import SQLiteStore
ledger = Ledger(SQLiteStore({file!r}))
account = open_account(ledger, "1000")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
done = 0
try:
    for i in range(1000):
        answered(ledger, account, f"q{{i}}")
        done += 1
except LedgerUnavailable as error:
    print(done, error)
"""


def test_a_disk_that_fills_up_while_charging_loses_no_charge(file: Path) -> None:
    """The operating system refuses to grow the files; whoever opens the ledger later sees every answered charge."""
    code = FULL_DISK.format(here=str(Path(__file__).parent), file=str(file))
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    done, message = told.split(" ", 1)
    assert int(done) > 10
    assert str(file) in message
    ledger = Ledger(SQLiteStore(file))
    (account,) = ledger.accounts()
    statement = ledger.statement(account)
    settled = sum(entry.status == "settled" for entry in statement.entries)
    assert settled >= int(done)
    assert len(statement.entries) - settled <= 1
    assert ledger.audit(account).ok


# -- paths -----------------------------------------------------------------------------------------------------------


def test_every_spelling_of_a_path_is_the_same_ledger(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative, through a link to the file or to its folder, with dots: one budget."""
    (tmp_path / "link.db").symlink_to(file)
    (tmp_path / "folder").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    spellings = [file, "ledger.db", "./folder/ledger.db", "link.db", tmp_path / "folder" / ".." / tmp_path / "link.db"]
    ledgers = [Ledger(SQLiteStore(path)) for path in spellings]
    accounts = [open_account(ledger) for ledger in ledgers]
    outcomes = [
        ledger.reserve(account, ask(f"q{round_}-{i}"))
        for round_ in range(3)
        for i, (ledger, account) in enumerate(zip(ledgers, accounts, strict=True))
    ]
    assert len({account.id for account in accounts}) == 1
    assert sum(isinstance(o, Reserved) for o in outcomes) == 10
    assert sum(isinstance(o, RefusedRequest) for o in outcomes) == 5


def test_a_link_to_nothing_is_a_new_ledger_where_it_points(tmp_path: Path) -> None:
    """The link stays a link."""
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    SQLiteStore(tmp_path / "link.db").close()
    assert (tmp_path / "link.db").is_symlink()
    assert (tmp_path / "real.db").is_file()


def test_a_second_hard_link_is_refused(file: Path) -> None:
    """Under each name SQLite would keep a log of its own, and two processes would not see each other's charges."""
    os.link(file, f"{file}.second")
    for name in (file, f"{file}.second"):
        with pytest.raises(LedgerUnavailable, match="second name"):
            SQLiteStore(name)
    Path(f"{file}.second").unlink()
    SQLiteStore(file).close()


def test_a_creation_that_stopped_half_way_is_finished(file: Path) -> None:
    """Its maker died after putting the ledger in place and before removing the temporary name."""
    leftover = file.with_name(f".{file.name}.creating-1-abc")
    os.link(file, leftover)
    SQLiteStore(file).close()
    assert not leftover.exists()


@pytest.mark.parametrize("change", ["removed", "moved", "replaced", "copied over from elsewhere"])
def test_a_file_that_the_path_no_longer_leads_to_is_not_charged(file: Path, empty_file: Path, change: str) -> None:
    """A charge there would be found by nobody; the next opening would grant the budget again."""
    ledger = Ledger(SQLiteStore(file))
    account = open_account(ledger)
    answered(ledger, account, "q1")
    if change in {"removed", "replaced"}:
        file.unlink()
    if change == "moved":
        file.rename(f"{file}.moved")
    if change == "replaced":
        SQLiteStore(file).close()
    if change == "copied over from elsewhere":
        os.replace(shutil.copy(empty_file, f"{file}.new"), file)
    for verb in (lambda: ledger.reserve(account, ask("q2")), lambda: ledger.balance(account)):
        with pytest.raises(LedgerUnavailable, match="moved, removed or replaced"):
            verb()
    if change == "moved":
        Path(f"{file}.moved").rename(file)
        assert answered(ledger, account, "q2") == 1.5


# -- forks -----------------------------------------------------------------------------------------------------------


def _in_child(work: Callable[[], int]) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        code = work()
    finally:
        os._exit(code)


def test_a_forked_child_has_a_connection_of_its_own_and_no_budget_of_its_own(file: Path) -> None:
    """Ledgers opened before the fork work on both sides, and both sides spend from one budget."""
    ledger = Ledger(SQLiteStore(file))
    account = open_account(ledger)
    answered(ledger, account, "before", "0.1")

    def child() -> int:
        return sum(isinstance(ledger.reserve(account, ask(f"c{i}")), Reserved) for i in range(5))

    assert _in_child(child) == 5
    assert sum(isinstance(ledger.reserve(account, ask(f"p{i}")), Reserved) for i in range(9)) == 4
    assert spent(ledger, account) == "1"
    assert ledger.audit(account).ok


def test_a_fork_waits_for_the_transaction_in_progress(file: Path) -> None:
    """Threads charge while the process forks again and again; no transaction is torn, no child hangs."""
    ledger = Ledger(SQLiteStore(file))
    account = open_account(ledger, "1000")
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(lambda n=n: [answered(ledger, account, f"t{n}-{i}") for i in range(40)]) for n in (0, 1)]
        for fork in range(5):

            def child(fork: int = fork) -> int:
                return isinstance(ledger.reserve(account, ask(f"f{fork}")), Reserved)

            assert _in_child(child) == 1
        for job in running:
            assert len(job.result()) == 40
    assert spent(ledger, account) == "8.5"
    assert ledger.audit(account).ok


def test_a_fork_that_python_did_not_see_is_refused(file: Path) -> None:
    """Another process id than the one that opened it: the ledger must be opened again."""
    store = SQLiteStore(file)
    store._process -= 1
    with pytest.raises(LedgerUnavailable, match="forked"):
        Ledger(store).accounts()


def test_a_ledger_in_memory_does_not_follow_a_fork() -> None:
    """The child would hold a second copy of the same budget."""
    ledger = Ledger(MemoryStore())
    account = open_account(ledger)

    def child() -> int:
        try:
            ledger.reserve(account, ask("q"))
        except LedgerUnavailable:
            return 7
        return 1

    assert _in_child(child) == 7


# -- versions --------------------------------------------------------------------------------------------------------


def _set_revision(file: Path, revision: str) -> None:
    run(file, f"UPDATE dosimeter_version SET version_num = '{revision}'")


def test_a_newer_ledger_is_not_touched(file: Path) -> None:
    """It says which revision it found and that a newer version is needed."""
    _set_revision(file, "0099")
    before = file.read_bytes()
    with pytest.raises(LedgerVersionError, match=r"0099.*newest version"):
        SQLiteStore(file)
    assert file.read_bytes() == before


def test_an_older_ledger_is_migrated_and_keeps_everything(file: Path) -> None:
    """From the first revision, without the triggers of the second."""
    _drop_triggers(filled(file))
    _set_revision(file, "0001")
    with ThreadPoolExecutor(4) as pool:  # several that meet an old ledger at once
        ledgers = [Ledger(store) for store in pool.map(lambda _: SQLiteStore(file), range(4))]
    account = ledgers[0].find(PEOPLE)
    assert account is not None
    assert spent(ledgers[1], account) == "0.9"
    assert ledgers[2].audit(account).ok
    assert run(file, "SELECT version_num FROM dosimeter_version") == [("0002",)]
    assert len(run(file, TRIGGERS)) == 7


def test_a_migration_that_fails_leaves_the_old_ledger(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole migration is one transaction."""
    from dosimeter.stores.sql import migrate

    _drop_triggers(file)
    _set_revision(file, "0001")

    def fails_at_the_end(connection: object, to: str = "0002") -> None:
        upgrade(connection, to)  # type: ignore[arg-type]
        raise OSError(5, "power cut")

    upgrade = migrate.upgrade
    monkeypatch.setattr(migrate, "upgrade", fails_at_the_end)
    with pytest.raises(LedgerUnavailable):
        SQLiteStore(file)
    assert run(file, "SELECT version_num FROM dosimeter_version") == [("0001",)]
    assert run(file, TRIGGERS) == []
    monkeypatch.undo()
    SQLiteStore(file).close()


def test_a_process_that_was_overtaken_by_a_newer_version_stops(file: Path) -> None:
    """A newer version that changes what charging means renames the heads' table, and old processes cannot charge."""
    ledger = Ledger(SQLiteStore(file))
    account = open_account(ledger)
    run(file, "ALTER TABLE dosimeter_accounts RENAME TO dosimeter_accounts_3")
    with pytest.raises(LedgerVersionError, match="newer"):
        ledger.reserve(account, ask("q1"))


# -- how it is built -------------------------------------------------------------------------------------------------


def test_the_migrations_build_the_tables_that_the_code_uses(file: Path) -> None:
    """Alembic finds no difference between a new ledger and the tables' definition, and knows every revision."""
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from sqlalchemy import create_engine

    from dosimeter.stores.sql import migrate
    from dosimeter.stores.sql.tables import METADATA

    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "dosimeter_version"})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert tuple(reversed([s.revision for s in scripts.walk_revisions()])) == migrate.REVISIONS


def test_no_statement_reads_the_history_to_decide_a_charge(file: Path) -> None:
    """Each statement of a charge is a search in an index by all it knows; a scan would make long sessions quadratic."""
    from dosimeter.stores.sql.sqlite_file import _statements

    connection = sqlite3.connect(file)
    for name in ("HEAD_TO_MOVE", "HISTORY", "MOVE_HEAD", "OWNER", "RECORD"):
        statement = _statements()[name]
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement.text}", [1] * len(statement.names)).fetchall()
        assert len(plan) == 1
        assert "SEARCH" in plan[0][3]
        if name == "HISTORY":
            assert "dosimeter_records_by_request (account_id=? AND request_id=?)" in plan[0][3]
    connection.close()


def test_every_commit_is_on_disk(file: Path) -> None:
    """WAL with synchronous=FULL, on the very connection that charges."""
    store = SQLiteStore(file)
    assert store._connection is not None
    ask_it = store._connection._driver.execute
    assert ask_it("PRAGMA journal_mode").fetchone() == ("wal",)
    assert ask_it("PRAGMA synchronous").fetchone() == (2,)


def test_importing_the_ledger_loads_no_heavy_library() -> None:
    """SQLAlchemy, Alembic and the numerical libraries load when a store is opened, not before."""
    heavy = "{'sqlalchemy', 'alembic', 'numpy', 'scipy', 'opendp', 'duckdb', 'sqlglot', 'flint'}"
    code = f"import sys, dosimeter.ledger, dosimeter.stores; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_store_that_nobody_holds_any_more_closes_its_file(file: Path) -> None:
    """Forgetting to close one leaves no log behind and no warning."""
    ledger = Ledger(SQLiteStore(file))
    answered(ledger, open_account(ledger), "q1")
    assert Path(f"{file}-wal").exists()
    del ledger
    gc.collect()
    assert not Path(f"{file}-wal").exists()


def test_messages_never_carry_parameters(file: Path) -> None:
    """An error of the driver may quote what was bound to a statement; the ledger's message never does."""
    store = SQLiteStore(file, wait_seconds_max=0.05)
    ledger = Ledger(store)
    account = open_account(ledger)
    holder = ledger.reserve(account, ask("q1"))
    run(file, "DROP TABLE dosimeter_records")
    with pytest.raises(LedgerError) as raised:
        ledger.settle(holder, "the noisy answer")
    assert "noisy" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
