"""Charge first, touch rows after, release what was settled: every step of a request, in the order the rules fire."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.ledger.ledger_world import RELATION, SetClock, answered, ask, charge, open_account, spent

from dosimeter.adaptive.filters import BasicFilter, ZCDPFilter
from dosimeter.errors import (
    InputError,
    LedgerError,
    NoGuaranteeError,
    NotionError,
    RequestConflict,
)
from dosimeter.events import Declared, Gaussian
from dosimeter.ledger import (
    DatasetIdentity,
    Ledger,
    RefusedRequest,
    RefusedTogether,
    Replayed,
    Request,
    Reserved,
    ReservedTogether,
)
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import ZCDP, ApproxDP, PureDP
from dosimeter.stores import MemoryStore


def reserved(ledger: Ledger, account: Any, name: str, amount: Any = "0.1") -> Reserved:
    """Reserve, and insist that it was admitted."""
    outcome = ledger.reserve(account, ask(name, amount))
    assert isinstance(outcome, Reserved)
    return outcome


# -- charging --------------------------------------------------------------------------------------------------------


def test_ten_tenths_fit_and_an_eleventh_does_not(ledger: Ledger) -> None:
    """Amounts are exact: the budget is used to the last digit and not beyond."""
    account = open_account(ledger)
    outcomes = [ledger.reserve(account, ask(f"q{i}", 0.1)) for i in range(11)]
    assert [type(o) for o in outcomes] == [Reserved] * 10 + [RefusedRequest]
    assert spent(ledger, account) == "1"


def test_a_reservation_tells_what_is_spent_and_left(ledger: Ledger) -> None:
    """Its own charge included; it holds the token only where it was made first."""
    account = open_account(ledger)
    reserved(ledger, account, "q1", "0.25")
    outcome = reserved(ledger, account, "q2", "0.25")
    assert (outcome.spent["epsilon"], outcome.remaining["epsilon"]) == ("0.5", "0.5")
    assert outcome.void_token is not None
    assert str(outcome.void_token) not in repr(outcome)


def test_an_over_sized_request_is_refused_and_the_account_goes_on(ledger: Ledger) -> None:
    """The refusal says the numbers; what is left can be read and spent afterwards."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.6")
    refused = ledger.reserve(account, ask("big", "1e9"))
    assert isinstance(refused, RefusedRequest)
    assert refused.refusal.remaining == {"epsilon": "0.4"}
    assert "1000000000" in refused.refusal.message()
    assert ledger.balance(account).remaining["epsilon"] == "0.4"
    assert answered(ledger, account, "small", "0.4") == 1.5


def test_one_component_over_is_over(ledger: Ledger) -> None:
    """An (epsilon, delta) request whose delta alone does not fit is refused."""
    account = open_account(ledger, filter=BasicFilter("1", "1e-6"))
    event = Declared(ApproxDP("0.1", "1e-5"), "taken at its word")
    outcome = ledger.reserve(account, Request("q", event, RELATION, "ab", "delta alone is over"))
    assert isinstance(outcome, RefusedRequest)
    assert outcome.refusal.code == "over_delta"
    assert ledger.balance(account).spent == {"epsilon": "0", "delta": "0"}


def test_thirds_are_charged_at_least_their_value(ledger: Ledger) -> None:
    """Three charges of 1/3 never fit 1 by rounding down: each stored third is at least a third."""
    account = open_account(ledger)
    outcomes = [ledger.reserve(account, ask(f"q{i}", Fraction(1, 3))) for i in range(3)]
    for outcome in outcomes:
        assert Fraction(outcome.loss.epsilon) >= Fraction(1, 3)
    assert isinstance(outcomes[2], RefusedRequest) or Fraction(spent(ledger, account)) <= 1


@pytest.mark.parametrize("amount", ["NaN", float("nan"), Decimal("NaN"), "inf", "-1", -1, "1e-301", "1e13", None])
def test_an_amount_that_is_none_is_never_charged(ledger: Ledger, amount: Any) -> None:
    """NaN, infinities, negatives and amounts out of range are refused with an error, and nothing is spent."""
    account = open_account(ledger)
    with pytest.raises(InputError):
        ledger.reserve(account, ask("q", amount))
    assert spent(ledger, account) == "0"
    assert ledger.statement(account).records == 1


