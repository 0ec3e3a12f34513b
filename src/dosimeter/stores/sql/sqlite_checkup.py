"""What is the case with a ledger's file, looked at from outside: settings, rights, leftovers, room, tables, pages.

Nothing is written. Where SQLite needs its lock files to read (`-wal`, `-shm`) it may put them beside the ledger.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from typing import Any, Final

from dosimeter.ledger.checkup import Finding, Level, error, ok, warning
from dosimeter.stores import filesystems
from dosimeter.stores.sql import migrate
from dosimeter.stores.sql.sqlite_errors import translate
from dosimeter.stores.sql.sqlite_file import APPLICATION_ID, _creating, _engine

HEADER: Final = b"SQLite format 3\0"
LITTLE_ROOM, NO_ROOM = 1 << 30, 64 << 20
LONG_LOG: Final = 256 << 20

_FILE: Final = "a ledger that cannot be opened charges nothing and answers nothing"
_RIGHTS: Final = (
    "who may write the file may rewrite it, and who may read it reads questions, answers and the ledger's secret"
)
_PLACE: Final = "SQLite's log needs memory and locks that processes share, and what is charged must outlive the machine"
_JOURNAL: Final = (
    "only with a write-ahead log do readers and writers not wait for each other, and only with FULL is a commit on disk"
)
_LEFT: Final = "files beside the ledger belong to it: a copy without them, or with others, is another ledger"
_ROOM: Final = "a full disk stops charging (nothing is lost by that)"
_TABLES: Final = "charges rely on the tables and indexes, and triggers refuse to rewrite history"
_PAGES: Final = "damaged pages may hide charges"
_SQLITE: Final = "SQLite does the writing"


def examine_file(location: str | os.PathLike[str], *, thorough: bool) -> Iterator[Finding]:
    """Look at everything that can be seen of a ledger's file; after an error about `file` there is nothing to see."""
    path = os.path.realpath(os.fsdecode(os.fspath(location)))
    try:
        facts = os.stat(path)
    except OSError as failed:
        yield error("file", f"{path} cannot be reached: {failed.strerror}", _FILE, "check the path")
        return
    yield from (seen := _file(path, facts))
    if seen[0].level is Level.ERROR and facts.st_nlink == 1:
        return
    yield from _rights(path, facts)
    yield _place(path)
    yield from _leftovers(path, facts)
    yield _room(path)
    yield _sqlite()
    yield from _inside(path, thorough=thorough)


def _file(path: str, facts: os.stat_result) -> list[Finding]:
    """Whether it is a ledger at all, and how SQLite keeps it."""
    restore = "give the path of the ledger, or restore it from a backup"
    if not stat.S_ISREG(facts.st_mode):
        return [error("file", f"{path} is no regular file", _FILE, restore)]
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError as failed:
        return [error("file", f"{path} cannot be read: {failed.strerror}", _FILE, "change its permissions")]
    if len(header) < 100 or not header.startswith(HEADER):
        what = "is empty" if not header else "is no SQLite database, or its beginning is damaged"
        return [error("file", f"{path} {what}", _FILE, restore)]
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        return [error("file", f"{path} is the database of another application", _FILE, "give the path of the ledger")]
    found = ok("file", f"{path} is a ledger of {facts.st_size} bytes", _FILE)
    if facts.st_nlink > 1:
        what = f"{path} has {facts.st_nlink} names (hard links), and under each it would get a log of its own"
        found = error("file", what, _FILE, "remove the other names")
    return [found, _journal(header)]


def _journal(header: bytes) -> Finding:
    if header[18:20] == b"\2\2":
        what = "the file is kept with a write-ahead log; every connection sets synchronous=FULL and checks it"
        return ok("journal", what, _JOURNAL)
    what = "the file is kept with a rollback journal: somebody else changed it"
    todo = "end whatever else opens the file; the next charge switches the log on again, or refuses where it cannot"
    return warning("journal", what, _JOURNAL, todo)


