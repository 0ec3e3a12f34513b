"""Laws every filter keeps, whatever an analyst who chooses each query from all earlier answers may do.

The model is a second bookkeeper: it re-adds all admitted losses in exact rational arithmetic and checks the theorem's
condition with interval arithmetic of its own (mpmath), sharing no code with the filters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dosimeter.accounting import loss_for
from dosimeter.adaptive.adversary import Menu, Offer
from dosimeter.adaptive.filters import (
    FILTER_KINDS,
    Admitted,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    MenuFilter,
    PlanResidueFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RDPFilter,
    Refused,
    ResidueFilter,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
    filter_from_json,
    filter_to_json,
)
from dosimeter.adaptive.game import budget_rule, randomized_response, worst_delta
from dosimeter.events import Composed, Event, Gaussian, Laplace, RandomizedResponse, Repeated
from dosimeter.exact import text
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, MenuPrice, PureDP, ResiduePrice

ORDERS = (Decimal("1.5"), Decimal(8), Decimal(64))

sizes = st.one_of(
    st.decimals("0.001", "1.2", places=3),
    st.sampled_from([Decimal(0), Decimal("1e-300"), Decimal("1e-17"), Decimal("1e-9"), Decimal("0.1"), Decimal(5)]),
    st.sampled_from([Decimal(10) ** 12, Decimal("0." + "3" * 60)]),
    st.fractions(Fraction(1, 1000), 1),
)
failures = st.one_of(
    st.just(Decimal(0)),
    st.decimals(0, "3e-7", places=9),
    st.sampled_from([Decimal("1e-300"), Decimal("1e-17"), Decimal(1)]),
)
budgets = st.one_of(
    st.decimals("0.01", 3, places=2), st.sampled_from([Decimal(1), Decimal("0.3")]), st.fractions(Fraction(1, 9), 2)
)


def _losses(filter_: Any) -> st.SearchStrategy[Any]:
    by_notion: dict[str, st.SearchStrategy[Any]] = {
        "pure": st.builds(PureDP, sizes),
        "approx": st.builds(ApproxDP, sizes, failures),
        "zcdp": st.builds(ZCDP, sizes, failures),
        "gdp": st.builds(GDP, sizes.filter(lambda mu: mu <= 10**6), failures),
        "residue": st.sampled_from(PRICES),
        "menu": st.builds(MenuPrice.of, st.integers(0, 9), sizes, failures),
    }
    if filter_.kind == "residue_plan":
        return st.sampled_from(PLAN_PRICES)
    if filter_.notion == "rdp":
        return st.builds(
            lambda each, delta: RDP(filter_.orders, tuple(each), delta),
            st.lists(sizes, min_size=len(filter_.orders), max_size=len(filter_.orders)),
            failures,
        )
    return by_notion[filter_.notion]


PRICED: tuple[Event, ...] = (
    RandomizedResponse("0.1"),
    RandomizedResponse("0.01", "1e-9"),
    RandomizedResponse(0, "1e-7"),
    RandomizedResponse("1e-20"),
    Laplace(5),
    Gaussian(7),
    Gaussian("0.01"),
    Repeated(Laplace(30), 3),
    Composed((Gaussian(11), Repeated(RandomizedResponse("0.02"), 2), Laplace(40))),
)
PRICES = tuple(loss_for(event, ResidueFilter(1, "1e-6")) for event in PRICED)
PLAN = PlanResidueFilter(((RandomizedResponse("0.1"), 9), (Laplace(5), 4)), 3, "2e-2", "1e-3", 9, reserve="0.02")
PLAN_PRICES = tuple(loss_for(event, PLAN) for event in PRICED[:5] + PRICED[6:] + (Gaussian(20), RandomizedResponse(2)))

MENU = ((Fraction(1, 10), Fraction(0), 1), (Fraction(1, 5), Fraction(1, 10**7), 5), (Fraction(3, 10), Fraction(0), 8))
OFFERS = Menu(tuple(Offer(RandomizedResponse(e, d), c) for e, d, c in MENU))

filters: dict[str, st.SearchStrategy[Any]] = {
    "pure": st.builds(PureFilter, budgets),
    "basic": st.builds(BasicFilter, budgets, st.sampled_from(["0", "1e-6"])),
    "approx": st.builds(ApproxFilter, budgets, st.just("2e-6"), st.sampled_from(["0", "1e-6"])),
    "approx_published": st.builds(PublishedApproxFilter, budgets, st.just("2e-6"), st.sampled_from(["0", "1e-6"])),
    "zcdp": st.builds(ZCDPFilter, budgets, st.sampled_from(["0", "1e-6"])),
    "rdp": st.builds(RDPFilter, st.just(8), budgets, st.sampled_from(["0", "1e-6"])),
    "rdp_curve": st.builds(lambda b, d: RDPCurveFilter(ORDERS, (b, 2 * b, 9 * b), d), budgets, st.just("1e-6")),
    "rdp_weighted": st.builds(
        lambda e, w, d: WeightedRDPFilter(e + 1, "2e-6", ORDERS, w, d),
        budgets,
        st.sampled_from([None, ("0.1", "0.2", "0.7"), ("0.5", "0.25", "0.125")]),
        st.sampled_from(["0", "1e-6"]),
    ),
    "gdp": st.builds(GDPFilter, budgets, st.sampled_from(["0", "1e-6"])),
    "rogers": st.builds(RogersFilter, budgets, st.just("2e-6")),
    "residue": st.builds(ResidueFilter, budgets, st.just("2e-6"), st.sampled_from(["0", "1e-6"])),
    "menu": st.builds(lambda delta: MenuFilter(1, delta, OFFERS), st.sampled_from(["1e-4", "2e-6"])),
    "residue_plan": st.just(PLAN),
}
any_filter = st.sampled_from(sorted(filters)).flatmap(lambda kind: filters[kind])


@st.composite
def runs(draw: st.DrawFn, longest: int = 14) -> tuple[Any, list[Any]]:
    """A filter and the losses of a run. Amounts repeat, so that budgets are hit exactly now and then."""
    filter_ = draw(any_filter)
    menu = draw(st.lists(_losses(filter_), min_size=1, max_size=4))
    return filter_, draw(st.lists(st.sampled_from(menu), max_size=longest))


def play(filter_: Any, losses: Sequence[Any]) -> tuple[Any, list[Any], list[bool]]:
    """The state after the losses, those that were admitted, and the verdicts."""
    state, kept, verdicts = filter_.start(), [], []
    for loss in losses:
        answer = filter_.admit(state, loss)
        verdicts.append(isinstance(answer, Admitted))
        if isinstance(answer, Admitted):
            state = answer.state
            kept.append(loss)
    return state, kept, verdicts


# ---- the model: exact sums of the admitted losses, each theorem's condition checked by other means


def _sum(losses: Sequence[Any], name: str, square: bool = False) -> Fraction:
    values = [Fraction(getattr(loss, name)) for loss in losses]
    return sum((v * v if square else v for v in values), Fraction(0))


def _float(value: Any) -> Any:
    ratio = Fraction(value)
    return mp.mpf(ratio.numerator) / ratio.denominator


def _delta_of_zcdp(rho: Any, epsilon: Any) -> Any:
    """The optimised conversion by golden search; any t gives an upper bound, so a rough search is enough."""

    def exponent(s: Any) -> Any:
        t = mp.exp(s)
        return t * (t + 1) * rho - t * epsilon + t * s - (t + 1) * mp.log1p(t)

    low, high = mp.mpf(-30), mp.mpf(30)
    for _ in range(120):
        a, b = low + (high - low) * mp.mpf("0.382"), low + (high - low) * mp.mpf("0.618")
        low, high = (low, b) if exponent(a) < exponent(b) else (a, high)
    return mp.exp(exponent((low + high) / 2))


def _model_approx(f: Any, losses: Sequence[Any]) -> bool:
    rho, failed = _float(_sum(losses, "rho")), _float(_sum(losses, "delta"))
    slack = 1 + mp.mpf("1e-25")  # of the model's own search, not of the filter
    total = failed + (1 - failed) * (_delta_of_zcdp(rho, _float(f.epsilon)) if rho else 0)
    return bool(total <= _float(f.delta) * slack) and _sum(losses, "delta") <= Fraction(f.declared_delta)


def _model_published(f: Any, losses: Sequence[Any]) -> bool:
    V, failed = _float(_sum(losses, "epsilon", square=True)), Fraction(f.declared_delta)
    share = _float((Fraction(f.delta) - failed) / (1 - failed))
    fits = mp.sqrt(2 * mp.log(1 / share) * V) + V / 2 <= _float(f.epsilon)
    return bool(fits) and _sum(losses, "delta") <= failed


def _model_weighted(f: Any, losses: Sequence[Any]) -> bool:
    failed = Fraction(f.declared_delta)
    share = _float((Fraction(f.delta) - failed) / (1 - failed))

    def alive(i: int) -> bool:
        a, used = _float(f.orders[i]), sum((Fraction(loss.epsilons[i]) for loss in losses), Fraction(0))
        c = (1 - 1 / a) ** (a - 1) / a
        return not used or bool(_float(used) <= _float(f.epsilon) + mp.log(_float(f.weights[i]) * share / c) / (a - 1))

    return any(alive(i) for i in range(len(f.orders))) and _sum(losses, "delta") <= failed


def _model_rogers(f: Any, losses: Sequence[Any]) -> bool:
    e, d = _float(f.epsilon), _float(f.delta)
    H, V = e**2 / (mp.mpf("28.04") * mp.log(1 / d)), _float(_sum(losses, "epsilon", square=True))
    drift = mp.fsum(_float(loss.epsilon) * mp.expm1(_float(loss.epsilon)) / 2 for loss in losses)
    K = drift + mp.sqrt(2 * (V + H) * (1 + mp.log1p(V / H) / 2) * mp.log(2 / d))
    return bool(not losses or e >= K) and _sum(losses, "delta") <= Fraction(f.delta) / 2


def _model_orders(f: Any, losses: Sequence[Any]) -> bool:
    caps = getattr(f, "epsilons", None) or (f.epsilon,)
    used = [sum((Fraction(loss.epsilons[i]) for loss in losses), Fraction(0)) for i in range(len(caps))]
    return all(u <= Fraction(b) for u, b in zip(used, caps, strict=True)) and _sum(losses, "delta") <= Fraction(f.delta)


def _model_gdp(f: Any, losses: Sequence[Any]) -> bool:
    alive = Fraction(1)
    for loss in losses:
        alive *= 1 - Fraction(loss.delta)
    return _sum(losses, "mu", square=True) <= Fraction(f.mu) ** 2 and alive >= 1 - Fraction(f.delta)


def _model_residue(f: Any, losses: Sequence[Any]) -> bool:
    """Each run takes the charge of its dearest admissible row; the pair that is left never has a negative variance."""
    left = Fraction(f.capacity)
    for loss in losses:
        for part, runs in enumerate(loss.counts):
            rows = [r for r in zip(loss.parts, loss.levels, loss.charges, strict=True) if r[0] == part]
            for _ in range(int(runs)):
                left -= max(Fraction(c) for _, level, c in rows if not any(level < x <= left for _, x, _ in rows))
    mu, e = mp.sqrt(_float(f.capacity)), _float(f.epsilon)
    whole = mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu) + _float(f.slack)
    slack = sum((Fraction(d) * int(n) for k in losses for d, n in zip(k.deltas, k.counts, strict=True)), Fraction(0))
    return bool(left >= 0 and whole <= _float(f.delta) and slack <= Fraction(f.slack))


@cache
def _worst_of_menu(units: int) -> Decimal:
    """The worst case of the menu below by the solver for any rule, which shares no code with the filter's."""
    base = Fraction(math.exp(0.1))
    boxes = [(randomized_response(base ** int(e * 10), d), (c,)) for e, d, c in MENU]
    return worst_delta(budget_rule(boxes, (units,)), base, "1").upper


