"""One run: a seed decides who acts, what they do and what breaks; checkers look on, and at the end all is proved."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from tests.simulator import checks
from tests.simulator.backends import Backend
from tests.simulator.checks import Checkers, Violation, need, units
from tests.simulator.clients import RELATION, Client, request_of

from dosimeter.adaptive.filters import PureFilter, ZCDPFilter
from dosimeter.errors import LedgerCorrupt, LedgerUnavailable
from dosimeter.ledger import Account, DatasetIdentity, Ledger, RefusedRequest, Replayed, Reserved, attempts, desk
from dosimeter.ledger.checkpoint import audit_against, take
from dosimeter.ledger.exchange import export, load
from dosimeter.ledger.store import Store
from dosimeter.neighbours import PrivacyUnit
from dosimeter.stores import MemoryStore

MOST_CLIENTS: Final = 5


class Failed(Exception):
    """A seed broke a promise; says how to run it again."""


class World:
    """Accounts, clients, a clock that jumps, and the log of what happened."""

    def __init__(
        self,
        seed: int,
        backend: Backend,
        *,
        steps: int = 40,
        client: type[Client] = Client,
        wrap: Callable[[Store], Store] = lambda store: store,
    ) -> None:
        self.seed = seed
        self.chance = random.Random(seed)  # a test's own: decides faults and steps, never noise that is released
        self.rate = self.chance.choice([0.0, 0.01, 0.03, 0.08])
        self.steps = steps
        self.counts: Counter[str] = Counter()
        self.log: list[str] = []
        self.nested_steps = 0
        self._depth = 0
        self._names = 0
        self._draws = 0
        self._now = datetime(2026, 1, 31, tzinfo=UTC)
        self._backend = backend
        self._wrap = wrap
        self._kind = client
        self._behind = backend.open()
        opening = Ledger(self._behind, self.clock)
        budgets = (("people", PureFilter("1")), ("visits", ZCDPFilter("0.8")))
        self.accounts = [
            opening.open(
                DatasetIdentity(name, f"{seed}{name}"),
                unit=PrivacyUnit(),
                relation=RELATION,
                filter=rule,
                opened_by="steward",
            )
            for name, rule in budgets
        ]
        spends = (("epsilon", "1"), ("rho", "0.8"))
        pairs = zip(self.accounts, spends, strict=True)
        models = [checks.Account(account.id, units(cap), quantity) for account, (quantity, cap) in pairs]
        self.checkers = Checkers(self._behind, models)
        self.known: dict[tuple[str, str], str] = {}
        self.clients = [client(self, number) for number in range(self.chance.randint(2, 3))]

    # -- what clients use --------------------------------------------------------------------------------------------

    def clock(self) -> datetime:
        """A clock that jumps, also backwards."""
        self._now += timedelta(seconds=self.chance.choice([0, 1, 1, 60, 86_400, -86_400, 10**8, -(10**8)]))
        self._now = max(datetime(1980, 1, 1, tzinfo=UTC), min(self._now, datetime(2200, 1, 1, tzinfo=UTC)))
        return self._now

    def open_store(self) -> Store:
        """A process's way to the store."""
        return self._wrap(self._backend.open())

    def ledger_of(self, store: Store) -> Ledger:
        """A process's ledger; some try again what was undone, some do not."""
        return Ledger(store, self.clock, retry_seconds_max=self.chance.choice([0.0, 5.0]))

    def note(self, what: str) -> None:
        """Write the log."""
        self.log.append(f"{'  ' * self._depth}{what}")

    def asked(self, account: Account, name: str, amount: str) -> None:
        """Somebody is about to ask."""
        self.known.setdefault((account.id, name), amount)
        self.checkers.accounts[account.id].asked.setdefault(name, amount)

    def any_account(self) -> Account:
        """One of the accounts."""
        return self.chance.choice(self.accounts)

    def any_known(self, *, on_record: bool = False) -> tuple[Account, str, str] | None:
        """A request that somebody asked before; with `on_record`, one that the ledger knows."""
        keys = list(self.known)
        if on_record:
            recorded = {(a.id, str(r.request_id)) for a in self.checkers.accounts.values() for r in a.seen}
            keys = [key for key in keys if key in recorded]
        if not keys:
            return None
        account_id, name = self.chance.choice(keys)
        account = next(a for a in self.accounts if a.id == account_id)
        return account, name, self.known[account_id, name]

    def new_name(self) -> str:
        """A request id that nobody used."""
        self._names += 1
        return f"q{self._names}"

    def draw(self) -> int:
        """Noise: a number that was never drawn before."""
        self._draws += 1
        self.counts["draws"] += 1
        return self._draws

    def new_client(self) -> Client | None:
        """Another process, if there is room."""
        if len(self.clients) >= MOST_CLIENTS:
            return None
        self.clients.append(self._kind(self, len(self.clients)))
        return self.clients[-1]

    def meanwhile(self) -> None:
        """While one client's store is slow, another one acts."""
        if self._depth == 0 and len(self.clients) > 1:
            self._depth, self.nested_steps = 1, self.nested_steps + 1
            try:
                self.chance.choice(self.clients).step()
            finally:
                self._depth = 0

    def pause(self, _: float) -> None:
        """Nobody waits in a simulation; while somebody else's transaction is open, waiting is in vain."""
        self.counts["tried again"] += 1
        if self._depth:
            raise LedgerUnavailable("busy")

    # -- the run -----------------------------------------------------------------------------------------------------

    def run(self) -> Counter[str]:
        """Every step, then the proof."""
        with _patient(self.pause):
            for _ in range(self.steps):
                if self.chance.random() < 0.008:
                    self.backup_is_restored()
                else:
                    self.chance.choice(self.clients).step()
                self.checkers.look()
            self.prove()
        self.counts["faults"] += sum(client.store.faults for client in self.clients)
        self.counts["charges"] += sum(len(account.standing) for account in self.checkers.accounts.values())
        self.counts["seeds"] += 1
        return self.counts

    def backup_is_restored(self) -> None:
        """An older copy is put back: a checkpoint finds it, and processes that had seen more refuse to charge."""
        self.note("an older copy is put back")
        client = self.clients[0]
        old = MemoryStore(key=self._behind.key())
        load(list(export(self._behind)), old)
        account = self.any_account()
        ahead = Ledger(self._behind, self.clock)
        name = self.new_name()
        self.asked(account, name, "1e-9")
        ahead.reserve(account, request_of(account, name, "1e-9"))  # even a refusal is on record
        client.ledger, client.store.inner, client.task = ahead, self._behind, None
        noted = take(ahead)
        found = {report.account_id: report.ok for report in audit_against(Ledger(old), noted)}
        need(not found[account.id], "history only grows", "a checkpoint did not find the older copy")
        ahead._desk.store = old  # what the path leads to was exchanged under the running process
        try:
            outcome = ahead.reserve(account, request_of(account, self.new_name(), "1e-9"))
        except LedgerCorrupt as error:
            need("older copy" in str(error), "history only grows", str(error))
        else:
            need(False, "history only grows", f"an older copy was charged: {type(outcome).__name__}")
        self.counts["restored copies found"] += 1
        client.start()  # the newest copy is back, and everybody opens it again

    def prove(self) -> None:
        """Without faults: everything asked is asked again, everything answered is shown again, all of it is audited."""
        self.note("the end: ask everything again")
        store = self._wrap(self._backend.open())
        ledger = Ledger(store, self.clock)
        for (account_id, name), amount in self.known.items():
            account = next(a for a in self.accounts if a.id == account_id)
            before = self.checkers.answered(account_id, name)
            outcome = ledger.reserve(account, request_of(account, name, amount))
            match outcome:
                case Replayed():
                    self.checkers.shown(account_id, name, outcome.answer)
                case Reserved():
                    self.checkers.told_to_go_on(account_id, name, before)
                    drawn = self.draw()
                    self.checkers.drew(account_id, name, drawn)
                    self.checkers.shown(account_id, name, ledger.settle(outcome, {"drawn": drawn, "by": -1}).answer)
                case RefusedRequest():
                    need(not before, "a retry replays the same bytes", f"{name} was answered and is refused now")
        self.checkers.look(everything=True)
        for account in self.accounts:
            report = ledger.audit(account)
            need(report.ok, "re-fold equals stored state", report.message())
            model = self.checkers.accounts[account.id]
            need(not ledger.orphans(account), "a retry replays the same bytes", "an orphan cannot be completed")
            for epoch in ledger.statement(account).epochs:
                told = units(epoch.spent[model.quantity])
                need(told == model.used(epoch.number), "re-fold equals stored state", f"the statement says {told}")


@contextmanager
def _patient(pause: Callable[[float], None]) -> Iterator[None]:
    """Let transactions be tried again without waiting."""
    old: Any = desk.in_one_transaction
    desk.in_one_transaction = partial(attempts.in_one_transaction, pause=pause)  # type: ignore[assignment]
    try:
        yield
    finally:
        desk.in_one_transaction = old


def simulate(seed: int, make: Callable[[], Backend], store: str, **options: Any) -> Counter[str]:
    """Run one seed; raises Failed with the log's end and the command that runs it again."""
    backend = make()
    world = World(seed, backend, **options)
    try:
        return world.run()
    except Exception as error:
        kind = str(error) if isinstance(error, Violation) else f"{type(error).__name__}: {error}"
        log = "\n".join(world.log[-40:])
        raise Failed(
            f"seed {seed} on {store}: {kind}\n{log}\nagain: make sim SEEDS={seed}-{seed} STORE={store}"
        ) from error
    finally:
        backend.close()
