"""Discrete noise: the closed forms against enumeration of the integers, at small and at huge scales."""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors import truth
from tests.vectors.truth import is_upper, m

from dosimeter.enclosure import enclose, up
from dosimeter.notions import profiles as p
from dosimeter.notions.profiles.gaussian_sums import _direct, _euler_maclaurin, half_line_sum, line_sum

sigmas = st.integers(10, 1500).map(lambda k: Decimal(k) / 100)
shifts = st.integers(1, 7)


def gaussian_by_enumeration(sigma: Decimal, shift: int, epsilon: Decimal) -> mpmath.mpf:
    s, factor, reach = m(sigma), mpmath.exp(m(epsilon)), int(40 * sigma) + 40 + 2 * shift
    weight = {k: mpmath.exp(-mpmath.mpf(k * k) / (2 * s * s)) for k in range(-reach - shift, reach + shift + 1)}
    gap = sum(max(0, weight[k] - factor * weight[k - shift]) for k in range(-reach, reach + 1))
    return gap / sum(weight.values())


@given(sigmas.filter(lambda s: s <= 4), shifts, st.integers(0, 400).map(lambda k: Decimal(k) / 50))
@settings(max_examples=50, deadline=None)
def test_discrete_gaussian_delta(sigma: Decimal, shift: int, epsilon: Decimal) -> None:
    """The profile of one integer is the sum over all outputs of (P - e^epsilon Q)+."""
    with mpmath.workdps(60):
        exact = gaussian_by_enumeration(sigma, shift, epsilon)
        if exact > mpmath.mpf("1e-35"):
            assert is_upper(p.discrete_gaussian_delta(sigma, shift, epsilon), exact)


@given(st.integers(1, 60).map(lambda k: Decimal(k) / 10), shifts, st.integers(-100, 100).map(lambda k: Decimal(k) / 20))
@settings(max_examples=30, deadline=None)
def test_discrete_laplace_delta(scale: Decimal, shift: int, epsilon: Decimal) -> None:
    """The closed form at every real epsilon is the sum over all outputs of (P - e^epsilon Q)+."""
    with mpmath.workdps(50):
        b, factor, reach = m(scale), mpmath.exp(m(epsilon)), int(110 * scale) + 30
        mass = [mpmath.tanh(1 / (2 * b)) * mpmath.exp(-k / b) for k in range(reach + shift + 1)]
        exact = sum(max(0, mass[abs(k)] - factor * mass[abs(k - shift)]) for k in range(-reach, reach + 1))
        ours = p.discrete_laplace_delta(scale, shift, epsilon)
        if Fraction(epsilon) * Fraction(scale) >= shift:
            assert ours == 0
        elif exact > mpmath.mpf("1e-25"):
            assert is_upper(ours, exact * (1 - mpmath.mpf("1e-45")), "1e-18")


def test_discrete_is_not_continuous() -> None:
    """At scale 1 and epsilon 1/2 the discrete Laplace has delta 0.2876, the continuous one 0.2212."""
    discrete, continuous = p.discrete_laplace_delta(1, 1, "0.5"), p.laplace_delta(1, "0.5")
    assert abs(float(discrete) - 0.287649136644968) < 1e-14
    assert abs(float(continuous) - 0.221199216928595) < 1e-14


def test_a_discrete_gaussian_is_not_gdp() -> None:
    """At sigma^2 = 1/2, epsilon 2, the discrete delta is above that of the continuous pair: mu = D/sigma is false."""
    sigma = Decimal("0.70710678118654752440")
    assert p.discrete_gaussian_delta(sigma, 1, 2) > Decimal("0.141")
    assert p.gaussian_delta(1 / sigma, 2) < Decimal("0.115")


@given(sigmas, shifts, st.integers(0, 60).map(lambda k: Decimal(k) / 10))
@settings(max_examples=50, deadline=None)
def test_a_larger_shift_is_easier_to_see(sigma: Decimal, shift: int, epsilon: Decimal) -> None:
    """The profile at a sensitivity covers every smaller change, and never exceeds what zCDP allows."""
    here, further = (p.discrete_gaussian_delta(sigma, s, epsilon) for s in (shift, shift + 1))
    assert here <= further * (1 + Decimal("1e-23"))
    rho = Fraction(shift) ** 2 / (2 * Fraction(sigma) ** 2)
    assert here <= p.zcdp_delta(rho, epsilon) * (1 + Decimal("1e-23"))
    near, far = (p.discrete_laplace_delta(sigma, s, epsilon) for s in (shift, shift + 1))
    assert near <= far * (1 + Decimal("1e-23"))


@given(sigmas.filter(lambda s: s > Decimal("0.3")), shifts, st.integers(1, 30).map(lambda k: Decimal(f"1e-{k}")))
@settings(max_examples=30, deadline=None)
def test_discrete_gaussian_epsilon_inverts(sigma: Decimal, shift: int, delta: Decimal) -> None:
    """The exact delta at the returned epsilon is at most the target, and above it just below."""
    epsilon = p.discrete_gaussian_epsilon(sigma, shift, delta)
    assert p.discrete_gaussian_delta(sigma, shift, epsilon) <= delta * (1 + Decimal("1e-24"))
    if epsilon:
        assert p.discrete_gaussian_delta(sigma, shift, epsilon * (1 - Decimal("1e-15"))) > delta


