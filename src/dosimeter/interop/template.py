"""A plan file with one unknown: the number that calibration is to find, written as ``?``.

    relation: add_remove
    steps:
      - mechanism: gaussian
        noise_multiplier: ?          # quoted in JSON: "?"
        count: 1000
        sample: {batching: poisson, probability: 0.01}

The unknown may stand for noise (noise_multiplier, sigma, scale), a sensitivity (a clipping norm), a mechanism's own
epsilon, delta, rho or mu, a count, a sampling probability, or a size of a sampling scheme. It may stand in several
places that share one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from dosimeter.accounting.parameters import PARAMETERS, Parameter, read_parameter
from dosimeter.errors import InputError
from dosimeter.exact import text
from dosimeter.interop.planfile import PlanFile, parse_plan, read_plan_data

UNKNOWN: Final = "?"


_LIMITS: Final = {"batch_size": "population", "expected_batch_size": "population", "selected": "steps"}
_LEAST: Final = {limit: name for name, limit in _LIMITS.items() if name != "expected_batch_size"}


@dataclass(frozen=True, slots=True)
class PlanTemplate:
    """A plan with one unknown; `fill` makes it a plan."""

    data: Any
    name: str

    @property
    def unknown(self) -> Parameter:
        """Direction and range of what is to be found: a batch is no larger than its population, and so on."""
        own = PARAMETERS[self.name]
        most = [Decimal(size) for size in _beside(self.data, _LIMITS.get(self.name))]
        least = [Decimal(size) for size in _beside(self.data, _LEAST.get(self.name))]
        return replace(own, low=max([own.low, *least]), high=min([own.high, *most]))

    def fill(self, value: Decimal) -> PlanFile:
        """The plan with the unknown replaced; raises InputError where the value makes no plan."""
        known: Any = int(value) if self.unknown.whole else text(value)
        return parse_plan(_replace(self.data, known))


def load_template(path: str | Path) -> PlanTemplate:
    """Read a plan file with an unknown; raises InputError where there is none, or several of different kinds."""
    return parse_template(read_plan_data(path))


def parse_template(data: Any) -> PlanTemplate:
    """Read a template from the value that its file holds."""
    if isinstance(data, dict) and data.get("delta") == UNKNOWN:
        raise InputError(
            f'the plan\'s own delta is no number of its steps; to find it, give an epsilon and delta "{UNKNOWN}"'
        )
    found = unknowns(data)
    if not found:
        raise InputError(f'the plan has no unknown; write "{UNKNOWN}" in place of the number to find')
    if len(found) > 1:
        raise InputError(f"the plan has several unknowns ({', '.join(sorted(found))}); leave one")
    name = found.pop()
    read_parameter(name or "this place")
    return PlanTemplate(data, name)


def unknowns(data: Any) -> set[str]:
    """The names of the numbers that a plan leaves unknown."""
    return set(_places(data, ""))


def _places(data: Any, key: str) -> Iterator[str]:
    if data == UNKNOWN:
        yield key
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from _places(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from _places(value, key)


def _beside(data: Any, name: str | None) -> Iterator[int]:
    """The numbers of this name that stand beside an unknown."""
    if isinstance(data, dict):
        size = str(data.get(name, "")) if UNKNOWN in data.values() else ""
        if size.isascii() and size.isdigit() and 0 < len(size) < 20:
            yield int(size)
    for value in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _beside(value, name)


def _replace(data: Any, value: Any) -> Any:
    if data == UNKNOWN:
        return value
    if isinstance(data, dict):
        return {key: _replace(inner, value) for key, inner in data.items()}
    if isinstance(data, list):
        return [_replace(inner, value) for inner in data]
    return data
