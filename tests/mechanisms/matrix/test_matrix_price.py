"""The price of structured Gaussian noise: mu = sup |H D| over a sensitivity set, against independent maximisation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.mechanisms.matrix import (
    ColumnBalls,
    DenseNoise,
    DiagonalNoise,
    FiniteSet,
    FrobeniusBall,
    GaussianMechanism,
    IidNoise,
    KroneckerNoise,
    LowRankNoise,
    StrategyColumns,
    SubspaceBall,
    ToeplitzNoise,
)


def _exact_size(whiteners: tuple[Any, Any], difference: Any) -> float:
    """|H1 D H2^T| with the float matrices taken as rationals: no rounding before the last digit."""

    def exact(matrix: Any) -> Any:
        rows = [[flint.fmpq(*Fraction(float(v)).as_integer_ratio()) for v in row] for row in matrix]
        return flint.fmpq_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])

    image = exact(whiteners[0]) * exact(difference) * exact(whiteners[1]).transpose()
    total = sum((entry * entry for entry in image.entries()), flint.fmpq(0))
    return float(Fraction(int(total.p), int(total.q))) ** 0.5


def _climb(h: Any, radii: Any, rows: int, rng: Any) -> float:
    """The largest |H vec D| that ascent finds from many starts, columns of D in balls."""
    gram, best = h.T @ h, 0.0
    for _ in range(12):
        d = rng.normal(size=(rows, radii.size))
        for _ in range(60):
            d = (gram @ d.ravel(order="F")).reshape(d.shape, order="F")
            d *= radii / np.maximum(np.linalg.norm(d, axis=0), 1e-300)
        best = max(best, float(np.linalg.norm(h @ d.ravel(order="F"))))
    return best


def test_a_thousand_random_kronecker_mechanisms_and_sets() -> None:
    """Every set's interval contains what brute force finds, and the exact ones are narrow."""
    rng = np.random.default_rng(20261130)
    for trial in range(1000):
        m, n = rng.integers(1, 5, size=2)
        noise = KroneckerNoise(rng.normal(size=(m, m)), rng.normal(size=(n, n)))
        h = np.kron(noise.whiteners[1], noise.whiteners[0])
        kind = trial % 4
        if kind == 0:
            radius = float(rng.uniform(0.1, 3))
            bound = GaussianMechanism(noise, FrobeniusBall(radius)).mu
            found = radius * float(np.linalg.svd(h, compute_uv=False)[0])
        elif kind == 1:
            differences = tuple(rng.normal(size=(m, n)) for _ in range(3))
            bound = GaussianMechanism(noise, FiniteSet(differences)).mu
            found = max(_exact_size(noise.whiteners, d) for d in differences)
            assert float(bound.lower) * (1 - 1e-15) <= found <= float(bound.upper) * (1 + 1e-15)
        elif kind == 2:
            basis = rng.normal(size=(m * n, int(rng.integers(1, m * n + 1))))
            bound = GaussianMechanism(noise, SubspaceBall(basis, 2)).mu
            found = 2 * float(np.linalg.svd(h @ np.linalg.qr(basis)[0], compute_uv=False)[0])
        else:
            radii = rng.uniform(0.1, 2, size=n)
            bound = GaussianMechanism(noise, ColumnBalls(radii)).mu
            found = _climb(h, radii, int(m), rng)
            assert found <= float(bound.upper) * (1 + 1e-9)
            assert float(bound.lower) >= 0.5 * float(
                bound.upper
            )  # coordinate ascent and triangle inequality stay close
            continue
        assert float(bound.lower) * (1 - 1e-7) <= found <= float(bound.upper) * (1 + 1e-7), (trial, kind)
        assert float(bound.upper - bound.lower) <= 1e-6 * float(bound.upper), (trial, kind)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_all_descriptions_of_one_covariance_agree(m: int, n: int, seed: int) -> None:
    """Kronecker, dense and diagonal noise of the same covariance have the same price for the same set."""
    rng = np.random.default_rng(seed)
    left, right = np.diag(rng.uniform(0.5, 2, m)), np.diag(rng.uniform(0.5, 2, n))
    covariance = np.kron(right @ right.T, left @ left.T)
    noises = [
        KroneckerNoise(left, right),
        DenseNoise(covariance, (m, n)),
        DiagonalNoise(np.sqrt(covariance.diagonal()).reshape((m, n), order="F")),
    ]
    differences = FiniteSet(tuple(rng.normal(size=(m, n)) for _ in range(2)))
    for sensitivity in (FrobeniusBall("1.5"), differences, ColumnBalls(np.full(n, 0.7))):
        prices = [GaussianMechanism(noise, sensitivity).mu for noise in noises]
        for noise, price in zip(noises[1:], prices[1:], strict=True):
            if not (isinstance(noise, DenseNoise) and isinstance(sensitivity, ColumnBalls)):  # there a wider interval
                assert float(price.upper) == pytest.approx(float(prices[0].upper), rel=1e-9)
            assert float(price.upper) >= float(prices[0].lower) * (1 - 1e-12)
            assert float(price.lower) <= float(prices[0].upper) * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(1, 4), st.integers(0, 10**6))