def _model_menu(f: Any, losses: Sequence[Any]) -> bool:
    """The units fit, and the budget of this menu has been proven by another solver."""
    return bool(_sum(losses, "units") <= f.units and _worst_of_menu(f.units) <= f.delta * (1 + Decimal("1e-9")))


def _model_plan(f: Any, losses: Sequence[Any]) -> bool:
    """Each run is paid by the first component that holds one of its levels; no component ends below zero."""
    left = [Fraction(f.reserve), *(Fraction(many) for _, many in f.laws)]
    for loss in losses:
        for part, runs in enumerate(loss.counts):
            rows = [
                r[1:] for r in zip(loss.parts, loss.components, loss.levels, loss.charges, strict=True) if r[0] == part
            ]
            for _ in range(int(runs)):
                paying = [int(c) for c, level, _ in rows if level <= left[int(c)]]
                if not paying:
                    return False
                left[paying[0]] -= min(Fraction(x) for c, level, x in rows if c == paying[0] and level <= left[int(c)])
    slack = sum((Fraction(d) * int(n) for k in losses for d, n in zip(k.deltas, k.counts, strict=True)), Fraction(0))
    return min(left) >= 0 and slack <= Fraction(f.slack) and f.delta_at(f.epsilon) <= f.delta


MODELS: dict[str, Callable[[Any, Sequence[Any]], bool]] = {
    "pure": lambda f, x: _sum(x, "epsilon") <= Fraction(f.epsilon),
    "basic": lambda f, x: _sum(x, "epsilon") <= Fraction(f.epsilon) and _sum(x, "delta") <= Fraction(f.delta),
    "zcdp": lambda f, x: _sum(x, "rho") <= Fraction(f.rho) and _sum(x, "delta") <= Fraction(f.delta),
    "approx": _model_approx,
    "approx_published": _model_published,
    "rdp": _model_orders,
    "rdp_curve": _model_orders,
    "rdp_weighted": _model_weighted,
    "gdp": _model_gdp,
    "residue": _model_residue,
    "residue_plan": _model_plan,
    "rogers": _model_rogers,
    "menu": _model_menu,
}


