"""Simulated processes: honest ones, impatient ones, ones that reuse ids, and ones that try what they can."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.simulator.checks import need
from tests.simulator.faults import FaultyStore, Killed

from dosimeter.errors import DosimeterError, LedgerError, LedgerUnavailable, RequestConflict
from dosimeter.events import Declared, Laplace
from dosimeter.ledger import (
    Account,
    Ledger,
    RefusedRequest,
    RefusedTogether,
    Replayed,
    Request,
    Reserved,
    ReservedTogether,
)
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import ZCDP, PureDP

if TYPE_CHECKING:
    from tests.simulator.world import World

RELATION = NeighbouringRelation.ADD_REMOVE
AMOUNTS = ("0.1", "0.25", "0.3", "1e-9", "0.07", "1.5")


def request_of(account: Account, name: str, amount: str, body: str = "ab12") -> Request:
    """A request that costs exactly `amount` in the account's notion."""
    loss = PureDP(amount) if account.filter.notion == "pure" else ZCDP(amount)
    return Request(name, Declared(loss, "simulated"), RELATION, body, f"question {name}")


@dataclass
class Task:
    """A request on its way from being asked to being answered."""

    account: Account
    name: str
    amount: str
    handle: Reserved | None = None
    drawn: int | None = None
    answered_before: bool = False
    forked: bool = False  # another process holds the same handle


