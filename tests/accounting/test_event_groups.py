"""An event for a group is never cheaper than the group's exact loss, and exact where a closed form exists."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors.ranges import magnitudes

from dosimeter.accounting import loss_for
from dosimeter.accounting.groups import for_group, for_user, group_chance
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    Declared,
    DeclaredPair,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
    relations_of,
)
from dosimeter.events.event import EVENT_TYPES
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.notions.profiles.finite import hockey_stick
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.renyi import renyi


def account(event: Event) -> Accountant:
    accountant = Accountant(min(relations_of(event)))
    accountant.append(event)
    return accountant


# -- without sampling -----------------------------------------------------------------------------------------------


@given(magnitudes(-1, 1), st.integers(1, 30), st.sampled_from(["0", "0.5", "3"]))
@settings(max_examples=25, deadline=None)
def test_a_gaussian_group_is_a_larger_shift(sigma: Decimal, size: int, level: str) -> None:
    """mu grows k-fold, exactly, in the engine as in the closed form."""
    event = for_group(Gaussian(sigma), size=size)
    assert event == Gaussian(sigma, size)
    bound = account(event).delta(level)
    assert bound.lower <= gaussian_delta(Decimal(size) / sigma, level) * (1 + Decimal("1e-12"))
    assert gaussian_delta(Decimal(size) / sigma, level) <= bound.upper * (1 + Decimal("1e-12"))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Laplace(10, 2), Laplace(10, 6)),
        (DiscreteLaplace(10), DiscreteLaplace(10, 3)),
        (DiscreteGaussian(4), DiscreteGaussian(4, 3)),
        (RandomizedResponse("0.5"), RandomizedResponse("1.5")),
        (Declared(PureDP("0.5"), "x"), PureDP("1.5")),
        (Declared(ZCDP("0.02"), "x"), ZCDP("0.18")),
        (Declared(GDP("0.2"), "x"), GDP("0.6")),
        (Declared(RDP((2, 8), ("0.1", "0.5")), "x"), RDP((2,), ("4.5",))),
        (Repeated(Laplace(10), 4), Repeated(Laplace(10, 3), 4)),
        (Composed((Gaussian(2), Laplace(4))), Composed((Gaussian(2, 3), Laplace(4, 3)))),
    ],
)
def test_groups_of_three(event: Event, expected: Any) -> None:
    """Each kind of event by its own theorem; a group of one changes nothing."""
    grown = for_group(event, size=3)
    assert (grown.loss if isinstance(grown, Declared) else grown) == expected
    assert for_group(event, size=1) is event


def test_deltas_of_groups_grow_by_the_geometric_sum() -> None:
    """(0.5, 1e-6) for three at once is (1.5, 5.367e-6); a delta that would reach 1 is refused."""
    grown = for_group(Declared(ApproxDP("0.5", "1e-6"), "x"), size=3)
    assert isinstance(grown, Declared)
    assert isinstance(grown.loss, ApproxDP)
    assert grown.loss.epsilon == Decimal("1.5")
    assert math.isclose(float(grown.loss.delta), 5.36700309915917e-06, rel_tol=1e-12)
    response = for_group(RandomizedResponse("0.5", "1e-6"), size=3)
    assert response == RandomizedResponse("1.5", grown.loss.delta)
    for doomed in (RandomizedResponse(1, "0.01"), Declared(ApproxDP(1, "0.01"), "x")):
        with pytest.raises(NoGuaranteeError, match="reach 1"):
            for_group(doomed, size=20)


def test_randomized_response_of_three_is_within_its_group_law() -> None:
    """Three answers of one household, exactly: the product of three responses is what the event of the group says."""
    p = mp.mpf(1) / (1 + mp.exp(-mp.mpf("0.5")))
    bound = account(for_group(RandomizedResponse("0.5"), size=3))
    for level in ("0", "0.5", "1"):
        exact = mp.mpf(0)
        for truths in range(4):
            mine = mp.binomial(3, truths) * p**truths * (1 - p) ** (3 - truths)
            other = mp.binomial(3, truths) * p ** (3 - truths) * (1 - p) ** truths
            exact += max(mine - mp.exp(mp.mpf(level)) * other, 0)
        assert float(exact) <= float(bound.delta(level).upper) * (1 + 1e-12)


# -- sampling -------------------------------------------------------------------------------------------------------


def mixture_delta(q: str, mu: str, size: int, level: str, direction: str) -> mp.mpf:
    """Sum_j Bin(k, q)(j) N(j mu, 1) against N(0, 1) or the reverse: the exact pair of k coins."""
    weights = [mp.binomial(size, j) * mp.mpf(q) ** j * (1 - mp.mpf(q)) ** (size - j) for j in range(size + 1)]
    shift, g = mp.mpf(mu), mp.exp(mp.mpf(level))

    def ratio(x: mp.mpf) -> mp.mpf:
        return mp.fsum(w * mp.exp(j * shift * x - (j * shift) ** 2 / 2) for j, w in enumerate(weights))

    wanted = g if direction == "remove" else 1 / g
    low, high = mp.mpf(-60), mp.mpf(60)
    if ratio(low) >= wanted:
        return 1 - g if direction == "remove" else mp.mpf(0)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(middle) < wanted else (low, middle)
    t = low
    with_group = mp.fsum(w * mp.ncdf(j * shift - t) for j, w in enumerate(weights))
    if direction == "remove":
        return with_group - g * mp.ncdf(-t)
    return mp.ncdf(t) - g * (1 - with_group)


@pytest.mark.parametrize(("q", "sigma", "size"), [("0.1", "2", 2), ("0.3", "1", 3), ("0.02", "4", 8), ("0.5", "6", 20)])
def test_records_with_their_own_coins_cost_no_less_than_their_mixture(q: str, sigma: str, size: int) -> None:
    """The group's event is above the exact mixture of Gaussians, at every level, in both directions."""
    accountant = account(for_group(PoissonSampled(q, Gaussian(sigma)), size=size))
    mu = str(1 / Decimal(sigma))
    for level, direction in itertools.product(("-0.5", "0", "0.2", "1", "3"), ("remove", "add")):
        exact = mixture_delta(q, mu, size, level, direction)
        assert exact <= float(accountant.delta(level, direction=direction).upper) * (1 + 1e-12) + 1e-300


