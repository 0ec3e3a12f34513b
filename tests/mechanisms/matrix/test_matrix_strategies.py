"""The matrix mechanism: strategies, their certified optimum, and answers with the error that was promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors import vectors

from dosimeter.errors import InputError
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.matrix import (
    MatrixRelease,
    Strategy,
    all_ranges,
    all_ranges_gram,
    best_laplace_strategy,
    hierarchical,
    identity,
    optimal_gram,
    optimal_strategy,
    prefix,
    square_root_strategy,
    total,
)


@pytest.mark.parametrize("vector", vectors("matrix_mechanism_error"), ids=str)
def test_matrix_mechanism_error(vector: Any) -> None:
    """sigma^2 |A|^2 tr(W (A^T A)^-1 W^T) of the reference values."""
    w, a = (np.array([[float(v) for v in row] for row in vector.args[name]]) for name in ("W", "A"))
    found = Strategy(w, a).total_error * float(vector.args["sigma_unit"]) ** 2
    assert found == pytest.approx(float(vector.value), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 16])
def test_identity_and_total_are_their_own_best_strategies(n: int) -> None:
    """Closed forms: measuring single counts is best for single counts, one total for the total."""
    assert optimal_strategy(identity(n)).total_error == pytest.approx(n, rel=1e-4)
    assert optimal_strategy(total(n)).total_error == pytest.approx(1, rel=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6))
def test_no_strategy_beats_the_certified_bound(queries: int, cells: int, seed: int) -> None:
    """least_error <= the solution's error <= (1 + accuracy) least_error, and random strategies stay above the bound."""
    rng = np.random.default_rng(seed)
    w = rng.integers(-2, 3, size=(queries, cells)).astype(float)
    if not w.any():
        w[0, 0] = 1
    best = optimal_strategy(w, accuracy=1e-3)
    assert best.least_error * (1 - 1e-9) <= best.total_error <= best.least_error * 1.0011
    for other in (np.eye(cells), rng.normal(size=(cells + 2, cells)), hierarchical(cells)):
        assert Strategy(w, other).total_error >= best.least_error * (1 - 1e-9)


def test_the_optimum_of_running_totals() -> None:
    """Dense optimum for 64 steps, below the square root by a few percent and far below single counts."""
    best = optimal_strategy(prefix(64))
    root = Strategy(prefix(64), square_root_strategy(64).matrix)
    alone = Strategy(prefix(64), identity(64))
    assert (best.total_error / 64) ** 0.5 == pytest.approx(2.0999, abs=2e-3)
    assert best.total_error < root.total_error < 1.15 * best.total_error
    assert alone.total_error == pytest.approx(64 * 65 / 2, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_all_ranges_in_closed_form(n: int) -> None:
    """The Gram matrix of all ranges without writing the ranges out; its optimum is theirs."""
    w = all_ranges(n)
    assert w.shape == (n * (n + 1) // 2, n)
    assert np.array_equal(w.T @ w, all_ranges_gram(n))
    _, bound = optimal_gram(all_ranges_gram(n))
    assert bound == pytest.approx(optimal_strategy(w).least_error, rel=1e-6)


def test_answers_have_the_promised_error() -> None:
    """Released through exact sampling, the answers' mean squared error is the strategy's, and the price its mu."""
    best = optimal_strategy(prefix(12))
    release = MatrixRelease(best.mechanism("0.5"))
    assert release.mu <= 0.5 + 1e-6
    x = np.arange(12.0)
    source = SeededTestEntropy(3)
    errors = [
        ((best.answers(release.release(best.strategy @ x, source)) - best.workload @ x) ** 2).sum() for _ in range(600)
    ]
    assert float(np.mean(errors)) == pytest.approx(best.total_error / 0.25, rel=0.15)


def test_a_column_that_is_too_long_costs_more() -> None:
    """Control: noise calibrated to the mean column instead of the longest would break the price."""
    strategy = Strategy(identity(3), np.diag([1.0, 1.0, 3.0]))
    mechanism = strategy.mechanism(1)
    assert float(mechanism.noise.std) >= 3  # type: ignore[union-attr]


def test_laplace_prefers_trees_for_ranges_and_cells_for_cells() -> None:
    """The best closed-form strategy under L1: the workload's own shape decides."""
    assert np.array_equal(best_laplace_strategy(identity(8)).strategy, identity(8))
    totals = best_laplace_strategy(prefix(256))
    assert totals.total_error_laplace < 0.5 * Strategy(prefix(256), identity(256)).total_error_laplace


@pytest.mark.parametrize(
    "build",
    [
        lambda: optimal_strategy(np.zeros((2, 3))),
        lambda: optimal_strategy([[float("nan")]]),
        lambda: optimal_strategy(np.eye(2), accuracy=0),
        lambda: optimal_strategy(np.ones((1, 5000))),
        lambda: optimal_gram(np.ones((2, 3))),
        lambda: optimal_gram(-np.eye(2)),
        lambda: Strategy(np.eye(3), np.eye(2)),
        lambda: Strategy(np.eye(2), np.ones((1, 2))),
        lambda: all_ranges(1000),
        lambda: prefix(0),
        lambda: hierarchical(4, 1),
        lambda: Strategy(np.eye(2), np.eye(2)).mechanism(0),
    ],
)
def test_bad_workloads_are_refused(build: Any) -> None:
    """Nothing to answer, strategies that cannot answer, and absurd sizes have clear errors."""
    with pytest.raises(InputError):
        build()
