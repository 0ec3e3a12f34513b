"""At the ends of the promised ranges every answer is a finite interval, in order, and contains what is known."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from dosimeter.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
)
from dosimeter.exact import Bound
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.pld.accountant import Accountant

DIGITS = [-1, -300]
LEVELS = ["0", "10000"]
NOISES = ["0.001", "1", "1000000"]
COUNTS = [1, 1000, 10**9]
SLACK = Decimal("1e-9")

PLANS: list[list[tuple[Event, int]]] = [
    *([(Laplace(s), n)] for s, n in [("0.001", 1), ("0.001", 10**9), ("1", 1000), ("1000000", 10**9)]),
    *([(RandomizedResponse(e), n)] for e, n in [("0.000001", 10**9), ("0.1", 10**9), ("1000", 1), ("1000", 1000)]),
    *([(DiscreteGaussian(s), n)] for s, n in [("0.5", 1), ("0.5", 10**9), ("1000000", 1)]),
    *([(DiscreteLaplace(s), n)] for s, n in [("0.1", 1000), ("1000000", 10**9)]),
    *([(PoissonSampled("1e-9", Gaussian(s)), n)] for s, n in [("0.001", 1000), ("0.001", 10**9), ("1000", 1)]),
    *([(PoissonSampled("0.5", Gaussian(s)), n)] for s, n in [("0.1", 1000), ("1000000", 1000)]),
    [(PoissonSampled("1e-9", Gaussian("0.001")), 1000), (Laplace(1), 1)],
    [(PoissonSampled("1e-9", Laplace("0.1")), 1000), (Laplace(1), 1)],
    [(RandomizedResponse("0.1"), 1000), (DiscreteGaussian(1), 10)],
    [(Gaussian("1000000"), 10**9), (Laplace("0.001"), 1)],
]


def name(plan: list[tuple[Event, int]]) -> str:
    return "+".join(f"{count}x{event.kind}" for event, count in plan)


def account(plan: list[tuple[Event, int]]) -> Accountant:
    result = Accountant()
    for event, count in plan:
        result.append(event, count)
    return result


def holds(found: Bound) -> None:
    assert found.lower.is_finite()
    assert found.upper.is_finite()
    assert 0 <= found.lower <= found.upper
    assert not found.lower.is_signed()


def largest(plan: list[tuple[Event, int]]) -> float:
    """The sum of pure losses; infinite if a part has none."""
    total = 0.0
    for event, count in plan:
        if isinstance(event, Laplace | DiscreteLaplace):
            total += count / float(event.scale)
        elif isinstance(event, RandomizedResponse):
            total += count * float(event.epsilon)
        else:
            return math.inf
    return total


def chance(plan: list[tuple[Event, int]]) -> float:
    """A bound of the total variation of a plan of samples: how often the record is drawn at all."""
    if all(isinstance(event, PoissonSampled) for event, _ in plan):
        return sum(float(event.probability) * count for event, count in plan if isinstance(event, PoissonSampled))
    return 1.0


@pytest.mark.parametrize("plan", PLANS, ids=name)
def test_answers_at_the_ends_of_the_ranges(plan: list[tuple[Event, int]]) -> None:
    composed = account(plan)
    before = None
    for digits in DIGITS:
        found = composed.epsilon(log10_delta=digits)
        holds(found)
        assert float(found.upper) <= largest(plan) * (1 + 1e-9)
        if chance(plan) <= 10.0**digits:
            assert found.lower == 0
        if before is not None:  # a smaller delta never costs less
            assert found.upper >= before.lower
        before = found
    before = None
    for level in LEVELS:
        delta = composed.delta(level)
        holds(delta)
        assert delta.upper <= 1
        assert float(delta.lower) <= chance(plan) * (1 + 1e-9)
        if float(level) >= largest(plan):
            assert delta.lower == 0
        if before is not None:  # a larger epsilon never needs a larger delta
            assert delta.lower <= before.upper
        before = delta


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("sigma", NOISES)
def test_gaussians_at_the_ends_contain_the_closed_form(sigma: str, count: int) -> None:
    composed = account([(Gaussian(sigma), count)])
    mu = Decimal(count).sqrt() / Decimal(sigma)
    for digits in DIGITS:
        found = composed.epsilon(log10_delta=digits)
        holds(found)
        assert found.upper - found.lower <= SLACK * found.upper
        if found.upper and float(found.upper) < 1e11:
            wanted = Decimal(10) ** digits
            assert gaussian_delta(mu, found.upper * (1 + SLACK)) <= wanted * (1 + SLACK)
            assert gaussian_delta(mu, found.lower * (1 - SLACK)) >= wanted * (1 - SLACK)
    for level in LEVELS:
        delta = composed.delta(level)
        holds(delta)
        assert delta.lower * (1 - SLACK) <= gaussian_delta(mu, level)


def test_a_sample_of_everyone_is_no_sample() -> None:
    for sigma in NOISES:
        sampled, plain = account([(PoissonSampled(1, Gaussian(sigma)), 7)]), account([(Gaussian(sigma), 7)])
        assert sampled.epsilon(log10_delta=-300) == plain.epsilon(log10_delta=-300)


@pytest.mark.parametrize("digits", [-6, -50])
def test_more_noise_fewer_runs_and_rarer_samples_never_cost_more(digits: int) -> None:
    def price(rate: str, sigma: str, count: int) -> Bound:
        return account([(PoissonSampled(rate, Gaussian(sigma)), count)]).epsilon(log10_delta=digits)

    for rate, sigma, count in [("1e-6", "4", 10_000), ("0.01", "0.8", 10)]:
        here = price(rate, sigma, count)
        holds(here)
        for other in (price(rate, str(2 * float(sigma)), count), price(rate, sigma, count // 2)):
            assert other.lower <= here.upper
        assert price(str(float(rate) / 10), sigma, count).lower <= here.upper


def test_losses_far_above_epsilon_give_a_delta_next_to_one() -> None:
    for plan in ([(Laplace("0.001"), 1)], [(RandomizedResponse(1), 1000)], [(RandomizedResponse("0.1"), 1000)]):
        found = account(plan).delta(0)
        assert found.lower >= Decimal("0.88")
        assert found.upper - found.lower < Decimal("1e-9")
