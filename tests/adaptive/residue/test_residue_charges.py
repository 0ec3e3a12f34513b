"""Charges of the Gaussian family: certified, and as small as the admission rule allows."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adaptive.residue import reference as ref

from dosimeter.accounting import loss_for
from dosimeter.adaptive.filters import ResidueFilter
from dosimeter.adaptive.residue.centre import Centred, charge_at, whole_charge
from dosimeter.adaptive.residue.prices import centred_rows
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
)
from dosimeter.notions import GDP, ZCDP, ApproxDP, PureDP, ResiduePrice

D = Decimal
ROUNDING = mp.mpf("1e-36")  # of mpmath at 40 digits, where profiles are close to 1
FILTER = ResidueFilter("1", "1e-6")

# epsilon of randomized response, what is left, the charge (to about 1e-9)
TABLE = [
    ("0.01", "1", "0.0001000012"),
    ("0.1", "0.1", "0.0101772070"),
    ("0.1", "1", "0.0100126262"),
    ("0.1", "4", "0.0100000083"),
    ("0.2", "0.5", "0.0405023949"),
    ("0.5", "1", "0.2604164140"),
    ("0.5", "4", "0.2501353942"),
]


def charge(shape: Centred, level: Any) -> Decimal:
    """The certified charge at a level."""
    found = charge_at(shape, D(level), whole_charge(shape))
    assert found is not None
    return found


@pytest.mark.parametrize(("epsilon", "level", "expected"), TABLE)
def test_charges_of_randomized_response(epsilon: str, level: str, expected: str) -> None:
    """The charge of a pure query is its epsilon squared and a little more, as tabulated, rounded up."""
    found = charge(Centred(Fraction(epsilon)), level)
    assert abs(found - D(expected)) <= D("1e-9")
    assert found > D(epsilon) ** 2
    with mp.workdps(40):  # at the charge the rule holds at s = 0 by a hair, and a hair below it fails there
        b = ref.number(level)
        holds, fails = (
            ref.excess(ref.together(ref.response(epsilon), b - ref.number(c)), b, [0])
            for c in (found, found * (1 - D("1e-12")))
        )
    assert holds < 0 < fails


@settings(max_examples=10, deadline=None)
@given(epsilon=st.sampled_from(["0.003", "0.05", "0.3", "1", "2.5"]), ratio=st.sampled_from([1.01, 1.2, 2, 8]))
def test_the_rule_holds_everywhere_for_randomized_response(epsilon: str, ratio: float) -> None:
    """One inequality at zero was checked; direct sums confirm the rule at both signs of s, far out as well."""
    shape = Centred(Fraction(epsilon))
    level = whole_charge(shape) * D(str(ratio))
    taken = charge(shape, level)
    with mp.workdps(40):
        b = ref.number(level)
        profile = ref.together(ref.response(epsilon), b - ref.number(taken))
        assert ref.excess(profile, b, ref.around(b)) <= ROUNDING
        smaller = ref.together(ref.response(epsilon), b - ref.number(taken) * mp.mpf("0.999"))
        assert ref.excess(smaller, b, [0]) > 0


@pytest.mark.parametrize("epsilon", ["0.02", "0.5", "3"])
@pytest.mark.parametrize("ratio", ["1.05", "3", "50"])
def test_the_rule_holds_everywhere_for_laplace_noise(epsilon: str, ratio: str) -> None:
    """The same for Laplace noise, whose outputs are integrated over; it costs less than randomized response."""
    shape = Centred(Fraction(epsilon), Fraction(0))
    level = whole_charge(shape) * D(ratio)
    taken = charge(shape, level)
    with mp.workdps(20):
        b = ref.number(level)
        profile = ref.laplace_together(epsilon, b - ref.number(taken))
        assert ref.excess(profile, b, ref.around(b, many=9)) <= mp.mpf("1e-16")
        assert ref.excess(ref.laplace_together(epsilon, b - ref.number(taken) * mp.mpf("0.999")), b, [0]) > 0
    worst = Centred(Fraction(epsilon))
    assert whole_charge(shape) < whole_charge(worst)


@pytest.mark.parametrize(("scale", "shift"), [("10", 1), ("10", 2), ("7", 5), ("100", 30), ("0.5", 3)])
@pytest.mark.parametrize("ratio", ["1.05", "3", "50"])
def test_the_rule_holds_everywhere_for_discrete_laplace_noise(scale: str, shift: int, ratio: str) -> None:
    """The same for noise on integers, whose outputs are summed one by one."""
    (law_rows,) = {centred_rows(Centred(shift / Fraction(scale), 2 / Fraction(scale) if shift > 1 else None))}
    level = law_rows[0][0] * D(ratio)
    taken = [c for at, c in law_rows if at <= level][-1]
    with mp.workdps(40):
        b = ref.number(level)
        profile = ref.together(ref.discrete_laplace(scale, shift), b - ref.number(taken))
        assert ref.excess(profile, b, ref.around(b)) <= ROUNDING
        assert taken <= whole_charge(Centred(shift / Fraction(scale)))


def test_every_row_of_a_list_is_a_charge() -> None:
    """Rows rise in level and fall in charge, from the whole charge on; each satisfies the rule at its level."""
    shape = Centred(Fraction(1, 10))
    rows = centred_rows(shape)
    assert len(rows) > 8
    assert rows[0][0] == rows[0][1] == whole_charge(shape)
    assert list(rows) == sorted(rows)
    assert [c for _, c in rows] == sorted((c for _, c in rows), reverse=True)
    with mp.workdps(40):
        for level, taken in rows:
            b = ref.number(level)
            profile = ref.together(ref.response("0.1"), b - ref.number(taken))
            assert ref.excess(profile, b, ref.around(b, many=13)) <= ROUNDING
    assert rows[-2][1] / rows[-1][1] < D("1.001")  # what more levels would save


def price(event: Event, **more: Any) -> ResiduePrice:
    """The list of an event."""
    found = loss_for(event, FILTER, **more)
    assert isinstance(found, ResiduePrice)
    return found


def test_gaussian_noise_costs_its_square_and_takes_no_slack() -> None:
    """mu^2 exactly, at every level, whatever the words for it."""
    for event, square in [(Gaussian(20), "0.0025"), (Gaussian(10, 3), "0.09"), (Declared(GDP("0.3"), "x"), "0.09")]:
        found = price(event)
        assert (found.levels, found.charges, found.delta) == ((D(square),), (D(square),), 0)


def test_failures_are_paid_from_the_slack_and_nothing_else_is() -> None:
    """A declared delta is taken as it is; pure mechanisms and Gaussian noise take none."""
    assert price(RandomizedResponse("0.1", "1e-9")).delta == D("1e-9")
    assert price(Declared(ApproxDP("0.1", "1e-9"), "x")).delta == D("1e-9")
    assert price(Declared(GDP("0.1", "1e-9"), "x")).delta == D("1e-9")
    assert price(Repeated(RandomizedResponse("0.1", "1e-9"), 7)).delta == D("7e-9")
    for event in (Laplace(3), DiscreteLaplace(30, 4), RandomizedResponse("0.2"), Gaussian(2)):
        assert price(event).delta == 0
    assert price(RandomizedResponse("0.1", "1e-9")).charges == price(RandomizedResponse("0.1")).charges


def test_what_reveals_nothing_is_free() -> None:
    """A declared zero costs nothing and a failure alone only slack."""
    assert price(Declared(PureDP(0), "x")) == ResiduePrice()
    only = price(RandomizedResponse(0, "1e-8"))
    assert (only.levels, only.charges, only.delta, only.rho) == ((0,), (0,), D("1e-8"), 0)


def test_parts_are_charged_one_after_the_other() -> None:
    """A composed event is the list of its parts with their counts; nested counts multiply."""
    found = price(Composed((Laplace(100), Repeated(Gaussian(50), 3), Laplace(100))))
    assert found.counts == (2, 3)
    assert price(Repeated(Repeated(Laplace(9), 4), 5)).counts == (20,)


def test_events_without_a_pair_of_their_own_are_charged_as_what_they_imply() -> None:
    """A shuffled pass over a pure mechanism is pure; so is a sampled one, cheaper than unsampled."""
    shuffled = price(RandomAllocation(10, 1, Laplace(100)), relation="add_remove")
    assert shuffled.charges == price(RandomizedResponse("0.01")).charges
    sampled = price(PoissonSampled("0.1", RandomizedResponse("0.5")), relation="add_remove")
    assert sampled.charges[-1] < price(RandomizedResponse("0.5")).charges[-1] / 50
    assert price(Declared(PureDP("0.2"), "x")).charges == price(RandomizedResponse("0.2")).charges


def test_the_smallest_and_the_largest_parameters_have_a_price() -> None:
    """Nothing is free that reveals something, and nothing overflows."""
    tiny = price(RandomizedResponse("1e-200"))
    assert 0 < tiny.charges[0] == tiny.levels[0] <= D("1e-30")
    huge = price(RandomizedResponse("1000"))
    assert huge.levels == huge.charges
    assert 7000 < huge.charges[0] < 8000
    assert price(Gaussian("0.001")).charges == (D(1_000_000),)


def test_the_clock_for_odometers_is_that_of_the_mechanism() -> None:
    """The list carries what the mechanism is in zCDP."""
    assert price(Gaussian(5)).rho == D("0.02")
    assert price(Laplace(10)).rho < price(RandomizedResponse("0.1")).rho <= D("0.005")


def test_what_only_bounds_renyi_divergences_is_refused_with_a_way_out() -> None:
    """A pair is needed; zCDP names none."""
    with pytest.raises(Exception, match="account in zcdp") as caught:
        price(Declared(ZCDP("0.1"), "x"))
    assert ";" in str(caught.value)


def test_allocated_records_are_charged_by_their_own_profile() -> None:
    """Also k of t, whose plan is several laws: less than k runs of the step, and more than the mean of all steps."""
    one = price(RandomAllocation(10, 1, Gaussian(2)), relation="add_remove")
    assert D("0.025") < one.charges[-1] < one.charges[0] < D("0.05") < price(Gaussian(2)).charges[0]
    several = price(RandomAllocation(10, 4, Gaussian(2)), relation="add_remove")
    assert 2 * sum(several.charges) < D("0.7") < price(Gaussian(1)).charges[0]
    assert several.delta == 4 * FILTER.share
    assert one.rho == price(Gaussian(2)).rho
