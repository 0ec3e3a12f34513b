"""Plan files are read exactly and strictly: what is misspelled, doubled or impossible is an error naming the step."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    DiscreteGaussian,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
    event_to_json,
)
from dosimeter.interop import PlanFile, PlanStep, load_plan, parse_plan
from dosimeter.neighbours import NeighbouringRelation

YAML = """
# a training run and two counts
relation: add_remove
delta: 1e-5
title: a training run
steps:
  - name: warm up
    mechanism: gaussian
    noise_multiplier: 1.1
    count: 500
    sample: {batching: poisson, probability: 0.01}
  - mechanism: laplace
    scale: 10
    l1_sensitivity: 1
    count: 2
  - event:
      kind: repeated
      count: 3
      event: {kind: randomized_response, epsilon: 0.30000000000000000000001, delta: 0}
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a plan file and give its path."""

    def write(text: str, name: str = "plan.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_yaml_is_read_exactly(write: Any) -> None:
    """Every number is the one that was written; counts and samples are where they belong."""
    plan = load_plan(write(YAML))
    response = RandomizedResponse("0.30000000000000000000001")
    assert plan == PlanFile(
        relation=NeighbouringRelation.ADD_REMOVE,
        steps=(
            PlanStep(PoissonSampled("0.01", Gaussian("1.1")), 500, "warm up"),
            PlanStep(Laplace(10), 2),
            PlanStep(Repeated(response, 3)),
        ),
        delta=Decimal("1e-5"),
        title="a training run",
    )
    assert plan.event == Composed(
        (Repeated(PoissonSampled("0.01", Gaussian("1.1")), 500), Repeated(Laplace(10), 2), Repeated(response, 3))
    )


def test_json_and_yaml_say_the_same(write: Any) -> None:
    """The exact form reads back equal from both; a number in JSON is not a binary fraction."""
    plan = load_plan(write(YAML))
    text = json.dumps(plan.to_json())
    assert load_plan(write(text, "plan.json")) == plan
    assert load_plan(write(text, "plan.yml")) == plan
    step = '{"mechanism": "laplace", "scale": 0.10000000000000000000001, "l1_sensitivity": 1}'
    exact = '{"relation": "zero_out", "steps": [' + step + "]}"
    assert load_plan(write(exact, "exact.json")).event == Laplace("0.10000000000000000000001")


def test_every_mechanism_and_scheme_can_be_written() -> None:
    """One step of each kind."""
    batches = parse_plan(
        {
            "relation": "replace_one",
            "steps": [
                {
                    "mechanism": "gaussian",
                    "sigma": "2",
                    "l2_sensitivity": "2",
                    "sample": {"batching": "fixed_size", "batch_size": 16, "population": "1000"},
                },
                {"mechanism": "discrete_gaussian", "sigma": 3, "l2_sensitivity": 1},
                {"mechanism": "discrete_laplace", "scale": 3, "l1_sensitivity": 1},
                {"mechanism": "randomized_response", "epsilon": 1, "delta": "1e-6"},
                {
                    "mechanism": "laplace",
                    "scale": 3,
                    "l1_sensitivity": 1,
                    "sample": {"batching": "with_replacement", "draws": 3, "population": 100},
                },
            ],
        }
    )
    assert batches.steps[0].event == FixedSizeSampled(16, 1000, Gaussian(2, 2))
    assert batches.steps[1].event == DiscreteGaussian(3)
    pass_ = parse_plan(
        {
            "relation": "zero_out",
            "steps": [
                {
                    "mechanism": "gaussian",
                    "noise_multiplier": 2,
                    "sample": {"batching": "allocation", "steps": 10, "selected": 1},
                }
            ],
        }
    )
    assert pass_.event == RandomAllocation(10, 1, Gaussian(2))


def test_a_plan_is_priced_as_its_event() -> None:
    """Read, then priced at its own delta and relation: the thousand steps of a known run."""

    class Approx:
        notion = "approx"

    plan = parse_plan(
        {
            "relation": "add_remove",
            "delta": "1e-5",
            "steps": [
                {
                    "mechanism": "gaussian",
                    "noise_multiplier": "0.8",
                    "count": 1000,
                    "sample": {"batching": "poisson", "probability": "0.01"},
                }
            ],
        }
    )
    loss: Any = loss_for(plan.event, Approx(), delta=plan.delta, relation=plan.relation)
    assert Decimal("3.14101413945") < loss.epsilon < Decimal("3.75")


STEP = {"mechanism": "laplace", "scale": 1, "l1_sensitivity": 1}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({}, "exactly one of: mechanism, event"),
        ({**STEP, "event": {}}, "exactly one of"),
        ("laplace", "a mapping"),
        ({"mechanism": "cauchy"}, "unknown"),
        ({"mechanism": ["laplace"]}, "unknown"),
        ({"mechanism": "laplace", "scale": 1}, "needs l1_sensitivity"),
        ({**STEP, "sigma": 1}, "no key 'sigma'"),
        ({"mechanism": "gaussian", "noise_multiplier": 1, "sigma": 1}, "no key 'sigma'"),
        ({**STEP, "scale": 0}, "scale=0"),
        ({**STEP, "scale": True}, "not a number"),
        ({**STEP, "scale": "NaN"}, "scale='NaN'"),
        ({**STEP, "scale": ""}, "scale=''"),
        ({**STEP, "count": 0}, "count=0"),
        ({**STEP, "count": "1e3"}, "count='1e3'"),
        ({**STEP, "count": 1.5}, "count=1.5"),
        ({**STEP, "name": "a\nb"}, "printable"),
        ({**STEP, "repeat": 3}, "no key 'repeat'"),
        ({**STEP, "sample": "poisson"}, "mapping"),
        ({**STEP, "sample": {"probability": "0.1"}}, "does not say how"),
        ({**STEP, "sample": {"batching": "poisson", "rate": "0.1"}}, "no key 'rate'"),
        ({**STEP, "sample": {"batching": "poisson", "event": {}}}, "no key 'event'"),
        ({**STEP, "sample": {"batching": "poisson"}}, "needs exactly: probability"),
        ({**STEP, "sample": {"batching": "poisson", "probability": 2}}, "probability=2"),
        ({"event": {"kind": "laplace"}}, "exactly the fields"),
    ],
)
def test_a_bad_step_is_named_with_the_reason(step: Any, words: str) -> None:
    """The second step is wrong, and the message says so, and why."""
    with pytest.raises(InputError, match=r"^step 2") as caught:
        parse_plan({"relation": "add_remove", "steps": [STEP, step]})
    assert words in str(caught.value)


def test_schemes_are_checked_against_the_relation_of_the_plan() -> None:
    """Sampling that says nothing about the plan's relation, and shuffling, keep their own kind of error."""
    poisson = {"name": "epoch 1", **STEP, "sample": {"batching": "poisson", "probability": "0.1"}}
    with pytest.raises(NotionError, match=r"step 1 \(epoch 1\): poisson_sampled"):
        parse_plan({"relation": "replace_one", "steps": [poisson]})
    nested = event_to_json(FixedSizeSampled(1, 9, Gaussian(1)))
    with pytest.raises(NotionError, match="step 1"):
        parse_plan({"relation": "add_remove", "steps": [{"event": nested}]})
    with pytest.raises(NoGuaranteeError, match=r"step 1.*not a Poisson sample"):
        parse_plan({"relation": "add_remove", "steps": [{**STEP, "sample": {"batching": "shuffled"}}]})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "not a mapping"),
        ([], "not a mapping"),
        ({1: 2}, "not a mapping"),
        ({"steps": [STEP]}, "for whom"),
        ({"relation": "neighbours", "steps": [STEP]}, "unknown"),
        ({"relation": "add_remove"}, "steps"),
        ({"relation": "add_remove", "steps": []}, "steps"),
        ({"relation": "add_remove", "steps": [STEP], "epsilon": 1}, "no key 'epsilon'"),
        ({"relation": "add_remove", "steps": [STEP], "delta": 1}, "delta=1"),
        ({"relation": "add_remove", "steps": [STEP], "delta": 0}, "delta=0"),
        ({"relation": "add_remove", "steps": [STEP], "title": 7}, "title"),
    ],
)
def test_a_bad_plan_is_refused(data: Any, words: str) -> None:
    """The frame of a plan is as strict as its steps."""
    with pytest.raises(InputError) as caught:
        parse_plan(data)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("relation: add_remove\nrelation: zero_out\nsteps: []", "p.yaml", "twice"),
        ("a: &x [1]\nb: *x", "p.yaml", "anchor"),
        ("a: &x\n  - *x", "p.yaml", "anchor"),
        ("a: [1", "p.yaml", "not YAML"),
        ("", "p.yaml", "empty"),
        ("--- 1\n--- 2", "p.yaml", "not YAML"),
        ("? [1]\n: 2", "p.yaml", "key that is not a text"),
        ('{"relation": "a", "relation": "b"}', "p.json", "twice"),
        ('{"relation": NaN}', "p.json", "NaN"),
        ('{"relation": ', "p.json", "not JSON (line 1"),
        ("[" * 100_000, "p.json", "not JSON"),
        ("x", "plan.toml", ".json, .yaml or .yml"),
    ],
)
def test_files_that_do_not_parse_are_refused_in_words(write: Any, text: str, name: str, words: str) -> None:
    """Repeated keys, references, broken syntax, endless nesting, another format."""
    with pytest.raises(InputError) as caught:
        load_plan(write(text, name))
    assert words in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, binary and too large files; YAML without its library says how to get it."""
    with pytest.raises(InputError, match="cannot be read"):
        load_plan(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        load_plan(tmp_path / "binary.json")
    (tmp_path / "large.json").write_bytes(b" " * 4_000_001)
    with pytest.raises(InputError, match="larger"):
        load_plan(tmp_path / "large.json")
    (tmp_path / "plan.yaml").write_text(YAML)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match=r"dosimeter\[plans\]"):
        load_plan(tmp_path / "plan.yaml")
