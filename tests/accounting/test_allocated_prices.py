"""What accounts charge for random allocation: the pair's own divergences and its own epsilon, never less."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.accounting.losses import is_proven_loss
from dosimeter.accounting.tables.allocated import plan_epsilon, with_hidden_steps
from dosimeter.adaptive.filters import Admitted, PlanResidueFilter, RDPCurveFilter, RDPFilter, ResidueFilter
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import (
    Composed,
    Declared,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    Repeated,
)
from dosimeter.exact import ZERO
from dosimeter.ledger.audit import covers
from dosimeter.notions import GDP, RDP
from dosimeter.notions.convert import rdp_to_approx
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.renyi import renyi

PASS = RandomAllocation(100, 1, Gaussian(2))


class Approx:
    """A filter in (epsilon, delta)."""

    notion = "approx"


def charge(event: Event, delta: str = "1e-6") -> Any:
    return loss_for(event, Approx(), delta=delta, relation="add_remove")


def composed(*events: Event) -> Accountant:
    accountant = Accountant()
    accountant.extend(events)
    return accountant


@pytest.mark.parametrize(
    "event",
    [
        PASS,
        RandomAllocation(1000, 1, Gaussian(1)),
        RandomAllocation(7, 5, Gaussian(1)),
        Repeated(RandomAllocation(30, 4, Gaussian(3)), 5),
        RandomAllocation(50, 1, Declared(GDP("0.5"), "told so")),
        RandomAllocation(3, 3, Gaussian(1)),
    ],
)
def test_renyi_accounts_charge_the_pair(event: Event) -> None:
    """At every order: not below the certified divergence of the plan, within 1e-6 at whole orders and 3 % elsewhere."""
    account = composed(event)
    orders = tuple(Decimal(x) for x in ("1.5", "2", "4", "8", "12.5", "32"))
    rule = RDPCurveFilter(orders, (Decimal(100),) * len(orders))
    loss = loss_for(event, rule, relation="add_remove")
    assert isinstance(loss, RDP)
    for order, charged in zip(loss.orders, loss.epsilons, strict=True):
        exact = renyi(account, order)
        assert charged >= exact.lower
        whole = order == order.to_integral_value()
        assert charged <= exact.upper * (Decimal("1.000002") if whole else Decimal("1.03"))


def test_a_filter_admits_many_more_passes() -> None:
    """An account of Renyi order 8 admitted four such passes when steps were taken as known; now 352."""
    rule = RDPFilter(order=8, epsilon=4)
    event = RandomAllocation(100, 1, Gaussian(2))
    loss: Any = loss_for(event, rule, relation="add_remove")
    state, admitted = rule.start(), 0
    while isinstance(outcome := rule.admit(state, loss), Admitted) and admitted < 1000:
        state, admitted = outcome.state, admitted + 1
    assert 340 < admitted < 360
    assert renyi(composed(Repeated(event, admitted)), 8).upper <= 4
    assert renyi(composed(Repeated(event, admitted + 1)), 8).lower > Decimal("3.99")


@pytest.mark.parametrize(
    ("event", "share"),
    [
        (PASS, "1.000001"),
        (RandomAllocation(100, 3, Gaussian(2)), "1.000001"),
        (Repeated(PASS, 20), "1.000001"),
        (Composed((PASS, Gaussian(5), Repeated(PoissonSampled("0.01", Gaussian(1)), 50))), "1.000001"),
    ],
)
def test_approximate_accounts_charge_the_plan(event: Event, share: str) -> None:
    """A whole event, parts of other kinds included, costs its certified epsilon."""
    exact = composed(event).epsilon("1e-6")
    loss = charge(event)
    assert exact.lower <= loss.epsilon <= exact.upper * Decimal(share)
    assert loss.delta == Decimal("1e-6")


def test_a_part_with_an_epsilon_of_its_own_is_added() -> None:
    """Laplace noise beside a pass: no more than both, no less than the exact total."""
    event = Composed((PASS, Laplace(10)))
    exact = composed(event).epsilon("1e-6")
    assert exact.lower <= charge(event).epsilon <= charge(PASS).epsilon + Decimal("0.1")


def test_prices_have_seven_digits_and_cover_each_other() -> None:
    """Another machine, a last digit off, finds the same price; an audit accepts it."""
    loss: Any = loss_for(PASS, RDPFilter(order="7.5", epsilon=4), relation="add_remove")
    assert all(len(epsilon.as_tuple().digits) <= 7 for epsilon in loss.epsilons)
    assert covers(loss, loss_for(PASS, RDPFilter(order="7.5", epsilon=4), relation="add_remove"))
    assert len(charge(PASS).epsilon.as_tuple().digits) <= 7


def test_what_has_no_pair_is_charged_as_known_steps() -> None:
    """Laplace steps, sampled steps, steps that may fail."""
    orders = (Decimal(2), Decimal(8))
    for inner in (Laplace(2), PoissonSampled("0.1", Gaussian(1)), Declared(GDP(1, "1e-9"), "told so")):
        event = RandomAllocation(10, 2, inner)
        known = RDP(orders, (Decimal(3), Decimal(5)), Decimal("1e-9") if isinstance(inner, Declared) else ZERO)
        assert with_hidden_steps(event, known) == known
    small = RDP(orders, (Decimal("1e-9"), Decimal("1e-8")))
    assert with_hidden_steps(PASS, small) == small


def test_plans_without_a_pair_have_no_such_price() -> None:
    """Nothing allocated, or parts that speak of other neighbours."""
    with pytest.raises(NoGuaranteeError, match="no record is allocated"):
        plan_epsilon([(Gaussian(1), 1)], Decimal("1e-6"))
    with pytest.raises(NoGuaranteeError, match="different neighbours"):
        plan_epsilon([(PASS, 1), (FixedSizeSampled(1, 10, Gaussian(1)), 1)], Decimal("1e-6"))


def test_the_pass_of_one_step_more_is_caught() -> None:
    """The control: the price of a pass with three more steps lies below the exact divergence of this one."""
    flawed: Any = loss_for(RandomAllocation(103, 1, Gaussian(2)), RDPFilter(order=8, epsilon=4), relation="add_remove")
    assert flawed.epsilons[0] < renyi(composed(PASS), 8).lower
    assert charge(RandomAllocation(103, 1, Gaussian(2))).epsilon < composed(PASS).epsilon("1e-6").lower


def test_best_order_and_plan_agree() -> None:
    """The Renyi curve converts to an epsilon above the plan's own, and in its range."""
    orders = tuple(Decimal(x) for x in ("1.5", "2", "4", "6", "8", "12", "16", "24", "32", "48", "64", "96", "128"))

    class Curve:
        notion = "rdp"

        def __init__(self) -> None:
            self.orders = orders

    curve: Any = loss_for(RandomAllocation(1000, 1, Gaussian(2)), Curve(), relation="add_remove")
    epsilon = rdp_to_approx(curve, target_delta="1e-6").epsilon
    exact = composed(RandomAllocation(1000, 1, Gaussian(2))).epsilon("1e-6")
    assert exact.upper < epsilon < 4 * exact.upper


