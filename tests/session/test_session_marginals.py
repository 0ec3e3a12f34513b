"""Marginals through a session: charged once and first, consistent, replayed for free, and grown by what is missing."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from dosimeter.adaptive.filters import ResidueFilter
from dosimeter.errors import InputError, QueryError, QueryRefused, RequestConflict
from dosimeter.ledger import Ledger
from dosimeter.session import Session
from dosimeter.stores.memory import MemoryStore

KEYS = {"sex": ["F", "M"], "age": list(range(20, 80))}
Make = Callable[..., Session]


def _people() -> np.ndarray:
    table = np.zeros((2, 60))
    for i in range(900):
        table[i % 2, i % 60] += 1
    return table


def test_answers_agree_and_are_near_the_truth(make: Make) -> None:
    """One charge buys every wanted marginal; sums over a column are the smaller marginal to the last digits."""
    session = make(epsilon=None, delta=None, mu="9")
    answer = session.marginals([["sex"], ["age", "sex"], []], KEYS, mu="2")
    both, sexes = answer.table("sex", "age"), answer.table("sex")
    assert sum(v for (sex, _), v in both.items() if sex == "F") == pytest.approx(sexes["F"], abs=1e-7)
    assert sum(sexes.values()) == pytest.approx(answer.table()[()], abs=1e-7)
    truth = _people()
    off = np.array(list(both.values())).reshape(2, 60) - truth
    spread = answer.standard_deviation("age", "sex")
    assert 0.5 * spread < off.std() < 1.6 * spread
    assert abs(sexes["F"] - 450) < 6 * answer.standard_deviation("sex")


def test_three_rows_of_a_person_are_paid_for(make: Make) -> None:
    """A person with up to three rows gets three times the noise of one row; replacing doubles it again."""
    spreads = []
    for changes in ({"max_contributions": 1}, {"max_contributions": 3}, {"relation": "replace_one"}):
        session = make(epsilon=None, delta=None, mu="9", ledger=Ledger(MemoryStore()), **changes)
        spreads.append(session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=1).standard_deviation("sex"))
    assert spreads[1] == pytest.approx(3 * spreads[0], rel=1e-5)
    assert spreads[2] == pytest.approx(6 * spreads[0], rel=1e-5)


def test_the_charge_comes_first_and_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that cannot be read leave the charge and no answer; asking again completes it free; a third time replays."""
    session = make(epsilon=None, delta=None, mu="9")
    seen = []
    real = session._source.aggregate

    def broken(planned: object) -> object:
        seen.append(session.remaining())
        raise OSError("the disk is gone")

    before = session.remaining()
    monkeypatch.setattr(session._source, "aggregate", broken)
    with pytest.raises(OSError, match="disk"):
        session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=1)
    assert seen[0] != before  # the charge stood before the first row was touched
    monkeypatch.setattr(session._source, "aggregate", real)
    first = session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=1)
    again = session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=1)
    assert session.remaining() == seen[0]
    assert (first.replayed, again.replayed) == (False, True)
    assert first.table("sex") == again.table("sex")


