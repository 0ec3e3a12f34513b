"""The menu filter: the largest budget of a declared menu, its certificate, and what is not on the menu."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting import loss_for
from dosimeter.adaptive.adversary import Menu, Offer, worst_delta
from dosimeter.adaptive.filters import (
    Admitted,
    MenuFilter,
    Refused,
    filter_from_json,
    filter_to_json,
    fits,
)
from dosimeter.adaptive.filters.images import is_image, runs_covering
from dosimeter.adaptive.filters.menu import LARGEST_UNITS, proportional
from dosimeter.adaptive.game import budget_rule, randomized_response
from dosimeter.adaptive.game import worst_delta as solved_elsewhere
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    Declared,
    DeclaredPair,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
)
from dosimeter.notions import GDP, ZCDP, ApproxDP, MenuPrice, PureDP
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.events import laws_of

D, F = Decimal, Fraction
PURE = Menu.responses("0.01", (1, 2, 5))
NOISE = Menu((Offer(Gaussian(50), 1), Offer(Laplace(20), 6)))
SMALL = MenuFilter("1", "1e-3", Menu.responses("0.1", (1, 2)))


# --- the budget


@pytest.mark.parametrize(("menu", "units"), [(PURE, 556), (NOISE, 137)], ids=["pure", "noise"])
def test_the_budget_is_the_largest_one(menu: Menu, units: int) -> None:
    """Known budgets at (1, 1e-6): they keep the promise, and the lower end of one unit more does not or is close."""
    filter_ = MenuFilter("1", "1e-6", menu)
    assert filter_.units == units
    assert worst_delta(menu, units, "1").upper == filter_.value <= D("1e-6")
    assert worst_delta(menu, units + 1, "1").upper > D("1e-6")
    with pytest.raises(InputError, match="above 1e-6; leave units out"):
        MenuFilter("1", "1e-6", menu, units + 1)
    assert filter_.delta_at("1") == filter_.value
    assert filter_.delta_at("0.5") > filter_.value > filter_.delta_at("1.5") >= 0


def test_a_menu_of_gaussian_noise_alone_loses_nothing_to_adaptivity() -> None:
    """At (1, 1e-6) noise of multiplier 50 fits 140 times in a fixed plan, and on a menu with a lattice that is fine."""
    filter_ = MenuFilter("1", "1e-6", Menu((Offer(Gaussian(50), 1),), F(1, 2000)))
    whole, more = Accountant(), Accountant()
    whole.append(Gaussian(50), 140)
    more.append(Gaussian(50), 141)
    assert whole.delta("1").upper <= D("1e-6") < more.delta("1").lower
    assert fits(filter_, filter_.start(), loss_for(Gaussian(50), filter_)) == 140


def test_both_directions_are_looked_at() -> None:
    """A sampled response reveals more when a record is removed; the value is that direction's, by another solver."""
    odds, rate = F(3), F(1, 4)
    event = PoissonSampled("0.25", RandomizedResponse(D(3).ln()))
    filter_ = MenuFilter("0.5", "0.2", Menu((Offer(event, 1),), F(1, 1000)), 3)
    p, q = odds / (1 + odds), 1 / (1 + odds)
    with_, without = (rate * p + (1 - rate) * q, rate * q + (1 - rate) * p), (q, p)
    deltas = []
    for a, b in ((with_, without), (without, with_)):
        runs: list[tuple[F, F]] = [(F(1), F(1))]
        for _ in range(3):
            runs = [(x * s, y * t) for x, y in runs for s, t in zip(a, b, strict=True)]
        deltas.append(sum(max(0.0, float(x) - 2.718281828459045**0.5 * float(y)) for x, y in runs))
    assert deltas[0] > 1.2 * deltas[1]
    assert deltas[0] <= float(filter_.value) <= deltas[0] * 1.02


