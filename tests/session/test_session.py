"""A session plans, pays, touches rows, adds noise and settles, in that order, and tells the truth about each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.session.conftest import COLUMNS, ROWS

import dosimeter as dm
from dosimeter.adaptive.filters import GDPFilter, RDPFilter
from dosimeter.errors import AccountConflict, AccountNotFound, InputError, QueryError, RequestConflict, SourceError
from dosimeter.ledger import DatasetIdentity, Ledger
from dosimeter.session import Session
from dosimeter.sources.duckdb import DuckDBSource

Make = Callable[..., Session]


def test_three_adaptive_answers(make: Make) -> None:
    """Each answer has an error bar, a charge and what is left; a later price may depend on an earlier answer."""
    session = make()
    first = session.ask(dm.count(), epsilon="0.1")
    assert abs(first.value - 900) <= 6 * first.error
    price = "0.05" if first.value > 500 else "0.2"
    second = session.ask(dm.mean_of("spend", lower=0, upper=50).where("age >= 40"), epsilon=price)
    third = session.ask(dm.count().by("sex", keys=["F", "M", "X"]), rho="0.001")
    assert list(third.value) == ["F", "M", "X"]
    left = [Decimal(a.remaining["rho"]) for a in (first, second, third)]
    assert left == sorted(left, reverse=True)
    assert left[-1] == Decimal(session.remaining()["rho"])
    assert third.odometer is not None
    assert first.odometer is not None
    assert third.odometer > first.odometer > 0
    assert session.audit().ok


def test_the_same_question_replays_for_free(make: Make) -> None:
    """One draw of noise per paid request: asking again shows the stored answer and charges nothing."""
    session = make()
    first = session.ask(dm.count(), epsilon="0.1")
    before = session.remaining()
    again = make().ask(dm.count(), epsilon="0.1")
    assert (again.value, again.error, again.replayed) == (first.value, first.error, True)
    assert session.remaining() == before
    fresh = session.ask(dm.count(), epsilon="0.1", request="second look")
    assert not fresh.replayed
    assert session.remaining() != before


def test_a_request_name_means_one_question(make: Make) -> None:
    """Another question, or another price, under a used name is an error, and costs nothing."""
    session = make()
    session.ask(dm.count(), epsilon="0.1", request="r1")
    before = session.remaining()
    for query, price in ((dm.count().where("age >= 40"), "0.1"), (dm.count(), "0.2")):
        with pytest.raises(RequestConflict):
            session.ask(query, epsilon=price, request="r1")
    assert session.remaining() == before


def test_a_refusal_changes_nothing_and_the_session_goes_on(make: Make) -> None:
    """An over-sized question is refused with its numbers; a cheaper one follows."""
    session = make()
    session.ask(dm.count(), epsilon="0.1")
    before = session.balance()
    with pytest.raises(dm.QueryRefused, match="remaining") as caught:
        session.ask(dm.count().where("age >= 30"), epsilon="5")
    assert caught.value.refusal.requested["rho"]
    assert session.balance() == before
    assert session.ask(dm.count().where("age >= 30"), epsilon="0.1").value > 0


def test_quoting_is_free_and_right(make: Make) -> None:
    """A quote changes nothing and says exactly what asking then does."""
    session = make()
    before = session.balance()
    fits = session.quote(dm.count(), epsilon="0.1")
    too_much = session.quote(dm.count(), epsilon="50")
    assert session.balance() == before
    assert fits.fits
    assert not too_much.fits
    answer = session.ask(dm.count(), epsilon="0.1")
    assert answer.charge == fits.loss
    assert {k: answer.remaining[k] for k in answer.remaining} == fits.remaining_after


def test_a_wanted_accuracy_is_met(make: Make) -> None:
    """The error bar is at most what was asked for, and the charge is what that costs."""
    session = make()
    answer = session.ask(dm.count_distinct_users(), within=25, confidence="0.9")
    assert answer.error <= 25
    assert answer.confidence == Decimal("0.9")


@pytest.mark.parametrize(
    "price",
    [
        {},
        {"epsilon": "NaN"},
        {"epsilon": "inf"},
        {"epsilon": "0"},
        {"epsilon": "-0.1"},
        {"epsilon": "1e-400"},
        {"epsilon": "1e400"},
        {"epsilon": "0,1"},
        {"epsilon": "0.1", "rho": "0.1"},
        {"rho": "0.1", "delta": "1e-6"},
        {"within": "0"},
        {"within": "-5"},
        {"within": "5", "confidence": "1"},
        {"within": "5", "epsilon": "0.1"},
    ],
)
def test_a_bad_price_charges_nothing(make: Make, price: dict[str, Any]) -> None:
    """Every malformed price is an input error, raised before anything is charged or read."""
    session = make()
    before = session.balance()
    with pytest.raises(InputError):
        session.ask(dm.count(), **price)
    assert session.balance() == before
    assert session.statement().entries == ()


@pytest.mark.parametrize(
    "query",
    [
        lambda: dm.sum_of("spend"),
        lambda: dm.mean_of("spend", lower=5, upper=5),
        lambda: dm.sum_of("nothing", lower=0, upper=1),
        lambda: dm.count().where("salary > 3"),
        lambda: dm.count().where("1/age > 0"),
        lambda: dm.count().by("sex"),
        lambda: dm.count().where("age > (SELECT 1)"),
        lambda: dm.sum_of("sex", lower=0, upper=1),
    ],
)
def test_an_unplannable_question_charges_nothing(make: Make, query: Callable[[], dm.Query]) -> None:
    """Unknown columns, missing bounds, undeclared keys: refused with the way to ask, nothing charged."""
    session = make()
    before = session.balance()
    with pytest.raises(QueryError):
        session.ask(query(), epsilon="0.1")
    assert session.balance() == before


class Watched:
    """A source that writes down when it is touched, and may fail."""

    def __init__(self, inner: DuckDBSource, log: list[str], fail: bool = False) -> None:
        self.inner, self.log, self.fail = inner, log, fail
        self.schema = inner.schema

    def content_digest(self) -> str:
        return self.inner.content_digest()

    def aggregate(self, plan: Any) -> Sequence[Sequence[int]]:
        self.log.append("rows")
        if self.fail:
            raise SourceError("the rows could not be aggregated")
        return self.inner.aggregate(plan)


def test_rows_are_touched_only_after_the_charge_is_durable(
    make: Make, source: DuckDBSource, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """plan, reserve, aggregate, release, settle: in this order, and a refusal or a replay touches no row."""
    log: list[str] = []
    session = make()
    session._source = Watched(source, log)
    for verb in ("reserve", "settle"):
        original = getattr(ledger, verb)
        monkeypatch.setattr(ledger, verb, lambda *args, _o=original, _v=verb: (_o(*args), log.append(_v))[0])
    session.ask(dm.count(), epsilon="0.1")
    assert log == ["reserve", "rows", "settle"]
    log.clear()
    session.ask(dm.count(), epsilon="0.1")
    with pytest.raises(dm.QueryRefused):
        session.ask(dm.count(), epsilon="9")
    assert log == ["reserve", "reserve"]


def test_a_failure_after_the_charge_keeps_it_and_a_retry_is_free(make: Make, source: DuckDBSource) -> None:
    """When rows cannot be read the charge stays; asking the same again completes it without a second charge."""
    session = make()
    log: list[str] = []
    session._source = Watched(source, log, fail=True)
    with pytest.raises(SourceError):
        session.ask(dm.count(), epsilon="0.1")
    after_failure = session.remaining()
    assert len(session.ledger.orphans(session.account)) == 1
    session._source = source
    answer = session.ask(dm.count(), epsilon="0.1")
    assert not answer.replayed
    assert session.remaining() == after_failure
    assert session.ledger.orphans(session.account) == ()


def test_nothing_is_paid_for_rows_that_are_out_of_reach(make: Make, source: DuckDBSource) -> None:
    """A source that was closed, or that another process opened, is noticed before the charge."""
    session = make()
    source.close()
    for request in (None, "r1"):
        with pytest.raises(SourceError, match="open it again"):
            session.ask(dm.count(), epsilon="0.1", request=request)
    assert session.balance().spent == {"rho": "0", "delta": "0"}


def test_an_empty_request_name_is_no_name(make: Make) -> None:
    """It is refused, not taken for a request without a name, which might replay an old answer."""
    session = make()
    with pytest.raises(InputError, match="request id"):
        session.ask(dm.count(), epsilon="0.1", request="")


LONG = f"age IN ({', '.join(map(str, range(900)))})"
QUESTIONS_OF_ANY_TEXT = [
    dm.count().where(LONG),
    dm.count().where("sex = 'a\x01\x1b[31m\n\u202eb'"),
    dm.count().by("sex", keys=["\n", "\u2028", "'; DROP TABLE data --", "x" * 90_000]),
]


@pytest.mark.parametrize("query", QUESTIONS_OF_ANY_TEXT, ids=["long", "control", "keys"])
def test_any_question_that_can_be_built_can_be_asked(make: Make, query: dm.Query) -> None:
    """Long conditions, control characters, strange keys: answered, replayed, and printable on the statement."""
    session = make()
    answer = session.ask(query, epsilon="0.1")
    assert session.ask(query, epsilon="0.1").value == answer.value
    (entry,) = session.statement().entries
    assert entry.description.isprintable()
    assert session.audit().ok


def test_a_session_says_where_it_stands(make: Make) -> None:
    """Printed, it tells a person what is left and how much has been lost, with few digits on the safe side."""
    session = make()
    session.ask(dm.count(), epsilon="0.1")
    said = str(session)
    assert said.startswith("people: left rho 0.0")
    assert "(one question: at most epsilon 0." in said
    assert "privacy loss so far: at most epsilon" in said
    assert "delta" not in said
    assert all(len(word) < 14 for word in said.split())


def test_the_data_finds_its_account(make: Make, ledger: Ledger, source: DuckDBSource) -> None:
    """Another source with the same rows, in another order and under another name, finds what was spent."""
    session = make()
    session.ask(dm.count(), epsilon="0.1")
    shuffled = DuckDBSource.from_rows(COLUMNS, ROWS[::-1])
    again = dm.open(shuffled, name="a copy", ledger=ledger)
    assert again.account.id == session.account.id
    assert again.remaining() == session.remaining()
    changed = DuckDBSource.from_rows(COLUMNS, ROWS[:-1])
    with pytest.raises(AccountConflict, match="changed"):
        dm.open(changed, name="people", ledger=ledger, epsilon="1", delta="1e-6", user="person", max_contributions=3)


def test_changed_rows_are_a_new_question(make: Make, ledger: Ledger) -> None:
    """After a steward accepts changed data, the same question is answered from the new rows, and paid for."""
    session = make()
    before = session.ask(dm.count(), epsilon="0.1")
    changed = DuckDBSource.from_rows(COLUMNS, ROWS[:300])
    identity = DatasetIdentity("people", changed.content_digest())
    ledger.accept_data_change(session.account, identity, reason="two thirds left", authorised_by="Ada")
    after = dm.open(changed, name="people", ledger=ledger).ask(dm.count(), epsilon="0.1")
    assert not after.replayed
    assert after.request != before.request
    assert abs(after.value - 300) < abs(after.value - 900)


def test_terms_do_not_change_after_opening(make: Make) -> None:
    """Another budget, unit or relation for data that has an account is a conflict, never a second budget."""
    make()
    other = {"epsilon": None, "delta": None, "filter": GDPFilter("1")}
    for change in ({"epsilon": "2"}, {"max_contributions": 5}, {"relation": "replace_one"}, other):
        with pytest.raises(AccountConflict):
            make(**change)


def test_a_column_keeps_the_type_it_had_when_the_account_opened(tmp_path: Path) -> None:
    """Declaring another type later is a conflict, not a declaration that is quietly dropped."""
    (tmp_path / "p.csv").write_text("id,age\n1,30\n2,40\n")
    book = tmp_path / "l.db"
    dm.open(tmp_path / "p.csv", epsilon="1", columns={"age": "real"}, ledger=book)
    assert dm.open(tmp_path / "p.csv", columns={"age": "real"}, ledger=book).schema.column("age").type == "real"
    assert dm.open(tmp_path / "p.csv", ledger=book).schema.column("age").type == "real"
    with pytest.raises(AccountConflict, match="'age' as real"):
        dm.open(tmp_path / "p.csv", columns={"age": "integer"}, ledger=book)


def test_nothing_is_made_for_a_reader(tmp_path: Path) -> None:
    """Whoever gives no budget opens no account, so a misspelled path does not leave an empty ledger behind."""
    (tmp_path / "p.csv").write_text("id,age\n1,30\n")
    with pytest.raises(AccountNotFound, match="budget"):
        dm.open(tmp_path / "p.csv", ledger=tmp_path / "typo.db")
    assert not (tmp_path / "typo.db").exists()


def test_each_table_of_a_database_has_its_own_account(tmp_path: Path) -> None:
    """Two tables of one file are two data sets with two names; endings are no part of a name."""
    import duckdb

    with duckdb.connect(str(tmp_path / "Many.DuckDB")) as connection:
        for table in ("a", "b"):
            connection.execute(f"CREATE TABLE {table} AS SELECT i, '{table}' AS name FROM range(5) t(i)")
    names = {
        dm.open(tmp_path / "Many.DuckDB", table=table, epsilon="1", ledger=tmp_path / "l.db").account.name
        for table in ("a", "b")
    }
    assert names == {"Many.a", "Many.b"}


def test_what_cannot_be_opened_says_what_can(source: DuckDBSource, ledger: Ledger) -> None:
    """Other objects than files and sources, two budgets, an impossible latency: found before anything is opened."""
    for data in ([[1, 2]], None, object()):
        with pytest.raises(InputError, match="rows cannot be read from a"):
            dm.open(data, epsilon="1", name="x", ledger=ledger)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not both"):
        dm.open(source, epsilon="1", filter=GDPFilter("1"), name="x", ledger=ledger)
    assert ledger.accounts() == []
    with pytest.raises(InputError, match="pad_seconds=-1"):
        dm.open(source, epsilon="1", name="x", ledger=ledger, pad_seconds=-1)


def test_a_person_without_a_login_name_can_open(
    source: DuckDBSource, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In many containers the user id has no name."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert dm.open(source, epsilon="1", name="x", ledger=ledger).account.opened_by == "unnamed user"


def test_without_a_budget_there_must_be_an_account(source: DuckDBSource, ledger: Ledger) -> None:
    """Data that nobody opened has no account; the error says how to open one."""
    with pytest.raises(AccountNotFound, match="budget"):
        dm.open(source, name="people", ledger=ledger)
    with pytest.raises(InputError, match="name"):
        dm.open(source, ledger=ledger)


@pytest.mark.parametrize(
    ("terms", "price"),
    [
        ({"epsilon": "1", "delta": None}, {"epsilon": "0.1"}),
        ({"epsilon": None, "delta": None, "rho": "0.1"}, {"rho": "0.01"}),
        ({"epsilon": None, "delta": None, "mu": "1"}, {"mu": "0.1"}),
        ({"epsilon": None, "delta": None, "mu": "1"}, {"epsilon": "0.1"}),
        ({"epsilon": None, "delta": None, "filter": RDPFilter("8", "1")}, {"rho": "0.01"}),
        ({"relation": "replace_one"}, {"epsilon": "0.1"}),
        ({"relation": "zero_out"}, {"rho": "0.01"}),
        ({"user": None, "max_contributions": 1}, {"rho": "0.01"}),
    ],
)
def test_every_kind_of_account_answers(make: Make, terms: dict[str, Any], price: dict[str, str]) -> None:
    """Each filter takes the prices its notion can hold, under each relation and unit."""
    session = make(**terms)
    answer = session.ask(dm.count().where("age >= 40"), **price)
    assert answer.value
    assert session.audit().ok


def test_a_pure_account_refuses_gaussian_noise_with_the_way_out(make: Make) -> None:
    """No theorem holds Gaussian noise in a pure account: nothing is charged, and the message says what to ask."""
    session = make(delta=None)
    before = session.balance()
    with pytest.raises(dm.DosimeterError, match="epsilon"):
        session.ask(dm.count(), rho="0.01")
    assert session.balance() == before


def test_an_answer_shows_nothing_exact(make: Make) -> None:
    """Neither an answer, nor a session, nor a statement holds the exact result in its text."""
    session = make()
    answer = session.ask(dm.sum_of("age", lower=0, upper=100), epsilon="0.01")
    exact = sum(20 + i % 60 for i in range(900))
    texts = [str(answer), repr(answer), str(answer.to_json()), repr(session), str(session.statement().to_json())]
    assert str(exact) not in " ".join(texts)


def test_an_answer_speaks_json(make: Make) -> None:
    """The JSON of an answer carries texts for numbers, and the same content as the object."""
    answer = make().ask(dm.count().by("sex", keys=["F", "M"]), epsilon="0.1")
    data = answer.to_json()
    assert [cell["label"] for cell in data["answer"]["cells"]] == [["F"], ["M"]]
    assert data["charge"]["notion"] == "zcdp"
    assert "together" in str(answer)
    assert set(answer.errors()) == {"F", "M"}


def test_a_column_that_is_gone_is_noticed_before_anything_is_charged(make: Make, ledger: Ledger) -> None:
    """Accepted data that lacks a column of the account's schema cannot be opened; the message names the column."""
    session = make()
    narrower = DuckDBSource.from_rows({"person": "integer", "age": "integer"}, [(1, 30)])
    identity = DatasetIdentity("people", narrower.content_digest())
    ledger.accept_data_change(session.account, identity, reason="fewer columns", authorised_by="Ada")
    with pytest.raises(InputError, match="sex"):
        dm.open(narrower, name="people", ledger=ledger)
