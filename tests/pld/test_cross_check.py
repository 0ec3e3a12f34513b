"""The second engine is asked on request, and a contradiction between the two is an error that shows both."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import EnginesDisagree, InputError, NoGuaranteeError
from dosimeter.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
    relations_of,
)
from dosimeter.exact import Bound
from dosimeter.pld import cross_check as module
from dosimeter.pld.accountant import Accountant


def account(*events: Event) -> Accountant:
    relation = "replace_one" if "add_remove" not in {r for e in events for r in relations_of(e)} else "add_remove"
    accountant = Accountant(relation)
    accountant.extend(events)
    return accountant


PLANS: list[tuple[Event, str]] = [
    (Repeated(Gaussian(20), 1000), "1e-5"),
    (Repeated(Gaussian(20), 1000), "1e-100"),
    (Repeated(PoissonSampled("0.01", Gaussian("0.8")), 1000), "1e-5"),
    (Repeated(PoissonSampled("0.1", Laplace(1)), 10), "1e-6"),
    (Repeated(RandomizedResponse("0.1", "1e-12"), 1000), "1e-6"),
    (Repeated(Laplace(10), 100), "1e-6"),
    (Repeated(DiscreteGaussian(2), 100), "1e-6"),
    (Repeated(DiscreteLaplace(10), 100), "1e-6"),
    (Repeated(FixedSizeSampled(10, 1000, Gaussian(2, 2)), 100), "1e-6"),
]


@pytest.mark.parametrize(("event", "delta"), PLANS)
def test_both_engines_allow_the_same_values(event: Event, delta: str) -> None:
    """Epsilon at a delta and delta at that epsilon: the shared interval lies in both, and is not empty."""
    accountant = account(event)
    checked = accountant.cross_check(delta)
    assert checked.saddle == accountant.epsilon(delta)
    for one in (checked.saddle, checked.tilted):
        assert one.lower <= checked.shared.lower <= checked.shared.upper <= one.upper
    assert checked.tilted.upper - checked.tilted.lower <= Decimal("1e-3") * checked.tilted.upper
    level = checked.saddle.upper
    back = accountant.cross_check(epsilon=level, accuracy="1e-2")
    assert back.shared.lower <= Decimal(delta) * (1 + Decimal("1e-6"))


@given(
    st.lists(
        st.one_of(
            st.builds(lambda s: Gaussian(Decimal(s) / 4), st.integers(4, 80)),
            st.builds(lambda s: Laplace(Decimal(s) / 4), st.integers(4, 80)),
            st.builds(lambda e: RandomizedResponse(Decimal(e) / 10), st.integers(1, 10)),
            st.builds(lambda s: PoissonSampled("0.05", Gaussian(Decimal(s) / 4)), st.integers(3, 12)),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 30),
    st.sampled_from(["1e-3", "1e-7", "1e-20"]),
)
@settings(max_examples=15, deadline=None)
def test_random_plans_never_divide_the_engines(events: list[Event], times: int, delta: str) -> None:
    """Whatever is composed, one direction or both, the two intervals meet."""
    accountant = account(*[Repeated(event, times) for event in events])
    for direction in (None, "remove", "add"):
        accountant.cross_check(delta, direction=direction, accuracy="1e-2")


def test_delta_zero_and_logarithms_are_checked_too() -> None:
    """Pure plans at delta 0, and deltas given by their logarithm."""
    pure = account(Repeated(Laplace(10), 10))
    assert pure.cross_check(0).shared == Bound(Decimal(1), Decimal(1))
    assert account(Gaussian(1)).cross_check(log10_delta=-50).shared.lower > 14


BREAK: list[Callable[[Bound], Bound]] = [
    lambda b: Bound(b.lower * Decimal("0.99"), b.upper * Decimal("0.99")),
    lambda b: Bound(b.lower * Decimal("1.01"), b.upper * Decimal("1.01")),
    lambda b: Bound(Decimal(0), b.lower / 2),
]


@pytest.mark.parametrize("broken", BREAK)
@pytest.mark.parametrize("engine", ["saddle", "tilted"])
def test_a_broken_engine_is_caught(engine: str, broken: Callable[[Bound], Bound], monkeypatch: Any) -> None:
    """The control: an engine that is off by one per cent, up or down, makes an error with both intervals in it."""
    accountant = account(Repeated(PoissonSampled("0.01", Gaussian("0.8")), 1000))
    right = accountant.cross_check("1e-5"), accountant.cross_check(epsilon=3)
    if engine == "saddle":
        for name in ("epsilon", "delta"):
            honest: Any = getattr(Accountant, name)
            monkeypatch.setattr(Accountant, name, lambda self, *a, honest=honest, **k: broken(honest(self, *a, **k)))
    else:
        for name in ("tilted_epsilon", "tilted_delta"):
            honest = getattr(module, name)
            monkeypatch.setattr(module, name, lambda *a, honest=honest, **k: broken(honest(*a, **k)))
    asked: tuple[Callable[[], Any], ...] = (
        lambda: accountant.cross_check("1e-5"),
        lambda: accountant.cross_check(epsilon=3, accuracy="1e-3"),
    )
    for ask, before in zip(asked, right, strict=True):
        with pytest.raises(EnginesDisagree, match=r"saddle line says .* tilted transform says") as caught:
            ask()
        kept = before.tilted if engine == "saddle" else before.saddle
        assert kept in (caught.value.first, caught.value.second)
        assert str(kept.lower) in str(caught.value)


def test_no_second_opinion_is_said_and_not_passed_over(monkeypatch: Any) -> None:
    """When the second engine certifies nothing there is no check, and the message still names the first answer."""

    def refuse(*_: Any, **__: Any) -> Bound:
        raise NoGuaranteeError("the lattice would be too fine")

    monkeypatch.setattr(module, "tilted_epsilon", refuse)
    accountant = account(Gaussian(1))
    with pytest.raises(NoGuaranteeError, match=r"could not be checked.*4\.377.*too fine"):
        accountant.cross_check("1e-5")


def test_questions_that_make_no_sense_are_refused() -> None:
    """Nothing composed, two questions at once, none at all, an accuracy out of range."""
    with pytest.raises(InputError, match="nothing was composed"):
        Accountant().cross_check("1e-5")
    accountant = account(Gaussian(1))
    for wrong in ({"delta": "1e-5", "epsilon": 1}, {"log10_delta": -5, "epsilon": 1}, {}, {"delta": 2}):
        with pytest.raises(InputError):
            accountant.cross_check(**wrong)
    with pytest.raises(InputError, match="accuracy"):
        accountant.cross_check("1e-5", accuracy=1)