def test_a_zero_epsilon_and_a_hopeless_promise() -> None:
    """Epsilon may be 0; where not even the cheapest entry fits, opening says so."""
    assert MenuFilter(0, "0.5", Menu((Offer(RandomizedResponse("0.1"), 1),))).units >= 1
    with pytest.raises(NoGuaranteeError, match="the cost of the cheapest entry"):
        MenuFilter("1", "1e-6", Menu((Offer(RandomizedResponse("0.01"), 1), Offer(RandomizedResponse("5"), 1))))


@pytest.mark.parametrize(
    "menu",
    [
        Menu((Offer(Gaussian(50), 1),), F(1, 10**9)),  # the lattice of one mechanism has too many points
        Menu((Offer(Gaussian(1), 10**6),), F(1, 1000)),  # so many arrays would have to be kept
        Menu(tuple(Offer(Gaussian(1000 + i), 1) for i in range(100)), F(1, 10**5)),  # would take hours
        Menu((Offer(RandomizedResponse("1e-9"), 1), Offer(RandomizedResponse("9"), 10**6))),
    ],
)
def test_a_game_too_large_to_be_solved_is_refused_at_once(menu: Menu) -> None:
    """One sentence says why and what to change; nothing runs for minutes first."""
    with pytest.raises((InputError, NoGuaranteeError), match=r"larger step|fewer|more noise|smaller costs"):
        MenuFilter("1", "1e-6", menu)


def test_a_budget_that_would_be_too_long_is_the_steward_s_to_choose() -> None:
    """Where more than 100,000 units would be safe, nothing is cut off silently; a chosen budget is checked."""
    tiny = Menu((Offer(RandomizedResponse("0.0004"), 1),))
    with pytest.raises(InputError, match="say units=100000"):
        MenuFilter("1", "1e-6", tiny)
    assert MenuFilter("1", "1e-6", tiny, 2_000).value < D("1e-30")


def test_costs_in_proportion_are_whole_and_fair() -> None:
    """Costs follow intrinsic time to two per cent; sizes that differ too much are the steward's to price."""
    menu = proportional([RandomizedResponse("0.01"), RandomizedResponse("0.02"), RandomizedResponse("0.05")])
    assert menu.costs == (1, 4, 25)
    costs = dict(zip([Gaussian(20), Laplace(50)], proportional([Gaussian(20), Laplace(50)]).costs, strict=True))
    assert costs[Gaussian(20)] / costs[Laplace(50)] == pytest.approx(20**-2 / 50**-2, rel=0.03)
    assert MenuFilter.of("1", "1e-6", [Gaussian(20)]).units == 22
    for hopeless in ([], [RandomizedResponse("0.001"), RandomizedResponse(1)]):
        with pytest.raises(InputError):
            proportional(hopeless)


TABLE: list[tuple[str, int, tuple[int, ...], dict[str, str]]] = [
    ("0.1", 100, (1,), {"1e-3": "3.11555946", "1e-5": "4.30679137", "1e-7": "5.19216326"}),
    ("0.1", 100, (1, 2, 3, 4, 5, 10), {"1e-3": "3.17793884", "1e-5": "4.34550690", "1e-7": "5.23737565"}),
    ("0.1", 100, (2, 5), {"1e-3": "2.99525099", "1e-5": "4.08228518", "1e-7": "4.62597543"}),
    ("0.1", 25, (1, 2, 3, 5), {"1e-3": "1.34241118", "1e-5": "1.87872578", "1e-7": "2.26480614"}),
    ("0.05", 400, (1, 2, 4, 10, 20), {"1e-3": "3.18529134", "1e-5": "4.39404730", "1e-7": "5.34456184"}),
]


@pytest.mark.parametrize(("step", "units", "sizes", "known"), TABLE, ids=[str(row[:3]) for row in TABLE])
def test_known_worst_cases_are_where_budgets_change(
    step: str, units: int, sizes: tuple[int, ...], known: dict[str, str]
) -> None:
    """At an epsilon just above the known worst case of a menu its filter has those units, just below it fewer."""
    menu = Menu.responses(step, sizes)
    for delta, epsilon in known.items():
        assert MenuFilter(D(epsilon) + D("1e-7"), delta, menu).units >= units
        below = MenuFilter(D(epsilon) - D("1e-7"), delta, menu)
        assert below.units < units
        with pytest.raises(InputError, match="worst case"):
            MenuFilter(below.epsilon, delta, menu, units)


