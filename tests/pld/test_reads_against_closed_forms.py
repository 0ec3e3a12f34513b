"""Rates, advantages, Renyi and zCDP guarantees against values found without any accountant.

Tests of one number against another have Neyman-Pearson regions, so their rates are normal probabilities; two runs are
one integral more. All of it in mpmath, at false-positive rates down to 1e-12, where curves made from rounded lists of
losses promise less than guessing.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import mpmath
import pytest

from dosimeter.events import (
    Composed,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
)
from dosimeter.exact import Bound
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.reads import advantage, bayes_success, gaussian_equivalent, trade_off, true_positive_rate
from dosimeter.pld.renyi import renyi, zcdp

Real: TypeAlias = Any  # mpmath.mpf, which ships no types
Curve: TypeAlias = "Callable[[Real], Real]"  # false-positive rate -> true-positive rate

RATES = ("1e-12", "1e-9", "1e-6", "1e-3", "0.1", "0.5", "0.9")


@pytest.fixture(autouse=True)
def digits() -> Any:
    """Forty digits for every true value."""
    with mpmath.workdps(40):
        yield


def account(*events: Event, relation: str = "add_remove") -> Accountant:
    accountant = Accountant(relation)
    accountant.extend(events)
    return accountant


def holds(bound: Bound, truth: Real, width: float) -> None:
    """The truth lies in the bound, which is narrow."""
    slack = mpmath.mpf(10) ** -33 * abs(truth)
    assert mpmath.mpf(str(bound.lower)) <= truth + slack
    assert mpmath.mpf(str(bound.upper)) >= truth - slack
    assert float(bound.upper - bound.lower) <= width * float(bound.upper)


def quantile(x: Real) -> Real:
    """The point that a standard normal exceeds with probability x."""
    x = mpmath.mpf(x)
    start = -mpmath.sqrt(-2 * mpmath.log(x)) if x < 0.5 else mpmath.mpf(0)
    return -mpmath.findroot(lambda z: mpmath.log(mpmath.ncdf(z)) - mpmath.log(x), start)


def gaussian(mu: Real) -> Curve:
    return lambda x: mpmath.ncdf(mpmath.mpf(mu) - quantile(x))


def responses(epsilon: Real) -> Curve:
    e = mpmath.mpf(epsilon)
    return lambda x: min(mpmath.exp(e) * x, 1 - mpmath.exp(-e) * (1 - x))


def laplace(epsilon: Real) -> Curve:
    e = mpmath.mpf(epsilon)

    def power(x: Real) -> Real:
        if x <= mpmath.exp(-e) / 2:
            return mpmath.exp(e) * x
        return 1 - mpmath.exp(-e) / (4 * x) if x <= 0.5 else 1 - mpmath.exp(-e) * (1 - x)

    return power


def with_record(q: str, mu: str) -> Curve:
    """Present with probability q: tests reject for large outputs of N(0, 1) against the mixture."""
    rate, shift = mpmath.mpf(q), mpmath.mpf(mu)
    return lambda x: (1 - rate) * x + rate * mpmath.ncdf(shift - quantile(x))


def without_record(q: str, mu: str) -> Curve:
    """The other direction: tests reject for small outputs of the mixture against N(0, 1)."""
    rate, shift = mpmath.mpf(q), mpmath.mpf(mu)

    def power(x: Real) -> Real:
        def false_positives(t: Real) -> Real:
            return (1 - rate) * mpmath.ncdf(t) + rate * mpmath.ncdf(t - shift)

        t = mpmath.findroot(lambda t: mpmath.log(false_positives(t)) - mpmath.log(x), -quantile(x))
        return mpmath.ncdf(t)

    return power


CURVES: list[tuple[str, Event, str | None, Curve]] = [
    ("Gaussian", Gaussian(1), None, gaussian(1)),
    ("many Gaussians", Repeated(Gaussian(2), 100), None, gaussian(5)),
    ("hardly any loss", Gaussian(1000), None, gaussian("0.001")),
    ("responses", RandomizedResponse(1), None, responses(1)),
    ("small responses", RandomizedResponse("0.01"), None, responses("0.01")),
    ("Laplace", Laplace(1), None, laplace(1)),
    ("sampled, with", PoissonSampled("0.01", Gaussian("0.5")), "remove", with_record("0.01", "2")),
    ("sampled, without", PoissonSampled("0.01", Gaussian("0.5")), "add", without_record("0.01", "2")),
    ("sampled a third", PoissonSampled("0.3", Gaussian(1)), "remove", with_record("0.3", "1")),
    ("sampled a third, without", PoissonSampled("0.3", Gaussian(1)), "add", without_record("0.3", "1")),
]


@pytest.mark.parametrize(("event", "direction", "curve"), [c[1:] for c in CURVES], ids=[c[0] for c in CURVES])
def test_the_power_at_any_false_positive_rate_is_that_of_the_best_test(
    event: Event, direction: str | None, curve: Curve
) -> None:
    """Neyman and Pearson's test has the power that the profile's lower envelope says, to a millionth."""
    accountant = account(event)
    for rate in RATES[:: 3 if isinstance(event, Laplace) else 1]:  # a Laplace read takes seconds
        truth = curve(mpmath.mpf(rate))
        found = true_positive_rate(accountant, rate, direction=direction)
        holds(found, truth, 1e-6)
        assert found.lower >= Decimal(rate)


def test_a_curve_shifted_by_a_millionth_is_caught() -> None:
    """Control: the bounds are so narrow that a parameter wrong in its sixth digit does not fit."""
    found = true_positive_rate(account(Gaussian(1)), "1e-9")
    wrong = gaussian("1.000001")(mpmath.mpf("1e-9"))
    assert mpmath.mpf(str(found.upper)) < wrong


def two_runs(loss: Callable[[Real], Real], tail: Callable[[Real], Real], density: Callable[[Real], Real]) -> Curve:
    """P(L1 + L2 > level) as a function of the level, by one integral over the first output."""
    return lambda level: mpmath.quad(
        lambda x: density(x) * tail(level - loss(x)), [-30, -8, -4, -2, 0, 1, 2, 4, 6, 8, 12, 30]
    )


@pytest.mark.parametrize("level", ["0.05", "1", "6"])
def test_two_sampled_runs_have_the_rates_of_their_sum(level: str) -> None:
    """At a threshold of the total loss both rates are integrals; the curve passes through them, in both directions."""
    mpmath.mp.dps = 20
    q, at = mpmath.mpf("0.1"), mpmath.mpf(level)

    def loss(x: Real) -> Real:
        return mpmath.log(1 - q + q * mpmath.exp(x - 0.5))

    def output(of_loss: Real) -> Real:
        """The output with this loss; every output exceeds a loss that is too small."""
        inner = (mpmath.exp(of_loss) - 1 + q) / q
        return mpmath.log(inner) + mpmath.mpf("0.5") if inner > 0 else -mpmath.inf

    def absent(x: Real) -> Real:
        return mpmath.npdf(x)

    def present(x: Real) -> Real:
        return (1 - q) * mpmath.npdf(x) + q * mpmath.npdf(x - 1)

    def tail_absent(of_loss: Real) -> Real:
        return mpmath.ncdf(-output(of_loss))

    def tail_present(of_loss: Real) -> Real:
        return (1 - q) * mpmath.ncdf(-output(of_loss)) + q * mpmath.ncdf(1 - output(of_loss))

    false_rate, true_rate = two_runs(loss, tail_absent, absent)(at), two_runs(loss, tail_present, present)(at)
    accountant = account(Repeated(PoissonSampled("0.1", Gaussian(1)), 2))
    found = true_positive_rate(accountant, mpmath.nstr(false_rate, 17), direction="remove")
    assert float(found.lower) * (1 - 1e-9) <= float(true_rate) <= float(found.upper) * (1 + 1e-9)
    assert float(found.upper - found.lower) <= 2e-6 * float(true_rate)
    back = true_positive_rate(accountant, mpmath.nstr(1 - true_rate, 17), direction="add")
    assert float(back.lower) * (1 - 1e-9) <= float(1 - false_rate) <= float(back.upper) * (1 + 1e-9)


@pytest.mark.parametrize("level", ["-1", "0.3", "2", "5"])
def test_laplace_and_gaussian_noise_together(level: str) -> None:
    """A mixed plan: atoms and density of the Laplace loss, each followed by a normal tail."""
    mpmath.mp.dps = 20
    at, mu, e = mpmath.mpf(level), mpmath.mpf("0.5"), mpmath.mpf(1)

    def tail(center: Real) -> Callable[[Real], Real]:
        return lambda loss: mpmath.ncdf((center - loss) / mu)

    def rate(sign: int) -> Real:
        """The chance that the total exceeds `at`, with the record (+1) or without it (-1)."""
        normal = tail(sign * mu * mu / 2)
        up, down = mpmath.mpf("0.5"), mpmath.exp(-e) / 2
        ends = (up, down) if sign > 0 else (down, up)  # masses at +e and -e

        def density(x: Real) -> Real:
            return mpmath.exp((sign * x - e) / 2) / 4

        middle = mpmath.quad(lambda x: density(x) * normal(at - x), [-e, -0.5, 0, 0.5, e])
        return ends[0] * normal(at - e) + ends[1] * normal(at + e) + middle

    accountant = account(Composed((Gaussian(2), Laplace(1))))
    found = true_positive_rate(accountant, mpmath.nstr(rate(-1), 17))
    assert float(found.lower) * (1 - 1e-9) <= float(rate(1)) <= float(found.upper) * (1 + 1e-9)
    assert float(found.upper - found.lower) <= 2e-6 * float(found.upper)


def test_trade_off_is_the_worse_direction() -> None:
    """The curve over both directions is the smaller false-negative rate of the two, at every rate."""
    accountant = account(PoissonSampled("0.3", Gaussian(1)))
    for rate, bound in zip(RATES, trade_off(accountant, RATES), strict=True):
        x = mpmath.mpf(rate)
        least = 1 - max(with_record("0.3", "1")(x), without_record("0.3", "1")(x))
        assert float(bound.lower) - 1e-15 <= float(least) <= float(bound.upper) + 1e-15


@pytest.mark.parametrize(
    ("event", "truth"),
    [
        (Gaussian(1), lambda: 2 * mpmath.ncdf(mpmath.mpf("0.5")) - 1),
        (Repeated(Gaussian(2), 100), lambda: 2 * mpmath.ncdf(mpmath.mpf("2.5")) - 1),
        (RandomizedResponse(1), lambda: mpmath.tanh(mpmath.mpf("0.5"))),
        (Laplace(1), lambda: 1 - mpmath.exp(-mpmath.mpf("0.5"))),
        (PoissonSampled("0.01", Gaussian("0.5")), lambda: (2 * mpmath.ncdf(1) - 1) / 100),
        (PoissonSampled("0.01", Laplace(1)), lambda: (1 - mpmath.exp(-mpmath.mpf("0.5"))) / 100),
    ],
)
def test_the_advantage_is_the_total_variation_distance(event: Event, truth: Callable[[], Real]) -> None:
    """Closed forms; a sample shrinks the advantage by exactly its rate."""
    holds(advantage(account(event)), truth(), 1e-6)


@pytest.mark.parametrize("prior", ["0.001", "0.3", "0.5", "0.8"])
@pytest.mark.parametrize("mu", ["0.5", "3"])
def test_bayes_success_of_a_gaussian_is_a_threshold(prior: str, mu: str) -> None:
    """The best guess compares the likelihood ratio with the odds: p Phi(..) + (1 - p) Phi(..)."""
    p, m = mpmath.mpf(prior), mpmath.mpf(mu)
    t = m / 2 + mpmath.log((1 - p) / p) / m
    truth = p * mpmath.ncdf(m - t) + (1 - p) * mpmath.ncdf(t)
    holds(bayes_success(account(Gaussian(1, mu)), prior), truth, 1e-9)


def test_bayes_success_on_a_sample_depends_on_who_was_sampled() -> None:
    """One sampled release: the same threshold rule with the mixture's likelihood ratio."""
    p, q, m = mpmath.mpf("0.5"), mpmath.mpf("0.2"), mpmath.mpf(2)
    t = m / 2  # where the ratio of the mixture is one
    with_it = (1 - q) * mpmath.ncdf(-t) + q * mpmath.ncdf(m - t)
    truth = p * with_it + (1 - p) * mpmath.ncdf(t)
    holds(bayes_success(account(PoissonSampled("0.2", Gaussian("0.5")))), truth, 1e-6)


