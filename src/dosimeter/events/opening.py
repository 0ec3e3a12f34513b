"""Counts are opened here and nowhere else: what a nested event is made of, and how often.

A reader that takes `Repeated(e, 10)` for one `e` prices a tenth of what is released.
"""

from __future__ import annotations

from typing import Final

from dosimeter.errors import InputError
from dosimeter.events.event import Composed, Event, Repeated, require_event

LARGEST_COUNT: Final = 10**12


def open_event(event: Event) -> dict[Event, int]:
    """The single releases inside an event, in order of first appearance, each with its total count.

    Raises:
        InputError: it is not an event, or something inside is repeated more than 1e12 times.
    """
    require_event(event)
    counts: dict[Event, int] = {}
    waiting = [(event, 1)]
    while waiting:
        part, times = waiting.pop()
        if isinstance(part, Repeated):
            waiting.append((part.event, times * part.count))
        elif isinstance(part, Composed):
            waiting.extend((inner, times) for inner in reversed(part.events))
        else:
            counts[part] = counts.get(part, 0) + times
            if counts[part] > LARGEST_COUNT:
                raise InputError(f"a {part.kind} event is repeated more than {LARGEST_COUNT:.0e} times")
    return counts
