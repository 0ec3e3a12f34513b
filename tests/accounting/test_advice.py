"""Which filter to open: every kind is offered, every offer keeps the promise, every count is what the filter admits."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting import advice as room
from dosimeter.accounting.advice import Advice, Offer, Sketch, Target, advise, losses_for, offer
from dosimeter.accounting.advice.openings import COMPARISON_ONLY, DECLARED_IN_ADVANCE, OPENINGS, PREFERENCE
from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import FILTERS
from dosimeter.errors import InputError, NotionError
from dosimeter.events import Declared, Event, Gaussian, Laplace, PoissonSampled, RandomizedResponse
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.convert import gdp_to_approx, pure_to_gdp, pure_to_zcdp, rdp_to_approx, zcdp_to_approx

D = Decimal
SMALL = RandomizedResponse("0.01")
TARGETS = [Target("1", "1e-6"), Target("0.5"), Target("3", "1e-5"), Target(mu="0.7"), Target(rho="0.2")]


def numbers(target: Target, *parts: tuple[Event, int]) -> dict[str, int]:
    """How many queries each kind admits."""
    return {one.kind: one.admitted for one in advise(target, Sketch.of(parts)).offers}


def keeps(guarantee: Any, target: Target, profile: Any = None) -> bool:
    """Whether a guarantee implies a target, by a conversion that the opening does not use."""
    if target.epsilon is not None:
        if isinstance(guarantee, PureDP):
            return guarantee.epsilon <= target.epsilon
        if isinstance(guarantee, ApproxDP):
            return guarantee.epsilon <= target.epsilon and guarantee.delta <= target.delta
        to = {ZCDP: zcdp_to_approx, GDP: gdp_to_approx, RDP: rdp_to_approx}[type(guarantee)]
        return bool(to(guarantee, target_epsilon=target.epsilon).delta <= target.delta * (1 + D("1e-12")))
    if profile is not None:  # a Gaussian pair stands for the whole run
        return bool(profile <= (target.mu**2 if target.mu is not None else 2 * (target.rho or 0)))
    if target.mu is not None:
        mu = pure_to_gdp(guarantee).mu if isinstance(guarantee, PureDP) else guarantee.mu
        return bool(mu <= target.mu * (1 + D("1e-12")))
    rho = guarantee.mu**2 / 2 if isinstance(guarantee, GDP) else None
    rho = pure_to_zcdp(guarantee).rho if isinstance(guarantee, PureDP) else rho
    return bool((rho if rho is not None else guarantee.rho) <= (target.rho or 0) * (1 + D("1e-12")))


# --- every kind, generically


def missing_kinds(advice: Advice) -> set[str]:
    """Registered kinds that the advice knows no way to open."""
    known = {one.kind for one in advice.offers if "not known" not in one.reason}
    return set(FILTERS) - known


def test_every_registered_kind_is_offered() -> None:
    """Adding a filter without saying how it is opened for a target fails here."""
    assert set(OPENINGS) == set(FILTERS)
    assert not missing_kinds(advise(Target("1", "1e-6"), Sketch.of([(SMALL, 10)])))
    assert set(PREFERENCE) | COMPARISON_ONLY | DECLARED_IN_ADVANCE == set(FILTERS)


def test_a_kind_without_an_opening_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the test above fails for a kind that nobody taught the advice."""
    monkeypatch.setattr(room, "FILTERS", {**FILTERS})
    monkeypatch.setattr(room, "OPENINGS", {k: v for k, v in OPENINGS.items() if k != "gdp"})
    assert missing_kinds(advise(Target("1", "1e-6"), Sketch.of([(SMALL, 10)]))) == {"gdp"}


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("target", TARGETS, ids=Target.in_words)
def test_an_offer_keeps_the_target(kind: str, target: Target) -> None:
    """What each opened filter guarantees implies the target; a kind that cannot says why."""
    one = offer(kind, target, Sketch.of([(SMALL, 30), (RandomizedResponse("0.05"), 3)]))
    if one.filter is None:
        assert len(one.reason) > 10
        return
    profile = getattr(one.filter, "capacity", None) if kind == "residue" and target.epsilon is None else None
    assert keeps(one.filter.guarantee(), target, profile)
    assert one.filter.kind == kind


