"""The laws of the noises against independent sums in another library's arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from dosimeter.enclosure import down, up
from dosimeter.mechanisms.laws import probability, standard_deviation, tail, variance
from dosimeter.mechanisms.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Noise,
    RoundedGaussianNoise,
)

SIGMAS = ["0.05", "0.3", "0.4", "0.5", "0.99", "1", "3.3", "19.5", "20", "35"]


def _weights(noise: Noise, reach: int) -> list[mpf]:
    """P(0), P(1), ..., P(reach) by the definition, with 60 digits."""
    if isinstance(noise, DiscreteLaplaceNoise):
        b = mpf(str(noise.scale))
        return [mpmath.tanh(1 / (2 * b)) * mpmath.exp(-x / b) for x in range(reach + 1)]
    s = mpf(str(noise.sigma))
    if isinstance(noise, RoundedGaussianNoise):
        upper = [mpmath.erfc((2 * x - 1) / (2 * s * mpmath.sqrt(2))) / 2 for x in range(reach + 2)]
        return [upper[x] - upper[x + 1] for x in range(reach + 1)]
    raw = [mpmath.exp(-(mpf(x) ** 2) / (2 * s * s)) for x in range(reach + 1)]
    total = raw[0] + 2 * mpmath.fsum(raw[1:])
    return [w / total for w in raw]


@pytest.mark.parametrize("kind", [DiscreteLaplaceNoise, DiscreteGaussianNoise, RoundedGaussianNoise])
@pytest.mark.parametrize("parameter", SIGMAS)
def test_masses_tails_and_variances_enclose_the_definition(kind: type, parameter: str) -> None:
    """Point masses, tails and variances agree with plain sums at 60 digits, on the promised side."""
    noise = kind(parameter)
    with mpmath.workdps(60):
        weights = _weights(noise, int(float(parameter) * (170 if kind is DiscreteLaplaceNoise else 30)) + 40)
        margin = mpf(10) ** -22
        for x in (0, 1, 2, 7):
            bound = probability(noise, x)
            assert probability(noise, -x) == bound
            assert mpf(str(bound.lower)) * (1 - margin) <= weights[x] <= mpf(str(bound.upper)) * (1 + margin)
        for width in (0, 1, 5, int(3 * float(parameter))):
            ball = tail(noise, width)
            truth = 2 * mpmath.fsum(weights[width + 1 :])
            if truth > mpf(10) ** -250:
                assert mpf(str(down(ball))) * (1 - margin) <= truth <= mpf(str(up(ball))) * (1 + margin)
        truth = 2 * mpmath.fsum(x * x * w for x, w in enumerate(weights))
        assert truth * (1 - margin) <= mpf(str(variance(noise))) <= truth * (1 + margin)
    assert Fraction(standard_deviation(noise)) ** 2 >= Fraction(variance(noise))


@pytest.mark.parametrize("sigma", ["33.3", "150", "300"])
@pytest.mark.parametrize("width", [0, 10, 60, 400])
def test_the_tail_of_a_wide_discrete_gaussian_is_a_plain_sum(sigma: str, width: int) -> None:
    """Thousands of terms added one by one agree with the tail; a tail that starts one later does not."""
    with mpmath.workdps(60):
        s = mpf(sigma)
        terms = [mpmath.exp(-(mpf(x) ** 2) / (2 * s * s)) for x in range(int(16 * s) + width)]
        truth = 2 * mpmath.fsum(terms[width + 1 :]) / (1 + 2 * mpmath.fsum(terms[1:]))
        ball = tail(DiscreteGaussianNoise(sigma), width)
        assert abs(mpf(str(up(ball))) / truth - 1) < mpf(10) ** -22
        later = tail(DiscreteGaussianNoise(sigma), width + 1)
        assert abs(mpf(str(up(later))) / truth - 1) > mpf(10) ** -5


@pytest.mark.parametrize(
    ("noise", "at", "value"),
    [
        (DiscreteLaplaceNoise("2"), 0, "0.24491866240370912928"),
        (DiscreteLaplaceNoise("2"), -3, "0.054648740365478837772"),
        (DiscreteLaplaceNoise("1"), 0, "0.46211715726000975850"),
        (DiscreteGaussianNoise("2"), 3, "0.064758797832945863807"),
        (DiscreteGaussianNoise("0.5"), 0, "0.78657070704194789970"),
        (DiscreteGaussianNoise("0.70710678118654752440084436210484903928483593768847"), 0, "0.56413122621884207461"),
    ],
)
def test_known_masses(noise: Noise, at: int, value: str) -> None:
    """Masses computed once by plain multi-precision sums."""
    bound = probability(noise, at)
    assert abs(Fraction(bound.upper) / Fraction(value) - 1) < Fraction(1, 10**18)
    assert bound.upper - bound.lower < Decimal("1e-23")


def test_known_normalisers_and_variances() -> None:
    """The sum over the integers is 2.5066... at sigma 1, 1.2713... at 1/2; there the variance is 0.2150, not 0.25."""
    for sigma, norm in (("1", "2.5066282880429055448"), ("0.5", "1.2713415221890152252")):
        mass = Fraction(probability(DiscreteGaussianNoise(sigma), 0).upper)
        assert abs(1 / mass / Fraction(norm) - 1) < Fraction(1, 10**18)
    assert abs(variance(DiscreteGaussianNoise("0.5")) - Decimal("0.21501267508813848638")) < Decimal("1e-18")
    assert abs(variance(DiscreteGaussianNoise(2)) - 4) < Decimal("1e-18")


@pytest.mark.parametrize("sigma", ["0.1", "0.5", "1", "1e3", "1e9"])
def test_a_discrete_gaussian_is_never_wider_than_its_sigma(sigma: str) -> None:
    """Its variance is at most sigma^2; rounding a Gaussian adds about 1/12."""
    assert variance(DiscreteGaussianNoise(sigma)) <= Decimal(sigma) ** 2 * (1 + Decimal("1e-20"))
    if Decimal(sigma) >= 1:
        surplus = variance(RoundedGaussianNoise(sigma)) - Decimal(sigma) ** 2
        assert abs(surplus - Decimal(1) / 12) < Decimal("1e-6")


def test_masses_far_out_are_positive() -> None:
    """A value at forty sigmas has a tiny mass, and a lower bound above zero."""
    for kind in (DiscreteGaussianNoise, RoundedGaussianNoise):
        bound = probability(kind(25), 900)
        assert 0 < bound.lower < bound.upper < Decimal("1e-250")


def test_more_gaussian_noise_is_not_always_more_private() -> None:
    """At epsilon 2.5, delta of the discrete Gaussian grows from sigma 0.5 to 0.52: why the surplus of a scale that was
    rounded up has to be removed, and not merely tolerated. Discrete Laplace noise has no such point."""

    def delta(noise: Noise, epsilon: float) -> float:
        masses = {x: float(probability(noise, x).upper) for x in range(-40, 41)}
        return sum(max(0.0, masses[x] - math.exp(epsilon) * masses[x + 1]) for x in range(-40, 40))

    narrow, wide = (delta(DiscreteGaussianNoise(sigma), 2.5) for sigma in ("0.5", "0.52"))
    assert 0.1034 < narrow < 0.1036
    assert 0.1142 < wide < 0.1145
    for epsilon in (0.1, 0.5, 1.0, 1.4, 1.9):
        deltas = [delta(DiscreteLaplaceNoise(scale), epsilon) for scale in ("0.5", "0.51", "0.6", "0.8")]
        assert deltas == sorted(deltas, reverse=True)
