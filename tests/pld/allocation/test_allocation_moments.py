"""The pieces under the moments of an allocated record, each against other arithmetic: gamma, transforms, lines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.enclosure import precision
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.allocation.gamma import log_bound, log_gamma
from dosimeter.pld.allocation.mellin import LARGEST_ORDER, LEAST_ORDER, Mean, vertical, whole_moments
from dosimeter.pld.allocation.rays import Ray, ray, transform


def gamma_in_balls(real: float, height: float) -> complex:
    import flint

    with precision(120):
        return complex(flint.acb(real, height).lgamma())


def apart(a: complex, b: complex) -> float:
    """How far two logarithms are apart, up to multiples of 2 pi i."""
    turn = (a.imag - b.imag) / (2 * math.pi)
    return abs(complex(a.real - b.real, 2 * math.pi * (turn - round(turn))))


@given(st.floats(0.01, 80), st.floats(0.01, 40), st.integers(1, 200))
@settings(max_examples=25, deadline=None)
def test_log_gamma_is_within_its_error(real: float, step: float, count: int) -> None:
    """On lines near and far from the axis, up to heights of thousands; the error is small, and not zero for nothing."""
    heights = step * np.arange(count, dtype=float)
    found, error = log_gamma(real, heights)
    for index in {0, count // 3, count // 2, count - 1, min(64, count - 1), min(63, count - 1)}:
        exact = gamma_in_balls(real, float(heights[index]))
        assert apart(complex(found[index]), exact) <= error[index] + 1e-18
        assert error[index] <= 1e-13 * (1 + abs(exact)) + 1e-11
        assert exact.real <= log_bound(real, heights[index : index + 1])[0]


def test_one_term_of_stirling_less_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with half of the series the value leaves its error."""
    from dosimeter.pld.allocation import gamma as module

    monkeypatch.setattr(module, "_BERNOULLI", module._BERNOULLI[:4])
    heights = np.linspace(0, 20, 201)
    found, error = log_gamma(0.5, heights)
    missed = [apart(complex(found[i]), gamma_in_balls(0.5, float(heights[i]))) > error[i] for i in range(64, 120)]
    assert any(missed)


def summed(at: Ray, index: int, order: int) -> tuple[complex, list[complex]]:
    """a_0 - 1 and t^j a_j at one point, by the trapezoid rule on the real axis in balls, where nothing is turned."""
    import flint

    with precision(160):
        r, x = flint.arb(at.root), (flint.acb(at.step) * (at.first + index) + flint.acb(0, at.angle)).exp() / at.steps
        h = flint.arb(1) / 32
        change, values = flint.acb(0), [flint.acb(0)] * (order + 1)
        for k in range(-32 * 13, int(32 * (13 + order * at.root)) + 1):
            u = h * k
            weight = (-u * u / 2).exp() * h / (2 * flint.arb.pi()).sqrt()
            y = (r * u - r * r / 2).exp()
            decay = (-x * y).exp()
            change += weight * (decay - 1)
            values = [value + weight * decay * y**j for j, value in enumerate(values)]
        return complex(change), [complex(value / flint.arb(j + 1).gamma()) for j, value in enumerate(values)]


