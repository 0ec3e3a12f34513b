"""Conversions never understate: against the pairs that are worst for them, and against each other."""

import itertools
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.vectors import truth
from tests.vectors.ranges import epsilons, magnitudes, orders
from tests.vectors.truth import is_upper, m

from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions import convert as c
from dosimeter.notions import profiles as p


@given(magnitudes(-9, 2), orders)
@settings(max_examples=60, deadline=None)
def test_the_zcdp_constants_hold_at_every_order(ratio: Decimal, order: Decimal) -> None:
    """D_a <= rho a for pure DP (epsilon tanh(epsilon/2)) and for Laplace noise (e - 1 + 1/e^e), at every order a."""
    slack = 1 + Decimal("1e-23")
    assert p.randomized_response_renyi(ratio, order) <= c.pure_to_zcdp(PureDP(ratio)).rho * order * slack
    assert p.laplace_renyi(ratio, order) <= p.laplace_zcdp(ratio) * order * slack


@given(magnitudes(-9, 3))
@settings(max_examples=40, deadline=None)
def test_pure_to_gdp_touches_at_the_kink(epsilon: Decimal) -> None:
    """mu = 2 PhiInv(e^eps/(1 + e^eps)): the cumulative distribution at mu/2 gives the truth probability back."""
    mu = c.pure_to_gdp(PureDP(epsilon)).mu
    with mpmath.workdps(600):
        tail = truth.normal_cdf(-m(mu) / 2)
        kink = 1 / (1 + mpmath.exp(m(epsilon)))
        assert tail <= kink
        further = truth.normal_cdf(-m(mu) * (1 - mpmath.mpf("1e-18")) / 2)
        assert further > kink


@given(magnitudes(-2, 1), magnitudes(-20, -2), magnitudes(-2, 0))
@settings(max_examples=50, deadline=None)
def test_probabilistic_both_ways(epsilon: Decimal, delta: Decimal, more: Decimal) -> None:
    """The pDP delta is its formula, and asking for that delta gives the same epsilon back."""
    higher = epsilon + more
    found = c.approx_to_probabilistic(ApproxDP(epsilon, delta), target_epsilon=higher)
    with mpmath.workdps(80):
        formula = m(delta) * (1 + mpmath.exp(-m(higher))) / (1 - mpmath.exp(-m(more)))
        assert is_upper(found.delta, min(mpmath.mpf(1), formula))
    if found.delta < 1:
        back = c.approx_to_probabilistic(ApproxDP(epsilon, delta), target_delta=found.delta)
        assert back.epsilon <= higher
        assert back.epsilon > higher * (1 - Decimal("1e-9"))


tables = st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(any)


@given(tables, tables, magnitudes(-2, 0), magnitudes(-2, 0))
@settings(max_examples=80, deadline=None)
def test_the_loss_bound_holds_for_every_pair(ps: list[int], qs: list[int], epsilon: Decimal, more: Decimal) -> None:
    """For any two tables of probabilities, the loss exceeds epsilon' no more often than the converse allows."""
    size = min(len(ps), len(qs))
    p_, q_ = _table(ps[:size]), _table(qs[:size])
    assume(p_ and q_)
    delta = max(p.hockey_stick(p_, q_, epsilon), p.hockey_stick(q_, p_, epsilon))
    assume(0 < delta < 1)
    level = epsilon + more
    allowed = c.approx_to_probabilistic(ApproxDP(epsilon, delta), target_epsilon=level).delta
    factor = Fraction(str(mpmath.exp(m(level))))
    large = sum((a for a, b in zip(p_, q_, strict=True) if a > factor * b or b > factor * a), Fraction(0))
    assert large <= Fraction(allowed)


def _table(counts: list[int]) -> list[Fraction]:
    total = sum(counts)
    return [Fraction(k, total) for k in counts] if total else []


@given(tables, tables, st.sampled_from(["1.1", "2", "5", "32"]), epsilons.map(lambda e: min(e, Decimal(5))))
@settings(max_examples=80, deadline=None)
def test_the_exact_renyi_conversion_holds_for_every_pair(
    ps: list[int], qs: list[int], order: str, epsilon: Decimal
) -> None:
    """No pair of tables has a larger delta than the exact conversion of its own Renyi divergence."""
    size = min(len(ps), len(qs))
    p_, q_ = _table([k + 1 for k in ps[:size]]), _table([k + 1 for k in qs[:size]])
    tau = p.renyi_divergence(p_, q_, order)
    assume(tau > 0)
    delta = p.hockey_stick(p_, q_, epsilon)
    exact = p.renyi_delta_exact(order, tau, epsilon)
    assert delta <= exact * (1 + Decimal("1e-20"))
    assert exact <= p.renyi_delta(order, tau, epsilon)


@pytest.mark.parametrize(("order", "p1", "q1"), [("2", "3/10", "1/20"), ("8", "1/50", "1/200"), ("1.5", "2/3", "1/9")])
def test_the_exact_renyi_conversion_is_attained(order: str, p1: str, q1: str) -> None:
    """A two-point pair at its own best epsilon (searched on a coarse grid) has the delta that the conversion states."""
    one, other = Fraction(p1), Fraction(q1)
    best = None
    tau = p.renyi_divergence([one, 1 - one], [other, 1 - other], order)
    for step in range(1, 100):
        epsilon = Decimal(step) / 25
        delta = p.hockey_stick([one, 1 - one], [other, 1 - other], epsilon)
        ratio = delta / p.renyi_delta_exact(order, tau, epsilon)
        best = ratio if best is None else max(best, ratio)
    assert Decimal("0.99") < best <= 1 + Decimal("1e-20")


