"""Correlated noise for streams: published errors, participation, and the adaptive filter on the worst column."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.matrix import (
    ColumnCharges,
    OneStepStream,
    Stream,
    StreamStrategy,
    banded_inverse_strategy,
    banded_strategy,
    binary_tree,
    independent_strategy,
    one_step_strategy,
    sensitivity_squared,
    square_root_coefficients,
    square_root_strategy,
    stream_mu,
    toeplitz_sensitivity_squared,
    toeplitz_strategy,
    tree_online_errors,
    tree_sensitivity_squared,
)


def test_the_square_root_of_running_totals() -> None:
    """1, 1/2, 3/8, 5/16; C C is the matrix of running totals; sensitivity and error of four steps."""
    assert square_root_coefficients(4) == (1, Fraction(1, 2), Fraction(3, 8), Fraction(5, 16))
    c = square_root_strategy(40).matrix
    assert np.allclose(c @ c, np.tril(np.ones((40, 40))), rtol=1e-13, atol=1e-13)
    four = square_root_strategy(4)
    assert sensitivity_squared(four) == Decimal("1.48828125")
    errors = four.errors()
    assert float(errors.max()) * 1.48828125 == pytest.approx(2.2149810791015625, rel=1e-12)


@pytest.mark.parametrize(("n", "most"), [(256, 2.67), (1024, 3.12)])
def test_errors_of_running_totals(n: int, most: float) -> None:
    """At mu = 1: below 2.67 for 256 steps and 3.12 for 1,024, where noise per step has 11.34 and 22.64."""
    assert square_root_strategy(n).rmse() <= most
    assert independent_strategy(n).rmse() == pytest.approx(((n + 1) / 2) ** 0.5, rel=1e-12)


def test_the_tree_of_eight_leaves() -> None:
    """Four levels: squared sensitivity 4, so noise of standard deviation 2 costs rho = 1/2; errors count bits."""
    assert tree_sensitivity_squared(8) == 4
    assert Fraction(tree_sensitivity_squared(8), 2 * 2**2) == Fraction(1, 2)
    for steps in (1, 2, 3, 8, 13):
        tree = binary_tree(steps)
        assert (tree**2).sum(axis=0).max() == tree_sensitivity_squared(steps)
    mean = (tree_sensitivity_squared(256) * tree_online_errors(256).mean()) ** 0.5
    assert mean == pytest.approx(6.00, abs=0.01)


@pytest.mark.parametrize(
    ("coefficients", "n", "gap", "k"), [([1, 0.5], 6, 1, 6), ([1, 0.5, 0.25], 9, 2, 3), ([1.0], 5, 1, 5)]
)
def test_many_participations(coefficients: list[float], n: int, gap: int, k: int) -> None:
    """The search, the closed form for falling coefficients and brute force over all patterns agree."""
    strategy = toeplitz_strategy(coefficients, n)
    brute = max(
        float((strategy.matrix[:, list(chosen)].sum(axis=1) ** 2).sum())
        for size in range(1, k + 1)
        for chosen in combinations(range(n), size)
        if all(b - a >= gap for a, b in pairwise(chosen))
    )
    exact = sensitivity_squared(strategy, min_separation=gap, max_participations=k)
    assert float(exact) == pytest.approx(brute, rel=1e-12)
    assert toeplitz_sensitivity_squared(coefficients, n, min_separation=gap, max_participations=k) == exact
    if coefficients == [1, 0.5]:
        assert exact == Decimal("12.25")


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
def test_participation_with_any_signs_is_bounded(n: int, gap: int, k: int, seed: int) -> None:
    """No pattern and no directions of a record's vectors move the measurements by more than the bound."""
    rng = np.random.default_rng(seed)
    strategy = StreamStrategy(np.tril(rng.normal(size=(n, n)), -1) + np.diag(rng.uniform(0.5, 2, n)))
    gap, k = min(gap, n), min(k, n)
    bound = float(sensitivity_squared(strategy, min_separation=gap, max_participations=k))
    chosen, worst = [], 0.0
    for _ in range(30):
        chosen, at = [], int(rng.integers(0, n))
        while at < n and len(chosen) < k:
            chosen.append(at)
            at += gap + int(rng.integers(0, 2))
        vectors = rng.normal(size=(len(chosen), 3))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        worst = max(worst, float(((strategy.matrix[:, chosen] @ vectors) ** 2).sum()))
    assert worst <= bound * (1 + 1e-12)