def _best_play(pairs: list[Any], costs: list[int], units: int, odds: float) -> float:
    """The largest delta by trying every strategy: all choices after all histories, without any lattice."""

    def value(left: int, p: float, q: float) -> float:
        stopped = max(0.0, p - odds * q)
        played = (
            sum(value(left - cost, p * float(x), q * float(y)) for x, y in zip(*pair, strict=True))
            for pair, cost in zip(pairs, costs, strict=True)
            if cost <= left
        )
        return max([stopped, *played])

    return value(units, 1.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_strategy_whatever_passes_the_value(data: st.DataObject) -> None:
    """Random pairs, lopsided and failing ones, at random costs: every strategy tried, in both directions."""
    pairs, costs = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        weights = data.draw(
            st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=3).filter(
                lambda found: sum(a for a, _ in found) > 0 and len({F(a, b) for a, b in found}) > 1
            )
        )
        columns = list(zip(*weights, strict=True))
        both = [tuple(F(w, sum(column)) for w in column) for column in columns]
        pairs.append(both if data.draw(st.booleans()) else both[::-1])
        costs.append(data.draw(st.integers(1, 3)))
    units = data.draw(st.integers(1, 5))
    epsilon = data.draw(st.sampled_from([0.0, 0.3, 1.0, 2.0]))
    offers = {(DeclaredPair(*pair, "a test")): cost for pair, cost in zip(pairs, costs, strict=True)}
    menu = Menu(tuple(Offer(event, cost) for event, cost in offers.items()), F(1, 100))
    asked = [(event.with_record, event.without_record) for event in offers]
    reached = max(
        _best_play([pair[::way] for pair in asked], list(offers.values()), units, math.exp(epsilon)) for way in (1, -1)
    )
    value = MenuFilter(epsilon, "0.9999", menu, units, "0.9999", trusted=True).delta_at(epsilon)
    assert float(value) >= reached * (1 - 1e-12)
    assert float(value) <= reached * 1.1 + 1e-3


# --- what is not on the menu


COVERED: list[tuple[Event, Event, int]] = [
    (Gaussian(50), Gaussian(50), 1),
    (Gaussian(sigma=100, l2_sensitivity=2), Gaussian(50), 1),
    (Gaussian(70), Gaussian(50), 1),
    (Gaussian(25), Gaussian(50), 4),
    (Gaussian(24), Gaussian(50), 5),
    (Laplace(25), Laplace(20), 1),
    (Laplace(20), RandomizedResponse("0.05"), 1),
    (DiscreteLaplace(20), RandomizedResponse("0.05"), 1),
    (RandomizedResponse("0.05"), RandomizedResponse("0.06"), 1),
    (RandomizedResponse("0.05", "1e-9"), RandomizedResponse("0.06", "2e-9"), 1),
    (RandomizedResponse("0.02"), Gaussian(25), 1),
    (Laplace(40), Gaussian(25), 1),
    (RandomizedResponse("0.02"), Gaussian(50), 2),
    (DiscreteLaplace(10), Gaussian(50), 40),
    (PoissonSampled("0.1", Gaussian(2)), PoissonSampled("0.2", Gaussian(1)), 1),
    (PoissonSampled("0.1", Laplace(2)), PoissonSampled("0.1", RandomizedResponse("0.5")), 1),
    (PoissonSampled("0.1", RandomizedResponse("0.5")), RandomizedResponse("0.07"), 1),
]
NOT_COVERED: list[tuple[Event, Event]] = [
    (Laplace(19), Laplace(20)),
    (RandomizedResponse("0.05"), Laplace(20)),  # the other way round
    (DiscreteLaplace(20), Laplace(20)),
    (DiscreteGaussian(100), Gaussian(50)),
    (DiscreteGaussian(100), DiscreteGaussian(50)),
    (Gaussian(100), RandomizedResponse("1")),
    (RandomizedResponse("0.05", "1e-9"), RandomizedResponse("0.06")),
    (RandomizedResponse("0.05", "1e-9"), Gaussian(2)),
    (PoissonSampled("0.2", Gaussian(2)), PoissonSampled("0.1", Gaussian(1))),
    (PoissonSampled("0.1", Gaussian(1)), PoissonSampled("0.2", Gaussian(2))),
    (PoissonSampled("0.1", Gaussian(1)), Gaussian(9)),
]


