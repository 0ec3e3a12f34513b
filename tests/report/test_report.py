"""The figure and the statement show what the ledger holds, escape what people wrote, and need nothing else."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from decimal import Decimal
from typing import Any

import pytest

from dosimeter.adaptive.filters import ApproxFilter, GDPFilter, PureFilter, RDPFilter, ZCDPFilter
from dosimeter.adaptive.odometers import FilterOdometer, MixtureOdometer
from dosimeter.events import Declared, DiscreteGaussian, DiscreteLaplace, Gaussian
from dosimeter.ledger import Account, DatasetIdentity, Ledger, Request
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.notions import GDP, ZCDP, PureDP
from dosimeter.notions.convert import gdp_to_approx, zcdp_to_approx
from dosimeter.report import html, odometer_figure, svg
from dosimeter.report.figure import Curve, OdometerFigure, Query
from dosimeter.stores.memory import MemoryStore

ADD_REMOVE = NeighbouringRelation.ADD_REMOVE
MIXTURE = MixtureOdometer.tuned(delta="1e-6", intrinsic_time="0.05")


def opened(rule: Any, odometers: tuple[Any, ...] = (MIXTURE,)) -> tuple[Ledger, Account]:
    """An account under `rule` in a ledger in memory."""
    ledger = Ledger(MemoryStore())
    account = ledger.open(
        DatasetIdentity("peo<ple>", "d1"),
        unit=PrivacyUnit("person", 3),
        relation=ADD_REMOVE,
        filter=rule,
        odometers=odometers,
        opened_by="Ada & Bob",
    )
    return ledger, account


def charge(ledger: Ledger, account: Account, number: int, event: Any) -> Any:
    """Reserve one event."""
    return ledger.reserve(account, Request(f"r{number}", event, ADD_REMOVE, "ab", f"question <{number}>"))


def test_each_charged_query_is_a_point_on_the_odometer() -> None:
    """Points lie at the intrinsic time after each charge, at the lowest reading; refusals and voids are no points."""
    ledger, account = opened(ApproxFilter("1", "1e-6"), (MIXTURE, FilterOdometer.tuned(delta="1e-6", epsilon="1")))
    charge(ledger, account, 1, DiscreteLaplace("10"))
    charge(ledger, account, 2, DiscreteGaussian("1"))  # refused
    voided = charge(ledger, account, 3, DiscreteGaussian("20"))
    ledger.void(voided, reason="never mind", by="Ada")
    charge(ledger, account, 4, DiscreteGaussian("10"))
    figure = odometer_figure(ledger.statement(account))
    assert [query.label.split(":")[0] for query in figure.queries] == ["question <1>", "question <4>"]
    times = [query.intrinsic_time for query in figure.queries]
    assert times[1] == pytest.approx(times[0] + 0.01)
    assert figure.budget == 1.0
    assert len(figure.curves) == 2
    now = ledger.balance(account)
    assert figure.queries[-1].bound == float(min(r.bound for r in now.readings if r.bound is not None))


def test_a_reset_starts_a_new_figure() -> None:
    """The figure is that of the current epoch."""
    ledger, account = opened(ZCDPFilter("0.05"))
    charge(ledger, account, 1, Gaussian("10"))
    renewed = ledger.reset(account, reason="second study", authorised_by="Ada")
    assert odometer_figure(ledger.statement(renewed)).queries == []
    charge(ledger, renewed, 2, Gaussian("10"))
    assert len(odometer_figure(ledger.statement(renewed)).queries) == 1


@pytest.mark.parametrize(
    ("rule", "budget"),
    [
        (PureFilter("1"), 1.0),
        (ZCDPFilter("0.1"), float(zcdp_to_approx(ZCDP("0.1"), target_delta="1e-6").epsilon)),
        (GDPFilter("1"), float(gdp_to_approx(GDP("1"), target_delta="1e-6").epsilon)),
        (RDPFilter("8", "1"), None),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_the_budget_line_speaks_epsilon(rule: Any, budget: float | None) -> None:
    """A zCDP or Gaussian budget is drawn as the epsilon it means at the odometer's delta; a Renyi one is not drawn."""
    odometers = () if rule.notion == "rdp" else (MIXTURE,)
    ledger, account = opened(rule, odometers)
    line = odometer_figure(ledger.statement(account)).budget
    assert line is None if budget is None else line == pytest.approx(budget)


def test_the_drawing_is_well_formed_and_inside_its_frame() -> None:
    """Valid XML; every point lies inside the view; titles are escaped."""
    figure = OdometerFigure(
        [Curve("a <b> & c", [(0.0, 0.1), (1.0, 2.0)]), Curve("other", [(0.0, 1.0), (1.0, 1.5)])],
        [Query(0.5, 1.2, "x < y & 'z'"), Query(1.0, 2.0, "last")],
        1.5,
    )
    root = ET.fromstring(svg(figure))
    places = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert len(places) == 2
    assert all(64 <= x <= 760 and 0 <= y <= 344 for x, y in places)
    assert places[1][0] > places[0][0]
    assert places[1][1] < places[0][1]
    assert "<style>" in svg(figure)
    assert "<style>" not in svg(figure, standalone=False)


@pytest.mark.parametrize(
    "figure", [OdometerFigure([], []), OdometerFigure([], [], 1.0), OdometerFigure([], [Query(0.0, 0.0, "")])]
)
def test_an_empty_account_still_has_a_figure(figure: OdometerFigure) -> None:
    """Nothing asked yet, no odometer, no budget line: still a valid drawing."""
    ET.fromstring(svg(figure))


def test_the_page_shows_everything_and_obeys_nothing() -> None:
    """Names, questions and reasons appear escaped, declared charges with their reason; no answer or script does."""
    ledger, account = opened(ApproxFilter("1", "1e-6"))
    reserved = charge(ledger, account, 1, DiscreteLaplace("10"))
    ledger.settle(reserved, {"value": 123456789})
    charge(ledger, account, 2, Declared(PureDP(Decimal("0.1")), "the vendor <says> so"))
    renewed = ledger.reset(account, reason="second <study>", authorised_by="Ada")
    page = html(ledger.statement(renewed))
    for shown in (
        "peo&lt;ple&gt;",
        "Ada &amp; Bob",
        "question &lt;1&gt;",
        "the vendor &lt;says&gt; so",
        "second &lt;study&gt;",
        "all 2 epochs",
        "epsilon 2",
        ledger.statement(renewed).head,
    ):
        assert shown in page, shown
    for hidden in ("<ple>", "<study>", "123456789", "<script", "http://", "https://"):
        assert hidden not in page.replace("http://www.w3.org/2000/svg", ""), hidden
    assert "$" not in page