def test_every_kind_has_a_model() -> None:
    """No filter escapes the second bookkeeper."""
    assert set(MODELS) == set(filters) == set(FILTER_KINDS)


@pytest.mark.parametrize("kind", sorted(filters))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_never_over_admits(kind: str, data: st.DataObject) -> None:
    """After any sequence of requests, the exact total of what was admitted satisfies the theorem's condition."""
    filter_ = data.draw(filters[kind])
    menu = data.draw(st.lists(_losses(filter_), min_size=1, max_size=4))
    losses = data.draw(st.lists(st.sampled_from(menu), max_size=14))
    with mp.workdps(60):
        _, kept, _ = play(filter_, losses)
        assert MODELS[kind](filter_, kept)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_the_model_notices_a_filter_that_looks_behind_instead_of_ahead(run: tuple[Any, list[Any]]) -> None:
    """Negative control: checking what has already run overspends, and the second bookkeeper sees it."""
    small = PureFilter("0.5")
    state, kept = small.start(), []
    for _ in range(6):
        before = Fraction(state.epsilon) <= Fraction(small.epsilon)  # the flaw: the next query is not included
        if before:
            kept.append(PureDP("0.4"))
            state = type(state)(state.epsilon + Decimal("0.4"), state.rho)
    assert not MODELS["pure"](small, kept)
    filter_, losses = run
    _, kept, _ = play(filter_, losses)
    with mp.workdps(60):
        assert MODELS[filter_.kind](filter_, kept)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs(), st.data())
