"""The floats behind charges: Mills' ratio, Gaussian profiles rounded outwards, the search for the smallest charge."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adaptive.residue import reference as ref

from dosimeter.adaptive.residue.dots import Dots
from dosimeter.adaptive.residue.mills import RATIO_ERROR, mills
from dosimeter.adaptive.residue.rule import excess, gaussian_above, gaussian_below
from dosimeter.adaptive.residue.search import least


def test_mills_ratio_is_within_its_error() -> None:
    """At 2,000 points up to 300, also where the table ends: at most six units of itself from a value of 40 digits."""
    points = np.concatenate([np.linspace(0, 12, 1201), np.linspace(12, 41, 500), np.geomspace(39.9, 300, 300)])
    with mp.workdps(40):
        for x, found in zip(points.tolist(), mills(points).tolist(), strict=True):
            z = mp.mpf(x)
            true = mp.sqrt(mp.pi / 2) * mp.exp(z * z / 2) * mp.erfc(z / mp.sqrt(2))
            assert abs(mp.mpf(found) / true - 1) <= RATIO_ERROR


@pytest.mark.parametrize("b", [1e-9, 1e-4, 0.05, 1.0, 4.0, 90.0, 1500.0])
def test_gaussian_profiles_are_rounded_outwards_and_closely(b: float) -> None:
    """Above and below the exact profile at both signs of s, and within 1e-11 of it."""
    width = 8 * math.sqrt(b) + b
    s = np.array([width * k * abs(k) / 400 for k in range(-20, 21)])
    with mp.workdps(50):
        exact = [ref.gaussian(mp.mpf(b), mp.mpf(x)) for x in s.tolist()]
        for true, high, low in zip(exact, gaussian_above(b, s).tolist(), gaussian_below(b, s).tolist(), strict=True):
            assert mp.mpf(low) <= true <= mp.mpf(high)
            assert high - low <= 1e-11


def test_both_ways_of_averaging_agree() -> None:
    """A slack so small that the transform is not trusted gives the same excess, term by term, within its errors."""
    index = tuple(range(-40, 41))
    masses = tuple(math.exp(-(((i - 2) / 12) ** 2) / 2) for i in index)
    points = Dots(0.01, index, tuple(m / sum(masses) for m in masses), 0.0, 0.0, 0.12)
    for charge in (0.014, 0.05, 0.3):
        fast, slow = excess(points, 0.5, charge, 1e-9), excess(points, 0.5, charge, 1e-18)
        assert abs((fast + 1e-9) - (slow + 1e-18)) < 1e-12


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-50, 5000), st.integers(0, 6000), st.integers(1, 300), st.integers(1, 9), st.sampled_from([0.01, 1, 40])
)
def test_the_search_finds_the_smallest(root: int, guess: int, hop: int, close: int, slope: float) -> None:
    """Wherever the sign changes, straight or curved, the number found holds and is less than `close` above it."""
    asked: dict[int, float] = {}

    def function(at: int) -> float:
        asked[at] = math.expm1(min((root - at) * slope / 100, 50)) if slope < 40 else (-1.0 if at >= root else math.inf)
        return asked[at]

    found = least(function, -1, 4000, guess, hop, close)
    if root > 4000:
        assert found is None
        return
    assert found is not None
    smallest = max(root, 0)
    assert smallest <= found < smallest + close
    assert asked[found] <= 0
    assert len(asked) < 60
