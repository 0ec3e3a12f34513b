"""Every offered odometer against the optimal analyst: no strategy crosses a reading more often than stated.

The analyst plays against the filters' own code, the readings are the odometers' own code, and the crossing may happen
at any time. Where an odometer is read for rounds that may fail, the statement about stopped runs is attacked instead.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from menus import failing_menu, gaussian_menu, pure_menu

from dosimeter.adaptive.filters import RDPCurveFilter, RDPFilter, RogersFilter, ZCDPFilter
from dosimeter.adaptive.game import (
    Box,
    Rule,
    budget_rule,
    filter_rule,
    randomized_response,
    restrict,
    worst_crossing,
    worst_delta,
)
from dosimeter.adaptive.odometers import (
    ODOMETER_KINDS,
    FilterOdometer,
    MixtureOdometer,
    ProbabilisticOdometer,
    ProbabilisticRecord,
    RDPMixtureOdometer,
    RDPOdometer,
    RogersOdometer,
    StitchedOdometer,
    StoppedRunOdometer,
    UnionOdometer,
)
from dosimeter.notions import ProbabilisticDP

D = Decimal
F = Fraction
BASE = F(11, 10)
COARSE = F(6, 5)
ORDERS = (D(2), D(4), D(16))
SHARE = D("0.05")
LINE = FilterOdometer(SHARE, D("0.1"))
MIXTURE = MixtureOdometer(SHARE, D("0.03"))
STITCHED = StitchedOdometer(SHARE, D("0.03"))
PARTS = (
    FilterOdometer(D("0.016"), D("0.1")),
    MixtureOdometer(D("0.016"), D("0.03")),
    StitchedOdometer(D("0.016"), D("0.03")),
)

ZCDP_RESPONSES = filter_rule(ZCDPFilter(rho="0.27"), pure_menu(BASE, (1, 2, 3), "zcdp"))
FEWER = filter_rule(ZCDPFilter(rho="0.18"), pure_menu(BASE, (1, 2, 3), "zcdp"))
ZCDP_GAUSSIANS = filter_rule(ZCDPFilter(rho="0.4"), gaussian_menu(BASE, ("0.15", "0.2", "0.3"), "zcdp"))
CURVE = filter_rule(
    RDPCurveFilter(orders=ORDERS, epsilons=("0.6", "1.2", "5")), pure_menu(BASE, (1, 2, 3), "rdp", ORDERS)
)
ORDER = filter_rule(RDPFilter(order="4", epsilon="1.2"), pure_menu(BASE, (1, 2, 3), "rdp", (D(4),)))
ROGERS = filter_rule(RogersFilter(epsilon="5", delta="0.05"), pure_menu(COARSE, (1, 2, 3), "approx"))

# odometer, rule, base, and the share of its crossing probability that the adversary must reach at least
ATTACKS: dict[str, tuple[Any, Rule[Any], Fraction, float]] = {
    "filter": (LINE, ZCDP_RESPONSES, BASE, 0.55),
    "filter, Gaussian": (LINE, ZCDP_GAUSSIANS, BASE, 0.4),
    "mixture": (MIXTURE, ZCDP_RESPONSES, BASE, 0.3),
    "mixture, Gaussian": (MIXTURE, ZCDP_GAUSSIANS, BASE, 0.2),
    "stitched": (STITCHED, ZCDP_RESPONSES, BASE, 0.02),
    "stitched, rounded": (StitchedOdometer(SHARE, D("0.03"), "rounded"), ZCDP_RESPONSES, BASE, 0.01),
    "union": (UnionOdometer(PARTS), FEWER, BASE, 0.1),
    "union, average": (UnionOdometer(PARTS, "average"), FEWER, BASE, 0.2),
    "rdp": (RDPOdometer(SHARE, D(4)), ORDER, BASE, 0.5),
    "rdp of a curve": (RDPOdometer(SHARE, D(4), ORDERS), CURVE, BASE, 0.5),
    "rdp_mixture": (RDPMixtureOdometer(SHARE, ORDERS), CURVE, BASE, 0.4),
    "rogers": (RogersOdometer(SHARE, 1000), ROGERS, COARSE, 0.0),
}


def reading_of(odometer: Any) -> Any:
    """The odometer's reading for a state of a filter's rule, remembered."""
    known: dict[Any, Decimal] = {}

    def read(state: tuple[Any, int]) -> Decimal:
        if state[0] not in known:
            known[state[0]] = odometer.bound(state[0])
        return known[state[0]]

    return read


@pytest.mark.parametrize("name", ATTACKS)
def test_no_strategy_crosses_a_loss_odometer_more_often_than_stated(name: str) -> None:
    """The crossing probability holds against the optimal analyst, and the adversary is strong enough to come near."""
    odometer, rule, base, least = ATTACKS[name]
    worst = worst_crossing(rule, base, reading_of(odometer))
    assert worst.upper <= odometer.crossing_probability
    assert float(worst.lower / odometer.crossing_probability) >= least


def test_every_offered_odometer_was_attacked() -> None:
    """Adding an odometer without an attack fails here; computed ones are attacked beside their own tests."""
    kinds = {entry[0].kind for entry in ATTACKS.values()}
    computed = {"gaussian", "pure", "menu", "gaussian_stopped"}
    assert kinds | computed | {StoppedRunOdometer.kind, ProbabilisticOdometer.kind} == set(ODOMETER_KINDS)


# --- rounds that may fail: what holds is a statement about stopped runs


@pytest.mark.parametrize("odometer", [LINE, MIXTURE, STITCHED, UnionOdometer(PARTS)], ids=lambda o: o.kind)
def test_a_run_stopped_in_time_is_private_even_if_rounds_fail(odometer: Any) -> None:
    """Stopping before the reading passes epsilon gives (epsilon, delta)-DP with the odometer's delta."""
    filter_ = ZCDPFilter(rho="0.4", delta="0.02")
    menu = failing_menu(BASE, [(1, F(0)), (2, F(1, 200)), (0, F(1, 100)), (3, F(1, 200))], "zcdp")
    stopped = StoppedRunOdometer(odometer, D("0.02"))
    read = reading_of(stopped)
    for epsilon in (D("1"), D("1.6")):
        rule = restrict(filter_rule(filter_, menu), lambda state, e=epsilon: read(state) <= e)  # type: ignore[misc]
        worst = worst_delta(rule, BASE, epsilon)
        assert D("0.015") < worst.lower <= worst.upper <= stopped.delta


