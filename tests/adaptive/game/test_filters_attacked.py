"""Every offered filter against the optimal analyst: the worst case over all adaptive strategies stays within its claim.

The analyst knows everything but the secret, chooses each box from all earlier answers, and plays against the filters'
own code. The attained share of each claim is asserted from below as well, so that a weakened adversary is noticed.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from menus import failing_menu, gaussian_menu, log_down, log_up, pure_menu

from dosimeter.accounting import loss_for
from dosimeter.adaptive.adversary import Menu
from dosimeter.adaptive.filters import (
    FILTERS,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    MenuFilter,
    PlanResidueFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RDPFilter,
    ResidueFilter,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
)
from dosimeter.adaptive.game import (
    filter_rule,
    randomized_response,
    worst_crossing,
    worst_crossing_exact,
    worst_delta,
    worst_delta_exact,
    worst_delta_over_range,
    worst_moment,
)
from dosimeter.events import RandomizedResponse
from dosimeter.notions import ZCDP
from dosimeter.notions.convert import gdp_to_approx, rdp_to_approx, zcdp_to_approx

D = Decimal
BASE = Fraction(6, 5)
COARSE = Fraction(3, 2)  # few rounds: what a residue filter charges depends on what is left, so states hardly merge
MIDDLE = Fraction(11, 10)
FINE = Fraction(21, 20)
ORDERS = (D(2), D(4), D(16))
MILLI = Fraction(1, 1000)


def failing(notion: str) -> list[Any]:
    """Boxes on the middle lattice, some of which fail."""
    return failing_menu(MIDDLE, [(1, 0 * MILLI), (2, MILLI), (0, MILLI), (3, 2 * MILLI), (2, 0 * MILLI)], notion)


PLAN = PlanResidueFilter(((RandomizedResponse(log_up(MIDDLE)), 16),), "1", "6.5e-4", "2e-5", 20)


def plan_menu(base: Fraction, steps: tuple[int, ...]) -> list[Any]:
    """Randomised responses, the planned one among them, with what the plan charges for each."""
    events = [RandomizedResponse(log_up(base**j)) for j in steps]
    return [(randomized_response(base**j), loss_for(event, PLAN)) for j, event in zip(steps, events, strict=True)]


RESPONSES = MenuFilter("1", "0.01", Menu.responses(log_up(MIDDLE), (1, 2, 3)))


def offered(filter_: MenuFilter, base: Fraction) -> list[Any]:
    """The entries of a menu of randomised responses as boxes, with what the filter charges for each."""
    steps = [round(offer.event.epsilon / filter_.menu.offers[0].event.epsilon) for offer in filter_.menu.offers]  # type: ignore[attr-defined]
    priced = [loss_for(offer.event, filter_) for offer in filter_.menu.offers]
    return [(randomized_response(base**j), loss) for j, loss in zip(steps, priced, strict=True)]


# filter, menu, base, epsilon, and the share of the claimed delta that the adversary must reach at least
ATTACKS: dict[str, tuple[Any, Any, Fraction, str, float]] = {
    "approx": (ApproxFilter(epsilon="1", delta="0.01"), pure_menu(FINE, (1, 2, 3, 4), "zcdp"), FINE, "1", 0.41),
    "approx, larger delta": (
        ApproxFilter(epsilon="1", delta="0.1"),
        pure_menu(MIDDLE, (1, 2, 3, 4), "zcdp"),
        MIDDLE,
        "1",
        0.53,
    ),
    "approx, Gaussian": (
        ApproxFilter(epsilon="2", delta="0.05"),
        gaussian_menu(BASE, ("0.3", "0.4", "0.5"), "zcdp"),
        BASE,
        "2",
        0.34,
    ),
    "approx, failing": (
        ApproxFilter(epsilon="1", delta="0.01", declared_delta="0.003"),
        failing("zcdp"),
        MIDDLE,
        "1",
        0.52,
    ),
    "approx_published": (
        PublishedApproxFilter(epsilon="1", delta="0.01"),
        pure_menu(FINE, (1, 2, 3, 4), "approx"),
        FINE,
        "1",
        0.008,
    ),
    "approx_published, failing": (
        PublishedApproxFilter(epsilon="1", delta="0.01", declared_delta="0.003"),
        failing("approx"),
        MIDDLE,
        "1",
        0.299,
    ),
    "rogers": (RogersFilter(epsilon="4", delta="0.3"), pure_menu(BASE, (1, 2, 3), "approx"), BASE, "4", 0.0007),
    "rogers, failing": (
        RogersFilter(epsilon="2", delta="0.1"),
        failing_menu(BASE, [(1, 0 * MILLI), (1, 10 * MILLI), (0, 10 * MILLI)], "approx"),
        BASE,
        "2",
        0.49,
    ),
    "residue": (ResidueFilter("1", "0.1", 0), pure_menu(COARSE, (1, 2), "residue"), COARSE, "1", 0.55),
    "residue, Gaussian": (
        ResidueFilter("2", "0.05", 0),
        gaussian_menu(BASE, ("0.3", "0.4", "0.5"), "residue"),
        BASE,
        "2",
        0.5,
    ),
    "residue_plan": (PLAN, plan_menu(MIDDLE, (1, 2, 3)), MIDDLE, "1", 0.85),
    "menu": (RESPONSES, offered(RESPONSES, MIDDLE), MIDDLE, "1", 0.94),
    "residue, failing": (
        ResidueFilter("1", "0.1", "0.02"),
        failing_menu(COARSE, [(1, 0 * MILLI), (1, 4 * MILLI), (0, 10 * MILLI)], "residue"),
        COARSE,
        "1",
        0.55,
    ),
    "rdp_weighted": (
        WeightedRDPFilter(epsilon="2", delta="0.1", orders=ORDERS),
        pure_menu(BASE, (1, 2, 3, 4), "rdp", ORDERS),
        BASE,
        "2",
        0.27,
    ),
    "rdp_weighted, unequal": (
        WeightedRDPFilter(epsilon="1.5", delta="0.01", orders=ORDERS, weights=("0.1", "0.8", "0.1")),
        pure_menu(BASE, (1, 2, 4), "rdp", ORDERS),
        BASE,
        "1.5",
        0.06,
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_strategy_reaches_more_than_the_claimed_delta(name: str) -> None:
    """Filters that promise (epsilon, delta)-DP keep it against the optimal analyst."""
    filter_, menu, base, epsilon, least = ATTACKS[name]
    worst = worst_delta(filter_rule(filter_, menu), base, epsilon)
    assert worst.upper <= filter_.delta
    assert float(worst.lower / filter_.delta) >= least


def test_a_menu_filter_with_one_unit_more_is_beaten() -> None:
    """The budget of a menu is the largest one: with a unit more the analyst passes delta, and so with a low cost."""
    one_more = MenuFilter("1", "0.01", RESPONSES.menu, RESPONSES.units + 1, "0.01", trusted=True)
    assert worst_delta(filter_rule(one_more, offered(one_more, MIDDLE)), MIDDLE, "1").lower > RESPONSES.delta
    (first, cheap), (second, _), (third, dear) = offered(RESPONSES, MIDDLE)
    assert cheap.units < dear.units
    wrong = [(first, cheap), (second, cheap), (third, dear)]
    assert worst_delta(filter_rule(RESPONSES, wrong), MIDDLE, "1").lower > 2 * RESPONSES.delta


def test_the_default_filter_keeps_its_promise_at_every_epsilon() -> None:
    """It gives a delta at each epsilon, not only at the one it was opened with."""
    filter_ = ApproxFilter(epsilon="1", delta="0.01")
    rule = filter_rule(filter_, pure_menu(BASE, (1, 2, 3), "zcdp"))
    for epsilon in ("0", "0.25", "0.5", "1", "1.5"):
        claim = zcdp_to_approx(ZCDP(filter_.rho), target_epsilon=epsilon)
        assert worst_delta(rule, BASE, epsilon).upper <= claim.delta


def test_adding_epsilons_is_exact() -> None:
    """The pure filter's loss never exceeds its budget, with probability zero and not a little, and it can reach it."""
    budget = log_up(BASE**6)
    rule = filter_rule(PureFilter(epsilon=budget), pure_menu(BASE, (1, 2, 3), "pure"))
    assert worst_crossing_exact(rule, lambda _: budget) == 0
    assert worst_crossing_exact(rule, lambda _: log_down(BASE**6)) > Fraction(1, 10)
    assert worst_delta_exact(rule, BASE**6) == 0