def _rights(path: str, facts: os.stat_result) -> Iterator[Finding]:
    mode = stat.S_IMODE(facts.st_mode)
    folder = os.path.dirname(path)
    place = os.stat(folder)
    open_folder = bool(place.st_mode & stat.S_IWOTH) and not place.st_mode & stat.S_ISVTX
    if mode & stat.S_IWOTH or open_folder:
        what = f"{folder if open_folder else path} may be written by everybody"
        yield error("permissions", what, _RIGHTS, f"chmod o-w {folder if open_folder else path}")
    elif mode & 0o077:
        todo = f"chmod 600 {path}, unless a group of people shares the ledger on purpose"
        yield warning("permissions", f"{path} may be read or written by others (mode {mode:03o})", _RIGHTS, todo)
    elif not (os.access(path, os.R_OK | os.W_OK) and os.access(folder, os.W_OK | os.X_OK)):
        todo = "read statements with --read-only, or charge as its owner"
        yield warning("permissions", "this user may not write the file or its directory", _RIGHTS, todo)
    else:
        yield ok("permissions", f"only its owner may read and write it (mode {mode:03o})", _RIGHTS)
    for ending in ("-wal", "-shm"):
        try:
            owner = os.stat(path + ending).st_uid
        except OSError:
            continue
        if owner != facts.st_uid:
            what = f"{path}{ending} belongs to user {owner}, the ledger to user {facts.st_uid}"
            yield error("permissions", what, _RIGHTS, f"chown {facts.st_uid} {path}{ending}")


def _place(path: str) -> Finding:
    kind = filesystems.filesystem_of(path, filesystems.read_mounts())
    if kind is None:
        return ok("filesystem", "which file system this is was not to be found out", _PLACE)
    if filesystems.is_networked(kind):
        todo = "move it to a local disk, or keep it on PostgreSQL for several machines (docs/operate/postgresql.md)"
        return error("filesystem", f"it lies on {kind}, a file system of a network", _PLACE, todo)
    if kind in filesystems.FORGETFUL:
        what = f"it lies on {kind}, in memory: gone with the machine"
        return warning("filesystem", what, _PLACE, "move it to a disk")
    if kind in filesystems.LAYERED:
        todo = "keep it on a volume if this is a container"
        return warning("filesystem", f"it lies on {kind}, which a container throws away with itself", _PLACE, todo)
    return ok("filesystem", f"it lies on {kind}", _PLACE)


def _leftovers(path: str, facts: os.stat_result) -> Iterator[Finding]:
    folder, base = os.path.split(path)
    log = _size(f"{path}-wal")
    trouble = False
    if _size(f"{path}-journal"):
        trouble = True
        what = f"{path}-journal is there: a transaction of another mode was cut short"
        yield error("leftovers", what, _LEFT, "leave it there and charge or audit once, which rolls it back")
    halves = [name for name in os.listdir(folder) if name.startswith(_creating(base))]
    if halves:
        trouble = True
        what = f"{len(halves)} half-made files {_creating(base)}* are there: making the ledger was cut short"
        yield warning("leftovers", what, _LEFT, "remove them; the ledger itself is complete")
    if log and log > max(LONG_LOG, facts.st_size):
        trouble = True
        what = f"the log {path}-wal has grown to {log} bytes: somebody reads without ever ending"
        yield warning("leftovers", what, _LEFT, "end long-running readers; the next charge folds the log in")
    if not trouble:
        held = f"the log holds {log} bytes, which belong to the ledger: copy both"
        yield ok("leftovers", held if log else "no log waits to be folded in", _LEFT)


