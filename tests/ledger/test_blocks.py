"""Data in blocks: charged on all named blocks or on none; disjoint blocks do not add up; statements say for whom."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ledger.ledger_world import PEOPLE, RELATION, ask, charge, open_account

from dosimeter.adaptive.filters import ApproxFilter, GDPFilter, PureFilter, RDPFilter, ZCDPFilter
from dosimeter.composition import parallel
from dosimeter.errors import AccountConflict, AccountNotFound, InputError, LedgerError, RequestConflict
from dosimeter.events import Laplace
from dosimeter.ledger import DatasetIdentity, Ledger, Request, Reserved
from dosimeter.ledger.blocks import (
    RefusedBlocks,
    ReplayedBlocks,
    ReservedBlocks,
    SplitAccount,
    blocks_affected,
    largest_together,
    open_split,
    split_of,
)
from dosimeter.ledger.split import Groups, Split, TimeWindows, split_from_json
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.stores import MemoryStore

NORTH_SOUTH = Split(Groups("region", ("north", "south", "west")), blocks_per_person=1)
DAYS = Split(TimeWindows("day", "day", datetime.date(2026, 1, 1)))


def opened(
    ledger: Ledger, cap: str = "1", split: Split = NORTH_SOUTH, identity: DatasetIdentity = PEOPLE, **changes: Any
) -> SplitAccount:
    """A split account with a pure budget per block."""
    terms = {"unit": PrivacyUnit(), "relation": RELATION, "filter": PureFilter(cap), "opened_by": "Ada"}
    return open_split(ledger, identity, split, **{**terms, **changes})


def spent(book: SplitAccount) -> dict[str, str]:
    """By block."""
    return {block.key: block.balance.spent["epsilon"] for block in book.blocks()}


# -- charging --------------------------------------------------------------------------------------------------------


def test_a_request_is_charged_on_every_block_it_names_and_on_no_other(ledger: Ledger) -> None:
    """The whole loss on each, and the answer is stored once for all."""
    book = opened(ledger)
    held = book.reserve(["south", "north"], ask("q1", "0.3"))
    assert isinstance(held, ReservedBlocks)
    assert held.blocks == ("north", "south")
    assert book.settle(held, 41.5) == (41.5, True)
    assert spent(book) == {"north": "0.3", "south": "0.3"}
    again = book.reserve(["north", "south"], ask("q1", "0.3"))
    assert isinstance(again, ReplayedBlocks)
    assert again.answer == 41.5
    assert spent(book) == {"north": "0.3", "south": "0.3"}
    assert all(report.ok for report in book.audit())


def test_all_blocks_are_charged_or_none(ledger: Ledger) -> None:
    """One block without enough left refuses for all; it is named, and nothing else changed."""
    book = opened(ledger)
    book.settle(book.reserve(["north"], ask("q1", "0.9")), 1)  # type: ignore[arg-type]
    refused = book.reserve(["north", "south", "west"], ask("q2", "0.2"))
    assert isinstance(refused, RefusedBlocks)
    assert set(refused.refusals) == {"north"}
    assert "block north" in refused.message()
    assert spent(book) == {"north": "0.9", "south": "0", "west": "0"}
    assert isinstance(book.reserve(["south", "west"], ask("q3", "0.2")), ReservedBlocks)
    assert spent(book) == {"north": "0.9", "south": "0.2", "west": "0.2"}


def test_a_new_block_brings_a_budget_of_its_own(ledger: Ledger) -> None:
    """Yesterday's is used up, today's is not; nobody had to open it."""
    book = opened(ledger, split=DAYS)
    assert isinstance(book.reserve(["2026-01-01"], ask("q1", "1")), ReservedBlocks)
    assert isinstance(book.reserve(["2026-01-01"], ask("q2", "1e-9")), RefusedBlocks)
    assert isinstance(book.reserve(["2026-01-02"], ask("q2", "1")), ReservedBlocks)
    assert spent(book) == {"2026-01-01": "1", "2026-01-02": "1"}


def test_a_crash_between_charge_and_answer_leaves_orphans_that_a_retry_completes(ledger: Ledger) -> None:
    """From another process, free; both attempts show one answer."""
    book = opened(ledger)
    first = book.reserve(["north", "south"], ask("q1", "0.3"))
    other = SplitAccount(Ledger(ledger.store), book.account)
    second = other.reserve(["north", "south"], ask("q1", "0.3"))
    assert isinstance(second, ReservedBlocks)
    assert second.taken_over
    assert other.settle(second, "b") == ("b", True)
    assert isinstance(first, ReservedBlocks)
    assert book.settle(first, "a") == ("b", False)
    assert spent(book) == {"north": "0.3", "south": "0.3"}
    assert all(not ledger.orphans(block.account) for block in book.blocks())


def test_the_same_id_over_overlapping_blocks_is_a_conflict(ledger: Ledger) -> None:
    """Which blocks are read decides the answer, so it is part of the request."""
    book = opened(ledger)
    book.reserve(["north", "south"], ask("q1", "0.1"))
    for blocks in (["north"], ["south", "west"], ["north", "south", "west"]):
        with pytest.raises(RequestConflict):
            book.reserve(blocks, ask("q1", "0.1"))
    assert spent(book).get("west", "0") == "0"
    assert spent(book)["north"] == "0.1"


def test_a_void_gives_every_block_its_charge_back(ledger: Ledger) -> None:
    """While the first holder lives."""
    book = opened(ledger)
    held = book.reserve(["north", "south"], ask("q1", "0.3"))
    assert isinstance(held, ReservedBlocks)
    book.void(held, reason="the source was away", by="Ada")
    assert spent(book) == {"north": "0", "south": "0"}


def test_a_void_gives_back_all_or_none(ledger: Ledger) -> None:
    """One block's charge was answered already: none of them is given back, whichever it is."""
    for number, key in enumerate(("north", "south", "west")):
        book = opened(ledger, identity=DatasetIdentity(f"people {number}", f"{number:x}"))
        held = book.reserve(["north", "south", "west"], ask("q1", "0.3"))
        assert isinstance(held, ReservedBlocks)
        ledger.settle(held.held[held.blocks.index(key)], 5)
        with pytest.raises(LedgerError, match="stays spent"):
            book.void(held, reason="the source was away", by="Ada")
        assert spent(book) == {"north": "0.3", "south": "0.3", "west": "0.3"}
        assert all(report.ok for report in book.audit())