def test_no_caller_hands_the_ledger_a_number(ledger: Ledger) -> None:
    """The charge is computed from the event and the stored filter; a forged account object changes nothing."""
    account = open_account(ledger, filter=ZCDPFilter("1"))
    forged = dataclasses.replace(account, filter=ZCDPFilter("1000"), relation=NeighbouringRelation.ZERO_OUT)
    event = Gaussian(sigma="1")
    outcome = ledger.reserve(forged, Request("q", event, RELATION, "ab", "a sum"))
    assert isinstance(outcome, Reserved)
    assert outcome.loss == ZCDP("0.5")
    outcome = ledger.reserve(forged, Request("q2", Gaussian(sigma="0.9"), RELATION, "ab", "a sum"))
    assert isinstance(outcome, RefusedRequest)


def test_an_event_without_a_theorem_is_not_priced_by_guesswork(ledger: Ledger) -> None:
    """Gaussian noise has no pure guarantee: the request fails and leaves no trace."""
    account = open_account(ledger)
    with pytest.raises(NoGuaranteeError):
        ledger.reserve(account, Request("q", Gaussian(sigma="10"), RELATION, "ab", "a sum"))
    assert ledger.statement(account).records == 1


def test_a_request_under_another_relation_is_not_charged(ledger: Ledger) -> None:
    """Guarantees under different relations never add up."""
    account = open_account(ledger)
    with pytest.raises(NotionError):
        ledger.reserve(account, ask("q", relation=NeighbouringRelation.REPLACE_ONE))
    with pytest.raises(NotionError):
        ledger.quote(account, charge("0.1"), NeighbouringRelation.REPLACE_ONE)


# -- quotes ----------------------------------------------------------------------------------------------------------


def test_a_quote_says_whether_it_would_fit_and_changes_nothing(ledger: Ledger) -> None:
    """At 0.6 of 1.0 spent, 0.4 would fit and 0.5 would not; asking is free."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.6")
    before = ledger.statement(account)
    fitting = ledger.quote(account, charge("0.4"), RELATION)
    beyond = ledger.quote(account, charge("0.5"), RELATION)
    assert (fitting.fits, beyond.fits) == (True, False)
    assert (fitting.remaining, fitting.remaining_after) == ({"epsilon": "0.4"}, {"epsilon": "0"})
    assert beyond.remaining_after is None
    assert beyond.refusal is not None
    assert ledger.statement(account) == before


# -- retries ---------------------------------------------------------------------------------------------------------


def test_an_answered_request_is_replayed_free(ledger: Ledger) -> None:
    """The same id and body get the stored noisy answer, however often, in whatever process."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.3", answer={"count": 17, "parts": [1.5, -2]})
    for book in (ledger, Ledger(ledger._store)):
        again = book.reserve(account, ask("q1", "0.3"))
        assert isinstance(again, Replayed)
        assert again.answer == {"count": 17, "parts": [1.5, -2]}
    assert spent(ledger, account) == "0.3"


def test_a_retry_of_an_unanswered_reservation_is_free_and_completes_it(ledger: Ledger) -> None:
    """The charge stays one charge; the attempt that takes over holds no token."""
    account = open_account(ledger)
    first = reserved(ledger, account, "q1", "0.3")
    second = reserved(ledger, account, "q1", "0.3")
    third = reserved(ledger, account, "q1", "0.3")
    assert (second.taken_over, third.taken_over, second.entry) == (True, True, first.entry)
    assert second.void_token is None
    assert spent(ledger, account) == "0.3"
    assert ledger.settle(third, 5).answer == 5
    assert ledger.statement(account).records == 4  # opened, reserved, taken over once, settled