def gap(event: Event, level: Decimal, charge: Decimal) -> Decimal:
    """By how much the event beside what is left of a Gaussian budget exceeds the budget, at most over some levels."""
    before, after = Accountant(), composed(event)
    before.append(Declared(GDP(level.sqrt()), "the budget"))
    if level > charge:
        after.append(Declared(GDP((level - charge).sqrt()), "what is left"))
    levels = [Decimal(x) / 20 for x in (*range(16), *range(16, 60, 4))]
    return max(after.delta(e).lower - before.delta(e).upper for e in levels)


@pytest.mark.parametrize("event", [PASS, RandomAllocation(1000, 1, Gaussian(1)), RandomAllocation(10, 1, Gaussian(2))])
def test_residue_accounts_charge_the_profile(event: RandomAllocation) -> None:
    """Every row keeps the rule within the slack, asked of the first engine; nine tenths of the charge does not."""
    rule = ResidueFilter(1, "1e-6")
    loss: Any = loss_for(event, rule, relation="add_remove")
    assert is_proven_loss(loss, event, rule, relation="add_remove")
    known: Any = loss_for(event.event, rule)
    for level, charged in zip(loss.levels, loss.charges, strict=True):
        assert charged < known.charges[0] / 5
        assert gap(event, level, charged) <= loss.deltas[0]
    assert gap(event, loss.levels[-1], loss.charges[-1] * Decimal("0.9")) > loss.deltas[0]


def test_a_list_for_more_steps_is_not_proven() -> None:
    """The control: a cheaper list, of a pass with more steps or simply less, fails the audit's proof."""
    rule = ResidueFilter(1, "1e-6")
    loss: Any = loss_for(RandomAllocation(110, 1, Gaussian(2)), rule, relation="add_remove")
    assert not is_proven_loss(loss, PASS, rule, relation="add_remove")
    assert is_proven_loss(loss, RandomAllocation(120, 1, Gaussian(2)), rule, relation="add_remove")


def test_a_pass_beside_a_plan() -> None:
    """An account of a plan prices a pass from its reserve, hardly above a Gaussian of the same size."""
    rule = PlanResidueFilter(((PoissonSampled("0.01", Gaussian(1)), 500),), "2", "1e-5", "1e-6", 100, reserve="0.05")
    loss: Any = loss_for(PASS, rule, relation="add_remove")
    assert max(loss.charges[:3]) < Decimal("0.003")
    assert is_proven_loss(loss, PASS, rule, relation="add_remove")
    assert isinstance(rule.admit(rule.start(), loss), Admitted)