def test_nothing_and_the_same_account_twice_cannot_be_voided_together(ledger: Ledger) -> None:
    """A transaction gives back one charge per account."""
    account = open_account(ledger, identity=DatasetIdentity("other", "0f"))
    held = ledger.reserve(account, ask("q1", "0.3"))
    assert isinstance(held, Reserved)
    for together in ([], [held, held]):
        with pytest.raises(InputError, match="at least one reservation"):
            ledger.void_all(together, reason="x", by="Ada")


def test_a_quote_says_what_each_block_would_say(ledger: Ledger) -> None:
    """And charges nothing."""
    book = opened(ledger)
    book.reserve(["north"], ask("q1", "0.9"))
    quotes = book.quote(["north", "south"], charge("0.2"))
    assert {key: quote.fits for key, quote in quotes.items()} == {"north": False, "south": True}
    assert spent(book) == {"north": "0.9", "south": "0"}


def test_the_whole_account_is_never_charged(ledger: Ledger) -> None:
    """Its budget would come on top of the blocks'."""
    book = opened(ledger)
    for verb in (
        lambda: ledger.reserve(book.account, ask("q1")),
        lambda: ledger.reserve_batch(book.account, [ask("q1")]),
        lambda: ledger.reserve_all([(book.account, ask("q1"))]),
    ):
        with pytest.raises(InputError, match="name the blocks"):
            verb()
    assert ledger.balance(book.account).spent == {"epsilon": "0"}


@pytest.mark.parametrize(
    "rule",
    [PureFilter("1"), ZCDPFilter("1"), ApproxFilter("1", "1e-6"), GDPFilter("1"), RDPFilter(order="8", epsilon="1")],
)
def test_blocks_have_the_filter_of_the_whole(rule: Any) -> None:
    """Of any kind; each admits what the filter alone would admit."""
    ledger = Ledger(MemoryStore())
    book = opened(ledger, filter=rule)
    request = Request("g", Laplace(scale="20"), RELATION, "ab", "a mean")
    alone = open_account(Ledger(MemoryStore()), filter=rule)
    assert isinstance(book.reserve(["north"], request), ReservedBlocks)
    assert book.blocks()[0].account.filter == alone.filter == rule


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from(["north", "south", "west"]), min_size=1), st.integers(1, 50)), max_size=14
    )
)
def test_no_block_is_ever_overspent(asked: list[tuple[set[str], int]]) -> None:
    """Whatever blocks are chosen, each total is the sum of what named it and was admitted, and at most the cap."""
    book = opened(Ledger(MemoryStore()))
    model = dict.fromkeys(["north", "south", "west"], Fraction(0))
    for number, (blocks, hundredths) in enumerate(asked):
        amount = Fraction(hundredths, 100)
        outcome = book.reserve(sorted(blocks), ask(f"q{number}", f"{hundredths / 100}"))
        fits = all(model[key] + amount <= 1 for key in blocks)
        assert isinstance(outcome, ReservedBlocks if fits else RefusedBlocks)
        for key in blocks if fits else ():
            model[key] += amount
    for key, value in spent(book).items():
        assert Fraction(value) == model[key] <= 1


