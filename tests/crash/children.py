"""Child processes for the crash tests: forked, killed without warning, and asked what they had released."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn


def die() -> NoReturn:
    """SIGKILL: no handler, no finally, no atexit, no rollback."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(1)  # never reached


class Child:
    """A forked process and the lines it wrote before it ended."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            code = 1
            try:
                work(lambda line: (os.write(writing, f"{line}\n".encode()), None)[1])
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        self._reading = reading

    def kill(self) -> None:
        """End it without warning."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> tuple[int, list[str]]:
        """Its exit code (negative: the signal that ended it) and its lines."""
        with os.fdopen(self._reading) as lines:
            said = lines.read().splitlines()
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), said


class Gate:
    """Children report that they are ready and wait; the parent lets all of them go at once."""

    def __init__(self) -> None:
        self._ready, self._ready_writing = os.pipe()
        self._go, self._go_writing = os.pipe()

    def wait_here(self) -> None:
        """In a child."""
        os.close(self._go_writing)
        os.write(self._ready_writing, b".")
        os.read(self._go, 1)

    def open_when(self, count: int) -> None:
        """In the parent."""
        for _ in range(count):
            os.read(self._ready, 1)
        for end in (self._go_writing, self._go, self._ready, self._ready_writing):
            os.close(end)
