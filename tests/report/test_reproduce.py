"""The figures behind the claims come out with their numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from decimal import Decimal
from pathlib import Path

import pytest

from dosimeter.errors import InputError
from dosimeter.report.reproduce import crossing, save
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


def test_curves_that_do_not_cross_are_said_so() -> None:
    """No bracket, no crossing."""
    with pytest.raises(InputError, match="do not cross"):
        crossing(lambda v: v, lambda v: v + 1, D(1), D(2))