@pytest.mark.parametrize("kind", FILTERS)
def test_the_count_is_what_the_filter_admits_one_by_one(kind: str) -> None:
    """Charged one after the other in the sketch's order, that many fit, and the next size does not."""
    sketch = Sketch.of([(RandomizedResponse("0.06"), 3), (RandomizedResponse("0.1"), 1)])
    one = offer(kind, Target("1", "1e-6"), sketch)
    assert one.filter is not None
    assert one.admitted == sum(one.parts)

    def run(counts: list[int]) -> bool:
        state: Any = one.filter.start()  # type: ignore[union-attr]
        for loss, n in zip(losses_for(one.filter, sketch), counts, strict=True):  # type: ignore[arg-type]
            for _ in range(n):
                decision = one.filter.admit(state, loss)  # type: ignore[union-attr]
                if not isinstance(decision, Admitted):
                    return False
                state = decision.state
        return True

    assert run(list(one.parts))
    following = next(c for n in range(1, 9) if sum(c := sketch.scaled(one.admitted + n)) > one.admitted)
    assert not run(following)


# --- the numbers people should see


@pytest.mark.parametrize(
    ("target", "epsilon", "published", "default", "residue", "optimum"),
    [
        (Target("1", "1e-6"), "0.01", 349, 487, 556, 562),
        (Target("2", "1e-5"), "0.02", 400, 541, 625, 632),
    ],
)
def test_many_small_pure_queries_are_for_the_residue_filter(
    target: Target, epsilon: str, published: int, default: int, residue: int, optimum: int
) -> None:
    """Published and default forms admit what is known of them; the residue filter nearly the non-adaptive optimum."""
    sketch = Sketch.of([(RandomizedResponse(epsilon), 500)])
    advice = advise(target, sketch)
    found = {one.kind: one.admitted for one in advice.offers}
    assert found["approx_published"] == published
    assert found["approx"] == found["zcdp"] == default
    assert residue <= found["residue"] <= optimum
    assert advice.recommended is not None
    assert advice.recommended.kind == "residue"


def test_few_large_pure_queries_are_for_adding_epsilons() -> None:
    """Five queries of 0.2 within epsilon 1: adding them up admits all, concentration next to none."""
    advice = advise(Target("1", "1e-6"), Sketch.of([(RandomizedResponse("0.2"), 5)]))
    found = {one.kind: one.admitted for one in advice.offers}
    assert found["pure"] == found["basic"] == 5
    assert found["approx"] <= 1 >= found["residue"]
    assert advice.recommended is not None
    assert advice.recommended.admitted >= 5


def test_gaussian_queries_are_charged_exactly_by_squares_of_mu() -> None:
    """Under mu = 1, noise multiplier 20 fits 400 times: (1/20)^2 each."""
    found = numbers(Target(mu="1"), (Gaussian(20), 100))
    assert found["gdp"] == 400
    assert 399 <= found["residue"] <= 400
    assert numbers(Target(rho="0.5"), (Gaussian(20), 100))["zcdp"] == 400


def test_training_keeps_more_than_what_knows_no_sampling() -> None:
    """Fifteen hundred steps of DP-SGD: filters that know profiles or Renyi curves admit them, closed forms do not."""
    found = numbers(Target("3", "1e-5"), (PoissonSampled("0.01", Gaussian(1)), 1500))
    assert found["rdp"] > 1500 < found["residue"]
    assert found["gdp"] <= 5
    assert found["approx"] <= 5


FEW_LARGE = Sketch.of([(RandomizedResponse("0.2"), 5)])
MANY_SMALL = Sketch.of([(SMALL, 500)])
TRAINING = Sketch.of([(PoissonSampled("0.05", Gaussian(2)), 300)])


@pytest.mark.parametrize(
    ("target", "sketch", "kinds"),
    [
        (Target("1", "1e-6"), FEW_LARGE, {"pure", "basic", "menu"}),
        (Target("1", "1e-6"), MANY_SMALL, {"residue"}),
        (Target("2", "1e-5"), TRAINING, {"residue_plan"}),
    ],
    ids=["few large", "many small", "training"],
)
def test_each_sketch_has_its_winner(target: Target, sketch: Sketch, kinds: set[str]) -> None:
    """Few large queries are for sums or a menu, many small ones for the Gaussian residue, training for its plan."""
    advice = advise(target, sketch)
    assert advice.recommended is not None
    assert advice.recommended.kind in kinds
    found = {one.kind: one.admitted for one in advice.offers}
    free = {kind: n for kind, n in found.items() if kind not in DECLARED_IN_ADVANCE | COMPARISON_ONLY}
    if sketch is not TRAINING:
        assert advice.recommended.admitted == max(free.values())
        assert found["menu"] >= advice.recommended.admitted  # the exact worst case of these very queries
        assert {kind for kind in kinds if found[kind] == found["menu"]} >= kinds - {"residue"}
        assert min(found[kind] for kind in kinds) > max(n for kind, n in free.items() if kind not in kinds | {"rdp"})
    else:
        assert found["residue_plan"] >= 1.05 * max(free.values())


# --- properties