def test_the_first_answer_settled_is_the_answer(ledger: Ledger) -> None:
    """Two attempts drew noise; both release what was stored first, so one request has one visible answer."""
    account = open_account(ledger)
    first, second = reserved(ledger, account, "q1"), reserved(ledger, account, "q1")
    winner = ledger.settle(second, [3.25])
    loser = ledger.settle(first, [9.75])
    assert (winner.answer, winner.first) == ([3.25], True)
    assert (loser.answer, loser.first) == ([3.25], False)
    assert ledger.reserve(account, ask("q1")).answer == [3.25]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"amount": "0.2"}, "event"),
        ({"body_digest": "cd"}, "digest"),
        ({"delta": "1e-9"}, "delta"),
    ],
)
def test_the_same_id_with_another_body_is_a_conflict(ledger: Ledger, change: dict[str, Any], part: str) -> None:
    """Whether the first was reserved, settled, refused or voided: an id means one request for ever."""
    account = open_account(ledger)
    reserved(ledger, account, "reserved")
    answered(ledger, account, "settled")
    ledger.void(reserved(ledger, account, "voided"), reason="no rows", by="test")
    full = open_account(ledger, "0.05", DatasetIdentity("full", "1"))
    ledger.reserve(full, ask("refused"))
    before = ledger.balance(account)
    for where, name in ((account, "reserved"), (account, "settled"), (account, "voided"), (full, "refused")):
        with pytest.raises(RequestConflict, match=f"another {part}"):
            ledger.reserve(where, ask(name, **change))
    assert ledger.balance(account) == before


def test_another_description_is_the_same_request(ledger: Ledger) -> None:
    """Words for people do not decide the answer."""
    account = open_account(ledger)
    answered(ledger, account, "q1", answer=8)
    assert ledger.reserve(account, ask("q1", description="the same, in other words")).answer == 8


def test_a_refused_request_is_decided_again_and_recorded_once(ledger: Ledger) -> None:
    """Still too much: the same entry. After a reset there is room, and the same id is charged."""
    account = open_account(ledger, "0.05")
    first = ledger.reserve(account, ask("q1"))
    second = ledger.reserve(account, ask("q1"))
    assert isinstance(second, RefusedRequest)
    assert second.entry == first.entry
    assert ledger.statement(account).records == 2
    ledger.reset(account, reason="second study", authorised_by="Ada")
    assert isinstance(ledger.reserve(account, ask("q1")), RefusedRequest)
    assert ledger.statement(account).records == 3


def test_a_refused_request_that_fits_later_is_charged(ledger: Ledger) -> None:
    """When a void has made room."""
    account = open_account(ledger, "0.15")
    holder = reserved(ledger, account, "q1")
    assert isinstance(ledger.reserve(account, ask("q2")), RefusedRequest)
    ledger.void(holder, reason="gave up before reading", by="test")
    assert isinstance(ledger.reserve(account, ask("q2")), Reserved)
    assert [e.status for e in ledger.statement(account).entries] == ["voided", "refused", "reserved"]