def test_adding_epsilons_and_deltas_is_within_its_claim_and_nearly_reached() -> None:
    """With failing boxes the worst case is 1 - prod(1 - delta_m), just under the sum that is charged."""
    budget = log_up(BASE**4)
    filter_ = BasicFilter(epsilon=budget, delta="0.01")
    menu = failing_menu(BASE, [(1, 2 * MILLI), (2, 5 * MILLI), (0, 10 * MILLI), (1, 0 * MILLI)], "approx")
    worst = worst_delta_exact(filter_rule(filter_, menu), BASE**4)
    assert Fraction(99, 100) * Fraction(1, 100) < worst <= Fraction(1, 100)


@pytest.mark.parametrize("notion", ["response", "Gaussian"])
def test_the_zcdp_filter_bounds_every_renyi_order_and_every_epsilon(notion: str) -> None:
    """One budget serves all orders at once: D_a <= rho a for randomised responses and Gaussians alike."""
    filter_ = ZCDPFilter(rho="0.15")
    if notion == "response":
        menu = pure_menu(BASE, (1, 2, 3), "zcdp")
    else:
        menu = gaussian_menu(BASE, ("0.3", "0.4", "0.5"), "zcdp")
    rule = filter_rule(filter_, menu)
    for order in ("1.25", "2", "4", "10"):
        divergence = worst_moment(rule, BASE, order)
        assert D("0.7") * filter_.rho * D(order) < divergence.upper <= filter_.rho * D(order)
    for epsilon in ("0", "0.3", "1", "2"):
        claim = zcdp_to_approx(filter_.guarantee(), target_epsilon=epsilon)
        assert worst_delta(rule, BASE, epsilon).upper <= claim.delta