def law(event: Event) -> Any:
    """The one law of an event."""
    ((found, count),) = laws_of(event)
    assert count == 1
    return found


@pytest.mark.parametrize(("event", "entry", "runs"), COVERED, ids=str)
def test_what_is_covered_reveals_no_more_at_any_epsilon(event: Event, entry: Event, runs: int) -> None:
    """The divergence of the event is at most that of so many runs of the entry, at real epsilons in both directions."""
    assert runs_covering(law(event), law(entry)) == runs
    one, many = Accountant(), Accountant()
    one.append(event, 1)
    many.append(entry, runs)
    for direction in ("remove", "add"):
        for epsilon in ("-0.2", "-0.03", "0", "0.01", "0.04", "0.1", "0.3"):
            asked, paid = (a.delta(epsilon, direction=direction) for a in (one, many))
            assert asked.lower <= paid.upper
    if runs > 1:
        fewer = Accountant()
        fewer.append(entry, runs - 1)
        assert fewer.delta("0.01").upper < one.delta("0.01").lower


@pytest.mark.parametrize(("event", "entry"), NOT_COVERED, ids=str)
def test_what_no_theorem_covers_is_not_covered(event: Event, entry: Event) -> None:
    """Looking alike is no theorem."""
    assert runs_covering(law(event), law(entry)) is None
    assert not is_image(law(event), law(entry))


def test_an_event_is_charged_as_the_cheapest_entry_that_covers_it() -> None:
    """Prices in units, by hand; an event of several releases adds up."""
    filter_ = MenuFilter("1", "1e-6", NOISE)
    charged = {
        Gaussian(50): 1,
        Gaussian(60): 1,
        Gaussian(30): 3,
        Laplace(20): 6,
        Laplace(100): 1,  # an image of the Gaussian entry
        Laplace(10): 40,  # of forty runs of it
        RandomizedResponse("0.05"): 10,  # reveals more than Laplace noise of the same epsilon
        DiscreteLaplace(20): 10,
        Repeated(Laplace(20), 3): 18,
        Composed((Gaussian(50), Laplace(20))): 7,
        Declared(PureDP("0.01"), "a proof"): 1,
        Declared(GDP("0.04"), "a proof"): 4,
        Declared(PureDP(0), "it reveals nothing"): 0,
    }
    for event, units in charged.items():
        price = loss_for(event, filter_)
        assert isinstance(price, MenuPrice)
        assert price.units == units


@pytest.mark.parametrize(
    "event",
    [
        RandomizedResponse(200),
        DiscreteGaussian(500),
        RandomizedResponse("0.001", "1e-9"),
        Declared(ZCDP("1e-9"), "a proof"),
        Declared(ApproxDP("1e-9", "1e-30"), "a proof"),
        Composed((Gaussian(50), DiscreteGaussian(500))),
    ],
    ids=str,
)
def test_what_nothing_covers_is_refused_with_the_menu(event: Event) -> None:
    """The reason names the entries."""
    with pytest.raises(NoGuaranteeError, match="menu"):
        loss_for(event, MenuFilter("1", "1e-6", NOISE))


def test_units_mean_nothing_without_a_menu() -> None:
    """A price needs the account's filter; and units are no loss of another notion."""

    class Bare:
        notion = "menu"

    with pytest.raises(NoGuaranteeError, match="account with a menu"):
        loss_for(Gaussian(50), Bare())
    with pytest.raises(NotionError):
        SMALL.admit(SMALL.start(), ZCDP("0.01"))
    with pytest.raises(InputError):
        MenuPrice.of("1.5")  # type: ignore[arg-type]