def test_low_rank_noise_is_its_dense_covariance(d: int, k: int, seed: int) -> None:
    """std^2 I + F F^T costs the same written either way; outside F's span only the independent part protects."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(d, k)) * rng.uniform(0.1, 5)
    low = LowRankNoise(1.3, factor)
    dense = DenseNoise(_symmetric(1.3**2 * np.eye(d) + factor @ factor.T))
    for sensitivity in (FiniteSet((rng.normal(size=(d, 1)),)), FrobeniusBall(2)):
        a, b = GaussianMechanism(low, sensitivity).mu, GaussianMechanism(dense, sensitivity).mu
        assert float(a.upper) == pytest.approx(float(b.upper), rel=1e-8)
        assert float(a.lower) == pytest.approx(float(a.upper), rel=1e-9)


def _symmetric(matrix: Any) -> Any:
    return (matrix + matrix.T) / 2


def test_toeplitz_noise_is_the_inverse_of_its_strategy() -> None:
    """White noise times C^-1: a difference in one step costs the column's norm, and colour undoes whiten."""
    noise = ToeplitzNoise([1, 0.5, 0.375, 0.3125], 2, (6, 2))
    step = np.zeros((6, 2))
    step[0, 1] = 1
    mu = GaussianMechanism(noise, FiniteSet((step,))).mu
    assert float(mu.upper) == pytest.approx((1.48828125**0.5) / 2, rel=1e-12)
    value = np.random.default_rng(5).normal(size=(6, 2))
    assert np.allclose(noise.colour(noise.whiten(value)[0]), value, rtol=1e-12)
    assert np.allclose(noise.whiten(value)[0] * 2, noise.matrix() @ value, rtol=1e-12)
    whole = GaussianMechanism(noise, FrobeniusBall(1)).mu
    assert float(whole.upper) == pytest.approx(float(np.linalg.norm(noise.matrix(), 2)) / 2, rel=1e-12)