# -- terms -----------------------------------------------------------------------------------------------------------


def test_the_rule_is_fixed_when_the_data_is_opened(ledger: Ledger) -> None:
    """Another rule over the same rows would be a second budget for them."""
    book = opened(ledger)
    assert opened(ledger).account == book.account
    others = [
        Split(Groups("region", ("north", "south")), 1),
        Split(Groups("city", ("north", "south", "west")), 1),
        Split(Groups("region", ("north", "south", "west")), 2),
        DAYS,
    ]
    for split in others:
        with pytest.raises(AccountConflict, match="terms"):
            opened(ledger, split=split)
    with pytest.raises(AccountConflict):
        opened(ledger, cap="2")


def test_an_account_without_blocks_is_not_split_later(ledger: Ledger) -> None:
    """What was spent as a whole would be forgotten."""
    account = open_account(ledger, "1")
    with pytest.raises(AccountConflict):
        opened(ledger)
    with pytest.raises(AccountNotFound, match="as a whole"):
        SplitAccount(ledger, account)


def test_blocks_are_found_again_by_another_process(ledger: Ledger) -> None:
    """The split is read from the account, and what was spent stays spent."""
    book = opened(ledger)
    book.reserve(["north"], ask("q1", "0.7"))
    again = SplitAccount(Ledger(ledger.store), ledger.account(book.account.id))
    assert again.split == NORTH_SOUTH
    assert spent(again) == {"north": "0.7"}
    assert isinstance(again.reserve(["north"], ask("q2", "0.4")), RefusedBlocks)


# -- guarantees ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("relation", "total"), [("add_remove", "0.5"), ("zero_out", "0.5"), ("replace_one", "0.8")])
def test_disjoint_blocks_compose_in_parallel(ledger: Ledger, relation: str, total: str) -> None:
    """Charges of 0.3, 0.5 and 0.2 on three blocks: the largest, or the two largest where a person may be replaced."""
    bound = NeighbouringRelation.read(relation)
    book = opened(ledger, relation=bound)
    for key, amount in (("north", "0.3"), ("south", "0.5"), ("west", "0.2")):
        assert isinstance(book.reserve([key], ask(key, amount, relation=bound)), ReservedBlocks)
    statement = book.statement()
    assert statement.spent_per_person == {"epsilon": total}
    assert parallel(["0.3", "0.5", "0.2"], bound).epsilon == Decimal(total)
    promise = {"add_remove": "1", "zero_out": "1", "replace_one": "2"}[relation]
    assert statement.per_person is not None
    assert statement.per_person.epsilon == Decimal(promise)  # type: ignore[union-attr]
    assert statement.per_block.epsilon == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("unit", "most", "relation", "affected"),
    [
        (PrivacyUnit(), None, "add_remove", 1),
        (PrivacyUnit(), 5, "replace_one", 2),
        (PrivacyUnit("person", 3), 1, "add_remove", 1),
        (PrivacyUnit("person", 3), 4, "add_remove", 4),
        (PrivacyUnit("person", 3), 4, "replace_one", 8),
        (PrivacyUnit("person", 3), 4, "zero_out", 4),
        (PrivacyUnit("person", 3), None, "add_remove", None),
    ],
)
def test_how_many_blocks_a_person_changes(
    unit: PrivacyUnit, most: int | None, relation: str, affected: int | None
) -> None:
    """A row lies in one block; of a person only the steward can say it, and replacing one changes twice as many."""
    book = opened(Ledger(MemoryStore()), split=Split(DAYS.rule, most), unit=unit, relation=relation)
    assert blocks_affected(book.account, book.split) == affected
    statement = book.statement()
    if affected is None:
        assert statement.per_person is None
        assert statement.spent_per_person is None
    else:
        assert statement.per_person.epsilon == affected  # type: ignore[union-attr]
    assert statement.per_block.epsilon == 1  # type: ignore[union-attr]


