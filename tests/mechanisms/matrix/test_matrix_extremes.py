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
