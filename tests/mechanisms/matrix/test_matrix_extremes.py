"""Entries near the ends of the range: a bound above the exact value or a refusal, and nothing overflows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

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
    MatrixRelease,
    StrategyColumns,
    SubspaceBall,
    ToeplitzNoise,
)
from dosimeter.mechanisms.matrix.arrays import spectral_norm
from dosimeter.mechanisms.matrix.covariance import whitening_error


def _exact(matrix: Any) -> Any:
    rows = [[flint.fmpq(*Fraction(float(v)).as_integer_ratio()) for v in row] for row in np.atleast_2d(matrix)]
    return flint.fmpq_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def _squared(image: Any) -> Fraction:
    total = sum((entry * entry for entry in image.entries()), flint.fmpq(0))
    return Fraction(int(total.p), int(total.q))


def _wild(rng: Any, shape: tuple[int, ...], reach: int) -> Any:
    """Entries of either sign and of sizes 10^-reach to 10^reach, some of them zeros of either sign."""
    sizes = 10.0 ** rng.uniform(-reach, reach, size=shape) * rng.choice([-1, 1], size=shape)
    return np.where(rng.random(shape) < 0.2, rng.choice([0.0, -0.0], size=shape), sizes)


def test_wild_differences_stay_inside_their_bounds() -> None:
    """|H D| in rationals lies inside the interval for entries sixty powers of ten apart, and often enough to tell."""
    rng, seen = np.random.default_rng(3), 0
    for trial in range(300):
        m, n = (int(v) for v in rng.integers(1, 4, size=2))
        difference = _wild(rng, (m, n), 95)
        noise: Any
        try:
            if trial % 3 == 0:
                scale = 10.0 ** rng.uniform(-90, 90, size=2)
                noise = KroneckerNoise(rng.normal(size=(m, m)) * scale[0], rng.normal(size=(n, n)) * scale[1])
                image = _exact(noise.whiteners[0]) * _exact(difference) * _exact(noise.whiteners[1]).transpose()
            elif trial % 3 == 1:
                noise = DiagonalNoise(np.abs(_wild(rng, (m, n), 95)) + 1e-95)
                pairs = zip(noise.precisions.ravel().tolist(), difference.ravel().tolist(), strict=True)
                products = [Fraction(p) * Fraction(d) for p, d in pairs]
                image = flint.fmpq_mat(1, m * n, [flint.fmpq(p.numerator, p.denominator) for p in products])
            else:
                noise = ToeplitzNoise(np.abs(_wild(rng, (m,), 60)) + 1e-60, 10.0 ** rng.uniform(-90, 90), (m, n))
                p = Fraction(noise.precision)
                image = _exact(noise.matrix()) * _exact(difference) * flint.fmpq(p.numerator, p.denominator)
            mu = GaussianMechanism(noise, FiniteSet((difference,))).mu
        except InputError:
            continue
        seen += 1
        assert Fraction(mu.lower) ** 2 <= _squared(image) <= Fraction(mu.upper) ** 2, trial
    assert seen > 150


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (3, 3)])
@pytest.mark.parametrize("condition", [1, 1e6, 1e11])
def test_ill_conditioned_noise_is_priced_from_above(shape: tuple[int, int], condition: float) -> None:
    """For noise close to singular no direction of the whole ball is dearer than the bound, by exact arithmetic."""
    m, n = shape
    rng = np.random.default_rng(m * 10 + n)
    left = np.linalg.qr(rng.normal(size=(m, m)))[0] * np.geomspace(1, condition, m)
    noise = KroneckerNoise(left, np.linalg.qr(rng.normal(size=(n, n)))[0])
    mu = GaussianMechanism(noise, FrobeniusBall(1)).mu
    h1, h2 = noise.whiteners
    worst = np.outer(np.linalg.svd(h1)[2][0], np.linalg.svd(h2)[2][0])
    length = _squared(_exact(worst))
    image = _squared(_exact(h1) * _exact(worst) * _exact(h2).transpose()) / length
    assert image <= Fraction(mu.upper) ** 2
    assert Fraction(mu.upper) ** 2 <= image * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("size", [1.0, 1e3, 1e11])
def test_low_rank_noise_with_all_directions(size: float) -> None:
    """Where the factor covers everything, what is left of the difference is small, and never priced below the truth."""
    noise = LowRankNoise(1, np.eye(4) * size)
    mu = GaussianMechanism(noise, FrobeniusBall(1)).mu
    v, w = _exact(noise._directions), _exact(np.diag(noise._weights))
    h = _exact(np.eye(4)) - v * w * v.transpose()
    exact = max(_squared(h * _exact(np.eye(4)[:, [j]])) for j in range(4)) * Fraction(noise.precision) ** 2
    assert exact <= Fraction(mu.upper) ** 2
    assert float(mu.upper) == pytest.approx((1 + size**2) ** -0.5, rel=1e-2)


@pytest.mark.parametrize(
    "build",
    [
        lambda: GaussianMechanism(
            KroneckerNoise(np.diag([1e100, 1e90]), np.diag([1e100, 1e90])), FrobeniusBall("1e-290")
        ),
        lambda: GaussianMechanism(
            KroneckerNoise(np.diag([1e100, 1e90]), np.diag([1e100, 1e90])), FiniteSet(([[1e-100, 0], [0, 0]],))
        ),
        lambda: GaussianMechanism(
            KroneckerNoise(np.diag([1e-100, 1e-95]), np.diag([1e-100, 1e-95])), FiniteSet((np.full((2, 2), 1e100),))
        ),
        lambda: IidNoise("1e-290", (1, 1)),
        lambda: ToeplitzNoise([1], "1e-290", (2, 1)),
        lambda: LowRankNoise("1e-290", np.ones((3, 1))),
        lambda: LowRankNoise(1, np.ones((3, 1)) * 1e17),
        lambda: LowRankNoise("1e-90", np.ones((3, 1)) * 1e100),
        lambda: SubspaceBall(np.eye(2), "1e-200"),
        lambda: StrategyColumns(np.eye(2), "1e-200"),
        lambda: GaussianMechanism(DenseNoise(np.eye(2)), FrobeniusBall("1e12")).scaled_to("1e-290"),
        lambda: GaussianMechanism(KroneckerNoise(np.eye(2), np.eye(2)), FrobeniusBall(1)).scaled_to("1e-290"),
        lambda: DiagonalNoise(np.ma.array([1.0, 2.0], mask=[False, True])),
        lambda: DiagonalNoise(np.broadcast_to(1.0, (10**6, 10**6))),
        lambda: MatrixRelease(GaussianMechanism(IidNoise("1e-90", (1, 1)), FrobeniusBall("1e-90")), entry_bound=1e100),
        lambda: MatrixRelease("mechanism"),  # type: ignore[arg-type]
        lambda: MatrixRelease(GaussianMechanism(IidNoise(1, (1, 1)), FrobeniusBall(1)), value_error="0"),  # type: ignore[arg-type]
        lambda: MatrixRelease(GaussianMechanism(IidNoise(1, (2, 1)), FrobeniusBall(1))).release(
            np.ma.array([7.0, 9.0], mask=[False, True])
        ),
        lambda: MatrixRelease(GaussianMechanism(IidNoise(1, (1, 1)), FrobeniusBall(1))).release(np.array([7j])),
    ],
)
def test_what_would_overflow_or_vanish_is_refused(build: Any) -> None:
    """Products beyond the floats, masks that would be lost, values that are no real numbers: one clear error each."""
    with pytest.raises(InputError) as refusal:
        build()
    assert len(str(refusal.value)) > 20
    assert "7" not in str(refusal.value)


def test_column_balls_with_a_zero_radius_of_either_sign() -> None:
    """A column that cannot change costs nothing, whatever the sign of its zero."""
    noise = KroneckerNoise(np.array([[2.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.3], [0.0, 1.0]]))
    for zero in (0.0, -0.0):
        mu = GaussianMechanism(noise, ColumnBalls([zero, 1.0])).mu
        assert float(mu.upper) == pytest.approx(float(mu.lower), rel=1e-6)


def _whitener(noise: Any) -> Any:
    """H on stacked columns, in rationals, from the floats that the release uses."""
    rows, columns = noise.shape
    if isinstance(noise, KroneckerNoise):
        h1, h2 = (_exact(h) for h in noise.whiteners)
        entries = [
            h2[j, b] * h1[i, a]
            for j in range(columns)
            for i in range(rows)
            for b in range(columns)
            for a in range(rows)
        ]
        return flint.fmpq_mat(rows * columns, rows * columns, entries)
    if isinstance(noise, DenseNoise):
        return _exact(noise.whitener)
    if isinstance(noise, DiagonalNoise):
        return _exact(np.diag(noise.precisions.ravel(order="F")))
    if isinstance(noise, LowRankNoise):
        v, w = _exact(noise._directions), _exact(np.diag(noise._weights))
        return (_exact(np.eye(rows)) - v * w * v.transpose()) * flint.fmpq(*noise.precision.as_integer_ratio())
    block = noise.matrix() if isinstance(noise, ToeplitzNoise) else np.eye(rows)
    return _exact(np.kron(np.eye(columns), block)) * flint.fmpq(*noise.precision.as_integer_ratio())


@pytest.mark.parametrize("seed", range(6))
def test_the_stated_errors_contain_the_rounding(seed: int) -> None:
    """What floats make of H x is as near to it, by exact arithmetic, as `whiten` and `whitening_error` say."""
    rng = np.random.default_rng(seed)
    lower = np.tril(rng.normal(size=(6, 6))) + 2 * np.eye(6)
    noises: list[Any] = [
        IidNoise("0.7", (3, 2)),
        DiagonalNoise(10.0 ** rng.uniform(-5, 5, size=(3, 2))),
        KroneckerNoise(rng.normal(size=(3, 3)) * np.array([1, 1e4, 1e8]), rng.normal(size=(2, 2))),
        DenseNoise(lower @ lower.T, (3, 2)),
        LowRankNoise("0.3", rng.normal(size=(6, 4)) * 1e4),
        ToeplitzNoise([1, -0.9, 0.8], "0.7", (3, 2)),
    ]
    for noise in noises:
        value = rng.uniform(-1, 1, size=noise.shape) * 10.0 ** rng.uniform(-6, 0, size=noise.shape)
        image, wrong = noise.whiten(value)
        exact = _whitener(noise) * _exact(value.ravel(order="F")).transpose()
        apart = exact - _exact(image.ravel(order="F")).transpose()
        assert _squared(apart) <= Fraction(wrong) ** 2, noise.kind
        single = Fraction(whitening_error(noise, 1.0))
        assert max(abs(Fraction(int(e.p), int(e.q))) for e in apart.entries()) <= single, noise.kind


def test_the_norm_of_a_matrix_is_enclosed() -> None:
    """Rank one, nearly equal singular values, Hilbert's matrix, long and flat: c I - M^T M decides, in rationals."""
    rng = np.random.default_rng(12)
    hilbert = 1 / (np.arange(8)[:, None] + np.arange(8)[None, :] + 1.0)
    matrices = [
        np.outer(rng.normal(size=6), rng.normal(size=4)),
        np.linalg.qr(rng.normal(size=(6, 6)))[0],
        hilbert,
        np.diag([1.0, 1 - 2.0**-53, 1e-300]),
        rng.normal(size=(40, 3)) * 1e-90,
        rng.normal(size=(3, 40)) * 1e90,
        _wild(rng, (5, 5), 60),
        np.ones((1, 7)),
        np.array([[-3.0]]),
    ]
    for matrix in matrices:
        lower, upper = spectral_norm(matrix)
        m = _exact(matrix)
        gram = m.transpose() * m if matrix.shape[0] >= matrix.shape[1] else m * m.transpose()
        for end, inside in ((upper, True), (lower * (1 - 1e-9), False)):
            c = Fraction(end) ** 2
            shifted = _exact(np.eye(gram.nrows())) * flint.fmpq(c.numerator, c.denominator) - gram
            assert _positive(shifted) is inside
        assert lower <= upper <= lower * (1 + 1e-9)


def _positive(matrix: Any) -> bool:
    """Whether a symmetric matrix of rationals is positive semidefinite: by elimination, exactly."""
    rows = [[matrix[i, j] for j in range(matrix.ncols())] for i in range(matrix.nrows())]
    while rows:
        first = rows[0]
        if first[0] < 0 or (first[0] == 0 and any(v != 0 for v in first)):
            return False
        rows = [
            [v - row[0] * first[j + 1] / first[0] if first[0] else v for j, v in enumerate(row[1:])] for row in rows[1:]
        ]
    return True