def test_monotone_in_what_was_spent_and_in_what_is_asked(run: tuple[Any, list[Any]], data: st.DataObject) -> None:
    """A query refused early is refused later, and two are not admitted where one is not."""
    filter_, losses = run
    probe = data.draw(_losses(filter_))
    state, refused_before = filter_.start(), False
    for loss in losses:
        refused = isinstance(filter_.admit(state, probe), Refused)
        assert refused or not refused_before
        refused_before = refused
        if refused:
            assert isinstance(filter_.admit(state, probe, 2), Refused)
        answer = filter_.admit(state, loss)
        state = answer.state if isinstance(answer, Admitted) else state


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_zero_is_free_and_a_refusal_changes_nothing(run: tuple[Any, list[Any]]) -> None:
    """A loss of zero is always admitted and moves nothing; a refused one leaves state and readings as they were."""
    filter_, losses = run
    free = {"pure": PureDP(0), "approx": ApproxDP(0), "zcdp": ZCDP(0), "gdp": GDP(0), "residue": ResiduePrice()}
    zero = (free | {"menu": MenuPrice.of(0)}).get(filter_.notion)
    zero = zero or RDP(filter_.orders, (0,) * len(filter_.orders))
    state = filter_.start()
    for loss in losses:
        assert filter_.admit(state, zero) == Admitted(state)
        before = (filter_.state_to_json(state), filter_.spent(state), filter_.remaining(state))
        answer = filter_.admit(state, loss)
        assert (filter_.state_to_json(state), filter_.spent(state), filter_.remaining(state)) == before
        if isinstance(answer, Refused):
            assert answer.spent == before[1]
            assert answer.remaining.items() <= before[2].items()
            assert answer.exceeded
            assert set(answer.exceeded) <= set(answer.budget) <= set(answer.requested)
            assert answer.budget == filter_.budget()
        else:
            state = answer.state


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs(), st.integers(0, 14))
def test_stopped_and_resumed_equals_run_straight_through(run: tuple[Any, list[Any]], cut: int) -> None:
    """Configuration and state survive JSON to the last digit, so a resumed run ends like an uninterrupted one."""
    filter_, losses = run
    straight, _, verdicts = play(filter_, losses)
    again = filter_from_json(filter_to_json(filter_))
    assert again == filter_
    state, _, first = play(filter_, losses[:cut])
    assert again.state_from_json(filter_.state_to_json(state)) == state
    state = again.state_from_json(filter_.state_to_json(state))
    rest = []
    for loss in losses[cut:]:
        answer = again.admit(state, loss)
        rest.append(isinstance(answer, Admitted))
        state = answer.state if isinstance(answer, Admitted) else state
    assert (state, first + rest) == (straight, verdicts)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs(), st.integers(1, 6))
