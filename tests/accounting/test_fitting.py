"""What would fit after a refusal is admitted, and slightly less noise is not."""

from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.accounting.fitting import least_noise, widened
from dosimeter.adaptive.filters import Admitted, ApproxFilter, PlanResidueFilter, PureFilter, Refused, ResidueFilter
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
)
from dosimeter.notions import PureDP

D = Decimal
RULES: list[Any] = [
    ResidueFilter("1", "1e-6"),
    ApproxFilter("1", "1e-6"),
    PlanResidueFilter(((Laplace(20), 65),), "3.3", "1e-6", "1e-7", 3),
]
EVENTS: list[Event] = [
    Gaussian(2),
    Laplace(1),
    RandomizedResponse("1.3"),
    Repeated(DiscreteGaussian(8), 20),
    PoissonSampled("0.1", Gaussian("0.8")),
    Composed((Laplace(3), Repeated(Gaussian(9), 4))),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_what_would_fit_is_admitted_and_less_noise_is_not(event: Event, rule: Any) -> None:
    """At a state where much is spent the answer fits, and with two per cent less noise it does not."""
    state = rule.start()
    filling = loss_for(Laplace(20), rule)
    while isinstance(answer := rule.admit(state, filling, 10), Admitted):
        state = answer.state
    found = least_noise(event, rule, state, relation="add_remove")
    assert found is not None
    assert type(found) is type(event)
    assert isinstance(rule.admit(state, loss_for(found, rule, relation="add_remove")), Admitted)
    with suppress(NoGuaranteeError):  # with less noise it may have no price at all
        closer = loss_for(widened(found, D("0.98")), rule, relation="add_remove")
        assert isinstance(rule.admit(state, closer), Refused)


def test_what_fits_is_left_as_it_is() -> None:
    """An event that fits is returned unchanged."""
    rule = PureFilter("1")
    assert least_noise(Laplace(5), rule, rule.start()) == Laplace(5)


def test_nothing_fits_where_nothing_is_left_or_nothing_can_be_scaled() -> None:
    """None, instead of a search without end."""
    rule = PureFilter("1")
    spent = rule.admit(rule.start(), PureDP("1"))
    assert isinstance(spent, Admitted)
    assert least_noise(Laplace(5), rule, spent.state) is None
    assert least_noise(Declared(PureDP(2), "said so"), rule, rule.start()) is None
    with pytest.raises(InputError, match="no noise"):
        widened(Declared(PureDP(2), "said so"), D(2))