@pytest.mark.parametrize(
    ("event", "count"), [(PoissonSampled("0.01", Gaussian("0.8")), 1000), (RandomizedResponse(1), 5)]
)
def test_the_regret_of_a_gaussian_equivalent_is_what_it_hides(event: Event, count: int) -> None:
    """sup (delta - delta_mu) / (1 + e^epsilon): never below it, close to it; the curve it claims is below the true."""
    accountant = account(Repeated(event, count))
    found = gaussian_equivalent(accountant, cells=256)
    mu, regret = mpmath.mpf(str(found.mu)), mpmath.mpf(str(found.regret))
    top = float(accountant.epsilon("1e-9").upper)
    hidden = mpmath.mpf(0)
    for k in range(61):
        e = mpmath.mpf(top) * k / 60
        gauss = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
        delta = mpmath.mpf(str(accountant.delta(Decimal(mpmath.nstr(e, 15))).lower))
        hidden = max(hidden, (delta - gauss) / (1 + mpmath.exp(e)))
    assert hidden <= regret <= hidden * 1.1 + mpmath.mpf("2e-5")
    for rate in ("1e-12", "1e-6", "0.01", "0.3"):
        claimed = 1 - gaussian(mu)(mpmath.mpf(rate) + regret) - regret
        (curve,) = trade_off(accountant, [rate])
        assert claimed <= mpmath.mpf(str(curve.upper))


