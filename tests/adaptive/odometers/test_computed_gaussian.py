"""Computed boundaries for Gaussian releases: never below the truth, close to it, and honest about what they are for."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.adversary import Menu, Offer, worst_crossing
from dosimeter.adaptive.filters import GDPFilter, ZCDPFilter
from dosimeter.adaptive.odometers import (
    GaussianOdometer,
    GaussianRecord,
    MixtureOdometer,
    StoppedRunOdometer,
    UnionOdometer,
    odometer_from_json,
)
from dosimeter.adaptive.odometers.passage import Block, _weights, crossing_probability
from dosimeter.adaptive.odometers.shapes import SHAPES, Shape
from dosimeter.enclosure import ball, precision
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import Composed, DiscreteGaussian, Gaussian, Laplace, PoissonSampled, Repeated

D = Decimal
SHARE = D("0.05")


@cache
def computed() -> GaussianOdometer:
    """The square root between a tenth of the horizon and the horizon, at 0.05."""
    return GaussianOdometer.computed(delta=SHARE, horizon="1")


def line_crossing(a: float, b: float, time: float) -> float:
    """P(a Brownian motion exceeds a + b t by `time`), to all digits of a float."""
    with precision(256):
        u, v, t = (ball(Fraction(x)) for x in (a, b, time))
        root = (2 * t).sqrt()
        value = ((u + v * t) / root).erfc() / 2 + (-2 * u * v).exp() * ((u - v * t) / root).erfc() / 2
        return float(value.mid())


# --- the crossing probability


@pytest.mark.parametrize(("a", "b", "time"), [(2, 1, 1), (1, 0.5, 4), (5, 0, 1), (4, 3, 1), (8, 1, 2), (0.5, 0.25, 9)])
def test_lines_against_their_closed_form(a: float, b: float, time: float) -> None:
    """In one step the recursion is the closed form; in many it is above it, by little, and by less on a finer one."""
    truth = line_crossing(a, b, time)
    one = crossing_probability([Block(time, [a, a + b * time])])
    assert truth <= one <= truth * (1 + 1e-5)
    many = [time * i / 16 for i in range(17)]
    blocks = [Block(time / 16, [a + b * t for t in many])]
    coarse, fine = (crossing_probability(blocks, cells=cells) for cells in (8, 24))
    assert truth < fine < coarse < truth * 1.1
    assert fine / truth - 1 < (coarse / truth - 1) / 4


@settings(max_examples=12, deadline=None)
@given(a=st.floats(0.3, 6), b=st.floats(0, 3), cut=st.integers(1, 15), cells=st.integers(6, 14))
def test_a_line_cut_anywhere_is_never_below_the_truth(a: float, b: float, cut: int, cells: int) -> None:
    """Blocks of different steps, joined at any place."""
    middle = cut / 16
    blocks = [Block(middle / 3, [a + b * middle * i / 3 for i in range(4)])]
    rest = (1 - middle) / 2
    blocks.append(Block(rest, [a + b * middle, a + b * (middle + rest), a + b]))
    truth = line_crossing(a, b, 1.0)
    assert truth * (1 - 1e-9) <= crossing_probability(blocks, cells=cells) <= max(truth * 1.3, 1e-12)


def test_weights_are_right_to_the_stated_error() -> None:
    """The two weights of a cell against ball arithmetic, in both tails and around zero."""
    for deviation in (4.0, 11.3, 32.0):
        places = np.array([-14.3, -5.01, -1.0, -0.1, 0.0, 0.07, 3.3, 13.9]) * deviation - 0.5
        near, far = _weights(places, deviation)
        with precision(512):
            s = ball(Fraction(deviation))
            for place, a, b in zip(places, near, far, strict=True):
                t = ball(Fraction(float(place)))
                whole = ((t / s / ball(2).sqrt()).erfc() - ((t + 1) / s / ball(2).sqrt()).erfc()) / 2
                bend = s * _density(t / s) - s * _density((t + 1) / s)
                second = bend - t * whole
                for found, truth in ((a, whole - second), (b, second)):
                    assert (
                        abs(float((ball(Fraction(float(found))) / truth - 1).mid())) < 1e-12
                    )  # a tenth of what is counted


def _density(x: Any) -> Any:
    import flint

    return (-x * x / 2).exp() / (2 * flint.arb.pi()).sqrt()


@pytest.mark.parametrize("name", SHAPES)
def test_finer_lattices_agree_from_above(name: str) -> None:
    """Twice as many steps and cells change the bound by a percent at most, and lower it."""
    shape, scale = Shape(name, D("0.1"), SHARE), D("2.6") if name in {"square_root", "line"} else D(1)
    coarse, fine = (GaussianOdometer(D("0.9"), name, D("0.1"), D(1), scale, k, 2 * k, trusted=True) for k in (8, 16))
    assert fine.crossing_upper() <= coarse.crossing_upper() <= 1.012 * fine.crossing_upper()
    assert shape.excess(D("0.3")) > 0


def simulated(scale: float, paths: int = 60_000, steps: int = 100, first: float = 0.1) -> tuple[float, float]:
    """How often a square-root boundary is crossed up to time 1, and the standard error; chords are crossed exactly."""
    rng = np.random.default_rng(5)
    times = np.concatenate([[0.0], first * (1 / first) ** (np.arange(steps + 1) / steps)])
    heights = scale * np.sqrt(np.maximum(times, first))
    at, alive = np.zeros(paths), np.ones(paths)
    for i in range(steps + 1):
        length = times[i + 1] - times[i]
        after = at + math.sqrt(length) * rng.standard_normal(paths)
        room, left = heights[i] - at, heights[i + 1] - after
        alive *= np.where((room > 0) & (left > 0), -np.expm1(-2 * room * left / length), 0.0)
        at = after
    return float(1 - alive.mean()), float(alive.std() / math.sqrt(paths))


def test_monte_carlo_agrees_and_a_lower_boundary_is_beaten() -> None:
    """Simulated crossings are within four standard errors of the bound; three percent lower they are above delta."""
    odometer = computed()
    mean, error = simulated(float(odometer.scale))
    assert abs(mean - odometer.crossing_upper()) < 4 * error
    mean, error = simulated(0.97 * float(odometer.scale))
    assert mean - 4 * error > float(SHARE)


# --- the boundary


def test_the_scale_is_the_smallest_that_is_certified() -> None:
    """Within a few hundredths of a percent of delta; a scale that is a thousandth smaller is refused."""
    odometer = computed()
    assert 0.999 * float(SHARE) < odometer.crossing_upper() <= float(SHARE)
    with pytest.raises(InputError, match="only certified for"):
        GaussianOdometer(SHARE, odometer.shape, odometer.parameter, odometer.horizon, odometer.scale * D("0.999"))


def test_an_adaptive_analyst_comes_near_delta_and_beats_a_smaller_scale() -> None:
    """Gaussian releases of two sizes, chosen optimally: below delta, and above it against 0.85 of the scale."""
    odometer = computed()
    units = 40
    small, large = (Gaussian(sigma=(D(units) / k).sqrt()) for k in (1, 4))
    menu = Menu((Offer(small, 1), Offer(large, 4)), Fraction(1, 400))

    def worst(factor: Decimal) -> Any:
        def reading(used: int) -> Decimal:
            time = D(used) / units
            return (odometer.reading(time) - time / 2) * factor + time / 2

        return worst_crossing(menu, units, reading)

    found = worst(D(1))
    assert D("0.55") * SHARE < found.lower <= SHARE
    assert worst(D("0.85")).lower > SHARE


def test_computed_is_below_the_closed_forms_where_it_is_meant_to_be() -> None:
    """At 1e-6 a computed mixture lies two to three percent below the closed one, everywhere up to the horizon."""
    gamma = D("0.0168532")
    closed = MixtureOdometer(D("1e-6"), gamma)
    found = GaussianOdometer(D("1e-6"), "mixture", gamma, D(1), D("0.97626"))
    for time in ("0.01", "0.1", "0.5", "1"):
        ratio = found.reading(time) / closed.bound(GaussianRecord(D(time)))
        assert D("0.975") < ratio < D("0.979")


def test_crossing_falls_with_the_scale_and_grows_with_the_horizon() -> None:
    """Both are what makes the search for a scale right."""

    def crossing(scale: str, horizon: str) -> float:
        return GaussianOdometer(
            SHARE, "square_root", D("0.1"), D(horizon), D(scale), 8, 8, trusted=True
        ).crossing_upper()

    assert crossing("2.4", "1") > crossing("2.6", "1") > crossing("2.8", "1")
    assert crossing("2.6", "0.3") < crossing("2.6", "1") < crossing("2.6", "4")


def test_readings_never_fall_and_stop_at_the_horizon() -> None:
    """A horizon is fixed beforehand; beyond it nothing is said."""
    odometer = computed()
    readings = [odometer.reading(D(i) / 50) for i in range(51)]
    assert readings == sorted(readings)
    with pytest.raises(NoGuaranteeError, match="beyond this odometer's horizon"):
        odometer.reading("1.0001")


# --- what it reads


def test_only_gaussian_releases_are_recorded() -> None:
    """Repetitions and joint releases of Gaussian noise add up; everything else is refused by name."""
    odometer = computed()
    record = odometer.record(odometer.start(), Composed((Gaussian(sigma="10"), Repeated(Gaussian(sigma="5"), 3))))
    assert record.intrinsic_time == D("0.13")
    assert odometer.read(record).crossing_probability == SHARE
    for event in (
        Laplace(scale="10"),
        DiscreteGaussian(sigma="10"),
        PoissonSampled(D("0.1"), Gaussian(sigma="1")),
        Composed((Gaussian(sigma="10"), Laplace(scale="10"))),
    ):
        with pytest.raises(NotionError, match="is not Gaussian"):
            odometer.record(record, event)


def test_filters_states_are_refused_for_the_loss() -> None:
    """A GDP account may hold anything dominated by Gaussian noise; the loss of that has no such bound."""
    for filter_ in (GDPFilter(mu="1"), ZCDPFilter(rho="1")):
        with pytest.raises(InputError, match="not a record of Gaussian releases"):
            computed().bound(filter_.start())
    with pytest.raises(InputError, match="not a record"):
        StoppedRunOdometer(computed()).bound(GDPFilter(mu="1").start())


def test_a_dominated_mechanism_crosses_more_often_than_its_gaussian() -> None:
    """Why: telling only whether a Gaussian answer is high makes a large loss of several. Its pair is dominated."""
    mu, level = 0.5, 0.6

    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    high_with, high_without = tail(level - mu), tail(level)
    loss = math.log(high_with / high_without)  # of every answer that is high
    gaussian = tail((loss * 0.999 - mu * mu / 2) / mu)  # P(the Gaussian loss is that large)
    assert high_with > 1.3 * gaussian


def test_several_odometers_of_one_record() -> None:
    """A mixture may read Gaussian releases too, so a union with shares of delta is as low as the lowest of both."""
    union = UnionOdometer((computed(), MixtureOdometer(D("0.01"), D("0.003"))))
    record = GaussianRecord(D("0.3"))
    assert union.bound(record) == min(part.bound(record) for part in union.parts)


def test_what_is_stored_reads_back_and_is_verified_again() -> None:
    """JSON is taken at its word; `verify` computes the certificate anew and finds a scale that was edited."""
    data = computed().to_json()
    assert odometer_from_json(data) == computed()
    odometer_from_json(data).verify()  # type: ignore[union-attr]
    data["scale"] = "2.5"
    with pytest.raises(InputError, match="only certified for"):
        odometer_from_json(data).verify()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": "circle"}, "is unknown"),
        ({"delta": "1e-40"}, "is below"),
        ({"parameter": "1e-200"}, "larger parameter"),
        ({"horizon": "0"}, "horizon"),
        ({"scale": "-1"}, "scale"),
        ({"cells": 1000}, "cells"),
    ],
)
def test_what_cannot_be_computed_is_refused(change: dict[str, Any], message: str) -> None:
    """Each field has a range."""
    fields: dict[str, Any] = {"delta": "0.05", "shape": "square_root", "parameter": "0.1", "horizon": "1", "scale": "3"}
    with pytest.raises(InputError, match=message):
        GaussianOdometer(**{**fields, **change}, trusted=True)
