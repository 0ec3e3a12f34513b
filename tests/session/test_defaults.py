"""A budget in a person's words becomes the filter and the odometer it should."""

from decimal import Decimal
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.adaptive.filters import (
    Admitted,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    MenuFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RDPFilter,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
)
from dosimeter.adaptive.odometers import MixtureOdometer, StoppedRunOdometer
from dosimeter.errors import InputError
from dosimeter.events import RandomizedResponse
from dosimeter.session.defaults import filter_for, odometers_for


@pytest.mark.parametrize(
    ("budget", "rule"),
    [
        ({"epsilon": "1", "delta": "1e-6"}, ApproxFilter(Decimal(1), Decimal("1e-6"))),
        ({"epsilon": "1"}, PureFilter(Decimal(1))),
        ({"rho": "0.5"}, ZCDPFilter(Decimal("0.5"))),
        ({"rho": "0.5", "delta": "1e-9"}, ZCDPFilter(Decimal("0.5"), Decimal("1e-9"))),
        ({"mu": "1"}, GDPFilter(Decimal(1))),
    ],
)
def test_a_budget_names_its_filter(budget: dict[str, Any], rule: object) -> None:
    """Each form of a budget opens the filter of its notion; (epsilon, delta) the recommended one."""
    assert filter_for(**budget) == rule


@pytest.mark.parametrize(
    "budget",
    [
        {},
        {"delta": "1e-6"},
        {"epsilon": "1", "rho": "1"},
        {"epsilon": "1", "delta": "1"},
        {"epsilon": "1", "delta": "2"},
        {"epsilon": "NaN", "delta": "1e-6"},
        {"epsilon": "0", "delta": "1e-6"},
        {"epsilon": "-1"},
        {"epsilon": "1e-400"},
        {"rho": "1e400"},
        {"mu": "0,1"},
        {"mu": "inf"},
    ],
)
def test_what_is_not_a_budget_is_refused(budget: dict[str, Any]) -> None:
    """No budget, two budgets, and numbers that are none: an error that says what to give."""
    with pytest.raises(InputError):
        filter_for(**budget)


RULES: list[Any] = [
    ApproxFilter(Decimal(1), Decimal("1e-6")),
    ApproxFilter(Decimal(1), Decimal("1e-6"), Decimal("1e-7")),
    PublishedApproxFilter(Decimal(1), Decimal("1e-6")),
    PureFilter(Decimal(1)),
    BasicFilter(Decimal(1), Decimal("1e-6")),
    ZCDPFilter(Decimal("0.1")),
    ZCDPFilter(Decimal("0.1"), Decimal("1e-7")),
    GDPFilter(Decimal(1)),
    RDPFilter(Decimal(8), Decimal(1)),
    RDPCurveFilter((Decimal(2), Decimal(8)), (Decimal(1), Decimal(2))),
    WeightedRDPFilter(Decimal(2), Decimal("1e-6"), (Decimal(8), Decimal(16))),
    RogersFilter(Decimal(1), Decimal("1e-6")),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_the_default_odometer_reads_the_filter(rule: Any) -> None:
    """Every filter gets an odometer that reads its first state, or none; a declared delta gets no loss bound."""
    for odometer in odometers_for(rule):
        assert odometer.bound(rule.start()) > 0
        declared = Decimal(rule.budget().get("delta", "0"))
        assert (odometer.semantics == "dp") == (declared > 0)


def test_a_menu_gets_an_odometer_for_its_whole_budget() -> None:
    """Tuned where the units run out; where entries may fail, read for stopped runs and all failures they can buy."""
    whole = MenuFilter.of("1", "1e-5", [RandomizedResponse("0.1")])
    (plain,) = odometers_for(whole)
    assert plain == MixtureOdometer.tuned(delta=Decimal("1e-5"), intrinsic_time=whole.whole_time)
    failing = MenuFilter.of("1", "1e-5", [RandomizedResponse("0.1"), RandomizedResponse("0.2", "1e-7")])
    (careful,) = odometers_for(failing)
    assert isinstance(careful, StoppedRunOdometer)
    assert careful.declared_delta == failing.failures > 0
    answer = failing.admit(failing.start(), loss_for(RandomizedResponse("0.2", "1e-7"), failing))
    assert isinstance(answer, Admitted)
    assert 0 < careful.bound(answer.state) < 2
    assert careful.delta <= failing.delta * (1 + Decimal("1e-9"))