def sampled_moment(q: str, sigma: str, order: Real, *, add: bool) -> Real:
    """log E_Q[(P/Q)^order] / (order - 1) of one sampled Gaussian release, by integration."""
    rate, s, a = mpmath.mpf(q), mpmath.mpf(sigma), mpmath.mpf(order)

    def integrand(x: Real) -> Real:
        ratio = 1 - rate + rate * mpmath.exp((2 * x - 1) / (2 * s * s))
        density = mpmath.npdf(x, 0, s)
        return density * (ratio ** (1 - a) if add else ratio**a)

    far = mpmath.linspace(-12 * s, 12 * s + a, 14)
    return mpmath.log(mpmath.quad(integrand, far)) / (a - 1)


@pytest.mark.parametrize("order", ["1.25", "2", "7.5", "32"])
@pytest.mark.parametrize(("q", "sigma"), [("0.01", "1"), ("0.3", "2")])
def test_renyi_divergences_of_a_sample_by_integration(order: str, q: str, sigma: str) -> None:
    """Both directions, whole and fractional orders; composition multiplies by the count."""
    mpmath.mp.dps = 20
    accountant = account(Repeated(PoissonSampled(q, Gaussian(sigma)), 50))
    for direction in ("remove", "add"):
        truth = 50 * sampled_moment(q, sigma, order, add=direction == "add")
        found = renyi(accountant, order, direction=direction)
        assert float(found.lower) <= float(truth) * (1 + 1e-12)
        assert float(found.upper) >= float(truth) * (1 - 1e-12)
        assert float(found.upper - found.lower) <= 1e-9 * float(truth)


