"""The profile of a group from the profile of one record: exact for Gaussian noise, sound for everything."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.events import (
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
    relations_of,
)
from dosimeter.notions import ApproxDP
from dosimeter.notions.convert import group_approx
from dosimeter.notions.profiles import gaussian_delta, gaussian_epsilon
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.groups import group_delta, group_epsilon


def account(event: Event) -> Accountant:
    accountant = Accountant(min(relations_of(event)))
    accountant.append(event)
    return accountant


@given(st.integers(2, 12), st.integers(2, 40), st.sampled_from(["0", "0.3", "2", "9"]))
@settings(max_examples=12, deadline=None)
def test_gaussian_groups_lose_nothing(size: int, sigma: int, level: str) -> None:
    """For Gaussian noise the chain of hops is the exact delta of k mu, from above."""
    exact = gaussian_delta(Decimal(size) / sigma, level)
    found = group_delta(account(Gaussian(sigma)), level, size=size)
    assert exact <= found * (1 + Decimal("1e-12"))
    assert found <= exact * Decimal("1.00001") + Decimal("1e-15")


def test_an_epsilon_of_a_group_is_found_and_checked() -> None:
    """Three records of a Gaussian of mu 1/4, at delta 1e-6: the closed form within a few millionths."""
    accountant = account(Gaussian(4))
    found = group_epsilon(accountant, "1e-6", size=3)
    exact = gaussian_epsilon("0.75", "1e-6")
    assert exact <= found <= exact * Decimal("1.00001")
    assert group_delta(accountant, found, size=3) <= Decimal("1.000001e-6")
    assert group_epsilon(accountant, "1e-6", size=1) == accountant.epsilon("1e-6").upper
    assert group_epsilon(account(Gaussian(1000)), "0.1", size=2) == 0


@pytest.mark.parametrize(
    ("event", "grown"),
    [
        (Laplace(2), Laplace(2, 3)),
        (RandomizedResponse("0.5"), Repeated(RandomizedResponse("0.5"), 3)),  # three members, one answer each
        (Repeated(Gaussian(5), 10), Repeated(Gaussian(5, 3), 10)),
    ],
)
def test_hops_are_never_below_the_group_itself(event: Event, grown: Event) -> None:
    """What three neighbours in a row can reveal is at least what the worst group of three does."""
    one, three = account(event), account(grown)
    for level in ("0", "0.2", "0.7", "1.4"):
        assert three.delta(level).lower <= group_delta(one, level, size=3) * (1 + Decimal("1e-12"))


@pytest.mark.parametrize(
    "event",
    [Repeated(PoissonSampled("0.05", Gaussian(1)), 20), Repeated(FixedSizeSampled(10, 200, Gaussian(2, 2)), 20)],
)
def test_hops_are_never_above_the_textbook_rule(event: Event) -> None:
    """Equal hops are one of the splits: (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))."""
    accountant = account(event)
    for level in ("0.3", "1"):
        rule = group_approx(ApproxDP(level, accountant.delta(level).upper), size=4)
        assert group_delta(accountant, rule.epsilon, size=4) <= rule.delta * (1 + Decimal("1e-9"))


def test_one_record_too_few_is_caught() -> None:
    """The control: the profile of two records is below the exact delta of three."""
    accountant = account(Gaussian(4))
    assert group_delta(accountant, 1, size=2) < gaussian_delta("0.75", 1)
    assert math.isclose(float(group_delta(accountant, 1, size=3)), float(gaussian_delta("0.75", 1)), rel_tol=1e-5)


def test_bad_questions_are_refused() -> None:
    """Sizes and levels out of range; delta 0 has its own answer."""
    accountant = account(Laplace(2))
    for wrong in ({"size": 0}, {"size": 65}, {"size": 1.5}):
        with pytest.raises(InputError, match="size"):
            group_delta(accountant, 1, **wrong)
    with pytest.raises(InputError):
        group_delta(accountant, -1, size=2)
    with pytest.raises(InputError, match="delta"):
        group_epsilon(accountant, 0, size=2)