def test_an_answer_is_replayed_even_when_its_event_has_no_price_any_more(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version may withdraw a theorem; what was released stays released."""
    account = open_account(ledger)
    answered(ledger, account, "q1", answer=4)

    def withdrawn(*_: Any) -> Any:
        raise NoGuaranteeError("withdrawn")

    monkeypatch.setattr("dosimeter.ledger.pricing.charge", withdrawn)
    assert ledger.reserve(account, ask("q1")).answer == 4
    with pytest.raises(NoGuaranteeError):
        ledger.reserve(account, ask("q2"))


# -- voids -----------------------------------------------------------------------------------------------------------


def test_a_void_gives_back_exactly_its_charge(ledger: Ledger) -> None:
    """The state is the fold of the charges that stand: as if the voided one had never been."""
    account = open_account(ledger)
    amounts = ["0.1", Fraction(1, 3), "1e-30", "0.2"]
    holders = [reserved(ledger, account, f"q{i}", amount) for i, amount in enumerate(amounts)]
    ledger.void(holders[1], reason="the source was gone", by="session")
    twin = open_account(ledger, identity=DatasetIdentity("twin", "2"))
    for i in (0, 2, 3):
        reserved(ledger, twin, f"q{i}", amounts[i])
    with ledger._store.read() as view:
        states = {view.head(account.id).state, view.head(twin.id).state}
    assert len(states) == 1
    assert ledger.audit(account).ok


def test_only_the_first_holder_may_void(ledger: Ledger) -> None:
    """Not a later attempt, not somebody who read the ledger, not somebody who makes up a token."""
    account = open_account(ledger)
    first = reserved(ledger, account, "q1")
    for token in (None, b"guess" * 4):
        with pytest.raises(LedgerError, match="stays spent"):
            ledger.void(dataclasses.replace(first, void_token=token), reason="x", by="y")
    assert spent(ledger, account) == "0.1"


def test_nobody_voids_after_a_take_over(ledger: Ledger) -> None:
    """The attempt that took over may have touched rows, so the first holder's token has stopped working."""
    account = open_account(ledger)
    first = reserved(ledger, account, "q1")
    second = reserved(ledger, account, "q1")
    for holder in (first, second):
        with pytest.raises(LedgerError, match="stays spent"):
            ledger.void(holder, reason="x", by="y")
    assert ledger.settle(first, 1).answer == 1


def test_nobody_voids_after_an_answer_or_a_reset(ledger: Ledger) -> None:
    """An answer is out for ever; a closed epoch keeps its total."""
    account = open_account(ledger)
    settled, open_one = reserved(ledger, account, "q1"), reserved(ledger, account, "q2")
    ledger.settle(settled, 1)
    with pytest.raises(LedgerError, match="was answered"):
        ledger.void(settled, reason="x", by="y")
    ledger.reset(account, reason="second study", authorised_by="Ada")
    with pytest.raises(LedgerError, match="epoch 1, which is closed"):
        ledger.void(open_one, reason="x", by="y")
    assert [e.spent["epsilon"] for e in ledger.statement(account).epochs] == ["0.2", "0"]


def test_a_voided_reservation_cannot_be_settled(ledger: Ledger) -> None:
    """Whoever voided it after all touched rows gets no way to release the answer."""
    account = open_account(ledger)
    holder = reserved(ledger, account, "q1")
    ledger.void(holder, reason="no rows", by="session")
    ledger.void(holder, reason="no rows", by="session")  # repeated after a lost connection: the same void
    with pytest.raises(LedgerError, match="voided"):
        ledger.settle(holder, 5)
    assert ledger.statement(account).records == 3


def test_a_voided_request_may_be_made_again_and_pays_again(ledger: Ledger) -> None:
    """The new reservation is another one; the old one stays void."""
    account = open_account(ledger)
    old = reserved(ledger, account, "q1", "0.6")
    ledger.void(old, reason="no rows", by="session")
    new = reserved(ledger, account, "q1", "0.6")
    assert new.entry != old.entry
    assert spent(ledger, account) == "0.6"
    with pytest.raises(LedgerError, match="voided"):
        ledger.settle(old, 5)
    assert ledger.settle(new, 6).answer == 6
    with pytest.raises(LedgerError):
        ledger.void(new, reason="x", by="y")


def test_a_void_needs_a_reason_and_a_name(ledger: Ledger) -> None:
    """Both stay in the ledger."""
    account = open_account(ledger)
    holder = reserved(ledger, account, "q1")
    for reason, by in (("", "me"), ("why", ""), ("a\x00b", "me"), ("x" * 2001, "me")):
        with pytest.raises(InputError):
            ledger.void(holder, reason=reason, by=by)
    assert spent(ledger, account) == "0.1"


# -- settling --------------------------------------------------------------------------------------------------------


def test_a_reservation_of_another_ledger_or_account_cannot_be_settled(ledger: Ledger) -> None:
    """Nothing is released for a charge that this ledger does not hold."""
    account = open_account(ledger)
    other = open_account(ledger, identity=DatasetIdentity("other", "1"))
    holder = reserved(ledger, account, "q1")
    forged = [
        dataclasses.replace(holder, account_id=other.id),
        dataclasses.replace(holder, entry=1),
        dataclasses.replace(holder, entry=99),
        dataclasses.replace(holder, request_id="q2"),
    ]
    for reservation in forged:
        with pytest.raises(LedgerError):
            ledger.settle(reservation, 1)
    elsewhere = Ledger(MemoryStore())
    with pytest.raises(LedgerError):
        elsewhere.settle(holder, 1)


@pytest.mark.parametrize(
    "answer",
    [None, True, 0, -0.0, 10**30, 1e-300, "text \u2028 \u00e9 \U0001f600", [], {}, {"b": [1, {"a": None}], "": 0.1}],
)
def test_an_answer_comes_back_as_it_was_settled(ledger: Ledger, answer: Any) -> None:
    """Equal and of the same types, at once and on replay."""
    account = open_account(ledger)
    settled = ledger.settle(reserved(ledger, account, "q1"), answer)
    replayed = ledger.reserve(account, ask("q1"))
    assert repr(settled.answer) == repr(replayed.answer) or settled.answer == replayed.answer == answer
    assert type(replayed.answer) is type(answer)
    assert ledger.audit(account).ok


@pytest.mark.parametrize(
    "answer", [float("nan"), float("inf"), b"bytes", {1: 2}, object(), Decimal("0.1"), {"a": {1, 2}}, "\ud800"]
)
def test_an_answer_that_json_cannot_keep_is_refused(ledger: Ledger, answer: Any) -> None:
    """The reservation stays open and can still be settled."""
    account = open_account(ledger)
    holder = reserved(ledger, account, "q1")
    with pytest.raises(InputError):
        ledger.settle(holder, answer)
    assert ledger.settle(holder, 1).first


def test_an_endless_answer_is_refused(ledger: Ledger) -> None:
    """Sizes are bounded."""
    account = open_account(ledger)
    holder = reserved(ledger, account, "q1")
    with pytest.raises(InputError, match="at most"):
        ledger.settle(holder, "x" * (1 << 24))
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InputError, match="nested"):
        ledger.settle(holder, deep)


