"""Inputs on which accounting libraries were publicly reported wrong, each with its right value.

Values are exact to the digits given. A bound counts as right if it contains the value and is narrow; where only an
upper value is known, nothing above it may be certified as a lower bound.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.accounting.calibration import clipped_sum_sensitivity, gaussian_sigma
from dosimeter.accounting.parameters import find_parameter
from dosimeter.adaptive.filters import RDPFilter
from dosimeter.composition import optimal_homogeneous_epsilon, rdp_sum
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
from dosimeter.notions import RDP, ApproxDP
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.reads import gaussian_equivalent, trade_off, true_positive_rate
from dosimeter.pld.renyi import renyi


def sampled(q: str, sigma: str, count: int) -> Event:
    return Repeated(PoissonSampled(q, Gaussian(sigma)), count)


def account(*events: Event, relation: str = "add_remove") -> Accountant:
    accountant = Accountant(relation)
    accountant.extend(events)
    return accountant


JUMPS = "a grid chosen for larger deltas: epsilon jumps by a factor of 80 between 1.1e-18 and 1.13e-18"
MEAN = "rounded masses lose the mean where losses are large: an error about a mean that differs, and no answer"
SEARCH = "a root is looked for where there is none: negative or ten times too large an epsilon, or an error"
LIMIT = "the central limit as if it were a bound: below the truth"
CONVERSION = "the weaker conversion of one and the same Renyi curve: two libraries, two epsilons"
RATE = "the check ran at the rate of an eighth of the effective batch, and was passed"
SHRINKS = "a transform without tilt: its rounding error swallows a small delta, and epsilon comes out too small"
DIFFERENCES = "second differences of delta on a fine grid: rounding makes them too small, and epsilon with them"
POWERS = "a formula that takes e^epsilon to a power overflows, or a bound that is far from the optimum is returned"
UNDERFLOW = "e^-loss underflows beyond 745: mass at large losses counts as infinite, and epsilon is too large"
SIZE = "a grid as fine as for small losses over a range of millions: memory runs out, or minutes pass"
SOLVER = "the search for e^epsilon is confined to [0, 1]: a negative epsilon, without an error"
NO_ERROR = "a truncated inversion without an error term: below the truth by a fiftieth, at a small delta by one"
SCALED = "the sensitivity of an exchange is applied in one accountant and forgotten in the other: a factor of four"
NOISY = "calibration by a loose bound: thirteen times the noise that is needed"

EPSILONS = [
    ("very small delta, q=.00033", JUMPS, [sampled("0.00033", "4", 10_000)], "1.13e-18", 0.0671854, 1e-6),
    ("very small delta, q=.00038", JUMPS, [sampled("0.00038", "4", 10_000)], "1.13e-18", 0.0775409, 1e-6),
    ("large epsilon, ten steps", MEAN, [sampled("0.2", "1", 10)], "1e-5", 4.98421340, 2e-9),
    ("large epsilon, five hundred steps", MEAN, [sampled("0.2", "1", 500)], "1e-5", 38.1702472, 2e-9),
    ("little noise", MEAN, [sampled("0.1", "0.3", 100)], "1e-5", 106.175899, 5e-9),
    ("moderate noise", MEAN, [sampled("0.1", "0.5", 100)], "1e-5", 31.3709950, 2e-9),
    ("hardly any noise", UNDERFLOW, [sampled("0.1", "0.1", 100)], "1e-5", 1199.58634, 5e-7),
    ("epsilon near zero", SEARCH, [sampled("0.001", "10", 1)], "1e-5", 9.7136e-5, 1e-5),
    ("which accountant is right", LIMIT, [sampled("0.2", "3", 50)], "0.0000208333333333333", 1.96081134, 1e-7),
    ("two libraries, one run", CONVERSION, [sampled("0.02048", "1.54", 1464)], "1e-5", 2.38629291, 3e-9),
    ("batch ten", RATE, [sampled("0.01", "1", 100)], "1e-5", 0.718035661, 2e-9),
    ("batch eighty", RATE, [sampled("0.08", "1", 100)], "1e-5", 5.61341863, 2e-9),
    ("calibrated", NOISY, [sampled("0.1", "57.0084843", 128)], "1e-9", 0.1, 1e-7),
    ("calibrated to one", NOISY, [sampled("0.01", "1.41461941", 1000)], "1e-5", 1.0, 1e-7),
    ("deep tail of many Gaussians", SHRINKS, [Repeated(Gaussian(100), 10_000)], "1e-12", 7.238494, 1e-7),
    ("tail of many Gaussians", SHRINKS, [Repeated(Gaussian(100), 10_000)], "1e-10", 6.547924, 1e-7),
    ("sampled, deep tail", DIFFERENCES, [sampled("0.01", "0.8", 1000)], "1e-12", 6.992031, 1e-7),
    ("strong Gaussians", DIFFERENCES, [Repeated(Gaussian(5), 1000)], "1e-5", 46.2112102, 1e-9),
    ("a thousand responses", POWERS, [Repeated(RandomizedResponse("0.1"), 1000)], "1e-6", 19.34467, 1e-6),
    ("five hundred responses", POWERS, [Repeated(RandomizedResponse("0.1"), 500)], "1e-6", 12.51788, 1e-6),
    ("ten responses", POWERS, [Repeated(RandomizedResponse("0.1"), 10)], "1e-6", 0.99937, 1e-5),
    ("a loss of a thousand", UNDERFLOW, [Gaussian("0.025")], "1e-5", 969.6456, 1e-7),
    ("hardly any Gaussian noise", SIZE, [Gaussian("0.01")], "1e-6", 5474.3655, 1e-8),
    ("a thousandth of noise", SIZE, [Gaussian("0.001")], "1e-5", 504_263.892920654, 1e-13),
    ("a thousand Gaussians", SOLVER, [Repeated(Gaussian(20), 1000)], "1e-5", 7.51127590074, 1e-11),
    ("sensitivity in the event", SCALED, [Gaussian(1, 2)], "1e-5", 9.99725615, 1e-9),
    ("sampled ten thousand times", NO_ERROR, [sampled("0.01", "0.8", 10_000)], "1e-5", 10.05363, 1e-6),
    ("Gaussian noise for epsilon 50", POWERS, [Gaussian("0.156592870")], "1e-6", 50.0, 1e-7),
    ("Gaussian noise for epsilon 1000", POWERS, [Gaussian("0.0248503667")], "1e-6", 1000.0, 1e-8),
]


@pytest.mark.parametrize(
    ("elsewhere", "events", "delta", "right", "digits"), [e[1:] for e in EPSILONS], ids=[e[0] for e in EPSILONS]
)
def test_epsilon_is_right_where_it_was_reported_wrong(
    elsewhere: str, events: list[Event], delta: str, right: float, digits: float
) -> None:
    """Each row says what goes wrong elsewhere; here the bounds are narrow and hold the exact value."""
    found = account(*events).epsilon(delta)
    slack = Decimal(right * digits)
    assert found.lower - slack <= Decimal(right) <= found.upper + slack, elsewhere
    assert found.upper - found.lower <= Decimal("2e-6") * found.upper, elsewhere


@pytest.mark.parametrize(
    ("build", "epsilon", "delta", "noise"),
    [
        (lambda v: Gaussian(v), 50, "1e-6", 0.156592870),
        (lambda v: Gaussian(v), 1000, "1e-6", 0.0248503667),
        (lambda v: Repeated(PoissonSampled("0.1", Gaussian(v)), 128), "0.1", "1e-9", 57.0084843),
        (lambda v: Repeated(PoissonSampled("0.01", Gaussian(v)), 1000), 1, "1e-5", 1.41461941),
    ],
    ids=["epsilon 50", "epsilon 1000", "little epsilon", "a training run"],
)
def test_the_least_noise_is_found_where_others_overflow_or_find_too_much(
    build: Any, epsilon: Any, delta: str, noise: float
) -> None:
    """Elsewhere: an overflow, 1.06 % too much at epsilon 50, 729.2 for 57.0, and up to 8 % too much in training."""
    found = find_parameter(build, "noise_multiplier", epsilon=epsilon, delta=delta)
    assert math.isclose(float(found.value), noise, rel_tol=5e-9)
    assert found.epsilon.upper <= Decimal(epsilon)
    if epsilon in (50, 1000):
        assert math.isclose(float(gaussian_sigma(epsilon=epsilon, delta=delta, l2_sensitivity=1)), noise, rel_tol=5e-9)


def test_accountants_agree_about_an_exchanged_record() -> None:
    """Elsewhere one scales the event for a replaced record, the other does not: half the epsilon, a quarter of rho."""
    event = Gaussian(1, clipped_sum_sensitivity(clip_norm=1, neighbouring_relation="replace_one"))
    exact = account(event, relation="replace_one")
    assert math.isclose(float(exact.epsilon("1e-5").upper), 9.99725615, rel_tol=1e-8)
    for order in (2, 8):
        loss = loss_for(event, RDPFilter(order, 1), relation="replace_one")
        assert isinstance(loss, RDP)
        assert loss.epsilons[0] == 2 * order
        assert math.isclose(float(renyi(exact, order).upper), 2 * order, rel_tol=1e-12)
    summed = rdp_sum([(RDP((2, 3, 4, 6, 8), (4, 6, 8, 12, 16)), 1)], "1e-5").epsilon
    assert exact.epsilon("1e-5").upper < summed < 11


def test_optimal_composition_neither_overflows_nor_stops_at_the_sum() -> None:
    """Elsewhere a power of e^epsilon overflows at a thousand mechanisms; 12.6 and 1.0 for fewer are looser bounds."""
    for count, right in ((1000, 19.34467), (500, 12.51788), (10, 0.99937)):
        found = optimal_homogeneous_epsilon(ApproxDP("0.1"), count, "1e-6")
        assert math.isclose(float(found), right, rel_tol=1e-5)


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
