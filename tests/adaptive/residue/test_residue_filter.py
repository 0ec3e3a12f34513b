"""The Gaussian residue filter as a filter: how much it admits, what it says, and that it folds exactly."""

from decimal import Decimal
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adaptive.residue import reference as ref

from dosimeter.accounting import loss_for
from dosimeter.adaptive.filters import (
    Admitted,
    ApproxFilter,
    GDPFilter,
    Refused,
    ResidueFilter,
    ResidueState,
    filter_from_json,
    filter_to_json,
    fits,
)
from dosimeter.errors import InputError, NotionError
from dosimeter.events import (
    Composed,
    Event,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Repeated,
    loss_from_json,
    loss_to_json,
)
from dosimeter.exact import brief_down
from dosimeter.notions import ApproxDP, ResiduePrice

D = Decimal
FILTER = ResidueFilter("1", "1e-6")
EVENTS: tuple[Event, ...] = (
    RandomizedResponse("0.05"),
    RandomizedResponse("0.02", "1e-10"),
    Laplace(25),
    Gaussian(30),
    Repeated(RandomizedResponse("0.01"), 40),
    Composed((Gaussian(40), Repeated(Laplace(60), 3), RandomizedResponse("0.03", "1e-11"))),
)


def price(event: Event) -> ResiduePrice:
    """The list of an event, which no budget changes."""
    found = loss_for(event, FILTER)
    assert isinstance(found, ResiduePrice)
    return found


@pytest.mark.parametrize(
    ("epsilon", "delta", "step", "least", "optimum"), [("1", "1e-6", "0.01", 556, 562), ("2", "1e-5", "0.02", 625, 632)]
)
def test_how_many_pure_queries_fit(epsilon: str, delta: str, step: str, least: int, optimum: int) -> None:
    """Nearly as many as optimal composition would allow a plan fixed in advance, and far more than the default."""
    residue, default = ResidueFilter(epsilon, delta), ApproxFilter(epsilon, delta)
    event = RandomizedResponse(step)
    many = fits(residue, residue.start(), loss_for(event, residue))
    assert least <= many <= optimum
    assert fits(default, default.start(), loss_for(event, default)) < many * 0.9
    laplace = fits(residue, residue.start(), loss_for(Laplace(1 / D(step)), residue))
    assert many < laplace <= optimum + 10  # Laplace noise reveals less than the worst pure mechanism


def test_gaussian_noise_fits_as_often_as_in_gaussian_dp() -> None:
    """With the same budget and no slack, squares of mu are added as in the filter for Gaussian DP."""
    residue = ResidueFilter("1", "1e-6", 0)
    gdp = GDPFilter(D(residue.remaining(residue.start())["largest_mu"]))
    for sigma in (5, 17, 60):
        query = Gaussian(sigma)
        many = fits(gdp, gdp.start(), loss_for(query, gdp))
        assert fits(residue, residue.start(), loss_for(query, residue)) == many


def test_the_budget_is_the_largest_that_keeps_the_promise() -> None:
    """The profile of the budget, with the slack, is delta at epsilon, and no more; it is known at every epsilon."""
    for epsilon, delta, slack in [
        ("1", "1e-6", None),
        ("0.1", "1e-9", "5e-10"),
        ("8", "0.01", "0"),
        ("1e-3", "1e-5", "1e-6"),
    ]:
        built = ResidueFilter(epsilon, delta, slack)
        with mp.workdps(50):
            b, e, d = ref.number(built.capacity), ref.number(epsilon), ref.number(delta)
            own = ref.gaussian(b, e) + ref.number(built.slack)
            assert own <= d
            assert ref.gaussian(b * (1 + mp.mpf("1e-20")), e) + ref.number(built.slack) > d
        assert built.guarantee() == ApproxDP(epsilon, delta)
        assert built.delta_at(epsilon) <= D(delta)
        assert built.delta_at(2 * D(epsilon)) < built.delta_at(epsilon) < built.delta_at(0)
    assert ResidueFilter("1", "1e-6").slack == D("1e-8")
    assert ResidueFilter("1", "1e-6", "1e-7", 50).share == D("2e-9")


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), max_size=8), st.sampled_from(EVENTS), st.integers(1, 300))
def test_many_at_once_are_the_loop(history: list[Event], event: Event, many: int) -> None:
    """So many equal queries decided together are admitted exactly when the loop admits each, with the same state."""
    state = FILTER.start()
    for earlier in history:
        answer = FILTER.admit(state, price(earlier))
        state = answer.state if isinstance(answer, Admitted) else state
    single: ResidueState | None = state
    for _ in range(many):
        assert single is not None
        answer = FILTER.admit(single, price(event))
        single = answer.state if isinstance(answer, Admitted) else None
        if single is None:
            break
    together = FILTER.admit(state, price(event), many)
    assert (together.state if isinstance(together, Admitted) else None) == single
    longest = fits(FILTER, state, price(event))
    assert (many <= longest) == (single is not None)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=12), st.integers(0, 12))
def test_stopped_and_resumed_equals_run_straight_through(history: list[Event], cut: int) -> None:
    """State, filter and price lists survive JSON to the last digit."""

    def play(rule: Any, state: Any, events: list[Event]) -> Any:
        for event in events:
            answer = rule.admit(state, loss_from_json(loss_to_json(price(event))))
            state = answer.state if isinstance(answer, Admitted) else state
        return state

    again = filter_from_json(filter_to_json(FILTER))
    assert again == FILTER
    half = FILTER.state_to_json(play(FILTER, FILTER.start(), history[:cut]))
    assert play(again, again.state_from_json(half), history[cut:]) == play(FILTER, FILTER.start(), history)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), max_size=20), st.sampled_from(EVENTS))
