"""From a statement to a figure: the entries are folded through the filter again, and the odometers read after each.

Pure: everything comes from the statement. The reading after an entry is the one the analyst saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import GDPState
from dosimeter.errors import DosimeterError
from dosimeter.exact import ZERO, brief_up
from dosimeter.notions import GDP, ZCDP, ApproxDP, Loss, PureDP
from dosimeter.notions.words import in_words
from dosimeter.report.figure import Curve, OdometerFigure, Query

if TYPE_CHECKING:
    from dosimeter.ledger import Account, Statement

CURVE_POINTS = 64


@dataclass(frozen=True, slots=True)
class _At:
    """A state that only an odometer reads: an intrinsic time, nothing declared."""

    intrinsic_time: Decimal
    delta: Decimal = ZERO


def odometer_figure(statement: Statement) -> OdometerFigure:
    """The figure of the current epoch: each odometer as a curve, each charged query a point, the budget a line.

    Accounts without an intrinsic time (Renyi orders only) and accounts without odometers have no curve; the figure
    then shows the budget alone.
    """
    account = statement.account
    queries: list[Query] = []
    spent, state = ZERO, account.filter.start()
    for entry in statement.entries:
        if entry.epoch != account.epoch or entry.status not in {"reserved", "settled"}:
            continue
        decision = account.filter.admit(state, entry.loss)
        if not isinstance(decision, Admitted):  # an account that was reset twice, or a damaged ledger: audit says which
            break
        state = decision.state
        spent = state.intrinsic_time if state.intrinsic_time is not None else spent
        bounds = [bound for odometer in account.odometers if (bound := _read(odometer, state)) is not None]
        if state.intrinsic_time is not None and bounds:
            label = f"{entry.description}: {in_words(entry.loss)}; epsilon so far at most {brief_up(min(bounds), 4)}"
            queries.append(Query(float(spent), float(min(bounds)), label))
    top = max(_capacity(account), spent) or Decimal(1)
    curves = []
    for odometer in account.odometers:
        times = [top * i / (CURVE_POINTS - 1) for i in range(CURVE_POINTS)]
        at = GDPState if isinstance(state, GDPState) else _At
        points = [(float(t), float(u)) for t in times if (u := _read(odometer, at(t))) is not None]
        if points:
            curves.append(Curve(_name(odometer), points))
    return OdometerFigure(curves, queries, _budget_line(account), f"{account.name}, epoch {account.epoch}")


def _read(odometer: Any, state: Any) -> Decimal | None:
    try:
        bound: Decimal = odometer.bound(state)
    except DosimeterError:  # the odometer's hypothesis does not hold for this state
        return None
    return bound


def _name(odometer: Any) -> str:
    inner = getattr(odometer, "odometer", None)
    kind = f"{odometer.kind} of {inner.kind}" if inner is not None else odometer.kind
    probability = getattr(odometer, "crossing_probability", None) or getattr(odometer, "delta", None)
    return f"{kind} odometer" + (f", fails with probability at most {brief_up(probability, 3)}" if probability else "")


def _capacity(account: Account) -> Decimal:
    """The intrinsic time at which the filter is exhausted, where it has one."""
    caps = account.filter.budget()
    if (whole := getattr(account.filter, "whole_time", None)) is not None:  # of a plan, or a menu
        return Decimal(whole)
    if "rho" in caps:
        return 2 * Decimal(caps["rho"])
    for name in ("mu_squared", "intrinsic_time", "sum_of_squares"):
        if name in caps:
            return Decimal(caps[name])
    return ZERO


def _budget_line(account: Account) -> float | None:
    """The budget as an epsilon, at the account's own delta or, for zCDP and Gaussian DP, at an odometer's."""
    from dosimeter.notions.convert import gdp_to_approx, zcdp_to_approx

    guarantee: Loss = account.filter.guarantee()
    if isinstance(guarantee, PureDP | ApproxDP):
        return float(guarantee.epsilon)
    deltas = [d for o in account.odometers if (d := getattr(o, "crossing_probability", None)) is not None]
    if not deltas or not isinstance(guarantee, ZCDP | GDP) or guarantee.delta >= max(deltas):
        return None
    if isinstance(guarantee, ZCDP):
        return float(zcdp_to_approx(guarantee, target_delta=max(deltas)).epsilon)
    return float(gdp_to_approx(guarantee, target_delta=max(deltas)).epsilon)
