"""Error bars are certain and smallest; the noise that meets one is certain and cheapest."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dosimeter.errors import InputError
from dosimeter.mechanisms import accuracy
from dosimeter.mechanisms.accuracy import half_width, noise_within
from dosimeter.mechanisms.noise import (
    NOISES,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Noise,
    RoundedGaussianNoise,
)


def _coverage(noise: Noise, width: int) -> mpf:
    """P(|noise| <= width) by other formulas than the product's, with 50 digits."""
    if isinstance(noise, DiscreteLaplaceNoise):
        b = mpf(str(noise.scale))
        body = mpmath.tanh(1 / (2 * b))
        a = mpmath.exp(-1 / b)
        return body * (1 + 2 * a * (1 - a**width) / (1 - a))
    s = mpf(str(noise.sigma))
    if isinstance(noise, RoundedGaussianNoise):
        return mpmath.erf((width + mpf(1) / 2) / (s * mpmath.sqrt(2)))
    # from sigma 5 on by Poisson's summation, whose terms after the first are below 1e-200
    total = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s * s))) if s < 5 else s * mpmath.sqrt(2 * mpmath.pi)
    return (1 + 2 * mpmath.fsum(mpmath.exp(-(mpf(x) ** 2) / (2 * s * s)) for x in range(1, width + 1))) / total


@given(
    st.sampled_from(NOISES),
    st.decimals("0.05", "40", places=3),
    st.decimals("0.01", "0.999999", places=6),
    st.integers(1, 1000),
)
@settings(max_examples=60, deadline=None)
def test_the_error_bar_covers_and_one_step_less_does_not(
    kind: type, parameter: Decimal, confidence: Decimal, values: int
) -> None:
    """P(all within t) >= confidence at the returned t, and not at t - 1."""
    noise = kind(parameter)
    width = half_width(noise, confidence, values)
    with mpmath.workdps(50):
        assert _coverage(noise, width) ** values >= mpf(str(confidence))
        assert width == 0 or _coverage(noise, width - 1) ** values < mpf(str(confidence))


@given(st.sampled_from(NOISES), st.integers(1, 60), st.decimals("0.01", "0.9999", places=4), st.integers(1, 100))
@settings(max_examples=40, deadline=None)
def test_the_noise_that_meets_a_width_is_the_largest(kind: type, width: int, confidence: Decimal, values: int) -> None:
    """Its own error bar is within the width; with 1e-20 more noise it would not be."""
    noise = noise_within(kind.kind, width, confidence, values)
    parameter = getattr(noise, kind.parameter)
    assert type(noise) is kind
    assert half_width(noise, confidence, values) <= width
    with mpmath.workdps(60):
        more = kind(Decimal(str(mpf(str(parameter)) * (1 + mpf(10) ** -20))))
        assert _coverage(noise, width) ** values >= mpf(str(confidence))
        assert _coverage(more, width) ** values < mpf(str(confidence))


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("parameter", ["1e4", "1e6", "1e9", "1e12"])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999", "0." + "9" * 60])
def test_wide_noise_has_error_bars_too(kind: type, parameter: str, confidence: str) -> None:
    """At sigma up to 1e12 the bar and its inverse agree to a step and to 15 digits."""
    noise = kind(parameter)
    width = half_width(noise, confidence)
    back = noise_within(kind, width, confidence)
    exact = Fraction(parameter)
    got = Fraction(getattr(back, kind.parameter))
    assert exact <= got <= min(exact * (1 + Fraction(2, width)), 10**12)
    assert half_width(back, confidence) == width


def test_known_error_bars() -> None:
    """1.96 sigma for a wide Gaussian at 95 percent; scale log(1/0.05) for a wide Laplace."""
    assert half_width(DiscreteGaussianNoise(10**6), "0.95") == 1959964
    assert half_width(RoundedGaussianNoise(10**6), "0.95") == 1959964
    assert half_width(DiscreteLaplaceNoise(10**6), "0.95") == 2995732
    assert half_width(DiscreteLaplaceNoise("0.01"), "0.95") == 0


@pytest.mark.parametrize("bad", [0, 1, "1.0", 95, -1, "nan", "inf", None, "0." + "9" * 350])
def test_a_confidence_outside_zero_and_one_is_refused(bad: object) -> None:
    """Percent, zero, one and NaN are refused; the message says how to write it."""
    for call in (lambda: half_width(DiscreteLaplaceNoise(1), bad), lambda: noise_within("discrete_laplace", 5, bad)):  # type: ignore[arg-type]
        with pytest.raises(InputError, match="confidence"):
            call()


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("bad", ["0.99", 0, -3, "nan", "1e16", "1/2"])
def test_a_width_under_one_step_cannot_be_met(kind: type, bad: object) -> None:
    """Noise moves a value by whole steps: a width under one is refused with the way out."""
    with pytest.raises(InputError, match="half_width"):
        noise_within(kind, bad, "0.95")  # type: ignore[arg-type]


def test_a_fraction_of_a_step_is_dropped() -> None:
    """A width of 5.9 steps is a width of 5."""
    assert noise_within("discrete_gaussian", "5.9", "0.95") == noise_within("discrete_gaussian", 5, "0.95")


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, 10**10])
def test_a_number_of_values_is_whole_and_positive(bad: object) -> None:
    """Zero values, fractions and absurd counts are refused by name."""
    with pytest.raises(InputError, match="values"):
        half_width(DiscreteLaplaceNoise(1), "0.95", bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", NOISES)
def test_the_widest_noise_is_the_largest_in_range(kind: type) -> None:
    """A width that any noise in range meets is answered with the largest, not with an error."""
    assert noise_within(kind, 10**15, "0.95") == kind(10**12)


@pytest.mark.parametrize("kind", ["discrete_laplace", "discrete_gaussian", "rounded_gaussian"])
@pytest.mark.parametrize("width", [1, 20, 12345])
def test_the_surroundings_do_not_change_the_noise(kind, width: int, monkeypatch) -> None:
    """Whatever precision a caller or another thread has set, and wherever the search starts: the same parameter."""
    wanted = noise_within(kind, width, "0.95", 3)
    guess = accuracy._parameter_guess
    for factor in ("0.999999999999", "1.0000000000000001", "1.7", "0.01"):
        with decimal.localcontext(prec=3, rounding=decimal.ROUND_UP), monkeypatch.context() as patched:
            patched.setattr(flint.ctx, "prec", 10)
            patched.setattr(accuracy, "_parameter_guess", lambda *a, f=factor: guess(*a) * Decimal(f))
            assert noise_within(kind, width, "0.95", 3) == wanted
    assert len(getattr(wanted, type(wanted).parameter).as_tuple().digits) <= 22
