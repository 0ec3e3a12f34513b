"""Running a transaction again where that is safe: a store that undid one may be asked again, and nothing runs twice.

A server can undo a transaction (a deadlock, a lost connection), and then it is simply run again. The delicate case is a
connection that breaks during the commit: nobody knows whether the server kept it. Then the next attempt looks first.
It locks the account, which waits until the earlier transaction has come to its end in either way, and reads the place
where the first of the earlier records would stand. Digests name records for ever, and a transaction is kept whole or
not at all: if that record is there the earlier attempt was kept and its outcome is the outcome; if not, it never will
be, and the verb runs anew.

So a charge is kept or never made, never doubled and never lost. When time runs out with the question still open, the
error says so; asking the same request again charges it once, because requests are known by their ids.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from dosimeter.errors import CommitUnknown, LedgerUnavailable, Undone
from dosimeter.ledger.record import Record
from dosimeter.ledger.store import Store, Writing

T = TypeVar("T")
_SHORTEST, _LONGEST = 0.005, 1.0
_JITTER: Final = random.Random()  # noqa: S311 - decides pauses only


def in_one_transaction(
    store: Store,
    work: Callable[[Writing], T],
    *,
    seconds_max: float,
    pause: Callable[[float], None] = time.sleep,
    retried: Callable[[LedgerUnavailable], None] | None = None,
) -> T:
    """Run `work` in a transaction of the store, again if the store undid it, and return what the kept one returned.

    Guarantee: when this returns, exactly one run of `work` was kept; when it raises anything but CommitUnknown, none.

    Args:
        store: where.
        work: decides and writes; it may run several times, so its only effects are on the transaction it is given.
        seconds_max: for how long to go on trying after the first failure.
        pause: waits for so many seconds.
        retried: told of each failure that is tried again.

    Raises:
        Undone, LedgerUnavailable: the time is over; nothing was written.
        CommitUnknown: the time is over, and the store has not said whether it kept the last attempt.
    """
    until: float | None = None
    wait = _SHORTEST
    doubtful: list[Record] = []  # of an attempt that was kept or not
    doubt: CommitUnknown | None = None
    result: T
    while True:
        found, tx, done = False, None, False
        try:
            with store.write() as tx:
                found = bool(doubtful) and _stands(tx, doubtful[0])
                if not found:
                    doubtful, doubt = [], None
                    result = work(tx)
                    done = True
            return result  # noqa: TRY300 - the block above may fail while it ends
        except LedgerUnavailable as error:
            if found or (isinstance(error, CommitUnknown) and done and tx is not None and not tx.written):
                return result  # what ended badly had only been reading
            if isinstance(error, CommitUnknown) and tx is not None:
                doubtful, doubt = list(tx.written), error
            elif not isinstance(error, Undone) and until is None:
                raise
            now = time.monotonic()
            until = now + seconds_max if until is None else until
            if now >= until:
                if doubt is not None and error is not doubt:
                    raise doubt from None
                raise
            if retried is not None:
                retried(error)
            pause(wait * (0.5 + _JITTER.random()))
            wait = min(wait * 2, _LONGEST)


def _stands(tx: Writing, record: Record) -> bool:
    """Whether this very record was kept; the lock on the head waits for whoever is still about to write it."""
    tx.head(record.account_id)
    found = tx.record(record.account_id, record.seq)
    return found is not None and found.digest == record.digest