# -- odd requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"name": "q\x00"},
        {"name": " q"},
        {"name": "q\u202e1"},
        {"name": "\ud800"},
        {"name": 5},
        {"name": "a" * 10**6},
        {"body_digest": ""},
        {"body_digest": "XYZ"},
        {"body_digest": "a" * 129},
        {"body_digest": None},
        {"description": "x" * 2001},
        {"description": "a\x1bb"},
        {"description": None},
        {"relation": "others"},
        {"delta": "NaN"},
        {"delta": "1"},
        {"delta": "-1e-9"},
    ],
)
def test_odd_requests_are_refused_at_the_door(change: dict[str, Any]) -> None:
    """Lengths, characters and ranges are checked before the ledger is asked."""
    with pytest.raises(InputError):
        ask(**{"name": "q", **change})


def test_an_event_must_be_one(ledger: Ledger) -> None:
    """A loss, a dict or a number in place of an event is refused."""
    for event in (ZCDP("1"), {"kind": "gaussian"}, 0.1, None):
        with pytest.raises(InputError):
            Request("q", event, RELATION, "ab", "x")  # type: ignore[arg-type]


def test_ids_keep_their_characters(ledger: Ledger) -> None:
    """Quotes, backslashes and other alphabets are texts like others, and case matters."""
    account = open_account(ledger)
    names = ['q"1', "q\\1", "q'1; DROP TABLE x", "вопрос", "質問", "Q", "q", "%s?:a"]
    for i, name in enumerate(names):
        answered(ledger, account, name, answer=i)
    assert [ledger.reserve(account, ask(name)).answer for name in names] == list(range(len(names)))
    assert ledger.reserve(account, ask("Zoe\u0308")).entry == ledger.reserve(account, ask("Zo\u00eb")).entry
    assert ledger.audit(account).ok


# -- epochs ----------------------------------------------------------------------------------------------------------


