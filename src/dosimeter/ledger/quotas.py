"""Quotas: parts of an account's one budget that an analyst or a team may use, inside its one filter.

The filter protects people; quotas share out what it grants. Budgets per analyst alone would be unsound, because
analysts see each other's answers; so a request is charged to the account's filter and to the quotas of the analyst and
of their team, to all of them or to none, in one transaction. A quota is an account of the ledger with a filter of its
own, so it is durable, on record and audited like everything else; it never makes a charge cheaper.

Which of them refused is told apart: a quota can be raised by opening a larger share, the filter's budget cannot.

A quota may unlock over time, a little each day. That is the one decision here that looks at a clock, and it can only
refuse: a clock set forward unlocks a quota early, never more than the quota, and never more than the filter.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dosimeter.adaptive.filter import Admitted, Filter, Refused
from dosimeter.errors import AccountNotFound, DosimeterError, InputError, NotAuthorised
from dosimeter.exact import brief_down, show, text
from dosimeter.ledger import pricing, rules, texts
from dosimeter.ledger.account import GUARDED, SHARE, Account, DatasetIdentity
from dosimeter.ledger.members import ROLE, Role, identity, member, require_steward
from dosimeter.ledger.record import Draft, Head
from dosimeter.ledger.request import Balance, RefusedRequest, Replayed, Request, Reserved, Settled
from dosimeter.ledger.split import read_day
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit, require_same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dosimeter.events import Event
    from dosimeter.ledger.audit import AuditReport
    from dosimeter.ledger.ledger import Ledger
    from dosimeter.ledger.statement import Statement
    from dosimeter.ledger.store import Reading, Writing

_DOWN = Context(prec=50, rounding=ROUND_FLOOR)
Whose: TypeAlias = Literal["analyst", "team"]


@dataclass(frozen=True, slots=True)
class Unlock:
    """A quota that becomes available evenly over some days.

    Args:
        start: the first day on which something is available.
        days: after so many days all of it is.
    """

    start: datetime.date
    days: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", read_day(self.start, "start"))
        if type(self.days) is not int or not 1 <= self.days <= 40_000:
            raise InputError(f"days={show(self.days)} is not a whole number of 1 to 40000")

    def part(self, today: datetime.date) -> Decimal:
        """The part of the quota that is available on a day, rounded down: 1/days on the first, 1 on the last."""
        open_days = min(max((today - self.start).days + 1, 0), self.days)
        return _DOWN.divide(Decimal(open_days), Decimal(self.days))

    def to_json(self) -> dict[str, Any]:
        """As a term of the quota's account."""
        return {"start": self.start.isoformat(), "days": self.days}


@dataclass(frozen=True, slots=True)
class QuotaRefused:
    """A quota does not admit the request, though the account's filter may. Nothing was charged anywhere.

    Args:
        whose: "analyst" or "team".
        name: of the analyst or the team.
        refusal: what was asked and what the quota has left; for a locked part, what is unlocked so far.
        locked: whether the quota would admit it once more of it has unlocked.
    """

    whose: Whose
    name: str
    refusal: Refused = field(hash=False)
    locked: bool

    def message(self) -> str:
        """One sentence for a person."""
        if self.locked:
            left = ", ".join(f"{name} {brief_down(value)}" for name, value in self.refusal.remaining.items())
            return (
                f"the quota of {self.whose} {self.name} has not unlocked so far: {left} is free now; ask later, or less"
            )
        return f"the quota of {self.whose} {self.name}: {self.refusal.message()}; a steward shares out quotas"


@dataclass(frozen=True, slots=True)
class Share:
    """A quota that pays: whose it is, and its account."""

    whose: Whose
    name: str
    account: Account


@dataclass(frozen=True, slots=True)
class Grant:
    """A member: their name, role, team, and the account that keeps their quota."""

    name: str
    role: Role
    team: str | None
    account: Account


