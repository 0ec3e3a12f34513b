"""Statistical tests of the noises: fixed seeds, a stated false-alarm rate, and controls that must fail.

Every test asks one question of a p-value with the threshold 1e-6; with the fixed seeds the answer never changes, so
the false-alarm rate was paid once, when the seeds were chosen (blindly: 1, 2, 3). The controls are samplers with a
small flaw of a kind seen in the field; the same test, at the same size and threshold, has to catch each of them.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from itertools import pairwise

import pytest

from dosimeter.mechanisms.entropy import SeededTestEntropy, SystemEntropy
from dosimeter.mechanisms.laws import probability, variance
from dosimeter.mechanisms.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Noise,
    RoundedGaussianNoise,
)
from dosimeter.mechanisms.release import draw

ALARM = 1e-6
SIZE = 60_000
LONGER = {DiscreteLaplaceNoise: 150_000}  # the scale of a Laplace is harder to see: twice the draws, and more

CASES: list[tuple[Noise, int]] = [
    (DiscreteLaplaceNoise(Decimal("1")), 1),
    (DiscreteLaplaceNoise(Decimal("4.7")), 2),
    (DiscreteGaussianNoise(Decimal("0.8")), 3),
    (DiscreteGaussianNoise(Decimal("5.25")), 1),
    (RoundedGaussianNoise(Decimal("0.6")), 2),
    (RoundedGaussianNoise(Decimal("3.1")), 3),
]


@cache
def _drawn(noise: Noise, seed: int) -> tuple[int, ...]:
    return tuple(draw(noise, LONGER.get(type(noise), SIZE), SeededTestEntropy(seed)))


def chi_square(drawn: tuple[int, ...], noise: Noise) -> float:
    """p-value of the counts per value; values expected fewer than 10 times share the two end cells."""
    from scipy.stats import chi2

    reach = 0
    while len(drawn) * probability(noise, reach + 1).lower >= 10:
        reach += 1
    cells = [float(probability(noise, x).upper) for x in range(-reach, reach + 1)]
    rest = max(1e-12, (1 - sum(cells)) / 2)
    counts = Counter(max(-reach - 1, min(reach + 1, x)) for x in drawn)
    seen = [counts[x] for x in range(-reach - 1, reach + 2)]
    expected = [len(drawn) * p for p in (rest, *cells, rest)]
    return float(chi2.sf(sum((o - e) ** 2 / e for o, e in zip(seen, expected, strict=True)), len(seen) - 1))


def spread(drawn: tuple[int, ...], noise: Noise) -> float:
    """Two-sided p-value of the mean of |x| (Laplace: 1/sinh(1/scale)) or of x^2 (the variance), normal limit."""
    n = len(drawn)
    if isinstance(noise, DiscreteLaplaceNoise):
        values, expected = [abs(x) for x in drawn], 1 / math.sinh(1 / noise.scale)
    else:
        values, expected = [x * x for x in drawn], float(variance(noise))
    mean = sum(values) / n
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
    return math.erfc(abs(mean - expected) / deviation / math.sqrt(2))


def centre(drawn: tuple[int, ...], noise: Noise) -> float:
    """Two-sided p-value of the mean against zero."""
    return math.erfc(abs(sum(drawn)) / math.sqrt(len(drawn) * float(variance(noise))) / math.sqrt(2))


def serial(drawn: tuple[int, ...], noise: Noise) -> float:
    """Two-sided p-value of the product of neighbours against zero: draws must not follow one another."""
    total = sum(a * b for a, b in pairwise(drawn))
    return math.erfc(abs(total) / math.sqrt(len(drawn)) / float(variance(noise)) / math.sqrt(2))


@pytest.mark.parametrize(("noise", "seed"), CASES)
@pytest.mark.parametrize("question", [chi_square, spread, centre, serial])
def test_draws_follow_the_stated_law(noise: Noise, seed: int, question: Callable[..., float]) -> None:
    """60,000 draws or more agree with the exact law in counts, spread, centre and independence (p > 1e-6)."""
    assert question(_drawn(noise, seed), noise) > ALARM


@pytest.mark.parametrize(("noise", "seed"), CASES)
def test_a_scale_two_percent_off_is_caught(noise: Noise, seed: int) -> None:
    """Control: the same draws, judged against a law 2 percent wider or narrower, are rejected."""
    declared = getattr(noise, noise.parameter)
    for factor in ("0.98", "1.02"):
        wrong = type(noise)(declared * Decimal(factor))
        assert min(spread(_drawn(noise, seed), wrong), chi_square(_drawn(noise, seed), wrong)) < ALARM


def test_a_rounded_continuous_laplace_is_caught() -> None:
    """Control: rounding a continuous Laplace is not the discrete one, although its scale is right."""
    generator = random.Random(1)
    flawed = tuple(round(generator.expovariate(1) * generator.choice((-1, 1))) for _ in range(SIZE))
    assert chi_square(flawed, DiscreteLaplaceNoise(Decimal(1))) < ALARM


def test_a_rounded_gaussian_is_not_a_discrete_one() -> None:
    """Control: at sigma 0.8 the two Gaussian noises differ, and each is told from the other."""
    rounded = tuple(draw(RoundedGaussianNoise(Decimal("0.8")), SIZE, SeededTestEntropy(1)))
    assert chi_square(rounded, RoundedGaussianNoise(Decimal("0.8"))) > ALARM
    assert chi_square(rounded, DiscreteGaussianNoise(Decimal("0.8"))) < ALARM


def test_floor_instead_of_round_is_caught() -> None:
    """Control: a Gaussian cut to the integer below has mean -1/2."""
    generator = random.Random(1)
    flawed = tuple(math.floor(generator.gauss(0, 3.1)) for _ in range(SIZE))
    assert centre(flawed, RoundedGaussianNoise(Decimal("3.1"))) < ALARM


def test_noise_used_twice_is_caught() -> None:
    """Control: a source that hands out every draw twice passes the counts and fails the test of independence."""
    once = draw(DiscreteLaplaceNoise(Decimal(5)), SIZE // 2, SeededTestEntropy(2))
    twice = tuple(value for value in once for _ in range(2))
    assert serial(twice, DiscreteLaplaceNoise(Decimal(5))) < ALARM


@pytest.mark.parametrize(
    "noise",
    [
        DiscreteLaplaceNoise(Decimal("3.3")),
        DiscreteGaussianNoise(Decimal("2.7")),
        RoundedGaussianNoise(Decimal("1.9")),
    ],
)
def test_the_system_source_follows_the_same_law(noise: Noise) -> None:
    """The production source cannot be seeded: four questions, each with a false-alarm rate of 1e-10 per run."""
    drawn = tuple(draw(noise, 20_000, SystemEntropy()))
    for question in (chi_square, spread, centre, serial):
        assert question(drawn, noise) > 1e-10