def test_an_analyst_who_asks_beside_the_menu_gains_nothing() -> None:
    """Boxes of other sizes, charged as the entries that cover them, keep the promise against the optimal analyst."""
    base = F(11, 10)
    from dosimeter.enclosure import ball, enclose, up

    step = up(enclose(lambda: ball(base).log()))
    filter_ = MenuFilter("1", "0.01", Menu.responses(step, (2, 5)))
    boxes = [
        (randomized_response(base**j), (int(loss_for(RandomizedResponse(step * j), filter_).units),))  # type: ignore[union-attr]
        for j in (1, 2, 3, 4, 5)
    ]
    assert [cost for _, (cost,) in boxes] == [4, 4, 25, 25, 25]
    assert solved_elsewhere(budget_rule(boxes, (filter_.units,)), base, "1").upper <= filter_.delta
    undercharged = [(box, (4,)) for box, _ in boxes]  # the control: everything at the price of the small entry
    assert solved_elsewhere(budget_rule(undercharged, (filter_.units,)), base, "1").lower > filter_.delta


def test_equal_queries_at_once_and_one_by_one() -> None:
    """The budget is filled to the unit, a refusal changes nothing, and what costs nothing is always admitted."""
    price, dear = loss_for(RandomizedResponse("0.1"), SMALL), loss_for(RandomizedResponse("0.2"), SMALL)
    state = SMALL.start()
    for _ in range(SMALL.units - 3):
        answer = SMALL.admit(state, price)
        assert isinstance(answer, Admitted)
        state = answer.state
    assert SMALL.admit(SMALL.start(), price, SMALL.units - 3) == Admitted(state)
    refused = SMALL.admit(state, dear)
    assert isinstance(refused, Refused)
    assert (refused.requested["units"], refused.remaining["units"]) == ("4", "3")
    last = SMALL.admit(state, price, 3)
    assert isinstance(last, Admitted)
    assert isinstance(SMALL.admit(last.state, price), Refused)
    assert SMALL.admit(last.state, MenuPrice.of(0)) == Admitted(last.state)
    assert isinstance(SMALL.admit(SMALL.start(), price.repeat(10**9), 10**9), Refused)  # and no error


# --- the certificate


def test_it_is_read_back_and_verified() -> None:
    """JSON and back is the same filter; reading computes nothing, verifying computes the certificate again."""
    for filter_ in (SMALL, MenuFilter("1", "1e-6", NOISE)):
        data = json.loads(json.dumps(filter_to_json(filter_)))
        again = filter_from_json(data)
        assert again == filter_
        assert hash(again) == hash(filter_)
        again.verify()  # type: ignore[union-attr]


def _altered(change: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(MenuFilter("1", "1e-6", NOISE).to_json()))
    change(data)
    return data


