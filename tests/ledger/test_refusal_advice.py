"""A refusal says what would fit, the ledger then admits it, and nobody computes it who does not ask."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from tests.ledger.ledger_world import RELATION, open_account

from dosimeter.accounting import fitting
from dosimeter.adaptive.filters import (
    ApproxFilter,
    GDPFilter,
    PlanResidueFilter,
    PureFilter,
    RDPFilter,
    ResidueFilter,
    ZCDPFilter,
)
from dosimeter.errors import NoGuaranteeError, QueryRefused
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
)
from dosimeter.ledger import Ledger, RefusedRequest, Request, Reserved
from dosimeter.notions import PureDP
from dosimeter.stores import MemoryStore

PLAN = PlanResidueFilter([(Laplace(20), 65)], "3.3", "1e-6", "1e-7", 3)
WISHES: list[tuple[Any, Event]] = [
    (ResidueFilter("1", "1e-6"), Gaussian("0.8")),
    (ResidueFilter("1", "1e-6"), Laplace("0.3")),
    (ResidueFilter("1", "1e-6"), DiscreteGaussian("0.9")),
    (ResidueFilter("1", "1e-6"), RandomizedResponse(4)),
    (ResidueFilter("1", "1e-6"), PoissonSampled("0.1", Gaussian("0.4"))),
    (PLAN, Gaussian(3)),
    (PLAN, PoissonSampled("0.1", Gaussian("1.3"))),
    (ApproxFilter("1", "1e-6"), Laplace("0.3")),
    (PureFilter(1), RandomizedResponse(4)),
    (ZCDPFilter("0.1"), DiscreteGaussian("0.9")),
    (GDPFilter(1), Gaussian("0.8")),
    (RDPFilter(8, "0.3"), Composed((Laplace("0.5"), Gaussian(1)))),
]


def request(name: str, event: Event) -> Request:
    return Request(name, event, RELATION, "ab", "a question")


@pytest.mark.parametrize(("rule", "wish"), WISHES, ids=lambda part: part.kind)
def test_what_a_refusal_names_is_admitted_and_hardly_more_noise_than_needed(rule: Any, wish: Event) -> None:
    """The message ends with the factor and the noise; that event is reserved, and one with two per cent less is not."""
    book = Ledger(MemoryStore())
    account = open_account(book, filter=rule)
    if rule is PLAN:  # most of it is spent: at its start the wishes still fit
        assert isinstance(book.reserve(account, request("q0", Repeated(Laplace(20), 60))), Reserved)
    refused = book.reserve(account, request("q1", wish))
    assert isinstance(refused, RefusedRequest)
    fit = refused.would_fit()
    assert fit is not None
    assert fit.event == fitting.widened(wish, fit.factor)
    assert refused.message() == f"{refused.refusal.message()}; {fit.in_words()}"
    assert "times the noise would fit now" in refused.message()
    closer = fitting.widened(wish, fit.factor / fitting._STEP / fitting._STEP)
    with suppress(NoGuaranteeError):  # with less noise it may have no price at all
        assert isinstance(book.reserve(account, request("q2", closer)), RefusedRequest)
    assert isinstance(book.reserve(account, request("q3", fit.event)), Reserved)


def test_where_no_noise_helps_the_message_is_what_it_was() -> None:
    """A declared guarantee has no noise; a pure account holds no Gaussian, however wide."""
    book = Ledger(MemoryStore())
    account = open_account(book, filter=ZCDPFilter("0.001"))
    refused = book.reserve(account, request("q1", Declared(PureDP(5), "said so")))
    assert isinstance(refused, RefusedRequest)
    assert refused.would_fit() is None
    assert refused.message() == refused.refusal.message()


def test_a_search_asks_for_few_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most twenty, wherever the answer lies."""
    asked = []
    price = fitting.loss_for

    def counted(*given: Any, **named: Any) -> Any:
        asked.append(given)
        return price(*given, **named)

    monkeypatch.setattr(fitting, "loss_for", counted)
    for event in (Laplace("0.3"), Laplace("1e-6"), RandomizedResponse(40), Gaussian("0.0001"), Gaussian("0.9")):
        asked.clear()
        rule = ZCDPFilter("0.1")
        assert fitting.least_fit(event, rule, rule.start()) is not None
        assert len(asked) <= 20


def test_advice_is_found_when_the_message_is_read_and_once() -> None:
    """An error that nobody prints costs no prices."""
    calls = []

    def advice() -> str:
        calls.append(1)
        return "the same with 2 times the noise would fit now"

    error = QueryRefused("refused", None, advice)
    assert not calls
    for _ in range(2):
        assert str(error) == "refused; the same with 2 times the noise would fit now"
    assert calls == [1]
    assert str(QueryRefused("refused", None)) == "refused"


def test_a_residue_refusal_names_the_largest_queries_itself() -> None:
    """Without the event, the filter still says which Gaussian and which pure query its budget holds."""
    from dosimeter.accounting import loss_for

    rule = ResidueFilter("1", "1e-6")
    answer = rule.admit(rule.start(), loss_for(Gaussian("0.8"), rule))
    assert not hasattr(answer, "state")
    assert "Gaussian noise of mu 0.23" in answer.message()  # type: ignore[union-attr]
    assert "a pure query of epsilon" in answer.message()  # type: ignore[union-attr]