def test_more_noise_is_not_always_more_private() -> None:
    """The exact delta of the discrete Gaussian is not monotone in sigma, so a calibrated sigma must not be rounded."""
    assert p.discrete_gaussian_delta("0.947", 2, 8) > p.discrete_gaussian_delta("0.875", 2, 8)
    sigma = p.discrete_gaussian_sigma(2, 8, "0.0014")
    assert p.discrete_gaussian_delta(sigma, 2, 8) <= Decimal("0.0014") * (1 + Decimal("1e-23"))


@pytest.mark.parametrize("sigma", ["0.001", "0.05", "0.39", "0.41", "1", "7.3", "1000", "1e6"])
def test_mass_and_variance(sigma: str) -> None:
    """The masses sum to one, and the variance is at most sigma^2."""
    norm, variance = p.discrete_gaussian_norm(sigma), p.discrete_gaussian_variance(sigma)
    assert variance <= Decimal(sigma) ** 2 * (1 + Decimal("1e-23"))
    reach = int(Decimal(sigma) * 14) + 2
    if reach < 200:
        total = sum(p.discrete_gaussian_pmf(sigma, k) for k in range(-reach, reach + 1))
        assert abs(total - 1) < Decimal("1e-20")
    with mpmath.workdps(50):
        s = m(Decimal(sigma))
        dual = mpmath.jtheta(3, 0, mpmath.exp(-2 * (mpmath.pi * s) ** 2)) if s > 0.3 else None
        exact = s * mpmath.sqrt(2 * mpmath.pi) * dual if dual else mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s * s)))
        assert is_upper(norm, exact)


@pytest.mark.parametrize("scale", ["0.1", "1", "2.5"])
def test_discrete_laplace_mass_and_variance(scale: str) -> None:
    """The masses sum to one, and the variance is their second moment."""
    reach = int(Decimal(scale) * 60) + 20
    masses = {k: p.discrete_laplace_pmf(scale, k) for k in range(-reach, reach + 1)}
    assert abs(sum(masses.values()) - 1) < Decimal("1e-20")
    assert abs(sum(k * k * w for k, w in masses.items()) / p.discrete_laplace_variance(scale) - 1) < Decimal("1e-18")


@pytest.mark.parametrize(("sigma", "first"), [("24", 1), ("24", 40), ("30", 200), ("61.7", 1), ("90", 900)])
def test_two_ways_to_sum_a_tail_agree(sigma: str, first: int) -> None:
    """Term by term and by Euler-Maclaurin with its remainder, the enclosures overlap to 40 digits."""
    from dosimeter.enclosure import ball, precision

    with precision(224):
        s = ball(Decimal(sigma))
        direct, smooth = _direct(s, first), _euler_maclaurin(s, first)
        assert direct.overlaps(smooth)
        assert abs(direct / smooth - 1) < ball(Decimal("1e-40"))


@pytest.mark.parametrize("sigma", [Decimal("0.3"), Decimal("5"), Decimal("1e5"), Decimal("1e12")])
@pytest.mark.parametrize("deviations", [-3, 0, 2, 8, 30])
def test_a_tail_is_between_its_integrals(sigma: Decimal, deviations: int) -> None:
    """The sum over k >= n lies between the integrals from n and from n - 1 of a decreasing function."""
    first = math.ceil(sigma * deviations) + 1
    if first >= 1:
        total = up(enclose(lambda: half_line_sum(sigma, first)))
        with mpmath.workdps(60):
            s = m(sigma)
            above, below = (s * mpmath.sqrt(2 * mpmath.pi) * truth.normal_cdf(-x / s) for x in (first - 1, first))
            assert below <= m(total) * (1 + mpmath.mpf("1e-24"))
            assert m(total) <= above * (1 + mpmath.mpf("1e-24"))
    else:
        left = up(enclose(lambda: half_line_sum(sigma, first) + half_line_sum(sigma, 1 - first)))
        assert left == up(enclose(lambda: line_sum(sigma)))


def test_a_million_wide_is_as_quick_as_one() -> None:
    """Huge scales answer, close to the continuous noise they approach."""
    wide = p.discrete_gaussian_delta("1e6", 10**6, 1)
    assert abs(wide / p.gaussian_delta(1, 1) - 1) < Decimal("1e-10")
    assert p.discrete_gaussian_sigma(10**6, 1, "1e-9") > 10**6


@pytest.mark.parametrize("scale", ["1e-300", "1e-20", "1e-5", "1e12"])
@pytest.mark.parametrize("epsilon", ["-1", "0", "1", "1e12"])
def test_extreme_scales_answer(scale: str, epsilon: str) -> None:
    """From no noise at all to a million million steps, every profile is a probability and every sum ends."""
    for delta in (p.discrete_gaussian_delta(scale, 1, epsilon), p.discrete_laplace_delta(scale, 1, epsilon)):
        assert 0 <= delta <= 1
    assert 1 <= p.discrete_gaussian_norm(scale) <= 3 * max(Decimal(1), Decimal(scale))
    assert 0 < p.discrete_gaussian_variance(scale) <= max(Decimal(scale) ** 2, Decimal("1e-300")) * Decimal("1.0001")
