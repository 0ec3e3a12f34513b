"""Plan files: what a fixed plan will release, step by step, in JSON or in the part of YAML that says the same.

    relation: add_remove        # for whom the guarantee speaks; required
    delta: 1e-5                 # at which delta to state it; optional
    title: a training run       # optional
    steps:
      - name: warm up           # optional
        mechanism: gaussian
        noise_multiplier: 1.1
        count: 500
        sample: {batching: poisson, probability: 0.01}
      - mechanism: laplace
        scale: 10
        l1_sensitivity: 1

Numbers are taken as they are written, never through a binary fraction. Anything unknown is an error that names the
step: a misspelled key must not become a cheaper plan.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from dosimeter.accounting.batches import sampled_event
from dosimeter.errors import DosimeterError, InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    RandomizedResponse,
    event_from_json,
    event_to_json,
    require_relation,
)
from dosimeter.exact import Number, amount, count, show, text
from dosimeter.interop.values import together
from dosimeter.neighbours import NeighbouringRelation

MAX_BYTES: Final = 4_000_000
MAX_STEPS: Final = 10_000
MAX_NAME: Final = 200
_PLAN_KEYS: Final = ("relation", "delta", "title", "steps")
_STEP_KEYS: Final = ("name", "mechanism", "event", "count", "sample")
_WHOLE_KEYS: Final = ("count", "batch_size", "expected_batch_size", "population", "draws", "steps", "selected")
_SAMPLE_KEYS: Final = ("batching", "probability", *_WHOLE_KEYS[1:])


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One line of a plan: an event, how often it runs, and what the file calls it."""

    event: Event
    count: int = 1
    name: str | None = None


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A fixed plan: everything that will be released, for whom the guarantee speaks, and at which delta."""

    relation: NeighbouringRelation
    steps: tuple[PlanStep, ...]
    delta: Decimal | None = None
    title: str | None = None

    @property
    def event(self) -> Event:
        """All steps with their counts as one event, as pricing takes it."""
        return together([(step.event, step.count) for step in self.steps])

    def to_json(self) -> dict[str, Any]:
        """The plan in its exact form; `parse_plan` reads it back equal."""
        steps = [
            {**({"name": step.name} if step.name else {}), "event": event_to_json(step.event), "count": step.count}
            for step in self.steps
        ]
        extras = {"delta": None if self.delta is None else text(self.delta), "title": self.title}
        return {"relation": str(self.relation), **{k: v for k, v in extras.items() if v is not None}, "steps": steps}


def load_plan(path: str | Path) -> PlanFile:
    """Read a plan file: .json, or .yaml and .yml where PyYAML is installed.

    Raises:
        InputError: the file cannot be read, is not of this form, or a step is not an event under the plan's relation;
            names the step and the reason.
        NoGuaranteeError: a step's batches have no theorem.
    """
    return parse_plan(read_plan_data(path))


def read_plan_data(path: str | Path) -> Any:
    """The value that a plan file holds, not yet checked; raises InputError where the file cannot be read."""
    file = Path(path)
    readers = {".json": _from_json, ".yaml": _from_yaml, ".yml": _from_yaml}
    if file.suffix.lower() not in readers:
        raise InputError(f"{file.name} is not a plan file; its name ends in .json, .yaml or .yml")
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        content = raw.decode("utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or 'no reason given'}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not a text in UTF-8") from None
    if len(raw) > MAX_BYTES:
        raise InputError(f"{file} is larger than {MAX_BYTES} bytes; write equal steps once, with a count")
    return readers[file.suffix.lower()](content, file.name)


def parse_plan(data: object) -> PlanFile:
    """Read a plan from the value that its file holds; raises as `load_plan` does."""
    plan = _mapping(data, "the plan", _PLAN_KEYS)
    if "relation" not in plan:
        raise InputError(f"the plan does not say for whom: relation is one of {', '.join(NeighbouringRelation)}")
    relation = NeighbouringRelation.read(plan["relation"])
    steps = plan.get("steps")
    if not isinstance(steps, list) or not 1 <= len(steps) <= MAX_STEPS:
        raise InputError(f"steps is not a list of 1 to {MAX_STEPS} steps")
    delta = plan.get("delta")
    return PlanFile(
        relation=relation,
        steps=tuple(_step(step, number, relation) for number, step in enumerate(steps, 1)),
        delta=None if delta is None else amount(_number(delta, "delta"), "delta", round_up=False, below_one=True),
        title=_text(plan.get("title"), "title"),
    )


def _step(data: object, number: int, relation: NeighbouringRelation) -> PlanStep:
    name: str | None = None
    try:
        if isinstance(data, dict):
            name = _text(data.get("name"), "name")
        return _read_step(data, relation, name)
    except DosimeterError as error:
        kind = type(error) if isinstance(error, NotionError | NoGuaranteeError) else InputError
        raise kind(f"step {number}{f' ({name})' if name else ''}: {error}") from None


def _read_step(data: object, relation: NeighbouringRelation, name: str | None) -> PlanStep:
    if not isinstance(data, dict):
        raise InputError(f"a step is a mapping with a mechanism, not a {type(data).__name__}")
    if ("mechanism" in data) == ("event" in data):
        raise InputError("a step has exactly one of: mechanism, event")
    if "event" in data:
        event = event_from_json(_with_whole_numbers(_mapping(data, "the step", _STEP_KEYS)["event"]))
    else:
        event = _mechanism(data)
    times = count(_whole(data.get("count", 1)), "count")
    if "sample" in data:
        sizes = dict(_mapping(data["sample"], "sample", _SAMPLE_KEYS))
        if "batching" not in sizes:
            raise InputError("sample does not say how batches are made (batching: poisson, fixed_size, ...)")
        batching = sizes.pop("batching")
        read = {key: _whole(v) if key != "probability" else _number(v, key) for key, v in sizes.items()}
        event = sampled_event(event, batching=batching, relation=relation, **read)
    require_relation(event, relation)
    return PlanStep(event, times, name)


def _mechanism(data: dict[str, Any]) -> Event:
    kind = data["mechanism"]
    if not isinstance(kind, str) or kind not in _MECHANISMS:
        raise InputError(f"mechanism={show(kind)} is unknown; use one of: {', '.join(_MECHANISMS)}")
    required, optional, build = _MECHANISMS[kind]
    if kind == "gaussian" and "noise_multiplier" in data:
        required, optional, build = ("noise_multiplier",), (), lambda noise_multiplier: Gaussian(noise_multiplier)
    values = _mapping(data, f"mechanism {kind}", (*_STEP_KEYS, *required, *optional))
    if missing := [key for key in required if key not in values]:
        raise InputError(f"mechanism {kind} needs {' and '.join(missing)}")
    return build(**{key: _number(values[key], key) for key in (*required, *optional) if key in values})


_MECHANISMS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], Callable[..., Event]]]] = {
    "gaussian": (("sigma", "l2_sensitivity"), (), Gaussian),
    "discrete_gaussian": (("sigma", "l2_sensitivity"), (), DiscreteGaussian),
    "laplace": (("scale", "l1_sensitivity"), (), Laplace),
    "discrete_laplace": (("scale", "l1_sensitivity"), (), DiscreteLaplace),
    "randomized_response": (("epsilon",), ("delta",), RandomizedResponse),
}


def _mapping(data: object, what: str, keys: tuple[str, ...] | None = None) -> dict[str, Any]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise InputError(f"{what} is not a mapping of names to values")
    if keys is not None and (extra := sorted(set(data) - set(keys))):
        raise InputError(f"{what} has no key {show(extra[0])}; it has: {', '.join(dict.fromkeys(keys))}")
    return data


def _number(value: object, name: str) -> Number:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal | float):
        raise InputError(f"{name}={show(value)} is not a number")
    return value


def _whole(value: object) -> Any:
    """YAML scalars arrive as they were written; a count is digits."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20 else value