class Client:
    """One process: what it remembers is gone when it is killed."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.start()

    def start(self) -> None:
        """A new process: another ledger object, nothing remembered."""
        world = self.world
        self.store = FaultyStore(world.open_store(), world.chance, world.rate, world.meanwhile, self.note)
        self.ledger = world.ledger_of(self.store)
        self.task: Task | None = None

    def note(self, what: str) -> None:
        """A line for the log of a failing seed."""
        self.world.note(f"client {self.number}: {what}")

    def step(self) -> None:
        """Do one thing; survive what a program would survive, and be restarted where it would not."""
        try:
            if self.task is not None:
                self._go_on(self.task)
            else:
                name, action = self._choose()
                self.note(name)
                action()
        except Killed:
            self.note("killed")
            self.world.counts["kills"] += 1
            self.start()
        except LedgerUnavailable as error:
            self.note(f"unavailable: {error}")
            if self.task is not None and self.world.chance.random() < 0.3:
                self.task = None  # gives up; somebody may ask the same again

    def _choose(self) -> tuple[str, Callable[[], None]]:
        actions = [
            (40, "ask", self.ask_anew),
            (18, "ask again", self.ask_again),
            (5, "clash", self.clash),
            (8, "mischief", self.mischief),
            (5, "batch", self.batch),
            (5, "together", self.together),
            (5, "look", self.look),
            (2, "reset", self.reset),
            (4, "fork", self.fork),
            (3, "exit", self.start),
        ]
        weights = [weight for weight, _, _ in actions]
        _, name, action = self.world.chance.choices(actions, weights)[0]
        return name, action

    # -- one request -------------------------------------------------------------------------------------------------

    def ask_anew(self) -> None:
        """A request nobody made before."""
        account = self.world.any_account()
        self._begin(account, self.world.new_name(), self.world.chance.choice(AMOUNTS))

    def ask_again(self) -> None:
        """A request that somebody made before, perhaps in another process."""
        known = self.world.any_known()
        if known is not None:
            self._begin(*known)

    def _begin(self, account: Account, name: str, amount: str) -> None:
        self.world.asked(account, name, amount)
        self.task = Task(account, name, amount)
        self._go_on(self.task)

    def _go_on(self, task: Task) -> None:
        if task.handle is None:
            self._reserve(task)
        elif task.drawn is None:
            if task.handle.void_token is not None and not task.forked and self.world.chance.random() < 0.12:
                self._void(task)
            else:
                self._draw(task)
        else:
            self._settle(task)

    def _reserve(self, task: Task) -> None:
        checkers = self.world.checkers
        before = checkers.answered(task.account.id, task.name)
        outcome = self.ledger.reserve(task.account, request_of(task.account, task.name, task.amount))
        self._heard(task, outcome, before)

    def _heard(self, task: Task, outcome: Any, answered_before: bool) -> None:
        self.note(f"{task.name} of {task.amount}: {type(outcome).__name__}")
        match outcome:
            case Replayed():
                self.world.checkers.shown(task.account.id, task.name, outcome.answer)
                self.world.counts["replays"] += 1
                self.task = None
            case RefusedRequest():
                self.world.counts["refusals"] += 1
                self.world.checkers.look()
                self.task = None
            case Reserved():
                task.handle, task.answered_before = outcome, answered_before
                self.task = task

    def _draw(self, task: Task) -> None:
        """Touch rows and draw noise, which is the moment that the charge is for."""
        if not task.forked:
            self.world.checkers.told_to_go_on(task.account.id, task.name, task.answered_before)
        task.drawn = self.world.draw()
        self.world.checkers.drew(task.account.id, task.name, task.drawn)
        self.note(f"{task.name}: drew {task.drawn}")
        if self.world.chance.random() < self.world.rate:
            raise Killed("after drawing, before settling")

    def _settle(self, task: Task) -> None:
        handle = task.handle
        if handle is None:
            return
        try:
            settled = self.ledger.settle(handle, {"drawn": task.drawn, "by": self.number})
        except LedgerUnavailable:
            raise
        except LedgerError:
            need(task.forked, "unexpected", f"{task.name} cannot be settled")  # its other half gave the charge back
            self.task = None
            return
        self.task = None
        if self.world.chance.random() < self.world.rate:
            raise Killed("after settling, before showing")
        self.note(f"{task.name}: shows {settled.answer}")
        self.world.checkers.shown(task.account.id, task.name, settled.answer)
        self.world.counts["answers"] += 1

    def _void(self, task: Task) -> None:
        handle, self.task = task.handle, None  # whatever the store says, who wanted to give up does not go on
        if handle is None:
            return
        try:
            self.ledger.void(handle, reason="gave up before touching rows", by="a client")
            self.note(f"{task.name}: voided")
        except LedgerUnavailable:
            raise
        except LedgerError as error:
            self.note(f"{task.name}: may not be voided ({error})")  # taken over, or its epoch is closed

    # -- several requests --------------------------------------------------------------------------------------------

    def batch(self) -> None:
        """Several requests of one account in one transaction, one of them perhaps twice."""
        account = self.world.any_account()
        names = [self.world.new_name() for _ in range(3)]
        known = self.world.any_known()
        asked = [(name, self.world.chance.choice(AMOUNTS)) for name in names]
        asked += [asked[0]]
        if known is not None and known[0].id == account.id:
            asked.append(known[1:])
        for name, amount in asked:
            self.world.asked(account, name, amount)
        before = [self.world.checkers.answered(account.id, name) for name, _ in asked]
        outcomes = self.ledger.reserve_batch(account, [request_of(account, name, amount) for name, amount in asked])
        for (name, amount), outcome, was in zip(asked, outcomes, before, strict=True):
            self._heard(Task(account, name, amount), outcome, was)
        self.task = None  # what it reserved it forgets; somebody may complete it

    def together(self) -> None:
        """One request on both accounts, charged on both or on none."""
        name, amount = self.world.new_name(), self.world.chance.choice(AMOUNTS)
        accounts = self.world.accounts
        for account in accounts:
            self.world.asked(account, name, amount)
        outcome = self.ledger.reserve_all([(account, request_of(account, name, amount)) for account in accounts])
        self.world.checkers.look()
        charged = [self.world.checkers.accounts[account.id].charge_of(name) is not None for account in accounts]
        if isinstance(outcome, RefusedTogether):
            need(not any(charged), "refused requests change nothing", f"{name} was refused and charged")
        if isinstance(outcome, ReservedTogether):
            need(all(charged), "no answer without a charge", f"{name} is reserved on a part of its accounts")
            held = [one for one in outcome.outcomes if isinstance(one, Reserved)]
            if len(held) == len(accounts) and self.world.chance.random() < 0.3:
                self._void_together(name, held)

    def _void_together(self, name: str, held: list[Reserved]) -> None:
        """Give both charges back, or neither; somebody else may have taken one of them over meanwhile."""
        try:
            self.ledger.void_all(held, reason="gave up before touching rows", by="a client")
        except LedgerUnavailable:
            raise
        except LedgerError as error:
            self.note(f"{name}: may not be voided ({error})")
            return
        finally:
            self.world.checkers.look()
            voids = [account.voided(name) for account in self.world.checkers.accounts.values()]
            need(len(set(voids)) == 1, "refused requests change nothing", f"{name} was given back on a part")
        self.world.counts["voided together"] += 1

    # -- mischief ----------------------------------------------------------------------------------------------------

    def clash(self) -> None:
        """A used id with another price or another plan."""
        known = self.world.any_known(on_record=True)
        if known is None:
            return
        account, name, amount = known
        other = request_of(account, name, "0.123") if self.number % 2 else request_of(account, name, amount, "cd34")
        try:
            self.ledger.reserve(account, other)
        except RequestConflict:
            return
        need(False, "refused requests change nothing", f"{name} was accepted with another body")

    def mischief(self) -> None:
        """Values that nobody should accept; each must be an error of ours and must leave no trace."""
        account, chance = self.world.any_account(), self.world.chance
        nested, before = self.world.nested_steps, self.world.checkers.position()
        name, attempt = chance.choice(mischiefs(self, account, chance))
        self.note(name)
        try:
            attempt()
        except LedgerUnavailable:
            raise
        except DosimeterError:
            pass
        else:
            need(False, "refused requests change nothing", f"{name} was accepted")
        if nested == self.world.nested_steps:
            need(self.world.checkers.position() == before, "refused requests change nothing", f"{name} left a trace")

    # -- everything else ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Read what anybody may read."""
        account = self.world.any_account()
        balance, statement = self.ledger.balance(account), self.ledger.statement(account)
        need(len(statement.epochs) >= balance.epoch, "re-fold equals stored state", "epochs went backwards")
        self.ledger.orphans(account)

    def reset(self) -> None:
        """A steward opens another epoch."""
        if self.world.counts["resets"] < 3:
            self.world.counts["resets"] += 1
            self.ledger.reset(self.world.any_account(), reason="another study", authorised_by="steward")

    def fork(self) -> None:
        """The process splits in two, which hold the same reservation and the same noise already drawn."""
        self.ask_anew()
        if self.task is None or self.task.handle is None:
            return
        self.task.forked = True
        other = self.world.new_client()
        if other is not None:
            other.task = Task(**{name: getattr(self.task, name) for name in self.task.__dataclass_fields__})


