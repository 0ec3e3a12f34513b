"""What the adapters share: names of foreign classes, numbers that round the safe way, libraries that may be missing."""

from __future__ import annotations

import decimal
import importlib
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from dosimeter.errors import InputError
from dosimeter.events import Composed, Event, Repeated
from dosimeter.events.event import MAX_PARTS

_EXACT_UP: Final = decimal.Context(prec=25, rounding=decimal.ROUND_CEILING)


def class_name(value: object) -> str:
    """The name of a foreign value's class; for a value written as a named tuple, the name it carries."""
    carried = getattr(value, "class_name", None)
    return carried if isinstance(carried, str) else type(value).__name__


def field(value: object, name: str) -> Any:
    """A field of a foreign value; raises InputError where the class has none of this name."""
    try:
        return getattr(value, name)
    except AttributeError:
        raise InputError(f"{class_name(value)} has no field {name}; this version of the library is not known") from None


def double_up(value: object, name: str) -> Decimal:
    """A float taken as the exact number it is, rounded up to 25 digits: for losses another library computed."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is a {type(value).__name__}, not a number")
    if not math.isfinite(value):
        raise InputError(f"{name}={value} is not finite; nothing is promised by it")
    return _EXACT_UP.create_decimal(Decimal(value))


def float_down(value: Decimal) -> float:
    """The largest float that, read by its shortest decimal form as everywhere here, is not above the value."""
    near = float(value)
    return near if Decimal(repr(near)) <= value else math.nextafter(near, -math.inf)


def float_up(value: Decimal) -> float:
    """The smallest float that, read by its shortest decimal form, is not below the value."""
    near = float(value)
    return near if Decimal(repr(near)) >= value else math.nextafter(near, math.inf)


def library(name: str) -> Any:
    """Import another library when a value of it has to be made."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"the library {name} is not installed here; install it to write its values") from None


def together(parts: Sequence[tuple[Event, int]]) -> Event:
    """One event for all the parts and their counts, in any number."""
    events: list[Event] = [event if count == 1 else Repeated(event, count) for event, count in parts]
    while len(events) > MAX_PARTS:
        events = [Composed(tuple(events[i : i + MAX_PARTS])) for i in range(0, len(events), MAX_PARTS)]
    return events[0] if len(events) == 1 else Composed(tuple(events))