@pytest.mark.parametrize(
    ("root", "steps", "angle"),
    [(1.0, 100, 0.0), (1.0, 100, 0.9), (0.25, 1000, 1.3), (2.0, 10, 0.6), (0.02, 50, 0.4)],
)
def test_transforms_on_a_ray_are_within_their_errors(root: float, steps: int, angle: float) -> None:
    """The transform and three derivatives at points from tiny to large X, against balls on another contour."""
    order = 3
    at = ray(root, steps, order, angle, (-6.0, 4.0), 0.5, 44.0)
    found = transform(at)
    assert at.logs()[0] <= -6.0
    assert at.logs()[-1] >= 4.0
    assert found.scaled.shape == (order + 1, at.count)
    for index in (0, at.count // 4, at.count // 2, 3 * at.count // 4, at.count - 1):
        change, values = summed(at, index, order)
        assert abs(found.change[index] - change) <= found.change_error[index] + 1e-17
        assert found.change_error[index] <= 1e-10 * abs(change) + 1e-16
        for j, value in enumerate(values):
            assert abs(found.scaled[j][index] - value) <= found.scaled_error[j][index] + 1e-17
            assert found.scaled_error[j][index] <= 1e-10 * (1 + abs(value)) * math.exp(root * root * j * j / 2)


def test_a_ray_of_another_number_of_steps_is_caught() -> None:
    """The control: the transform for 101 steps lies outside the error of that for 100."""
    at, other = (ray(1.0, steps, 1, 0.5, (-6.0, 4.0), 0.5, 44.0) for steps in (100, 101))
    one, two = transform(at), transform(other)
    assert (np.abs(one.change - two.change) > 10 * (one.change_error + two.change_error)).all()


def log_normal(square: float, z: complex) -> complex:
    """log E Y^z of one log-normal of mean one."""
    return square * z * (z - 1) / 2


@pytest.mark.parametrize(
    ("exponent", "root"),
    [(a, 0.1) for a in (-100.0, -20.5, -0.25, 1.5, 12.25, 38.0)] + [(a, 1.0) for a in (-3.0, -0.25, 1.5, 4.0, 12.25)],
)
def test_one_step_has_a_closed_form(exponent: float, root: float) -> None:
    """Moments of complex order of one log-normal, on the whole line."""
    step, count = 0.5, 40
    found = vertical(Mean(root, 1), exponent, step, count)
    first = log_normal(root * root, exponent).real
    assert abs(found.log_moment - first) <= found.log_error
    assert found.log_error <= 1e-9
    for index in range(count):
        exact = np.exp(log_normal(root * root, exponent - 1j * step * index) - first)
        assert abs(found.ratio[index] - exact) <= found.error[index]
        assert found.error[index] <= 1e-8


def double_sum(root: float, z: complex) -> Any:
    """E ((Y_1 + Y_2) / 2)^z by the trapezoid rule in both."""
    u = np.linspace(-13 - 12 * root, 13 + 12 * root, 1001)
    y = np.exp(root * u - root * root / 2)
    phi = np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    return phi @ np.exp(z * np.log(np.add.outer(y, y) / 2)) @ phi


@pytest.mark.parametrize("exponent", [-8.0, -0.5, 1.25, 3.0, 7.5])
@pytest.mark.parametrize("root", [0.5, 1.0])
def test_two_steps_equal_a_double_sum(exponent: float, root: float) -> None:
    """Moments of complex order of the mean of two."""
    step, count = 1.5, 12
    found = vertical(Mean(root, 2), exponent, step, count)
    first = math.log(double_sum(root, exponent).real)
    assert abs(found.log_moment - first) <= found.log_error + 1e-12
    for index in (1, 5, 11):
        exact = double_sum(root, exponent - 1j * step * index) / math.exp(first)
        assert abs(found.ratio[index] - exact) <= found.error[index] + 1e-11


def test_the_moments_of_more_steps_are_caught() -> None:
    """The control: 101 steps instead of 100 leave the error bounds."""
    for exponent in (-5.0, 3.5):
        one, two = (vertical(Mean(1.0, steps), exponent, 0.5, 8) for steps in (100, 101))
        assert abs(one.log_moment - two.log_moment) > 100 * (one.log_error + two.log_error)
        assert (np.abs(one.ratio - two.ratio)[1:] > (one.error + two.error)[1:]).all()


def test_lines_meet_whole_moments_and_end_where_they_end() -> None:
    """At whole orders the line equals the finite sum; orders zero and one give one; others are refused."""
    mean = Mean(1.0, 50)
    whole = whole_moments(mean)
    for order in (1, 2, 3, 7):
        found = vertical(mean, float(order), 1.0, 1)
        assert abs(found.log_moment - whole[order]) <= found.log_error + 1e-9
        assert mean.log_moment_below(order) <= found.log_moment + found.log_error
        assert found.log_moment - found.log_error <= mean.log_moment_above(order)
    assert abs(vertical(mean, 0.0, 1.0, 1).log_moment) <= 1e-9
    for wrong in (0.5, LARGEST_ORDER + 1, LEAST_ORDER - 1):
        with pytest.raises(NoGuaranteeError, match="out of reach"):
            vertical(mean, wrong, 1.0, 1)
    assert (mean.fall(np.array([0.0, 10.0])) <= 0).all()