def test_amplifying_the_group_at_the_rate_of_a_record_is_caught() -> None:
    """The control: rate q with a sensitivity of k is below the exact mixture; 1 - (1-q)^k is what a group has."""
    q, sigma, size = "0.1", "2", 5
    wrong = account(PoissonSampled(q, Gaussian(sigma, size)))
    assert mixture_delta(q, "0.5", size, "0", "remove") > float(wrong.delta(0).upper)
    together = for_group(PoissonSampled(q, Gaussian(sigma)), size=size, sampling="groups")
    assert together == PoissonSampled(q, Gaussian(sigma, size))  # right where one coin decides for all of them


@pytest.mark.parametrize(("q", "sigma", "size"), [("0.01", "4", 4), ("0.05", "2", 3), ("0.3", "3", 10)])
def test_many_steps_for_groups_are_above_the_exact_moments(q: str, sigma: str, size: int) -> None:
    """Second moments of the exact mixture multiply over the steps; the composed price is above them, and not by far."""
    event = for_group(Repeated(PoissonSampled(q, Gaussian(sigma)), 100), size=size)
    weights = [mp.binomial(size, j) * mp.mpf(q) ** j * (1 - mp.mpf(q)) ** (size - j) for j in range(size + 1)]
    square = 1 / mp.mpf(sigma) ** 2
    exact = 100 * mp.log(
        mp.fsum(weights[i] * weights[j] * mp.exp(i * j * square) for i in range(size + 1) for j in range(size + 1))
    )
    found = float(renyi(account(event), 2, direction="remove").upper)
    assert float(exact) <= found <= 2.5 * float(exact)


