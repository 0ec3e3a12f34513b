"""The rounded Gaussian is decided, not approximated: its law is read off the tree of all bits."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import EntropyError
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.laws import probability
from dosimeter.mechanisms.noise import RoundedGaussianNoise
from dosimeter.mechanisms.rounded_gaussian import FIRST_BITS, rounded_gaussian


@pytest.mark.parametrize("sigma", ["0.3", "1", "2.7", "10"])
@pytest.mark.parametrize("first", [1, 4])
def test_the_law_is_that_of_a_rounded_gaussian(bit_tree, sigma: str, first: int) -> None:
    """Revealing bits one at a time, the decided mass of every value fits Phi((k+1/2)/s) - Phi((k-1/2)/s)."""
    tree = bit_tree(lambda bits: rounded_gaussian(Decimal(sigma), 1, bits, first_bits=first, more_bits=1)[0], depth=12)
    noise = RoundedGaussianNoise(Decimal(sigma))
    for k in range(-30, 31):
        claimed = probability(noise, k)
        assert tree.agrees(k, claimed.lower, claimed.upper), k
    assert tree.undecided < Fraction(1, 20)


def test_the_tree_catches_a_sigma_two_percent_off(bit_tree) -> None:
    """Control: against a law 2 percent narrower the same tree disagrees."""
    tree = bit_tree(lambda bits: rounded_gaussian(Decimal(1), 1, bits, first_bits=1, more_bits=1)[0], depth=14)
    narrow = RoundedGaussianNoise(Decimal("0.98"))
    bounds = [probability(narrow, k) for k in range(-3, 4)]
    assert not all(tree.agrees(k, b.lower, b.upper) for k, b in zip(range(-3, 4), bounds, strict=True))


def test_the_tree_catches_floor_instead_of_round(bit_tree) -> None:
    """Control: a Gaussian cut down to the next integer below is not symmetric, and the tree shows it."""

    def floored(bits):  # shift by half a step: floor(y) has the law of the rounded value of y - 1/2
        value = rounded_gaussian(Decimal(2), 1, bits, first_bits=1, more_bits=1)[0]
        return value // 2  # floor of a finer grid

    tree = bit_tree(floored, depth=12)
    coarse = RoundedGaussianNoise(Decimal(1))
    bounds = [probability(coarse, k) for k in range(-3, 4)]
    assert not all(tree.agrees(k, b.lower, b.upper) for k, b in zip(range(-3, 4), bounds, strict=True))


@given(st.integers(0, 2 ** (FIRST_BITS + 1) - 1), st.integers(0, 2**64 - 1))
@settings(max_examples=60, deadline=None)
def test_more_bits_never_change_a_decided_value(word: int, more: int) -> None:
    """What the first bits decide is what any continuation of them decides."""
    sigma = Decimal("12.5")
    asked = []

    def first_only(width: int) -> int:
        asked.append(width)
        if len(asked) > 1:
            raise LookupError
        return word

    try:
        short = rounded_gaussian(sigma, 1, first_only)
    except LookupError:
        return  # undecided: nothing is claimed
    longer = rounded_gaussian(sigma, 1, lambda width: (word << 64) | more, first_bits=FIRST_BITS + 64)
    assert short == longer


def test_a_draw_near_a_boundary_is_refined_not_guessed() -> None:
    """With few first bits almost every draw at a large sigma needs more of them, and gets them."""
    entropy = SeededTestEntropy(3)
    asked: list[int] = []

    def bits(width: int) -> int:
        asked.append(width)
        return entropy.bits(width)

    drawn = rounded_gaussian(Decimal("1e12"), 50, bits, first_bits=8, more_bits=16)
    assert asked.count(16) >= 50
    assert len(set(drawn)) == 50


@pytest.mark.parametrize("bit", [0, 1])
def test_the_tail_and_the_centre_are_reached_exactly(bit: int) -> None:
    """All zeros is the far tail: no bits decide it and the source is called stuck. All ones is the centre: 0."""

    def bits(width: int) -> int:
        return ((1 << width) - 1) * bit

    if bit:
        assert rounded_gaussian(Decimal(1), 1, bits) == [0]
    else:
        with pytest.raises(EntropyError, match="stuck"):
            rounded_gaussian(Decimal(1), 1, bits)


def test_a_word_of_zeros_followed_by_a_one_is_a_large_finite_value() -> None:
    """The uniform number 2^-96 belongs to about 11.2 standard deviations, and that is what comes out."""
    script = iter([0, 1 << 63])
    value = rounded_gaussian(Decimal(100), 1, lambda width: next(script))[0]
    assert 1100 < value < 1200
