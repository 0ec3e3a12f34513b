"""One tree of errors: each carries the values that decided, and says what to do next.

Nothing derived from private rows may enter a message. Expected outcomes (an account that refuses a query, a
request that is replayed) are values in the core; `QueryRefused` is how a session shows the first to a caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class DosimeterError(Exception):
    """The root: catch this to catch everything Dosimeter raises on purpose."""


class InputError(DosimeterError, ValueError):
    """A value given by the caller is not acceptable; nothing was charged, nothing was changed."""


class NotionError(InputError):
    """A guarantee of one notion (or one neighbouring relation) was used where another is needed."""


class NoGuaranteeError(DosimeterError):
    """No theorem gives the asked guarantee; offering a number would be a false claim."""


class EnginesDisagree(DosimeterError):
    """Two engines gave certified intervals of one number that have no point in common: one of them is wrong.

    `first` and `second` are the intervals. There is no answer until the fault is found.
    """

    def __init__(self, message: str, first: Any, second: Any) -> None:
        super().__init__(message)
        self.first = first
        self.second = second


class QueryError(InputError):
    """A query cannot be planned: unknown column, missing bound, unbounded sensitivity."""


class QueryRefused(DosimeterError):
    """The account's filter did not admit the query (or a quota: `QuotaExceeded`). The account is unchanged and goes on.

    `refusal` carries the numbers: requested, spent, remaining, budget. The message also says what would fit; that is
    found when the message is read for the first time, since it takes a few prices.
    """

    def __init__(self, message: str, refusal: Any, advice: Callable[[], str] | None = None) -> None:
        super().__init__(message)
        self.refusal = refusal
        self._advice = advice
        self._told: str | None = None

    def __str__(self) -> str:
        if self._told is None:
            said = self._advice() if self._advice is not None else ""
            self._told = "; ".join(part for part in (super().__str__(), said) if part)
        return self._told


class QuotaExceeded(QueryRefused):
    """The quota of an analyst or a team did not admit the query, whatever the account itself has left.

    `quota` says whose and whether more of it unlocks later; `refusal` carries the quota's numbers.
    """

    def __init__(self, message: str, quota: Any) -> None:
        super().__init__(message, quota.refusal)
        self.quota = quota


class SourceError(DosimeterError):
    """The rows could not be read or aggregated. Says which step failed, never what a row holds."""


class EntropyError(DosimeterError):
    """The randomness failed or looks broken. Nothing was released; what was charged stays charged."""


class LedgerError(DosimeterError):
    """The ledger cannot do what was asked; what was charged stays charged."""


class LedgerUnavailable(LedgerError):
    """The store does not answer (missing, locked, read-only, full). Nothing may be released meanwhile."""


class Undone(LedgerUnavailable):
    """The store undid a whole transaction (deadlock, lost connection): nothing was written, and trying again may do."""


class CommitUnknown(LedgerUnavailable):
    """The connection broke during a commit: everything was written or nothing. Asking the same again charges once."""


class LedgerCorrupt(LedgerError):
    """The store's content is not a ledger, is truncated, or does not agree with itself."""


class LedgerVersionError(LedgerError):
    """The store was written by another version of Dosimeter than this one can read."""


class AccountNotFound(LedgerError):
    """No account exists under this name or for this data set."""


class AccountConflict(LedgerError):
    """An account for this data set exists with other terms, or its data changed."""


class RequestConflict(LedgerError):
    """The same request id was used before with another body."""


class NotAuthorised(LedgerError):
    """The action needs a steward's name and reason."""