def test_rows_out_of_reach_are_noticed_before_anything_is_paid(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named request, too, finds out that the data is gone while it is still free."""
    session = make(epsilon=None, delta=None, mu="9")

    def gone() -> str:
        raise OSError("the disk is gone")

    before = session.remaining()
    monkeypatch.setattr(session._source, "content_digest", gone)
    with pytest.raises(OSError, match="disk"):
        session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=1, request="mine")
    assert session.remaining() == before


def test_the_next_marginal_measures_only_what_is_missing(make: Make) -> None:
    """Known pieces are kept as they are; a marginal that is known already is refused, since it is free to read."""
    session = make(epsilon=None, delta=None, mu="9")
    first = session.marginals([["sex"]], KEYS, mu="0.5")
    second = session.marginals([["sex", "age"]], KEYS, mu="0.5", known=first)
    assert second.table("sex") == pytest.approx(first.table("sex"))
    assert set(second.residuals.measured) == {(), ("sex",), ("age",), ("sex", "age")}
    assert set(first.residuals.measured) == {(), ("sex",)}
    with pytest.raises(InputError, match="known already"):
        session.marginals([["age"]], KEYS, mu="0.5", known=second)
    with pytest.raises(QueryError, match="same keys"):
        session.marginals([["age"]], {"age": [1, 2]}, mu="0.5", known=second)


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": None, "delta": None, "mu": "3"},
        {"epsilon": None, "delta": None, "rho": "3"},
        {"epsilon": "8", "delta": "1e-5"},
        {"epsilon": None, "delta": None, "filter": ResidueFilter("8", "1e-5")},
    ],
)
def test_every_gaussian_account_takes_them(make: Make, budget: dict[str, object]) -> None:
    """rho, mu, and epsilon with delta buy the same kind of noise; the charge is that of one Gaussian release."""
    session = make(**budget)
    left = session.remaining()
    for price in ({"mu": "0.3"}, {"rho": "0.08"}, {"epsilon": "1", "delta": "1e-5"}):
        answer = session.marginals([["sex"]], {"sex": ["F", "M"]}, **price)
        assert not answer.replayed
    assert session.remaining() != left
    assert session.audit() is not None


def test_what_does_not_fit_is_refused_and_charges_nothing(make: Make) -> None:
    """A price above the budget is a refusal; the account stands where it stood."""
    session = make(epsilon=None, delta=None, mu="1")
    before = session.remaining()
    with pytest.raises(QueryRefused):
        session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=50)
    assert session.remaining() == before


def test_where_and_weights(make: Make) -> None:
    """A condition narrows the rows; a weight buys a smaller error for what matters more."""
    session = make(epsilon=None, delta=None, mu="9")
    old = session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=3, where="age >= 50")
    assert abs(sum(old.table("sex").values()) - 450) < 8 * old.standard_deviation()
    plain = session.marginals([["sex"], ["age"]], KEYS, mu=1)
    heavy = session.marginals([["sex"], ["age"]], KEYS, mu=1, weights=[100, 1])
    assert heavy.standard_deviation("sex") < plain.standard_deviation("sex")
    assert heavy.standard_deviation("age") > plain.standard_deviation("age")
    assert Decimal(plain.to_json()["marginals"][0]["standard_deviation"]) > 0


@pytest.mark.parametrize(
    ("marginals", "keys", "options"),
    [
        ([["sex"]], {"sex": ["F", "M"]}, {}),
        ([["sex"]], {"sex": ["F", "M"]}, {"epsilon": "1"}),
        ([["sex"]], {"sex": ["F", "M"]}, {"mu": -1}),
        ([["sex"]], {"sex": ["F", "M"]}, {"mu": 1, "rho": 1}),
        ([["sex"]], {"sex": ["F"]}, {"mu": 1}),
        ([["sex"]], {"sex": ["F", "F"]}, {"mu": 1}),
        ([["sex"]], {"six": ["F", "M"]}, {"mu": 1}),
        ([["age"]], {"sex": ["F", "M"]}, {"mu": 1}),
        ([["nobody"]], {"nobody": ["F", "M"]}, {"mu": 1}),
        ([], {"sex": ["F", "M"]}, {"mu": 1}),
        ([["sex"]], {}, {"mu": 1}),
        ([["sex"]], "sex", {"mu": 1}),
        ([["sex"]], {"sex": ["F", "M"]}, {"mu": 1, "where": "1 / age > 2"}),
    ],
)
def test_bad_questions_charge_nothing(make: Make, marginals: object, keys: object, options: dict[str, object]) -> None:
    """Prices that are none, keys that do not fit, columns that do not exist: an error by name, and nothing is paid."""
    session = make(epsilon=None, delta=None, mu="9")
    before = session.remaining()
    with pytest.raises(InputError):
        session.marginals(marginals, keys, **options)  # type: ignore[arg-type]
    assert session.remaining() == before


def test_a_name_used_for_another_question_is_refused(make: Make) -> None:
    """A request name belongs to one question."""
    session = make(epsilon=None, delta=None, mu="9")
    session.marginals([["sex"]], {"sex": ["F", "M"]}, mu=1, request="mine")
    with pytest.raises(RequestConflict):
        session.marginals([["age"]], KEYS, mu=1, request="mine")


def test_rows_outside_the_keys_are_in_no_cell(make: Make) -> None:
    """Declared ages leave two thirds of the rows out: total and cells speak of the rows inside."""
    session = make(epsilon=None, delta=None, mu="900")
    ages = list(range(20, 40))
    answer = session.marginals([["sex"], ["age"], ["sex", "age"]], {"sex": ["F", "M"], "age": ages}, mu=200)
    inside = _people()[:, :20]
    assert answer.table()[()] == pytest.approx(inside.sum(), abs=1)
    assert list(answer.table("sex").values()) == pytest.approx(inside.sum(axis=1), abs=1)
    assert list(answer.table("sex", "age").values()) == pytest.approx(inside.ravel(), abs=1)
    assert abs(answer.table()[()] - 900) > 500  # control: the total of all rows, shared out among the cells


@pytest.mark.parametrize("keys", [["F", None], ["F", "it's"], ["F", 'q"']])
def test_every_kind_of_key_can_be_declared(make: Make, keys: list[str | None]) -> None:
    """Missing values and keys with quotes are keys like others."""
    session = make(epsilon=None, delta=None, mu="900")
    answer = session.marginals([["sex"]], {"sex": keys}, mu=200)
    assert list(answer.table("sex").values()) == pytest.approx([450, 0], abs=1)


def test_known_is_of_the_same_rows(make: Make) -> None:
    """Pieces of other rows are refused, by their condition's normal form; nothing is charged."""
    session = make(epsilon=None, delta=None, mu="9")
    first = session.marginals([["sex"]], KEYS, mu=1, where="age>=50")
    before = session.remaining()
    for where in (None, "age >= 30"):
        with pytest.raises(QueryError, match="other rows"):
            session.marginals([["age"]], KEYS, mu=1, where=where, known=first)
    assert session.remaining() == before
    assert session.marginals([["age"]], KEYS, mu=1, where="age >= 50", known=first).table("sex") == first.table("sex")


@pytest.mark.parametrize(
    "bad",
    [
        {"marginals": None},
        {"marginals": "sex"},
        {"marginals": [5]},
        {"marginals": ["sex"]},
        {"marginals": [[["sex"]]]},
        {"keys": None},
        {"keys": {"sex": 5}},
        {"keys": {5: ["a", "b"]}},
        {"keys": {"sex": "FM"}},
        {"keys": {"sex": [f"{i:05d}" for i in range(9_000)]}},
        {"known": 5},
        {"where": 5},
        {"request": 5},
        {"weights": 3},
        {"objective": []},
        {"mu": "1e-100"},
    ],
)
def test_objects_of_other_kinds_are_refused(make: Make, bad: dict[str, object]) -> None:
    """Whatever is passed where a list, a mapping or an answer belongs: one clear error, and nothing is charged."""
    session = make(epsilon=None, delta=None, mu="9")
    before = session.remaining()
    asked: dict[str, object] = {"marginals": [["sex"]], "keys": {"sex": ["F", "M"]}, "mu": 1, **bad}
    with pytest.raises(InputError):
        session.marginals(**asked)  # type: ignore[arg-type]
    assert session.remaining() == before
