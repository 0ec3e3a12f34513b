"""The transform's error bound holds, and it is worth having."""

import math

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.enclosure import precision
from dosimeter.pld.lattice.points import PointLaw
from dosimeter.pld.tilted.transform import Window, convolve, window


def point_law(weights: list[float], first: int) -> PointLaw:
    """A law with these weights, scaled to sum to one."""
    total = np.array(weights) / np.sum(weights)
    return PointLaw(1.0, 0.1, 0.0, 0.0, first, total, 0.0, -math.inf)


def exact(laws: list[tuple[PointLaw, int]], where: Window) -> np.ndarray:
    """The periodic convolution in 300-bit balls."""
    with precision(300):
        product = flint.arb_poly([1])
        for law, times in laws:
            product *= flint.arb_poly([flint.arb(float(w)) for w in law.weights]) ** times
        folded = [flint.arb(0)] * where.length
        first = sum(times * law.first for law, times in laws)
        for index, mass in enumerate(product.coeffs()):
            folded[(first + index - where.start) % where.length] += mass
        return np.array([float(mass.mid()) for mass in folded])


shapes = st.lists(st.floats(1e-6, 1), min_size=2, max_size=12)


@given(st.lists(st.tuples(shapes, st.integers(-5, 5), st.integers(1, 40)), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_every_weight_is_within_its_error(parts: list[tuple[list[float], int, int]]) -> None:
    """Against exact convolution, for powers and products: no weight is off by more than the bound."""
    laws = [(point_law(weights, first), times) for weights, first, times in parts]
    where = window(laws, -40.0, 1 << 16)
    assert where is not None
    result = convolve(laws, where)
    assert np.max(np.abs(result.weights - exact(laws, where))) <= result.error
    assert result.error < 1e-10


@pytest.mark.parametrize("times", [100, 10_000])
def test_the_bound_is_not_absurd(times: int) -> None:
    """The bound is at most ten thousand times the error made; a bound a million times smaller would be wrong."""
    laws = [(point_law([0.3, 0.5, 0.2], -1), times)]
    where = window(laws, -40.0, 1 << 16)
    assert where is not None
    result = convolve(laws, where)
    made = np.max(np.abs(result.weights - exact(laws, where)))
    assert 1e-6 * result.error < made <= result.error


@given(shapes, st.integers(1, 200), st.sampled_from([-10.0, -25.0, -40.0]))
@settings(max_examples=40, deadline=None)
def test_the_window_holds_all_but_the_tail(weights: list[float], times: int, log_tail: float) -> None:
    """Exact mass outside the window is at most what the window states."""
    laws = [(point_law(weights, 0), times)]
    where = window(laws, log_tail, 1 << 20)
    assert where is not None
    with precision(300):
        product = flint.arb_poly([flint.arb(float(w)) for w in laws[0][0].weights]) ** times
        masses = product.coeffs()
        outside = sum(
            (m for i, m in enumerate(masses) if not where.start <= i < where.start + where.length), flint.arb(0)
        )
    assert float(outside.mid()) <= where.tail


def test_a_window_that_would_be_too_long_is_refused() -> None:
    """None says: take a coarser lattice."""
    assert window([(point_law([1.0] * 200, 0), 10_000)], -40.0, 1 << 10) is None
