"""What a declared pair costs in every notion: never below the pair, and close to it, by other routes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import pytest
from tests.ledger.ledger_world import RELATION, open_account

from dosimeter.accounting import least_noise, loss_for
from dosimeter.accounting.groups import for_group
from dosimeter.adaptive.filters import (
    Admitted,
    ApproxFilter,
    GDPFilter,
    PlanResidueFilter,
    PureFilter,
    RDPFilter,
    ResidueFilter,
    ZCDPFilter,
)
from dosimeter.composition import best
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import DeclaredPair, FixedSizeSampled, Gaussian, Laplace, PoissonSampled, Repeated, event_to_json
from dosimeter.interop.planfile import parse_plan
from dosimeter.ledger import Ledger, Request, Reserved
from dosimeter.notions.profiles.pairs import good_part, zcdp_of_pair
from dosimeter.pld.accountant import Accountant
from dosimeter.stores import MemoryStore

D = Decimal
F = Fraction


class In:
    def __init__(self, notion: str) -> None:
        self.notion = notion
        self.orders = (D("1.25"), D(2), D(16))


def gaussian_like(mu: float, outcomes: int) -> DeclaredPair:
    """Gaussian noise cut into cells."""
    edges = [-mp.inf, *(mp.mpf(-6) + mp.mpf(12 * i) / (outcomes - 2) for i in range(outcomes - 1)), mp.inf]
    mp.mp.dps, before = 40, mp.mp.dps
    cells = [(mp.ncdf(b - mu) - mp.ncdf(a - mu), mp.ncdf(b) - mp.ncdf(a)) for a, b in pairwise(edges)]
    laws = []
    for k in (0, 1):
        scaled = [int(cell[k] * 10**30) for cell in cells]
        scaled[outcomes // 2] += 10**30 - sum(scaled)
        laws.append(tuple(F(value, 10**30) for value in scaled))
    mp.mp.dps = before
    return DeclaredPair(*laws, "Gaussian noise in cells")


LOPSIDED = DeclaredPair(("0.53", "0.27", "0.2"), ("0.5", "0.3", "0.2"), "skewed")
FAILING = DeclaredPair(("0.53", "0.469999", "1e-6", "0"), ("0.5", "0.499998", "0", "2e-6"), "may fail")
RARE = DeclaredPair(("0.999", "0.001"), ("0.99999", "0.00001"), "a rare, large loss")
FINE = gaussian_like(0.3, 200)
PAIRS = [LOPSIDED, FAILING, RARE, FINE]


def divergence(p: Any, q: Any, order: Any) -> mp.mpf:
    both = zip(p, q, strict=True)
    total = mp.fsum(mp.mpf(a.numerator) / a.denominator * mp.exp(
        (order - 1) * mp.log(mp.mpf((a / b).numerator) / (a / b).denominator)) for a, b in both)  # fmt: skip
    return mp.log(total) / (order - 1)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.reason)
def test_renyi_and_zcdp_losses_bound_every_order_in_both_directions(pair: DeclaredPair) -> None:
    """At orders from 1.001 to 1000 no divergence is above what is charged, and rho is within 0.3 % of the largest."""
    good = good_part(pair.with_record, pair.without_record)
    rdp, zcdp = loss_for(pair, In("rdp")), loss_for(pair, In("zcdp"))
    with mp.workdps(40):

        def ratio(away: float) -> mp.mpf:
            order = 1 + mp.mpf(10) ** away
            return max(divergence(good.p, good.q, order), divergence(good.q, good.p, order)) / order

        places = [k / 4 for k in range(-12, 13)]
        ratios = [ratio(away) for away in places]
        best = places[ratios.index(max(ratios))]
        ratios += [ratio(best + k / 48) for k in range(-12, 13)]
        assert max(ratios) <= mp.mpf(str(zcdp.rho))  # type: ignore[union-attr]
        for order, charged in zip(rdp.orders, rdp.epsilons, strict=True):  # type: ignore[union-attr]
            own = mp.mpf(str(order))
            true = max(divergence(good.p, good.q, own), divergence(good.q, good.p, own))
            assert true <= mp.mpf(str(charged)) <= true * (1 + mp.mpf("1e-8"))
    assert float(zcdp.rho) <= float(max(ratios)) * 1.003  # type: ignore[union-attr]
    assert rdp.delta == zcdp.delta == D(str(float(max(pair.infinite))))  # type: ignore[union-attr]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.reason)
def test_the_gaussian_curve_lies_below_the_trade_off_of_the_pair(pair: DeclaredPair) -> None:
    """By likelihood-ratio tests in mpmath: no test separates the good pair better than mu, and mu is not too large."""
    good = good_part(pair.with_record, pair.without_record)
    with mp.workdps(40):
        mu = mp.mpf(str(loss_for(pair, In("gdp")).mu))  # type: ignore[union-attr]
    ordered = sorted(zip(good.p, good.q, strict=True), key=lambda ab: ab[0] / ab[1])
    x, miss, closest = F(0), F(1), mp.mpf(1)
    for a, b in ordered[:-1]:
        x, miss = x + a, miss - b
        with mp.workdps(40):
            missed, error = (mp.mpf(v.numerator) / v.denominator for v in (miss, x))
            least = mp.ncdf(-mu - mp.sqrt(2) * mp.erfinv(2 * error - 1))
            assert missed >= least * (1 - mp.mpf("1e-20"))
            closest = min(closest, missed / least - 1)
    assert closest < 1e-9


def test_mu_of_fine_cells_is_that_of_the_noise() -> None:
    """Cut into 200 cells, Gaussian noise of mu 0.3 is at most 0.3-GDP, and nearly so; its rho is at most 0.045."""
    assert D("0.297") < loss_for(FINE, In("gdp")).mu <= D("0.3")  # type: ignore[union-attr]
    assert D("0.0446") < loss_for(FINE, In("zcdp")).rho <= D("0.04505")  # type: ignore[union-attr]


def test_pure_takes_the_largest_loss_and_no_infinite_one() -> None:
    """epsilon is log(53/50) or log(30/27), whichever is larger; a pair that may fail is refused with the reason."""
    assert float(loss_for(LOPSIDED, In("pure")).epsilon) == pytest.approx(math.log(30 / 27), rel=1e-15)  # type: ignore[union-attr]
    with pytest.raises(NoGuaranteeError, match=r"infinite with probability .*; use"):
        loss_for(FAILING, In("pure"))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.reason)
def test_epsilon_at_a_delta_is_exact(pair: DeclaredPair) -> None:
    """At the epsilon that is charged the divergence is delta, or epsilon is 0; else the largest loss counts."""
    own = loss_for(pair, In("approx"))
    assert own.delta == D(str(float(max(pair.infinite))))  # type: ignore[union-attr]
    loss = loss_for(pair, In("approx"), delta="0.001")
    assert loss.epsilon <= own.epsilon  # type: ignore[union-attr]
    delta = F(loss.delta)  # type: ignore[union-attr]
    with mp.workdps(40):
        g = mp.exp(mp.mpf(str(loss.epsilon)))  # type: ignore[union-attr]
        both = [
            mp.fsum(max(mp.mpf(0), mp.mpf(a.numerator) / a.denominator - g * b.numerator / b.denominator)
                    for a, b in zip(p, q, strict=True))
            for p, q in ((pair.with_record, pair.without_record), (pair.without_record, pair.with_record))
        ]  # fmt: skip
        assert max(both) <= mp.mpf(delta.numerator) / delta.denominator
        if loss.epsilon:  # type: ignore[union-attr]
            assert max(both) == pytest.approx(mp.mpf(delta.numerator) / delta.denominator, rel=1e-12)


def test_many_runs_at_a_delta_cost_less_than_the_sum_of_epsilons() -> None:
    """A thousand runs are folded in zCDP or Renyi DP before they are converted, and stay above the exact price."""
    many = Repeated(LOPSIDED, 1000)
    folded, added = loss_for(many, In("approx"), delta="1e-6"), loss_for(many, In("approx"))
    assert folded.epsilon < added.epsilon / 5  # type: ignore[union-attr]
    accountant = Accountant()
    accountant.append(LOPSIDED, 1000)
    assert accountant.epsilon("1e-6").upper <= folded.epsilon  # type: ignore[union-attr]


FILTERS: list[Any] = [
    PureFilter(1),
    ApproxFilter("1", "1e-5", "5e-6"),
    ZCDPFilter("0.5", "1e-5"),
    RDPFilter(8, 1, "1e-5"),
    GDPFilter(1, "1e-5"),
    ResidueFilter("1", "1e-5", "5e-6", 10),
    PlanResidueFilter([(Gaussian(10), 100)], "6", "1e-5", "1e-6", 10),
    PlanResidueFilter([(LOPSIDED, 100)], "6", "1e-5"),
]


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.kind)
def test_every_filter_admits_it_and_the_ledger_keeps_and_proves_it(rule: Any) -> None:
    """Charged, stored as JSON, audited; the statement says for ever that it was declared, and why."""
    book = Ledger(MemoryStore())
    account = open_account(book, filter=rule)
    outcome = book.reserve(account, Request("q1", LOPSIDED, RELATION, "ab", "a third party's table"))
    assert isinstance(outcome, Reserved)
    report = book.audit(account)
    assert report.ok, report.message()
    entry = book.statement(account).entries[0]
    assert entry.event == event_to_json(LOPSIDED)
    assert entry.declared_reasons == ("skewed",)


def test_residue_charges_follow_the_shape_and_not_the_worst_case() -> None:
    """The Gaussian budget pays about the variance of the loss: fine cells about mu^2, far below their largest loss."""
    rule = ResidueFilter("4", "1e-5", "1e-6", 10)
    price = loss_for(FINE, rule)
    assert 0.9 * 0.09 < float(price.cheapest) < 1.05 * 0.09  # type: ignore[union-attr]
    assert isinstance(rule.admit(rule.start(), price), Admitted)
    planned = PlanResidueFilter([(FINE, 30)], "9", "1e-5")
    assert loss_for(FINE, planned).charges == (D(1),)  # type: ignore[union-attr]
    tight = Accountant()
    tight.append(FINE, 30)
    least = PlanResidueFilter.smallest_epsilon([(FINE, 30)], "1e-5", 0)
    assert tight.epsilon("1e-5").upper <= least <= tight.epsilon("1e-5").upper * D("1.002") + D("1e-4")


@pytest.mark.parametrize("notion", ["zcdp", "rdp", "gdp", "approx", "residue"])
def test_sampling_a_pair_is_never_dearer_than_the_pair(notion: str) -> None:
    """Poisson samples and fixed batches of a lopsided pair are priced, and amplified where a theorem allows."""
    for sample, relation in (
        (PoissonSampled("0.1", LOPSIDED), "add_remove"),
        (FixedSizeSampled(10, 100, LOPSIDED), "replace_one"),
    ):
        whole: Any = loss_for(LOPSIDED, In(notion), delta="1e-5")
        part: Any = loss_for(sample, In(notion), delta="1e-5", relation=relation)
        name = {"zcdp": "rho", "rdp": "epsilons", "gdp": "mu", "approx": "epsilon", "residue": "cheapest"}[notion]
        assert getattr(part, name) < getattr(whole, name)


def test_a_sampled_pair_costs_what_its_exact_law_costs_at_least() -> None:
    """Renyi losses of a Poisson sample are not below the exact divergences of the sampled pair, removing and adding."""
    q = F(1, 10)
    mixed = [q * a + (1 - q) * b for a, b in zip(LOPSIDED.with_record, LOPSIDED.without_record, strict=True)]
    loss: Any = loss_for(PoissonSampled("0.1", LOPSIDED), In("rdp"), relation="add_remove")
    for order, charged in zip(loss.orders, loss.epsilons, strict=True):
        own = mp.mpf(str(order))
        true = max(divergence(mixed, LOPSIDED.without_record, own), divergence(LOPSIDED.without_record, mixed, own))
        assert true <= mp.mpf(str(charged))


def test_a_pair_in_a_plan_file_a_group_and_a_comparison() -> None:
    """The exact JSON form is a step of a plan file; groups go by its epsilon; theorems know its rho and mu."""
    step = {"event": event_to_json(LOPSIDED), "count": 3}
    plan = parse_plan({"relation": "add_remove", "delta": "1e-6", "steps": [step]})
    assert plan.steps[0].event == LOPSIDED
    assert parse_plan(plan.to_json()) == plan
    grown: Any = loss_for(for_group(LOPSIDED, size=3), In("pure"))
    assert float(grown.epsilon) == pytest.approx(3 * math.log(30 / 27))
    names = {one.theorem for one in best([(LOPSIDED, 100)], "1e-6").considered if one.epsilon is not None}
    assert {"gdp_sum", "zcdp_sum"} <= names
    assert least_noise(Repeated(LOPSIDED, 10**6), ZCDPFilter("0.1"), ZCDPFilter("0.1").start()) is None


def test_a_rho_found_from_few_outcomes_is_that_of_randomized_response() -> None:
    """e tanh(e/2) for the symmetric pair of two outcomes, within a thousandth; Laplace's noise costs less than it."""
    with_record, without = (F(3, 5), F(2, 5)), (F(2, 5), F(3, 5))
    e = math.log(1.5)
    assert e * math.tanh(e / 2) / 2 <= float(zcdp_of_pair(with_record, without)) <= e * math.tanh(e / 2) * 1.001
    assert loss_for(Laplace(2), In("zcdp")).rho > 0  # type: ignore[union-attr]
