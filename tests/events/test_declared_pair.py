"""A pair of laws as an event: exact, validated, the same after JSON, and never below what it was made of."""

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.events import DeclaredPair, event_from_json, event_to_json

F = Fraction
WHOSE = "a mechanism of the statistics office, version 2"


def divergence(pair: DeclaredPair, g: Fraction) -> Fraction:
    """sum (p - g q)+, by its definition."""
    return sum((max(F(0), p - g * q) for p, q in zip(pair.with_record, pair.without_record, strict=True)), start=F(0))


@st.composite
def laws(draw: Callable[..., list[int]], outcomes: int) -> tuple[Fraction, ...]:
    weights = draw(st.lists(st.integers(0, 20), min_size=outcomes, max_size=outcomes).filter(any))
    return tuple(F(w, sum(weights)) for w in weights)


@st.composite
def pairs(draw: Callable[..., tuple[Fraction, ...]]) -> DeclaredPair:
    outcomes = draw(st.integers(2, 6))  # type: ignore[arg-type]
    p, q = draw(laws(outcomes)), draw(laws(outcomes))  # type: ignore[arg-type]
    common = any(a and b for a, b in zip(p, q, strict=True))
    if p == q or not common:
        p, q = (F(2, 3), F(1, 3)), (F(1, 3), F(2, 3))
    return DeclaredPair(p, q, WHOSE)


@given(pairs())
@settings(max_examples=60, deadline=None)
def test_the_json_form_is_exact(pair: DeclaredPair) -> None:
    """Through text and back: the same ratios, the same event, the same text again, the same hash."""
    written = json.dumps(event_to_json(pair))
    read = event_from_json(json.loads(written))
    assert read == pair
    assert hash(read) == hash(pair)
    assert json.dumps(event_to_json(read)) == written


