"""The figures behind the claims come out with their numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from decimal import Decimal
from pathlib import Path

import pytest

from dosimeter.errors import InputError
from dosimeter.report.reproduce import crossing, save
from dosimeter.report.reproduce import filters as figures
from dosimeter.report.reproduce.filters import (
    concentrated_epsilon,
    optimum,
    published_epsilon,
    residue_epsilon,
)
from dosimeter.report.reproduce.odometers import against_time, computed_against_closed_forms, naive_crossing

D = Decimal


def test_odometers_change_places_where_they_should(tmp_path: Path) -> None:
    """The crossings of filter, mixture and stitched odometers; the files hold the same curves."""
    figure = against_time(lambda _: None)
    numbers = {name: D(value) for name, value in figure.numbers.items()}
    for name, truth in (
        ("filter below mixture from V", "0.0095341"),
        ("filter below mixture to V", "0.0384871"),
        ("filter and stitched cross at V", "0.0527531"),
        ("stitched below mixture from V", "421.43"),
    ):
        assert abs(numbers[name] / D(truth) - 1) < D("1e-5"), name
    svg, table, png = save(figure, tmp_path / "new")
    assert "mixture" in " ".join(ET.fromstring(svg.read_text()).itertext())
    assert len(table.read_text().splitlines()) == 82
    assert png.read_bytes().startswith(b"\x89PNG")


def test_computed_boundaries_are_lower_than_closed_forms(tmp_path: Path) -> None:
    """For Gaussian rounds 5.4355 standard deviations, the mixture lowered to 0.976, for pure ones to 0.904."""
    figure = computed_against_closed_forms(lambda _: None)
    found = {name: D(value) for name, value in figure.numbers.items()}
    for name, truth in (
        ("square root: standard deviations at every V from 0.1 to 1", "5.4355"),
        ("Gaussian rounds: mixture lowered to", "0.97625"),
        ("GDP accounts, stopped runs: mixture lowered to", "0.86580"),
        ("pure rounds of 0.1: mixture lowered to", "0.9045"),
        ("closed mixture at V = 1", "6.05482"),
    ):
        assert abs(found[name] / D(truth) - 1) < D("3e-4"), name
    assert found["pure rounds at V = 1"] < found["Gaussian rounds at V = 1"] < found["closed mixture at V = 1"]
    _, table, png = save(figure, tmp_path)
    assert len(table.read_text().splitlines()) == 100
    assert png.read_bytes().startswith(b"\x89PNG")


def test_advanced_composition_is_no_odometer() -> None:
    """Read after each of 2000 responses of 0.1 it is crossed with probability 0.113 where 0.05 is stated."""
    assert abs(naive_crossing() - 0.113088690328996) < 1e-9


def test_the_epsilons_of_a_hundred_responses() -> None:
    """At delta 1e-5: the published filter 5.2985, the recommended sum 4.7261, the residue filter 4.4138."""
    assert abs(published_epsilon("1e-5") - D("5.2985")) < D("1e-4")
    assert abs(concentrated_epsilon("1e-5") - D("4.7261")) < D("1e-4")
    assert D("4.3068") < residue_epsilon("1e-5") < D("4.42")


@pytest.mark.parametrize(("epsilon", "delta", "size", "most"), [("1", "1e-6", "0.01", 562), ("2", "1e-5", "0.02", 632)])
def test_the_optimum_without_choice(epsilon: str, delta: str, size: str, most: int) -> None:
    """The largest number of equal queries that may be fixed in advance."""
    assert optimum(epsilon, delta, size) == most


def test_every_filter_of_the_figure_admits_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under (1, 1e-6) and 0.01 as in the published tables; a menu of one query is the optimum, a plan nearly."""
    monkeypatch.setattr(figures, "SIZES", ("0.01", "0.2"))
    made = figures.queries_admitted(lambda _: None)
    known = {"published": 349, "recommended sum": 487, "residue": 557, "plan": 562, "menu": 562}
    for name, admitted in known.items():
        assert made.numbers[f"(1, 1e-6), queries of 0.01: {name}"] == str(admitted)
    second = {n.removeprefix("(2, 1e-5), queries of 0.02: "): int(v) for n, v in made.numbers.items() if "(2," in n}
    assert second["published"] < second["recommended sum"] < second["residue"] < second["plan"] <= second["menu"] == 632
    assert second["menu"] == second["fixed in advance: the optimum"]
    few = dict(zip(made.columns, made.rows[1], strict=True))
    assert few["pure"] == few["menu"] == few["fixed in advance: the optimum"] == "5" > few["residue"]


def test_shares_of_the_claim_that_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best analyst nearly reaches what a menu claims, and most of what the residue filter does; never more."""
    monkeypatch.setattr(figures, "PLAYED", ("menu", "residue", "residue_plan", "approx"))
    made = figures.shares_reached(lambda _: None)
    share = {name.partition(":")[0]: float(value) for name, value in made.numbers.items()}
    assert share["menu"] == pytest.approx(0.9454, abs=1e-4)
    assert share["residue"] == pytest.approx(0.813, abs=1e-3)
    assert share["residue_plan"] == pytest.approx(0.359, abs=1e-3)
    assert share["approx"] == pytest.approx(0.3386, abs=1e-4)
    assert all(D(row[2]) <= D("0.01") for row in made.rows)


def test_curves_that_do_not_cross_are_said_so() -> None:
    """No bracket, no crossing."""
    with pytest.raises(InputError, match="do not cross"):
        crossing(lambda v: v, lambda v: v + 1, D(1), D(2))
