"""Quotas over data in blocks: each block is charged together with the quotas in it, all of them or none."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.ledger_world import PEOPLE, RELATION, SetClock, ask, charge

from dosimeter.adaptive.filters import PureFilter
from dosimeter.errors import AccountConflict, InputError, NotAuthorised
from dosimeter.ledger import DatasetIdentity, Ledger
from dosimeter.ledger.account import GUARDED
from dosimeter.ledger.block_quotas import BlockMembers, members_of
from dosimeter.ledger.blocks import RefusedBlocks, ReplayedBlocks, ReservedBlocks, open_split
from dosimeter.ledger.members import identity
from dosimeter.ledger.quotas import QuotaRefused, Unlock, open_guarded
from dosimeter.ledger.split import Groups, Split
from dosimeter.neighbours import PrivacyUnit
from dosimeter.stores import MemoryStore

SPLIT = Split(Groups("region", ("east", "north", "south")), blocks_per_person=1)


def staffed(ledger: Ledger) -> BlockMembers:
    """Of each block's 1.0: Bob 0.5; Cleo and Dan 0.4 each and 0.6 as a team."""
    book = open_split(
        *(ledger, PEOPLE, SPLIT),
        unit=PrivacyUnit(),
        relation=RELATION,
        filter=PureFilter("1"),
        terms={GUARDED: True},
        opened_by="Ada",
    )
    members = members_of(ledger, book.account)
    assert isinstance(members, BlockMembers)
    members.form_team("red", by="Ada", quota=PureFilter("0.6"))
    members.grant("Bob", "analyst", by="Ada", quota=PureFilter("0.5"))
    for name in ("Cleo", "Dan"):
        members.grant(name, "analyst", by="Ada", quota=PureFilter("0.4"), team="red")
    members.grant("Eve", "auditor", by="Ada")
    return members


def spent(members: BlockMembers) -> dict[str, str]:
    """By block."""
    return {block.key: block.balance.spent["epsilon"] for block in members.book.blocks()}


def used(members: BlockMembers, name: str) -> list[str]:
    """By block, what a quota has used."""
    return [members.block_quota(name, key).spent["epsilon"] for key in SPLIT.rule.keys]  # type: ignore[union-attr]


def test_every_named_block_and_the_quotas_in_it_are_charged(ledger: Ledger) -> None:
    """In each named block the analyst's quota pays; in the others nothing happens; a retry is free for all."""
    members = staffed(ledger)
    held = members.reserve_blocks("Cleo", ["north", "south"], ask("q1", "0.3"))
    assert isinstance(held, ReservedBlocks)
    assert members.book.settle(held, 7) == (7, True)
    assert spent(members) == {"north": "0.3", "south": "0.3"}
    assert used(members, "Cleo") == ["0", "0.3", "0.3"]
    again = members.reserve_blocks("Dan", ["south", "north"], ask("q1", "0.3"))
    assert isinstance(again, ReplayedBlocks)
    assert again.answer == 7
    assert used(members, "Dan") == ["0", "0", "0"]
    assert all(report.ok for report in members.audit("Eve"))
    assert len(members.audit("Ada")) > 8  # the whole, its members, the blocks, the quotas in them


def test_who_refused_is_told_apart_and_nothing_is_charged(ledger: Ledger) -> None:
    """The analyst's quota in one block, the team's in one block, and a block's own filter."""
    members = staffed(ledger)
    members.reserve_blocks("Cleo", ["north"], ask("q1", "0.3"))
    before = spent(members)
    mine = members.reserve_blocks("Cleo", ["east", "north"], ask("q2", "0.2"))
    assert isinstance(mine, QuotaRefused)
    assert (mine.whose, mine.name) == ("analyst", "Cleo")
    ours = members.reserve_blocks("Dan", ["east", "north"], ask("q3", "0.35"))
    assert isinstance(ours, QuotaRefused)
    assert (ours.whose, ours.name) == ("team", "red")
    assert {key: value for key, value in spent(members).items() if value != "0"} == before
    assert isinstance(members.reserve_blocks("Bob", ["north"], ask("q4", "0.5")), ReservedBlocks)
    everybodys = members.reserve_blocks("Dan", ["north", "south"], ask("q5", "0.25"))
    assert isinstance(everybodys, RefusedBlocks)
    assert set(everybodys.refusals) == {"north"}
    assert used(members, "Dan") == ["0", "0", "0"]


def test_a_refusal_is_foretold(ledger: Ledger) -> None:
    """Without charging: by which quota, in the named blocks alone."""
    members = staffed(ledger)
    members.reserve_blocks("Cleo", ["north"], ask("q1", "0.3"))
    told = members.refusal_in("Cleo", ["north", "south"], charge("0.2"))
    assert told is not None
    assert told.whose == "analyst"
    assert members.refusal_in("Cleo", ["south"], charge("0.2")) is None
    assert used(members, "Cleo") == ["0", "0.3", "0"]