def test_comparison_filters_are_never_recommended() -> None:
    """They are shown, and something admits at least as much."""
    for target in TARGETS:
        advice = advise(target, Sketch.of([(SMALL, 10), (Laplace(50), 2)]))
        assert advice.recommended is not None
        assert advice.recommended.kind not in COMPARISON_ONLY
        best = max(one.admitted for one in advice.offers if one.kind in COMPARISON_ONLY)
        assert advice.recommended.admitted >= best


def test_good_for_declared_queries_only_must_be_clearly_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that serves nothing else is recommended from five percent more on, not for a query or two."""
    monkeypatch.setattr(room, "DECLARED_IN_ADVANCE", {"gdp"})
    rule: Any = object()
    for admitted, chosen in ((104, "approx"), (105, "gdp"), (200, "gdp"), (90, "approx")):
        offers = sorted([Offer("approx", rule, 100), Offer("gdp", rule, admitted)], key=lambda one: -one.admitted)
        best = room._best(offers)
        assert best is not None
        assert best.kind == chosen


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["0.005", "0.02", "0.1", "0.4"]),
    st.integers(1, 300),
    st.sampled_from(["0.3", "1", "4"]),
    st.sampled_from(["0.5", "0.9"]),
)
def test_more_noise_never_admits_fewer(epsilon: str, count: int, budget: str, share: str) -> None:
    """Cheaper queries fit at least as often, in every kind of filter; a menu is another one for other queries."""
    cheaper = str(D(epsilon) * D(share))
    target = Target(budget, "1e-6")
    for kind in FILTERS.keys() - DECLARED_IN_ADVANCE:
        dear, cheap = (offer(kind, target, Sketch.of([(RandomizedResponse(e), count)])) for e in (epsilon, cheaper))
        assert cheap.admitted >= dear.admitted


def test_failures_of_queries_are_set_aside() -> None:
    """Queries that fail with a probability take it from delta; where delta is too small the reason says so."""
    part = (RandomizedResponse("0.05", "1e-8"), 10)
    assert Sketch.of([part]).own_delta == D("1e-7")
    one = offer("approx", Target("1", "1e-6"), Sketch.of([part]))
    assert one.filter is not None
    assert one.filter.caps()["delta"] == D("1e-7")
    assert "add up to" in offer("approx", Target("1", "1e-8"), Sketch.of([part])).reason
    assert offer("pure", Target("1"), Sketch.of([part])).filter is None


def test_nothing_fits_and_nothing_is_recommended() -> None:
    """A sketch that no kind can price has no recommendation, and a reason for each."""
    advice = advise(Target("1"), Sketch.of([(Gaussian(1), 1)]))
    assert advice.recommended is None
    assert all(one.reason or not one.admitted for one in advice.offers)
    assert "no kind" in advice.reasons[0]


def test_the_advice_says_everything_in_json() -> None:
    """The JSON form names the filter as it is stored, so that an account can be opened with it."""
    from dosimeter.adaptive.filters import filter_from_json

    advice = advise(Target("1", "1e-6"), Sketch.of([(SMALL, 10), (Gaussian(40), 3)]))
    data = advice.to_json()
    assert data["target"] == {"epsilon": "1", "delta": "1e-6"}
    assert [part["count"] for part in data["sketch"]] == [10, 3]
    for one in data["offers"]:
        assert (one["filter"] is None) == ("reason" in one)
        if one["filter"] is not None:
            assert filter_from_json(one["filter"]).kind == one["kind"]
    assert data["recommended"] in {one["kind"] for one in data["offers"]}


def test_what_is_watched_is_each_kind_once() -> None:
    """The progress bar is told of every kind before it is tried."""
    seen: list[str] = []
    advise(Target("1"), Sketch.of([(SMALL, 1)]), watch=seen.append)
    assert seen == list(FILTERS)


def test_what_is_no_target_or_sketch_is_refused() -> None:
    """A target is one promise; a sketch has parts, and its events speak of its relation."""
    for bad in ({}, {"epsilon": "1", "mu": "1"}, {"delta": "1e-6"}, {"epsilon": "-1"}, {"epsilon": "1", "delta": "1"}):
        with pytest.raises(InputError):
            Target(**bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="empty"):
        Sketch.of([])
    with pytest.raises(InputError):
        Sketch.of([(SMALL, 0)])
    with pytest.raises(NotionError):
        Sketch.of([(PoissonSampled("0.1", Gaussian(1)), 1)], "replace_one")


def test_declared_events_are_priced_like_any_other() -> None:
    """Declared losses are charged by conversion where there is one, and refused with a reason where there is none."""
    event = Declared(ZCDP("0.001"), "a vendor's statement")
    found = {one.kind: one for one in advise(Target("1", "1e-6"), Sketch.of([(event, 3)])).offers}
    assert found["approx"].admitted > 3
    assert found["pure"].filter is None
