"""Menu files: the mechanisms that an account offers, each with its cost in whole units, in JSON or simple YAML.

    relation: add_remove        # for whom the mechanisms are stated; required
    step: 1/400                 # of the lattice of losses, in nats; optional
    units: 100                  # the budget; the largest safe one when left out
    entries:
      - mechanism: gaussian
        noise_multiplier: 50
        cost: 1
      - mechanism: laplace
        scale: 20
        l1_sensitivity: 1
        cost: 6

An entry is written as a step of a plan file, with a cost in place of a count. Costs may be left out, of all entries or
of none; they are then in proportion to what the mechanisms reveal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dosimeter.adaptive.adversary.menu import MOST_OFFERS, Menu, Offer
from dosimeter.adaptive.filters.menu import proportional
from dosimeter.errors import DosimeterError, InputError, NoGuaranteeError, NotionError
from dosimeter.exact import to_fraction
from dosimeter.interop.planfile import parse_plan, read_plan_data
from dosimeter.neighbours import NeighbouringRelation

_KEYS: Final = ("relation", "title", "step", "units", "entries")


@dataclass(frozen=True, slots=True)
class MenuFile:
    """What a menu file says: the menu, for which neighbours it is stated, and the budget if it names one."""

    relation: NeighbouringRelation
    menu: Menu
    units: int | None = None


def load_menu(path: str | Path) -> MenuFile:
    """Read a menu file: .json, or .yaml and .yml where PyYAML is installed.

    Raises:
        InputError: the file cannot be read, is not of this form, or an entry is not one release; names the entry.
    """
    return parse_menu(read_plan_data(path))


def parse_menu(data: object) -> MenuFile:
    """Read a menu from the value that its file holds; raises as `load_menu` does."""
    if not isinstance(data, dict) or not isinstance(data.get("entries"), list):
        raise InputError("a menu file is a mapping with relation and entries, a list")
    if extra := sorted(set(map(str, data)) - set(_KEYS)):
        raise InputError(f"a menu file has no key {extra[0]!r}; it has: {', '.join(_KEYS)}")
    rows = data["entries"]
    if not 1 <= len(rows) <= MOST_OFFERS:
        raise InputError(f"a menu has 1 to {MOST_OFFERS} entries, not {len(rows)}")
    costs = [row.get("cost") if isinstance(row, dict) else None for row in rows]
    if any(cost is None for cost in costs) and not all(cost is None for cost in costs):
        raise InputError("some entries have a cost and some have none; give all of them one, or leave all out")
    if any(isinstance(row, dict) and "count" in row for row in rows):
        raise InputError("an entry of a menu has a cost, not a count: it may be asked as often as the budget allows")
    steps = [{k: v for k, v in row.items() if k != "cost"} if isinstance(row, dict) else row for row in rows]
    head = {key: data[key] for key in ("relation", "title") if key in data}
    try:
        plan = parse_plan({**head, "steps": steps})
    except DosimeterError as error:
        kind = type(error) if isinstance(error, NotionError | NoGuaranteeError) else InputError
        raise kind(str(error).replace("step ", "entry ", 1)) from None
    events = [step.event for step in plan.steps]
    if costs[0] is None:
        offers = proportional(events).offers
    else:
        offers = tuple(Offer(event, _whole(cost)) for event, cost in zip(events, costs, strict=True))
    step = None if "step" not in data else to_fraction(data["step"], "step")
    units = None if "units" not in data else _whole(data["units"])
    return MenuFile(plan.relation, Menu(offers, step), units)  # type: ignore[arg-type]


def _whole(value: Any) -> Any:
    """YAML scalars arrive as they were written; what is not digits is refused where it is used."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else value
