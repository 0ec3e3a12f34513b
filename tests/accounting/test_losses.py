"""Event x notion -> loss: complete, never below the truth, counts opened once, refusals with a reason and a way out."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting import NOTIONS, loss_for
from dosimeter.accounting.losses import TABLES
from dosimeter.adaptive.filters import FILTERS
from dosimeter.errors import InputError, NoGuaranteeError
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
    RandomAllocation,
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
    relations_of,
)
from dosimeter.events.event import EVENT_TYPES
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP


@dataclass(frozen=True)
class In:
    """A stand-in for a filter: pricing needs a notion and, for Renyi, orders."""

    notion: str
    orders: tuple[Decimal, ...] = (Decimal("1.5"), Decimal(2), Decimal(8))


DECLARED_LOSSES = (
    PureDP(1),
    ApproxDP(1, "1e-6"),
    ApproxDP(1),
    ZCDP("0.1"),
    ZCDP("0.1", "1e-7"),
    RDP(("1.5", 2, 8, 32), ("0.1", "0.2", 1, 4)),
    GDP("0.3"),
    GDP("0.3", "1e-7"),
)
EXAMPLES: tuple[Event, ...] = (
    Gaussian(2),
    DiscreteGaussian(2),
    Laplace(2),
    DiscreteLaplace(2),
    RandomizedResponse(1),
    RandomizedResponse(1, "1e-6"),
    *(Declared(loss, "by its authors") for loss in DECLARED_LOSSES),
    DeclaredPair(("0.6", "0.4"), ("0.5", "0.5"), "by its authors"),
    DeclaredPair(("0.6", "0.39", "0.01"), ("0.5", "0.5", "0"), "by its authors"),
    Repeated(Laplace(2), 3),
    Composed((Laplace(2), DiscreteLaplace(3))),
    PoissonSampled("0.01", Gaussian(2)),
    FixedSizeSampled(10, 1000, Laplace(2)),
    WithReplacementSampled(10, 1000, Gaussian(2)),
    RandomAllocation(10, 1, DiscreteGaussian(2)),
)


def test_every_event_is_priced_or_refused_with_a_reason_in_every_notion() -> None:
    """Every (event, notion) pair gives a loss of that notion, or says why not and what to do instead."""
    assert {type(event) for event in EXAMPLES} == set(EVENT_TYPES)
    assert set(NOTIONS) == {built.notion for built in FILTERS.values()}
    leaf_types = set(EVENT_TYPES) - {Repeated, Composed}
    assert all(set(table) == leaf_types for table in TABLES.values())
    refused = unhelpful = 0
    for event in EXAMPLES:
        for notion in set(NOTIONS) - {"menu"}:  # units need an account's own menu
            try:
                loss = loss_for(event, In(notion), delta="1e-5", relation=min(relations_of(event)))
            except NoGuaranteeError as error:
                refused += 1
                message = str(error)
                unhelpful += not (";" in message and (" use " in message or " open " in message))
            else:
                assert loss.notion == notion
    assert (refused, unhelpful) == (23, 0)


@pytest.mark.parametrize(
    ("event", "notion", "expected"),
    [
        (Gaussian(5), "zcdp", ZCDP("0.02")),
        (Gaussian(5, 2), "zcdp", ZCDP("0.08")),
        (DiscreteGaussian(5), "zcdp", ZCDP("0.02")),
        (Gaussian(2), "rdp", RDP(("1.5", 2, 8), ("0.1875", "0.25", 1))),
        (DiscreteGaussian(2), "rdp", RDP(("1.5", 2, 8), ("0.1875", "0.25", 1))),
        (Gaussian(4, 2), "gdp", GDP("0.5")),
        (Laplace(10, 5), "pure", PureDP("0.5")),
        (Laplace("6553.6", 65536), "pure", PureDP(10)),
        (DiscreteLaplace(10, 5), "pure", PureDP("0.5")),
        (Laplace(10, 5), "approx", ApproxDP("0.5")),
        (RandomizedResponse(1), "pure", PureDP(1)),
        (RandomizedResponse(1, "1e-6"), "approx", ApproxDP(1, "1e-6")),
        (Declared(ZCDP("0.1", "1e-7"), "x"), "zcdp", ZCDP("0.1", "1e-7")),
        (Declared(GDP("0.3", "1e-7"), "x"), "zcdp", ZCDP("0.045", "1e-7")),
        (Declared(ZCDP("0.1", "1e-7"), "x"), "rdp", RDP(("1.5", 2, 8), ("0.15", "0.2", "0.8"), "1e-7")),
        (Declared(RDP((2, 4, 8), ("0.1", "0.2", "0.3")), "x"), "rdp", RDP(("1.5", 2, 8), ("0.1", "0.1", "0.3"))),
        (Declared(ApproxDP(1), "x"), "pure", PureDP(1)),
        (Repeated(Gaussian(5), 10), "zcdp", ZCDP("0.2")),
        (Repeated(Repeated(Laplace(2), 3), 4), "pure", PureDP(6)),
        (Composed((Gaussian(2, "0.6"), Gaussian(2, "0.8"))), "gdp", GDP("0.5")),
        (Repeated(Composed((Laplace(2), Repeated(Laplace(4), 2))), 5), "pure", PureDP(5)),
    ],
)
def test_closed_forms_are_exact(event: Event, notion: str, expected: Any) -> None:
    """Where the truth is a decimal the charge is that decimal."""
    assert loss_for(event, In(notion)) == expected


@pytest.mark.parametrize(
    ("event", "notion", "words"),
    [
        (Gaussian(2), "pure", ("infinite", "zcdp")),
        (DiscreteGaussian(2), "pure", ("infinite", "zcdp")),
        (DiscreteGaussian(2), "gdp", ("lattice", "zcdp")),
        (RandomizedResponse(1, "1e-6"), "pure", ("probability", "approx")),
        (Declared(ApproxDP(1, "1e-6"), "x"), "pure", ("probability", "approx")),
        (Declared(ZCDP("0.1"), "x"), "gdp", ("no theorem", "(epsilon, delta)")),
        (Declared(RDP((2,), (1,)), "x"), "gdp", ("no theorem", "(epsilon, delta)")),
        (Declared(RDP((2,), (1,)), "x"), "zcdp", ("finitely many", "rdp")),
        (Declared(RDP((2,), (1,)), "x"), "rdp", ("order 8", "range")),
        (Declared(GDP(1), "x"), "pure", ("no theorem", "gdp")),
        (Gaussian(2), "approx", ("delta=", "zcdp")),
        (Composed((Laplace(1), DiscreteGaussian(2))), "approx", ("discrete_gaussian", "delta=")),
        (Declared(ZCDP("0.1", "1e-5"), "x"), "approx", ("delta",)),
    ],
)
def test_a_refusal_gives_the_reason_and_the_way_out(event: Event, notion: str, words: tuple[str, ...]) -> None:
    """What no theorem supports is not priced; the message says why and where it can be charged."""
    with pytest.raises(NoGuaranteeError) as caught:
        loss_for(event, In(notion))
    assert all(word in str(caught.value) for word in words)


def test_hostile_inputs_are_input_errors() -> None:
    """Not an event, a delta outside (0, 1), an unknown notion: refused at the door."""
    for delta in ("NaN", "inf", -1, 0, 1, "1e-301", True, "x"):
        with pytest.raises(InputError):
            loss_for(Gaussian(1), In("approx"), delta=delta)
    with pytest.raises(InputError):
        loss_for("gaussian", In("zcdp"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="zcdp"):
        loss_for(Gaussian(1), In("probabilistic"))


@pytest.mark.parametrize("scale", ["1e-12", "0.05", "1", "37", "1e12"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_extreme_noise_is_priced_or_refused_in_words(scale: str, notion: str) -> None:
    """Very little and very much noise give a positive price or one of our errors, never a crash or a price of zero."""
    for event in (Gaussian(scale), DiscreteGaussian(scale), Laplace(scale), DiscreteLaplace(scale)):
        try:
            loss = loss_for(event, In(notion), delta="1e-9")
        except (NoGuaranteeError, InputError):
            continue
        numbers = [getattr(loss, name, 0) for name in ("epsilon", "rho", "mu")] + list(getattr(loss, "epsilons", ()))
        assert max(numbers) > 0 or (notion == "approx" and Decimal(scale) > 10**8)


def test_counts_are_opened_once_and_equal_parts_are_merged() -> None:
    """Nested counts multiply, equal mechanisms are priced once, and nobody can hide a count behind nesting."""
    event = Repeated(Composed((Gaussian(2), Repeated(Gaussian(2), 3), Laplace(1))), 5)
    assert loss_for(event, In("zcdp")) == loss_for(
        Composed((Repeated(Gaussian(2), 20), Repeated(Laplace(1), 5))), In("zcdp")
    )
    ten = loss_for(Repeated(RandomizedResponse("1.0986"), 10), In("pure"))
    assert ten == PureDP("10.986")
    deep: Event = Laplace(1)
    for _ in range(16):
        deep = Repeated(deep, 1)
    assert loss_for(deep, In("pure")) == PureDP(1)
    wide: Event = Composed((Gaussian(1),) * 1000)
    with pytest.raises(InputError, match="Repeated"):
        loss_for(Composed((Composed((wide,) * 1000),) * 1000), In("zcdp"))


@pytest.mark.parametrize("kind", [Gaussian, DiscreteGaussian, Laplace, DiscreteLaplace])
def test_hardly_any_noise_is_refused_in_words(kind: Any) -> None:
    """A loss beyond every range names the mechanism and the way out; a loss below every range is the smallest one."""
    with pytest.raises(InputError, match="add noise"):
        loss_for(kind("1e-300", "1e12"), In("zcdp"))
    assert loss_for(kind("1e12", "1e-300"), In("zcdp")) == ZCDP("1e-300")


leaf = st.one_of(
    st.builds(Gaussian, st.decimals("0.5", 50, places=2), st.decimals("0.1", 3, places=1)),
    st.builds(DiscreteGaussian, st.decimals("0.5", 50, places=2), st.decimals("0.1", 3, places=1)),
    st.builds(Laplace, st.decimals("0.5", 50, places=2), st.decimals("0.1", 3, places=1)),
    st.builds(DiscreteLaplace, st.decimals("0.5", 50, places=2), st.decimals("0.1", 3, places=1)),
    st.builds(RandomizedResponse, st.decimals("0.1", 3, places=2), st.decimals(0, "0.001", places=6)),
)
events = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.builds(Repeated, inner, st.integers(1, 4)),
        st.builds(lambda parts: Composed(tuple(parts)), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(events, st.integers(2, 5), st.sampled_from(["zcdp", "rdp"]))
def test_repeated_equals_composed_and_the_sum_of_singles(event: Event, n: int, notion: str) -> None:
    """n runs cost n times one run, however they are written down."""
    one: Any = loss_for(event, In(notion))
    repeated = loss_for(Repeated(event, n), In(notion))
    assert repeated == loss_for(Composed((event,) * n), In(notion))
    total = one.repeat(n)
    values = (
        [(repeated.rho, total.rho)] if notion == "zcdp" else list(zip(repeated.epsilons, total.epsilons, strict=True))
    )
    assert all(abs(a - b) <= b * Decimal("1e-45") for a, b in values)


@settings(max_examples=40, deadline=None)
@given(st.lists(leaf, min_size=1, max_size=4), st.sampled_from([Gaussian, DiscreteGaussian]))
def test_folding_before_converting_never_costs_more_than_adding(parts: list[Event], other: type) -> None:
    """Stating a composed event at delta costs at most what its parts, each stated at a share of delta, add up to.

    For one family of Gaussian noise at a time; continuous and discrete noise together are folded as zCDP, which may
    cost a little more than adding the exact Gaussian price.
    """
    parts = [part for part in parts if not isinstance(part, other)] or [Gaussian(1)]
    together: Any = loss_for(Composed(tuple(parts)), In("approx"), delta="1e-5")
    share = Decimal("1e-5") / len(parts)
    apart: list[Any] = [loss_for(part, In("approx"), delta=share) for part in parts]
    assert together.epsilon <= sum(loss.epsilon for loss in apart) * (1 + Decimal("1e-20"))


def test_equal_columns_of_one_query_and_nine_of_another_cost_thirteen_gaussians() -> None:
    """4 and 9 releases at sigma 10 are 13 releases: 1.5769 at delta 1e-6, not the 2.254 of adding roots."""
    event = Composed((Repeated(Gaussian(10), 4), Repeated(Gaussian(10), 9)))
    loss: Any = loss_for(event, In("approx"), delta="1e-6")
    assert float(loss.epsilon) == pytest.approx(1.57689414041687, rel=1e-9)
    assert loss.delta == Decimal("1e-6")


def _gauss_delta(mu: Any, epsilon: Any) -> Any:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("sigma", "delta"), [("1", "1e-5"), ("0.05", "1e-5"), ("20", "1e-9"), ("3", "0.5")])
def test_gaussian_in_approx_is_the_exact_profile(sigma: str, delta: str) -> None:
    """The stated epsilon reaches delta and no smaller one (by 1e-12 relative) does."""
    loss: Any = loss_for(Gaussian(sigma), In("approx"), delta=delta)
    with mp.workdps(50):
        mu, target = 1 / mp.mpf(sigma), mp.mpf(delta)
        assert _gauss_delta(mu, mp.mpf(str(loss.epsilon))) <= target
        assert not loss.epsilon or _gauss_delta(mu, mp.mpf(str(loss.epsilon)) * (1 - mp.mpf("1e-12"))) > target


def _discrete(weight: Any, radius: int) -> dict[int, Any]:
    masses = {x: weight(x) for x in range(-radius, radius + 1)}
    total = mp.fsum(masses.values())
    return {x: mass / total for x, mass in masses.items()}


@pytest.mark.parametrize("order", ["1.5", "2", "8"])
@pytest.mark.parametrize(
    "event", [DiscreteGaussian("0.7"), DiscreteGaussian(2, 3), DiscreteLaplace(1), DiscreteLaplace(2, 3)]
)
def test_discrete_noise_is_never_charged_below_its_renyi_divergence(event: Any, order: str) -> None:
    """Summing the law of the noise against its shift gives at most the charged divergence, in RDP and in zCDP."""
    with mp.workdps(40):
        a = mp.mpf(order)
        if isinstance(event, DiscreteGaussian):
            shift, sigma = int(event.l2_sensitivity), mp.mpf(str(event.sigma))
            law = _discrete(lambda x: mp.exp(-(mp.mpf(x) ** 2) / (2 * sigma**2)), 80)
        else:
            shift, scale = int(event.l1_sensitivity), mp.mpf(str(event.scale))
            law = _discrete(lambda x: mp.exp(-abs(mp.mpf(x)) / scale), 400)
        inside = [x for x in law if x - shift in law]
        truth = mp.log(mp.fsum(law[x] ** a * law[x - shift] ** (1 - a) for x in inside)) / (a - 1)
        charged: Any = loss_for(event, In("rdp", (Decimal(order),)))
        rho: Any = loss_for(event, In("zcdp"))
        assert truth <= mp.mpf(str(charged.epsilons[0])) * (1 + mp.mpf("1e-12"))
        assert truth <= mp.mpf(str(rho.rho)) * a * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize("ratio", ["0.1", "1", "4"])
def test_laplace_noise_is_charged_its_own_constants(ratio: str) -> None:
    """In RDP the divergence by integration, in zCDP its limit at order 1; less than a general epsilon-DP query."""
    event = Laplace(1, ratio)
    with mp.workdps(30):
        e = mp.mpf(ratio)
        for order in ("1.5", "2", "8"):
            a = mp.mpf(order)
            inside = mp.quad(lambda x, a=a: mp.exp(-a * abs(x) - (1 - a) * abs(x - e)) / 2, [-mp.inf, 0, e, mp.inf])
            truth = mp.log(inside) / (a - 1)
            charged: Any = loss_for(event, In("rdp", (Decimal(order),)))
            assert mp.almosteq(mp.mpf(str(charged.epsilons[0])), truth, rel_eps=mp.mpf("1e-15"))
        rho: Any = loss_for(event, In("zcdp"))
        assert mp.almosteq(mp.mpf(str(rho.rho)), e + mp.exp(-e) - 1, rel_eps=mp.mpf("1e-20"))
    general: Any = loss_for(RandomizedResponse(ratio), In("zcdp"))
    assert rho.rho < general.rho


@settings(max_examples=40, deadline=None)
@given(leaf, st.sampled_from(NOTIONS))
def test_more_noise_never_costs_more(event: Any, notion: str) -> None:
    """Doubling the noise of a mechanism does not raise its price in any notion."""
    field = "sigma" if hasattr(event, "sigma") else "scale" if hasattr(event, "scale") else "epsilon"
    value = getattr(event, field)
    kinder = type(event)(**{**_fields(event), field: value / 2 if field == "epsilon" else value * 2})
    try:
        more: Any = loss_for(event, In(notion), delta="1e-6")
    except NoGuaranteeError:
        return
    less: Any = loss_for(kinder, In(notion), delta="1e-6")
    for name in ("epsilon", "rho", "mu"):
        assert getattr(less, name, 0) <= getattr(more, name, 0)
    assert all(a <= b for a, b in zip(getattr(less, "epsilons", ()), getattr(more, "epsilons", ()), strict=True))


def _fields(event: Any) -> dict[str, Any]:
    return {name: getattr(event, name) for name in type(event).__dataclass_fields__ if name != "kind"}