class Members:
    """The members of a guarded account and what each of them may do.

    Args:
        ledger: keeps the accounts.
        account: opened by `open_guarded`.
    """

    def __init__(self, ledger: Ledger, account: Account) -> None:
        if GUARDED not in account.terms:
            raise AccountNotFound(f"account {account.id} was not opened with members; ask it directly")
        self.ledger = ledger
        self.account = account
        self._desk = ledger._desk

    # -- a steward's -----------------------------------------------------------------------------------------------

    def grant(
        self,
        name: str,
        role: Role | str,
        *,
        by: str,
        quota: Filter[Any] | None = None,
        team: str | None = None,
        unlock: Unlock | None = None,
    ) -> Grant:
        """Give somebody a role; an analyst also a quota (the whole budget when left out) and perhaps a team.

        Granting the same again finds the same. Roles, quotas and teams are fixed by the grant; to change them withdraw
        it and grant another name.

        Raises:
            NotAuthorised: `by` is no steward.
            AccountConflict: the name was granted something else.
            InputError: the quota is of another notion than the account, or the team was not formed.
        """
        name, by, kind = texts.name(name, "name"), texts.name(by, "by"), _role(role)
        if kind is not Role.ANALYST and (quota is not None or team is not None or unlock is not None):
            raise InputError(f"a {kind} asks nothing, so has no quota and no team; leave them out")
        self._require_steward(by)
        if team is not None:
            self._team(team)
        facts = {ROLE: str(kind), "member": name, "team": team}
        return Grant(name, kind, team, self._open("member", name, quota, unlock, facts, by))

    def form_team(self, name: str, *, by: str, quota: Filter[Any], unlock: Unlock | None = None) -> Account:
        """Form a team with a quota that its members' requests share. Raises as `grant`."""
        name, by = texts.name(name, "name"), texts.name(by, "by")
        self._require_steward(by)
        return self._open("team", name, quota, unlock, {"team": name}, by)

    def withdraw(self, name: str, *, reason: str, by: str) -> None:
        """Take somebody's role away, for ever and on record. What they spent stays spent. Raises NotAuthorised."""
        by = texts.name(by, "by")
        self._require_steward(by)
        own = self._own(name)
        if own is not None:
            mark = identity(self.account, "withdrawn", name)
            self.ledger.accept_data_change(own.account, mark, reason=reason, authorised_by=by)

    # -- an analyst's ----------------------------------------------------------------------------------------------

    def reserve(self, analyst: str, request: Request) -> Reserved | Replayed | RefusedRequest | QuotaRefused:
        """Charge the account and the quotas of the analyst and their team, all of them or none.

        A request that anybody has reserved or had answered before costs nothing more, and no quota.

        Returns:
            Reserved, Replayed: as `Ledger.reserve`.
            RefusedRequest: the account's filter does not admit it, whoever asks.
            QuotaRefused: a quota does not admit it. Nothing was written.

        Raises:
            NotAuthorised: the name is not of an analyst.
        """
        whole = self._desk.known(self.account.id)
        require_same(whole.relation, request.relation)
        price = _priced(whole, request)
        token = os.urandom(16)

        def work(tx: Writing) -> tuple[Head | None, Draft | None, Any]:
            grant = self._analyst(tx, analyst)
            head = self._desk.head(tx, whole.id)
            history, state = tx.history(whole.id, request.id), self._desk.state(whole, head)
            draft, outcome = rules.reserve(whole, head, state, history, request, price, token)
            if isinstance(outcome, Reserved) and not outcome.taken_over:
                refused = self._charge(tx, [(share, outcome) for share in self._shares(tx, grant)], request)
                if refused is not None:
                    return None, None, refused
            if draft is not None:
                self._desk.append(tx, head, draft)
            return head, draft, outcome

        head, draft, outcome = self._desk.write("reserve", work)
        if head is not None:
            self._desk.saw(head, draft)
        answer: Reserved | Replayed | RefusedRequest | QuotaRefused = outcome
        return answer

    def refusal(self, analyst: str, event: Event, *, delta: Decimal | None = None) -> QuotaRefused | None:
        """Which quota would not admit an event now, if any; charges nothing, and says nothing of the account's filter.

        Raises:
            NotAuthorised: the name is not of an analyst.
        """
        with self.ledger.store.read() as view:
            return self._first_refusal(view, self._shares(view, self._analyst(view, analyst)), event, delta)

    def settle(self, reservation: Reserved, answer: Any) -> Settled:
        """Store the noisy answer; release what this returns."""
        return self.ledger.settle(reservation, answer)

    def quota(self, name: str) -> Balance:
        """What an analyst's quota has used and left; what the account's filter has left is `Ledger.balance`."""
        return self.ledger.balance(self._known(name).account)

    def team_quota(self, name: str) -> Balance:
        """What a team's quota has used and left."""
        return self.ledger.balance(self._team(name))

    def team_account(self, name: str) -> Account:
        """The account that keeps a team's quota; raises InputError where no such team was formed."""
        return self._team(name)

    def teams(self) -> tuple[str, ...]:
        """The teams that were formed, by name."""
        return tuple(
            sorted(str(a.terms["team"]) for a in self._mine() if "member" not in a.terms and "team" in a.terms)
        )

    def renew(self, name: str, *, reason: str, by: str, team: bool = False) -> Account:
        """Let an analyst's or a team's quota begin anew with its full size. The account's filter is as it was.

        Raises:
            NotAuthorised: no reason, or `by` is no steward.
            AccountNotFound, InputError: nobody of this name has a role; no such team was formed.
        """
        own = self._team(name) if team else self._known(name).account
        return self.ledger.reset(own, reason=reason, authorised_by=texts.name(by, "by"))

    # -- everybody's, and an auditor's -------------------------------------------------------------------------------

    def statement(self, name: str) -> Statement:
        """The account's statement, for anybody with a role."""
        self._require_any(name)
        return self.ledger.statement(self.account)

    def audit(self, name: str) -> tuple[AuditReport, ...]:
        """Prove the account and every quota; for stewards and auditors."""
        if self._require_any(name) is Role.ANALYST:
            raise NotAuthorised(f"{show(name)} is analyst; audits are for stewards and auditors")
        return tuple(self.ledger.audit(account) for account in (self.account, *self._mine()))

    def grants(self) -> tuple[Grant, ...]:
        """Who has a role now, by name."""
        found = (self._own(str(account.terms["member"])) for account in self._mine() if "member" in account.terms)
        return tuple(sorted((grant for grant in found if grant is not None), key=lambda grant: grant.name))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _shares(self, view: Reading, grant: Grant) -> list[Share]:
        """The quotas that this analyst's requests are charged to."""
        shares = [Share("analyst", grant.name, grant.account)]
        if grant.team is not None:
            found = view.owner("name", identity(self.account, "team", grant.team).name)
            shares.append(Share("team", grant.team, self._desk.account(view, str(found))))
        return shares

    def _charge(self, tx: Writing, shares: Sequence[tuple[Share, Reserved]], request: Request) -> QuotaRefused | None:
        """Charge quotas for what their accounts were charged; all of them, or none and who refused."""
        decided = []
        for share, outcome in sorted(shares, key=lambda one: one[0].account.id):
            head = self._desk.head(tx, share.account.id)
            state, price = self._desk.state(share.account, head), _priced(share.account, request)
            if isinstance(price, DosimeterError):
                raise price
            refused = self._refused(share, state, price)
            if refused is not None:
                return refused
            decided.append((share.account, head, state, price, outcome))
        for account, head, state, price, outcome in decided:
            history = tx.history(account.id, request.id)
            draft, held = rules.reserve(account, head, state, history, request, price, os.urandom(16))
            if draft is None or not isinstance(held, Reserved):
                continue  # paid before, by an attempt whose charge to the account was given back
            self._desk.append(tx, head, draft)
            told = {"account": outcome.account_id, "entry": outcome.entry}
            mine = tx.history(account.id, request.id)
            end, _ = rules.settle(account.id, mine, held.entry, request.id, told, texts.canonical(told))
            if end is not None:  # the answer stands in the account; the quota says where
                self._desk.append(tx, self._desk.head(tx, account.id), end)
        return None

    def _refused(self, share: Share, state: Any, price: pricing.Charge) -> QuotaRefused | None:
        decision = share.account.filter.admit(state, price.loss)
        if isinstance(decision, Refused):
            return QuotaRefused(share.whose, share.name, decision, locked=False)
        locked = self._locked(share.account, decision, state)
        return None if locked is None else QuotaRefused(share.whose, share.name, locked, locked=True)

    def _locked(self, share: Account, decision: Admitted[Any], state: Any) -> Refused | None:
        unlock = share.terms.get(SHARE)
        if unlock is None:
            return None
        schedule = Unlock(datetime.date.fromisoformat(unlock["start"]), unlock["days"])
        part = schedule.part(self._desk.clock().astimezone(datetime.UTC).date())
        budget = {name: Decimal(value) for name, value in share.filter.budget().items()}
        free = {name: _DOWN.multiply(value, part) for name, value in budget.items()}
        after, before = share.filter.spent(decision.state), share.filter.spent(state)
        over = tuple(name for name in free if Decimal(after.get(name, "0")) > free[name])
        if not over:
            return None
        left = {n: text(max(Decimal(0), _DOWN.subtract(free[n], Decimal(before.get(n, "0"))))) for n in free}
        asked = {n: text(Decimal(after.get(n, "0")) - Decimal(before.get(n, "0"))) for n in free}
        return Refused("locked", asked, before, left, {n: text(v) for n, v in free.items()}, over)

    def _open(
        self, what: str, name: str, quota: Filter[Any] | None, unlock: Unlock | None, facts: dict[str, Any], by: str
    ) -> Account:
        whole = self.account
        if quota is not None and quota.notion != whole.filter.notion:
            raise InputError(
                f"a quota in {quota.notion} cannot share out a budget in {whole.filter.notion}; use the same"
            )
        terms = {**facts, "of": whole.id, SHARE: None if unlock is None else unlock.to_json()}
        return self.ledger.open(
            identity(whole, what, name),
            unit=whole.unit,
            relation=whole.relation,
            filter=whole.filter if quota is None else quota,
            terms=terms,
            opened_by=by,
        )

    def _mine(self) -> list[Account]:
        """The accounts that belong to this one: quotas, blocks, and quotas in blocks."""
        every = self.ledger.accounts()
        direct = [account for account in every if account.terms.get("of") == self.account.id]
        ids = {account.id for account in direct}
        return [*direct, *(account for account in every if account.terms.get("of") in ids)]

    def _first_refusal(
        self, view: Reading, shares: Sequence[Share], event: Event, delta: Decimal | None
    ) -> QuotaRefused | None:
        for share in shares:
            state = self._desk.state(share.account, self._desk.head(view, share.account.id))
            price = pricing.charge(event, share.account.filter, delta, share.account.relation)
            refused = self._refused(share, state, price)
            if refused is not None:
                return refused
        return None

    def _known(self, name: str) -> Grant:
        own = self._own(name)
        if own is None:
            raise AccountNotFound(f"{show(name)} has no role in account {self.account.id}")
        return own

    def _own(self, name: str) -> Grant | None:
        with self.ledger.store.read() as view:
            found = member(self._desk, view, self.account, name)
        return None if found is None else Grant(name, found[1], found[0].terms["team"], found[0])

    def _analyst(self, tx: Reading, name: str) -> Grant:
        found = member(self._desk, tx, self.account, texts.name(name, "analyst"))
        if found is None or found[1] is not Role.ANALYST:
            what = "has no role" if found is None else f"is {found[1]}"
            raise NotAuthorised(f"{show(name)} {what} in account {self.account.id}; only analysts ask")
        return Grant(name, found[1], found[0].terms["team"], found[0])

    def _team(self, name: str) -> Account:
        with self.ledger.store.read() as view:
            found = view.owner("name", identity(self.account, "team", name).name)
        if found is None:
            raise InputError(f"team {show(name)} was not formed; form it with a quota first")
        return self.ledger.account(found)

    def _require_steward(self, name: str) -> None:
        with self.ledger.store.read() as view:
            require_steward(self._desk, view, self.account, name)

    def _require_any(self, name: str) -> Role:
        own = self._own(name)
        if own is not None:
            return own.role
        if name == self.account.opened_by:
            return Role.STEWARD
        raise NotAuthorised(f"{show(name)} has no role in account {self.account.id}; a steward grants them")


def open_guarded(
    ledger: Ledger,
    data: DatasetIdentity,
    *,
    unit: PrivacyUnit,
    relation: NeighbouringRelation,
    filter: Filter[Any],  # noqa: A002 - the word of the domain
    odometers: Sequence[Any] = (),
    terms: dict[str, Any] | None = None,
    opened_by: str,
) -> Members:
    """Open an account whose members have roles and quotas; `opened_by` is its first steward. Raises as `open`."""
    facts = {**(terms or {}), GUARDED: True}
    account = ledger.open(
        data, unit=unit, relation=relation, filter=filter, odometers=odometers, terms=facts, opened_by=opened_by
    )
    return Members(ledger, account)


def _priced(account: Account, request: Request) -> Any:
    try:
        return pricing.charge(request.event, account.filter, request.delta, account.relation)
    except DosimeterError as error:
        return error  # a request that was answered before is replayed even if it has no price today


def _role(value: Role | str) -> Role:
    try:
        return Role(value)
    except ValueError:
        raise InputError(f"role {show(value)} is unknown; use one of: {', '.join(Role)}") from None