def test_batches_are_hit_by_groups_as_often_as_they_are() -> None:
    """The chance that a batch of 3 out of 10 holds one of 2 records is 8/15; every batch of 9 holds one of 2."""
    grown = for_group(FixedSizeSampled(3, 10, Laplace(1)), size=2)
    assert isinstance(grown, FixedSizeSampled)
    assert math.isclose(grown.batch_size / grown.population, 8 / 15, rel_tol=1e-10)
    assert grown.batch_size * 15 >= grown.population * 8
    assert grown.event == Laplace(1, 2)
    full = for_group(FixedSizeSampled(9, 10, Laplace(1)), size=2)
    assert isinstance(full, FixedSizeSampled)
    assert full.batch_size == full.population
    single = for_group(FixedSizeSampled(1, 1000, Laplace(1)), size=5)
    assert isinstance(single, FixedSizeSampled)
    assert single.event == Laplace(1)  # a batch of one holds one of them at most
    many = for_group(FixedSizeSampled(10, 100_000, Gaussian(4, 2)), size=1000)
    assert isinstance(many, FixedSizeSampled)
    exact = 1 - math.prod((99_990 - i) / (100_000 - i) for i in range(1000))
    assert exact <= many.batch_size / many.population <= exact * 1.02


def test_a_batch_of_responses_is_covered_exactly() -> None:
    """All batches of 2 out of 4 records, two of them exchanged: the enumerated pair is within the group's event."""
    p = mp.mpf(1) / (1 + mp.exp(-mp.mpf(1)))
    size, records, batch = 2, 4, 2
    own, other = {}, {}
    batches = list(itertools.combinations(range(records), batch))
    for chosen in batches:
        for outcome in itertools.product((0, 1), repeat=batch):
            for law, bits in ((own, [1, 1, 0, 0]), (other, [0, 0, 0, 0])):
                chance = mp.mpf(1) / len(batches)
                for record, bit in zip(chosen, outcome, strict=True):
                    chance *= p if bit == bits[record] else 1 - p
                law[outcome] = law.get(outcome, mp.mpf(0)) + chance
    bound = account(for_group(FixedSizeSampled(batch, records, RandomizedResponse(1)), size=size))
    for level in ("0", "0.3", "1"):
        exact = mp.fsum(max(own[o] - mp.exp(mp.mpf(level)) * other[o], mp.mpf(0)) for o in own)
        assert float(exact) <= float(bound.delta(level).upper) * (1 + 1e-12)


def test_draws_hit_a_group_k_times_as_often() -> None:
    """k of n records under m draws are one of n/k records; the price is that of the draws."""
    grown = for_group(WithReplacementSampled(10, 1000, Laplace(10)), size=3)
    assert grown == WithReplacementSampled(10, 333, Laplace(10))
    with pytest.raises(InputError, match="population"):
        for_group(WithReplacementSampled(10, 10, Laplace(10)), size=11)


def test_groups_in_allocations_share_the_noise() -> None:
    """Each record of a group has a pass of its own, with its share of the noise; other noise has no such form."""
    grown = for_group(RandomAllocation(100, 1, Gaussian(2)), size=4)
    assert isinstance(grown, Repeated)
    assert grown.count == 4
    assert grown.event == RandomAllocation(100, 1, Gaussian(1))
    with pytest.raises(NoGuaranteeError, match="random_allocation"):
        for_group(RandomAllocation(100, 1, Laplace(2)), size=4)
    whole = for_group(RandomAllocation(100, 1, Laplace(2)), size=4, sampling="groups")
    assert whole == RandomAllocation(100, 1, Laplace(2, 4))


def test_every_event_has_a_group_form_or_a_reason() -> None:
    """Complete over the kinds of events and both ways of sampling; a larger group never costs less."""
    events: tuple[Event, ...] = (
        Gaussian(2),
        DiscreteGaussian(2),
        Laplace(2),
        DiscreteLaplace(2),
        RandomizedResponse(1),
        Declared(ZCDP("0.1"), "x"),
        DeclaredPair(("0.6", "0.4"), ("0.5", "0.5"), "x"),
        Repeated(Laplace(2), 3),
        Composed((Laplace(2), Gaussian(2))),
        PoissonSampled("0.01", Gaussian(2)),
        PoissonSampled("0.01", Composed((Gaussian(2), Laplace(3)))),
        FixedSizeSampled(10, 1000, Laplace(2)),
        WithReplacementSampled(10, 1000, Laplace(20)),
        RandomAllocation(10, 1, Gaussian(2)),
    )
    assert {type(event) for event in events} == set(EVENT_TYPES)

    class In:
        notion = "rdp"
        orders = (Decimal(2), Decimal(8))

    for event in events:
        for sampling in ("records", "groups"):
            costs: list[Any] = [
                loss_for(for_group(event, size=k, sampling=sampling), In(), relation=min(relations_of(event)))
                for k in (1, 2, 7)
            ]
            assert costs[0].epsilons[1] < costs[1].epsilons[1] < costs[2].epsilons[1]


