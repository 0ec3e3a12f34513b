"""Counts are opened here and nowhere else: what a nested event is made of, and how often.

A reader that takes `Repeated(e, 10)` for one `e` prices a tenth of what is released.
"""

from __future__ import annotations

from dosimeter.errors import InputError
from dosimeter.events.event import Composed, Event, Repeated, require_event

LARGEST_COUNT = 10**12
MOST_PARTS = 10**6


def open_event(event: Event) -> dict[Event, int]:
    """The single releases inside an event, in order of first appearance, each with its total count.

    Raises:
        InputError: something inside is not an event, it is repeated more than 1e12 times, or there are more than
            1e6 parts to look at.
    """
    counts: dict[Event, int] = {}
    waiting, seen = [(event, 1)], 0
    while waiting:
        part, times = waiting.pop()
        seen += 1
        if seen > MOST_PARTS:
            raise InputError(f"an event has more than {MOST_PARTS} parts; write equal parts once, as Repeated")
        require_event(part)
        if isinstance(part, Repeated):
            waiting.append((part.event, times * part.count))
        elif isinstance(part, Composed):
            waiting.extend((inner, times) for inner in reversed(part.events))
        else:
            counts[part] = counts.get(part, 0) + times
            if counts[part] > LARGEST_COUNT:
                raise InputError(f"an event is repeated {counts[part]:.3g} times; the largest count is {LARGEST_COUNT:.0g}")
    return counts
