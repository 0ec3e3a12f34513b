"""A store that fails on purpose, at every boundary between an effect and the next, as a seed decides.

It wraps any store through the port, so the same faults meet all of them:

    before a transaction      the store does not answer
    before and after a verb   the process is killed, the store does not answer, it undoes the transaction,
                              or it is slow and somebody else comes in between
    at the commit             it fails and nothing was kept; it is kept and the process is killed;
                              the connection breaks, and it was kept, or it was not
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from dosimeter.errors import CommitUnknown, LedgerUnavailable, Undone
from dosimeter.ledger.record import LedgerKey
from dosimeter.ledger.store import Store

VERBS: Final = {"append", "extend", "claim"}


class Killed(BaseException):
    """The process is gone. Nothing in it may catch this, as nothing catches a kill."""


class FaultyStore:
    """One process's view of a store.

    Args:
        inner: the store behind it.
        chance: decides, from the seed.
        rate: the probability of a fault at each boundary.
        meanwhile: lets somebody else act while this store is slow.
        note: told of each fault, for the log of a failing seed.
    """

    def __init__(
        self,
        inner: Store,
        chance: random.Random,
        rate: float,
        meanwhile: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.inner = inner
        self.faults = 0
        self.rate = rate
        self._chance = chance
        self._meanwhile = meanwhile
        self._note = note

    def key(self) -> LedgerKey:
        """The key of the store behind."""
        return self.inner.key()

    def close(self) -> None:
        """Leave the store behind open: other processes use it."""

    @contextmanager
    def read(self) -> Iterator[Any]:
        """A view, if the store answers."""
        self._fault("read", {"kill": Killed("before reading"), "down": LedgerUnavailable("down")})
        with self.inner.read() as view:
            yield view

    @contextmanager
    def write(self) -> Iterator[Any]:
        """A transaction with faults before, inside and at its end."""
        self._fault(
            "begin", {"kill": Killed("before"), "down": LedgerUnavailable("down"), "undone": Undone("no connection")}
        )
        lost = None
        with self.inner.write() as tx:
            yield _Faulty(tx, self)
            if self._strikes():
                lost = self._chance.choice(["fails", "undone", "killed before", "killed after", "lost", "kept"])
                self._tell(f"commit {lost}")
            if lost == "fails":
                raise LedgerUnavailable("the disk is full")
            if lost == "undone":
                raise Undone("deadlock")
            if lost == "killed before":
                raise Killed("at the commit")
            if lost == "lost":
                raise CommitUnknown("the connection broke")
        if lost == "killed after":
            raise Killed("after the commit")
        if lost == "kept":
            raise CommitUnknown("the connection broke")

    def _strikes(self) -> bool:
        return self._chance.random() < self.rate

    def _fault(self, where: str, kinds: dict[str, BaseException]) -> None:
        if self._strikes():
            name = self._chance.choice(sorted(kinds))
            self._tell(f"{where} {name}")
            raise kinds[name]

    def _tell(self, what: str) -> None:
        self.faults += 1
        self._note(what)


class _Faulty:
    """A transaction whose verbs fail now and then."""

    def __init__(self, tx: Any, store: FaultyStore) -> None:
        self._tx = tx
        self._store = store

    @property
    def written(self) -> Any:
        """What was appended so far."""
        return self._tx.written

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._tx, name)

        def with_faults(*args: Any) -> Any:
            self._around(name)
            done = verb(*args)
            if name in VERBS:
                self._around(f"after {name}")
            return done

        return with_faults

    def _around(self, where: str) -> None:
        store = self._store
        if store._strikes() and store._chance.random() < 0.5:
            store._tell(f"{where} slow")
            store._meanwhile()
        store._fault(
            where, {"kill": Killed(where), "down": LedgerUnavailable("down"), "undone": Undone("connection lost")}
        )