# --- rounds that keep their loss in an interval with high probability


@pytest.mark.parametrize("inner", [LINE, MIXTURE, STITCHED, UnionOdometer(PARTS)], ids=lambda o: o.kind)
def test_the_corrected_odometer_holds_for_one_sided_failures(inner: Any) -> None:
    """One-sided boxes in both directions, randomised responses that fail and pure ones, mixed as the analyst likes."""
    declared = D("0.2")
    odometer = ProbabilisticOdometer(inner, declared)
    small = F(11, 10)
    menu = [
        (one_sided(small), ProbabilisticDP(D("0.0953101798043248601"), D("0.0909090909090909091"))),
        (one_sided(small).reversed(), ProbabilisticDP(D("0.0953101798043248601"), D("0.0909090909090909091"))),
        (randomized_response(small, F(1, 100)), ProbabilisticDP(D("0.0953101798043248601"), D("0.01"))),
        (randomized_response(small**2), ProbabilisticDP(D("0.190620359608649721"))),
    ]

    def moves(state: tuple[ProbabilisticRecord, int]) -> Any:
        record, left = state
        for box, loss in menu:
            if left and record.delta + loss.delta <= declared:
                yield box, (odometer.record(record, loss), left - 1)

    worst = worst_crossing(Rule((odometer.start(), 7), moves), BASE, reading_of(odometer))
    assert worst.upper <= odometer.crossing_probability
    assert worst.lower > D("0.005")


def one_sided(odds: Fraction) -> Box:
    """Under P always '+'; under Q '+' with probability 1/odds, else an outcome that P never shows."""
    return Box(f"one-sided {odds}", ((F(1), 1 / odds), (F(0), 1 - 1 / odds)))


def test_worst_crossings_with_costs_of_epsilon_squared() -> None:
    """Steps j log 1.1, j <= 3, up to 60 units of (log 1.1)^2, delta = 0.05: 0.0282, 0.0171 and below 0.00094."""
    from dosimeter.adaptive.boundaries import line, mixture, stitched_envelope, stitched_rounded

    unit = D("0.009084030374332937")  # (log 1.1)^2, rounded down
    rule = budget_rule([(randomized_response(BASE**j), (j * j,)) for j in (1, 2, 3)], (60,))
    found = {}
    for curve, par in ((line, "0.1"), (mixture, "0.03"), (stitched_rounded, "0.03"), (stitched_envelope, "0.03")):
        worst = worst_crossing(rule, BASE, lambda left, u=curve, p=par: u(unit * (60 - left[0]), "0.05", p))  # type: ignore[misc]
        assert worst.upper <= D("0.05")
        found[curve.__name__] = float(worst.upper)
    assert round(found["line"], 4) == 0.0282
    assert round(found["mixture"], 4) == 0.0171
    assert round(found["stitched_rounded"], 5) == 0.00094
    assert found["stitched_rounded"] <= found["stitched_envelope"] < 0.01
