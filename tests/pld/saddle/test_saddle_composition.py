"""Composition obeys its laws: order, grouping and counting do not matter; more noise never costs more."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import FixedSizeSampled, Gaussian, Laplace, PoissonSampled, RandomizedResponse, Repeated
from dosimeter.exact import Bound
from dosimeter.notions.profiles import gaussian_delta, gaussian_epsilon
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.gaussian import GaussianLaw, gaussian_law
from dosimeter.pld.laws.laplace import LaplaceLaw, laplace_law
from dosimeter.pld.laws.law import Law
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import PoissonSampledLaw

POOL: list[Law] = [
    gaussian_law(3),
    gaussian_law(7),
    LaplaceLaw(Fraction(1, 5)),
    ResponseLaw(Fraction(3, 10)),
    ResponseLaw(Fraction(1, 10), Fraction(1, 10**9)),  # 320 of them still fail with less than the delta asked
    PoissonSampledLaw(Fraction(1, 50), gaussian_law(1)),
]
laws = st.lists(st.tuples(st.sampled_from(POOL), st.integers(1, 40)), min_size=1, max_size=4)


def account(pairs: list[tuple[Law, int]]) -> Accountant:
    accountant = Accountant()
    for law, count in pairs:
        accountant.append(law, count)
    return accountant


def overlap(first: Bound, second: Bound) -> bool:
    return first.lower <= second.upper and second.lower <= first.upper


@settings(max_examples=12, deadline=None)
@given(laws, st.randoms(use_true_random=False))
def test_order_does_not_matter(pairs: list[tuple[Law, int]], random: object) -> None:
    mixed = list(pairs)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert overlap(account(pairs).epsilon("1e-6"), account(mixed).epsilon("1e-6"))


@settings(max_examples=12, deadline=None)
@given(laws, laws)
def test_merging_is_appending_and_loses_nothing(first: list[tuple[Law, int]], second: list[tuple[Law, int]]) -> None:
    merged = account(first)
    merged.merge(account(second))
    assert merged.counts == account(first + second).counts
    assert Accountant.loads(merged.dumps()).counts == merged.counts
    assert overlap(merged.epsilon("1e-6"), account(first + second).epsilon("1e-6"))


@pytest.mark.parametrize("law", POOL, ids=lambda law: law.kind)
def test_a_count_equals_the_loop(law: Law) -> None:
    loop = Accountant()
    for _ in range(17):
        loop.append(law)
        loop.epsilon("1e-6")
    assert overlap(loop.epsilon("1e-6"), account([(law, 17)]).epsilon("1e-6"))
    assert overlap(loop.delta("0.3"), account([(law, 17)]).delta("0.3"))


@settings(max_examples=10, deadline=None)
@given(laws, st.sampled_from(POOL))
def test_composing_more_never_costs_less(pairs: list[tuple[Law, int]], more: Law) -> None:
    fewer, longer = account(pairs), account([*pairs, (more, 1)])
    assert longer.epsilon("1e-6").upper >= fewer.epsilon("1e-6").lower
    assert longer.delta("0.5").upper >= fewer.delta("0.5").lower


@pytest.mark.parametrize(
    ("weak", "strong"),
    [
        (gaussian_law("2.01"), gaussian_law(2)),
        (LaplaceLaw(Fraction(99, 1000)), LaplaceLaw(Fraction(1, 10))),
        (PoissonSampledLaw(Fraction(1, 100), gaussian_law(1)), PoissonSampledLaw(Fraction(1, 99), gaussian_law(1))),
        (
            PoissonSampledLaw(Fraction(1, 100), gaussian_law("1.01")),
            PoissonSampledLaw(Fraction(1, 100), gaussian_law(1)),
        ),
        (ResponseLaw(Fraction(1, 10)), ResponseLaw(Fraction(1, 10), Fraction(1, 10**9))),
    ],
)
def test_prices_are_monotone_in_parameters(weak: Law, strong: Law) -> None:
    for delta in ("1e-4", "1e-7"):
        assert account([(weak, 60)]).epsilon(delta).upper < account([(strong, 60)]).epsilon(delta).lower


@settings(max_examples=25, deadline=None)
@given(st.decimals("0.2", "40", places=2), st.integers(1, 10**6), st.integers(-250, -2))
def test_gaussians_agree_with_the_analytic_mechanism(sigma: Decimal, count: int, digits: int) -> None:
    """The interval holds the notion's own epsilon (rounded up) for any noise, count and delta down to 1e-250."""
    accountant = Accountant()
    accountant.append(Repeated(Gaussian(sigma * 100), count))
    found = accountant.epsilon(log10_delta=digits)
    mu = (Decimal(count) / (sigma * 100) ** 2).sqrt()
    other = gaussian_epsilon(mu, Decimal(1).scaleb(digits))
    assert abs(found.upper - other) <= Decimal("1e-12") * (1 + other)
    assert gaussian_delta(mu, found.upper) <= Decimal(1).scaleb(digits) * (1 + Decimal("1e-12"))


