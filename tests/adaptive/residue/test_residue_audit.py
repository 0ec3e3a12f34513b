"""The audit proves stored charges by certificate: on a machine that would charge otherwise it still agrees."""

from typing import Any

import pytest
from tests.ledger.ledger_world import RELATION, open_account

from dosimeter.accounting import loss_for
from dosimeter.adaptive.filters import PlanResidueFilter, ResidueFilter
from dosimeter.adaptive.residue import general, plan_price, plan_prices, prices
from dosimeter.events import Gaussian, PoissonSampled, RandomizedResponse
from dosimeter.ledger import Ledger, Request, Reserved
from dosimeter.ledger.pricing import _charge
from dosimeter.stores import MemoryStore

STEP = PoissonSampled("0.05", Gaussian(2))
STRANGE = PoissonSampled("0.03", Gaussian("1.5"))
RULES: list[Any] = [
    ResidueFilter("4", "1e-5", "1e-6", 20),
    PlanResidueFilter(((STEP, 300),), "2.5", "1e-5", "1e-6", 20, reserve="0.001"),
]


def forget() -> None:
    """As if another process asked."""
    for cached in (prices.gaussian_price, plan_price.unplanned_price, plan_prices.plan_rows, _charge):
        cached.cache_clear()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_an_audit_elsewhere_agrees(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges made here are dearer there, beyond the last digit; the stored ones are proven all the same."""
    book = Ledger(MemoryStore())
    account = open_account(book, filter=rule)
    for number, event in enumerate((STRANGE, STEP, RandomizedResponse("0.05"), STRANGE)):
        assert isinstance(book.reserve(account, Request(f"q{number}", event, RELATION, "ab", "a question")), Reserved)
    here = loss_for(STRANGE, rule, relation=RELATION)
    forget()
    for module in (general, plan_prices):
        monkeypatch.setattr(module, "MARGIN", 0.9)
    monkeypatch.setattr(general.Proof.tightest, "__defaults__", (0.9,))
    there = loss_for(STRANGE, rule, relation=RELATION)
    assert there != here
    assert not here.covers(there)  # type: ignore[union-attr]
    report = book.audit(account)
    forget()
    assert report.ok, report.message()
