"""What SQLite and the operating system say, in the ledger's words: what happened, to which file, what to do.

The driver's own text is dropped, because it may quote a parameter.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError

from dosimeter.errors import LedgerCorrupt, LedgerError, LedgerUnavailable, LedgerVersionError

_UNAVAILABLE: Final[dict[int, str]] = {
    sqlite3.SQLITE_BUSY: "is locked by another process for longer than the wait; nothing was written, try again",
    sqlite3.SQLITE_LOCKED: "is locked; nothing was written, try again",
    sqlite3.SQLITE_PROTOCOL: "is locked by too many others at once; nothing was written, try again",
    sqlite3.SQLITE_READONLY: "may not be written; change the permissions of the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that the file exists and may be read and written",
    sqlite3.SQLITE_PERM: "may not be opened; change the permissions of the file and its directory",
    sqlite3.SQLITE_FULL: "cannot grow: the disk or its quota is full; nothing was written, make room",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error or is full; check the disk",
    sqlite3.SQLITE_NOMEM: "needs more memory than there is",
}
_CORRUPT: Final[dict[int, str]] = {
    sqlite3.SQLITE_NOTADB: "is not a ledger (not an SQLite database); give another path or restore it from a backup",
    sqlite3.SQLITE_CORRUPT: "is damaged or cut short; restore it from a backup, nothing was reset",
    sqlite3.SQLITE_CONSTRAINT: "contradicts itself or refuses to be rewritten; nothing was written, run the audit",
    sqlite3.SQLITE_ERROR: "is not a ledger of this application; give another path or restore it from a backup",
    sqlite3.SQLITE_MISMATCH: "holds a value of the wrong type; restore it from a backup",
}


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Let errors of the driver and the operating system leave as the ledger's errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from None
    except DBAPIError as error:
        raise translate(error.orig, path) from None
    except OSError as error:
        raise LedgerUnavailable(f"the ledger {path} cannot be reached: {error.strerror}; check the path") from None


def translate(error: BaseException | None, path: str, *, was_ledger: bool = False) -> LedgerError:
    """The ledger's error for one of the driver's; `was_ledger`: the file was recognised before this happened."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary == sqlite3.SQLITE_ERROR and was_ledger:
        return LedgerVersionError(
            f"the ledger {path} has other tables than when it was opened: a newer Dosimeter uses it now; "
            "install the newest version everywhere, then open it again"
        )
    if primary in _CORRUPT:
        return LedgerCorrupt(f"the ledger {path} {_CORRUPT[primary]}")
    if primary in _UNAVAILABLE:
        return LedgerUnavailable(f"the ledger {path} {_UNAVAILABLE[primary]}")
    if primary is None and "decode" in str(error):
        return LedgerCorrupt(f"the ledger {path} holds a text that is not UTF-8; restore it from a backup")
    return LedgerUnavailable(f"the ledger {path} does not answer ({type(error).__name__}); nothing was released")
