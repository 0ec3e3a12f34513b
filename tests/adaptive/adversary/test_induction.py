"""Backward induction is certified: exact rationals lie between its two sides, however small the values are."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dosimeter.adaptive.adversary import correlation, induction
from dosimeter.adaptive.adversary.correlation import FEW, Entries, fast_length
from dosimeter.adaptive.adversary.induction import Solved, Window, solve
from dosimeter.adaptive.adversary.points import Points
from dosimeter.adaptive.adversary.tilt import Tilt
from dosimeter.errors import NoGuaranteeError

F = Fraction
STEP = 0.1


def points(seed: int, length: int, infinite: float = 0.0, drift: int = 0) -> Points:
    """Random masses around zero that add up to at most one."""
    draw = random.Random(seed)
    raw = [draw.random() * math.exp(-0.02 * (i - length / 2) ** 2) for i in range(length)]
    masses = np.array(raw) * ((1 - infinite) * (1 - 1e-9) / sum(raw))
    return Points(drift - length // 2, masses, infinite)


def exact(offers: Sequence[tuple[int, Points]], budget: int, first: int) -> Fraction:
    """The largest probability of a loss of at least `first` steps at the end or of an infinite one, in rationals."""
    known: dict[tuple[int, int], Fraction] = {}

    def value(left: int, loss: int) -> Fraction:
        if (left, loss) not in known:
            best = F(loss >= first)
            for cost, one in offers:
                if cost <= left:
                    ways = sum(
                        F(float(mass)) * value(left - cost, loss + one.first + i) for i, mass in enumerate(one.masses)
                    )
                    best = max(best, F(one.infinite) + ways)
            known[left, loss] = best
        return known[left, loss]

    return value(budget, 0)


def both(
    offers: Sequence[tuple[int, Points]], budget: int, first: int, *, tilted: bool = True
) -> tuple[Solved, Solved]:
    reach = [(budget // cost * one.first, budget // cost * one.last) for cost, one in offers]
    window = Window(min(0, *(low for low, _ in reach)), max(first, *(high for _, high in reach)))
    reward = (np.arange(window.low, window.high + 1) >= first).astype(float)
    tilt = Tilt.best(offers, budget, first, STEP) if tilted else None
    low, high = (solve(offers, budget, window, lambda _: reward, raised=raised, tilt=tilt) for raised in (False, True))
    return low, high


MENUS = {
    "many points": [(1, points(1, 41)), (2, points(2, 61))],
    "many and few points": [(1, points(3, 37)), (1, points(4, 5)), (3, points(5, 81))],
    "infinite losses": [(1, points(6, 41, 1e-4)), (2, points(7, 33, 3e-4)), (1, points(8, 4))],
    "rare infinite losses": [(1, points(9, 41, 1e-30)), (2, points(10, 33))],
}


@pytest.mark.parametrize("name", MENUS)
@pytest.mark.parametrize("first", [-3, 4, 30, 70])
def test_exact_rationals_lie_between_the_sides(name: str, first: int) -> None:
    """From values near one to values of 1e-30: both sides are right, and close to one another."""
    offers = MENUS[name]
    low, high = both(offers, 4, first)
    for budget in (0, 1, 4):
        truth = exact(offers, budget, first)
        below, above = F(low.value(budget)), F(high.value(budget))
        assert below <= truth <= above
        if budget == 4 and truth:
            assert above - below <= F(1, 10**9) * truth


def test_without_the_tilt_tiny_values_drown() -> None:
    """The control of the tilt: without it the sides are still right, and useless."""
    offers = MENUS["many points"]
    truth = exact(offers, 4, 78)
    assert 0 < truth < F(1, 10**14)
    low, high = both(offers, 4, 78, tilted=False)
    assert F(low.value(4)) <= truth <= F(high.value(4))
    assert F(high.value(4)) > 3 * truth


def test_rounding_that_is_not_charged_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the charge: without it some side is on the wrong side of the truth."""
    monkeypatch.setattr(correlation, "SHARE", 0)
    monkeypatch.setattr(induction, "UNIT", 0.0)
    wrong = 0
    for name, first in ((name, first) for name in ("many points", "rare infinite losses") for first in (4, 30)):
        low, high = both(MENUS[name], 4, first)
        for budget in range(1, 5):
            truth = exact(MENUS[name], budget, first)
            wrong += not F(low.value(budget)) <= truth <= F(high.value(budget))
    assert wrong


def test_values_below_the_smallest_double_are_kept() -> None:
    """A thousand and some hundred favourable answers in a row: the upper side does not become zero."""
    fair = Points(-1, np.array([0.5, 0.0, 0.5]), 0.0)
    rounds = 1200
    low, high = both([(1, fair)], rounds, rounds)
    truth = F(1, 2**rounds)
    assert F(low.value(rounds)) <= truth <= F(high.value(rounds))
    assert F(high.value(rounds)) <= truth * (1 + F(1, 10**7))


def test_correlations_agree_with_sums() -> None:
    """Every entry, few points or many, on both sides of the sum of products."""
    entries = [(-3, np.array([0.25, 0.0, 0.5])), (-20, points(11, FEW + 20).masses), (5, points(12, 60).masses)]
    draw = random.Random(5)
    padded = np.array([draw.random() for _ in range(20 + 100 + 80)])
    found = Entries(entries, len(padded))
    for sign in (1.0, -1.0):
        for i, total in found.expectations(padded, 20, 100, {0, 1, 2}, sign):
            first, masses = entries[i]
            for at in (0, 57, 99):
                truth = sum(F(float(m)) * F(float(padded[20 + at + first + k])) for k, m in enumerate(masses))
                assert sign * (F(float(total[at])) - truth) >= -F(1, 10**15)
                assert abs(F(float(total[at])) - truth) < F(1, 10**12)


@pytest.mark.parametrize("length", [1, 2, 3, 100, 1025, 10_000, 12_289])
def test_a_fast_length_is_long_enough_and_not_much_longer(length: int) -> None:
    """At least as long, at most a quarter longer (a few more for short ones)."""
    assert length <= fast_length(length) <= 1.25 * length + 4


def test_too_much_memory_is_refused() -> None:
    """Before anything is allocated."""
    fair = Points(-1, np.array([0.5, 0.0, 0.5]), 0.0)
    with pytest.raises(NoGuaranteeError):
        solve([(100_000, fair)], 100_000, Window(-60_000, 60_000), lambda _: np.zeros(120_001), raised=True)
