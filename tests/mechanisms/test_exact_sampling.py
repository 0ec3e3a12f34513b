"""Exact samplers, known exactly: their law is read off the tree of all bit strings, not estimated."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from dosimeter.errors import EntropyError
from dosimeter.mechanisms import exact_sampling
from dosimeter.mechanisms.entropy import ScriptedTestEntropy, SeededTestEntropy
from dosimeter.mechanisms.laws import probability
from dosimeter.mechanisms.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise

Bits = Callable[[int], int]


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 16, 37])
def test_uniform_integers_are_uniform(bit_tree, bound: int) -> None:
    """Every value below the bound has the same mass, and none lies outside."""
    tree = bit_tree(lambda bits: exact_sampling.uniform_below(bound, bits), depth=14)
    assert set(tree.mass) == set(range(bound))
    assert len(set(tree.mass.values())) == 1
    assert tree.agrees(0, Fraction(1, bound))


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 1), (1, 3), (5, 7), (2, 2), (1, 6)])
def test_a_ratio_is_drawn_with_its_probability(bit_tree, numerator: int, denominator: int) -> None:
    """A Bernoulli of a rational probability has exactly that probability."""
    tree = bit_tree(lambda bits: exact_sampling.bernoulli(numerator, denominator, bits), depth=12)
    assert tree.agrees(True, Fraction(numerator, denominator))
    assert tree.undecided < Fraction(1, 10)


def test_a_long_denominator_is_compared_digit_by_digit() -> None:
    """With 64-bit digits, the decision is that of the whole number the bits spell."""
    generator = random.Random(1)
    denominator = 3**90
    for _ in range(300):
        words = [generator.getrandbits(64) for _ in range(6)]
        numerator = generator.randrange(denominator)
        if generator.random() < 0.5:  # make the first digits agree, so that later ones decide
            words[0] = (numerator << 64) // denominator
        script = iter(words)
        got = exact_sampling.bernoulli(numerator, denominator, lambda width, script=script: next(script))
        spelled = sum(Fraction(word, 1 << 64 * (i + 1)) for i, word in enumerate(words))
        assert got == (spelled < Fraction(numerator, denominator))


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 2), (1, 1), (3, 2), (2, 1)])
def test_exponential_coins_have_the_exponential_probability(bit_tree, numerator: int, denominator: int) -> None:
    """bernoulli_exp succeeds with probability exp(-ratio), up to what depth leaves undecided."""
    from mpmath import exp, mpf

    tree = bit_tree(lambda bits: exact_sampling.bernoulli_exp(numerator, denominator, bits), depth=14)
    truth = Fraction(str(exp(-mpf(numerator) / denominator)))
    assert tree.agrees(True, truth - Fraction(1, 10**12), truth + Fraction(1, 10**12))
    assert tree.undecided < Fraction(1, 10)


@pytest.mark.parametrize("scale", ["1", "0.5", "2/3", "2", "1/3"])
def test_discrete_laplace_has_its_law(bit_tree, scale: str) -> None:
    """P(x) = tanh(1/(2 scale)) exp(-|x|/scale) at every point, from the tree of all bits."""
    tree = bit_tree(lambda bits: exact_sampling.discrete_laplace(Fraction(scale), bits), depth=15)
    noise = DiscreteLaplaceNoise(scale)  # type: ignore[arg-type]
    for x in range(-6, 7):
        claimed = probability(noise, x)
        assert tree.agrees(x, claimed.lower, claimed.upper), x
    assert tree.undecided < Fraction(1, 2)


def test_discrete_gaussian_has_its_law(bit_tree) -> None:
    """P(x) is proportional to exp(-x^2/(2 sigma^2)) at every point, from the tree of all bits."""
    tree = bit_tree(lambda bits: exact_sampling.discrete_gaussian(Fraction(1, 2), bits), depth=16)
    noise = DiscreteGaussianNoise("0.5")  # type: ignore[arg-type]
    for x in range(-4, 5):
        claimed = probability(noise, x)
        assert tree.agrees(x, claimed.lower, claimed.upper), x
    assert tree.undecided < Fraction(1, 2)


@pytest.mark.parametrize("sigma", ["0.25", "1", "3/2", "17", "12345.678"])
def test_the_acceptance_turns_a_laplace_into_a_gaussian(monkeypatch, sigma: str) -> None:
    """Proposal exponent plus acceptance exponent is x^2/(2 sigma^2) plus a constant, as exact rationals."""
    exact = Fraction(sigma)
    t = int(exact) + 1
    constants = set()
    for y in (0, 1, -1, 2, 5, -40, 10**9):
        asked: list[Fraction] = []

        def propose(scale: Fraction, bits: Bits, y: int = y) -> int:
            assert scale == t
            return y

        def accept(numerator: int, denominator: int, bits: Bits, asked: list[Fraction] = asked) -> bool:
            asked.append(Fraction(numerator, denominator))
            return True

        monkeypatch.setattr(exact_sampling, "discrete_laplace", propose)
        monkeypatch.setattr(exact_sampling, "bernoulli_exp", accept)
        assert exact_sampling.discrete_gaussian(exact, lambda width: 0) == y
        constants.add(Fraction(abs(y), t) + asked[0] - y * y / (2 * exact**2))
    assert len(constants) == 1


def test_the_tree_catches_a_zero_that_is_counted_twice(bit_tree) -> None:
    """Control: without the rejection of minus zero, zero is too likely, and the tree shows it."""

    def flawed(bits: Bits) -> int:
        magnitude = 0
        while exact_sampling.bernoulli_exp(1, 1, bits):
            magnitude += 1
        return -magnitude if bits(1) else magnitude

    tree = bit_tree(flawed, depth=14)
    claimed = probability(DiscreteLaplaceNoise(1), 0)  # type: ignore[arg-type]
    assert not tree.agrees(0, claimed.lower, claimed.upper)


def test_the_tree_catches_a_rounded_continuous_laplace(bit_tree) -> None:
    """Control: rounding a continuous Laplace of scale 1 gives zero with 0.3935 instead of 0.4621."""
    from mpmath import log, mpf

    def flawed(bits: Bits) -> int:
        magnitude = int(-log((bits(12) + mpf(1) / 2) / 4096) + mpf(1) / 2)
        return -magnitude if bits(1) else magnitude

    tree = bit_tree(flawed, depth=13)
    claimed = probability(DiscreteLaplaceNoise(1), 0)  # type: ignore[arg-type]
    assert Fraction("0.46211715726000") < Fraction(claimed.lower) < Fraction("0.46211715726002")
    assert not tree.agrees(0, claimed.lower, claimed.upper)
    assert abs(tree.mass[0] - Fraction("0.393469340287367")) < Fraction(1, 1000)


@pytest.mark.parametrize("bit", [0, 1])
@pytest.mark.parametrize(
    "sampler",
    [
        lambda bits: exact_sampling.discrete_laplace(Fraction(7, 3), bits),
        lambda bits: exact_sampling.discrete_gaussian(Fraction(7, 3), bits),
        lambda bits: exact_sampling.uniform_below(3, bits),
        lambda bits: exact_sampling.bernoulli(1, 3**60, bits),
    ],
)
def test_a_stuck_source_ends_in_an_error_or_a_whole_number(sampler: Callable[[Bits], object], bit: int) -> None:
    """All zeros or all ones for ever: a finite whole number or EntropyError, never NaN, infinity or a hang."""
    try:
        result = sampler(lambda width: ((1 << width) - 1) * bit)
    except EntropyError:
        return
    assert isinstance(result, int)


@pytest.mark.parametrize("start", [[0] * 64, [1] * 64, [0] * 512, [1] * 512, [1] + [0] * 200, [0] + [1] * 200])
def test_extreme_draws_give_finite_whole_numbers(start: list[int]) -> None:
    """A uniform draw forced to 0 or to just under 1, then honest bits: every noise is a finite whole number."""
    from dosimeter.mechanisms.noise import NOISES
    from dosimeter.mechanisms.release import release

    for kind in NOISES:
        entropy = ScriptedTestEntropy(start, then=SeededTestEntropy(0))
        released = release([0, 10**40], kind(3), entropy)
        assert all(type(value) is int for value in released)
        assert abs(released[0]) < 1000


def test_a_script_plays_its_bits_in_order_and_then_stops() -> None:
    """Scripted bits come most significant first, and running out is an error."""
    entropy = ScriptedTestEntropy([1, 0, 1, 1])
    assert entropy.bits(3) == 0b101
    with pytest.raises(EntropyError, match="run out"):
        entropy.bits(2)
