"""What sampled events cost in every notion; no account takes one under a relation its scheme is silent about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting import NOTIONS, loss_for
from dosimeter.accounting.amplification import amplified_epsilon
from dosimeter.accounting.renyi_sampling import poisson_gaussian_renyi
from dosimeter.accounting.sampling import sampled_delta, sampled_epsilon
from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import RDPCurveFilter, RDPFilter, WeightedRDPFilter, ZCDPFilter
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    Declared,
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
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.profiles import gaussian_delta, zcdp_delta
from dosimeter.notions.profiles.finite import hockey_stick

ORDERS = (Decimal("1.5"), Decimal(2), Decimal(8), Decimal("20.5"))


@dataclass(frozen=True)
class In:
    """A stand-in for a filter: pricing needs a notion and, for Renyi, orders."""

    notion: str
    orders: tuple[Decimal, ...] = ORDERS


def cost(event: Event, notion: str, delta: Any = None) -> Any:
    """The price under the one relation, or one of the two, that the event speaks of."""
    return loss_for(event, In(notion), delta=delta, relation=min(relations_of(event)))


SIMPLE: tuple[Event, ...] = (
    Gaussian(2),
    Laplace(2),
    DiscreteGaussian(2),
    DiscreteLaplace(2),
    RandomizedResponse(1),
    Declared(ZCDP("0.1"), "x"),
    Declared(RDP(("1.5", 2, 8, 32), ("0.1", "0.2", 1, 4)), "x"),
    Declared(GDP("0.3", "1e-7"), "x"),
    Composed((Gaussian(3), Repeated(Laplace(5), 2))),
)


# -- relations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("notion", sorted(set(NOTIONS) - {"menu"}))
def test_a_scheme_is_never_charged_under_another_relation(notion: str) -> None:
    """Poisson under replace-one, batches under add or remove: refused by name, whatever the notion."""
    poisson, batch = PoissonSampled("0.01", Laplace(1)), FixedSizeSampled(10, 1000, Laplace(1))
    for event, relation in ((poisson, "replace_one"), (batch, "add_remove"), (batch, "zero_out")):
        for wrapped in (event, Repeated(event, 3), Composed((Laplace(1), event))):
            with pytest.raises(NotionError, match=event.kind):
                loss_for(wrapped, In(notion), delta="1e-6", relation=relation)
    assert loss_for(poisson, In(notion), delta="1e-6", relation="zero_out").notion == notion
    assert loss_for(batch, In(notion), delta="1e-6", relation="replace_one").notion == notion


def test_without_a_relation_only_unsampled_events_have_a_price() -> None:
    """Nobody gets a sampled price by forgetting to say for whom; mixed schemes have none at all."""
    assert loss_for(Gaussian(1), In("zcdp")) == loss_for(Gaussian(1), In("zcdp"), relation="replace_one")
    with pytest.raises(NotionError, match="relation="):
        loss_for(PoissonSampled("0.1", Gaussian(1)), In("rdp"))
    mixed = Composed((PoissonSampled("0.1", Gaussian(1)), FixedSizeSampled(1, 9, Gaussian(1))))
    for relation in (None, "add_remove", "replace_one", "zero_out"):
        with pytest.raises(NotionError, match="different neighbours"):
            loss_for(mixed, In("rdp"), relation=relation)
    with pytest.raises(InputError, match="unknown"):
        loss_for(Gaussian(1), In("zcdp"), relation="neighbours")


# -- Renyi ----------------------------------------------------------------------------------------------------------


def test_gaussian_steps_are_exact_and_add_up() -> None:
    """A thousand steps of DP-SGD cost a thousand times the enclosed divergence at every order."""
    step = PoissonSampled("0.01", Gaussian("0.8"))
    loss = cost(Repeated(step, 1000), "rdp")
    for order, epsilon in zip(loss.orders, loss.epsilons, strict=True):
        one = poisson_gaussian_renyi(sampling_probability="0.01", noise_multiplier="0.8", order=order)
        assert epsilon == 1000 * one
    scaled = cost(PoissonSampled("0.01", Gaussian("0.4", "0.5")), "rdp")
    assert all(abs(a * 1000 - b) <= b * Decimal("1e-22") for a, b in zip(scaled.epsilons, loss.epsilons, strict=True))
    together = cost(PoissonSampled("0.01", Repeated(Gaussian("1.6"), 4)), "rdp")
    assert all(abs(a * 1000 - b) <= b * Decimal("1e-22") for a, b in zip(together.epsilons, loss.epsilons, strict=True))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(SIMPLE), st.sampled_from(["1e-6", "0.01", "0.4", "1"]), st.booleans())
def test_sampling_never_costs_more_than_the_base(base: Event, q: str, poisson: bool) -> None:
    """In every notion that holds the base, the sampled event holds as well and is not dearer; its failures thin out."""
    ratio = Fraction(q)
    event: Event = PoissonSampled(q, base) if poisson else FixedSizeSampled(ratio.numerator, ratio.denominator, base)
    orders = (Decimal("1.5"), Decimal(2), Decimal(8))
    for notion in ("pure", "zcdp", "gdp", "rdp"):
        try:
            whole: Any = loss_for(base, In(notion, orders))
        except NoGuaranteeError:
            with pytest.raises(NoGuaranteeError):
                loss_for(event, In(notion, orders), relation=min(relations_of(event)))
            continue
        part: Any = loss_for(event, In(notion, orders), relation=min(relations_of(event)))
        slack = 1 + Decimal("1e-20")
        names = {"pure": "epsilon", "zcdp": "rho", "gdp": "mu"}
        if notion == "rdp":
            assert all(a <= b * slack for a, b in zip(part.epsilons, whole.epsilons, strict=True))
            if q != "1" and not isinstance(base, Declared):
                assert all(a < b for a, b in zip(part.epsilons, whole.epsilons, strict=True))
        else:
            assert getattr(part, names[notion]) <= getattr(whole, names[notion]) * slack
        if notion != "pure":
            assert part.delta <= whole.delta * Decimal(q) * slack


def test_renyi_prices_hold_against_the_exact_profile() -> None:
    """The (epsilon, delta) that a Renyi price implies is never below the exact delta of the sampled pair."""
    from dosimeter.notions.convert import rdp_to_approx

    for base in (Gaussian(1), Laplace(1), DiscreteLaplace(2), RandomizedResponse(1), RandomizedResponse(1, "0.01")):
        for event in (PoissonSampled("0.1", base), FixedSizeSampled(1, 10, base)):
            loss = cost(event, "rdp")
            for level in ("0", "0.05", "0.3", "1"):
                implied = rdp_to_approx(loss, target_epsilon=level)
                assert implied.delta >= sampled_delta(event, epsilon=level) * (1 - Decimal("1e-20"))


def test_a_guarantee_at_few_orders_is_used_as_far_as_it_goes() -> None:
    """A declared curve amplifies at the orders it reaches, and is refused beyond them."""
    event = PoissonSampled("0.1", Declared(RDP((2, 8), ("0.1", "0.5"), "1e-7"), "x"))
    loss: Any = loss_for(event, In("rdp", (Decimal(2), Decimal("7.5"))), relation="add_remove")
    assert loss.epsilons[0] < Decimal("0.01")
    assert loss.delta == Decimal("1e-8")
    with pytest.raises(NoGuaranteeError, match="order 8"):
        cost(event, "rdp")
    approx = cost(event, "approx", "1e-5")
    assert approx.epsilon < Decimal("1.3")


def test_renyi_filters_take_sampled_events() -> None:
    """Fixed order, curve and weighted filters: admitted up to the budget, refused after it."""
    event = PoissonSampled("0.01", Gaussian(2))
    filters: tuple[Any, ...] = (
        RDPFilter(order=8, epsilon="0.02"),
        RDPCurveFilter(orders=(4, 8), epsilons=("0.01", "0.02")),
        WeightedRDPFilter(epsilon="1", delta="1e-5", orders=(8, 16, 24)),
    )
    for rule in filters:
        loss = loss_for(event, rule, relation="add_remove")
        state, admitted = rule.start(), 0
        while admitted < 2_000 and isinstance(decision := rule.admit(state, loss), Admitted):
            state, admitted = decision.state, admitted + 1
        assert 5 <= admitted < 2_000


# -- zCDP, GDP, pure ------------------------------------------------------------------------------------------------


def test_zcdp_and_gdp_charge_the_base_and_never_q_squared() -> None:
    """A sampled Gaussian costs an account in zCDP or GDP what the Gaussian costs, since any less would be false."""
    event = PoissonSampled("0.01", Gaussian(1))
    assert cost(event, "zcdp") == ZCDP("0.5")
    assert cost(event, "gdp") == GDP(1)
    for level in ("0.1", "1", "4"):
        assert sampled_delta(event, epsilon=level) <= gaussian_delta(1, level)
    far = sampled_delta(event, epsilon=30)
    assert far > zcdp_delta("0.25", 30)  # half the rho is already too little in the tail
    assert far > gaussian_delta("0.8", 30)  # and so is a mu below the base's
    rule = ZCDPFilter(rho=1)
    assert isinstance(rule.admit(rule.start(), loss_for(event, rule, relation="add_remove")), Admitted)


def test_pure_bases_are_amplified_everywhere() -> None:
    """log(1 + q (e^epsilon - 1)) enters pure accounts, and through its own zCDP and GDP constants the others."""
    event = PoissonSampled("0.1", Laplace(1))
    epsilon = amplified_epsilon(sampling_probability="0.1", epsilon=1)
    assert cost(event, "pure") == PureDP(epsilon)
    assert cost(event, "approx") == ApproxDP(epsilon)
    assert cost(event, "zcdp").rho <= epsilon * epsilon / 2
    assert cost(event, "gdp").mu < Decimal("0.2")
    with pytest.raises(NoGuaranteeError, match="infinite"):
        cost(PoissonSampled("0.1", Gaussian(1)), "pure")


def test_failures_thin_out_with_the_sample() -> None:
    """A base that fails with probability d fails a sample with probability q d; the good part is the sampled good part.

    Checked on the four outcomes of (epsilon, delta)-randomized response: the exact profile is within the charge's.
    """
    p, d, q = Fraction(3, 4), Fraction(1, 10), Fraction(1, 5)
    one = [d, (1 - d) * p, (1 - d) * (1 - p), Fraction(0)]
    zero = one[::-1]
    mixed = [(1 - q) * z + q * o for o, z in zip(one, zero, strict=True)]
    event = PoissonSampled("0.2", RandomizedResponse("1.0986122886681098", "0.1"))
    loss = cost(event, "zcdp")
    assert loss.delta == Decimal("0.02")
    for level in ("0", "0.1", "0.3", "1", "2"):
        good = zcdp_delta(loss.rho, level)
        charged = loss.delta + (1 - loss.delta) * good
        for pair in ((mixed, zero), (zero, mixed)):
            exact = hockey_stick(*pair, level)
            assert exact <= charged
        assert hockey_stick(mixed, zero, level) <= sampled_delta(event, epsilon=level) + Decimal("1e-15")


# -- (epsilon, delta) -----------------------------------------------------------------------------------------------


def test_one_release_is_stated_by_its_exact_profile() -> None:
    """No Renyi detour for a single sampled release."""
    for event in (PoissonSampled("0.01", Gaussian(1)), FixedSizeSampled(10, 1000, Gaussian(4, 2))):
        assert cost(event, "approx", "1e-6").epsilon == sampled_epsilon(event, delta="1e-6")
    drawn = WithReplacementSampled(10, 1000, Gaussian(4, 2))
    assert cost(drawn, "approx", "1e-6").epsilon == sampled_epsilon(drawn, delta="1e-6")
    with pytest.raises(NoGuaranteeError, match="delta="):
        cost(PoissonSampled("0.01", Gaussian(1)), "approx")


@pytest.mark.parametrize(
    ("q", "sigma", "steps", "delta", "truth"),
    [
        ("1/60", "1.3", 900, "1e-5", "1.8915185117"),
        ("0.2", "1", 10, "1e-5", "4.98421339871"),
        ("0.01", "0.8", 500, "1e-5", "2.39943715402"),
        ("0.01", "0.8", 1000, "1e-5", "3.14101413945"),
        ("0.01", "1", 300, "1e-5", "1.068091114"),
        ("0.001", "1", 1_000_000, "1e-6", "6.69427265972"),
    ],
)
def test_long_runs_are_priced_above_the_truth_and_near_it(
    q: str, sigma: str, steps: int, delta: str, truth: str
) -> None:
    """The price of a fixed training plan by Renyi sums is never below the exact epsilon, and within 40% of it."""
    from dosimeter.accounting.batches import sampled_event

    step = sampled_event(Gaussian(sigma), batching="poisson", relation="add_remove", probability=q)
    epsilon = cost(Repeated(step, steps), "approx", delta).epsilon
    assert Decimal(truth) < epsilon < Decimal(truth) * Decimal("1.4")


def test_equal_steps_cost_the_same_however_they_are_written() -> None:
    """Three segments of a hundred steps are three hundred steps; accumulation does not change the sampled share."""
    step = PoissonSampled("0.01", Gaussian(1))
    segments = Composed((Repeated(step, 100), Repeated(step, 100), Repeated(step, 100)))
    assert cost(segments, "approx", "1e-5") == cost(Repeated(step, 300), "approx", "1e-5")
    fine, coarse = (sampled_event_of(batch * times, 14732) for batch, times in ((4, 256), (64, 16)))
    assert fine == coarse


def sampled_event_of(effective_batch: int, population: int) -> Event:
    """A step whose share is what is averaged in one update, not in one forward pass."""
    return PoissonSampled(Decimal(effective_batch) / Decimal(population), Gaussian(1))


def test_mixed_parts_compose() -> None:
    """Sampled and unsampled parts in one event: dearer than either alone, cheaper than forgetting the sampling."""
    step = PoissonSampled("0.01", Gaussian(1))
    both = Composed((Repeated(step, 100), Gaussian(5)))
    alone = cost(Repeated(step, 100), "approx", "1e-6").epsilon
    unsampled = cost(Composed((Repeated(Gaussian(1), 100), Gaussian(5))), "approx", "1e-6").epsilon
    assert alone < cost(both, "approx", "1e-6").epsilon < unsampled / 10


# -- schemes without amplification ----------------------------------------------------------------------------------


def test_random_allocation_is_charged_as_if_the_steps_were_known() -> None:
    """In zCDP, Gaussian and pure DP: sound, and not amplified. A pass of 100 steps costs `selected` events there."""
    event = RandomAllocation(100, 2, Gaussian(2))
    assert cost(event, "zcdp") == ZCDP("0.25")
    assert cost(event, "gdp").mu ** 2 == pytest.approx(Decimal("0.5"))
    assert cost(RandomAllocation(100, 3, Laplace(10)), "pure") == PureDP("0.3")
    assert cost(RandomAllocation(100, 3, Laplace(10)), "rdp") == cost(Repeated(Laplace(10), 3), "rdp")
    assert all(e < order / 4 for e, order in zip(cost(event, "rdp").epsilons, ORDERS, strict=True))


def test_draws_with_replacement_need_groups() -> None:
    """A pure epsilon for groups is charged without any failure; other bases for as many hits as are not rare."""
    pure = WithReplacementSampled(10, 1000, Laplace(10))
    for notion in ("pure", "zcdp", "gdp", "rdp", "approx"):
        assert cost(pure, notion, "1e-6").notion == notion
    drawn = WithReplacementSampled(10, 1000, Gaussian(4))
    with pytest.raises(NoGuaranteeError, match="several times"):
        cost(drawn, "pure")
    rho, mu, curve = (cost(drawn, notion) for notion in ("zcdp", "gdp", "rdp"))
    hits = math.isqrt(int(rho.rho * 32))
    assert (rho.rho, mu.mu) == (Decimal(hits**2) / 32, Decimal(hits) / 4)  # the base's rho is 1/32
    assert 0 < rho.delta == mu.delta == curve.delta < Decimal("1e-15")
    beyond = sum(math.comb(10, j) * 0.001**j * 0.999 ** (10 - j) for j in range(hits + 1, 11))
    assert math.isclose(float(rho.delta), beyond, rel_tol=1e-9)
    batch = cost(FixedSizeSampled(10, 1000, Gaussian(4)), "rdp")
    assert all(a > b for a, b in zip(curve.epsilons, batch.epsilons, strict=True))
    assert curve.epsilons[0] < batch.epsilons[0] * Decimal("1.1")
    everything = WithReplacementSampled(3, 1, Gaussian(4))  # one record, drawn three times
    assert cost(everything, "zcdp") == ZCDP(Decimal(9) / 32)
    assert cost(WithReplacementSampled(10, 1000, Declared(ZCDP("0.1"), "x")), "approx", "1e-6").delta == Decimal("1e-6")
    with pytest.raises(NoGuaranteeError, match="too often"):
        cost(WithReplacementSampled(10**6, 10, Gaussian(4)), "zcdp")
