"""The exact law of an interaction under a given strategy."""

from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.game import Box, exact_law, from_laws, randomized_response, three_atoms
from dosimeter.errors import InputError

F = Fraction
ONCE, TWICE = randomized_response(F(3, 2)), randomized_response(F(9, 4))
LEAKY = from_laws("leaky", (F(1, 2), F(1, 2), F(0)), (F(1, 3), F(0), F(2, 3)))


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    """Any box with two to four outcomes, zero probabilities included."""
    size = draw(st.integers(2, 4))
    columns = []
    for _ in range(2):
        weights = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any))
        columns.append([F(w, sum(weights)) for w in weights])
    return from_laws("any", *columns)


def in_order(*sequence: Box) -> Callable[[Any], Box | None]:
    """The strategy that opens these boxes whatever happens."""
    return lambda history: sequence[len(history)] if len(history) < len(sequence) else None


@settings(max_examples=40, deadline=None)
@given(boxes(), boxes(), st.fractions(F(1, 10), 5))
def test_the_law_of_two_fixed_boxes_is_the_product(one: Box, two: Box, level: Fraction) -> None:
    """Enumeration of all pairs of outcomes gives the same delta, and the order of the boxes does not matter."""
    law = exact_law(in_order(one, two), rounds=2)
    pairs = [(a * c, b * d) for a, b in one.outcomes for c, d in two.outcomes]
    assert law.hockey_stick(level) == sum(max(F(0), p - level * q) for p, q in pairs)
    assert law.hockey_stick(level) == exact_law(in_order(two, one), rounds=2).hockey_stick(level)


@settings(max_examples=40, deadline=None)
@given(boxes(), boxes(), boxes())
def test_masses_add_up_and_the_loss_changes_the_measure(first: Box, after_zero: Box, otherwise: Box) -> None:
    """Under an adaptive strategy both laws add up to 1, and sum p e^-L is the Q-mass that P can show."""
    law = exact_law(
        lambda h: first if not h else (after_zero if h[0][1] == 0 else otherwise) if len(h) == 1 else None, rounds=5
    )
    assert sum(p for p, _ in law.masses.values()) == 1
    assert sum(q for _, q in law.masses.values()) == 1
    shown = sum(q for ratio, (p, q) in law.masses.items() if p)
    assert sum(p / ratio for ratio, (p, _) in law.masses.items() if ratio) == shown


def test_repeated_randomised_response_is_binomial() -> None:
    """Ten rounds at e^epsilon = 3/2, delta at e^2.5 epsilon, from the binomial sum."""
    level = F(3, 2) ** 2
    law = exact_law(in_order(*[ONCE] * 10), rounds=10)
    high, low = F(3, 5), F(2, 5)
    direct = sum(
        comb(10, k) * max(F(0), high**k * low ** (10 - k) - level * low**k * high ** (10 - k)) for k in range(11)
    )
    assert law.hockey_stick(level) == direct
    assert law.probability_above(level) == sum(comb(10, k) * high**k * low ** (10 - k) for k in range(7, 11))


def test_a_strategy_may_be_randomised_and_may_stop() -> None:
    """A coin that the analyst sees gives the average of the pure strategies' values."""
    level = F(3, 2)
    mixed = exact_law(lambda h: {ONCE: F(1, 3), TWICE: F(1, 2), None: F(1, 6)} if not h else None, rounds=1)
    parts = [exact_law(in_order(*boxes), rounds=1).hockey_stick(level) for boxes in ((ONCE,), (TWICE,), ())]
    assert mixed.hockey_stick(level) == parts[0] / 3 + parts[1] / 2 + parts[2] / 6
    with pytest.raises(InputError, match="add up to 1"):
        exact_law(lambda h: {ONCE: F(1, 3)}, rounds=1)


def test_a_summary_is_as_good_as_the_history_when_the_strategy_needs_no_more() -> None:
    """Playing by the sign of the loss: remembering the loss alone gives the same law, with fewer states."""

    def by_history(history: Any) -> Box:
        loss = sum((1 if outcome == 0 else -1) * (1 if box is ONCE else 2) for box, outcome in history)
        return ONCE if loss <= 0 else TWICE

    def by_loss(loss: int) -> Box:
        return ONCE if loss <= 0 else TWICE

    def remember(loss: int, box: Box, outcome: int) -> int:
        return loss + (1 if outcome == 0 else -1) * (1 if box is ONCE else 2)

    full = exact_law(by_history, rounds=6)
    short = exact_law(by_loss, rounds=6, memory=0, remember=remember)
    assert full.masses == short.masses


def test_an_outcome_only_one_world_shows_is_an_infinite_loss() -> None:
    """It counts fully at every level; what only the other world shows never counts."""
    law = exact_law(in_order(LEAKY), rounds=1)
    assert law.hockey_stick(F(10**9)) == F(1, 2)
    assert law.probability_above(F(10**9)) == F(1, 2)
    back = exact_law(in_order(LEAKY.reversed()), rounds=1)
    assert back.hockey_stick(F(10**9)) == F(2, 3)


def test_boxes_are_checked() -> None:
    """Probabilities add up to 1 in both worlds and are not negative; parameters stay in range."""
    with pytest.raises(InputError, match="add up"):
        from_laws("short", (F(1, 2),), (F(1),))
    with pytest.raises(InputError, match="negative"):
        from_laws("negative", (F(2), F(-1)), (F(1), F(0)))
    for odds, failure in ((F(1, 2), F(0)), (F(2), F(2)), (F(2), F(-1))):
        with pytest.raises(InputError, match="odds="):
            randomized_response(odds, failure)
    with pytest.raises(InputError):
        three_atoms(F(2), F(9, 10))
    assert randomized_response(F(2), F(1, 10)).outcomes[2:] == ((F(1, 10), F(0)), (F(0), F(1, 10)))
