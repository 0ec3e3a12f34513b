"""The account belongs to the data: whoever finds the data finds the account, and nobody finds a second budget."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from tests.ledger.ledger_world import PEOPLE, RELATION, answered, ask, open_account, spent

from dosimeter.adaptive.filters import PureFilter, RDPFilter, ZCDPFilter
from dosimeter.adaptive.odometers import MixtureOdometer, RDPOdometer
from dosimeter.errors import (
    AccountConflict,
    AccountNotFound,
    DosimeterError,
    InputError,
    NoGuaranteeError,
    NotAuthorised,
)
from dosimeter.ledger import DatasetIdentity, Ledger
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.stores import MemoryStore

CHANGED = DatasetIdentity("people", "another content")
RENAMED = DatasetIdentity("folk", PEOPLE.content_digest)
STRANGER = DatasetIdentity("strangers", "77aa")


def test_opening_again_under_the_same_terms_finds_the_account(ledger: Ledger) -> None:
    """Opening is idempotent, also through another ledger object on the same store."""
    first = open_account(ledger, terms={"schema": {"age": [0, 120]}})
    answered(ledger, first, "q1", "0.3")
    again = open_account(Ledger(ledger._store), terms={"schema": {"age": [0, 120]}})
    assert again == first
    assert ledger.accounts() == [first]
    assert spent(ledger, again) == "0.3"


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"filter": PureFilter("1.1")}, "filter"),
        ({"filter": ZCDPFilter("1.0")}, "filter"),
        ({"relation": NeighbouringRelation.REPLACE_ONE}, "relation"),
        ({"unit": PrivacyUnit("person", 3)}, "unit"),
        ({"odometers": [MixtureOdometer("1e-6", "0.1")]}, "odometers"),
        ({"terms": {"schema": {"age": [0, 200]}}}, "terms"),
    ],
)
def test_other_terms_are_a_conflict_that_tells_the_existing_ones(
    ledger: Ledger, changes: dict[str, Any], part: str
) -> None:
    """A second opening under other terms is refused, names the part and shows what it was opened with."""
    account = open_account(ledger, terms={"schema": {"age": [0, 120]}})
    stored = json.dumps(account.to_json()[part], sort_keys=True, separators=(",", ":"))
    with pytest.raises(AccountConflict) as conflict:
        open_account(ledger, **changes)
    assert f"{part}={stored}" in str(conflict.value)
    assert ledger.accounts() == [account]


def test_terms_left_out_are_taken_as_they_are(ledger: Ledger) -> None:
    """Somebody who does not know the steward's terms finds the account with them."""
    opened = open_account(ledger, terms={"bounds": [0, 1]})
    assert open_account(ledger).terms == {"bounds": [0, 1]}
    opened.terms["bounds"].append("edited by the caller")
    assert ledger.account(opened.id).terms == {"bounds": [0, 1]}


def test_the_same_content_under_another_name_is_the_same_account(ledger: Ledger) -> None:
    """A renamed copy spends from the budget of the data it copies, and keeps doing so when the copy changes."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.7")
    copy = open_account(ledger, identity=RENAMED)
    assert copy.id == account.id
    assert spent(ledger, copy) == "0.7"
    with pytest.raises(AccountConflict, match="accept_data_change"):
        open_account(ledger, identity=DatasetIdentity("folk", "the copy, edited"))


def test_changed_content_under_the_same_name_never_gets_a_fresh_budget(ledger: Ledger) -> None:
    """Opening and finding both say that the data changed, that a steward decides, and that the spent stays spent."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.4")
    for attempt in (lambda: open_account(ledger, identity=CHANGED), lambda: ledger.find(CHANGED)):
        with pytest.raises(AccountConflict, match=r"accept_data_change.*stays spent"):
            attempt()
    assert ledger.accounts() == [account]


