"""Padded latency: the moment of an answer is a multiple of a fixed time, whatever the work took."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.mechanisms.latency import SystemTimer, pad_to


class StandingClock:
    """A clock that moves only when someone works or sleeps; its naps are a little short, as real ones may be."""

    def __init__(self, shortfall: float = 0.0) -> None:
        self.now = 100.0
        self.shortfall = shortfall

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds * (1 - self.shortfall), 1e-9)


@given(st.floats(0, 0.999), st.floats(0.001, 0.99))
@settings(max_examples=50, deadline=None)
def test_work_that_fits_takes_the_same_time(work: float, other: float) -> None:
    """Two amounts of work under the latency end at the same moment."""
    ends = []
    for amount in (work, other):
        clock = StandingClock(shortfall=0.3)
        with pad_to(1, clock):
            clock.now += amount
        ends.append(clock.now)
    assert all(101 <= end < 101.001 for end in ends)


def test_work_that_does_not_fit_ends_at_the_next_multiple() -> None:
    """2.3 latencies of work end after 3: the overrun itself is not visible."""
    clock = StandingClock()
    with pad_to("0.5", clock):
        clock.now += 1.15
    assert clock.now == pytest.approx(101.5)


def test_an_error_is_padded_too() -> None:
    """An exception leaves the block at the same moment an answer would."""
    clock = StandingClock()

    def work() -> None:
        with pad_to(1, clock):
            clock.now += 0.2
            raise RuntimeError("failed")

    with pytest.raises(RuntimeError):
        work()
    assert clock.now == pytest.approx(101)


@pytest.mark.parametrize("bad", [0, -1, "nan", "inf", 3601, None])
def test_a_latency_is_a_positive_number_of_seconds(bad: object) -> None:
    """Zero, negative, infinite and absurd latencies are refused by name."""
    with pytest.raises(InputError, match="latency_seconds"), pad_to(bad):  # type: ignore[arg-type]
        pass


def test_the_computers_clock_waits() -> None:
    """With the real clock, the block lasts at least the latency."""
    timer = SystemTimer()
    start = timer.monotonic()
    with pad_to("0.01"):
        pass
    assert timer.monotonic() - start >= 0.01
