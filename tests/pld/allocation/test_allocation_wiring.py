"""Allocated records everywhere else: events, saved accounts, Renyi and zCDP reads, filters, solvers."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.accounting import loss_for
from dosimeter.accounting.solve import solve
from dosimeter.adaptive.filters import GDPFilter, RDPFilter, ZCDPFilter
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    Declared,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    Repeated,
)
from dosimeter.exact import Bound
from dosimeter.notions import GDP, RDP, ZCDP
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.allocation.law import AllocatedGaussianLaw, allocated
from dosimeter.pld.laws.events import laws_of
from dosimeter.pld.laws.gaussian import GaussianLaw, gaussian_law
from dosimeter.pld.laws.jsonform import law_from_json, law_to_json
from dosimeter.pld.laws.law import Direction
from dosimeter.pld.reads import advantage, true_positive_rate
from dosimeter.pld.renyi import renyi, zcdp

LAW = AllocatedGaussianLaw(100, Fraction(1, 4))
PASS = RandomAllocation(100, 1, Gaussian(2))


def composed(*events: Event) -> Accountant:
    accountant = Accountant()
    accountant.extend(events)
    return accountant


def test_the_laws_of_an_event() -> None:
    """One of t is one law; k of t are k, of the two sizes that add up to t; Gaussian releases of one step fold."""
    assert laws_of(PASS) == ((LAW, 1),)
    assert laws_of(Repeated(PASS, 5)) == ((LAW, 5),)
    assert dict(laws_of(RandomAllocation(7, 3, Gaussian(1)))) == {
        AllocatedGaussianLaw(3, Fraction(1)): 1,
        AllocatedGaussianLaw(2, Fraction(1)): 2,
    }
    assert dict(allocated(5, 4, Fraction(1))) == {AllocatedGaussianLaw(2, Fraction(1)): 1, GaussianLaw(Fraction(3)): 1}
    assert laws_of(RandomAllocation(100, 1, Repeated(Gaussian(4), 4))) == ((LAW, 1),)
    assert laws_of(RandomAllocation(100, 1, Declared(GDP("0.5"), "told so"))) == ((LAW, 1),)
    assert allocated(3, 3, Fraction(1)) == ((GaussianLaw(Fraction(3)), 1),)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 50, 51, 52, 99, 100])
def test_groups_add_up(steps: int) -> None:
    """Sizes add up to t and numbers of groups to k, for every k."""
    for selected in range(1, steps + 1):
        sizes = {
            law.steps if isinstance(law, AllocatedGaussianLaw) else 1: (law, count)
            for law, count in allocated(steps, selected, Fraction(1))
        }
        singles = sizes[1][0].gaussian if 1 in sizes else 0
        counts = {size: singles if size == 1 else count for size, (_, count) in sizes.items()}
        assert sum(size * count for size, count in counts.items()) == steps
        assert sum(counts.values()) == selected
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("event", [Laplace(1), PoissonSampled("0.1", Gaussian(1)), Declared(GDP(1, "1e-9"), "told so")])
def test_other_steps_are_refused_with_a_way_out(event: Event) -> None:
    """A plan has no pair for them; accounts charge them as if the steps were known."""
    with pytest.raises(NoGuaranteeError, match="as if the steps were known"):
        Accountant().append(RandomAllocation(10, 1, event))


def test_the_relation_must_fit() -> None:
    """A record that is replaced is another question."""
    with pytest.raises(NotionError):
        Accountant("replace_one").append(PASS)
    zeroed = Accountant("zero_out")
    zeroed.append(PASS)
    assert zeroed.epsilon("1e-6") == composed(PASS).epsilon("1e-6")


def test_a_law_is_saved_and_read_back() -> None:
    """The law and the accountant survive JSON, and price the same."""
    assert law_from_json(json.loads(json.dumps(law_to_json(LAW)))) == LAW
    account = composed(Repeated(PASS, 3), Laplace(10))
    again = Accountant.loads(account.dumps())
    assert again.counts == account.counts
    assert again.epsilon("1e-6") == account.epsilon("1e-6")
    for wrong in ({"steps": 0}, {"steps": "many"}, {"mu_squared": "-1"}):
        with pytest.raises(InputError):
            law_from_json({**law_to_json(LAW), **wrong})


def test_a_law_of_one_step_is_gaussian() -> None:
    """It folds with others."""
    assert AllocatedGaussianLaw(1, Fraction(1, 4)).gaussian == Fraction(1, 4)
    one = Accountant()
    one.append(AllocatedGaussianLaw(1, Fraction(1, 4)), 4)
    assert one.epsilon("1e-6") == composed(Gaussian(1)).epsilon("1e-6")
    assert LAW.gaussian is None
    assert not LAW.symmetric
    assert LAW.highest(Direction.ADD) is None


def test_renyi_at_whole_orders_is_a_finite_sum() -> None:
    """E (S/t)^2 and E (S/t)^3 by hand, for sums of alike log-normals."""
    for steps, square in ((2, 4.0), (10, 0.25), (1000, 1.0)):
        account = Accountant()
        account.append(AllocatedGaussianLaw(steps, Fraction(square)))
        e = math.exp(square)
        second = math.log1p((e - 1) / steps)
        third = math.log((e**3 + 3 * (steps - 1) * e + (steps - 1) * (steps - 2)) / steps**2) / 2
        for order, exact in ((2, second), (3, third)):
            bound = renyi(account, order, direction="remove")
            assert float(bound.lower) <= exact * (1 + 1e-12)
            assert float(bound.upper) >= exact * (1 - 1e-12)
            assert bound.upper - bound.lower <= Decimal("1e-8") * bound.upper


def test_renyi_grows_to_the_unsampled_rho() -> None:
    """At high orders one release decides: bounds hold beyond the reach of moments, and rho is that of a step."""
    account, orders = composed(PASS), ("1.5", "4", "30", "300", "3000")
    values = [renyi(account, order) for order in orders]
    assert all(a.upper < b.lower for a, b in itertools.pairwise(values))
    assert all(v.upper <= Decimal(order) / 8 * Decimal("1.0000001") for v, order in zip(values, orders, strict=True))
    found = zcdp(account)
    assert Decimal("0.12") < found.lower <= found.upper == Decimal("0.125")


def test_attacks_are_bounded() -> None:
    """Advantage and power follow from the profile."""
    account = composed(RandomAllocation(10, 1, Gaussian(1)))
    found = advantage(account)
    assert found.upper - found.lower <= Decimal("1e-6") * found.upper
    assert found == account.delta(0, direction="remove")
    power = true_positive_rate(account, "0.05", direction="remove")
    assert Decimal("0.05") < power.lower <= power.upper < Decimal("0.05") + found.upper


def test_what_filters_charge() -> None:
    """zCDP and Gaussian accounts take known steps; Renyi accounts the pair's own divergence, rounded up."""
    event = RandomAllocation(100, 2, Gaussian(2))
    rdp = loss_for(event, RDPFilter(order=8, epsilon=5), relation="add_remove")
    assert isinstance(rdp, RDP)
    exact = renyi(composed(event), 8)
    assert exact.lower <= rdp.epsilons[0] <= exact.upper * Decimal("1.000001")
    assert loss_for(event, ZCDPFilter(1), relation="add_remove") == ZCDP("0.25")
    gdp = loss_for(event, GDPFilter(1), relation="add_remove")
    assert isinstance(gdp, GDP)
    assert composed(Declared(gdp, "charged")).epsilon("1e-6").lower > composed(event).epsilon("1e-6").upper


