"""Release: integers in, integers out, fresh noise for each, and no private value in a message."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dosimeter.errors import EntropyError, InputError
from dosimeter.mechanisms.entropy import SeededTestEntropy, SystemEntropy
from dosimeter.mechanisms.noise import (
    NOISES,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    RoundedGaussianNoise,
)
from dosimeter.mechanisms.release import release


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededTestEntropy(1)])
def test_every_output_is_a_whole_step_whatever_the_input(kind: type, entropy: object) -> None:
    """The outputs for 0 and for 1 lie on one lattice that was declared before: the whole numbers.

    No last bit tells the inputs apart, as it does when a float is added to a float.
    """
    for value in (0, 1, -7, 10**30):
        released = release([value] * 500, kind(1), entropy)  # type: ignore[arg-type]
        assert all(type(out) is int for out in released)
        assert {out - value for out in released} & {-1, 0, 1} == {-1, 0, 1}


@pytest.mark.parametrize("kind", NOISES)
def test_numbers_of_any_size_are_released_exactly(kind: type) -> None:
    """Beyond 64 bits and beyond 53 bits: the noise is the same, nothing wraps, saturates or is rounded."""
    values = [0, 2**63 - 1, -(2**63), 2**64 + 1, 10**400, -(10**400)]
    released = release(values, kind(2), SeededTestEntropy(4))
    noise = release([0] * len(values), kind(2), SeededTestEntropy(4))
    assert [out - value for out, value in zip(released, values, strict=True)] == noise
    assert max(map(abs, noise)) < 100


@pytest.mark.parametrize("kind", NOISES)
def test_no_values_no_noise(kind: type) -> None:
    """An empty vector is released as an empty vector."""
    assert release([], kind(1)) == []


@pytest.mark.parametrize("bad", [[1, None], ["7"], [1.5], [Decimal(3)], [float("nan")]])
def test_a_value_that_is_not_whole_is_refused_without_being_quoted(bad: list[object]) -> None:
    """The message says what is wanted; neither the value nor its place appears in it."""
    with pytest.raises(InputError) as caught:
        release(bad, DiscreteLaplaceNoise(1))  # type: ignore[arg-type]
    assert "whole numbers" in str(caught.value)
    for trace in ("None", "7", "1.5", "3", "nan"):
        assert trace not in str(caught.value)
    assert caught.value.__cause__ is None


def test_whole_numbers_of_other_libraries_are_welcome() -> None:
    """Whatever has an exact whole value is released as a Python whole number."""

    class Whole:
        def __index__(self) -> int:
            return 41

    released = release([Whole()], RoundedGaussianNoise("1e-12"))  # type: ignore[list-item]
    assert released == [41]
    assert type(released[0]) is int


def test_something_that_is_not_a_noise_is_refused() -> None:
    """A float scale or an event is not a noise."""
    for bad in (1.0, None, DiscreteLaplaceNoise(1).event(1)):
        with pytest.raises(InputError, match="is not a noise"):
            release([1], bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", NOISES)
def test_two_releases_are_independent(kind: type) -> None:
    """10 and 13, released in turn 200 times: with noise of scale 5 the difference is not the constant 3."""
    entropy = SystemEntropy()
    differences = [release([13], kind(5), entropy)[0] - release([10], kind(5), entropy)[0] for _ in range(200)]
    assert len(set(differences)) > 10
    together = [b - a for a, b in (release([10, 13], kind(5), entropy) for _ in range(200))]
    assert len(set(together)) > 10


def test_a_source_that_gives_too_little_is_not_believed() -> None:
    """A source must return as many whole numbers as asked; a short or fractional answer releases nothing."""

    class Short(SeededTestEntropy):
        def discrete_laplace(self, scale: Decimal, size: int) -> list[int]:
            return []

        def discrete_gaussian(self, sigma: Decimal, size: int) -> list[int]:
            return [0.5] * size  # type: ignore[list-item]

    for noise in (DiscreteLaplaceNoise(1), DiscreteGaussianNoise(1)):
        with pytest.raises(EntropyError, match="whole numbers"):
            release([1, 2], noise, Short(0))