ALTERED: dict[str, Any] = {
    "one unit more": lambda d: d.update(units=138),
    "one unit less": lambda d: d.update(units=136),
    "a smaller epsilon": lambda d: d.update(epsilon="0.99"),
    "a larger epsilon": lambda d: d.update(epsilon="1.01"),
    "a smaller delta": lambda d: d.update(delta="9e-7"),
    "a smaller value": lambda d: d.update(value="9e-7"),
    "a larger value": lambda d: d.update(value="9.4e-7"),
    "no value": lambda d: d.update(value="0"),
    "a cheaper entry": lambda d: d["menu"]["offers"][1].update(cost=5),
    "a dearer entry": lambda d: d["menu"]["offers"][1].update(cost=7),
    "another lattice": lambda d: d["menu"].update(step="1/390"),
    "more noise": lambda d: d["menu"]["offers"][0]["event"].update(sigma="51"),
    "less noise": lambda d: d["menu"]["offers"][0]["event"].update(sigma="49"),
    "one entry less": lambda d: d["menu"]["offers"].pop(),
    "one entry more": lambda d: d["menu"]["offers"].append(
        {"event": d["menu"]["offers"][0]["event"] | {"sigma": "9"}, "cost": 1}
    ),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_certificate_is_refused(name: str) -> None:
    """Whatever field of it was changed, recomputing it finds out."""
    data = _altered(ALTERED[name])
    with pytest.raises(InputError):
        filter_from_json(data).verify()  # type: ignore[union-attr]


def test_a_larger_delta_is_a_weaker_promise_and_still_true() -> None:
    """The one field whose change verification need not mind; the account's chain of records does."""
    filter_from_json(_altered(lambda d: d.update(delta="2e-6"))).verify()  # type: ignore[union-attr]


MALFORMED: dict[str, Any] = {
    "units as text": lambda d: d.update(units="137"),
    "units as a float": lambda d: d.update(units=137.0),
    "units as true": lambda d: d.update(units=True),
    "no units": lambda d: d.update(units=0),
    "too many units": lambda d: d.update(units=LARGEST_UNITS + 1),
    "another spelling": lambda d: d.update(epsilon="1.0"),
    "a number": lambda d: d.update(delta=1e-6),
    "not a number": lambda d: d.update(value="NaN"),
    "a value above one": lambda d: d.update(value="2"),
    "a list": lambda d: d.update(value=["1"]),
    "no menu": lambda d: d.update(menu=None),
    "an empty menu": lambda d: d["menu"].update(offers=[]),
    "a step of nothing": lambda d: d["menu"].update(step="1/0"),
    "a negative step": lambda d: d["menu"].update(step="-1/400"),
    "another step's spelling": lambda d: d["menu"].update(step="2/800"),
    "a step as a number": lambda d: d["menu"].update(step=0.0025),
    "a cost of nothing": lambda d: d["menu"]["offers"][0].update(cost=0),
    "a cost as true": lambda d: d["menu"]["offers"][0].update(cost=True),
    "a cost as a float": lambda d: d["menu"]["offers"][0].update(cost=1.0),
    "a twin": lambda d: d["menu"]["offers"].append(d["menu"]["offers"][0]),
    "an unknown event": lambda d: d["menu"]["offers"][0].update(event={"kind": "magic"}),
    "an event of several releases": lambda d: d["menu"]["offers"][0].update(
        event={"kind": "repeated", "event": d["menu"]["offers"][0]["event"], "count": 2}
    ),
    "an entry without a cost": lambda d: d["menu"]["offers"][0].pop("cost"),
    "a field less": lambda d: d.pop("value"),
    "a field more": lambda d: d.update(rule="1"),
    "another kind": lambda d: d.update(kind="menus"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_filter_is_refused(name: str) -> None:
    """Nothing that `to_json` did not write is read."""
    with pytest.raises((InputError, NoGuaranteeError)):
        filter_from_json(_altered(MALFORMED[name]))


@pytest.mark.parametrize("bad", ["menu", None, PURE.offers, 1])
def test_a_menu_is_a_menu(bad: Any) -> None:
    """Anything else is refused with a reason."""
    with pytest.raises(InputError, match="is not a Menu"):
        MenuFilter("1", "1e-6", bad)


# --- odometers


def test_the_clock_and_the_failures_of_a_whole_budget() -> None:
    """The most intrinsic time and failure that the units can buy, entry by entry."""
    offers = (Offer(RandomizedResponse("0.1"), 1), Offer(RandomizedResponse("0.2", "1e-7"), 5))
    filter_ = MenuFilter("1", "1e-5", Menu(offers))
    assert filter_.failures == D("1e-7") * (filter_.units // 5)
    assert float(filter_.whole_time) == pytest.approx(filter_.units * 2 * 0.1 * 0.0499583749, rel=1e-6)
    state = filter_.start()
    answer = filter_.admit(state, loss_for(offers[1].event, filter_), filter_.units // 5)
    assert isinstance(answer, Admitted)
    assert answer.state.delta == filter_.failures
    assert answer.state.intrinsic_time <= filter_.whole_time
