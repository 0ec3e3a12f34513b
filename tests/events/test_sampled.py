"""Events on a secret sample carry their scheme and the relations it speaks of, and schemes never mix."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from dosimeter.errors import InputError, NotionError
from dosimeter.events import (
    Composed,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    Repeated,
    WithReplacementSampled,
    event_from_json,
    event_to_json,
    relations_of,
    require_relation,
)
from dosimeter.events.opening import open_event
from dosimeter.neighbours import NeighbouringRelation

ADD, REPLACE, ZERO = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ZERO_OUT
POISSON = PoissonSampled("0.01", Gaussian(2))
BATCH = FixedSizeSampled(10, 1000, Gaussian(2, 2))
DRAWN = WithReplacementSampled(10, 1000, Laplace(2))
ALLOCATED = RandomAllocation(100, 1, Gaussian(2))


@pytest.mark.parametrize(
    ("event", "speaks_of"),
    [
        (Gaussian(1), {ADD, REPLACE, ZERO}),
        (POISSON, {ADD, ZERO}),
        (BATCH, {REPLACE}),
        (DRAWN, {REPLACE}),
        (ALLOCATED, {ADD, ZERO}),
        (Repeated(POISSON, 3), {ADD, ZERO}),
        (Composed((POISSON, Laplace(1))), {ADD, ZERO}),
        (Composed((BATCH, Repeated(DRAWN, 2))), {REPLACE}),
        (Composed((POISSON, BATCH)), set()),
        (PoissonSampled("0.5", Composed((POISSON, Laplace(1)))), {ADD, ZERO}),
    ],
)
def test_the_relations_of_an_event_are_those_of_its_schemes(event: Event, speaks_of: set[NeighbouringRelation]) -> None:
    """Composition keeps what all parts have in common; everything else is refused by name."""
    assert relations_of(event) == speaks_of
    for relation in NeighbouringRelation:
        if relation in speaks_of:
            require_relation(event, str(relation))
        else:
            with pytest.raises(NotionError, match=r"poisson_sampled|fixed_size|with_replacement|random_allocation"):
                require_relation(event, relation)


def test_a_refusal_names_scheme_relation_and_way_out() -> None:
    """The message says which scheme, which relation, and what to do instead."""
    with pytest.raises(NotionError, match=r"fixed_size_sampled .* replace_one .* add_remove.*; sample in another way"):
        require_relation(BATCH, "add_remove")
    with pytest.raises(NotionError, match="speak of different neighbours"):
        require_relation(Composed((POISSON, BATCH)), "add_remove")
    with pytest.raises(InputError, match="unknown"):
        require_relation(POISSON, "anything")


@pytest.mark.parametrize(
    ("event", "form"),
    [
        (POISSON, {"kind": "poisson_sampled", "probability": "0.01"}),
        (BATCH, {"kind": "fixed_size_sampled", "batch_size": 10, "population": 1000}),
        (DRAWN, {"kind": "with_replacement_sampled", "draws": 10, "population": 1000}),
        (ALLOCATED, {"kind": "random_allocation", "steps": 100, "selected": 1}),
    ],
)
def test_the_json_form_is_stable_and_reads_back(event: Event, form: dict[str, object]) -> None:
    """The words and numbers of the ledger never change meaning; nested events read back equal."""
    written = event_to_json(event)
    inner = written.pop("event")
    assert written == form
    assert event_from_json(inner) == event.event
    nested = Composed((Repeated(event, 7), event))
    assert event_from_json(json.loads(json.dumps(event_to_json(nested)))) == nested


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "poisson_sampled", "probability": "0.1"},
        {"kind": "poisson_sampled", "probability": "0", "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "poisson_sampled", "probability": "1.1", "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "poisson_sampled", "probability": "NaN", "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "poisson_sampled", "sample_rate": "0.1", "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "poisson_sampled", "probability": "0.1", "event": "laplace"},
        {"kind": "fixed_size_sampled", "batch_size": 11, "population": 10, "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "fixed_size_sampled", "batch_size": "1", "population": 10, "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "fixed_size_sampled", "batch_size": 0, "population": 10, "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "with_replacement_sampled", "draws": -1, "population": 9, "event": {"kind": "laplace", "scale": "1"}},
        {"kind": "random_allocation", "steps": 1, "selected": 2, "event": {"kind": "laplace", "scale": "1"}},
    ],
)
def test_what_was_never_written_is_not_read(data: object) -> None:
    """Missing, unknown and impossible fields are refused."""
    with pytest.raises(InputError):
        event_from_json(data)


def test_schemes_never_nest_across_relations() -> None:
    """A sample cannot hold an event that speaks of other neighbours, and inner batches must fit their population."""
    for outer in (lambda e: PoissonSampled("0.1", e), lambda e: RandomAllocation(5, 1, e)):
        with pytest.raises(NotionError, match="one scheme"):
            outer(BATCH)
    for outer in (lambda e: FixedSizeSampled(5, 50, e), lambda e: WithReplacementSampled(5, 50, e)):
        with pytest.raises(NotionError, match="one scheme"):
            outer(Composed((Gaussian(1), POISSON)))
    with pytest.raises(InputError, match="outer batch_size"):
        FixedSizeSampled(100, 1000, FixedSizeSampled(5, 50, Gaussian(1)))
    assert FixedSizeSampled(100, 1000, FixedSizeSampled(5, 100, Gaussian(1))).batch_size == 100
    with pytest.raises(InputError, match="not an event"):
        PoissonSampled("0.1", "gaussian")


def test_a_probability_that_is_no_decimal_rounds_up() -> None:
    """One third becomes a little more than one third, never less."""
    assert Fraction(PoissonSampled(Fraction(1, 3), Gaussian(1)).probability) > Fraction(1, 3)


def test_counts_outside_a_sample_are_opened_and_those_inside_are_not() -> None:
    """Ten runs on ten samples are ten leaves; ten runs on one sample are one leaf."""
    inside = PoissonSampled("0.1", Repeated(Gaussian(1), 10))
    assert open_event(Repeated(POISSON, 10)) == {POISSON: 10}
    assert open_event(inside) == {inside: 1}


def test_depth_is_counted_through_samples() -> None:
    """A sample is a level like any other, and what it holds is looked through in a moment, however wide."""
    deep: Event = Gaussian(1)
    for _ in range(15):
        deep = Repeated(deep, 1)
    with pytest.raises(InputError, match="nested deeper"):
        Repeated(PoissonSampled("0.1", deep), 1)
    wide = Composed((Composed((POISSON,) * 900),) * 500)
    assert relations_of(wide) == {ADD, ZERO}
