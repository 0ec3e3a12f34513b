"""The residue filter of a plan: planned steps cost one step, everything else what its profile needs."""

import math
from collections.abc import Iterable
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest

from dosimeter.accounting import loss_for, slack_trade
from dosimeter.accounting.tables.residue import is_proven
from dosimeter.adaptive.filters import (
    Admitted,
    PlanResidueFilter,
    PlanResidueState,
    Refused,
    ResidueFilter,
    filter_from_json,
    filter_to_json,
    fits,
)
from dosimeter.adaptive.game import Box, Rule, randomized_response, worst_delta
from dosimeter.adaptive.residue.exact_profile import divergence
from dosimeter.adaptive.residue.lattice_law import lattice_law
from dosimeter.adaptive.residue.plan_prices import steps_taken
from dosimeter.adaptive.residue.plan_reading import plan_delta
from dosimeter.enclosure import ball, precision
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
    RandomizedResponse,
    Repeated,
)
from dosimeter.events.opening import open_event
from dosimeter.notions import ApproxDP, ResiduePrice
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.bounded_range import BoundedRangeLaw
from dosimeter.pld.laws.events import laws_of
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law

D = Decimal
STEP = PoissonSampled("0.01", Gaussian(1))
OTHER = PoissonSampled("0.01", Gaussian("1.5"))
BASE = Fraction(6, 5)


@lru_cache(maxsize=1)
def training() -> PlanResidueFilter:
    """500 steps of private training, with a small reserve."""
    return PlanResidueFilter(((STEP, 500),), "1.6", "1e-5", "1e-6", 100, reserve="0.01")


def law_of(event: Event) -> Law:
    """The law of a single release."""
    ((law, _),) = laws_of(event)
    return law


def priced(event: Event, rule: Any) -> ResiduePrice:
    """What an event costs an account of a plan."""
    found = loss_for(event, rule, relation="add_remove")
    assert isinstance(found, ResiduePrice)
    return found


def spent_by(events: Iterable[tuple[Event, int]], rule: PlanResidueFilter) -> PlanResidueState:
    """The state after events that all fit."""
    state = rule.start()
    for event, many in events:
        answer = rule.admit(state, priced(event, rule), many)
        assert isinstance(answer, Admitted), answer.message()
        state = answer.state
    return state


# reference: sampling 0.01, noise multiplier 1; a query, and the steps it takes with 2000, 500 and 100 left
CHARGES: list[tuple[Event, tuple[int | None, ...]]] = [
    (STEP, (1, 1, 1)),
    (PoissonSampled("0.01", Gaussian("1.5")), (1, 1, 1)),
    (PoissonSampled("0.05", Gaussian(2)), (5, 5, 5)),
    (PoissonSampled("0.02", Gaussian(1)), (5, 10, 37)),
    (PoissonSampled("0.01", Gaussian("0.8")), (5, 188, None)),
    (Gaussian(20), (18, 22, 32)),
    (Gaussian(5), (292, 347, None)),
]


@pytest.mark.parametrize(("event", "steps"), CHARGES, ids=lambda value: getattr(value, "kind", None))
def test_what_leaving_the_plan_costs(event: Event, steps: tuple[int | None, ...]) -> None:
    """Steps charged at three places of a plan of 2000; some queries reveal more than all that is left."""
    lattice = planned_lattice()
    found = tuple(steps_taken(law_of(event), law_of(STEP), left, lattice, D("1e-9")) for left in (2000, 500, 100))
    assert found == steps


@lru_cache(maxsize=1)
def planned_lattice() -> Any:
    """The lattice of a plan of 2000 steps."""
    from dosimeter.adaptive.residue.plan_lattice import choose_lattice

    return choose_lattice([(law_of(STEP), 2000)], D("1e-5"))