def test_a_steward_may_accept_changed_data(ledger: Ledger) -> None:
    """After that both contents lead to the one account, the budget goes on, and the decision is on the statement."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.4")
    ledger.accept_data_change(account, CHANGED, reason="April's rows arrived", authorised_by="Ada")
    for identity in (PEOPLE, CHANGED, RENAMED):
        assert open_account(ledger, identity=identity).id == account.id
    assert spent(ledger, account) == "0.4"
    decision = next(d for d in ledger.statement(account).decisions if d.kind == "data_changed")
    assert (decision.reason, decision.by, decision.name) == ("April's rows arrived", "Ada", "people")
    assert ledger.audit(account).ok


def test_accepting_known_data_changes_nothing(ledger: Ledger) -> None:
    """A repeated acceptance adds no record."""
    account = open_account(ledger)
    for _ in range(2):
        ledger.accept_data_change(account, CHANGED, reason="new rows", authorised_by="Ada")
    assert ledger.statement(account).records == 2


def test_data_of_another_account_cannot_be_taken_over(ledger: Ledger) -> None:
    """Neither its name nor its content: one data set answers to one account."""
    account = open_account(ledger)
    open_account(ledger, identity=STRANGER)
    for identity in (STRANGER, DatasetIdentity("strangers", "new"), DatasetIdentity("people", "77aa")):
        with pytest.raises(AccountConflict, match="another account"):
            ledger.accept_data_change(account, identity, reason="merge", authorised_by="Ada")
    with pytest.raises(AccountConflict, match="belongs to account"):
        ledger.find(DatasetIdentity("people", "77aa"))


@pytest.mark.parametrize(("reason", "by"), [("", "Ada"), ("  ", "Ada"), ("why not", ""), (None, "Ada"), ("x", None)])
def test_a_stewards_decision_needs_a_name_and_a_reason(ledger: Ledger, reason: Any, by: Any) -> None:
    """Without them nothing happens."""
    account = open_account(ledger)
    with pytest.raises(NotAuthorised):
        ledger.reset(account, reason=reason, authorised_by=by)
    with pytest.raises(NotAuthorised):
        ledger.accept_data_change(account, CHANGED, reason=reason, authorised_by=by)
    assert ledger.statement(account).records == 1


def test_the_contents_digest_is_never_kept_nor_shown(ledger: Ledger) -> None:
    """Only a keyed hash is stored; the digest is in no record, message, repr or statement, the hash in no statement."""
    secret = "d1be57" * 8
    identity = DatasetIdentity("people", secret)
    account = open_account(ledger, identity=identity)
    answered(ledger, account, "q1")
    with ledger._store.read() as view:
        stored = repr((view.records(account.id), view.identities(account.id)))
        mac = next(value for kind, value in view.identities(account.id) if kind == "content")
    assert secret not in stored
    assert mac != secret
    with pytest.raises(AccountConflict) as conflict:
        ledger.find(DatasetIdentity("people", "e" + secret))
    shown = "\n".join(
        [
            repr(identity),
            str(conflict.value),
            repr(account),
            json.dumps(ledger.statement(account).to_json()),
            json.dumps(ledger.audit(account).to_json()),
            repr(ledger._key),
        ]
    )
    assert secret not in shown
    assert mac not in shown
    assert ledger._key.key.hex() not in shown


def test_two_ledgers_hash_the_same_content_differently() -> None:
    """The key is the ledger's own, so hashes cannot be compared between ledgers or against guesses without it."""
    macs = {PEOPLE.content_mac(MemoryStore().key().key) for _ in range(3)}
    assert len(macs) == 3


def test_an_unknown_account_is_named(ledger: Ledger) -> None:
    """Every verb that takes an account says that it does not exist."""
    elsewhere = open_account(Ledger(MemoryStore()))
    for verb in (
        lambda: ledger.account("nobody"),
        lambda: ledger.balance(elsewhere),
        lambda: ledger.statement(elsewhere),
        lambda: ledger.audit(elsewhere),
        lambda: ledger.orphans(elsewhere),
        lambda: ledger.reserve(elsewhere, ask("q1")),
        lambda: ledger.reset(elsewhere, reason="x", authorised_by="y"),
    ):
        with pytest.raises(AccountNotFound):
            verb()
    assert ledger.find(PEOPLE) is None


