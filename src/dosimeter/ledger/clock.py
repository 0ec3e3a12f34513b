"""Time is recorded, never obeyed: no filter's decision depends on it, so a clock set back or forward grants nothing.

The one rule that looks at it is a quota that unlocks over time, and there it can only refuse (see `quotas`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from dosimeter.errors import InputError

Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """The system's clock."""
    return datetime.now(UTC)


def stamp(clock: Clock) -> str:
    """The clock's time as the text that a record carries, e.g. 2026-01-31T09:30:00.000000Z."""
    now = clock()
    if now.tzinfo is None:
        raise InputError("the ledger's clock returned a time without a zone; return datetime.now(UTC)")
    if now.tzinfo is not UTC:
        now = now.astimezone(UTC)
    return now.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
