"""Draws with replacement as a law: the theorem's profile, at every level, and composed; what has no law says why."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting import loss_for
from dosimeter.accounting.sampling import sampled_delta
from dosimeter.errors import NoGuaranteeError
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
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
    relations_of,
)
from dosimeter.events.event import EVENT_TYPES
from dosimeter.exact import Bound
from dosimeter.notions import RDP, ZCDP
from dosimeter.notions.convert import rdp_to_approx
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.drawn import drawn, group_of, hit_chances
from dosimeter.pld.laws.events import laws_of
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.mixture import MixtureLaw
from dosimeter.pld.laws.response import ResponseLaw


def account(event: Event) -> Accountant:
    accountant = Accountant(min(relations_of(event)))
    accountant.append(event)
    return accountant


@given(st.integers(1, 10**5), st.integers(2, 10**6))
@settings(max_examples=40, deadline=None)
def test_chances_of_hits_are_binomial_from_above(m: int, n: int) -> None:
    """P(J >= j) for J binomial, not below it and right to thirty digits where it is not given away."""
    found = hit_chances(m, n)
    with mp.workdps(80):
        q = mp.mpf(1) / n
        exact = 1 - (1 - q) ** m
        for chance in found[:4]:
            ours = mp.mpf(chance.numerator) / chance.denominator
            assert exact <= ours * (1 + mp.mpf("1e-38"))
            if len(found) < 49:
                assert ours <= exact * (1 + mp.mpf("1e-30"))
            j = found.index(chance) + 1
            exact = exact - mp.binomial(m, j) * q**j * (1 - q) ** (m - j)
            if exact < mp.mpf("1e-60"):
                break


@pytest.mark.parametrize(
    "event",
    [
        WithReplacementSampled(10, 1000, Gaussian(4, 2)),
        WithReplacementSampled(200, 1000, Gaussian(4, 2)),
        WithReplacementSampled(2, 5, Gaussian(1)),
        WithReplacementSampled(3, 10, RandomizedResponse(1)),
        WithReplacementSampled(3, 10, Laplace(2)),
        WithReplacementSampled(5, 1, Gaussian(4)),
    ],
)
def test_one_run_has_the_profile_of_the_theorem(event: Event) -> None:
    """sum_j P(J = j) delta_j at the base's level, for levels of either sign; the interval holds it."""
    accountant = account(event)
    for level in ("0", "0.1", "1", "-0.5"):
        exact, bound = sampled_delta(event, epsilon=level), accountant.delta(level)
        assert bound.lower <= exact * (1 + Decimal("1e-12"))
        assert exact <= bound.upper * (1 + Decimal("1e-12")) + Decimal("1e-59")


def test_all_draws_of_responses_are_covered() -> None:
    """Three draws from three records, one of them exchanged: the enumerated pair is within the law."""
    p = mp.mpf(1) / (1 + mp.exp(-mp.mpf(1)))
    own: dict[tuple[int, ...], mp.mpf] = {}
    other: dict[tuple[int, ...], mp.mpf] = {}
    for draw in itertools.product(range(3), repeat=3):
        for outcome in itertools.product((0, 1), repeat=3):
            for law, bits in ((own, (1, 0, 0)), (other, (0, 0, 0))):
                chance = mp.mpf(1) / 27
                for record, bit in zip(draw, outcome, strict=True):
                    chance *= p if bit == bits[record] else 1 - p
                law[outcome] = law.get(outcome, mp.mpf(0)) + chance
    bound = account(WithReplacementSampled(3, 3, RandomizedResponse(1)))
    for level, (a, b) in itertools.product(("0", "0.3", "1"), ((own, other), (other, own))):
        exact = mp.fsum(max(a[o] - mp.exp(mp.mpf(level)) * b[o], mp.mpf(0)) for o in a)
        assert float(exact) <= float(bound.delta(level).upper) * (1 + 1e-12)


def test_many_runs_compose_and_both_engines_agree() -> None:
    """A thousand runs: a narrow interval, the second engine inside, below the Renyi price, above distinct batches."""
    event = Repeated(WithReplacementSampled(10, 1000, Gaussian(4, 2)), 1000)
    accountant = account(event)
    checked = accountant.cross_check("1e-6", accuracy="1e-2")
    price = checked.saddle
    assert price.upper - price.lower <= Decimal("1e-6") * price.upper
    curve = loss_for(event, _Renyi(), relation="replace_one")
    assert isinstance(curve, RDP)
    assert 0 < curve.delta < Decimal("1e-12")
    assert price.upper <= rdp_to_approx(curve, target_delta="1e-6").epsilon
    batches = account(Repeated(FixedSizeSampled(10, 1000, Gaussian(4, 2)), 1000)).epsilon("1e-6")
    assert batches.upper < price.lower
    assert Accountant.loads(accountant.dumps()).epsilon("1e-6") == price


class _Renyi:
    notion = "rdp"
    orders = (Decimal("1.5"), Decimal(2), Decimal(3), Decimal(4), Decimal(6), Decimal(8))


def test_ignoring_that_a_record_may_be_drawn_twice_is_caught() -> None:
    """The control: a batch of fixed size with the same chance of a hit has a smaller delta than draws do."""
    event = WithReplacementSampled(500, 1000, Gaussian(4, 2))
    (chance, *_) = hit_chances(500, 1000)
    naive = Accountant("replace_one")
    naive.append(FixedSizeSampled(math.floor(chance * 10**6), 10**6, Gaussian(4, 2)))
    assert naive.delta("0.5").upper < sampled_delta(event, epsilon="0.5")