@pytest.mark.parametrize("cap", ["NaN", float("nan"), Decimal("NaN"), "inf", "-1", "0", -1.0, 0, None, True, "1e-301"])
def test_a_budget_that_is_no_amount_is_refused_at_creation(ledger: Ledger, cap: Any) -> None:
    """NaN, infinities, zero and negatives never become a cap."""
    with pytest.raises(InputError):
        open_account(ledger, cap)
    assert ledger.accounts() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"opened_by": ""},
        {"opened_by": "a\x00b"},
        {"opened_by": "x" * 201},
        {"relation": "neighbourly"},
        {"terms": []},
        {"terms": {"bound": float("nan")}},
        {"terms": {1: "key"}},
        {"terms": {"bytes": b"x"}},
        {"terms": {"surrogate": "\ud800"}},
        {"terms": {"big": "x" * (1 << 21)}},
        {"terms": {"deep": json.loads("[" * 60 + "]" * 60)}},
        {"terms": {"huge": 10**5000}},
    ],
)
def test_odd_terms_are_refused_at_the_door(ledger: Ledger, changes: dict[str, Any]) -> None:
    """Texts and JSON are bounded and checked before anything is written."""
    with pytest.raises(InputError):
        open_account(ledger, **changes)
    assert ledger.accounts() == []


@pytest.mark.parametrize("name", ["", " people", "people\n", "pe\u200bople", "x" * 201, "\ud800", 7, None, "a\x7fb"])
def test_odd_names_are_refused_at_the_door(name: Any) -> None:
    """Empty, padded, invisible and endless names never identify a data set."""
    with pytest.raises(InputError):
        DatasetIdentity(name, "ab")


def test_names_that_look_alike_are_alike(ledger: Ledger) -> None:
    """One name in two Unicode spellings is one name; capitals differ."""
    account = open_account(ledger, identity=DatasetIdentity("Zo\u00eb", "1"))
    assert ledger.find(DatasetIdentity("Zoe\u0308", "1")) == account
    with pytest.raises(AccountConflict):
        ledger.find(DatasetIdentity("Zoe\u0308", "2"))
    assert ledger.find(DatasetIdentity("ZO\u00cb", "3")) is None


def test_a_filter_that_does_not_read_back_as_itself_is_refused(ledger: Ledger) -> None:
    """An account never opens under a rule that the next process could not restore."""

    class Homemade:
        kind = "homemade"
        notion = "pure"

        def to_json(self) -> dict[str, str]:
            return {"kind": "homemade"}

    class Disguised(Homemade):
        kind = "pure"

        def to_json(self) -> dict[str, str]:
            return PureFilter("5").to_json()

    for rule in (Homemade(), Disguised()):
        with pytest.raises(InputError):
            open_account(ledger, filter=rule)


def test_an_odometer_that_cannot_read_the_filters_states_is_refused(ledger: Ledger) -> None:
    """Better at opening than never to give a reading."""
    mixed = [
        (RDPFilter(order="8", epsilon="1"), MixtureOdometer("1e-6", "0.1")),
        (PureFilter("1"), RDPOdometer("1e-6", "8")),
    ]
    for rule, odometer in mixed:
        with pytest.raises((NoGuaranteeError, DosimeterError)):
            open_account(ledger, filter=rule, odometers=[odometer])
    assert ledger.accounts() == []


def test_accounts_are_listed_oldest_first(ledger: Ledger) -> None:
    """By the time they were opened."""
    names = ["b", "a", "c"]
    for name in names:
        open_account(ledger, identity=DatasetIdentity(name, name))
    assert [account.name for account in ledger.accounts()] == names
    assert {account.relation for account in ledger.accounts()} == {RELATION}
