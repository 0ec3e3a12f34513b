"""Every goal of the adversary against all strategies there are, one by one, in exact rationals.

Small games, and no recursion over values: each deterministic strategy is written out, its exact law is taken, and the
best of the laws is compared with the certified interval.
"""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import pytest

from dosimeter.adaptive.adversary import (
    Menu,
    Offer,
    best_crossing,
    best_strategy,
    worst_crossing,
    worst_delta,
    worst_divergence,
    worst_tail,
)
from dosimeter.adaptive.game import randomized_response
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import RandomizedResponse
from dosimeter.exact import Bound

F = Fraction
ODDS = F(3, 2)
LOG = Decimal("0.405465108108164381978013115464349136571990423462494")  # log 3/2
UNITS = 4
# multiples of log 3/2, probabilities of failure, costs
GAMES: dict[str, list[tuple[int, Fraction, int]]] = {
    "pure": [(1, F(0), 1), (2, F(0), 3)],
    "equal costs": [(1, F(0), 2), (3, F(0), 2)],
    "failing": [(1, F(1, 128), 1), (2, F(1, 16), 2), (2, F(0), 3)],
}
Law: TypeAlias = "dict[tuple[Fraction | None, bool], Fraction]"  # final ratio, ever across -> probability under P


@cache
def menu(name: str) -> Menu:
    offers = tuple(Offer(RandomizedResponse(LOG * m, Decimal(float(d))), c) for m, d, c in GAMES[name])
    return Menu(offers, F(LOG))


def outcomes(m: int, failure: Fraction) -> list[tuple[Fraction, Fraction | None]]:
    """Probability under P and likelihood ratio; None where only P can answer so."""
    high = (1 - failure) * ODDS**m / (1 + ODDS**m)
    found: list[tuple[Fraction, Fraction | None]] = [(high, ODDS**m), (1 - failure - high, ODDS**-m)]
    return [*found, (failure, None)] if failure else found


def across(ratio: Fraction, used: int) -> bool:
    """Above the boundary of these tests: a step and a half after one unit, growing."""
    return ratio > 1 and math.log(ratio) > 0.4054651081 * (1.25 + 0.25 * used)


def boundary(used: int) -> float:
    return 0.4054651081 * (1.25 + 0.25 * used)


def laws(name: str, left: int, ratio: Fraction) -> Iterator[Law]:
    """The law of what follows for every deterministic strategy, stopping at once among them."""
    crossed = across(ratio, UNITS - left)
    yield {(ratio, crossed): F(1)}
    for m, failure, cost in GAMES[name]:
        if cost > left:
            continue
        ways = outcomes(m, failure)
        following = [
            [{(None, True): F(1)}] if jump is None else list(laws(name, left - cost, ratio * jump)) for _, jump in ways
        ]
        for chosen in itertools.product(*following):
            law: Law = {}
            for (p, _), after in zip(ways, chosen, strict=True):
                for (final, over), mass in after.items():
                    key = (final, over or crossed)
                    law[key] = law.get(key, F(0)) + p * mass
            yield law


@cache
def all_laws(name: str) -> list[Law]:
    return list(laws(name, UNITS, F(1)))


def holds(bound: Bound, truth: Fraction, tight: float = 1e-9) -> None:
    """The interval contains the truth (the event's epsilon has fifty digits, the odds are exact) and is narrow."""
    assert float(bound.lower) <= float(truth) * (1 + 1e-12)
    assert float(truth) <= float(bound.upper) * (1 + 1e-12)
    assert float(bound.upper - bound.lower) <= tight * max(float(truth), 1e-300)


@pytest.mark.parametrize("name", GAMES)
def test_there_are_many_strategies_and_every_law_is_one(name: str) -> None:
    """The enumeration is not empty talk: dozens of strategies, probabilities that add up to one."""
    found = all_laws(name)
    assert len(found) > 15
    assert all(sum(law.values()) == 1 for law in found)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("level", [F(2, 3), F(1), F(3, 2), F(9, 4), F(4)])
def test_delta(name: str, level: Fraction) -> None:
    """E[(1 - e^(epsilon - L))+], an infinite loss counting fully; and the extracted strategy reaches it."""
    truth = max(
        sum((p * (1 if ratio is None else max(F(0), 1 - level / ratio)) for (ratio, _), p in law.items()), F(0))
        for law in all_laws(name)
    )
    epsilon = math.log(level) if level not in {ODDS, ODDS**2, 1 / ODDS} else LOG * round(math.log(level) / float(LOG))
    found = worst_delta(menu(name), UNITS, epsilon)
    holds(found, truth, 1e-8)
    best = best_strategy(menu(name), UNITS, epsilon)
    assert best.value == pytest.approx(float(truth), rel=1e-8, abs=1e-300)
    boxes = [randomized_response(ODDS**m, failure) for m, failure, _ in GAMES[name]]
    assert best.law(boxes).hockey_stick(level) >= truth * (1 - F(1, 10**9))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("steps", [-2, 0, 1, 3])
def test_tail(name: str, steps: int) -> None:
    """P(L > u) half way between two losses."""
    level = float(ODDS) ** (steps + 0.5)
    truth = max(
        sum((p for (ratio, _), p in law.items() if ratio is None or ratio > level), F(0)) for law in all_laws(name)
    )
    holds(worst_tail(menu(name), UNITS, LOG * (steps + Decimal("0.5"))), truth)


@pytest.mark.parametrize("name", GAMES)
def test_crossing(name: str) -> None:
    """Ever above a boundary that grows with what is used; the extracted strategy crosses as often."""
    truth = max(sum((p for (_, over), p in law.items() if over), F(0)) for law in all_laws(name))
    holds(worst_crossing(menu(name), UNITS, boundary), truth)
    assert best_crossing(menu(name), UNITS, boundary).value == pytest.approx(float(truth), rel=1e-9)
    end = max(
        sum((p for (ratio, _), p in law.items() if ratio is None or across(ratio, UNITS)), F(0))
        for law in all_laws(name)
    )
    assert end <= truth


@pytest.mark.parametrize("name", ["pure", "equal costs"])
@pytest.mark.parametrize("order", [2, 3, 9])
def test_renyi_divergence(name: str, order: int) -> None:
    """log E[e^((a-1) L)] / (a - 1) with whole orders, where the moment is a rational."""
    moment = max(
        sum((p * ratio ** (order - 1) for (ratio, _), p in law.items() if ratio), F(0)) for law in all_laws(name)
    )
    truth = math.log(moment) / (order - 1)
    found = worst_divergence(menu(name), UNITS, order)
    assert float(found.lower) <= truth * (1 + 1e-12)
    assert truth <= float(found.upper) * (1 + 1e-12)
    assert float(found.upper - found.lower) <= 1e-9 * truth


def test_what_may_fail_has_no_renyi_divergence() -> None:
    """An answer that only one world can give has no finite moment; that is said instead of a number."""
    with pytest.raises(NoGuaranteeError):
        worst_divergence(menu("failing"), UNITS, 2)


def test_the_best_strategy_depends_on_the_goal() -> None:
    """The control of the comparison: the law that is best for one goal is not best for the others."""

    def delta(law: Law) -> Fraction:
        return sum((p * max(F(0), 1 - F(9, 4) / ratio) for (ratio, _), p in law.items() if ratio), F(0))

    def crossing(law: Law) -> Fraction:
        return sum((p for (_, over), p in law.items() if over), F(0))

    found = all_laws("pure")
    best = max(found, key=delta)
    assert crossing(best) < max(crossing(law) for law in found)