def test_a_new_epoch_is_a_decision_and_adds_up(ledger: Ledger) -> None:
    """The block has a fresh budget; its guarantee doubles, and so does that of whoever lies in it."""
    book = opened(ledger, relation=NeighbouringRelation.REPLACE_ONE)
    bound = NeighbouringRelation.REPLACE_ONE
    book.reserve(["north"], ask("q1", "1", relation=bound))
    assert isinstance(book.reserve(["north"], ask("q2", "0.1", relation=bound)), RefusedBlocks)
    book.new_epoch(["north"], reason="another study", authorised_by="Ada")
    assert isinstance(book.reserve(["north"], ask("q2", "0.1", relation=bound)), ReservedBlocks)
    statement = book.statement()
    assert statement.per_block.epsilon == 2  # type: ignore[union-attr]
    assert statement.per_person.epsilon == 3  # type: ignore[union-attr]
    assert all(report.ok for report in book.audit())


def test_the_largest_together() -> None:
    """By quantity, each on its own, rounded up."""
    amounts = [{"rho": "0.1", "delta": "1e-9"}, {"rho": "0.3", "delta": "0"}, {"rho": "0.2", "delta": "2e-9"}]
    assert largest_together(amounts, 1) == {"delta": "2e-9", "rho": "0.3"}
    assert largest_together(amounts, 2) == {"delta": "3e-9", "rho": "0.5"}
    assert largest_together(amounts, 9) == {"delta": "3e-9", "rho": "0.6"}
    assert largest_together([], 2) == {}


def test_exhausted_blocks_retire(ledger: Ledger) -> None:
    """One in which less than the declared part is left is not offered any more; others are."""
    book = opened(ledger, split=Split(NORTH_SOUTH.rule, 1, retire_below="0.05"))
    book.reserve(["north"], ask("q1", "0.96"))
    book.reserve(["south"], ask("q2", "0.95"))
    assert {block.key: block.retired for block in book.blocks()} == {"north": True, "south": False}
    assert book.live(["west", "south", "north"]) == ("south", "west")
    told = book.statement().to_json()
    assert [block["retired"] for block in told["blocks"]] == [True, False]


def test_a_block_under_other_terms_is_noticed(ledger: Ledger) -> None:
    """Whoever opens a block's account with another filter is told; whoever did so first is found by the audit."""
    book = opened(ledger)
    forged = opened(ledger).account
    ledger.open(
        book._identity("north"),
        unit=forged.unit,
        relation=forged.relation,
        filter=PureFilter("9"),
        terms={"block": "north", "of": forged.id},
        opened_by="mallory",
    )
    with pytest.raises(AccountConflict):
        book.reserve(["north"], ask("q1", "0.1"))
    with pytest.raises(AccountConflict, match="other terms"):
        book.audit()


# -- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "day", "key", "condition"),
    [
        ("day", "2026-01-31", "2026-01-31", "(\"t\" >= '2026-01-31' AND \"t\" < '2026-02-01')"),
        ("week", "2026-01-31", "2026-01-26", "(\"t\" >= '2026-01-26' AND \"t\" < '2026-02-02')"),
        ("month", "2024-02-29", "2024-02", "(\"t\" >= '2024-02-01' AND \"t\" < '2024-03-01')"),
        ("month", "2025-12-01", "2025-12", "(\"t\" >= '2025-12-01' AND \"t\" < '2026-01-01')"),
        ("year", "2025-12-31", "2025", "(\"t\" >= '2025-01-01' AND \"t\" < '2026-01-01')"),
    ],
)
def test_windows_of_time(every: Any, day: str, key: str, condition: str) -> None:
    """Each day lies in one block, whose condition holds from its first day to before the next block's."""
    rule = TimeWindows("t", every, datetime.date(2020, 1, 1))
    assert rule.key_of(datetime.date.fromisoformat(day)) == key
    assert rule.require(key) == key
    assert rule.condition([key]) == condition


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["day", "week", "month", "year"]),
    st.dates(datetime.date(2000, 1, 1), datetime.date(2060, 1, 1)),
    st.integers(0, 400),
)
def test_windows_are_disjoint_and_cover_every_day(every: Any, start: datetime.date, ahead: int) -> None:
    """A day lies in exactly one of the blocks around it; none lies before the start."""
    rule = TimeWindows("t", every, start)
    day = start + datetime.timedelta(days=ahead)
    around = rule.between(max(start, day - datetime.timedelta(days=40)), day + datetime.timedelta(days=40))
    holding = [key for key in around if rule._days(key)[0] <= day < rule._days(key)[1]]
    assert holding == [rule.key_of(day)]
    assert list(around) == sorted(set(around))


