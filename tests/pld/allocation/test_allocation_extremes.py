"""Noise far out: where moments are out of reach, the points of the second engine narrow what accountants report."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dosimeter.composition import gaussians_epsilon
from dosimeter.errors import EnginesDisagree, NoGuaranteeError
from dosimeter.events import Gaussian, RandomAllocation
from dosimeter.exact import Bound
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.closer import closer_delta, closer_epsilon, shared
from dosimeter.pld.tilted import bounds

FAR = RandomAllocation(2000, 1, Gaussian(1000))


def composed(event: RandomAllocation) -> Accountant:
    accountant = Accountant()
    accountant.append(event)
    return accountant


def test_much_noise_is_priced_to_a_few_thousandths() -> None:
    """The saddle line alone leaves nine tenths open; with the points hardly anything, at the lower end of the line."""
    account = composed(FAR)
    alone = account.epsilon("1e-6", direction="remove", alone=True)
    found = account.epsilon("1e-6", direction="remove")
    assert alone.lower < alone.upper / 10
    assert alone.lower <= found.lower <= found.upper <= alone.upper
    assert found.upper <= found.lower * Decimal("1.005")
    alike = gaussians_epsilon([Gaussian(Decimal(1000) * Decimal(2000).sqrt())], "1e-6")  # only the mean of all noise
    assert alike * Decimal("0.9999") <= found.upper <= alike * Decimal("1.005")
    checked = account.cross_check("1e-6", direction="remove", accuracy="1e-3")
    assert checked.saddle == alone
    assert checked.shared.upper == checked.tilted.upper


def test_a_delta_is_narrowed_too() -> None:
    """delta at the epsilon just found is the delta asked for, to a few per cent."""
    account = composed(FAR)
    level = account.epsilon("1e-6", direction="remove").upper
    found = account.delta(level, direction="remove")
    assert Decimal("0.9e-6") < found.lower <= found.upper < Decimal("1.05e-6")
    assert account.delta(level, direction="remove", alone=True).upper >= found.upper


def test_adding_with_hardly_any_noise() -> None:
    """One direction that the moments leave between 4.9 and 41.7."""
    account = composed(RandomAllocation(100, 1, Gaussian("0.1")))
    found = account.epsilon("1e-6", direction="add")
    assert Decimal("41.4") < found.lower <= found.upper < Decimal("41.7")


def test_narrow_answers_and_other_plans_are_left_alone(monkeypatch: Any) -> None:
    """Nobody asks the second engine where the first one is certain, or where nothing is allocated."""

    def never(*_: Any, **__: Any) -> Bound:
        raise AssertionError("asked")

    monkeypatch.setattr(bounds, "tilted_epsilon", never)
    monkeypatch.setattr(bounds, "tilted_delta", never)
    account = composed(RandomAllocation(10, 1, Gaussian(1)))
    assert account.epsilon("1e-6") == account.epsilon("1e-6", alone=True)
    assert account.delta(1) == account.delta(1, alone=True)
    plain = Accountant()
    plain.append(Gaussian(1))
    assert closer_epsilon(plain.counts, (1.0, 2.0), {"delta": "1e-6"}) is None
    wide = Bound(Decimal(0), Decimal(1))
    assert closer_delta(plain.counts, wide, {"epsilon": 1}) == wide


def test_a_second_engine_without_an_answer_changes_nothing(monkeypatch: Any) -> None:
    """Then the wide interval stands."""

    def refuse(*_: Any, **__: Any) -> Bound:
        raise NoGuaranteeError("nothing")

    monkeypatch.setattr(bounds, "tilted_epsilon", refuse)
    account = composed(FAR)
    found = account.epsilon("1e-6", direction="remove")
    assert found == account.epsilon("1e-6", direction="remove", alone=True)


def test_a_contradiction_is_an_error(monkeypatch: Any) -> None:
    """The control: a second engine that is off is an error with both intervals, never an answer."""
    wrong = Bound(Decimal("0.5"), Decimal("0.6"))
    monkeypatch.setattr(bounds, "tilted_epsilon", lambda *_, **__: wrong)
    with pytest.raises(EnginesDisagree, match=r"0\.5, 0\.6") as caught:
        composed(FAR).epsilon("1e-6", direction="remove")
    assert wrong in (caught.value.first, caught.value.second)
    assert shared(Bound(Decimal(1), Decimal(3)), Bound(Decimal(2), Decimal(4))) == Bound(Decimal(2), Decimal(3))