@given(pairs(), st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_merging_and_sorting_changes_no_divergence(pair: DeclaredPair, tenth: int) -> None:
    """Every outcome split in two unequal parts, in another order, is the same event."""
    split = [
        (a * share, b * share)
        for a, b in zip(pair.with_record, pair.without_record, strict=True)
        for share in (F(1, 3), F(2, 3))
    ][::-1]
    again = DeclaredPair(tuple(a for a, _ in split), tuple(b for _, b in split), WHOSE)
    assert again == pair
    assert divergence(again, F(tenth, 10)) == divergence(pair, F(tenth, 10))


@given(st.lists(pairs(), min_size=1, max_size=3), st.fractions(0, 8, max_denominator=50))
@settings(max_examples=80, deadline=None)
def test_a_covering_pair_is_the_least_that_dominates_each(several: list[DeclaredPair], g: Fraction) -> None:
    """Its divergence at any level is the largest of theirs: neither below nor above."""
    together = DeclaredPair.covering(several, reason=WHOSE)
    assert divergence(together, g) == max(divergence(pair, g) for pair in several)


def test_two_directions_are_covered_by_one_pair() -> None:
    """Distributions stated apart for removing and adding a record become one pair that serves both orders."""
    removing = DeclaredPair(("0.6", "0.4"), ("0.3", "0.7"), WHOSE)
    adding = DeclaredPair(("0.7", "0.3"), ("0.45", "0.55"), WHOSE)
    both = DeclaredPair.covering([removing, adding], reason=WHOSE)
    for g in (F(1), F(3, 2), F(2), F(5)):
        reverse = sum(max(F(0), q - g * p) for p, q in zip(both.with_record, both.without_record, strict=True))
        wanted = max(
            sum(max(F(0), q - g * p) for p, q in zip(one.with_record, one.without_record, strict=True))
            for one in (removing, adding)
        )
        assert reverse == wanted
        assert divergence(both, g) == max(divergence(removing, g), divergence(adding, g))


def test_a_loss_distribution_becomes_a_pair_that_is_not_below_it() -> None:
    """sum m (1 - g e^-l)+ never exceeds the pair's divergence, and is met to 39 digits; the reverse likewise."""
    losses, masses = ["-0.5", "0", "0.75", "2"], ["0.3", "0.35", "0.3", "0.049"]
    pair = DeclaredPair.from_losses(losses, masses, infinite="0.001", reason=WHOSE)
    assert pair.infinite[0] == F(1, 1000)
    assert 0 < pair.infinite[1] < F(1, 10)
    for s in (-1.0, -0.3, 0.0, 0.4, 1.5, 2.5):
        told = (
            sum(float(m) * max(0.0, 1 - math.exp(s - float(at))) for at, m in zip(losses, masses, strict=True)) + 1e-3
        )
        assert float(divergence(pair, F(math.exp(s)))) == pytest.approx(told, rel=1e-12)
    exact = DeclaredPair.from_losses([0, "1e-30"], ["0.5", "0.5"], reason=WHOSE)
    assert all(isinstance(p, Fraction) for p in exact.with_record + exact.without_record)
    assert sum(exact.with_record) == sum(exact.without_record) == 1


def test_rounded_masses_are_taken_with_what_is_missing_or_too_much() -> None:
    """What is missing counts as an infinite loss; an excess of rounding is taken from the lowest losses."""
    short = DeclaredPair.from_losses([-1, 0.9], ["0.2", "0.7999"], infinite=None, reason=WHOSE)
    assert short.infinite[0] == F(1, 10_000)
    long = DeclaredPair.from_losses([0.9, -0.9], ["0.8000000001", "0.2"], infinite=None, reason=WHOSE)
    assert long.with_record[-1] == F("0.8000000001")
    assert sum(long.with_record) == 1
    with pytest.raises(InputError, match=r"sum to 1\.001"):
        DeclaredPair.from_losses([0.9, -0.9], ["0.801", "0.2"], infinite=None, reason=WHOSE)


def test_masses_of_both_laws_may_be_given_and_must_agree() -> None:
    """The smaller of what is given and what the loss implies is kept; a contradiction is named."""
    told = [F("0.25"), F("0.5")]
    pair = DeclaredPair.from_losses(
        ["0.69314718055994530941", "-0.18232155679395462621"], ["0.5", "0.416666666666666666667"],
        infinite=None, masses_without=told, reason=WHOSE,
    )  # fmt: skip
    assert sum(q for p, q in zip(pair.with_record, pair.without_record, strict=True) if p) <= sum(told)
    assert float(pair.infinite[1]) == pytest.approx(0.25)
    with pytest.raises(InputError, match="contradict each other at outcome 1"):
        DeclaredPair.from_losses(["0.1", "-0.1"], ["0.5", "0.4"], infinite=None, reason=WHOSE, masses_without=[
            "0.45241870901797975", "0.5"])  # fmt: skip


HALF = ("0.5", "0.5")
BAD: Sequence[tuple[Callable[[], object], str]] = [
    (lambda: DeclaredPair(("0.5", "0.6"), HALF, WHOSE), "with_record sums to 1.1, not to exactly 1"),
    (lambda: DeclaredPair(HALF, ("0.5", "0.4999"), WHOSE), "without_record sums to 0.9999"),
    (lambda: DeclaredPair(("1/3", "1/3", "1/3"), HALF, WHOSE), "3 outcomes and without_record 2"),
    (lambda: DeclaredPair(("nan", "1"), HALF, WHOSE), "not finite"),
    (lambda: DeclaredPair((math.nan, 1.0), HALF, WHOSE), "not finite"),
    (lambda: DeclaredPair((math.inf, 0.0), HALF, WHOSE), "not finite"),
    (lambda: DeclaredPair((-0.5, 1.5), HALF, WHOSE), r"outside \[0, 1\]"),
    (lambda: DeclaredPair((True, 0), HALF, WHOSE), "not a number"),
    (lambda: DeclaredPair(("1/0", "0.5"), HALF, WHOSE), "divided by 0"),
    (lambda: DeclaredPair(("-1/2", "3/2"), HALF, WHOSE), "no ratio"),
    (lambda: DeclaredPair((1, 0), (0, 1), WHOSE), "reveals everything"),
    (lambda: DeclaredPair(HALF, HALF, WHOSE), "reveals nothing"),
    (lambda: DeclaredPair((), (), WHOSE), "1 to 4096 outcomes"),
    (lambda: DeclaredPair((F(1, 5000),) * 5000, (F(1, 5000),) * 5000, WHOSE), "1 to 4096 outcomes"),
    (lambda: DeclaredPair("0.5 0.5", HALF, WHOSE), "not a tuple"),  # type: ignore[arg-type]
    (lambda: DeclaredPair(("1" * 5000 + "/3", "0"), HALF, WHOSE), "digits is too long"),
    (lambda: DeclaredPair(("0.6", "0.4"), HALF, " "), "needs a reason"),
    (lambda: DeclaredPair.from_losses([0.1], [0.5, 0.5], reason=WHOSE), "no distribution"),
    (lambda: DeclaredPair.from_losses([], [], reason=WHOSE), "no distribution"),
    (lambda: DeclaredPair.from_losses([0.1, 0.2], [0.5, 0.4], reason=WHOSE), "sum to 0.9, not to 1"),
    (lambda: DeclaredPair.from_losses([1, -1], [0.5, 0.5], reason=WHOSE), "contradict each other"),
    (lambda: DeclaredPair.from_losses(["inf"], [1], reason=WHOSE), "not finite"),
    (lambda: DeclaredPair.from_losses([2e4], [1], reason=WHOSE), "count it as infinite"),
    (lambda: DeclaredPair.covering([], reason=WHOSE), "one DeclaredPair or more"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "why"), BAD)
def test_what_is_no_pair_is_refused_with_its_reason(make: Callable[[], object], why: str) -> None:
    """Laws that do not sum to one, contradict each other, or are absurd: an InputError that says which and why."""
    with pytest.raises(InputError, match=why):
        make()


@pytest.mark.parametrize(
    "change",
    [
        {"with_record": ["0.6", "2/5"]},
        {"with_record": ["3/5", "2/5"]},
        {"with_record": ["6/10", "2/5"]},
        {"with_record": [0.6, 0.4]},
        {"with_record": "3/5"},
        {"with_record": ["3/5", "1/5"]},
        {"extra": "1"},
    ],
)
def test_json_has_one_spelling(change: dict[str, object]) -> None:
    """Another order, another spelling of a ratio or a number in place of a text is not what was written."""
    good = event_to_json(DeclaredPair(("0.4", "0.6"), HALF, WHOSE))
    assert good["with_record"] == ["2/5", "3/5"]
    assert event_from_json(good) == DeclaredPair(("0.6", "0.4"), HALF, WHOSE)
    with pytest.raises(InputError):
        event_from_json({**good, **change})