def test_a_reset_opens_an_epoch_that_every_statement_shows(ledger: Ledger) -> None:
    """Fresh budget, logged with name and reason, and the promises of all epochs add up."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.9")
    again = ledger.reset(account, reason="second study", authorised_by="Ada")
    assert (again.epoch, ledger.account(account.id).epoch) == (2, 2)
    answered(ledger, account, "q2", "0.8")
    statement = ledger.statement(account)
    assert [(e.number, e.spent["epsilon"]) for e in statement.epochs] == [(1, "0.9"), (2, "0.8")]
    assert statement.guarantee_of_all_epochs == PureDP("2")
    reset = statement.decisions[-1]
    assert (reset.kind, reset.by, reset.reason) == ("reset", "Ada", "second study")
    assert isinstance(ledger.reserve(account, ask("q1", "0.9")), Replayed)


def test_a_reservation_of_a_closed_epoch_can_be_answered(ledger: Ledger) -> None:
    """It was charged to its own epoch before the reset, in the order of the interaction."""
    account = open_account(ledger)
    reserved(ledger, account, "q1", "0.9")
    ledger.reset(account, reason="second study", authorised_by="Ada")
    assert answered(ledger, account, "q1", "0.9", answer=3) == 3
    assert [e.spent["epsilon"] for e in ledger.statement(account).epochs] == ["0.9", "0"]
    assert ledger.audit(account).ok


# -- several accounts ------------------------------------------------------------------------------------------------


def test_all_accounts_are_charged_or_none(ledger: Ledger) -> None:
    """A at 0 and B at 0.9 of 1.0: 0.2 on both is refused and leaves A at 0."""
    a = open_account(ledger, identity=DatasetIdentity("a", "1"))
    b = open_account(ledger, identity=DatasetIdentity("b", "2"))
    answered(ledger, b, "before", "0.9")
    outcome = ledger.reserve_all([(a, ask("both", "0.2")), (b, ask("both", "0.2"))])
    assert isinstance(outcome, RefusedTogether)
    assert [r.account_id for r in outcome.refusals] == [b.id]
    assert (spent(ledger, a), spent(ledger, b)) == ("0", "0.9")
    assert ledger.statement(a).records == 1
    outcome = ledger.reserve_all([(b, ask("less", "0.1")), (a, ask("less", "0.1"))])
    assert isinstance(outcome, ReservedTogether)
    assert [o.account_id for o in outcome.outcomes] == [b.id, a.id]
    assert (spent(ledger, a), spent(ledger, b)) == ("0.1", "1")
    for part in outcome.outcomes:
        ledger.settle(part, "joint answer")
    replay = ledger.reserve_all([(a, ask("less", "0.1")), (b, ask("less", "0.1"))])
    assert [o.answer for o in replay.outcomes] == ["joint answer"] * 2
    assert ledger.audit(a).ok
    assert ledger.audit(b).ok


def test_a_conflict_on_one_account_charges_none(ledger: Ledger) -> None:
    """An error in the middle of the transaction undoes all of it."""
    a = open_account(ledger, identity=DatasetIdentity("a", "1"))
    b = open_account(ledger, identity=DatasetIdentity("b", "2"))
    for conflicting, clean in ((a, b), (b, a)):
        answered(ledger, conflicting, "used", "0.1")
        with pytest.raises(RequestConflict):
            ledger.reserve_all([(clean, ask("used", "0.2")), (conflicting, ask("used", "0.2"))])
        assert spent(ledger, clean) in {"0", "0.1"}
    with pytest.raises(InputError):
        ledger.reserve_all([])
    with pytest.raises(InputError):
        ledger.reserve_all([(a, ask("x")), (a, ask("y"))])


# -- time and work of the caller -------------------------------------------------------------------------------------


def test_a_clock_set_back_changes_no_decision() -> None:
    """Times are recorded, never used; the chain still holds."""
    clock = SetClock()
    ledger = Ledger(MemoryStore(), clock)
    account = open_account(ledger)
    for i, hours in enumerate((5, -1000, 3, -20000)):
        clock.move(hours=hours)
        answered(ledger, account, f"q{i}", "0.25")
    assert isinstance(ledger.reserve(account, ask("q5")), RefusedRequest)
    assert answered(ledger, account, "q0", "0.25") == 1.5
    times = [e.requested_at for e in ledger.statement(account).entries]
    assert times != sorted(times)
    assert ledger.audit(account).ok


def test_a_clock_without_a_zone_is_refused() -> None:
    """A record's time is unambiguous."""
    clock = SetClock()
    clock.now = clock.now.replace(tzinfo=None)
    ledger = Ledger(MemoryStore(), clock)
    with pytest.raises(InputError, match="zone"):
        open_account(ledger)


def test_what_was_charged_survives_the_callers_roll_back(ledger: Ledger) -> None:
    """Charge 0.3, the caller's own work fails and is rolled back, charge 0.2: 0.5 spent, two charges on record."""
    account = open_account(ledger)

    def callers_work() -> None:
        reserved(ledger, account, "q1", "0.3")
        raise RuntimeError("rolled back")

    with pytest.raises(RuntimeError):
        callers_work()
    reserved(ledger, account, "q2", "0.2")
    assert spent(ledger, account) == "0.5"
    assert len(ledger.statement(account).entries) == 2
    assert [o.request_id for o in ledger.orphans(account)] == ["q1", "q2"]


def test_orphans_are_listed_until_they_are_answered(ledger: Ledger) -> None:
    """They stay spent; completing the request takes them off the list."""
    account = open_account(ledger)
    reserved(ledger, account, "q1", "0.3")
    (orphan,) = ledger.orphans(account)
    assert (orphan.request_id, orphan.taken_over, str(orphan.loss.epsilon)) == ("q1", False, "0.3")
    reserved(ledger, account, "q1", "0.3")
    assert ledger.orphans(account)[0].taken_over
    answered(ledger, account, "q1", "0.3")
    assert ledger.orphans(account) == ()
    assert spent(ledger, account) == "0.3"
