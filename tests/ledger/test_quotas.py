"""Roles and quotas: who may do what is on record, quotas share out one filter, and who refused is told apart."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.ledger_world import PEOPLE, RELATION, SetClock, ask, open_account, spent

from dosimeter.adaptive.filters import PureFilter, ZCDPFilter
from dosimeter.errors import AccountConflict, AccountNotFound, InputError, NotAuthorised
from dosimeter.ledger import DatasetIdentity, Ledger, RefusedRequest, Replayed, Reserved
from dosimeter.ledger.members import Role, identity
from dosimeter.ledger.quotas import Members, QuotaRefused, Unlock, open_guarded
from dosimeter.neighbours import PrivacyUnit
from dosimeter.stores import MemoryStore


def opened(ledger: Ledger, cap: str = "1") -> Members:
    """A guarded account; Ada is its steward."""
    return open_guarded(ledger, PEOPLE, unit=PrivacyUnit(), relation=RELATION, filter=PureFilter(cap), opened_by="Ada")


def staffed(ledger: Ledger) -> Members:
    """Bob may use 0.5, Cleo and Dan 0.4 each and 0.6 as a team, Eve audits."""
    members = opened(ledger)
    members.form_team("red", by="Ada", quota=PureFilter("0.6"))
    members.grant("Bob", "analyst", by="Ada", quota=PureFilter("0.5"))
    for name in ("Cleo", "Dan"):
        members.grant(name, Role.ANALYST, by="Ada", quota=PureFilter("0.4"), team="red")
    members.grant("Eve", "auditor", by="Ada")
    return members


def used(members: Members, *names: str) -> list[str]:
    """What quotas have used."""
    return [members.quota(name).spent["epsilon"] for name in names]


# -- charging --------------------------------------------------------------------------------------------------------


def test_a_request_is_charged_to_the_filter_the_team_and_the_analyst(ledger: Ledger) -> None:
    """Once each, and the answer is kept by the account."""
    members = staffed(ledger)
    held = members.reserve("Cleo", ask("q1", "0.3"))
    assert isinstance(held, Reserved)
    assert members.settle(held, 7).answer == 7
    assert spent(ledger, members.account) == "0.3"
    assert used(members, "Bob", "Cleo", "Dan") == ["0", "0.3", "0"]
    assert members.team_quota("red").remaining == {"epsilon": "0.3"}
    assert all(report.ok for report in members.audit("Eve"))
    assert not ledger.orphans(members.account)


def test_who_refused_is_told_apart(ledger: Ledger) -> None:
    """The analyst's quota, the team's, and the filter; none of them charged anything anywhere."""
    members = staffed(ledger)
    members.reserve("Cleo", ask("q1", "0.3"))
    mine = members.reserve("Cleo", ask("q2", "0.2"))
    assert isinstance(mine, QuotaRefused)
    assert (mine.whose, mine.name, mine.locked) == ("analyst", "Cleo", False)
    ours = members.reserve("Dan", ask("q3", "0.35"))
    assert isinstance(ours, QuotaRefused)
    assert (ours.whose, ours.name) == ("team", "red")
    assert "team red" in ours.message()
    assert isinstance(members.reserve("Bob", ask("q4", "0.5")), Reserved)
    everybodys = members.reserve("Dan", ask("q5", "0.25"))
    assert isinstance(everybodys, RefusedRequest)
    assert everybodys.refusal.remaining == {"epsilon": "0.2"}
    assert spent(ledger, members.account) == "0.8"
    assert used(members, "Bob", "Cleo", "Dan") == ["0.5", "0.3", "0"]


def test_a_retry_costs_no_quota_whoever_asks(ledger: Ledger) -> None:
    """Reserved or answered before, by anybody: free for the account and for every quota."""
    members = staffed(ledger)
    members.reserve("Cleo", ask("q1", "0.3"))
    taken = members.reserve("Bob", ask("q1", "0.3"))
    assert isinstance(taken, Reserved)
    assert taken.taken_over
    members.settle(taken, 5)
    again = members.reserve("Dan", ask("q1", "0.3"))
    assert isinstance(again, Replayed)
    assert again.answer == 5
    assert used(members, "Bob", "Cleo", "Dan") == ["0", "0.3", "0"]


def test_nobody_goes_around_the_quotas(ledger: Ledger) -> None:
    """The account and the quotas' own accounts are not charged, reset or renamed directly."""
    members = staffed(ledger)
    own = members.grants()[0].account
    for account in (members.account, own):
        with pytest.raises(NotAuthorised):
            ledger.reserve(account, ask("q1"))
        with pytest.raises(NotAuthorised):
            ledger.reserve_batch(account, [ask("q1")])
        for name in ("Bob", "Eve", "nobody"):
            with pytest.raises(NotAuthorised):
                ledger.reset(account, reason="more", authorised_by=name)
            with pytest.raises(NotAuthorised):
                ledger.accept_data_change(account, DatasetIdentity("x", "y"), reason="more", authorised_by=name)
    assert ledger.reset(members.account, reason="a new study", authorised_by="Ada").epoch == 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["Bob", "Cleo", "Dan"]), st.integers(1, 45)), max_size=14))