def test_renyi_prices_are_above_the_engines() -> None:
    """For other bases as well: the price by Renyi divergences, at its delta, is above the exact one."""
    for base in (Gaussian(3), RandomizedResponse("0.5"), Laplace(4)):
        event = WithReplacementSampled(4, 100, base)
        exact = account(event)
        curve = loss_for(event, _Renyi(), relation="replace_one")
        assert isinstance(curve, RDP)
        for level in ("0", "0.1", "0.4"):
            implied = rdp_to_approx(curve, target_epsilon=level)
            assert exact.delta(level).lower <= implied.delta * (1 + Decimal("1e-12"))


def test_groups_of_laws() -> None:
    """k records of each base; (epsilon, delta) by the geometric sum, everything where that reaches 1."""
    assert group_of(GaussianLaw(Fraction(1, 4)), 3) == GaussianLaw(Fraction(9, 4))
    assert group_of(ResponseLaw(Fraction(1, 2)), 3) == ResponseLaw(Fraction(3, 2))
    grown = group_of(ResponseLaw(Fraction(1, 2), Fraction(1, 10**6)), 3)
    assert isinstance(grown, ResponseLaw)
    assert math.isclose(grown.delta, 5.36700309915917e-06, rel_tol=1e-12)
    assert group_of(ResponseLaw(Fraction(0), Fraction(1, 10)), 3) == ResponseLaw(Fraction(0), Fraction(3, 10))
    assert group_of(ResponseLaw(Fraction(1), Fraction(1, 2)), 3) is None
    with pytest.raises(NoGuaranteeError, match="several exchanged"):
        group_of(GaussianLaw(Fraction(1), Fraction(1, 100)), 2)
    with pytest.raises(NoGuaranteeError, match="several exchanged"):
        group_of(FinitePairLaw((Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 2), Fraction(1, 2))), 2)
    with pytest.raises(NoGuaranteeError, match="drawn more than"):
        drawn(10**6, 10, GaussianLaw(Fraction(1)))


def test_a_mixture_leaves_out_what_is_allowed_and_says_so() -> None:
    """With a cut, the least likely laws go, and their weight is stated; without one, all stay."""
    rare = Fraction(1, 10**12)
    law = MixtureLaw((1 - rare, rare), (ResponseLaw(Fraction(1)), ResponseLaw(Fraction(9))))
    assert len(law.parts(_remove(), 0.0)) == 2
    kept = law.parts(_remove(), 1e-9)
    assert len(kept) == 1
    assert 1e-12 <= kept[0].spread.cut <= 1.1e-12


def _remove() -> object:
    from dosimeter.pld.laws.law import Direction

    return Direction.REMOVE


EVENTS: tuple[tuple[Event, str | None], ...] = (
    (Gaussian(2), None),
    (Laplace(2), None),
    (DiscreteGaussian(2), None),
    (DiscreteGaussian(2, 3), "several ways"),
    (DiscreteLaplace(2, 3), None),
    (RandomizedResponse(1, "1e-6"), None),
    (Declared(ZCDP("0.1"), "x"), "no pair of distributions"),
    (DeclaredPair(("0.6", "0.4"), ("0.5", "0.5"), "x"), None),
    (Repeated(Laplace(2), 3), None),
    (Composed((Laplace(2), Gaussian(2))), None),
    (PoissonSampled("0.1", Laplace(2)), None),
    (PoissonSampled("0.1", Composed((Laplace(2), RandomizedResponse(1)))), None),
    (PoissonSampled("0.1", Composed((Laplace(2), Gaussian(2)))), "several mechanisms"),
    (PoissonSampled("0.1", PoissonSampled("0.5", Gaussian(2))), None),
    (FixedSizeSampled(10, 100, Repeated(Gaussian(2), 3)), None),
    (FixedSizeSampled(10, 100, FixedSizeSampled(5, 10, Gaussian(2))), None),
    (FixedSizeSampled(10, 100, Repeated(Laplace(9), 3)), None),
    (WithReplacementSampled(10, 100, Gaussian(2)), None),
    (WithReplacementSampled(10, 100, DiscreteGaussian(2)), "several coordinates"),
    (WithReplacementSampled(1, 100, DiscreteGaussian(2)), None),
)


@pytest.mark.parametrize(("event", "reason"), EVENTS, ids=[event.kind for event, _ in EVENTS])
def test_every_event_has_laws_or_a_true_reason(event: Event, reason: str | None) -> None:
    """Each kind of event is composed exactly, or the message says why not and what to do."""
    if reason is None:
        bound = account(event).delta("0.01")
        assert isinstance(bound, Bound)
        assert 0 < bound.upper < 1
    else:
        with pytest.raises(NoGuaranteeError, match=reason) as caught:
            laws_of(event)
        assert ";" in str(caught.value)


def test_every_kind_is_on_the_list() -> None:
    """No kind of event is forgotten (allocation has a page of its own)."""
    assert {type(event) for event, _ in EVENTS} | {_allocation()} == set(EVENT_TYPES)


def _allocation() -> type:
    from dosimeter.events import RandomAllocation

    return RandomAllocation


def test_a_batch_of_a_batch_is_one_batch() -> None:
    """Five of ten of a hundred are five of a hundred."""
    twice = FixedSizeSampled(10, 100, FixedSizeSampled(5, 10, Gaussian(2)))
    assert laws_of(twice) == laws_of(FixedSizeSampled(5, 100, Gaussian(2)))