def mischiefs(client: Client, account: Account, chance: random.Random) -> list[tuple[str, Callable[[], Any]]]:
    """By name: what a malicious client tries."""
    ledger: Ledger = client.ledger
    good = request_of(account, f"m{chance.randrange(10**9)}", "0.1")

    def declared(value: Any) -> Callable[[], Any]:
        return lambda: ledger.reserve(account, Request(good.id, Declared(PureDP(value), "x"), RELATION, "ab", "x"))

    def named(name: Any) -> Callable[[], Any]:
        return lambda: ledger.reserve(account, Request(name, good.event, RELATION, "ab", "x"))

    forged = Reserved(account.id, chance.randrange(1, 10**6), good.id, PureDP("0.1"), void_token=b"0" * 16)
    known = client.world.any_known(on_record=True)
    stolen = None
    if known is not None:
        record = client.world.checkers.accounts[known[0].id].charge_of(known[1])
        stolen = Reserved(known[0].id, record or 1, known[1], PureDP("0.1"), void_token=chance.randbytes(16))
    elsewhere = Reserved("f" * 24, 2, good.id, PureDP("0.1"))
    tries: list[tuple[str, Callable[[], Any]]] = [
        *((f"a price of {value}", declared(value)) for value in ("NaN", "-1", "inf", "-0.0001", "1e400", "", "0x1")),
        ("a price of NaN", declared(Decimal("sNaN"))),
        *((f"an id of {len(name)} odd characters", named(name)) for name in ("", " a", "a\0b", "a\u200b", "\ud800")),
        ("an endless id", named("x" * 1_000_000)),
        ("an id that is none", named(7)),
        ("a digest that is none", lambda: Request(good.id, good.event, RELATION, "G" * 9, "x")),
        ("another relation", lambda: ledger.reserve(account, Request(good.id, good.event, "replace_one", "ab", "x"))),  # type: ignore[arg-type]
        ("a forged reservation", lambda: ledger.settle(forged, {"drawn": 1})),
        ("a forged void", lambda: ledger.void(forged, reason="x", by="mallory")),
        ("an account of nobody", lambda: ledger.settle(elsewhere, 1)),
        ("an answer of NaN", lambda: ledger.settle(forged, float("nan"))),
        ("an answer that is no JSON", lambda: ledger.settle(forged, object())),
        ("a reset without a reason", lambda: ledger.reset(account, reason=" ", authorised_by="mallory")),
        ("a reset by nobody", lambda: ledger.reset(account, reason="x", authorised_by="")),
        ("too large a batch", lambda: ledger.reserve_batch(account, [good] * 10_001)),
        ("twice the same account", lambda: ledger.reserve_all([(account, good), (account, good)])),
    ]
    if account.filter.notion == "pure":
        loss = Declared(ZCDP("0.1"), "x")
        tries.append(
            (
                "a loss of another notion",
                lambda: ledger.reserve(account, Request("z" + good.id, loss, RELATION, "ab", "x")),
            )
        )
    else:
        loss_pure = Laplace(scale="1e-200")
        tries.append(
            ("a price beyond numbers", lambda: ledger.reserve(account, Request("z", loss_pure, RELATION, "", "x")))
        )
    if stolen is not None:
        tries.append(("a stolen void", lambda: ledger.void(stolen, reason="x", by="mallory")))
    return tries