@settings(max_examples=15, deadline=None)
@given(laws, st.decimals("-2", "5", places=2))
def test_the_profile_falls_and_obeys_the_reversal_identity(pairs: list[tuple[Law, int]], level: Decimal) -> None:
    """delta falls with epsilon, and H(-e; P, Q) = 1 - e^-e + e^-e H(e; Q, P)."""
    accountant = account(pairs)
    here, further = accountant.delta(level), accountant.delta(level + Decimal("0.1"))
    assert further.lower <= here.upper
    floor = 1 - level.exp() if level < 0 else Decimal(0)
    assert here.upper >= floor - Decimal("1e-20")
    remove, add = accountant.delta(level, direction="remove"), accountant.delta(-level, direction="add")
    growth = level.exp()
    assert remove.lower <= 1 - growth + growth * add.upper + Decimal("1e-15")
    assert remove.upper >= 1 - growth + growth * add.lower - Decimal("1e-15")


def test_both_directions_are_composed_and_the_larger_one_is_the_answer() -> None:
    accountant = account([(PoissonSampledLaw(Fraction(1, 10), gaussian_law(1)), 5)])
    remove, add = (accountant.epsilon("1e-5", direction=d) for d in ("remove", "add"))
    assert remove.lower > add.upper
    assert accountant.epsilon("1e-5") == remove


def test_infinite_atoms_compose_as_one_minus_the_product() -> None:
    accountant = account([(ResponseLaw(Fraction(0), Fraction(1, 1000)), 50)])
    found = accountant.delta(3)
    exact = 1 - (Fraction(999, 1000)) ** 50
    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.upper - found.lower < Decimal("1e-20")
    with pytest.raises(NoGuaranteeError, match="larger delta"):
        accountant.epsilon("0.01")


def test_an_approximate_gaussian_reveals_with_its_delta() -> None:
    law = GaussianLaw(Fraction(1, 4), Fraction(1, 10**6))
    found = account([(law, 1)]).delta("1.5")
    assert found.lower <= Decimal("3.9471601554408830005e-4") <= found.upper


def test_the_edges_of_the_accepted_ranges() -> None:
    accountant = account([(PoissonSampledLaw(Fraction(1, 100), gaussian_law(1)), 1000)])
    assert accountant.epsilon(log10_delta=-299).lower > accountant.epsilon("1e-100").upper
    assert accountant.epsilon("0.999999").upper == 0
    assert Accountant().epsilon("1e-5").upper == 0
    assert Accountant().delta(0).upper == 0
    for bad in ("nan", "-1", "1", "inf", "1e-400"):
        with pytest.raises(InputError):
            accountant.epsilon(bad)
    with pytest.raises(InputError, match="exactly one"):
        accountant.epsilon("1e-5", log10_delta=-5)
    with pytest.raises(InputError):
        accountant.epsilon(log10_delta=3)
    with pytest.raises(InputError):
        accountant.append(gaussian_law(1), 0)
    with pytest.raises(NoGuaranteeError, match="bounded"):
        accountant.epsilon(0)


def test_a_scheme_is_priced_under_its_own_relation_only() -> None:
    batch = FixedSizeSampled(10, 100, Gaussian(1, 2))
    with pytest.raises(NotionError, match="fixed_size_sampled"):
        Accountant().append(batch)
    with pytest.raises(NotionError, match="poisson_sampled"):
        Accountant("replace_one").append(PoissonSampled("0.1", Gaussian(1)))
    replace_one = Accountant("replace_one")
    replace_one.append(batch)
    with pytest.raises(NotionError):
        replace_one.merge(Accountant())


def test_pure_mechanisms_add_exactly_at_delta_zero() -> None:
    accountant = Accountant()
    for _ in range(10):
        accountant.append(Laplace(10))
    accountant.append(RandomizedResponse("0.5"))
    assert accountant.epsilon(0) == Bound(Decimal("1.5"), Decimal("1.5"))


def test_saved_text_is_checked_when_it_is_read() -> None:
    accountant = account([(PoissonSampledLaw(Fraction(1, 3), gaussian_law(1)), 7)])
    assert '"1/3"' in accountant.dumps()
    for bad in ("", "[]", '{"format": "x"}', accountant.dumps().replace("gaussian", "poison")):
        with pytest.raises(InputError):
            Accountant.loads(bad)


@pytest.mark.parametrize(("rate", "sigma"), [("1e-9", "0.5"), ("0.01", "1")])
def test_a_line_for_a_large_delta_never_answers_a_tiny_one(rate: str, sigma: str) -> None:
    """What a line leaves out may be far above a later delta; it then says nothing, and a fresh account agrees."""

    def account() -> Accountant:
        accountant = Accountant()
        accountant.append(PoissonSampledLaw(rate, gaussian_law(sigma)))
        accountant.append(laplace_law(1))
        return accountant

    used = account()
    for delta in ("1e-6", "1e-100"):
        found, fresh = used.epsilon(delta), account().epsilon(delta)
        assert found.lower <= fresh.upper
        assert fresh.lower <= found.upper
