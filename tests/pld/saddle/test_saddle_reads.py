"""What an attacker can do, read from the same profile; and Renyi divergences of the same laws."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import gaussian_law
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Law
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import PoissonSampledLaw
from dosimeter.pld.reads import advantage, bayes_success, gaussian_equivalent, trade_off, true_positive_rate
from dosimeter.pld.renyi import renyi, zcdp


def account(law: Law, count: int = 1) -> Accountant:
    accountant = Accountant()
    accountant.append(law, count)
    return accountant


def holds(bound: object, truth: float) -> bool:
    slack = Decimal(1e-13 * max(abs(truth), 1e-3))
    return bound.lower - slack <= Decimal(truth) <= bound.upper + slack  # type: ignore[attr-defined]


@settings(max_examples=10, deadline=None)
@given(st.fractions("1/50", 1), st.fractions("1/50", 1), st.fractions("1/100", "99/100"))
def test_a_pair_of_coins_is_attacked_as_a_table_says(p: Fraction, q: Fraction, prior: Fraction) -> None:
    """For two outcomes the best attack is one of four, so every rate has a closed form."""
    if p == q:
        return
    accountant = account(FinitePairLaw((p, 1 - p), (q, 1 - q)))
    assert holds(advantage(accountant), float(abs(p - q)))
    guess = max(prior, 1 - prior, prior * p + (1 - prior) * (1 - q), prior * (1 - p) + (1 - prior) * q)
    found = bayes_success(accountant, prior)
    assert holds(found, float(guess))
    assert found.upper - found.lower < Decimal("1e-6")


def test_the_curve_of_randomized_response_has_its_corner() -> None:
    """f(x) = max(1 - e^eps x, e^-eps (1 - x)); at a false-positive rate of 0.1 and eps = 1 the first line counts."""
    accountant = account(ResponseLaw(Fraction(1)))
    (steep, flat) = trade_off(accountant, ["0.1", "0.6"])
    assert holds(steep, 1 - math.e * 0.1)
    assert holds(flat, 0.4 / math.e)
    for bound in (steep, flat):
        assert bound.upper - bound.lower <= Decimal("1e-6")


def test_rates_are_never_below_guessing_and_rise_with_the_false_positive_rate() -> None:
    accountant = account(PoissonSampledLaw(Fraction(1, 100), gaussian_law("0.8")), 1000)
    rates = [true_positive_rate(accountant, x) for x in ("1e-9", "1e-6", "1e-3", "0.1", "0.9")]
    for x, rate in zip(("1e-9", "1e-6", "1e-3", "0.1", "0.9"), rates, strict=True):
        assert rate.lower >= Decimal(x)
        assert rate.upper - rate.lower <= Decimal("3e-6") * rate.upper
    assert [r.lower for r in rates] == sorted(r.lower for r in rates)


def test_the_advantage_is_half_a_guess() -> None:
    accountant = account(LaplaceLaw(Fraction(1)))
    assert holds(advantage(accountant), 1 - math.exp(-0.5))
    assert holds(bayes_success(accountant), 1 - math.exp(-0.5) / 2)


def test_a_gaussian_is_its_own_equivalent_and_others_carry_regret() -> None:
    own = gaussian_equivalent(account(gaussian_law(2), 4))
    assert abs(own.mu - 1) < Decimal("1e-9")
    assert own.regret < Decimal("1e-3")
    sampled = account(PoissonSampledLaw(Fraction(1, 100), gaussian_law("0.8")), 1000)
    other = gaussian_equivalent(sampled)
    finer = gaussian_equivalent(sampled, cells=256)
    assert Decimal("1e-3") < finer.regret <= other.regret < Decimal("0.01")


def test_the_regret_covers_the_far_tail() -> None:
    """At every false-positive rate the statement (mu, regret) is not above the true curve."""
    from statistics import NormalDist

    accountant = account(PoissonSampledLaw(Fraction(1, 100), gaussian_law("0.8")), 1000)
    found = gaussian_equivalent(accountant)
    normal, mu, regret = NormalDist(), float(found.mu), float(found.regret)
    for x, bound in zip((1e-6, 1e-3, 0.05, 0.5), trade_off(accountant, ["1e-6", "1e-3", "0.05", "0.5"]), strict=True):
        claimed = normal.cdf(normal.inv_cdf(1 - x - regret) - mu) - regret
        assert claimed <= float(bound.upper)


def test_renyi_divergences_add_and_the_directions_differ() -> None:
    law = PoissonSampledLaw(Fraction(1, 100), gaussian_law(1))
    one, many = renyi(account(law), 32), renyi(account(law, 1000), 32)
    assert holds(one, 11.246275937048068835)
    assert holds(many, 11246.275937048068835)
    assert renyi(account(law), 32, direction="add").upper < one.lower


def test_zcdp_lies_between_the_best_order_and_the_sum() -> None:
    mixed = account(gaussian_law(2))
    mixed.append(LaplaceLaw(Fraction(1)), 3)
    mixed.append(ResponseLaw(Fraction(1, 2)), 2)
    found = zcdp(mixed)
    exact = 1 / 8 + 3 * math.exp(-1) + 2 * 0.5 * math.tanh(0.25)
    assert holds(found, exact)
    assert found.upper - found.lower < Decimal("0.01")
    sampled = zcdp(account(PoissonSampledLaw(Fraction(1, 100), gaussian_law(1))))
    assert sampled.upper == Decimal("0.5")  # sampling does not amplify zCDP


def test_divergences_of_mechanisms_that_may_fail_are_refused() -> None:
    with pytest.raises(NoGuaranteeError, match="infinite"):
        renyi(account(ResponseLaw(Fraction(1), Fraction(1, 10**6))), 2)
    with pytest.raises(InputError, match="order"):
        renyi(account(gaussian_law(1)), 1)
    with pytest.raises(InputError, match="prior"):
        bayes_success(account(gaussian_law(1)), 1)