def test_strategy_columns_are_the_columns() -> None:
    """A histogram cell that moves by `change` moves the strategy's answers by its column."""
    strategy = np.tril(np.ones((5, 5)))
    mu = GaussianMechanism(IidNoise(2, (5, 1)), StrategyColumns(strategy, 3)).mu
    assert float(mu.upper) == pytest.approx(3 * 5**0.5 / 2, rel=1e-12)
    assert mu.lower <= mu.upper


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.floats(1e-3, 1e3), st.integers(0, 10**6))
def test_more_noise_never_costs_more(m: int, factor: float, seed: int) -> None:
    """Scaling the noise by c divides mu by c, and scaled_to meets its target from below and closely."""
    rng = np.random.default_rng(seed)
    mechanism = GaussianMechanism(KroneckerNoise(rng.normal(size=(m, m)) + 3 * np.eye(m), np.eye(2)), FrobeniusBall(1))
    wider = GaussianMechanism(mechanism.noise.scaled(factor), mechanism.sensitivity)
    assert float(wider.mu.upper) * factor == pytest.approx(float(mechanism.mu.upper), rel=1e-9)
    scaled = mechanism.scaled_to("0.25")
    assert scaled.mu.upper <= Fraction(1, 4)
    assert float(scaled.mu.upper) == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize(
    "build",
    [
        lambda: KroneckerNoise(np.ones((2, 2)), np.eye(2)),
        lambda: KroneckerNoise(np.diag([1, 1e-14]), np.eye(2)),
        lambda: DenseNoise(np.diag([1.0, 0.0])),
        lambda: DenseNoise(np.diag([1.0, -1.0])),
        lambda: DenseNoise([[1.0, 0.5], [0.4, 1.0]]),
        lambda: DenseNoise(np.eye(4), (3, 2)),
        lambda: DiagonalNoise([1.0, 0.0]),
        lambda: DiagonalNoise([1.0, -2.0]),
        lambda: LowRankNoise(0, np.ones((3, 1))),
        lambda: ToeplitzNoise([0, 1], 1, (3, 1)),
        lambda: ToeplitzNoise([1, 1, 1], 1, (2, 1)),
        lambda: IidNoise(0, (2, 2)),
        lambda: IidNoise("nan", (2, 2)),
        lambda: IidNoise(1, (0, 2)),
        lambda: IidNoise(1, (10**9, 10**9)),
        lambda: FrobeniusBall(-1),
        lambda: FrobeniusBall(float("inf")),
        lambda: ColumnBalls([0.0, 0.0]),
        lambda: ColumnBalls([-1.0]),
        lambda: SubspaceBall(np.ones((3, 2))),
        lambda: SubspaceBall(np.ones((1, 2))),
        lambda: FiniteSet(()),
        lambda: FiniteSet((np.zeros((2, 2)),)),
        lambda: FiniteSet("12"),
        lambda: StrategyColumns([[0.0]]),
        lambda: KroneckerNoise([[1, 2], [3]], np.eye(2)),
        lambda: KroneckerNoise([["1"]], np.eye(1)),
        lambda: KroneckerNoise([[1j]], np.eye(1)),
        lambda: KroneckerNoise([[float("nan")]], np.eye(1)),
        lambda: KroneckerNoise([[1e200]], np.eye(1)),
        lambda: GaussianMechanism(IidNoise(1, (2, 2)), FiniteSet((np.ones((2, 3)),))),
        lambda: GaussianMechanism(IidNoise(1, (2, 2)), ColumnBalls([1.0])),
        lambda: GaussianMechanism(IidNoise(1, (2, 2)), SubspaceBall(np.ones((3, 1)))),
        lambda: GaussianMechanism(IidNoise(1, (2, 2)), StrategyColumns(np.eye(2))),
        lambda: GaussianMechanism("noise", FrobeniusBall(1)),
        lambda: GaussianMechanism(IidNoise(1, (2, 2)), 1.0),
        lambda: GaussianMechanism(LowRankNoise(1, np.ones((3, 1))), FrobeniusBall(1)).scaled_to(0),
    ],
)
def test_what_protects_nothing_or_fits_nothing_is_refused(build: Any) -> None:
    """Singular noise, empty or misshapen sets, and entries that are no numbers are refused by name."""
    with pytest.raises(InputError) as refusal:
        build()
    assert len(str(refusal.value)) > 20


def test_an_interval_that_were_too_small_would_be_noticed() -> None:
    """Control: the norm of the noise instead of the whitener's, a known mistake, lies outside the interval."""
    noise = KroneckerNoise(np.diag([1.0, 3.0]), np.eye(2))
    mu = GaussianMechanism(noise, FrobeniusBall(1)).mu
    mistaken = 1 / 3.0  # 1/sigma_max instead of 1/sigma_min
    assert float(mu.lower) == pytest.approx(1.0, rel=1e-12)
    assert not float(mu.lower) <= mistaken <= float(mu.upper)