def test_deciding_about_n_at_once_equals_deciding_one_by_one(run: tuple[Any, list[Any]], n: int) -> None:
    """n equal queries are admitted together exactly when all of them are admitted in turn (to the 45th digit)."""
    filter_, losses = run
    state, _, _ = play(filter_, losses)
    for loss in losses[:2]:
        single, last = state, True
        for _ in range(n):
            answer = filter_.admit(single, loss)
            last = isinstance(answer, Admitted)
            single = answer.state if isinstance(answer, Admitted) else single
            if not last:
                break
        batch = filter_.admit(state, loss, n)
        if last:
            assert isinstance(batch, Admitted)
            assert _close(batch.state, single)
        else:
            assert isinstance(batch, Refused) or _close_to_full(filter_, batch.state)


def _numbers(state: Any) -> list[Decimal]:
    values = [getattr(state, f.name) for f in fields(state)]
    return [n for v in values for n in (v if isinstance(v, tuple) else (v,))]


def _close(a: Any, b: Any) -> bool:
    return all(abs(x - y) <= Decimal("1e-45") * max(x, y) for x, y in zip(_numbers(a), _numbers(b), strict=True))


def _close_to_full(filter_: Any, state: Any) -> bool:
    """Rounding n times and rounding once may differ in the last of 50 digits when the budget is hit exactly."""
    left, budget = filter_.remaining(state), filter_.budget()
    return any(Decimal(left[name]) <= Decimal("1e-20") * Decimal(cap) for name, cap in budget.items())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_the_clock_of_the_odometers_never_runs_slow(run: tuple[Any, list[Any]]) -> None:
    """intrinsic_time is at least twice the sum of the rhos of the admitted losses; Renyi-only states have none."""
    filter_, losses = run
    state, kept, _ = play(filter_, losses)
    assert Fraction(state.delta) >= (_sum(kept, "delta") if filter_.notion != "pure" else 0)
    if filter_.notion == "rdp":
        assert state.intrinsic_time is None
        assert all(Fraction(e) >= sum(Fraction(k.epsilons[i]) for k in kept) for i, e in enumerate(state.epsilons))
        return
    with mp.workdps(60):
        rho: dict[str, Callable[[Any], Any]] = {
            "zcdp": lambda loss: _float(loss.rho),
            "gdp": lambda loss: _float(loss.mu) ** 2 / 2,
            "menu": lambda loss: _float(loss.rho),
            "residue": lambda loss: mp.fsum(_float(r) * int(n) for r, n in zip(loss.rhos, loss.counts, strict=True)),
        }
        pure = lambda loss: _float(loss.epsilon) * mp.tanh(_float(loss.epsilon) / 2)  # noqa: E731
        truth = 2 * mp.fsum(rho.get(filter_.notion, pure)(loss) for loss in kept)
        assert _float(state.intrinsic_time) >= truth * (1 - mp.mpf("1e-40"))