def _with_whole_numbers(data: Any) -> Any:
    if isinstance(data, list):
        return [_with_whole_numbers(item) for item in data]
    if isinstance(data, dict):
        return {k: _whole(v) if k in _WHOLE_KEYS else _with_whole_numbers(v) for k, v in data.items()}
    return data


def _text(value: object, name: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME or not value.isprintable():
        raise InputError(f"{name} is not a text of 1 to {MAX_NAME} printable characters")
    return value


def _from_json(content: str, name: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(items)) != len(items):
            raise InputError(f"{name} has a key twice in one mapping; nobody can tell which one is meant")
        return dict(items)

    def refuse(constant: str) -> Any:
        raise InputError(f"{name} has {constant}, which is not a number")

    try:
        return json.loads(content, object_pairs_hook=pairs, parse_float=str, parse_constant=refuse)
    except (json.JSONDecodeError, RecursionError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "nested too deep"
        raise InputError(f"{name} is not JSON ({where})") from None


def _from_yaml(content: str, name: str) -> Any:
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise InputError(
            f"{name} needs PyYAML, which is not installed (pip install 'dosimeter[plans]'), or write JSON"
        ) from None
    try:
        return _plain(yaml, yaml.compose(content, Loader=yaml.BaseLoader), name, set())
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else "see its syntax"
        raise InputError(f"{name} is not YAML that can be read ({where})") from None


def _plain(yaml: Any, node: Any, name: str, seen: set[int]) -> Any:
    """Texts, lists and mappings only: no tags, no repeated keys, and nothing that is defined once and used again."""
    if node is None:
        raise InputError(f"{name} is empty")
    line = node.start_mark.line + 1
    if id(node) in seen:
        raise InputError(f"{name} uses an anchor again (defined on line {line}); write every step out, or use count")
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(yaml, item, name, seen) for item in node.value]
    keys = [_plain(yaml, key, name, seen) for key, _ in node.value]
    if not all(isinstance(key, str) for key in keys):
        raise InputError(f"{name} has a key that is not a text, in the mapping on line {line}")
    if len(set(keys)) != len(keys):
        raise InputError(f"{name} has a key twice in the mapping on line {line}")
    return dict(zip(keys, [_plain(yaml, value, name, seen) for _, value in node.value], strict=True))
