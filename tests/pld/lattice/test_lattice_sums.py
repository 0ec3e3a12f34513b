"""Sums of alike variables as lists of points: both sides hold against other arithmetic, and flawed lists are seen."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.lattice import sums
from dosimeter.pld.lattice.sums import Points, averaged, grid, spread, sum_of
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction
from dosimeter.pld.laws.response import ResponseLaw


def rises(points: Points, strike: float, sign: int) -> float:
    """E(S - strike)+, moved by `away` upwards (1) or downwards (-1)."""
    return float((points.mass * np.maximum(points.at * (1 + sign * points.away) - strike, 0)).sum())


def falls(points: Points, strike: float, sign: int) -> float:
    """E(strike - S)+, likewise."""
    return float((points.mass * np.maximum(strike - points.at * (1 - sign * points.away), 0)).sum())


def exactly(law: ResponseLaw, terms: int, strike: float) -> tuple[float, float]:
    """The same for t copies of two values, by the binomial law."""
    e, t = math.exp(float(law.epsilon)), terms
    up = 1 / (1 + e)
    total = [(math.comb(t, k) * up**k * (1 - up) ** (t - k), k * e + (t - k) / e) for k in range(t + 1)]
    return sum(p * max(s - strike, 0) for p, s in total), sum(p * max(strike - s, 0) for p, s in total)


@pytest.mark.parametrize("terms", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_sums_of_two_values_hold_the_binomial_law(terms: int, epsilon: str) -> None:
    """Call and put prices of t randomized responses at strikes from far left to far right."""
    law = ResponseLaw(Fraction(epsilon))
    found = sum_of(law, terms, -40.0, 300)
    for share in (0.5, 0.9, 1.0, 1.1, 1.5, 3.0):
        strike = share * terms
        over, under = exactly(law, terms, strike)
        assert rises(found.below, strike, -1) <= over * (1 + 1e-9) + 1e-15
        assert rises(found.above, strike, 1) + terms * found.lost >= over * (1 - 1e-9)
        assert falls(found.below, strike, -1) <= under * (1 + 1e-9) + 1e-15
        assert falls(found.above, strike, 1) >= under * (1 - 1e-9)


def test_more_cells_are_closer() -> None:
    """Errors fall about with the square of the number of cells, on both sides."""
    law, terms, strike = GaussianLaw(Fraction(1)), 100, 150.0
    widths = []
    for cells in (200, 400, 800):
        found = sum_of(law, terms, -40.0, cells)
        low, high = rises(found.below, strike, -1), rises(found.above, strike, 1) + terms * found.lost
        assert low < high
        widths.append(high - low)
    assert all(a > 2.5 * b for a, b in itertools.pairwise(widths))


@given(
    st.lists(st.tuples(st.floats(0.01, 100), st.floats(1e-6, 1)), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(0.01, 100), st.floats(1e-6, 1)), min_size=1, max_size=12),
    st.floats(0.1, 250),
    st.integers(4, 40),
)
@settings(max_examples=60, deadline=None)
def test_both_rules_keep_mass_and_mean_and_their_side(
    left: list[tuple[float, float]], right: list[tuple[float, float]], strike: float, cells: int
) -> None:
    """Whatever is added on whatever cells: averages lie below the exact sum of two lists, spread ones above."""
    a, b = (Points(*(np.array(x) for x in zip(*sorted(one), strict=True)), 0.0) for one in (left, right))
    pairs = [(x + y, p * q) for x, p in zip(*(a.at, a.mass), strict=True) for y, q in zip(b.at, b.mass, strict=True)]
    edges = grid(min(s for s, _ in pairs), max(s for s, _ in pairs), (20.0, 5.0), cells)
    low, high = averaged(a, b, edges), spread(a, b, edges)
    mass, mean = sum(p for _, p in pairs), sum(s * p for s, p in pairs)
    for one in (low, high):
        assert math.isclose(one.mass.sum(), mass, rel_tol=1e-12)
        assert math.isclose((one.mass * one.at).sum(), mean, rel_tol=1e-12)
    over = sum(p * max(s - strike, 0) for s, p in pairs)
    under = sum(p * max(strike - s, 0) for s, p in pairs)
    assert rises(low, strike, -1) <= over * (1 + 1e-12)
    assert rises(high, strike, 1) >= over * (1 - 1e-12)
    assert falls(low, strike, -1) <= under * (1 + 1e-12)
    assert falls(high, strike, 1) >= under * (1 - 1e-12)
    assert low.mass.sum() <= mass * (1 + 1e-15)
    assert high.mass.sum() >= mass * (1 - 1e-15)


def test_moving_points_to_an_edge_is_no_side() -> None:
    """The control: lists that move every pair to the left edge, as if that were above, miss a price."""
    law = GaussianLaw(Fraction(1, 4))

    def to_the_left(a: Points, b: Points, edges: sums.Reals) -> Points:
        true = averaged(a, b, edges)
        return Points(edges[np.searchsorted(edges, true.at, side="right") - 1], true.mass, true.away)

    one = sum_of(law, 1, -40.0, 200).above
    honest = sums._power(one, 50, 200, spread)
    flawed = sums._power(one, 50, 200, to_the_left)
    least = rises(sum_of(law, 50, -40.0, 800).below, 60.0, -1)
    assert rises(honest, 60.0, 1) > least > rises(flawed, 60.0, 1)


def test_what_is_capped_is_counted() -> None:
    """Far out the variable is capped: without the P-mass lost there the price above would be too small."""
    law = GaussianLaw(Fraction(1))
    coarse, fine = sum_of(law, 2, -4.0, 800), sum_of(law, 2, -60.0, 800)
    strike = 60.0
    exact = rises(fine.below, strike, -1)
    assert rises(coarse.above, strike, 1) < exact
    assert rises(coarse.above, strike, 1) + 2 * coarse.lost > exact
    assert fine.lost < 1e-25


def test_edges_are_fine_where_the_mass_is() -> None:
    """Edges rise from zero, hold both ends, and are closer together near the centre than far away."""
    edges = grid(1e-3, 1e4, (100.0, 2.0), 400)
    assert edges[0] == 0
    assert edges[1] == 1e-3
    assert edges[-1] == 1e4
    assert (np.diff(edges) > 0).all()
    near = np.diff(edges)[np.searchsorted(edges, 100.0)]
    assert near < 0.5
    assert np.diff(edges)[np.searchsorted(edges, 1000.0)] > 20 * near


def test_infinite_and_enormous_losses_are_refused() -> None:
    """What floating point cannot hold is said."""
    with pytest.raises(NoGuaranteeError, match="infinite"):
        sum_of(ResponseLaw(Fraction(1), Fraction(1, 100)), 3, -40.0, 100)
    with pytest.raises(NoGuaranteeError, match="too large"):
        sum_of(GaussianLaw(Fraction(2000)), 3, -40.0, 100)
    assert sum_of(GaussianLaw(Fraction(100)), 3, -40.0, 100).above.at[-1] < 1e200
    assert GaussianLaw(Fraction(1)).infinite(Direction.ADD) == 0
