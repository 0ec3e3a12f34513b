"""What PostgreSQL and its driver say, in the ledger's words: what happened, at which server, what to do.

The driver's own text is dropped, because it may quote a parameter; of a connection that could not be made only the
reason is kept, never the password. Three kinds are told apart, because the ledger acts on them: the transaction was
undone and may be tried again, nobody knows whether it was committed, and everything else.
"""

from __future__ import annotations

from typing import Any, Final

from dosimeter.errors import CommitUnknown, LedgerCorrupt, LedgerError, LedgerUnavailable, LedgerVersionError, Undone

_NOTHING: Final = "nothing was written"
_UNDONE: Final[dict[str, str]] = {
    "40001": f"could not put this transaction and another in an order; {_NOTHING}, try again",
    "40P01": f"broke a deadlock by undoing this transaction; {_NOTHING}, try again",
}
_UNAVAILABLE: Final[dict[str, str]] = {
    "55P03": f"kept this waiting for longer than the wait: somebody holds the account; {_NOTHING}, try again",
    "57014": f"cancelled a statement (statement_timeout, or an administrator); {_NOTHING}, try again",
    "57P03": "is starting up or shutting down; try again in a moment",
    "53100": f"cannot grow: its disk is full; {_NOTHING}, make room",
    "53200": f"has no memory left; {_NOTHING}, try again",
    "53300": "has no connection left (max_connections); close some, or open fewer per process",
    "42501": "does not let this user do that; grant what docs/operate/postgresql.md lists",
    "25006": "only reads: it is a replica, or the connection is read-only; charge at the primary",
    "28000": "does not let this user in; check the user's name, pg_hba.conf and TLS",
    "28P01": "does not accept the password",
    "3D000": "has no database of this name; create it first",
    "54000": f"refuses a value that is too long; {_NOTHING}",
    "58030": f"cannot read or write its disk; {_NOTHING}, check the server",
}
_CORRUPT: Final[dict[str, str]] = {
    "XX001": "holds damaged data; restore the ledger from a backup, nothing was reset",
    "XX002": "holds a damaged index; run REINDEX, then the audit",
    "22021": "holds a text that is not UTF-8; restore the ledger from a backup",
}
_LOST_CLASSES: Final = ("08", "57P01", "57P02", "57P04", "57P05", "25P03", "25P04")
_CONNECTING: Final = (  # libpq gives a connection that failed no code, only words
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ("does not exist", "3D000"),
    ("too many clients", "53300"),
    ("remaining connection slots", "53300"),
    ("starting up", "57P03"),
    ("shutting down", "57P03"),
    ("no pg_hba.conf entry", "28000"),
    ("authentication failed", "28000"),
)
_UNREACHABLE: Final = (
    ("name or service not known", "its host is not known; check the URL"),
    ("could not translate host name", "its host is not known; check the URL"),
    ("failed to resolve host", "its host is not known; check the URL"),
    ("connection refused", "nothing listens there; check the URL and whether the server runs"),
    ("no such file or directory", "nothing listens there; check the URL and whether the server runs"),
    ("timeout expired", "it did not answer in time; check the URL and the network"),
    ("ssl", "TLS could not be agreed; check sslmode and the certificates"),
    ("invalid", "an option in the URL is not known or has no meaning; check the URL"),
)


def translate(error: BaseException, where: str, *, committing: bool = False, standby: bool = False) -> LedgerError:
    """The ledger's error for one of the driver's, raised in a connection that had been made (to a standby)."""
    code = str(getattr(error, "sqlstate", None) or "")
    if standby and code == "0A000":  # how a standby calls a transaction that would write
        code = "25006"
    if code in _UNDONE:
        return Undone(f"the ledger {where} {_UNDONE[code]}")
    if code == "23505" and _about(error) == "dosimeter_identities":
        return Undone(f"the ledger {where} was opened for the same data by somebody else at once; try again")
    if code.startswith("23"):
        return LedgerCorrupt(f"the ledger {where} contradicts itself or refuses to be rewritten; {_NOTHING}, audit it")
    if code in {"42P01", "42703", "3F000", "0A000"}:
        return LedgerVersionError(
            f"the ledger {where} has other tables than when it was opened: a newer Dosimeter uses it now; "
            "install the newest version everywhere, then open it again"
        )
    if code in _CORRUPT:
        return LedgerCorrupt(f"the ledger {where} {_CORRUPT[code]}")
    if code in _UNAVAILABLE:
        return LedgerUnavailable(f"the ledger {where} {_UNAVAILABLE[code]}")
    if not code or code.startswith(_LOST_CLASSES):
        if committing:
            return CommitUnknown(
                f"the connection to the ledger {where} was lost during a commit; what was asked is kept whole or not "
                "at all: ask the same again, and it is charged once"
            )
        return Undone(f"the connection to the ledger {where} was lost; {_NOTHING}, try again")
    return LedgerUnavailable(f"the ledger {where} does not answer (code {code}); {_NOTHING}")


def translate_connecting(error: BaseException, where: str) -> LedgerError:
    """The ledger's error for a connection that could not be made."""
    code, words = str(getattr(error, "sqlstate", None) or ""), str(error).lower()
    code = code or next((found for part, found in _CONNECTING if part in words), "")
    if code in _UNAVAILABLE:
        return LedgerUnavailable(f"the ledger {where} cannot be reached: the server {_UNAVAILABLE[code]}")
    reason = next((said for part, said in _UNREACHABLE if part in words), "check the URL and whether the server runs")
    return LedgerUnavailable(f"the ledger {where} cannot be reached: {reason}")


def _about(error: BaseException) -> str | None:
    diagnosis: Any = getattr(error, "diag", None)
    return getattr(diagnosis, "table_name", None)
