"""How events nest, and how far: checked when one is built, once and for all.

Every event that exists can therefore be written, read back and opened. Without this a deep one would end the stack of
whoever looks through it, and a wide one made of shared parts would take for ever to open, after it was accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from dosimeter.errors import InputError

if TYPE_CHECKING:
    from dosimeter.events.event import Event

MAX_DEPTH: Final = 16
MOST_PARTS: Final = 10**6


def inside(event: Event) -> tuple[Event, ...]:
    """The events directly inside an event; none inside a single release."""
    holder: Any = event
    if hasattr(holder, "events"):
        return tuple(holder.events)
    return (holder.event,) if hasattr(holder, "event") else ()


def everything_in(event: Event) -> Iterator[Event]:
    """The event and everything nested in it, each object once, in order of first appearance."""
    waiting, seen = [event], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting.extend(reversed(inside(part)))


def require_modest(event: Event) -> None:
    """Refuse an event that is nested too deep or has too many parts; to be called on every event that holds others.

    Raises:
        InputError: nested deeper than 16, or more than 1e6 parts when written out.
    """
    depth, parts = _measure(event, {})
    if depth > MAX_DEPTH:
        raise InputError(f"an event is nested deeper than {MAX_DEPTH}; flatten it")
    if parts > MOST_PARTS:
        raise InputError(f"an event has more than {MOST_PARTS} parts; write equal parts once, as Repeated")


def _measure(event: Event, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Depth, and number of parts when written out. What is inside was measured before, so the stack stays short."""
    if id(event) not in known:
        within = [_measure(part, known) for part in inside(event)]
        known[id(event)] = (1 + max(d for d, _ in within), 1 + sum(n for _, n in within)) if within else (0, 1)
    return known[id(event)]
