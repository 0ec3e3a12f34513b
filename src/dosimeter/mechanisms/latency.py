"""Answering late on purpose: how long a draw took says something about the noise, so the clock must not tell it.

Exact samplers reject and try again, and big numbers take longer to add, so the moment an answer appears is correlated
with the noise in it. `pad_to` answers only at multiples of a fixed latency: as long as the work fits into one, the
moment says nothing; if it does not fit, it says how many were needed and no more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from dosimeter.errors import InputError
from dosimeter.exact import Number, show, to_decimal

LONGEST: Final = 3600


class Timer(Protocol):
    """A clock that never runs backwards, and a way to wait for it."""

    def monotonic(self) -> float:
        """Seconds since some moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait about this long."""
        ...


class SystemTimer:
    """The computer's own monotonic clock."""

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait about this long."""
        time.sleep(seconds)


@contextmanager
def pad_to(latency_seconds: Number, timer: Timer | None = None) -> Iterator[None]:
    """Leave the block only when a multiple of `latency_seconds` has passed since it was entered, errors included.

    Args:
        latency_seconds: in (0, 3600]; choose it well above the usual time of the work inside.
        timer: the clock; the computer's own when left out.

    Reference: Jin, McMurtry, Rubinstein, Ohrimenko, "Are we there yet? Timing and floating-point attacks on
    differential privacy systems" (2022).
    """
    latency = float(to_decimal(latency_seconds, "latency_seconds"))
    if not 0 < latency <= LONGEST:
        raise InputError(f"latency_seconds={show(latency_seconds)} is outside (0, {LONGEST}]")
    clock = SystemTimer() if timer is None else timer
    start = clock.monotonic()
    try:
        yield
    finally:
        wanted = start + latency * max(1, math.ceil((clock.monotonic() - start) / latency))
        while (left := wanted - clock.monotonic()) > 0:
            clock.sleep(left)
