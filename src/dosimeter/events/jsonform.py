"""The JSON form of events and losses: what the ledger stores, audits and exports.

Numbers are texts in one spelling, so nothing is lost on the way. Whatever is not written like that is refused, unknown
names and missing fields included: an entry that this version does not understand must not be priced by guesswork.
"""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dosimeter.errors import InputError
from dosimeter.events.event import EVENT_TYPES, Event, require_event
from dosimeter.events.nesting import MAX_DEPTH
from dosimeter.exact import show, text
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, MenuPrice, ProbabilisticDP, PureDP, ResiduePrice

_LOSS_TYPES = (PureDP, ApproxDP, ProbabilisticDP, ZCDP, RDP, GDP, ResiduePrice, MenuPrice)
_LOSSES = {t.notion: t for t in _LOSS_TYPES}
_EVENTS = {t.kind: t for t in EVENT_TYPES}


def loss_to_json(loss: Loss) -> dict[str, Any]:
    """A loss as JSON: its notion and its parameters as texts."""
    return {"notion": loss.notion, **{f.name: _plain(getattr(loss, f.name)) for f in fields(loss)}}


def loss_from_json(data: object) -> Loss:
    """Read a loss back; raises InputError for anything that `loss_to_json` does not write."""
    kind, values = _named(data, "notion", _LOSSES)
    loss: Loss = _build(kind, values)
    return loss


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as JSON: its kind and its parameters as texts."""
    require_event(event)
    return {"kind": event.kind, **{f.name: _plain(getattr(event, f.name)) for f in fields(event)}}


def event_from_json(data: object, _depth: int = 0) -> Event:
    """Read an event back; raises InputError for anything that `event_to_json` does not write."""
    if _depth > MAX_DEPTH:
        raise InputError(f"an event is nested deeper than {MAX_DEPTH}; flatten it")
    kind, values = _named(data, "kind", _EVENTS)
    if "event" in values:
        values["event"] = event_from_json(values["event"], _depth + 1)
    if isinstance(values.get("events"), list):
        values["events"] = tuple(event_from_json(part, _depth + 1) for part in values["events"])
    if "loss" in values:
        values["loss"] = loss_from_json(values["loss"])
    event: Event = _build(kind, values)
    return event


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return text(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, EVENT_TYPES):
        return event_to_json(value)
    if isinstance(value, _LOSS_TYPES):
        return loss_to_json(value)
    return value


def _named(data: object, key: str, known: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The class that the data names, and the other fields."""
    if not isinstance(data, dict):
        raise InputError(f"a JSON object with the field {key!r} is needed; got a {type(data).__name__}")
    name = data.get(key)
    if not isinstance(name, str) or name not in known:
        raise InputError(f"{key}={show(name)} is unknown; this version reads: {', '.join(known)}")
    return known[name], {field: value for field, value in data.items() if field != key}


def _build(kind: Any, values: dict[str, Any]) -> Any:
    """The value, which writes exactly these fields again: one spelling, nothing left out and filled in."""
    names = [field.name for field in fields(kind)]
    if set(values) != set(names):
        raise InputError(f"{kind.__name__} has exactly the fields: {', '.join(names)}")
    built = kind(**values)
    for name, given in values.items():
        if isinstance(given, (tuple, *EVENT_TYPES, *_LOSS_TYPES)):
            continue  # read back just above, and checked there
        stored = _plain(getattr(built, name))
        if type(given) is not type(stored) or given != stored:
            raise InputError(
                f"{kind.__name__}: {name}={show(given)} is stored as {show(stored)}; numbers are texts in one spelling"
            )
    return built