@pytest.mark.parametrize("event", [Gaussian(20), PoissonSampled("0.02", Gaussian(1)), Laplace(20)])
def test_a_charge_covers_the_query_by_another_engine(event: Event) -> None:
    """The query with the steps that are left reveals no more than all steps, at every epsilon, and little less."""
    rule = training()
    left, slack = 300, D("1e-8")
    taken = steps_taken(law_of(event), law_of(STEP), left, rule.lattice, slack)
    assert taken is not None
    after, tight, before = Accountant(), Accountant(), Accountant()
    for accountant, rest in ((after, left - taken), (tight, left - taken + max(2, taken // 3))):
        accountant.append(event)
        accountant.append(STEP, rest)
    before.append(STEP, left)
    beaten = False
    for k in range(25):
        epsilon = D(k) / 20
        assert after.delta(epsilon).lower <= plan_delta(((law_of(STEP), left),), rule.lattice, D(0), epsilon) + slack
        for direction in Direction:
            reached = tight.delta(epsilon, direction=direction).lower
            beaten = beaten or reached > before.delta(epsilon, direction=direction).upper + slack
    assert beaten


@pytest.mark.parametrize(
    "plan",
    [
        ((STEP, 500),),
        ((STEP, 300), (OTHER, 200)),
        ((Laplace(10), 50),),
        ((FixedSizeSampled(256, 60000, Gaussian(1)), 400),),
        ((DiscreteGaussian(20), 400),),
        ((PoissonSampled("0.05", DiscreteGaussian(2)), 200),),
        ((DiscreteGaussian(300), 1000), (Gaussian(40), 2)),
    ],
)
def test_following_the_plan_costs_its_tight_epsilon(plan: Any) -> None:
    """The smallest epsilon is within a thousandth of that of the plan's privacy loss distribution, and never below."""
    accountant = Accountant("replace_one" if isinstance(plan[0][0], FixedSizeSampled) else "add_remove")
    for event, many in plan:
        accountant.append(event, many)
    tight = accountant.epsilon("1e-5")
    found = PlanResidueFilter.smallest_epsilon(plan, "1e-5", 0)
    assert tight.lower <= found <= tight.upper * D("1.001")
    rule = PlanResidueFilter(plan, found, "1e-5", 0)
    state, prices = rule.start(), [(priced_for(event, rule), many) for event, many in plan]
    for price, many in prices:
        answer = rule.admit(state, price, many)
        assert isinstance(answer, Admitted)
        state = answer.state
        assert price.delta == 0
    assert all(isinstance(rule.admit(state, price), Refused) for price, _ in prices)
    assert rule.delta_at(found) <= D("1e-5") < rule.delta_at(found - D("1e-3"))


def priced_for(event: Event, rule: Any) -> ResiduePrice:
    """Under whichever relation the event speaks of."""
    from dosimeter.events import relations_of

    found = loss_for(event, rule, relation=min(relations_of(event)))
    assert isinstance(found, ResiduePrice)
    return found


LAWS: list[Event] = [
    STEP,
    Laplace(3),
    DiscreteLaplace(3, 2),
    RandomizedResponse("0.7", "1e-6"),
    Gaussian("1.5"),
    PoissonSampled("0.2", Laplace(1)),
    FixedSizeSampled(3, 10, Gaussian(1)),
    DiscreteGaussian("1.3"),
    DiscreteGaussian(7, "1.2"),
    PoissonSampled("0.2", DiscreteGaussian(2)),
    DeclaredPair(("0.6", "0.3", "0.0999", "0.0001", "0"), ("0.5", "0.2", "0.2995", "0", "0.0005"), "a third party's"),
]


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("law", [*map(law_of, LAWS), BoundedRangeLaw(Fraction(1, 2))], ids=lambda law: law.kind)
def test_a_planned_lattice_is_never_below_its_law_and_close(law: Law, direction: Direction) -> None:
    """The lattice's divergence is the exact one at its points, and a chord above it in between, at both signs."""
    step = Fraction(1, 64)
    points = lattice_law(law, direction, step, 400)
    with precision(200):
        for s in (Fraction(k, 192) for k in range(-150, 151, 7)):
            level = ball(s)
            exact = divergence(law, direction, level)
            lattice = ball(Fraction(points.infinite))
            for i, mass in enumerate(points.masses):
                at = (points.first + i) * step
                if at > s:
                    lattice += ball(Fraction(mass)) * (1 - (level - ball(at)).exp())
            assert lattice >= exact or abs(lattice - exact) < 1e-25
            assert lattice - exact < 2e-3


def test_divergences_agree_with_the_accountant() -> None:
    """The closed forms that a plan is made of are those of the composition engine, in both directions."""
    for event in LAWS:
        for direction in Direction:
            accountant = Accountant("replace_one" if isinstance(event, FixedSizeSampled) else "add_remove")
            accountant.append(event)
            for epsilon in ("0.1", "0.5"):
                bound = accountant.delta(epsilon, direction=direction)
                with precision(200):
                    exact = divergence(law_of(event), direction, ball(D(epsilon)))
                    assert ball(bound.lower) <= exact * (1 + ball(D("1e-20"))) + ball(D("1e-40"))
                    assert exact <= ball(bound.upper) * (1 + ball(D("1e-20"))) + ball(D("1e-40"))


def test_the_plan_can_be_left_and_taken_up_again() -> None:
    """Planned steps, an unplanned query, one too large for the reserve and a block are each charged to a part."""
    rule = training()
    events: list[tuple[Event, int]] = [(STEP, 100), (Gaussian(50), 1), (Gaussian(9), 1), (Repeated(OTHER, 50), 1)]
    state = spent_by(events, rule)
    caps = rule.remaining(state)
    assert D(caps["mu_squared"]) == rule.reserve - D("0.0004")
    taken = 500 - int(D(caps["steps of run 1"]))
    assert 100 + 70 < taken < 100 + 170
    assert state.delta <= rule.slack
    rest = fits(rule, state, priced(STEP, rule))
    assert rest == 500 - taken
    done = spent_by([*events, (STEP, rest)], rule)
    refused = rule.admit(done, priced(STEP, rule))
    assert isinstance(refused, Refused)
    assert refused.exceeded == ("steps of run 1",)


def test_a_block_costs_less_than_its_runs_one_by_one() -> None:
    """Runs that are fixed in advance as one event share their steps: fifty gentle runs take fewer than fifty."""
    rule = training()
    one, block = priced(OTHER, rule), priced(Repeated(OTHER, 50), rule)
    assert min(one.charges[one.components.index(D(1)) :]) == 1
    assert block.counts == (1,)
    steps = [c for at, c in zip(block.components, block.charges, strict=True) if at == 1]
    assert 15 < min(steps) < 30


def test_many_at_once_are_the_loop() -> None:
    """So many planned or unplanned queries decided together end where the loop ends."""
    rule = training()
    for event, many in ((STEP, 60), (Gaussian(20), 9), (PoissonSampled("0.02", Gaussian(1)), 12), (OTHER, 40)):
        price = priced(event, rule)
        state = rule.start()
        for _ in range(many):
            answer = rule.admit(state, price)
            assert isinstance(answer, Admitted)
            state = answer.state
        at_once = rule.admit(rule.start(), price, many)
        assert isinstance(at_once, Admitted)
        assert at_once.state == state


def test_filter_and_state_survive_json() -> None:
    """Plan, lattice and numbers come back equal, and the promise of what was read can be verified."""
    rule = PlanResidueFilter(((STEP, 40), (Composed((Laplace(10), Repeated(OTHER, 3))), 2)), "2", "1e-4", reserve="0.1")
    again = filter_from_json(filter_to_json(rule))
    assert again == rule
    assert isinstance(again, PlanResidueFilter)
    again.verify()
    assert [many for _, many in rule.laws] == [40, 2, 6]
    state = spent_by([(STEP, 3), (RandomizedResponse("0.05"), 2)], rule)
    assert again.state_from_json(rule.state_to_json(state)) == state
    forged = filter_to_json(rule) | {"epsilon": "0.01"}
    read = filter_from_json(forged)
    assert isinstance(read, PlanResidueFilter)
    with pytest.raises(InputError, match="has delta"):
        read.verify()
    with localcontext(prec=4, rounding=ROUND_FLOOR):
        assert filter_from_json(filter_to_json(rule)) == rule
        assert priced(Gaussian(20), rule) == priced(Gaussian(20), again)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ((), "list of pairs"),
        ("steps", "list of pairs"),
        (((STEP, 0),), "outside"),
        (((STEP, 1.5),), "whole number"),
        (((STEP, 10**7),), "outside"),
        (((Declared(ApproxDP("0.1"), "said so"), 2), ("no event", 1)), "not an event"),
        (((DiscreteGaussian(9, 3), 2),), "cannot be planned for"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(plan: Any, words: str) -> None:
    """What is no plan opens no account, and the message says why."""
    with pytest.raises(InputError, match=words):
        PlanResidueFilter(plan, "1", "1e-5")


def test_a_promise_that_the_plan_does_not_keep_is_refused() -> None:
    """Epsilon below the smallest one opens no account; the smallest one does."""
    plan = ((Laplace(10), 30),)
    least = PlanResidueFilter.smallest_epsilon(plan, "1e-5")
    assert PlanResidueFilter(plan, least, "1e-5").guarantee() == ApproxDP(least, "1e-5")
    with pytest.raises(InputError, match="smallest_epsilon"):
        PlanResidueFilter(plan, least - D("0.001"), "1e-5")
    with pytest.raises(InputError, match="smallest_epsilon"):
        PlanResidueFilter(plan, least, "1e-5", reserve="0.1")


def test_slack_is_spent_by_unplanned_queries_only() -> None:
    """Each takes a share; when it is used up they are refused, and planned steps go on."""
    rule = PlanResidueFilter(((STEP, 400),), "1.6", "1e-5", "1e-7", 5)
    strange, planned = priced(PoissonSampled("0.01", Gaussian(2)), rule), priced(STEP, rule)
    assert strange.delta == rule.share == D("2e-8")
    assert fits(rule, rule.start(), strange) == 5
    answer = rule.admit(rule.start(), strange, 5)
    assert isinstance(answer, Admitted)
    refused = rule.admit(answer.state, strange)
    assert isinstance(refused, Refused)
    assert refused.code == "over_delta"
    assert fits(rule, answer.state, planned) == 395
    with pytest.raises(NoGuaranteeError, match="slack"):
        priced(Gaussian(20), PlanResidueFilter(((STEP, 400),), "1.6", "1e-5", 0))


def test_a_query_that_reveals_more_than_the_plan_has_no_price() -> None:
    """It is refused with a reason, whatever is left."""
    rule = PlanResidueFilter(((STEP, 100),), "1.2", "1e-5")
    with pytest.raises(NoGuaranteeError, match="more than all steps"):
        priced(Gaussian(1), rule)
    with pytest.raises(NotionError, match="does not have"):
        ResidueFilter("1", "1e-5").admit(ResidueFilter("1", "1e-5").start(), priced(STEP, rule))


STORED: list[Event] = [
    STEP,
    Gaussian(20),
    Repeated(OTHER, 50),
    PoissonSampled("0.02", Gaussian(1)),
    Composed((Laplace(40), Repeated(Gaussian(60), 3), STEP)),
    RandomizedResponse("0.05", "1e-9"),
]


@pytest.mark.parametrize("event", STORED, ids=lambda event: event.kind)
@pytest.mark.parametrize("rule", [training(), ResidueFilter("4", "1e-5", "1e-6", 100)], ids=lambda rule: rule.kind)
def test_a_stored_charge_is_proven_again_and_a_lower_one_is_not(event: Event, rule: Any) -> None:
    """The audit's certificate: each row satisfies the rule with the slack that was taken; a forged row does not."""
    price = priced(event, rule)
    parts = tuple(open_event(event).items())
    assert is_proven(parts, rule, price)
    rows = list(zip(price.parts, price.components, strict=True))
    for j in range(len(rows)):
        if rows[j] in rows[j + 1 :] or (price.charges[j] == 1 and price.components[j]):
            continue  # not the cheapest row, which is tight; or one step, than which there is nothing less
        less = price.charges[j] - 1 if price.components[j] else price.charges[j] * D("0.97")
        lower = (*price.charges[:j], less, *price.charges[j + 1 :])
        try:
            forged = ResiduePrice(
                price.counts, price.deltas, price.rhos, price.parts, price.components, price.levels, lower
            )
        except InputError:
            continue
        assert not is_proven(parts, rule, forged)
    idle = ResiduePrice(
        price.counts,
        price.deltas,
        tuple(rho / 2 for rho in price.rhos),
        price.parts,
        price.components,
        price.levels,
        price.charges,
    )
    assert not is_proven(parts, rule, idle)
    assert not is_proven(parts[:-1], rule, price)


def relaxed(rule: PlanResidueFilter, menu: list[tuple[Box, ResiduePrice]]) -> Rule[int]:
    """What the filter admits from a menu, by how many steps are left; slack is never used up."""

    def moves(spent: int) -> Iterable[tuple[Box, int]]:
        state = PlanResidueState(D(0), (D(spent),))
        for box, price in menu:
            answer = rule.admit(state, price)
            if isinstance(answer, Admitted):
                yield box, int(answer.state.steps[0])

    return Rule(0, moves)


@pytest.mark.parametrize(
    ("steps", "most", "menu"), [(60, "1", (1, 2, 3)), (25, "1.2", (1, 2, 4)), (120, "2", (1, 3, 5))]
)
def test_no_strategy_reaches_more_than_the_plan(steps: int, most: str, menu: tuple[int, ...]) -> None:
    """The optimal analyst, who leaves the plan whenever it pays, stays within delta at every epsilon."""
    base = Fraction(41, 40)
    up = {m: D(m * math.log(base)).quantize(D("1e-15")) + D("1e-15") for m in menu}
    rule = PlanResidueFilter(((RandomizedResponse(up[1]), steps),), most, "0.5", "1e-6", 1000)
    offers = [(randomized_response(base**m), priced(RandomizedResponse(up[m]), rule)) for m in menu]
    game = relaxed(rule, offers)
    assert any(price.charges[0] > 1 for _, price in offers)
    for epsilon in ("0", "0.3", "0.7", most):
        worst = worst_delta(game, base, epsilon)
        claim = rule.delta_at(epsilon)
        assert worst.upper <= claim
        assert worst.lower >= claim * D("0.9") - rule.slack


def test_charging_every_query_one_step_is_beaten() -> None:
    """Negative control: a plan whose strange queries cost one step, like its own, promises too little."""
    base = Fraction(41, 40)
    up = {m: D(m * math.log(base)).quantize(D("1e-15")) + D("1e-15") for m in (1, 3)}
    rule = PlanResidueFilter(((RandomizedResponse(up[1]), 60),), "1", "0.5", "1e-6", 1000)
    planned = priced(RandomizedResponse(up[1]), rule)
    flawed = relaxed(rule, [(randomized_response(base**m), planned) for m in (1, 3)])
    assert worst_delta(flawed, base, "0.3").lower > rule.delta_at("0.3")


def test_slack_is_traded_against_charges() -> None:
    """The more queries the slack must last for, the more each of them costs; with none there is nothing to trade."""
    rule = ResidueFilter("4", "1e-5", "1e-6")
    rows = slack_trade(OTHER, rule, relation="add_remove", queries=(1, 100, 10**7))
    assert [row.share for row in rows] == [D("1e-6"), D("1e-8"), D("1e-13")]
    first, second, last = (row.price for row in rows)
    assert first is not None
    assert second is not None
    assert first.levels[0] < second.levels[0]
    assert last is None or last.levels[0] > second.levels[0]
    assert first == loss_for(OTHER, rule, relation="add_remove", delta="1e-6")
    with pytest.raises(InputError, match="no slack"):
        slack_trade(OTHER, ResidueFilter("4", "1e-5", 0), relation="add_remove")


def test_the_largest_plan_fits_and_a_longer_one_does_not() -> None:
    """A plan in given proportions is as long as the target allows."""
    plan = ((Laplace(10), 30), (RandomizedResponse("0.05"), 60))
    rule = PlanResidueFilter.largest(plan, "1", "1e-5")
    (_, first), (_, second) = rule.plan
    assert 2 * first - 1 <= second <= 2 * first + 1
    assert rule.delta_at(1) <= rule.delta
    with pytest.raises(InputError, match="smallest_epsilon"):
        PlanResidueFilter(((Laplace(10), first + 1), (RandomizedResponse("0.05"), second + 2)), "1", "1e-5")
    with pytest.raises(NoGuaranteeError, match="not even one step"):
        PlanResidueFilter.largest(((Laplace(1), 3),), "0.01", "1e-5")
    assert rule.whole_time > 0


@pytest.mark.parametrize("reserve", ["0.0001", "0.04", "1"])
def test_the_reserve_is_part_of_the_promise(reserve: str) -> None:
    """Plan and reserve together are composed tightly: never below the accountant's answer, and within 2 %."""
    plan = ((Laplace(10), 30), (OTHER, 50))
    rule = PlanResidueFilter(plan, "8", "1e-4", 0, reserve=reserve)
    accountant = Accountant()
    for event, many in plan:
        accountant.append(event, many)
    accountant.append(GaussianLaw(Fraction(reserve)))
    for epsilon in ("0", "0.5", "1.5", "3", "5"):
        tight = accountant.delta(epsilon)
        assert tight.lower <= rule.delta_at(epsilon) <= tight.upper * D("1.02") + D("1e-12")