@pytest.mark.parametrize("order", ["1.01", "2", "5.5", "100", "10000"])
def test_renyi_divergences_of_noise_in_closed_form(order: str) -> None:
    """Gaussian, Laplace and randomized response alone, and all three in one plan, at small and very large orders."""
    a, e = mpmath.mpf(order), mpmath.mpf("0.5")
    gauss = a / 8
    lap = mpmath.log(a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)) / (a - 1)
    response = mpmath.log(mpmath.cosh((a - mpmath.mpf("0.5")) * e) / mpmath.cosh(e / 2)) / (a - 1)
    for event, truth in ((Gaussian(2), gauss), (Laplace(2), lap), (RandomizedResponse("0.5"), response)):
        holds(renyi(account(event), order), truth, 1e-10)
    mixed = account(Composed((Repeated(Gaussian(2), 3), Laplace(2), Repeated(RandomizedResponse("0.5"), 7))))
    holds(renyi(mixed, order), 3 * gauss + lap + 7 * response, 1e-10)


def test_zcdp_of_pure_and_mixed_plans_is_tight_and_of_samples_enclosed() -> None:
    """mu^2/2, e + e^-e - 1 and e tanh(e/2) add up; a sample lies between its best order and its base."""
    e = mpmath.mpf("0.5")
    pure = {
        Gaussian(2): mpmath.mpf(1) / 8,
        Laplace(2): e + mpmath.exp(-e) - 1,
        RandomizedResponse("0.5"): e * mpmath.tanh(e / 2),
    }
    for event, rho in pure.items():
        holds(zcdp(account(event)), rho, 0.005)
    mixed = account(Composed(tuple(pure)))
    holds(zcdp(mixed), sum(pure.values()), 0.005)
    sampled = zcdp(account(Repeated(PoissonSampled("0.1", Gaussian(1)), 10)))
    with mpmath.workdps(18):
        worst = max(10 * sampled_moment("0.1", "1", a, add=False) / mpmath.mpf(a) for a in ("2", "60"))
    assert float(worst) <= float(sampled.upper) * (1 + 1e-12)
    assert float(worst) <= float(sampled.lower) * (1 + 1e-2)
    assert sampled.upper <= 5


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (Repeated(PoissonSampled("0.05", Gaussian(1)), 20), "add_remove"),
        (FixedSizeSampled(10, 100, Gaussian(2, 2)), "replace_one"),
        (Composed((DiscreteLaplace(3, 2), Gaussian(1))), "add_remove"),
        (Composed((RandomizedResponse(1, "1e-4"), Gaussian(1))), "add_remove"),
    ],
)
@pytest.mark.parametrize("level", ["0.4", "0.8"])
def test_profile_and_curve_are_conjugate(event: Event, relation: str, level: str) -> None:
    """At the rate x where the profile falls by x for each e^epsilon, the power is delta + e^epsilon x."""
    accountant, epsilon, step = account(event, relation=relation), Decimal(level), Decimal("1e-3")
    for direction in ("remove", "add"):
        before, here, after = (
            accountant.delta(epsilon + move, direction=direction).upper for move in (-step, Decimal(0), step)
        )
        x = (before - after) / ((epsilon + step).exp() - (epsilon - step).exp())
        power = true_positive_rate(accountant, x, direction=direction)
        line = float(here) + float(epsilon.exp()) * float(x)
        assert float(power.lower) <= line * (1 + 1e-12)
        assert float(power.upper) >= line * (1 - 2e-6)
