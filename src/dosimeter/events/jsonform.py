"""The JSON form of events and losses: what the ledger stores, audits and exports.

Numbers are texts, so nothing is lost on the way. Unknown names and unknown fields are refused: an entry that this
version does not understand must not be priced by guesswork.
"""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

from dosimeter.errors import InputError
from dosimeter.events.event import EVENT_TYPES, Composed, Declared, Event, Repeated, require_event
from dosimeter.events.sampled import SAMPLED_TYPES
from dosimeter.exact import show, text
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, ProbabilisticDP, PureDP

_LOSSES = {t.notion: t for t in (PureDP, ApproxDP, ProbabilisticDP, ZCDP, RDP, GDP)}
_EVENTS = {t.kind: t for t in EVENT_TYPES}
MAX_DEPTH = 16


def loss_to_json(loss: Loss) -> dict[str, Any]:
    """A loss as JSON: its notion and its parameters as texts."""
    return {"notion": loss.notion, **{f.name: _plain(getattr(loss, f.name)) for f in fields(loss)}}


def loss_from_json(data: object) -> Loss:
    """Read a loss back; raises InputError for anything that `loss_to_json` does not write."""
    kind, rest = _named(data, "notion", _LOSSES)
    loss: Loss = _build(kind, {k: tuple(v) if isinstance(v, list) else v for k, v in rest.items()})
    return loss


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as JSON: its kind and its parameters as texts."""
    require_event(event)
    if isinstance(event, Repeated):
        return {"kind": event.kind, "event": event_to_json(event.event), "count": event.count}
    if isinstance(event, Composed):
        return {"kind": event.kind, "events": [event_to_json(part) for part in event.events]}
    if isinstance(event, Declared):
        return {"kind": event.kind, "loss": loss_to_json(event.loss), "reason": event.reason}
    if isinstance(event, SAMPLED_TYPES):
        own = {f.name: _plain(getattr(event, f.name)) for f in fields(event) if f.name != "event"}
        return {"kind": event.kind, **own, "event": event_to_json(event.event)}
    return {"kind": event.kind, **{f.name: _plain(getattr(event, f.name)) for f in fields(event)}}


def event_from_json(data: object, _depth: int = 0) -> Event:
    """Read an event back; raises InputError for anything that `event_to_json` does not write."""
    if _depth > MAX_DEPTH:
        raise InputError(f"an event is nested deeper than {MAX_DEPTH}; flatten it")
    kind, rest = _named(data, "kind", _EVENTS)
    if (kind is Repeated or kind in SAMPLED_TYPES) and "event" in rest:
        rest["event"] = event_from_json(rest["event"], _depth + 1)
    if kind is Composed and isinstance(rest.get("events"), list):
        rest["events"] = tuple(event_from_json(part, _depth + 1) for part in rest["events"])
    if kind is Declared and "loss" in rest:
        rest["loss"] = loss_from_json(rest["loss"])
    event: Event = _build(kind, rest)
    return event


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return text(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _named(data: object, key: str, known: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    if not isinstance(data, dict) or data.get(key) not in known:
        got = show(data.get(key)) if isinstance(data, dict) else type(data).__name__
        raise InputError(f"{key}={got} is unknown; this version reads: {', '.join(known)}")
    return known[data[key]], {k: v for k, v in data.items() if k != key}


def _build(kind: Any, values: dict[str, Any]) -> Any:
    names = {f.name for f in fields(kind)}
    if extra := sorted(set(values) - names):
        raise InputError(f"{kind.__name__} has no field {show(extra[0])}; it has: {', '.join(sorted(names))}")
    try:
        return kind(**values)
    except TypeError:
        raise InputError(f"{kind.__name__} needs the fields: {', '.join(sorted(names))}") from None