def _room(path: str) -> Finding:
    free = shutil.disk_usage(os.path.dirname(path)).free
    what = f"{free // (1 << 20)} MiB are free"
    if free < NO_ROOM:
        return error("space", what, _ROOM, "make room")
    if free < LITTLE_ROOM:
        return warning("space", what, _ROOM, "make room")
    return ok("space", what, _ROOM)


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version_info
    what = f"SQLite {sqlite3.sqlite_version}"
    mended = version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
    if mended:
        return ok("sqlite", what, _SQLITE)
    return warning(
        "sqlite",
        f"{what} may, very rarely, damage a file that two processes write at once (sqlite.org/wal.html#walresetbug)",
        _SQLITE,
        "use SQLite 3.51.3 or newer (a distribution may have mended an older one); keep backups, and audit them",
    )


def _inside(path: str, *, thorough: bool) -> Iterator[Finding]:
    try:
        with closing(_engine(path, 5, "ro").raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA query_only=ON")
            cursor.execute("BEGIN")
            yield (schema := _schema(cursor))
            if schema.level is Level.OK:  # only this version's tables are known
                yield from _tables(cursor)
            if thorough:
                (said, *others) = [row[0] for row in cursor.execute("PRAGMA quick_check(3)").fetchall()]
                if said == "ok":
                    yield ok("pages", "every page is sound", _PAGES)
                else:
                    todo = "restore the newest backup that the audit proves; nothing was reset"
                    yield error("pages", f"pages are damaged ({1 + len(others)} places found)", _PAGES, todo)
            cursor.execute("ROLLBACK")
    except sqlite3.Error as failed:
        yield error("pages", str(translate(failed, path)), _PAGES, "restore the newest backup that the audit proves")


def _schema(cursor: Any) -> Finding:
    found = [row[0] for row in cursor.execute("SELECT version_num FROM dosimeter_version").fetchall()]
    return revision_found(found)


def revision_found(found: list[str]) -> Finding:
    """What a database's revisions mean: one of this version, one to be migrated, or one of a newer version."""
    why = "a version must know the tables that it charges"
    if found == [migrate.NEWEST]:
        return ok("schema", f"revision {migrate.NEWEST}, the newest; no migration is pending", why)
    if len(found) == 1 and found[0] in migrate.REVISIONS:
        pending = migrate.REVISIONS[migrate.REVISIONS.index(found[0]) + 1 :]
        what = f"revision {found[0]}; the migrations {', '.join(pending)} are pending"
        return warning("schema", what, why, "back up, then open it once for writing (docs/operate/upgrade.md)")
    said = ", ".join(map(str, found)) or "none"
    what = f"revision {said}, which this version does not know (it knows {migrate.NEWEST})"
    return error("schema", what, why, "install the newest version everywhere")


def _tables(cursor: Any) -> Iterator[Finding]:
    there = dict(cursor.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall())
    wanted = expected_schema()
    wrong = sorted(name for name, text in wanted.items() if there.get(name) != text)
    odd = sorted(name for name in set(there) - set(wanted) if name.startswith("trigger "))
    if wrong:
        what = f"missing or changed: {', '.join(wrong)}"
        todo = "find out who changed it, then compare the audit with a checkpoint (docs/operate/recover.md)"
        yield error("tables", what, _TABLES, todo)
    if odd:
        yield error("tables", f"not of this application: {', '.join(odd)}", _TABLES, "find out who made it; drop it")
    if not wrong and not odd:
        count = sum(name.startswith("trigger ") for name in wanted)
        yield ok("tables", f"the tables, the index and all {count} triggers are as they were made", _TABLES)
    tables = [name.removeprefix("table ") for name in there if name.startswith("table ")]
    keys = sum(len(cursor.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()) for name in tables)
    why = "records and heads are held together by one transaction and by the chain, not by foreign keys"
    if keys:
        yield warning("foreign_keys", f"{keys} foreign keys were added", why, "find out who added them")
    else:
        yield ok("foreign_keys", "there are none to be enforced", why)


@cache
def expected_schema() -> dict[str, str]:
    """What a new ledger's file says of its tables, indexes and triggers, by type and name."""
    from sqlalchemy import create_engine

    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        migrate.upgrade(connection)
        rows = connection.exec_driver_sql("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        found = {str(name): str(text) for name, text in rows}
    engine.dispose()
    return found


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
