"""Inputs on which accounting libraries were publicly reported wrong, each with its right value.

Values are exact to the digits given. A bound counts as right if it contains the value and is narrow; where only an
upper value is known, nothing above it may be certified as a lower bound.
"""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from dosimeter.events import (
    Composed,
    Declared,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
)
from dosimeter.notions import ApproxDP
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.reads import gaussian_equivalent, trade_off, true_positive_rate
from dosimeter.pld.renyi import renyi


def sampled(q: str, sigma: str, count: int) -> Event:
    return Repeated(PoissonSampled(q, Gaussian(sigma)), count)


def account(*events: Event, relation: str = "add_remove") -> Accountant:
    accountant = Accountant(relation)
    accountant.extend(events)
    return accountant


EPSILONS = [
    ("very small delta, q=.00033", [sampled("0.00033", "4", 10_000)], "1.13e-18", 0.0671854, 1e-6),
    ("very small delta, q=.00038", [sampled("0.00038", "4", 10_000)], "1.13e-18", 0.0775409, 1e-6),
    ("large epsilon, ten steps", [sampled("0.2", "1", 10)], "1e-5", 4.98421340, 2e-9),
    ("large epsilon, five hundred steps", [sampled("0.2", "1", 500)], "1e-5", 38.1702472, 2e-9),
    ("little noise", [sampled("0.1", "0.3", 100)], "1e-5", 106.175899, 5e-9),
    ("moderate noise", [sampled("0.1", "0.5", 100)], "1e-5", 31.3709950, 2e-9),
    ("hardly any noise", [sampled("0.1", "0.1", 100)], "1e-5", 1199.58634, 5e-7),
    ("epsilon near zero", [sampled("0.001", "10", 1)], "1e-5", 9.7136e-5, 1e-5),
    ("which accountant is right", [sampled("0.2", "3", 50)], "0.0000208333333333333", 1.96081134, 1e-7),
    ("two libraries, one run", [sampled("0.02048", "1.54", 1464)], "1e-5", 2.38629291, 3e-9),
    ("batch ten", [sampled("0.01", "1", 100)], "1e-5", 0.718035661, 2e-9),
    ("batch eighty", [sampled("0.08", "1", 100)], "1e-5", 5.61341863, 2e-9),
    ("calibrated", [sampled("0.1", "57.0084843", 128)], "1e-9", 0.1, 1e-7),
    ("calibrated to one", [sampled("0.01", "1.41461941", 1000)], "1e-5", 1.0, 1e-7),
    ("deep tail of many Gaussians", [Repeated(Gaussian(100), 10_000)], "1e-12", 7.238494, 1e-7),
    ("tail of many Gaussians", [Repeated(Gaussian(100), 10_000)], "1e-10", 6.547924, 1e-7),
    ("sampled, deep tail", [sampled("0.01", "0.8", 1000)], "1e-12", 6.992031, 1e-7),
    ("strong Gaussians", [Repeated(Gaussian(5), 1000)], "1e-5", 46.2112102, 1e-9),
    ("a thousand responses", [Repeated(RandomizedResponse("0.1"), 1000)], "1e-6", 19.34467, 1e-6),
    ("five hundred responses", [Repeated(RandomizedResponse("0.1"), 500)], "1e-6", 12.51788, 1e-6),
    ("ten responses", [Repeated(RandomizedResponse("0.1"), 10)], "1e-6", 0.99937, 1e-5),
    ("a loss of a thousand", [Gaussian("0.025")], "1e-5", 969.6456, 1e-7),
    ("hardly any Gaussian noise", [Gaussian("0.01")], "1e-6", 5474.3655, 1e-8),
    ("sensitivity in the event", [Gaussian(1, 2)], "1e-5", 9.99725615, 1e-9),
    ("sampled ten thousand times", [sampled("0.01", "0.8", 10_000)], "1e-5", 10.05363, 1e-6),
    ("Gaussian noise for epsilon 50", [Gaussian("0.156592870")], "1e-6", 50.0, 1e-7),
    ("Gaussian noise for epsilon 1000", [Gaussian("0.0248503667")], "1e-6", 1000.0, 1e-8),
]


@pytest.mark.parametrize(
    ("events", "delta", "right", "digits"), [e[1:] for e in EPSILONS], ids=[e[0] for e in EPSILONS]
)
def test_epsilon_is_right_where_it_was_reported_wrong(
    events: list[Event], delta: str, right: float, digits: float
) -> None:
    found = account(*events).epsilon(delta)
    slack = Decimal(right * digits)
    assert found.lower - slack <= Decimal(right) <= found.upper + slack
    assert found.upper - found.lower <= Decimal("2e-6") * found.upper