def test_the_last_days_are_blocks() -> None:
    """Today included, and no further back than the start; neighbouring windows are asked as one span."""
    rule = TimeWindows("t", "day", datetime.date(2026, 1, 1))
    last = rule.last(30, "2026-02-10")
    assert (len(last), last[0], last[-1]) == (30, "2026-01-12", "2026-02-10")
    assert rule.condition(last) == "(\"t\" >= '2026-01-12' AND \"t\" < '2026-02-11')"
    assert rule.last(30, "2026-01-03") == ("2026-01-01", "2026-01-02", "2026-01-03")
    months = TimeWindows("t", "month", datetime.date(2026, 1, 15))
    assert months.last(30, "2026-02-10") == ("2026-01", "2026-02")
    assert months.condition(["2026-01", "2026-03"]).startswith("(\"t\" >= '2026-01-15' AND \"t\" < '2026-02-01') OR")


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        *(
            (DAYS.rule, key)
            for key in ("", "2025-12-31", "2026-1-1", "2026-02-30", "20260101", "x", 7, None, "2026-01-01 ", "2026-01")
        ),
        (TimeWindows("t", "week", datetime.date(2026, 1, 1)), "2026-01-06"),
        (TimeWindows("t", "month", datetime.date(2026, 2, 1)), "2026-01"),
        (TimeWindows("t", "year", datetime.date(2026, 2, 1)), "2025"),
        (NORTH_SOUTH.rule, "North"),
        (NORTH_SOUTH.rule, ""),
    ],
)
def test_a_key_that_names_no_block_is_refused(rule: Any, key: Any) -> None:
    """Other spellings of a day are other keys, and a block has one key only."""
    with pytest.raises(InputError, match="does not exist"):
        Split(rule).require([key])


@pytest.mark.parametrize(
    "make",
    [
        lambda: TimeWindows("t", "hour", datetime.date(2026, 1, 1)),  # type: ignore[arg-type]
        lambda: TimeWindows("", "day", datetime.date(2026, 1, 1)),
        lambda: TimeWindows("t", "day", "soon"),  # type: ignore[arg-type]
        lambda: TimeWindows("t", "day", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),
        lambda: Groups("t", ()),
        lambda: Groups("t", ("a", "a")),
        lambda: Groups("t", ("a", "")),
        lambda: Split(NORTH_SOUTH.rule, 0),
        lambda: Split(NORTH_SOUTH.rule, True),  # type: ignore[arg-type]
        lambda: Split(NORTH_SOUTH.rule, 1, "1.5"),
        lambda: Split(NORTH_SOUTH.rule, 1, "NaN"),
        lambda: NORTH_SOUTH.require([]),
        lambda: NORTH_SOUTH.require("north"),
        lambda: DAYS.rule.last(0, "2026-01-01"),  # type: ignore[union-attr]
        lambda: DAYS.rule.between("2026-02-01", "2026-01-01"),  # type: ignore[union-attr]
        lambda: DAYS.require(DAYS.rule.between("2026-01-01", "2036-01-01")),  # type: ignore[union-attr]
        lambda: split_from_json({"rule": {"kind": "hash", "column": "x"}}),
        lambda: split_from_json(None),
    ],
)
def test_odd_rules_are_refused(make: Any) -> None:
    """At the door, with a sentence."""
    with pytest.raises(InputError):
        make()


def test_rules_read_back_as_themselves(ledger: Ledger) -> None:
    """Also from an account."""
    for split in (NORTH_SOUTH, DAYS, Split(TimeWindows("t", "week", datetime.date(2026, 1, 7)), 3, "0.2")):
        assert split_from_json(split.to_json()) == split
    assert split_of(opened(ledger).account) == NORTH_SOUTH


def test_a_quote_in_a_value_stays_in_it() -> None:
    """Keys and columns are written so that they cannot leave their quotes."""
    assert Groups('a"b', ("it's",)).condition(["it's"]) == "\"a\"\"b\" IN ('it''s')"
