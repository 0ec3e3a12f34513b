"""A parameter found from a target is certified, close to the best, and absent where nothing meets the target."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting.calibration import gaussian_sigma
from dosimeter.accounting.solve import solve
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import Bound
from dosimeter.notions.profiles import gaussian_epsilon


def point(value: float) -> Bound:
    """A bound of relative width 1e-12 around a float."""
    return Bound(Decimal(value) * Decimal("0.999999999999"), Decimal(value) * Decimal("1.000000000001"))


@given(st.floats(0.01, 50), st.floats(0.2, 3.0), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_power_law_is_inverted(target: float, power: float, rising: bool) -> None:
    """Whatever the exponent and direction, the value is safe and within the tolerance of the true root."""
    sign = 1 if rising else -1
    found = solve(
        lambda v: point(float(v) ** (sign * power)),
        Decimal(target),
        rising=rising,
        low=Decimal("1e-12"),
        high=Decimal("1e12"),
    )
    root = target ** (sign / power)
    assert found.epsilon.upper <= Decimal(target)
    assert math.isclose(float(found.value), root, rel_tol=2e-9)
    assert found.rival is not None
    assert abs(float(found.value / found.rival) - 1) <= 2e-9
    assert found.tries <= 14  # a bracket that only one end closes in on takes thirty


@given(st.integers(1, 10**9), st.floats(1e-6, 1.0))
@settings(max_examples=60, deadline=None)
def test_a_count_is_found_exactly(best: int, each: float) -> None:
    """Whole numbers end at the last that fits, with the next one as rival."""
    target = Decimal(best) * Decimal(each)
    found = solve(
        lambda v: Bound(v * Decimal(each), v * Decimal(each)),
        target,
        rising=True,
        low=Decimal(1),
        high=Decimal(10**9),
        whole=True,
    )
    assert found.value == best
    assert found.rival == (best + 1 if best < 10**9 else None)


def test_the_noise_of_a_gaussian_agrees_with_its_own_calibration() -> None:
    """Searching by certified epsilons gives the analytic sigma, from above."""

    def price(sigma: Decimal) -> Bound:
        epsilon = gaussian_epsilon(1 / sigma, "1e-6")
        return Bound(epsilon, epsilon)

    found = solve(price, Decimal(1), rising=False, low=Decimal("1e-3"), high=Decimal("1e6"))
    best = gaussian_sigma(epsilon="1", delta="1e-6", l2_sensitivity="1")
    assert best <= found.value * (1 + Decimal("1e-20"))
    assert found.value <= best * (1 + Decimal("2e-9"))


def test_where_nothing_meets_the_target_there_is_no_answer() -> None:
    """The safe end of the range misses the target: an error that says so, never the nearest miss."""
    with pytest.raises(NoGuaranteeError, match="not even"):
        solve(lambda v: point(5 + float(v)), Decimal(1), rising=True, low=Decimal(1), high=Decimal(100))
    with pytest.raises(NoGuaranteeError):
        solve(lambda v: None, Decimal(1), rising=False, low=Decimal(1), high=Decimal(100))


def test_where_everything_meets_the_target_the_far_end_is_the_answer() -> None:
    """No rival: the whole range is affordable."""
    found = solve(lambda v: point(1 / float(v)), Decimal(10), rising=False, low=Decimal(1), high=Decimal(100))
    assert found.value == 1
    assert found.rival is None


def test_infinite_prices_are_searched_past() -> None:
    """A region without a finite epsilon is not certified, and the search still ends beside it."""
    found = solve(
        lambda v: None if v < 7 else point(float(100 / v)),
        Decimal(20),
        rising=False,
        low=Decimal(1),
        high=Decimal(1000),
    )
    assert abs(found.value - 7) < Decimal("1e-7")


def test_a_bad_range_is_refused() -> None:
    """Empty and non-positive ranges are input errors."""
    for low, high in ((0, 1), (-1, 1), (2, 1)):
        with pytest.raises(InputError):
            solve(lambda v: point(1.0), Decimal(1), rising=True, low=Decimal(low), high=Decimal(high))


@given(st.floats(0.01, 50), st.sampled_from(["1e-12", "1e-7", "1e-4"]))
@settings(max_examples=40, deadline=None)
def test_prices_that_are_only_enclosed_end_on_the_safe_side(target: float, width: str) -> None:
    """With bounds of any width the value is certified, its rival is as near as asked, and whether it fails is known."""

    def price(value: Decimal) -> Bound:
        truth = Decimal(1) / value + Decimal(1) / value**2
        return Bound(truth * (1 - Decimal(width)), truth * (1 + Decimal(width)))

    found = solve(price, Decimal(target), rising=False, low=Decimal("1e-6"), high=Decimal("1e9"))
    assert found.rival is not None
    assert price(found.value).upper <= Decimal(target) < price(found.rival).upper
    assert 0 < found.value - found.rival <= Decimal("1e-9") * found.value
    assert found.rival_fails(Decimal(target)) is (price(found.rival).lower > Decimal(target))
    assert price(found.value * (1 - 3 * Decimal(width) - Decimal("1e-8"))).lower > Decimal(target)


def test_a_round_number_between_the_ends_is_taken() -> None:
    """A target made from 0.125 finds 0.125 itself, from either side; a search that stops at the ends would not."""
    rising = solve(lambda v: Bound(8 * v, 8 * v), Decimal(1), rising=True, low=Decimal("1e-3"), high=Decimal(10))
    falling = solve(lambda v: Bound(1 / v, 1 / v), Decimal(8), rising=False, low=Decimal("1e-3"), high=Decimal(10))
    assert rising.value == falling.value == Decimal("0.125")


def test_a_tolerance_is_within_what_decimals_can_tell() -> None:
    """Finer than 1e-13, or coarser than a hundredth, is refused."""
    for tolerance in ("0", "1e-14", "0.5", "-1"):
        with pytest.raises(InputError, match="tolerance"):
            solve(
                lambda v: point(float(v)),
                Decimal(1),
                rising=True,
                low=Decimal("0.1"),
                high=Decimal(9),
                tolerance=Decimal(tolerance),
            )