def test_approximate_zcdp_rounds_fail_within_their_share() -> None:
    """Failures add to the conversion's delta and no more."""
    filter_ = ZCDPFilter(rho="0.15", delta="0.003")
    menu = failing_menu(BASE, [(1, MILLI), (2, 0 * MILLI), (0, MILLI), (2, 2 * MILLI)], "zcdp")
    rule = filter_rule(filter_, menu)
    for epsilon in ("0", "0.5", "1.5"):
        claim = zcdp_to_approx(filter_.guarantee(), target_epsilon=epsilon)
        worst = worst_delta(rule, BASE, epsilon)
        assert D("0.0029") < worst.lower <= worst.upper <= claim.delta


def test_one_renyi_order_is_tight() -> None:
    """At its own order the filter's budget is reached exactly by constant play, and never passed by adaptive play."""
    loss_at = {a: pure_menu(BASE, (1,), "rdp", (a,))[0][1].epsilons[0] for a in ORDERS}
    for order in ORDERS:
        filter_ = RDPFilter(order=order, epsilon=loss_at[order] * 12)
        divergence = worst_moment(filter_rule(filter_, pure_menu(BASE, (1, 2, 3), "rdp", (order,))), BASE, order)
        assert D("0.999999999") * filter_.epsilon <= divergence.upper <= filter_.epsilon * (1 + D("1e-11"))
        claim = rdp_to_approx(filter_.guarantee(), target_epsilon="1")
        rule = filter_rule(filter_, pure_menu(BASE, (1, 2, 3), "rdp", (order,)))
        assert worst_delta(rule, BASE, "1").upper <= claim.delta


def test_a_renyi_curve_holds_at_every_order_so_the_best_conversion_may_be_taken() -> None:
    """Every order stays within its budget; the minimum of the conversions bounds the worst case."""
    filter_ = RDPCurveFilter(orders=ORDERS, epsilons=("0.2", "0.5", "1.2"))
    rule = filter_rule(filter_, pure_menu(BASE, (1, 2, 3), "rdp", ORDERS))
    for order, budget in zip(filter_.orders, filter_.epsilons, strict=True):
        assert worst_moment(rule, BASE, order).upper <= budget
    for epsilon in ("0.5", "1", "2"):
        claim = rdp_to_approx(filter_.guarantee(), target_epsilon=epsilon)
        assert worst_delta(rule, BASE, epsilon).upper <= claim.delta