@pytest.mark.parametrize("order", ["1.0000001", "1.3", "2", "9169.25", "1e6"])
@pytest.mark.parametrize(("tau", "delta"), [("9.5e-275", "1.2e-150"), ("1e-240", "3e-130"), ("1e-160", "1e-85")])
def test_the_exact_renyi_conversion_of_a_tiny_bound_is_its_chi_squared_limit(order: str, tau: str, delta: str) -> None:
    """Where all losses are tiny D_a is a/2 chi^2, so epsilon is tau / (2 a delta), far below the explicit formula.

    A search that halves epsilon, or walks to the worst pair by steps of one, gives up and returns the explicit one.
    """
    bound = RDP((order,), (tau,))
    found = c.rdp_to_approx_exact(bound, target_delta=delta).epsilon
    limit = Decimal(tau) / (2 * Decimal(order) * Decimal(delta))
    assert limit * (1 - Decimal("1e-3")) < found < limit * (1 + Decimal("1e-3"))
    assert c.rdp_to_approx(bound, target_delta=delta).epsilon > 10**60 * found


@given(magnitudes(-3, 1), magnitudes(-15, -1), orders)
@settings(max_examples=40, deadline=None)
def test_a_sharper_conversion_is_never_worse(mu: Decimal, delta: Decimal, order: Decimal) -> None:
    """GDP <= optimised zCDP <= simple zCDP; exact Renyi <= formula <= simple; each for the same mechanism."""
    slack = 1 + Decimal("1e-23")
    gdp, zcdp = GDP(mu), c.gdp_to_zcdp(GDP(mu))
    rdp = c.zcdp_to_rdp(zcdp, orders=[order])
    chain = [
        c.gdp_to_approx(gdp, target_delta=delta).epsilon,
        c.zcdp_to_approx(zcdp, target_delta=delta).epsilon,
        c.rdp_to_approx(rdp, target_delta=delta).epsilon,
        c.rdp_to_approx_simple(rdp, target_delta=delta).epsilon,
    ]
    assert all(a <= b * slack for a, b in itertools.pairwise(chain))
    assert c.rdp_to_approx_exact(rdp, target_delta=delta).epsilon <= chain[2]
    assert chain[1] <= c.zcdp_to_approx_simple(zcdp, target_delta=delta).epsilon * slack


@given(magnitudes(-3, 1), magnitudes(-15, -1))
@settings(max_examples=40, deadline=None)
def test_budgets_are_never_above_the_truth(epsilon: Decimal, delta: Decimal) -> None:
    """What a budget admits converts back to at most the target, in every notion."""
    most = delta * (1 + Decimal("1e-23"))
    rho, mu = c.largest_zcdp_for_approx(epsilon, delta), c.largest_gdp_for_approx(epsilon, delta)
    assert c.zcdp_to_approx(ZCDP(rho), target_epsilon=epsilon).delta <= most
    assert c.gdp_to_approx(GDP(mu), target_epsilon=epsilon).delta <= most
    assert c.largest_zcdp_for_approx_simple(epsilon, delta) <= rho <= mu * mu / 2
    tau = c.largest_rdp_for_approx(8, epsilon, delta)
    if tau:
        assert c.rdp_to_approx(RDP((8,), (tau,)), target_epsilon=epsilon).delta <= most
        assert c.largest_rdp_for_approx_simple(8, epsilon, delta) <= tau <= p.renyi_order_bound(8, epsilon, delta)


@given(magnitudes(-3, 0), magnitudes(-9, -1), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_the_response_curve_goes_through_its_point(epsilon: Decimal, delta: Decimal, percent: int) -> None:
    """Restated at a smaller epsilon and back at the delta found there, a guarantee returns to that epsilon."""
    lower = epsilon * percent / 100
    curve = c.approx_to_approx(ApproxDP(epsilon, delta), target_epsilon=lower)
    assert curve.delta >= delta
    back = c.approx_to_approx(ApproxDP(epsilon, delta), target_delta=curve.delta).epsilon
    assert back <= lower
    assert back >= lower * (1 - Decimal("1e-6")) - Decimal("1e-15")


def test_extremes_answer() -> None:
    """delta 1e-300, epsilon 1e4, noise from 1e-3 to 1e6: every conversion answers, and no delta leaves its range."""
    for delta in ("1e-300", "1e-100", "0.999999999999999999999999"):
        for size in ("1e-300", "1e-6", "1", "1e3"):
            assert c.zcdp_to_approx(ZCDP(size), target_delta=delta).epsilon >= 0
            assert c.gdp_to_approx(GDP(size), target_delta=delta).epsilon >= 0
            assert c.rdp_to_approx_exact(RDP(("1.5", 1000), (size, size)), target_delta=delta).epsilon >= 0
        for epsilon in ("0", "1e-300", "1e-6", "1", "1e4"):
            assert c.largest_zcdp_for_approx(epsilon, delta) >= 0
            assert c.largest_gdp_for_approx(epsilon, delta) > 0
    for epsilon in ("0", "1e-300", "1", "1e4"):
        for size in ("1e-300", "1e-6", "1", "1e3"):
            for delta in (
                c.zcdp_to_approx(ZCDP(size), target_epsilon=epsilon).delta,
                c.gdp_to_approx(GDP(size), target_epsilon=epsilon).delta,
                c.rdp_to_approx_exact(RDP((8,), (size,)), target_epsilon=epsilon).delta,
            ):
                assert Decimal("1e-300") <= delta <= 1
