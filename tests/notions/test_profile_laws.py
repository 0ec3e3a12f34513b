"""Profiles never understate, over the whole range: compared with mpmath at high precision.

The truth is evaluated from its definition; the inverses are checked by putting the answer back into it: at the answer
the target holds, and one part in 10^18 further it does not.
"""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.vectors import truth
from tests.vectors.ranges import deltas, epsilons, levels, magnitudes, mus, orders, rhos
from tests.vectors.truth import is_lower, is_upper, m

from dosimeter.notions import profiles as p

FURTHER = Fraction(1, 10**18)


@given(mus, st.one_of(epsilons, levels.map(lambda e: -e)))
@settings(max_examples=80, deadline=None)
@example(Decimal("1e-6"), Decimal("1e-5"))
@example(Decimal(1000), Decimal(10_000))
@example(Decimal("0.001"), Decimal(10_000))
def test_gaussian_delta(mu: Decimal, epsilon: Decimal) -> None:
    """The Gaussian profile, for noise multipliers from 1e-3 to 1e6 and any epsilon."""
    with mpmath.workdps(120):
        assert is_upper(p.gaussian_delta(mu, epsilon), truth.gaussian_delta(mu, epsilon))


@given(mus, deltas)
@settings(max_examples=30, deadline=None)
@example(Decimal("1e-6"), Decimal("1e-300"))
@example(Decimal(1000), Decimal("1e-300"))
@example(Decimal(1), Decimal("0.38292492254802620727"))
def test_gaussian_epsilon(mu: Decimal, delta: Decimal) -> None:
    """Epsilon of a Gaussian: the target holds there and fails just below."""
    epsilon = p.gaussian_epsilon(mu, delta)
    with mpmath.workdps(350 if delta < Decimal("1e-30") else 100):
        assert truth.gaussian_delta(mu, epsilon) <= m(delta)
        if epsilon > Decimal("1e-12"):
            assert truth.gaussian_delta(mu, Fraction(epsilon) * (1 - FURTHER)) > m(delta)


@given(epsilons, deltas)
@settings(max_examples=30, deadline=None)
@example(Decimal(10_000), Decimal("1e-300"))
@example(Decimal("1e-6"), Decimal("1e-300"))
@example(Decimal(3), Decimal("0." + "9" * 40))
def test_gaussian_mu(epsilon: Decimal, delta: Decimal) -> None:
    """The largest mu: the target holds there and fails just above."""
    mu = p.gaussian_mu(epsilon, delta)
    with mpmath.workdps(350 if delta < Decimal("1e-30") else 130):
        assert truth.gaussian_delta(mu, epsilon) <= m(delta)
        assert truth.gaussian_delta(Fraction(mu) * (1 + FURTHER), epsilon) > m(delta)


@given(rhos, epsilons)
@settings(max_examples=30, deadline=None)
@example(Decimal("0.1"), Decimal(0))
@example(Decimal(1000), Decimal("0.001"))
def test_zcdp_delta(rho: Decimal, epsilon: Decimal) -> None:
    """The optimised zCDP conversion is the minimum over all orders, above and below rho."""
    with mpmath.workdps(60):
        assert is_upper(p.zcdp_delta(rho, epsilon), truth.zcdp_delta(rho, epsilon), "1e-18")


@given(rhos, deltas)
@settings(max_examples=25, deadline=None)
@example(Decimal("1e-8"), Decimal("1e-300"))
def test_zcdp_epsilon(rho: Decimal, delta: Decimal) -> None:
    """Epsilon of zCDP: the target holds there and fails just below."""
    epsilon = p.zcdp_epsilon(rho, delta)
    with mpmath.workdps(80):
        assert truth.zcdp_delta(rho, epsilon) <= m(delta)
        if epsilon > Decimal("1e-12"):
            assert truth.zcdp_delta(rho, Fraction(epsilon) * (1 - Fraction(1, 10**15))) > m(delta)


@given(epsilons, deltas)
@settings(max_examples=25, deadline=None)
@example(Decimal(10_000), Decimal("1e-300"))
def test_zcdp_rho(epsilon: Decimal, delta: Decimal) -> None:
    """The largest rho: the target holds there and fails just above."""
    rho = p.zcdp_rho(epsilon, delta)
    assume(rho > Decimal("1e-290"))
    with mpmath.workdps(80):
        assert truth.zcdp_delta(rho, epsilon) <= m(delta)
        assert truth.zcdp_delta(Fraction(rho) * (1 + Fraction(1, 10**15)), epsilon) > m(delta)