def test_neither_the_filter_nor_a_quota_is_overspent(asked: list[tuple[str, int]]) -> None:
    """Whoever asks what in which order; the first of account, analyst and team that does not admit it refuses."""
    members = staffed(Ledger(MemoryStore()))
    caps = {"all": 100, "Bob": 50, "Cleo": 40, "Dan": 40, "red": 60}
    model = dict.fromkeys(caps, 0)
    for number, (name, amount) in enumerate(asked):
        touched = ["all", name, *(["red"] if name != "Bob" else [])]
        outcome = members.reserve(name, ask(f"q{number}", f"{amount / 100}"))
        if model["all"] + amount > 100:
            assert isinstance(outcome, RefusedRequest)
        elif any(model[key] + amount > caps[key] for key in touched):
            assert isinstance(outcome, QuotaRefused)
        else:
            assert isinstance(outcome, Reserved)
            for key in touched:
                model[key] += amount
    assert Fraction(spent(members.ledger, members.account)) == Fraction(model["all"], 100)
    for name, value in zip(("Bob", "Cleo", "Dan"), used(members, "Bob", "Cleo", "Dan"), strict=True):
        assert Fraction(value) == Fraction(model[name], 100)


# -- unlocking -------------------------------------------------------------------------------------------------------


def test_a_quota_unlocks_over_time() -> None:
    """A tenth each day; what is locked is refused as such; afterwards all of it is there, and no more."""
    clock = SetClock()  # 31 January 2026
    ledger = Ledger(MemoryStore(), clock)
    members = opened(ledger)
    members.grant("Bob", "analyst", by="Ada", quota=PureFilter("0.5"), unlock=Unlock(datetime.date(2026, 1, 30), 10))
    early = members.reserve("Bob", ask("q1", "0.11"))
    assert isinstance(early, QuotaRefused)
    assert early.locked
    assert "not unlocked" in early.message()
    assert isinstance(members.reserve("Bob", ask("q2", "0.1")), Reserved)
    clock.move(days=3)
    assert isinstance(members.reserve("Bob", ask("q1", "0.11")), Reserved)
    clock.move(days=1000)
    assert isinstance(members.reserve("Bob", ask("q3", "0.29")), Reserved)
    late = members.reserve("Bob", ask("q4", "0.01"))
    assert isinstance(late, QuotaRefused)
    assert not late.locked


def test_a_clock_set_back_locks_again_and_forward_never_gives_more_than_the_quota() -> None:
    """It can refuse what is there, and never admit what is not."""
    clock = SetClock()
    ledger = Ledger(MemoryStore(), clock)
    members = opened(ledger)
    members.grant("Bob", "analyst", by="Ada", quota=PureFilter("0.5"), unlock=Unlock(datetime.date(2026, 1, 30), 10))
    clock.move(days=-5)
    assert isinstance(members.reserve("Bob", ask("q1", "1e-9")), QuotaRefused)
    clock.move(days=30_000)
    assert isinstance(members.reserve("Bob", ask("q2", "0.6")), QuotaRefused)


def test_the_part_of_each_day() -> None:
    """From 1/days on the first to 1 on the last, rounded down."""
    unlock = Unlock(datetime.date(2026, 1, 1), 3)
    parts = [unlock.part(datetime.date(2026, 1, 1) + datetime.timedelta(days=d)) for d in (-1, 0, 1, 2, 3, 900)]
    assert parts[0] == 0
    assert Decimal("0.333") < parts[1] < Fraction(1, 3)
    assert parts[3:] == [1, 1, 1]


# -- roles -----------------------------------------------------------------------------------------------------------


def test_only_analysts_ask(ledger: Ledger) -> None:
    """Not a steward, not an auditor, nobody without a role."""
    members = staffed(ledger)
    for name in ("Ada", "Eve", "nobody"):
        with pytest.raises(NotAuthorised, match="only analysts ask"):
            members.reserve(name, ask("q1"))
    assert spent(ledger, members.account) == "0"


