"""Group privacy: against repeated composition of the curve, and where there is no theorem."""

from decimal import Decimal

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors.ranges import magnitudes
from tests.vectors.truth import is_upper, m

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions import convert as c


@given(magnitudes(-9, 1), magnitudes(-30, -4), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_group_delta_is_the_geometric_sum(epsilon: Decimal, delta: Decimal, size: int) -> None:
    """delta (1 + e^eps + ... + e^((k-1) eps)), capped at one; a group of one changes nothing but the last digit."""
    ours = c.group_approx(ApproxDP(epsilon, delta), size=size)
    with mpmath.workdps(80):
        total = m(delta) * mpmath.fsum(mpmath.exp(j * m(epsilon)) for j in range(size))
        assert is_upper(ours.delta, min(mpmath.mpf(1), total))
    assert ours.epsilon == epsilon * size


@given(magnitudes(-3, 0), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_a_gaussian_group_is_a_larger_shift(mu: Decimal, size: int) -> None:
    """k mu in GDP and k^2 rho in zCDP speak of the same Gaussian."""
    assert c.gdp_to_zcdp(c.group_gdp(GDP(mu), size=size)).rho == c.group_zcdp(c.gdp_to_zcdp(GDP(mu)), size=size).rho


def test_no_loss_and_no_delta_stay_so() -> None:
    """Zero epsilon multiplies delta by the size; zero delta stays zero."""
    assert c.group_approx(ApproxDP(0, "0.01"), size=3) == ApproxDP(0, "0.03")
    assert c.group_approx(ApproxDP(1, 0), size=3) == ApproxDP(3, 0)
    assert c.group_approx(ApproxDP(1, "0.5"), size=100).delta == 1
    assert c.group_pure(PureDP("0.5"), size=1) == PureDP("0.5")


def test_renyi_groups_are_powers_of_two() -> None:
    """Two at once: half the order and three times the bound; three at once are treated as four."""
    guarantee = RDP((2, 4, 8, 64), ("0.1", "0.2", "0.4", "3.2"))
    assert c.group_rdp(guarantee, size=1) == guarantee
    assert c.group_rdp(guarantee, size=2) == RDP((2, 4, 32), ("0.6", "1.2", "9.6"))
    assert c.group_rdp(guarantee, size=3) == c.group_rdp(guarantee, size=4) == RDP((2, 16), ("3.6", "28.8"))
    with pytest.raises(NoGuaranteeError, match="order of at least 128"):
        c.group_rdp(guarantee, size=64)


@given(magnitudes(-2, 0), st.sampled_from([2, 4, 8]))
@settings(max_examples=30, deadline=None)
def test_renyi_groups_cover_the_gaussian(mu: Decimal, size: int) -> None:
    """For a Gaussian the true bound at the smaller order, k^2 rho a', is within the general one."""
    orders = [Decimal(2) ** j for j in range(1, 9)]
    general = c.group_rdp(c.gdp_to_rdp(GDP(mu), orders=orders), size=size)
    exact = c.gdp_to_rdp(c.group_gdp(GDP(mu), size=size), orders=general.orders)
    assert all(a <= b for a, b in zip(exact.epsilons, general.epsilons, strict=True))


@pytest.mark.parametrize(
    "group",
    [
        lambda: c.group_zcdp(ZCDP("0.1", "1e-6"), size=2),
        lambda: c.group_gdp(GDP("0.1", "1e-6"), size=2),
        lambda: c.group_rdp(RDP((8,), ("0.1",), "1e-6"), size=2),
    ],
)
def test_failing_guarantees_have_no_group_form(group) -> None:
    """A guarantee that may fail is converted to (epsilon, delta) first, and the message says how."""
    with pytest.raises(NoGuaranteeError, match="group_approx"):
        group()
    approx = c.zcdp_to_approx(ZCDP("0.1", "1e-6"), target_delta="1e-5")
    assert c.group_approx(approx, size=2).epsilon == 2 * approx.epsilon


@pytest.mark.parametrize("size", [0, -1, "3", 1.5, True, 10**7])
def test_sizes_are_whole_numbers(size) -> None:
    """A group has a whole number of members, at least one."""
    with pytest.raises(InputError, match="size"):
        c.group_pure(PureDP(1), size=size)