@given(orders, rhos, epsilons, deltas)
@settings(max_examples=60, deadline=None)
def test_one_renyi_order(order: Decimal, tau: Decimal, epsilon: Decimal, delta: Decimal) -> None:
    """The explicit formulas of one order, all three ways."""
    with mpmath.workdps(80):
        a, t, e, d = m(order), m(tau), m(epsilon), m(delta)
        log_c = mpmath.log(truth.renyi_constant(order))
        assert is_upper(p.renyi_delta(order, tau, epsilon), min(mpmath.mpf(1), mpmath.exp(log_c + (a - 1) * (t - e))))
        assert is_upper(p.renyi_epsilon(order, tau, delta), max(mpmath.mpf(0), t + (log_c - mpmath.log(d)) / (a - 1)))
        assert is_lower(
            p.renyi_budget(order, epsilon, delta), max(mpmath.mpf(0), e + (mpmath.log(d) - log_c) / (a - 1))
        )


@given(magnitudes(-12, 2), orders)
@settings(max_examples=60, deadline=None)
def test_renyi_of_randomized_response_and_laplace(ratio: Decimal, order: Decimal) -> None:
    """The two closed forms, at ratios down to 1e-12; order 1 is their limit and below every other order."""
    with mpmath.workdps(600):  # at a ratio of 400 the response's divergence is e^-400 below it
        e, a = m(ratio), m(order)
        rr = mpmath.log(mpmath.cosh((a - 0.5) * e) / mpmath.cosh(e / 2)) / (a - 1)
        weight = a / (2 * a - 1)
        laplace = mpmath.log(weight * mpmath.exp((a - 1) * e) + (1 - weight) * mpmath.exp(-a * e)) / (a - 1)
        assert is_upper(p.randomized_response_renyi(ratio, order), rr)
        assert is_upper(p.laplace_renyi(ratio, order), laplace)
        assert is_upper(p.randomized_response_renyi(ratio, 1), e * mpmath.tanh(e / 2))
        assert is_upper(p.laplace_renyi(ratio, 1), e + mpmath.exp(-e) - 1)
    assert p.laplace_renyi(ratio, 1) <= p.laplace_renyi(ratio, order) <= p.randomized_response_renyi(ratio, order)


@given(magnitudes(-3, 1), st.one_of(epsilons, levels.map(lambda e: -e)))
@settings(max_examples=60, deadline=None)
def test_laplace_and_response_profiles(ratio: Decimal, epsilon: Decimal) -> None:
    """The two profiles at every real epsilon; Laplace is never above randomized response at the same pure epsilon."""
    with mpmath.workdps(400):
        r, e = m(ratio), m(epsilon)
        zero = mpmath.mpf(0)
        laplace = zero if e >= r else 1 - mpmath.exp(e) if e <= -r else 1 - mpmath.exp((e - r) / 2)
        response = (max(zero, mpmath.exp(r) - mpmath.exp(e)) + max(zero, 1 - mpmath.exp(e + r))) / (1 + mpmath.exp(r))
        assert is_upper(p.laplace_delta(ratio, epsilon), laplace)
        assert is_upper(p.randomized_response_delta(ratio, 0, epsilon), response)
    assert p.laplace_delta(ratio, epsilon) <= p.randomized_response_delta(ratio, 0, epsilon)


def test_a_naive_double_is_on_the_wrong_side() -> None:
    """The control: the textbook formula in doubles understates delta where it cancels, and this comparison sees it."""

    def naive(mu: float, epsilon: float) -> float:
        phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
        return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)

    wrong = 0
    for k in range(1, 60):
        mu, epsilon = Decimal(k) / 10**6, Decimal(k) / 10**6
        with mpmath.workdps(80):
            exact = truth.gaussian_delta(mu, epsilon)
            assert is_upper(p.gaussian_delta(mu, epsilon), exact)
            wrong += not is_upper(Decimal(repr(naive(float(mu), float(epsilon)))), exact, "1e-12")
    assert wrong > 20
