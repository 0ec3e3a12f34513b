"""Measurements of OpenDP become declared events; budgets of Tumult become guarantees, and back."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any

import opendp.prelude as dp
import pytest

from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.interop import from_opendp, from_tumult, to_tumult
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP


@pytest.fixture(scope="module")
def count() -> Any:
    """A count of integers under the symmetric distance, and what can be chained to it."""
    dp.enable_features("contrib")
    rows = dp.vector_domain(dp.atom_domain(T=int))
    return dp.t.make_count(rows, dp.symmetric_distance())


def test_measurements_are_read_at_the_distance_of_the_relation(count: Any) -> None:
    """One unit added is distance 1, one replaced is distance 2, three rows of a user are three times that."""
    pure = count >> dp.m.then_laplace(scale=2.0)
    read = from_opendp(pure, relation="add_remove")
    assert isinstance(read.loss, PureDP)
    assert Fraction(1, 2) <= Fraction(read.loss.epsilon) < Fraction(1, 2) + Fraction(1, 10**12)
    replaced = from_opendp(pure, relation="replace_one", units=3, reason="an audited release")
    assert Fraction(replaced.loss.epsilon) >= 3
    assert replaced.reason == "an audited release"
    rho = from_opendp(count >> dp.m.then_gaussian(scale=2.0), relation="add_remove").loss
    assert isinstance(rho, ZCDP)
    assert Fraction(1, 8) <= Fraction(rho.rho) < Fraction(1, 8) + Fraction(1, 10**12)


def test_curves_are_stated_where_one_asks(count: Any) -> None:
    """A profile needs a delta; the pair is the curve's own."""
    curve = dp.c.make_zCDP_to_approxDP(count >> dp.m.then_gaussian(scale=2.0))
    with pytest.raises(NoGuaranteeError, match="delta="):
        from_opendp(curve, relation="add_remove")
    loss = from_opendp(curve, relation="add_remove", delta="1e-6").loss
    fixed = dp.c.make_fix_delta(curve, 1e-6)
    again = from_opendp(fixed, relation="add_remove").loss
    assert isinstance(loss, ApproxDP)
    assert isinstance(again, ApproxDP)
    assert loss.delta == Decimal("1e-6")
    assert abs(loss.epsilon - again.epsilon) < Decimal("1e-9")


def _measurement(metric: str, measure: str, value: Any) -> Any:
    kind = type("Measurement", (), {"input_metric": metric, "output_measure": measure, "map": lambda self, d: value})
    return kind()


def test_renyi_curves_and_approximate_zcdp() -> None:
    """Curves are read at the orders asked for, pairs with their delta."""
    curve = _measurement("SymmetricDistance()", "RenyiDivergence", lambda order: order * 0.25)
    assert from_opendp(curve, relation="add_remove", orders=(2, 8)).loss == RDP((2, 8), ("0.5", 2))
    with pytest.raises(NoGuaranteeError, match="orders="):
        from_opendp(curve, relation="add_remove")
    pair = _measurement("ChangeOneDistance()", "Approximate(ZeroConcentratedDivergence)", (0.5, 0.25))
    assert from_opendp(pair, relation="replace_one").loss == ZCDP("0.5", "0.25")


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0, "1", None, True, 1e300])
def test_maps_that_promise_nothing_are_refused(value: Any) -> None:
    """Infinite, negative and impossible losses never become an event."""
    with pytest.raises((InputError, NoGuaranteeError)):
        from_opendp(_measurement("SymmetricDistance()", "MaxDivergence", value), relation="add_remove")


def test_what_compares_no_data_sets_is_refused(count: Any) -> None:
    """A bare noise on numbers, an unknown measure, another relation, another class."""
    bare = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
    with pytest.raises(InputError, match="chain the transformation"):
        from_opendp(bare, relation="add_remove")
    with pytest.raises(NotionError, match="nothing about add_remove"):
        from_opendp(_measurement("ChangeOneDistance()", "MaxDivergence", 1.0), relation="add_remove")
    with pytest.raises(NotionError, match="nothing about zero_out"):
        from_opendp(_measurement("SymmetricDistance()", "MaxDivergence", 1.0), relation="zero_out")
    with pytest.raises(InputError, match="output measure"):
        from_opendp(_measurement("SymmetricDistance()", "RangeDivergence", 1.0), relation="add_remove")
    with pytest.raises(InputError, match="not a Measurement"):
        from_opendp(count, relation="add_remove")


class PureDPBudget(SimpleNamespace):
    """A double of Tumult's class."""


class ApproxDPBudget(SimpleNamespace):
    """A double of Tumult's class."""


class RhoZCDPBudget(SimpleNamespace):
    """A double of Tumult's class."""


def test_budgets_are_read_down() -> None:
    """Floats by their shortest form, exact ratios down, zero as zero."""
    assert from_tumult(PureDPBudget(epsilon=0.1)) == PureDP("0.1")
    assert from_tumult(ApproxDPBudget(epsilon=1, delta=1e-6)) == ApproxDP(1, "1e-6")
    assert from_tumult(RhoZCDPBudget(rho=0)) == ZCDP(0)
    third = from_tumult(RhoZCDPBudget(rho=Fraction(1, 3)))
    assert isinstance(third, ZCDP)
    assert Fraction(third.rho) < Fraction(1, 3)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1, "many", None])
def test_budgets_that_bound_nothing_are_refused(value: Any) -> None:
    """Infinite budgets exist there; here they promise nothing."""
    with pytest.raises((InputError, NoGuaranteeError)):
        from_tumult(PureDPBudget(epsilon=value))
    with pytest.raises(InputError, match="not a budget"):
        from_tumult(SimpleNamespace(epsilon=1))
    with pytest.raises(InputError, match="no field"):
        from_tumult(PureDPBudget(eps=1))


def test_budgets_are_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The float handed over is not above the guarantee; other notions and a missing library are errors."""
    with pytest.raises(InputError, match="not installed"):
        to_tumult(PureDP(1))
    package: Any = ModuleType("tmlt.analytics")
    package.PureDPBudget = lambda epsilon: PureDPBudget(epsilon=epsilon)
    package.ApproxDPBudget = lambda epsilon, delta: ApproxDPBudget(epsilon=epsilon, delta=delta)
    package.RhoZCDPBudget = lambda rho: RhoZCDPBudget(rho=rho)
    monkeypatch.setitem(sys.modules, "tmlt", ModuleType("tmlt"))
    monkeypatch.setitem(sys.modules, "tmlt.analytics", package)
    for guarantee in (PureDP("0.1"), ApproxDP("0.3", "1e-6"), ZCDP("0.7")):
        assert from_tumult(to_tumult(guarantee)) == guarantee
    assert Decimal(repr(to_tumult(PureDP("0.30000000000000000000001")).epsilon)) <= Decimal("0.30000000000000000000001")
    for other in (GDP(1), ZCDP(1, "1e-6")):
        with pytest.raises(NoGuaranteeError, match="no budget"):
            to_tumult(other)