def test_only_stewards_grant(ledger: Ledger) -> None:
    """Also those that another steward made; a forged grant of somebody else counts for nothing."""
    members = staffed(ledger)
    for by in ("Bob", "Eve", "nobody"):
        with pytest.raises(NotAuthorised):
            members.grant("Mallory", "analyst", by=by)
        with pytest.raises(NotAuthorised):
            members.form_team("blue", by=by, quota=PureFilter("1"))
        with pytest.raises(NotAuthorised):
            members.withdraw("Bob", reason="x", by=by)
    members.grant("Fay", "steward", by="Ada")
    members.grant("Gus", "analyst", by="Fay", quota=PureFilter("0.1"))
    assert isinstance(members.reserve("Gus", ask("q1", "0.1")), Reserved)
    ledger.open(
        identity(members.account, "member", "Mallory"),
        unit=PrivacyUnit(),
        relation=RELATION,
        filter=PureFilter("9"),
        terms={"role": "analyst", "member": "Mallory", "team": None, "of": members.account.id, "unlock": None},
        opened_by="Mallory",
    )
    with pytest.raises(NotAuthorised):
        members.reserve("Mallory", ask("q2"))


def test_a_role_is_withdrawn_for_ever(ledger: Ledger) -> None:
    """On record, seen by every process; what was spent stays spent, and the grant does not come back."""
    members = staffed(ledger)
    members.reserve("Bob", ask("q1", "0.2"))
    members.withdraw("Bob", reason="left the project", by="Ada")
    again = Members(Ledger(ledger.store), members.account)
    for view in (members, again):
        with pytest.raises(NotAuthorised):
            view.reserve("Bob", ask("q2"))
    assert [grant.name for grant in again.grants()] == ["Cleo", "Dan", "Eve"]
    members.grant("Bob", "analyst", by="Ada", quota=PureFilter("0.5"))
    with pytest.raises(NotAuthorised):
        members.reserve("Bob", ask("q2"))
    assert spent(ledger, members.account) == "0.2"
    assert all(report.ok for report in members.audit("Eve"))


def test_a_grant_is_fixed(ledger: Ledger) -> None:
    """The same again finds the same; another role or quota under the same name is a conflict."""
    members = staffed(ledger)
    first = members.grant("Bob", "analyst", by="Ada", quota=PureFilter("0.5"))
    assert first in members.grants()
    for changes in ({"quota": PureFilter("0.6")}, {"quota": PureFilter("0.5"), "team": "red"}, {}):
        with pytest.raises(AccountConflict):
            members.grant("Bob", "analyst", by="Ada", **changes)  # type: ignore[arg-type]
    with pytest.raises(AccountConflict):
        members.grant("Bob", "steward", by="Ada")


def test_who_may_look(ledger: Ledger) -> None:
    """Statements for anybody with a role, audits for stewards and auditors."""
    members = staffed(ledger)
    assert members.statement("Bob").account.id == members.account.id
    assert len(members.audit("Ada")) == 6
    with pytest.raises(NotAuthorised):
        members.audit("Bob")
    with pytest.raises(NotAuthorised):
        members.statement("nobody")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda m: m.grant("X", "emperor", by="Ada"),
        lambda m: m.grant("X", "auditor", by="Ada", quota=PureFilter("1")),
        lambda m: m.grant("X", "steward", by="Ada", team="red"),
        lambda m: m.grant("X", "analyst", by="Ada", team="green"),
        lambda m: m.grant("X", "analyst", by="Ada", quota=ZCDPFilter("1")),
        lambda m: m.grant("", "analyst", by="Ada"),
        lambda m: m.grant("X\0", "analyst", by="Ada"),
        lambda m: m.team_quota("green"),
        lambda m: Unlock(datetime.date(2026, 1, 1), 0),
        lambda m: Unlock("soon", 3),  # type: ignore[arg-type]
    ],
)
def test_odd_grants_are_refused(attempt: Any) -> None:
    """At the door, with a sentence."""
    members = staffed(Ledger(MemoryStore()))
    with pytest.raises(InputError):
        attempt(members)


def test_accounts_without_members_are_as_before(ledger: Ledger) -> None:
    """Anybody asks them, and they have no members."""
    account = open_account(ledger)
    assert isinstance(ledger.reserve(account, ask("q1")), Reserved)
    with pytest.raises(AccountNotFound):
        Members(ledger, account)
