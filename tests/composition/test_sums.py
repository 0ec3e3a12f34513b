"""Notions that add up without loss are added first and converted once."""

import itertools
from decimal import Decimal

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import (
    gaussians_delta,
    gaussians_epsilon,
    gdp_sum,
    gdp_total,
    mixed_delta,
    mixed_epsilon,
    optimal_heterogeneous_delta,
    optimal_homogeneous_epsilon,
    rdp_sum,
    rdp_total,
    zcdp_sum,
    zcdp_total,
)
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import Gaussian
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP
from dosimeter.notions.convert import gdp_to_zcdp

sigmas = st.decimals(min_value=Decimal("0.3"), max_value=100, places=2)


@pytest.mark.parametrize(
    ("parts", "delta", "epsilon"),
    [
        ([(Gaussian("20"), 60)], "0.002", "0.902939643005531"),
        ([Gaussian("1"), Gaussian("2"), Gaussian("4")], "1e-5", "5.12736825681198"),
        ([(Gaussian("10"), 4), (Gaussian("10"), 9)], "1e-6", "1.57689414041687"),
        ([(Gaussian("5"), 1000)], "1e-5", "46.2112101912181"),
        ([(Gaussian("20"), 1000)], "1e-100", "34.687727746371465"),
        ([(Gaussian("1000"), 10**6)], "1e-6", "4.886554117462212"),
    ],
)
def test_gaussians_add_in_squares(parts: list[Gaussian], delta: str, epsilon: str) -> None:
    """Any number of Gaussian releases is one, in closed form, at any delta."""
    ours = gaussians_epsilon(parts, delta)
    assert abs(ours / Decimal(epsilon) - 1) < Decimal("2e-14")
    assert gaussians_delta(parts, ours) <= Decimal(delta)


def test_four_and_nine_columns_are_thirteen() -> None:
    """Two queries of 4 and 9 equal columns cost sqrt(13) units of mu, not 2 + 3."""
    ours = gaussians_epsilon([(Gaussian("10"), 4), (Gaussian("10"), 9)], "1e-6")
    wrong = gaussians_epsilon([(Gaussian("10"), 25)], "1e-6")
    assert ours < Decimal("1.58") < Decimal("2.25") < wrong


def test_a_batch_costs_what_its_singles_cost() -> None:
    """1e5 mechanisms of rho 1e-5 are exactly rho 1, as a batch, as counts or one by one."""
    rho = ZCDP("1e-5")  # type: ignore[arg-type]
    one_by_one = rho
    for _ in range(999):
        one_by_one = one_by_one.compose(rho)
    assert zcdp_total([(rho, 100_000)]).rho == 1
    assert zcdp_total([(one_by_one, 100)]).rho == 1