def test_long_streams_have_a_bound_close_to_the_closed_form() -> None:
    """Where patterns are too many to list, the dynamic programme's bound is sound and near the exact value."""
    exact = toeplitz_sensitivity_squared(square_root_coefficients(150), 150, min_separation=20, max_participations=8)
    bound = sensitivity_squared(square_root_strategy(150), min_separation=20, max_participations=8)
    assert exact <= bound * (1 + Decimal("1e-12"))
    assert bound <= exact * Decimal("1.05")
    banded = banded_strategy(120, 10)  # columns ten apart do not meet: k participations cost k times one
    assert float(sensitivity_squared(banded, min_separation=10, max_participations=5)) == pytest.approx(
        5 * float(sensitivity_squared(banded)), rel=1e-9
    )


def test_inverse_bands_and_one_step() -> None:
    """The noise of a step needs only the last draws: C^-1 has as many diagonals as was asked."""
    for strategy, width in ((banded_inverse_strategy(30, 4), 4), (one_step_strategy(30, "0.9"), 2)):
        inverse = strategy.noising_matrix
        assert np.allclose(np.tril(inverse, -width), 0, atol=1e-12)
        assert strategy.rmse() < independent_strategy(30).rmse()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 7), st.integers(0, 10**6))
def test_what_a_stream_is_charged_is_its_worst_column(n: int, seed: int) -> None:
    """Rows and noise chosen as it goes: the charges add up to the worst record's account at every time."""
    rng = np.random.default_rng(seed)
    stream = Stream(3, clip_norm=2, max_steps=n, entropy=SeededTestEntropy(seed), entry_bound=100)
    rows = np.zeros((n, n))
    spent = Fraction(0)
    for t in range(n):
        row = rng.normal(size=t + 1) * (rng.random(t + 1) < 0.7)
        row[-1] = abs(row[-1]) + 0.1
        std = float(rng.uniform(0.5, 5))
        rows[t, : t + 1] = row / std
        _, event = stream.quote(row, std)
        before = stream.charges.worst
        stream.step(rng.normal(size=3), row, std)
        spent += Fraction(event.l2_sensitivity) ** 2 if event else 0
        exact = 4 * float((rows[:, : t + 1] ** 2).sum(axis=0).max())
        assert float(stream.charges.worst) == pytest.approx(exact, rel=1e-5)
        assert float(stream.charges.worst) >= exact
        assert spent >= Fraction(stream.charges.worst)
        assert stream.charges.worst >= before


def test_a_filter_on_the_last_row_only_would_be_fooled() -> None:
    """Control: charging each row by its largest coefficient's square alone, not by columns, undercounts a column."""
    charges = ColumnCharges()
    rows = [[Decimal(1)], [Decimal(1), Decimal("0.1")], [Decimal(1), Decimal("0.1"), Decimal("0.1")]]
    for row in rows:
        charges = charges.after(row)
    assert charges.worst == 3
    assert charges.worst > max(max(r) for r in rows) ** 2


def test_stopping_early_costs_what_ran() -> None:
    """Half a square-root stream is charged its first columns' norm, less than the whole one's."""
    strategy = square_root_strategy(32)
    stream = Stream(1, clip_norm=1, max_steps=32, entropy=SeededTestEntropy(4), entry_bound=1e3)
    for t in range(8):
        stream.follow([float(t)], strategy, 2)
    eight = float(sensitivity_squared(square_root_strategy(8))) / 4
    assert float(stream.charges.worst) == pytest.approx(eight, rel=1e-6)
    assert float(stream_mu(strategy, std=2)) ** 2 > float(stream.charges.worst)


def test_one_step_of_correlation_keeps_two_vectors() -> None:
    """Its noise is z_t - lambda z_(t-1), its charge the first column's norm, at every stopping time."""
    source, strategy = SeededTestEntropy(8), one_step_strategy(6, "0.5")
    answers = []
    for _ in range(400):
        stream = OneStepStream(20, "0.5", std=2, clip_norm=1, max_steps=6, entropy=source, entry_bound=10)
        spent = Fraction(0)
        steps = []
        for t in range(6):
            spent += Fraction(stream.event().l2_sensitivity) ** 2
            steps.append(stream.step(np.full(20, float(t))) - t)
            column = float((strategy.matrix[: t + 1, 0] ** 2).sum()) / 4
            assert column <= float(stream.worst) <= column * (1 + 1e-5)
        assert spent <= Fraction(stream.worst) + Fraction(1, 10**40)
        answers.append(steps)
    noise = np.array(answers)
    covariance = np.einsum("nsw,ntw->st", noise, noise) / (400 * 20)
    inverse = strategy.noising_matrix
    assert np.abs(covariance - 4 * inverse @ inverse.T).max() < 0.3
    assert covariance[2, 1] == pytest.approx(-0.5 * 4, abs=0.3)  # control: independent noise would have 0 here
    with pytest.raises(InputError, match="over"):
        stream.step(np.zeros(20))
    for bad in ({"correlation": 1}, {"correlation": -1}, {"std": 0}, {"clip_norm": -1}, {"max_steps": 0}, {"width": 0}):
        with pytest.raises(InputError):
            OneStepStream(**{"width": 2, "correlation": 0, "std": 1, "clip_norm": 1, "max_steps": 2, **bad})