def test_noise_for_a_target() -> None:
    """The solver finds the noise of a shuffled training of five passes, certified."""

    def price(sigma: Decimal) -> Bound:
        return composed(Repeated(RandomAllocation(200, 1, Gaussian(sigma)), 5)).epsilon("1e-6")

    tolerance = Decimal("1e-6")
    found = solve(price, Decimal(1), rising=False, low=Decimal("0.3"), high=Decimal(20), tolerance=tolerance)
    assert found.epsilon.upper <= 1
    assert found.epsilon.lower > Decimal("0.9999")
    assert price(found.value * Decimal("0.999")).lower > 1


def test_merged_and_grown_accounts_agree() -> None:
    """The order in which passes come does not matter."""
    left, right = composed(PASS, Laplace(20)), composed(PASS)
    left.epsilon("1e-6")
    left.merge(right)
    whole = composed(Laplace(20), Repeated(PASS, 2))
    a, b = left.epsilon("1e-6"), whole.epsilon("1e-6")
    assert a.lower <= b.upper
    assert b.lower <= a.upper
    assert a.upper - a.lower <= Decimal("1e-6") * a.upper


def test_a_composed_event_is_its_parts() -> None:
    """Nested events are opened."""
    parts = laws_of(Composed((PASS, Repeated(Gaussian(2), 3))))
    assert dict(parts) == {LAW: 1, gaussian_law(2): 3}