@pytest.mark.parametrize(("epsilon", "least"), [("0.3", 0.97), ("1", 0.97), ("2", 0.95)])
def test_the_gaussian_filter_is_nearly_attained(epsilon: str, least: float) -> None:
    """Against Gaussians cut into cells, and randomised responses at their mu, the exact profile is the limit."""
    filter_ = GDPFilter(mu="1")
    menu = gaussian_menu(BASE, ("0.5", "0.6", "0.8"), "gdp") + pure_menu(BASE, (1, 2, 3), "gdp")
    worst = worst_delta(filter_rule(filter_, menu), BASE, epsilon)
    claim = gdp_to_approx(filter_.guarantee(), target_epsilon=epsilon).delta
    assert worst.upper <= claim
    assert float(worst.lower / claim) >= least


def test_the_approximate_gaussian_filter_with_failing_rounds() -> None:
    """delta + (1 - delta) delta_mu(epsilon), with Gaussians and with responses that fail."""
    filter_ = GDPFilter(mu="1", delta="0.01")
    failing = failing_menu(BASE, [(0, 5 * MILLI), (1, 5 * MILLI), (2, 2 * MILLI)], "gdp")
    menu = gaussian_menu(BASE, ("0.5", "0.7"), "gdp") + failing
    worst = worst_delta(filter_rule(filter_, menu), BASE, "1.5")
    claim = gdp_to_approx(filter_.guarantee(), target_epsilon="1.5").delta
    assert D("0.9") * claim < worst.lower <= worst.upper <= claim


def test_a_refused_request_can_be_followed_by_a_cheaper_one() -> None:
    """The analyst of these games is refused and goes on, at every step; that is how the rules above are explored."""
    filter_ = ZCDPFilter(rho="0.2")
    rule = filter_rule(filter_, pure_menu(BASE, (1, 3), "zcdp"))
    state, taken = rule.start, []
    while offered := list(rule.moves(state)):
        box, state = offered[-1]
        taken.append(box.name)
    assert len(set(taken)) == 2
    assert [len(name) for name in taken] == sorted((len(name) for name in taken), reverse=True)  # dear ones first


def test_every_offered_filter_was_attacked() -> None:
    """Adding a filter without an attack fails here."""
    kinds = {entry[0].kind for entry in ATTACKS.values()}
    kinds |= {kind.kind for kind in (PureFilter, BasicFilter, ZCDPFilter, RDPFilter, RDPCurveFilter, GDPFilter)}
    assert kinds == set(FILTERS)


def test_the_adversary_is_not_a_single_fixed_plan() -> None:
    """Adaptive play beats every fixed number of equal steps under the published filter."""
    filter_ = PublishedApproxFilter(epsilon="1", delta="0.01")
    adaptive = worst_delta(filter_rule(filter_, pure_menu(FINE, (1, 2, 3, 4), "approx")), FINE, "1")
    fixed = [worst_delta(filter_rule(filter_, pure_menu(FINE, (j,), "approx")), FINE, "1") for j in (1, 2, 3, 4)]
    assert max(plan.upper for plan in fixed) < adaptive.lower


def test_epsilons_from_a_whole_range_stay_within_the_claim() -> None:
    """Any epsilon_m from about 0.2 to 0.6, on a lattice or not: the certified upper end is within the claim."""
    filter_ = PublishedApproxFilter(epsilon="2", delta="0.3")
    found = worst_delta_over_range(Fraction(26, 25), 5, 15, "2", filter_.capacity)
    assert 0 < found.lower < found.upper <= filter_.delta


def test_losses_under_a_pure_budget_never_pass_it_at_any_time() -> None:
    """The same statement through the fast solver: crossing the budget itself has probability zero."""
    budget = log_up(BASE**6)
    rule = filter_rule(PureFilter(epsilon=budget), pure_menu(BASE, (1, 2, 3), "pure"))
    assert worst_crossing(rule, BASE, lambda _: budget).upper == 0