def test_totals_and_windows_are_the_streams_own() -> None:
    """With hardly any noise the running totals and sliding windows are the data's."""
    data = np.arange(1.0, 13.0).reshape(6, 2)
    stream = Stream(2, clip_norm="1e-6", max_steps=6, entropy=SeededTestEntropy(5), entry_bound=100)
    for row in data:
        stream.follow(row, square_root_strategy(6), "1e-4")
    assert np.allclose(stream.running_totals(), data.cumsum(axis=0), atol=0.01)
    windows = np.array([data[max(0, t - 2) : t + 1].sum(axis=0) for t in range(6)])
    assert np.allclose(stream.window_sums(3), windows, atol=0.01)
    assert np.allclose(stream.window_sums(50), data.cumsum(axis=0), atol=0.01)


def test_the_totals_error_is_the_strategys() -> None:
    """Mean squared error of released running totals against the decoder's, and independent noise is told apart."""
    strategy, source = square_root_strategy(16), SeededTestEntropy(6)
    errors = []
    for _ in range(150):
        stream = Stream(8, clip_norm=1, max_steps=16, entropy=source, entry_bound=1e3)
        for _ in range(16):
            stream.follow(np.zeros(8), strategy, 1)
        errors.append((stream.running_totals() ** 2).mean())
    assert float(np.mean(errors)) == pytest.approx(float(strategy.errors().mean()), rel=0.06)
    assert float(np.mean(errors)) < 0.6 * float(independent_strategy(16).errors().mean())


def test_a_stream_refuses_to_go_past_its_end() -> None:
    """The fifth step of four is refused and no row serves twice; a bad deviation is refused at once."""
    stream = Stream(1, clip_norm=1, max_steps=4, entropy=SeededTestEntropy(7))
    for t in range(4):
        stream.follow([t], square_root_strategy(4), 1)
    before = stream.charges
    for again in (lambda: stream.follow([9], square_root_strategy(4), 1), lambda: stream.step([9], np.ones(5), 1)):
        with pytest.raises(InputError, match=r"over|used"):
            again()
    assert stream.charges == before
    assert stream.steps_left == 0
    assert stream.estimates().shape == (4, 1)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Stream(1, clip_norm=1, max_steps=4).step([1], [1], -1),
        lambda: Stream(1, clip_norm=1, max_steps=4).step([1], [1], 0),
        lambda: Stream(1, clip_norm=0, max_steps=4),
        lambda: Stream(0, clip_norm=1, max_steps=4),
        lambda: Stream(1, clip_norm=1, max_steps=0),
        lambda: Stream(1, clip_norm=1, max_steps=4).step([1], [0], 1),
        lambda: Stream(1, clip_norm=1, max_steps=4).step([1], [1, 1], 1),
        lambda: Stream(1, clip_norm=1, max_steps=4).step([1, 2], [1], 1),
        lambda: Stream(1, clip_norm=1, max_steps=4).step(["secret"], [1], 1),
        lambda: Stream(2, clip_norm=1, max_steps=4, entry_bound=float("inf")),
        lambda: StreamStrategy(np.ones((2, 2))),
        lambda: StreamStrategy(np.zeros((2, 2))),
        lambda: StreamStrategy(np.ones((2, 3))),
        lambda: toeplitz_strategy([1, 2, 3], 2),
        lambda: one_step_strategy(4, 1),
        lambda: banded_strategy(4, 5),
        lambda: square_root_strategy(0),
        lambda: sensitivity_squared(square_root_strategy(4), max_participations=2),
        lambda: sensitivity_squared(square_root_strategy(4), min_separation=0, max_participations=2),
        lambda: toeplitz_sensitivity_squared([1, 2], 4, min_separation=1, max_participations=1),
        lambda: toeplitz_sensitivity_squared([], 4, min_separation=1, max_participations=1),
        lambda: stream_mu(square_root_strategy(4), std=-1),
    ],
)
def test_bad_streams_are_refused(build: Any) -> None:
    """Negative noise, wrong widths, rows of another length and impossible participation have clear errors."""
    with pytest.raises(InputError) as refusal:
        build()
    assert "secret" not in str(refusal.value)