# -- users ----------------------------------------------------------------------------------------------------------


def test_users_pay_for_the_releases_that_concern_them() -> None:
    """At most 2 rows in each of at most 3 of 10 releases: three releases of twice the sensitivity."""
    assert for_user(Repeated(Gaussian(5), 10), rows_per_release=2, releases=3) == Repeated(Gaussian(5, 2), 3)
    assert for_user(Repeated(Gaussian(5), 2), rows_per_release=2, releases=3) == Repeated(Gaussian(5, 2), 2)
    assert for_user(Repeated(Gaussian(5), 10), rows_per_release=2) == Repeated(Gaussian(5, 2), 10)
    with pytest.raises(InputError, match="differ"):
        for_user(Composed((Gaussian(5), Laplace(2))), rows_per_release=1, releases=1)


def test_choosing_the_releases_by_earlier_answers_gains_nothing() -> None:
    """A user who takes part in one of two responses, the second only if the first said 1, is within one response.

    Enumerated: with the user the chosen release is tilted, the other one is a fair coin.
    """
    p = Decimal(3) / 4
    own, other = [], []
    for first, second in itertools.product((0, 1), repeat=2):
        half = Decimal("0.5")
        # The first release never concerns the user; the second does if the first said 1.
        own.append(half * ((p if second else 1 - p) if first else half))
        other.append(half * ((1 - p if second else p) if first else half))
    one = for_user(Repeated(RandomizedResponse("1.0986122886681098"), 2), rows_per_release=1, releases=1)
    bound = account(one)
    for level in ("0", "0.5", "1"):
        assert hockey_stick(own, other, level) <= bound.delta(level).upper


@pytest.mark.parametrize("size", [0, -1, 1.5, "2", True, 10**7])
def test_sizes_are_whole_numbers(size: Any) -> None:
    """A group has a whole number of members, at least one."""
    with pytest.raises(InputError, match="size"):
        for_group(Gaussian(1), size=size)


def test_what_makes_no_group_is_refused_by_name() -> None:
    """Unknown ways of sampling, samples of samples, failures without a group form, values beyond every range."""
    with pytest.raises(InputError, match="sampling"):
        for_group(Gaussian(1), size=2, sampling="users")
    with pytest.raises(NoGuaranteeError, match="one sample"):
        for_group(FixedSizeSampled(10, 100, Composed((Laplace(1), WithReplacementSampled(2, 10, Laplace(1))))), size=2)
    with pytest.raises(NoGuaranteeError, match="group_approx"):
        for_group(Declared(ZCDP("0.1", "1e-6"), "x"), size=2)
    with pytest.raises(NoGuaranteeError, match="smaller"):
        for_group(Gaussian(1, 10**11), size=100)
    with pytest.raises(NotionError, match="poisson"):
        loss_for(
            for_group(PoissonSampled("0.1", Laplace(1)), size=2),
            type("In", (), {"notion": "pure", "orders": ()})(),
            relation="replace_one",
        )


@given(magnitudes(-9, -1), st.integers(1, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_chance_of_a_group_is_certified(q: Decimal, size: int) -> None:
    """1 - (1-q)^k, from above, to twenty digits."""
    found = group_chance(sampling_probability=q, size=size)
    with mp.workdps(60):
        exact = -mp.expm1(size * mp.log1p(-mp.mpf(str(q))))
        assert exact <= mp.mpf(str(found)) <= exact * (1 + mp.mpf("1e-20"))
