"""The quick search for a Gaussian epsilon returns what the slow one returns, over the whole range of inputs."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.events import Gaussian
from dosimeter.exact import ONE, ZERO, Bound
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.notions.profiles.gaussian import raised_tail_ball
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction
from dosimeter.pld.saddle.closed import closed
from dosimeter.pld.saddle.gaussian import gaussian_epsilon
from dosimeter.pld.saddle.target import target

WHOLE = Bound(ONE, ONE)


def goal_of(delta: str) -> object:
    return target(Bound(Decimal(delta), Decimal(delta)), Bound(ZERO, ZERO))


@pytest.mark.parametrize("delta", ["0.9", "0.3", "1e-2", "1e-6", "1e-20", "1e-100", "1e-300"])
@pytest.mark.parametrize("variance", ["1e-18", "1e-9", "1e-4", "0.3", "1", "400", "1e6", "1e12"])
def test_it_agrees_with_the_slow_search(variance: str, delta: str) -> None:
    square, goal = Fraction(Decimal(variance)), goal_of(delta)
    quick = gaussian_epsilon(square, WHOLE, goal)
    form = closed({}, square, Direction.REMOVE, WHOLE)
    assert quick is not None
    assert form is not None
    slow = form.epsilon(goal)
    assert quick[0] <= slow[1]
    assert slow[0] <= quick[1]
    assert quick[1] - quick[0] <= 1e-13 * quick[1]


@pytest.mark.parametrize(("square", "delta"), [("1", "1e-5"), ("2.5", "1e-15"), ("0.1", "1e-100"), ("1e-6", "1e-4")])
def test_both_ends_are_certified(square: str, delta: str) -> None:
    """Delta at the upper end is at most the target, and just below the lower end above it."""
    found = gaussian_epsilon(Fraction(Decimal(square)), WHOLE, goal_of(delta))
    assert found is not None
    mu = Decimal(square).sqrt()
    assert gaussian_delta(mu, Decimal(found[1]) * Decimal("1.0000000000001")) <= Decimal(delta)
    if found[0]:
        assert gaussian_delta(mu, Decimal(found[0]) * Decimal("0.9999999999999")) >= Decimal(delta)


def test_infinite_losses_beside_gaussians_are_charged() -> None:
    """With a part of the mass infinite, epsilon is that of the rest at what is left of delta."""
    account = Accountant()
    account.append(GaussianLaw(Fraction(1), Fraction(1, 10**6)), 3)
    found = account.epsilon("1e-5")
    back = account.delta(found.upper)
    assert back.upper <= Decimal("1.00000000001e-5")
    assert back.lower >= Decimal("0.9999999999e-5")


@pytest.mark.parametrize(("mu", "level"), [("2", "200000.5"), ("300000", "7"), ("20", "2000000"), ("250000", "-9")])
def test_the_series_far_out_meets_the_error_function(mu: str, level: str) -> None:
    from dosimeter.enclosure import ball, precision

    with precision(300):
        series = raised_tail_ball(ball(Decimal(mu)), ball(Decimal(level)))
        above = ball(Decimal(level)) / ball(Decimal(mu)) + ball(Decimal(mu)) / 2
        direct = ball(Decimal(level)).exp() * (above / ball(2).sqrt()).erfc() / 2
        assert above > 100_000
        assert min(series.rel_accuracy_bits(), direct.rel_accuracy_bits()) > 150
        assert series.overlaps(direct)
        assert not (series * (1 + ball(Decimal("1e-40")))).overlaps(direct)


def test_a_billion_runs_with_hardly_any_noise_have_an_epsilon() -> None:
    account = Accountant()
    account.append(Gaussian("1e-3"), 10**9)
    found = account.epsilon("1e-5")
    mu = Decimal(10) ** 15
    centre, deviation = mu / 2, mu.sqrt()
    assert (found.upper - centre) / deviation == pytest.approx(
        Decimal("4.26489"), rel=Decimal("1e-5")
    )  # Phi(-4.26489) = 1e-5
    assert found.upper / found.lower - 1 < Decimal("1e-14")


@pytest.mark.parametrize(("sigma", "level"), [("1e3", "1e4"), ("1e6", "1"), ("1", "1e4")])
def test_a_delta_too_small_to_write_down_is_bounded(sigma: str, level: str) -> None:
    account = Accountant()
    account.append(Gaussian(sigma))
    found = account.delta(level)
    assert (str(found.lower), str(found.upper)) == ("0", "1E-300")
