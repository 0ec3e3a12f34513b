"""Every finite (epsilon, delta)-indistinguishable pair is exactly a post-processed randomized response."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import decompose, hockey_stick_divergence, reduce_to_randomized_response
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import amount

weights = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2, max_size=7).filter(
    lambda pairs: all(sum(side) for side in zip(*pairs, strict=True))
)
deltas = st.sampled_from(["0", "0.01", "1/7", "0.3"])


def pair(values: list[tuple[int, int]]) -> tuple[list[Fraction], list[Fraction]]:
    """Two distributions from whole weights."""
    totals = [sum(side) for side in zip(*values, strict=True)]
    return [Fraction(a, totals[0]) for a, _ in values], [Fraction(b, totals[1]) for _, b in values]


@given(weights, deltas)
@settings(max_examples=150, deadline=None)
def test_the_decomposition_recomposes_and_bounds_ratios(values: list[tuple[int, int]], delta: str) -> None:
    """Parts sum back to P and Q, are distributions, and the good parts' ratios stay within the levels."""
    p, q = pair(values)
    allowed = Fraction(
        amount(delta, "delta", round_up=False, zero=True, below_one=True)
    )  # a ratio is rounded down to a decimal
    if any(sum(a for a, b in side if not b) > allowed for side in (zip(p, q, strict=True), zip(q, p, strict=True))):
        with pytest.raises(NoGuaranteeError):
            decompose(p, q, delta)
        return
    parts = decompose(p, q, delta)
    for whole, good, bad in ((p, parts.good_p, parts.bad_p), (q, parts.good_q, parts.bad_q)):
        assert sum(good) == sum(bad) == 1
        assert all(mass >= 0 for mass in good + bad)
        again = [(1 - parts.failing) * a + parts.failing * b for a, b in zip(good, bad, strict=True)]
        assert again == whole
    level = max(parts.ratio_p, parts.ratio_q)
    assert all(a <= level * b and b <= level * a for a, b in zip(parts.good_p, parts.good_q, strict=True))
    assert hockey_stick_divergence(p, q, parts.ratio_p) <= Fraction(parts.failing)
    assert hockey_stick_divergence(q, p, parts.ratio_q) <= Fraction(parts.failing)
    if parts.ratio_p > 1:  # the level is the least that delta allows
        assert hockey_stick_divergence(p, q, parts.ratio_p) == parts.failing


@given(weights, deltas, st.sampled_from(["0.05", "0.7", "3"]))
@settings(max_examples=150, deadline=None)
def test_the_kernel_simulates_the_pair(values: list[tuple[int, int]], delta: str, epsilon: str) -> None:
    """Post-processing randomized response gives P on one and Q on zero, exactly, or the pair is refused."""
    p, q = pair(values)
    try:
        kernel = reduce_to_randomized_response(p, q, epsilon, delta)
    except NoGuaranteeError:
        level = Fraction(Decimal(epsilon).exp() * (1 - Decimal("1e-20")))
        worst = max(hockey_stick_divergence(p, q, level), hockey_stick_divergence(q, p, level))
        assert worst > Fraction(delta) * (1 - Fraction(1, 10**40))
        return
    for row in (kernel.on_one, kernel.on_zero, kernel.on_reveal_one, kernel.on_reveal_zero):
        assert sum(row) == 1
        assert all(mass >= 0 for mass in row)
    image_p, image_q = kernel.image()
    assert (list(image_p), list(image_q)) == (p, q)


def test_a_claim_that_is_too_small_is_refused() -> None:
    """Control: half the epsilon the pair needs is not enough, and the message says what is."""
    p, q = ["0.6", "0.4"], ["0.4", "0.6"]
    with pytest.raises(NoGuaranteeError, match=r"0\.405465"):
        reduce_to_randomized_response(p, q, "0.2", 0)
    assert reduce_to_randomized_response(p, q, "0.41", 0).image()[0] == (Fraction(3, 5), Fraction(2, 5))


@pytest.mark.parametrize("bad", [(["0.5"], ["0.5"]), (["1"], ["0.5", "0.5"]), (["1.5", "-0.5"], ["0.5", "0.5"])])
def test_what_is_no_distribution_is_refused(bad: tuple[list[str], list[str]]) -> None:
    """Masses are nonnegative, sum to one exactly, and list the same outputs."""
    with pytest.raises(InputError):
        decompose(*bad, "0.1")


def test_a_negative_level_is_refused() -> None:
    """ratio is e^epsilon."""
    with pytest.raises(InputError, match="negative"):
        hockey_stick_divergence(["1"], ["1"], "-1")