def test_the_less_is_left_the_more_a_query_costs(history: list[Event], event: Event) -> None:
    """The charge of a query never falls while the budget does, and never exceeds what is left."""
    state, before = FILTER.start(), D(0)
    for earlier in history:
        answer = FILTER.admit(state, price(event))
        if isinstance(answer, Admitted):
            charge = answer.state.mu_squared - state.mu_squared
            assert charge >= before
            before = charge
        else:
            before = D("Infinity")
        answer = FILTER.admit(state, price(earlier))
        state = answer.state if isinstance(answer, Admitted) else state
        assert state.mu_squared <= FILTER.capacity


def test_a_refusal_says_what_would_fit() -> None:
    """The largest pure query and the largest Gaussian one that it names are admitted; slightly larger ones are not."""
    state = FILTER.start()
    while isinstance(answer := FILTER.admit(state, price(RandomizedResponse("0.05"))), Admitted):
        state = answer.state
    assert answer.code == "over_budget"
    assert answer.exceeded == ("mu_squared",)
    largest, mu = D(answer.remaining["largest_epsilon"]), D(answer.remaining["largest_mu"])
    assert D("0.01") < largest < D("0.05")
    assert isinstance(FILTER.admit(state, price(RandomizedResponse(largest))), Admitted)
    assert isinstance(FILTER.admit(state, price(RandomizedResponse(largest * D("1.0000001")))), Refused)
    assert isinstance(FILTER.admit(state, price(Gaussian(1 / (mu * D("0.9999999"))))), Admitted)
    assert isinstance(FILTER.admit(state, price(Gaussian(1 / (mu * D("1.0000001"))))), Refused)
    words = f"ask with more noise: Gaussian noise of mu {brief_down(mu)} fits, or a pure query of epsilon "
    assert answer.message().endswith(words + brief_down(largest))


def test_slack_is_a_budget_of_its_own() -> None:
    """Declared failures are refused once the slack is used up, and pure queries go on."""
    tight = ResidueFilter("1", "1e-6", "1e-8")
    risky, pure = price(RandomizedResponse("0.001", "4e-9")), price(RandomizedResponse("0.001"))
    state = tight.start()
    for _ in range(2):
        answer = tight.admit(state, risky)
        assert isinstance(answer, Admitted)
        state = answer.state
    refused = tight.admit(state, risky)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.exceeded, refused.remaining["delta"]) == ("over_delta", ("delta",), "2e-9")
    assert isinstance(tight.admit(state, pure), Admitted)
    none = ResidueFilter("1", "1e-6", 0)
    assert isinstance(none.admit(none.start(), risky), Refused)


def test_only_price_lists_of_its_own_budget_are_charged() -> None:
    """Numbers of other notions, and lists that charge a component this budget does not have, raise NotionError."""
    with pytest.raises(NotionError, match="no conversion"):
        FILTER.admit(FILTER.start(), ApproxDP("0.1"))
    foreign = ResiduePrice((1,), (0,), (0,), (0,), (1,), (1,), (1,))  # type: ignore[arg-type]
    with pytest.raises(NotionError, match="does not have"):
        FILTER.admit(FILTER.start(), foreign)


@pytest.mark.parametrize(
    "fields",
    [
        {"counts": ("1.5",)},
        {"counts": (0,)},
        {"deltas": ("-1",)},
        {"deltas": ("2",)},
        {"rhos": ("NaN",)},
        {"parts": (1,)},
        {"levels": (1,)},
        {"charges": (3,)},
        {"charges": ("-1",)},
        {"levels": (1, 2), "charges": (1, 1), "parts": (0, 0), "components": (0, 0)},
        {"levels": (2, 1), "charges": (2, 1), "parts": (0, 0), "components": (0, 0)},
        {"levels": 2},
        {"components": ("0.5",)},
    ],
)
def test_a_list_that_makes_no_sense_cannot_be_built(fields: dict[str, Any]) -> None:
    """Negative, unordered, incomplete or oversized entries are refused."""
    sound: dict[str, Any] = dict.fromkeys(("counts", "deltas", "rhos", "parts", "components"), (0,))
    sound |= {"counts": (1,), "levels": (2,), "charges": (2,)}
    assert ResiduePrice(**sound).delta == 0
    if fields == {"levels": (1,)}:
        fields = {"levels": (1,), "charges": ("1.1",)}
    with pytest.raises(InputError):
        ResiduePrice(**(sound | fields))


def test_an_audit_accepts_what_charges_at_least_as_much() -> None:
    """A stored list covers today's price when at every level it charges no less and takes no less slack."""
    cheap, dear = price(RandomizedResponse("0.01")), price(RandomizedResponse("0.02"))
    assert cheap.covers(cheap)
    assert dear.covers(cheap)
    assert not cheap.covers(dear)
    assert not cheap.covers(price(RandomizedResponse("0.01", "1e-12")))
    assert not price(Repeated(RandomizedResponse("0.01"), 2)).covers(cheap)
    one_row = ResiduePrice((1,), (0,), cheap.rhos, (0,), (0,), cheap.levels[:1], cheap.charges[:1])  # type: ignore[arg-type]
    assert one_row.covers(cheap)
    assert not cheap.covers(one_row)
    assert not cheap.covers(ApproxDP("0.1"))