@pytest.mark.parametrize("kind", sorted(filters))
def test_a_charge_costs_the_same_after_many_queries(kind: str) -> None:
    """The state keeps its number of numbers, each of bounded length; a charge touches as many as at the start."""
    examples = {
        "pure": (PureFilter(1000), PureDP("0.001234567891234567")),
        "basic": (BasicFilter(1000, "0.1"), ApproxDP("0.001234567891234567", "1.1e-9")),
        "approx": (ApproxFilter(1000, "0.1", "0.01"), ZCDP("0.001234567891234567", "1.1e-9")),
        "approx_published": (PublishedApproxFilter(1000, "0.1", "0.01"), ApproxDP("0.001234567891234567", "1e-9")),
        "zcdp": (ZCDPFilter(1000, "0.1"), ZCDP("0.001234567891234567", "1.1e-9")),
        "rdp": (RDPFilter(8, 1000), RDP((8,), ("0.001234567891234567",))),
        "rdp_curve": (RDPCurveFilter((2, 8), (1000, 1000)), RDP((2, 8), ("0.001234567891234567",) * 2)),
        "rdp_weighted": (WeightedRDPFilter(1000, "0.1", (2, 8)), RDP((2, 8), ("0.001234567891234567",) * 2)),
        "gdp": (GDPFilter(1000), GDP("0.001234567891234567")),
        "rogers": (RogersFilter(100, "0.1"), ApproxDP("0.001234567891234567", "1e-9")),
        "residue": (ResidueFilter(100, "0.1"), PRICES[1]),
        "menu": (MenuFilter(6, "0.01", Menu((Offer(RandomizedResponse("0.1"), 1),))), MenuPrice.of(1, "0.005")),
        "residue_plan": (PlanResidueFilter(((RandomizedResponse("0.1"), 400),), 6, "0.01"), PLAN_PRICES[0]),
    }
    filter_, loss = examples[kind]
    state, lengths = filter_.start(), []
    for _ in range(400):
        answer = filter_.admit(state, loss)
        assert isinstance(answer, Admitted)
        state = answer.state
        lengths.append(len(str(filter_.state_to_json(state))))
    assert len(_numbers(state)) == len(_numbers(filter_.start()))
    assert all(len(number.as_tuple().digits) <= 50 for number in _numbers(state))
    assert max(lengths) <= max(lengths[:100]) + 4 * len(_numbers(state))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_exactly_what_remains_is_admitted(run: tuple[Any, list[Any]]) -> None:
    """A query that asks for what is said to remain fits (where what remains is a loss of the filter's notion)."""
    filter_, losses = run
    state, _, _ = play(filter_, losses)
    left = {name: Decimal(value) for name, value in filter_.remaining(state).items()}
    last: dict[str, Callable[[], Any]] = {
        "pure": lambda: PureDP(left["epsilon"]),
        "basic": lambda: ApproxDP(left["epsilon"], left["delta"]),
        "approx": lambda: ZCDP(left["rho"], left["delta"]),
        "zcdp": lambda: ZCDP(left["rho"], left["delta"]),
        "rdp": lambda: RDP((8,), (left["epsilon at order 8"],), left["delta"]),
        "rdp_curve": lambda: RDP(ORDERS, tuple(left[f"epsilon at order {text(a)}"] for a in ORDERS), left["delta"]),
        "gdp": lambda: GDP(left["largest_mu"], left["delta"]),
        "approx_published": lambda: ApproxDP(left["largest_epsilon"], left["delta"]),
    }
    if filter_.kind in last:
        numbers = [value for value in left.values() if value]
        if not numbers or min(numbers) >= Decimal("1e-300"):
            assert isinstance(filter_.admit(state, last[filter_.kind]()), Admitted)
