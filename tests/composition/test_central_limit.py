"""The central limit theorem guarantees what it says with gamma, and nothing without it."""

from decimal import Decimal

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import (
    Estimate,
    central_limit,
    estimate_delta_central_limit,
    estimate_delta_edgeworth,
    estimate_delta_saddle_point,
    gaussians_delta,
    optimal_homogeneous_delta,
    optimal_homogeneous_epsilon,
)
from dosimeter.composition.central_limit import _moments
from dosimeter.enclosure import precision
from dosimeter.errors import InputError
from dosimeter.events import Gaussian, Laplace, RandomizedResponse
from dosimeter.notions import ApproxDP, PureDP


@given(st.decimals("0.005", "0.5", places=3), st.integers(200, 5000), st.integers(0, 40))
@settings(max_examples=40, deadline=None)
def test_gamma_covers_the_error(epsilon: Decimal, count: int, tenth: int) -> None:
    """The exact delta of randomized responses always lies in the enclosure."""
    level = Decimal(tenth) / 20
    bound = central_limit([(RandomizedResponse(epsilon), count)]).delta(level)
    assert bound.lower <= optimal_homogeneous_delta(epsilon, count, level)
    assert optimal_homogeneous_delta(epsilon, count, level) <= bound.upper


def test_the_enclosure_says_something() -> None:
    """1e6 small responses: both ends are away from 0 and 1."""
    bound = central_limit([(RandomizedResponse("0.001"), 10**6)]).delta("0.5")
    assert (
        Decimal("0.22") < bound.lower < optimal_homogeneous_delta("0.001", 10**6, "0.5") < bound.upper < Decimal("0.25")
    )


def test_the_number_without_gamma_is_not_a_bound() -> None:
    """Control: the bare normal value lies below the exact delta, so it may not be a guarantee."""
    parts = [(RandomizedResponse("0.1"), 100)]
    exact = optimal_homogeneous_delta("0.1", 100, "0.5")
    assert estimate_delta_central_limit(parts, "0.5").value < exact * Decimal("0.998")
    assert central_limit(parts).delta("0.5").upper >= exact


def test_an_estimate_is_no_loss() -> None:
    """No notion accepts an Estimate, and it says how it was found."""
    value = estimate_delta_central_limit([(RandomizedResponse("0.1"), 100)], 1)
    assert isinstance(value, Estimate)
    assert value.method == "central_limit"
    for notion in (PureDP, lambda v: ApproxDP(Decimal(1), v)):
        with pytest.raises(InputError):
            notion(value)  # type: ignore[operator]


def test_gaussian_releases_are_already_normal() -> None:
    """For Gaussian releases every estimate but the leading saddle term is exact."""
    parts = [(Gaussian("20"), 1000)]
    truth = gaussians_delta(parts, 5)
    for estimate in (estimate_delta_central_limit, estimate_delta_edgeworth):
        assert abs(estimate(parts, 5).value / truth - 1) < Decimal("1e-11")
    assert abs(estimate_delta_saddle_point(parts, 5).value / truth - 1) < Decimal("0.06")


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-9", "1e-30"])
def test_the_saddle_point_follows_the_tail(delta: str) -> None:
    """1000 responses of 0.1: within 5 percent of delta, far into the tail, where the normal value is off."""
    parts = [(RandomizedResponse("0.1"), 1000)]
    epsilon = optimal_homogeneous_epsilon("0.1", 1000, delta)
    assert abs(estimate_delta_saddle_point(parts, epsilon).value / Decimal(delta) - 1) < Decimal("0.05")
    if delta == "1e-30":
        assert estimate_delta_central_limit(parts, epsilon).value > 5 * Decimal(delta)


def test_edgeworth_beats_the_normal_value() -> None:
    """Skewness and kurtosis bring the estimate closer."""
    parts = [(RandomizedResponse("0.3"), 50)]
    truth = optimal_homogeneous_delta("0.3", 50, 6)
    edgeworth, normal = estimate_delta_edgeworth(parts, 6).value, estimate_delta_central_limit(parts, 6).value
    assert abs(edgeworth / truth - 1) < abs(normal / truth - 1)


@pytest.mark.parametrize("ratio", ["0.01", "0.5", "1", "3", "12"])
def test_laplace_moments_equal_their_integrals(ratio: str) -> None:
    """Mean, variance and third absolute moment of the Laplace loss, integrated by another library."""
    with mpmath.workdps(40):
        e = mpmath.mpf(ratio)
        mean = e + mpmath.exp(-e) - 1

        def expect(f):  # type: ignore[no-untyped-def]
            inner = mpmath.quad(lambda x: f(x) * mpmath.exp((x - e) / 2) / 4, [-e, mean, e])
            return f(e) / 2 + f(-e) * mpmath.exp(-e) / 2 + inner

        wanted = (mean, expect(lambda x: (x - mean) ** 2), expect(lambda x: abs(x - mean) ** 3))
        with precision(400):
            ours = [mpmath.mpf(part.mid().str(40, radius=False)) for part in _moments(Laplace(1 / Decimal(ratio)))]
        for got, want in zip(ours, wanted, strict=True):
            assert abs(got / want - 1) < mpmath.mpf("1e-20")


def test_the_tradeoff_encloses_symmetrically() -> None:
    """f lies between the shifted normal curves, where the theorem speaks."""
    limit = central_limit([(Laplace("50"), 2000)])
    bound = limit.tradeoff("0.4")
    assert Decimal(0) < bound.lower < bound.upper < 1
    assert limit.tradeoff("0.3").upper > bound.upper
    with pytest.raises(InputError, match="gamma"):
        limit.tradeoff("0.0001")


def test_a_response_that_may_reveal_everything_is_refused() -> None:
    """No normal law approximates an infinite loss."""
    with pytest.raises(InputError, match="delta"):
        central_limit([RandomizedResponse("0.1", "1e-6")])
