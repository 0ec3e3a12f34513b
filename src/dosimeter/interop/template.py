"""A plan file with one unknown: the number that calibration is to find, written as ``?``.

    relation: add_remove
    steps:
      - mechanism: gaussian
        noise_multiplier: ?          # quoted in JSON: "?"
        count: 1000
        sample: {batching: poisson, probability: 0.01}

The unknown may stand for noise (noise_multiplier, sigma, scale), a sensitivity (a clipping norm), an epsilon, a count,
a sampling probability or a batch size. It may stand in several places that share one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from dosimeter.errors import InputError
from dosimeter.exact import text
from dosimeter.interop.planfile import PlanFile, parse_plan, read_plan_data

UNKNOWN: Final = "?"


@dataclass(frozen=True, slots=True)
class Unknown:
    """What can be unknown, which way epsilon moves with it, and where to look."""

    rising: bool
    low: Decimal
    high: Decimal
    whole: bool = False


_NOISE: Final = Unknown(False, Decimal("1e-6"), Decimal("1e9"))
_COUNT: Final = Unknown(True, Decimal(1), Decimal(10**9), whole=True)
UNKNOWNS: Final = {
    "noise_multiplier": _NOISE,
    "sigma": _NOISE,
    "scale": _NOISE,
    "l1_sensitivity": Unknown(True, Decimal("1e-9"), Decimal("1e9")),
    "l2_sensitivity": Unknown(True, Decimal("1e-9"), Decimal("1e9")),
    "epsilon": Unknown(True, Decimal("1e-9"), Decimal("1e4")),
    "probability": Unknown(True, Decimal("1e-9"), Decimal(1)),
    "count": _COUNT,
    "batch_size": _COUNT,
    "selected": _COUNT,
    "draws": _COUNT,
    "population": Unknown(False, Decimal(1), Decimal(10**12), whole=True),
}


@dataclass(frozen=True, slots=True)
class PlanTemplate:
    """A plan with one unknown; `fill` makes it a plan."""

    data: Any
    name: str

    @property
    def unknown(self) -> Unknown:
        """Direction and range of what is to be found."""
        return UNKNOWNS[self.name]

    def fill(self, value: Decimal) -> PlanFile:
        """The plan with the unknown replaced; raises InputError where the value makes no plan."""
        known: Any = int(value) if self.unknown.whole else text(value)
        return parse_plan(_replace(self.data, known))


def load_template(path: str | Path) -> PlanTemplate:
    """Read a plan file with an unknown; raises InputError where there is none, or several of different kinds."""
    return parse_template(read_plan_data(path))


def parse_template(data: Any) -> PlanTemplate:
    """Read a template from the value that its file holds."""
    found = set(_places(data, ""))
    if not found:
        raise InputError(f'the plan has no unknown; write "{UNKNOWN}" in place of the number to find')
    if len(found) > 1:
        raise InputError(f"the plan has several unknowns ({', '.join(sorted(found))}); leave one")
    name = found.pop()
    if name not in UNKNOWNS:
        raise InputError(f"{name or 'this place'} cannot be unknown; one of these can: {', '.join(UNKNOWNS)}")
    return PlanTemplate(data, name)


def _places(data: Any, key: str) -> Iterator[str]:
    if data == UNKNOWN:
        yield key
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from _places(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from _places(value, key)


def _replace(data: Any, value: Any) -> Any:
    if data == UNKNOWN:
        return value
    if isinstance(data, dict):
        return {key: _replace(inner, value) for key, inner in data.items()}
    if isinstance(data, list):
        return [_replace(inner, value) for inner in data]
    return data
