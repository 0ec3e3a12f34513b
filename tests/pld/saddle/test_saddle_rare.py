"""Where one rare run decides, both ends of an answer come from that run; they hold, and they are close."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.exact import ONE, SMALLEST, ZERO, Bound
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.gaussian import gaussian_law
from dosimeter.pld.laws.laplace import laplace_law
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw
from dosimeter.pld.saddle import rare
from dosimeter.pld.saddle.closed import one_run
from dosimeter.pld.saddle.plan import Mix
from dosimeter.pld.saddle.side import Side
from dosimeter.pld.saddle.target import target
from dosimeter.pld.saddle.thin import thinned

REMOVE = Direction.REMOVE


def sampled(rate: str, sigma: str) -> PoissonSampledLaw:
    return PoissonSampledLaw(Fraction(rate), gaussian_law(sigma))


def side(*laws: tuple[Law, int]) -> Side:
    result = Side(REMOVE)
    for law, count in laws:
        result.append(law, count)
    return result


def exactly(delta: str) -> Bound:
    return Bound(Decimal(delta), Decimal(delta))


def one(law: Law, delta: str) -> tuple[float, float]:
    form = one_run(law, REMOVE, Bound(ONE, ONE))
    assert form is not None
    return form.epsilon(target(exactly(delta), Bound(ZERO, ZERO)))


@pytest.mark.parametrize("delta", ["1e-12", "1e-20", "1e-100"])
@pytest.mark.parametrize(("rate", "sigma"), [("1e-9", "0.5"), ("1e-6", "1"), ("0.01", "2")])
@pytest.mark.parametrize("fixed", [False, True])
def test_ends_of_a_single_run_contain_its_closed_form(rate: str, sigma: str, delta: str, fixed: bool) -> None:
    law = FixedSizeSampledLaw(Fraction(rate), gaussian_law(sigma)) if fixed else sampled(rate, sigma)
    low, high = one(law, delta)
    found = rare.by_one_run(law, 1, REMOVE, exactly(delta), side())
    jump = rare.by_one_jump(Mix({law: 1}, REMOVE, 0.0, None), Fraction(0), Bound(ZERO, ZERO), exactly(delta))
    assert found[0] <= high
    assert found[1] >= low
    assert jump >= low
    assert found[0] > 0.99 * low
    assert found[1] < 1.2 * high


@pytest.mark.parametrize("delta", ["1e-20"])
def test_the_ends_contain_a_narrow_answer(delta: str) -> None:
    law, loud = sampled("0.001", "1"), laplace_law(2)
    low, high = side((law, 300), (loud, 3)).epsilon(exactly(delta))
    assert high - low < 1e-5 * high
    found = rare.by_one_run(law, 300, REMOVE, exactly(delta), side((loud, 3)))
    mix = Mix({law: 300, loud: 3}, REMOVE, 0.0, None)
    assert found[0] <= high
    assert found[1] >= low
    assert rare.by_one_jump(mix, Fraction(0), Bound(ZERO, ZERO), exactly(delta)) >= low


def test_an_epsilon_of_zero_besides_may_stand_for_a_negative_one() -> None:
    """Counting it as zero would certify a lower end above the truth: the ends would cross."""
    law = sampled("1e-9", "0.5")

    class Zero:
        atom = Bound(ZERO, ZERO)

        def epsilon(self, delta: Bound) -> tuple[float, float]:
            return 1e-30, 1e-30  # what an end of zero would be taken for

    truth = one(law, "1e-20")[1]
    assert rare.by_one_run(law, 1, REMOVE, exactly("1e-20"), Zero())[0] > truth
    assert rare.by_one_run(law, 1, REMOVE, exactly("1e-20"), side())[0] <= truth


def test_masses_of_a_far_event_are_those_of_two_gaussian_tails() -> None:
    law, count = sampled("0.001", "1"), 50
    threshold = rare._threshold(law, math.log(1e-9) - math.log(count))
    assert threshold is not None
    found = rare.far_event(law, count, threshold)
    r, raised = (math.erfc(x / math.sqrt(2)) / 2 for x in (threshold, threshold - 1))
    p = 0.999 * r + 0.001 * raised
    assert float(found[0]) == pytest.approx(-math.expm1(count * math.log1p(-p)), rel=1e-9)
    assert found[2] == pytest.approx(math.log(p / r), rel=1e-6)


@pytest.mark.parametrize(
    ("rate", "sigma", "count", "delta", "gap"),
    [
        ("1e-9", "0.5", 1000, "1e-100", 0.02),
        ("1e-9", "1", 1000, "1e-100", 0.03),
        ("1e-9", "0.5", 10**9, "1e-20", 0.3),
        ("1e-7", "1", 1, "1e-6", 2e-6),
    ],
)
def test_rare_samples_beside_a_louder_law_have_close_ends(
    rate: str, sigma: str, count: int, delta: str, gap: float
) -> None:
    account = Accountant()
    account.append(sampled(rate, sigma), count)
    account.append(laplace_law(1))
    found = account.epsilon(delta)
    assert found.upper - found.lower <= Decimal(gap) * found.upper
    assert found.lower >= Decimal("0.9999979")  # what the louder law alone needs, or more


@pytest.mark.parametrize("delta", ["1e-6", "1e-15"])
def test_what_is_sampled_more_rarely_than_delta_may_be_left_out(delta: str) -> None:
    account = Accountant()
    account.append(sampled("1e-9", "0.01"), 1000)
    account.append(sampled("1e-20", "0.01"), 1000)
    account.append(laplace_law(1))
    left_out = thinned(account.counts, REMOVE, Fraction(delta))
    assert left_out is not None
    kept, share = left_out
    assert share == Fraction(1, 10**17)
    assert set(kept) == {sampled("1e-9", "0.01"), laplace_law(1)}
    assert thinned(account.counts, REMOVE, Fraction(1, 10**18)) is None


def test_a_delta_of_hardly_any_samples_is_what_they_can_add_at_most() -> None:
    account = Accountant()
    account.append(sampled("1e-9", "0.01"), 1000)
    zero = account.epsilon("1e-5")
    assert (zero.lower, zero.upper) == (ZERO, ZERO)
    found = account.delta(0)
    assert found.lower <= Decimal("1e-6") <= found.upper * (1 + Decimal("1e-5"))
    assert SMALLEST < found.upper <= Decimal("1e-6")
