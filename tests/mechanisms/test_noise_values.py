"""Noises as values: ranges, prices, JSON."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.events import DiscreteGaussian, DiscreteLaplace, Gaussian
from dosimeter.mechanisms.noise import (
    NOISES,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    RoundedGaussianNoise,
    noise_from_json,
    noise_kind,
    require_noise,
)

BAD = ["nan", "inf", "-inf", 0, -1, "-0.0", "1e-13", "1e13", "1e400", float("nan"), float("inf"), None, True, "", "1,5"]


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("bad", BAD)
def test_a_parameter_outside_its_range_is_refused_by_name(kind: type, bad: object) -> None:
    """NaN, infinities, zero, negatives and absurd sizes never become a noise; the error names the parameter."""
    with pytest.raises(InputError, match=kind.parameter):
        kind(bad)


@pytest.mark.parametrize(
    ("noise", "event"),
    [
        (DiscreteLaplaceNoise("10"), DiscreteLaplace(Decimal(10), Decimal(3))),
        (DiscreteGaussianNoise("2.5"), DiscreteGaussian(Decimal("2.5"), Decimal(3))),
        (RoundedGaussianNoise("2.5"), Gaussian(Decimal("2.5"), Decimal(3))),
    ],
)
def test_each_noise_names_the_event_that_prices_it(noise: object, event: object) -> None:
    """Discrete noises are priced as discrete, and a rounded Gaussian as the Gaussian it was rounded from."""
    assert noise.event(3) == event  # type: ignore[attr-defined]


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
@settings(max_examples=50, deadline=None)
def test_a_ratio_is_rounded_towards_more_noise_and_the_event_says_the_same(scale: Fraction) -> None:
    """The declared parameter is never below the asked one, and the event carries exactly the declared one."""
    for kind in NOISES:
        noise = kind(scale)  # type: ignore[arg-type]
        declared = getattr(noise, kind.parameter)
        assert Fraction(declared) >= scale
        assert getattr(noise.event(1), kind.parameter) == declared


@given(st.decimals(min_value="1e-12", max_value="1e12", allow_nan=False), st.sampled_from(NOISES))
@settings(max_examples=50, deadline=None)
def test_json_returns_the_same_noise(parameter: Decimal, kind: type) -> None:
    """What is written is read back equal, to the last digit."""
    noise = kind(parameter)
    assert noise_from_json(noise.to_json()) == noise


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {"kind": "laplace", "scale": "1"},
        {"kind": "discrete_laplace"},
        {"kind": "discrete_laplace", "sigma": "1"},
        {"kind": "discrete_laplace", "scale": "1", "seed": "0"},
        {"kind": "discrete_laplace", "scale": 1.0},
        {"kind": "discrete_gaussian", "sigma": "NaN"},
        {"kind": ["discrete_gaussian"], "sigma": "1"},
    ],
)
def test_json_that_was_not_written_here_is_refused(bad: object) -> None:
    """Unknown kinds, missing fields and extra fields (a seed, say) are refused, not ignored."""
    with pytest.raises(InputError):
        noise_from_json(bad)


def test_laplace_noise_costs_epsilon_and_no_delta() -> None:
    """Noise for epsilon 1 is priced at exactly l1/scale = 1; asking it to use a delta is refused."""
    noise = DiscreteLaplaceNoise.for_epsilon(1)
    assert noise.event(1) == DiscreteLaplace(Decimal(1), Decimal(1))
    assert DiscreteLaplaceNoise.for_epsilon("0.1", 3, delta=0) == DiscreteLaplaceNoise(30)
    for delta in ("1e-5", 0.1, Decimal("1e-300")):
        with pytest.raises(InputError, match="cannot use a delta"):
            DiscreteLaplaceNoise.for_epsilon(1, 1, delta)


@pytest.mark.parametrize("epsilon", ["0.3", "1/3", "0.7", "3", "1e-6"])
def test_noise_for_an_epsilon_never_costs_more(epsilon: str) -> None:
    """The scale is rounded so that sensitivity/scale stays at or below the asked epsilon."""
    noise = DiscreteLaplaceNoise.for_epsilon(epsilon, 7)
    assert 7 / Fraction(noise.scale) <= Fraction(epsilon)
    assert 7 / Fraction(noise.scale) >= Fraction(epsilon) * (1 - Fraction(1, 10**40))


def test_a_vector_is_priced_by_the_norm_over_all_its_coordinates() -> None:
    """Two coordinates that each change by 1 under Laplace scale 1 cost epsilon 2; Gaussian noise pays the root."""
    event = DiscreteLaplaceNoise(1).event_of_vector(1, 2)
    assert event.l1_sensitivity / event.scale == 2
    assert DiscreteGaussianNoise(1).event_of_vector(3, 4).l2_sensitivity == 6
    l2 = RoundedGaussianNoise(1).event_of_vector(1, 2).l2_sensitivity
    assert 2 <= Fraction(l2) ** 2 < 2 + Fraction(1, 10**45)


def test_the_callers_decimal_context_changes_nothing() -> None:
    """A context of three digits that rounds down does not shorten a parameter."""
    with localcontext() as context:
        context.prec = 3
        noise = DiscreteGaussianNoise("1.23456789")
        assert noise.event(1).sigma == Decimal("1.23456789")
        assert DiscreteLaplaceNoise.for_epsilon("0.7").scale > Decimal("1.42857142857142857142857142857")


def test_a_kind_is_looked_up_by_name_or_class() -> None:
    """Names and classes find the noise; anything else lists the names."""
    assert noise_kind("rounded_gaussian") is RoundedGaussianNoise
    assert noise_kind(DiscreteLaplaceNoise) is DiscreteLaplaceNoise
    with pytest.raises(InputError, match="discrete_laplace, discrete_gaussian, rounded_gaussian"):
        noise_kind("laplace")
    with pytest.raises(InputError, match="is not a noise"):
        require_noise(DiscreteLaplace(Decimal(1)))


@pytest.mark.parametrize(
    ("scale", "way_out"), [("1e13", "coarser"), ("1e-13", "finer"), ("0", "finer"), ("-1", "finer")]
)
@pytest.mark.parametrize("kind", [DiscreteLaplaceNoise, DiscreteGaussianNoise, RoundedGaussianNoise])
def test_a_parameter_out_of_range_names_the_range_and_the_way_out(kind, scale: str, way_out: str) -> None:
    """Too little noise and too much are different troubles with different ways out, and one range."""
    with pytest.raises(InputError, match=rf"\[1e-12, 1e\+12\].*{way_out}"):
        kind(scale)