@given(st.lists(st.tuples(sigmas, st.integers(1, 30)), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_closed_forms_are_never_above_the_concentrated_sum(parts: list[tuple[Decimal, int]]) -> None:
    """Exact Gaussian accounting is at least as good as zCDP and RDP of the same mechanisms."""
    gaussians = [(Gaussian(sigma), n) for sigma, n in parts]
    gdps = [(GDP(1 / sigma), n) for sigma, n in parts]
    zcdps = [(gdp_to_zcdp(gdp), n) for gdp, n in gdps]
    exact = gaussians_epsilon(gaussians, "1e-6")
    assert abs(gdp_sum(gdps, "1e-6").epsilon - exact) <= exact * Decimal("1e-20")
    assert exact <= zcdp_sum(zcdps, "1e-6").epsilon


def test_renyi_bounds_add_order_by_order() -> None:
    """The best order is chosen at the end; different orders do not add."""
    part = RDP(("2", "8"), ("0.1", "0.3"), "1e-8")  # type: ignore[arg-type]
    total = rdp_total([(part, 10)])
    assert total.epsilons == (Decimal("1.0"), Decimal("3.0"))
    assert Decimal("9.99e-8") < total.delta < Decimal("1e-7")
    singles = [RDP(part.orders[i : i + 1], part.epsilons[i : i + 1], part.delta) for i in range(2)]
    assert rdp_sum([(part, 10)], "1e-5").epsilon == min(rdp_sum([(s, 10)], "1e-5").epsilon for s in singles)
    with pytest.raises(NotionError, match="orders"):
        rdp_total([part, RDP(("2",), ("0.1",))])  # type: ignore[arg-type]


def test_gdp_adds_exactly() -> None:
    """3-4-5: squares of mu add without rounding; failures multiply."""
    assert gdp_total([GDP("3"), GDP("4")]).mu == 5  # type: ignore[arg-type]
    assert gdp_total([(GDP("1", "0.1"), 2)]).delta == Decimal("0.19")  # type: ignore[arg-type]


def test_what_does_not_belong_is_refused() -> None:
    """Another notion, an empty list, a delta that failures use up."""
    with pytest.raises(InputError, match="ZCDP"):
        zcdp_total([GDP("1")])  # type: ignore[list-item, arg-type]
    with pytest.raises(InputError, match="at least one"):
        gdp_total([])
    with pytest.raises(NoGuaranteeError):
        gdp_sum([GDP("1", "1e-5")], "1e-6")  # type: ignore[arg-type]
    with pytest.raises(NoGuaranteeError):
        gaussians_epsilon([Gaussian("1")], 0)


def test_mixed_profile_equals_numerical_integration() -> None:
    """Gaussian with two randomized responses: the integral of (p - e^epsilon q)+ over outputs, by another library."""
    with mpmath.workdps(30):
        mu, level = mpmath.mpf("0.7"), mpmath.mpf("1.1")
        responses = mpmath.mpf("0.4"), mpmath.mpf("0.9")
        total = mpmath.mpf(0)
        for signs in itertools.product((1, -1), repeat=2):
            chance, left = mpmath.mpf(1), level
            for sign, e in zip(signs, responses, strict=True):
                chance *= 1 / (1 + mpmath.exp(-sign * e))
                left -= sign * e
            cut = left / mu + mu / 2  # where the Gaussian's own loss is what is left

            def excess(x: mpmath.mpf, left: mpmath.mpf = left) -> mpmath.mpf:
                return mpmath.npdf(x, mu) - mpmath.exp(left) * mpmath.npdf(x)

            total += chance * mpmath.quad(excess, [cut, cut + 2, cut + 6, cut + 20])
    ours = mixed_delta([GDP("0.7")], ["0.4", "0.9"], "1.1")  # type: ignore[arg-type]
    assert abs(mpmath.mpf(str(ours)) / total - 1) < mpmath.mpf("1e-15")


@given(st.decimals("0.05", "2", places=2), st.lists(st.decimals("0.05", "1", places=2), min_size=1, max_size=5))
@settings(max_examples=15, deadline=None)
def test_mixed_epsilon_is_certified_and_between_its_parts(mu: Decimal, parts: list[Decimal]) -> None:
    """delta holds at the answer; each family alone needs less; adding the two epsilons is never better."""
    together = mixed_epsilon([GDP(mu)], parts, "1e-6")
    assert mixed_delta([GDP(mu)], parts, together) <= Decimal("1e-6")
    alone = gdp_sum([GDP(mu)], "1e-6").epsilon
    assert alone <= together <= alone + sum(parts)
    assert optimal_heterogeneous_delta(parts, together).upper <= Decimal("1e-6")


def test_mixed_with_nearly_no_noise_share_is_the_optimum() -> None:
    """As mu goes to 0 the joint profile becomes that of the responses."""
    ours = mixed_epsilon([GDP("1e-9")], [("0.1", 100)], "1e-5")  # type: ignore[arg-type]
    assert abs(ours - optimal_homogeneous_epsilon("0.1", 100, "1e-5")) < Decimal("1e-6")


def test_mixed_refuses_what_it_cannot_list() -> None:
    """Too many totals, failures above delta, no Gaussian part."""
    with pytest.raises(NoGuaranteeError, match="more than"):
        mixed_delta([GDP("1")], [Decimal(1) / (7 + i) for i in range(20)], 1)  # type: ignore[arg-type]
    with pytest.raises(NoGuaranteeError, match="fails"):
        mixed_epsilon([GDP("1")], [ApproxDP("0.1", "1e-3")], "1e-5")  # type: ignore[arg-type]
    with pytest.raises(NoGuaranteeError, match="mu = 0"):
        mixed_delta([GDP("0")], ["0.1"], 1)  # type: ignore[arg-type]
