"""Repeated participation in exact arithmetic: ties, columns that nearly cancel, long streams, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from dosimeter.errors import InputError
from dosimeter.exact import fraction_up
from dosimeter.mechanisms.matrix import (
    ColumnCharges,
    OneStepStream,
    Stream,
    StreamStrategy,
    sensitivity_squared,
    square_root_strategy,
    stream_mu,
    toeplitz_sensitivity_squared,
    toeplitz_strategy,
)


def _exact(matrix: Any, members: tuple[int, ...]) -> Fraction:
    columns = {s: [Fraction(float(v)) for v in matrix[:, s]] for s in members}
    dot = {(s, t): sum(map(lambda a, b: a * b, columns[s], columns[t])) for s in members for t in members}
    return sum((abs(Fraction(v)) for v in dot.values()), Fraction(0))


def _worst(matrix: Any, gap: int, k: int) -> Fraction:
    n = len(matrix)
    sets = [s for r in range(1, k + 1) for s in combinations(range(n), r)]
    return max(_exact(matrix, s) for s in sets if all(b - a >= gap for a, b in pairwise(s)))


@pytest.mark.parametrize("seed", range(12))
def test_the_worst_set_is_the_worst_in_rationals(seed: int) -> None:
    """Ties that floats cannot tell apart, and columns whose product all but vanishes, are decided exactly."""
    rng = np.random.default_rng(seed)
    n, gap, k = 6, 1 + seed % 3, 2 + seed % 2
    matrix = np.tril(rng.choice([-1.0, 1.0, 1e-8, 0.0, -0.0], size=(n, n)))
    np.fill_diagonal(matrix, rng.choice([1.0, 1 + 2.0**-52, 1 + 2.0**-51], size=n))
    bound = sensitivity_squared(StreamStrategy(matrix), min_separation=gap, max_participations=k)
    assert bound == fraction_up(_worst(matrix, gap, k))


def test_floats_would_take_another_set_for_the_worst() -> None:
    """Control: two sets that differ in the last digit, where the float sums say the opposite of the truth."""
    matrix = np.diag([1.0, 1.0, 1 + 2.0**-52, 1.0])
    gram = np.abs(matrix.T @ matrix)
    found = sensitivity_squared(StreamStrategy(matrix), min_separation=2, max_participations=2)
    assert found == fraction_up(1 + Fraction(1 + 2.0**-52) ** 2)
    assert Fraction(float(gram[0, 0] + gram[2, 2])) < 1 + Fraction(1 + 2.0**-52) ** 2  # what a float sum would give


def test_long_streams_with_signs_are_bounded_from_above() -> None:
    """Beyond the exact search the bound stands above every set in rationals, also where products of columns cancel."""
    rng = np.random.default_rng(8)
    n = 80
    matrix = np.tril(rng.normal(size=(n, n))) + 3 * np.eye(n)
    matrix[:, 40:] *= 1e-3
    for gap, k in ((1, 80), (1, 7), (5, 4), (16, 5)):
        bound = Fraction(sensitivity_squared(StreamStrategy(matrix), min_separation=gap, max_participations=k))
        chosen = tuple(range(0, n, gap))[:k]
        assert _exact(matrix, chosen) <= bound


def test_toeplitz_closed_form_is_that_of_the_floats_that_are_used() -> None:
    """0.1 in a strategy is the float above a tenth: the closed form prices that, and equals the search."""
    for coefficients in ([1.0, 0.1], [1.0, 0.7, 0.7, 0.3], [0.1, 0.1, 0.1]):
        for gap, k in ((1, 6), (2, 2), (3, 2), (1, 1)):
            closed = toeplitz_sensitivity_squared(coefficients, 6, min_separation=gap, max_participations=k)
            found = sensitivity_squared(toeplitz_strategy(coefficients, 6), min_separation=gap, max_participations=k)
            assert closed == found
    tenth = toeplitz_sensitivity_squared([1, "0.1"], 2, min_separation=1, max_participations=2)
    assert tenth < toeplitz_sensitivity_squared([1, 0.1], 2, min_separation=1, max_participations=2)


def test_streams_of_many_steps_are_priced() -> None:
    """A hundred thousand participations in a row, and any pattern of 600 steps, are priced without a long search."""
    million = toeplitz_sensitivity_squared([1, "0.5"], 10**5, min_separation=1, max_participations=10**5)
    assert million == 1 + (10**5 - 1) * Fraction(9, 4)
    long = sensitivity_squared(square_root_strategy(600), min_separation=1, max_participations=600)
    exact = toeplitz_sensitivity_squared(
        square_root_strategy(600).matrix[:, 0].tolist(), 600, min_separation=1, max_participations=600
    )
    assert exact <= long
    assert float(long) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(
    "build",
    [
        lambda: sensitivity_squared(None),  # type: ignore[arg-type]
        lambda: stream_mu(np.eye(2), std=1),  # type: ignore[arg-type]
        lambda: toeplitz_sensitivity_squared(None, 4, min_separation=1, max_participations=1),  # type: ignore[arg-type]
        lambda: toeplitz_sensitivity_squared("11", 4, min_separation=1, max_participations=1),
        lambda: toeplitz_sensitivity_squared([1, float("nan")], 4, min_separation=1, max_participations=1),
        lambda: Stream(1, clip_norm=1, max_steps=2).follow([7], None, 1),  # type: ignore[arg-type]
        lambda: Stream(2, clip_norm=1, max_steps=2).step(np.ma.array([7.0, 7], mask=[0, 1]), [1], 1),
        lambda: Stream(1, clip_norm=1, max_steps=2).step([7j], [1], 1),
        lambda: OneStepStream(1, 0, std=1, clip_norm=1, max_steps=2, entry_bound="x"),  # type: ignore[arg-type]
        lambda: OneStepStream(1, 0, std=1, clip_norm=1, max_steps=2, entry_bound=-1.0),
        lambda: OneStepStream(1, "0.99999999999999999999999", std=1, clip_norm=1, max_steps=2),
        lambda: ColumnCharges().after(None),  # type: ignore[arg-type]
        lambda: ColumnCharges().after(["x"]),  # type: ignore[list-item]
        lambda: ColumnCharges().after([-3]),  # type: ignore[list-item]
    ],
)
def test_what_is_no_stream_is_refused(build: Any) -> None:
    """Objects of other kinds, masks, complex values and moves below zero: a clear error that quotes no value."""
    with pytest.raises(InputError) as refusal:
        build()
    assert "7" not in str(refusal.value)
