"""A plan declared in advance: which events, how often, and the law of each; equal laws are one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Composed, Event, Repeated, event_from_json, event_to_json
from dosimeter.events.event import require_event
from dosimeter.exact import count, show

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

Runs: TypeAlias = "tuple[tuple[Event, int], ...]"
MOST_RUNS: Final = 64
MOST_STEPS: Final = 10**6


def read_plan(plan: object) -> tuple[Runs, tuple[tuple[Law, int], ...]]:
    """Read a plan: its events with their counts, and the law of each; equal laws are added up.

    Args:
        plan: pairs of an event and a count, or events; compositions and repetitions are opened.

    Raises:
        InputError: it is no list of events with counts, too long, or an event has no single law that a plan can use.
    """
    from dosimeter.pld.laws.events import laws_of

    if not isinstance(plan, tuple | list) or not plan:
        raise InputError(f"a plan is a list of pairs of an event and a count; got {show(plan)}")
    runs: dict[Event, int] = {}
    for entry in plan:
        for event, many in _opened(entry):
            runs[event] = runs.get(event, 0) + many
    if len(runs) > MOST_RUNS or sum(runs.values()) > MOST_STEPS:
        raise InputError(f"a plan has at most {MOST_RUNS} different events and {MOST_STEPS} steps")
    laws: dict[Law, int] = {}
    for event, many in runs.items():
        try:
            found = laws_of(event)
        except NoGuaranteeError as error:
            raise InputError(f"an event of the plan cannot be planned for: {error}") from None
        if len(found) != 1 or found[0][1] != 1:
            raise InputError("each run of a plan repeats one single release; this event is several")
        laws[found[0][0]] = laws.get(found[0][0], 0) + many
    return tuple(runs.items()), tuple(laws.items())


def _opened(entry: Any) -> list[tuple[Event, int]]:
    from dosimeter.events.opening import open_event

    event, many = entry if isinstance(entry, tuple | list) and len(entry) == 2 else (entry, 1)
    require_event(event)
    times = count(many, "count", largest=MOST_STEPS)
    if isinstance(event, Repeated | Composed):
        return [(inner, times * inside) for inner, inside in open_event(event).items()]
    return [(event, times)]


def plan_to_json(plan: Runs) -> list[dict[str, Any]]:
    """The plan, counts as texts."""
    return [{"event": event_to_json(event), "count": str(many)} for event, many in plan]


def plan_from_json(data: object) -> Runs:
    """Read back what `plan_to_json` wrote.

    Raises:
        InputError: it is anything else.
    """
    if not isinstance(data, list):
        raise InputError(f"a plan is a list of runs; got {show(data)}")
    plan = []
    for run in data:
        if not isinstance(run, dict) or set(run) != {"event", "count"} or not str(run["count"]).isdecimal():
            raise InputError("a run of a plan has exactly the fields: event, count")
        plan.append((event_from_json(run["event"]), int(run["count"])))
    return tuple(plan)
