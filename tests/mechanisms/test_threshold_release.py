"""Thresholds for keys nobody listed: exact formulas, a strict comparison, and no trace of what is not shown."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from dosimeter.errors import InputError
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise
from dosimeter.mechanisms.threshold import (
    discrete_laplace_threshold,
    is_released,
    laplace_threshold,
    release_above_threshold,
)


@pytest.mark.parametrize(("keys", "threshold"), [(1, "11.8197782844103"), (3, "36.7551617191963")])
def test_known_thresholds(keys: int, threshold: str) -> None:
    """epsilon 1, delta 1e-5: a user with three keys needs three times the noise and a third of the delta for each."""
    got = laplace_threshold(1, "1e-5", keys)
    assert abs(Fraction(got) / Fraction(threshold) - 1) < Fraction(1, 10**14)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-5", "0.3", "0.9"])
@pytest.mark.parametrize("keys", [1, 2, 50])
def test_the_continuous_threshold_spends_delta_and_no_more(epsilon: str, delta: str, keys: int) -> None:
    """All keys of one lonely user stay hidden with probability at least 1 - delta, and nearly exactly that."""
    with mpmath.workdps(60):
        threshold = mpf(str(laplace_threshold(epsilon, delta, keys)))
        scale = keys / mpf(epsilon)
        gap = threshold - 1
        shown = mpmath.exp(-gap / scale) / 2 if gap >= 0 else 1 - mpmath.exp(gap / scale) / 2
        spent = 1 - (1 - shown) ** keys
        assert spent <= mpf(delta)
        assert spent >= mpf(delta) * (1 - mpf(10) ** -15)


@pytest.mark.parametrize("scale", ["0.01", "1", "7/3", "1000"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-5", "0.3"])
@pytest.mark.parametrize(("keys", "most"), [(1, 1), (3, 1), (4, 10)])
def test_the_discrete_threshold_is_the_smallest_that_is_safe(scale: str, delta: str, keys: int, most: int) -> None:
    """At the threshold the user's keys are shown with probability at most delta; one lower, with more."""
    noise = DiscreteLaplaceNoise(scale)
    threshold = discrete_laplace_threshold(noise, delta, keys, most)

    def spent(limit: int) -> mpf:
        a = mpmath.exp(-1 / mpf(str(noise.scale)))
        return 1 - (1 - a ** (limit - most + 1) / (1 + a)) ** keys

    with mpmath.workdps(60):
        assert spent(threshold) <= mpf(delta)
        assert threshold == most or spent(threshold - 1) > mpf(delta)


@pytest.mark.parametrize(
    ("noisy", "threshold", "released"),
    [(37, "37.3", False), (38, "37.3", True), (37, 37, False), (38, 37, True), ("37.3", "37.3", False), (-5, 1, False)],
)
def test_a_key_is_shown_strictly_above_the_threshold(noisy: object, threshold: object, released: bool) -> None:
    """37 does not clear 37.3, nor 37: neither side is rounded before the comparison, and equality is not enough."""
    assert is_released(noisy, threshold) is released  # type: ignore[arg-type]


def test_only_cleared_keys_appear_and_in_an_order_that_tells_nothing() -> None:
    """Hidden keys leave no entry; the shown ones are sorted by name, not by when their rows came."""
    noise = DiscreteLaplaceNoise(1)
    threshold = discrete_laplace_threshold(noise, "1e-9")
    counts = {"zebra": 1000, "lonely": 1, "ant": 500, "pair": 2}
    shown = release_above_threshold(counts, noise, threshold, SeededTestEntropy(5))
    assert list(shown) == ["ant", "zebra"]
    assert all(value > threshold for value in shown.values())
    swapped = release_above_threshold(dict(reversed(counts.items())), noise, threshold, SeededTestEntropy(5))
    assert shown == swapped


def test_a_lonely_key_is_shown_about_as_often_as_delta_says() -> None:
    """delta 0.05, 20000 tries, seeded: within 5 standard deviations; a threshold one lower is caught."""
    noise, delta, tries = DiscreteLaplaceNoise(1), Decimal("0.05"), 20_000
    threshold = discrete_laplace_threshold(noise, delta)
    keys = {f"key{i}": 1 for i in range(tries)}
    slack = 5 * (0.05 * 0.95 / tries) ** 0.5
    shown = len(release_above_threshold(keys, noise, threshold, SeededTestEntropy(6))) / tries
    assert shown <= 0.05 + slack
    lower = len(release_above_threshold(keys, noise, threshold - 1, SeededTestEntropy(6))) / tries
    assert lower > 0.05 + slack


@pytest.mark.parametrize("delta", [0, 1, -1, "nan", "inf", 1.5])
def test_a_threshold_needs_a_delta_between_zero_and_one(delta: object) -> None:
    """Without a delta no threshold hides a lonely key for sure."""
    for call in (
        lambda: laplace_threshold(1, delta),  # type: ignore[arg-type]
        lambda: discrete_laplace_threshold(DiscreteLaplaceNoise(1), delta),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="delta"):
            call()


def test_other_noise_has_no_threshold_here() -> None:
    """A threshold computed for Laplace noise must not be used with another."""
    for call in (
        lambda: discrete_laplace_threshold(DiscreteGaussianNoise(1), "1e-5"),  # type: ignore[arg-type]
        lambda: release_above_threshold({}, DiscreteGaussianNoise(1), 5),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="discrete Laplace noise only"):
            call()
    with pytest.raises(InputError, match="max_keys_per_user"):
        laplace_threshold(1, "1e-5", 0)