def test_nobody_goes_around_the_quotas_in_blocks(ledger: Ledger) -> None:
    """Blocks and quotas in blocks are not charged or reset directly, and only analysts ask."""
    members = staffed(ledger)
    members.reserve_blocks("Bob", ["north"], ask("q1", "0.1"))
    parts = [account for account in ledger.accounts() if account.id != members.account.id]
    assert len(parts) >= 7
    for account in parts:
        with pytest.raises((NotAuthorised, InputError)):
            ledger.reserve(account, ask("q2"))
        with pytest.raises(NotAuthorised):
            ledger.reset(account, reason="more", authorised_by="Bob")
    with pytest.raises(NotAuthorised):
        members.book.reserve(["north"], ask("q2"))
    for name in ("Eve", "Ada", "nobody"):
        with pytest.raises(NotAuthorised):
            members.reserve_blocks(name, ["north"], ask("q2"))
        with pytest.raises(NotAuthorised):
            members.reserve_blocks(name, ["north"], ask("q1", "0.1"))  # not even a replay
    with pytest.raises(InputError, match="name those"):
        members.reserve("Bob", ask("q2"))
    members.withdraw("Bob", reason="left", by="Ada")
    with pytest.raises(NotAuthorised):
        members.reserve_blocks("Bob", ["north"], ask("q3"))
    assert members.book.new_epoch(["north"], reason="a new study", authorised_by="Ada")[0].epoch == 2


def test_a_quota_in_a_block_that_somebody_made_larger_is_not_used(ledger: Ledger) -> None:
    """Its account exists already with other terms: that is a conflict, and nothing is charged."""
    members = staffed(ledger)
    block = members.book.block("north")
    ledger.open(
        identity(block, "analyst quota", "Bob"),
        unit=PrivacyUnit(),
        relation=RELATION,
        filter=PureFilter("1"),
        opened_by="Bob",
    )
    with pytest.raises(AccountConflict):
        members.reserve_blocks("Bob", ["north"], ask("q1", "0.1"))
    assert spent(members) == {"north": "0"}


def test_quotas_in_blocks_unlock_as_granted() -> None:
    """By the terms of the grant, in every block."""
    clock = SetClock()
    ledger = Ledger(MemoryStore(), clock)
    members = staffed(ledger)
    members.grant("Fay", "analyst", by="Ada", quota=PureFilter("0.4"), unlock=Unlock(clock.now.date(), 4))
    locked = members.reserve_blocks("Fay", ["north"], ask("q1", "0.2"))
    assert isinstance(locked, QuotaRefused)
    assert locked.locked
    clock.move(days=1)
    assert isinstance(members.reserve_blocks("Fay", ["north"], ask("q1", "0.2")), ReservedBlocks)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Bob", "Cleo", "Dan"]),
            st.sets(st.sampled_from(["east", "north", "south"]), min_size=1),
            st.integers(1, 45),
        ),
        max_size=10,
    )
)
def test_no_block_and_no_quota_is_overspent(asked: list[tuple[str, set[str], int]]) -> None:
    """Whoever asks what of whichever blocks: a model with fractions admits the same and adds up the same."""
    members = staffed(Ledger(MemoryStore()))
    size = {"Bob": Fraction("0.5"), "Cleo": Fraction("0.4"), "Dan": Fraction("0.4"), "red": Fraction("0.6")}
    total: dict[tuple[str, str], Fraction] = {}
    for number, (name, keys, hundredths) in enumerate(asked):
        amount = Fraction(hundredths, 100)
        payers = [("all", key) for key in keys] + [(name, key) for key in keys]
        payers += [("red", key) for key in keys] if name != "Bob" else []
        fits = all(total.get(p, Fraction(0)) + amount <= size.get(p[0], Fraction(1)) for p in payers)
        outcome = members.reserve_blocks(name, sorted(keys), ask(f"q{number}", f"0.{hundredths:02d}"))
        assert isinstance(outcome, ReservedBlocks) == fits
        if fits:
            total.update({p: total.get(p, Fraction(0)) + amount for p in payers})
    for key in ("east", "north", "south"):
        assert Fraction(members.ledger.balance(members.book.block(key)).spent["epsilon"]) == total.get(("all", key), 0)
        for name in ("Bob", "Cleo", "Dan"):
            assert Fraction(members.block_quota(name, key).spent["epsilon"]) == total.get((name, key), 0)
    assert all(report.ok for report in members.audit("Ada"))


def test_data_that_is_not_split_has_plain_members(ledger: Ledger) -> None:
    """`members_of` finds out which."""
    plain = open_guarded(
        *(ledger, DatasetIdentity("whole", "0a")),
        unit=PrivacyUnit(),
        relation=RELATION,
        filter=PureFilter("1"),
        opened_by="Ada",
    )
    assert type(members_of(ledger, plain.account)).__name__ == "Members"