@pytest.mark.parametrize(
    ("events", "delta", "delta_at_zero"),
    [
        ([sampled("0.0001", "20", 10)], "1e-5", 6.3e-6),
        ([sampled("0.00105", "1", 1)], "1e-3", 4.0207e-4),
    ],
    ids=["a tiny budget", "one step"],
)
def test_epsilon_zero_is_the_right_answer_where_delta_suffices(
    events: list[Event], delta: str, delta_at_zero: float
) -> None:
    """Not negative, not an error: at epsilon 0 the composition already needs less than the wanted delta."""
    accountant = account(*events)
    assert accountant.epsilon(delta).upper == 0
    found = accountant.delta(0)
    assert math.isclose(float(found.upper), delta_at_zero, rel_tol=3e-3)
    assert found.upper < Decimal(delta)


def test_a_jump_of_epsilon_at_a_tiny_delta_does_not_happen() -> None:
    """Between delta 1.1e-18 and 1.13e-18 epsilon moves by a ten-thousandth, not by a factor of eighty."""
    accountant = account(sampled("0.00033", "4", 10_000))
    before, after = accountant.epsilon("1.1e-18"), accountant.epsilon("1.13e-18")
    assert 0 < before.lower - after.upper < Decimal("1e-4")


def test_epsilon_and_delta_stay_finite_for_pure_mechanisms() -> None:
    """Ten Laplace releases: exactly 10 at delta 0, below that at 1e-16, and 1000 for a scale of a thousandth."""
    ten = account(Repeated(Laplace(1), 10))
    assert ten.epsilon(0).lower == ten.epsilon(0).upper == 10
    assert Decimal("9.99999") < ten.epsilon("1e-16").upper <= 10
    assert account(Laplace("0.001")).epsilon(0).upper == 1000


def test_sampled_laplace_composes() -> None:
    """Ten Laplace releases on samples of a tenth: an upper value computed on a fine grid is 1.174208."""
    found = account(Repeated(PoissonSampled("0.1", Laplace(1)), 10)).epsilon("1e-5")
    assert found.upper <= Decimal("1.174208")
    assert found.lower >= Decimal("1.1742")


def test_repetitions_are_never_forgotten() -> None:
    """Ten repetitions cost as much as ten releases, in any nesting; a ladder once charged them as one."""
    one = account(Gaussian(1))
    nested = account(Repeated(Composed((Repeated(Gaussian(1), 2), Gaussian(1))), 4))
    twelve = account(*[Gaussian(1)] * 12)
    assert nested.epsilon("1e-5") == twelve.epsilon("1e-5")
    assert nested.epsilon("1e-5").lower > 3 * one.epsilon("1e-5").upper
    assert len(nested) == 12


def test_randomized_response_is_not_one_atom_at_plus_epsilon() -> None:
    """An (epsilon, 0) mechanism composes as randomized response: 1000 of 0.1 cost 19.3447 at 1e-6, not 99.9999."""
    declared = account(Repeated(Declared(ApproxDP("0.1"), "measured elsewhere"), 1000))
    assert math.isclose(float(declared.epsilon("1e-6").upper), 19.3446714480, rel_tol=1e-9)


def test_no_attack_does_worse_than_guessing() -> None:
    """At a false-positive rate of 1e-6 the true-positive rate of this training is 3.2e-5, not 1.6e-13."""
    found = true_positive_rate(account(sampled("0.01", "0.8", 1000)), "1e-6")
    assert found.lower >= Decimal("3.2e-5")
    assert found.upper <= Decimal("3.23e-5")


def test_a_gaussian_parameter_comes_with_what_it_hides() -> None:
    """mu = 0.6709 alone is false for this training (at x = 1e-6 it promises .9999777, the truth is .9999678)."""
    accountant = account(sampled("0.01", "0.8", 1000))
    found = gaussian_equivalent(accountant, "0.6709")
    assert found.mu == Decimal("0.6709")
    assert Decimal("1e-6") < found.regret < Decimal("1e-4")
    (rate,) = trade_off(accountant, ["1e-6"])
    assert rate.upper < Decimal("0.9999777")
    assert rate.upper >= Decimal("0.9999777") - 2 * found.regret


def test_a_renyi_divergence_is_not_its_small_order_slope() -> None:
    """Order 16 of a thousand steps is 7588; q^2 a / 2 sigma^2 would say 1.25."""
    found = renyi(account(sampled("0.01", "0.8", 1000)), 16)
    assert math.isclose(float(found.upper), 7588, rel_tol=1e-4)


def test_fixed_size_batches_have_their_own_law() -> None:
    """Batches without replacement under replace-one: half the noise-to-sensitivity ratio, not the Poisson number."""
    batches = account(
        Repeated(FixedSizeSampled(100, 10_000, Gaussian("0.8", 2)), 1000), relation="replace_one"
    ).epsilon("1e-5")
    poisson = account(sampled("0.01", "0.8", 1000)).epsilon("1e-5")
    assert batches.lower > 2 * poisson.upper
