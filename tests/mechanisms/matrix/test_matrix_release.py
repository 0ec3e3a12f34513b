"""A release of an array: exact noise on a lattice, a price that includes the lattice, and no word about the rows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from dosimeter.accounting import loss_for
from dosimeter.errors import InputError
from dosimeter.events import Gaussian
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.matrix import (
    Covariance,
    DenseNoise,
    DiagonalNoise,
    FrobeniusBall,
    GaussianMechanism,
    IidNoise,
    KroneckerNoise,
    LowRankNoise,
    MatrixRelease,
    ToeplitzNoise,
)
from dosimeter.notions import GDP

RNG = np.random.default_rng(11)
NOISES: list[Covariance] = [
    IidNoise(2, (3, 2)),
    DiagonalNoise(RNG.uniform(1, 3, size=(3, 2))),
    KroneckerNoise(RNG.normal(size=(3, 3)) + 2 * np.eye(3), np.array([[1.0, 0.4], [0.0, 2.0]])),
    DenseNoise(np.eye(6) + 0.3, (3, 2)),
    LowRankNoise(1, RNG.normal(size=(6, 2))),
    ToeplitzNoise([1, 0.5, 0.375], 1.5, (3, 2)),
]


def _covariance(noise: Covariance) -> np.ndarray:
    """The covariance of vec Z = vec colour(white), column by column."""
    rows, columns = noise.shape
    units = np.eye(rows * columns)
    images = [noise.colour(u.reshape((rows, columns), order="F")).ravel(order="F") for u in units]
    factor = np.stack(images, axis=1)
    return factor @ factor.T


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.kind)
def test_released_noise_has_the_covariance_that_was_priced(noise: Covariance) -> None:
    """Whitening what was released around a known value gives unit Gaussians, independent of each other."""
    release = MatrixRelease(GaussianMechanism(noise, FrobeniusBall(1)), entry_bound=100)
    value = RNG.normal(size=noise.shape)
    source = SeededTestEntropy(21)
    white = np.stack([noise.whiten(release.release(value, source) - value)[0].ravel(order="F") for _ in range(3_000)])
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-6
    correlation = white.T @ white / len(white)
    assert np.abs(correlation - np.eye(correlation.shape[0])).max() < 0.12
    doubled = white * 1.15  # control: noise a seventh too large is noticed
    assert stats.kstest(doubled.ravel(), "norm").pvalue < 1e-3


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.kind)
def test_whiten_and_colour_are_inverse(noise: Covariance) -> None:
    """colour(whiten(x)) = x, and the stated error contains the difference from the exact image."""
    value = RNG.normal(size=noise.shape)
    white, wrong = noise.whiten(value)
    assert np.allclose(noise.colour(white), value, rtol=1e-10, atol=1e-10)
    assert 0 < wrong < 1e-10
    inverse = np.linalg.inv(_covariance(noise))
    stacked = value.ravel(order="F")
    assert float((white**2).sum()) == pytest.approx(float(stacked @ inverse @ stacked), rel=1e-9)


def test_the_lattice_is_paid_for() -> None:
    """mu of the release is above mu of the mechanism by the lattice and the float error, and hardly more."""
    mechanism = GaussianMechanism(IidNoise(4, (1000, 100)), FrobeniusBall(1))
    fine, coarse = MatrixRelease(mechanism), MatrixRelease(mechanism, fraction_bits=12)
    assert mechanism.mu.upper < fine.mu < mechanism.mu.upper * (1 + Decimal("1e-6"))
    assert coarse.mu >= mechanism.mu.upper + Decimal(10**5).sqrt() / 4096
    assert fine.event() == Gaussian(1, fine.mu)


def test_neighbours_on_the_lattice_stay_within_what_was_paid() -> None:
    """The whole numbers that noise is added to differ, for random neighbours, by no more than the price says."""
    for noise in NOISES:
        release = MatrixRelease(GaussianMechanism(noise, FrobeniusBall(1)), entry_bound=10, fraction_bits=12)
        for _ in range(50):
            value, step = RNG.uniform(-5, 5, size=noise.shape), RNG.normal(size=noise.shape)
            other = value + step / np.linalg.norm(step)
            lattice = [np.rint(noise.whiten(v)[0] * 4096) for v in (value, other)]
            assert float(np.linalg.norm(lattice[0] - lattice[1])) / 4096 <= float(release.mu)


def test_rows_decide_nothing_but_the_answer() -> None:
    """Entries that are not finite, or beyond the bound, are clipped silently: the release succeeds all the same."""
    release = MatrixRelease(GaussianMechanism(IidNoise("1e-5", (2, 2)), FrobeniusBall(1)), entry_bound=3)
    answer = release.release([[float("nan"), float("inf")], [-1e300, 1.5]])
    assert np.allclose(answer, [[0, 3], [-3, 1.5]], atol=1e-4)
    with pytest.raises(InputError) as refusal:
        release.release([[31337.0, 2.0, 3.0]])
    assert "31337" not in str(refusal.value)
    with pytest.raises(InputError) as refusal:
        release.release([["secret", 1], [2, 3]])
    assert "secret" not in str(refusal.value)


def test_vectors_come_back_as_vectors() -> None:
    """A vector of d entries may be given with one axis."""
    release = MatrixRelease(GaussianMechanism(IidNoise(1, 5), FrobeniusBall(1)))
    assert release.release(np.zeros(5)).shape == (5,)


@pytest.mark.parametrize(("field", "value"), [("entry_bound", 0), ("entry_bound", float("nan")), ("fraction_bits", 51)])
def test_bad_settings_are_refused(field: str, value: object) -> None:
    """Bounds and precisions outside their range are named."""
    mechanism = GaussianMechanism(IidNoise(1, 5), FrobeniusBall(1))
    with pytest.raises(InputError):
        MatrixRelease(mechanism, **{field: value})  # type: ignore[arg-type]


def test_every_gaussian_account_charges_it() -> None:
    """mu in a Gaussian account, mu^2/2 in a zCDP one, and exactly mu^2 in a residue account."""
    event = MatrixRelease(GaussianMechanism(IidNoise(2, (4, 4)), FrobeniusBall(1))).event()
    charged = loss_for(event, _Notion("gdp"))
    assert isinstance(charged, GDP)
    assert event.l2_sensitivity <= charged.mu <= event.l2_sensitivity * (1 + Decimal("1e-25"))
    assert float(loss_for(event, _Notion("zcdp")).rho) == pytest.approx(0.125, rel=1e-6)  # type: ignore[union-attr]
    price = loss_for(event, _Notion("residue"))
    assert "0.25" in str(price)


@dataclass(frozen=True)
class _Notion:
    notion: str
    orders: tuple[Decimal, ...] = ()
