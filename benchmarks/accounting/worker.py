"""One process per system, which forks a child for every measurement.

The library is imported once; every measurement starts from the same state, so caches that an answer fills do not help
the next one; a child that takes too long or too much is ended alone. Requests and answers are lines of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from benchmarks.accounting.systems import System, UnsupportedError, create
from benchmarks.accounting.tasks import TASKS, warm_up

_MOST_MEMORY = 12 << 30


class Missing(Exception):
    """The system is not installed; the text says what is missing."""


class Worker:
    """The parent's end: a system that answers tasks."""

    def __init__(self, system: str, pythons: tuple[str, ...]) -> None:
        self.system = system
        reasons = []
        for python in pythons:
            self._process = subprocess.Popen(
                [python, "-W", "ignore", "-m", "benchmarks.accounting.worker", system],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=Path(__file__).resolve().parents[2],
            )
            self.about = self._receive()
            if "missing" not in self.about:
                return
            reasons.append(self.about["missing"])
            self.close()
        raise Missing(next((r for r in reasons if "ModuleNotFoundError" not in r), reasons[0]))

    def _receive(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        result: dict[str, Any] = json.loads(line) if line else {"missing": "the process ended while loading"}
        return result

    def ask(self, task: str, limit: float, **arguments: Any) -> dict[str, Any]:
        """Run a task; what it returned, or why it did not."""
        if self._process.stdin is None:
            raise RuntimeError("a worker without an input")
        request = {"task": task, "limit": limit, "arguments": arguments}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._receive()

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()


def serve(name: str, answers: IO[str]) -> None:
    """The child's end: load, say what was loaded, answer until the input ends."""
    begin = time.perf_counter()
    try:
        system = create(name)
    except Exception as error:  # an old package on a new interpreter fails in many ways
        print(json.dumps({"missing": f"{type(error).__name__}: {error}"[:120]}), file=answers, flush=True)
        return
    loaded = time.perf_counter() - begin
    if system.warm_before_fork:
        warm_up(system)
    about = {"versions": {p: _version(p) for p in system.packages}, "python": sys.version.split()[0], "load": loaded}
    print(json.dumps(about), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        result = _in_child(system, request["task"], request["arguments"], request["limit"])
        print(json.dumps(result), file=answers, flush=True)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _in_child(system: System, task: str, arguments: dict[str, Any], limit: float) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        try:
            with os.fdopen(writing, "w") as out:
                out.write(json.dumps(_answer(system, task, arguments)))
        finally:
            os._exit(0)
    os.close(writing)
    text, end = b"", time.monotonic() + limit
    while True:
        ready, _, _ = select.select([reading], [], [], max(end - time.monotonic(), 0))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        if not (more := os.read(reading, 1 << 16)):
            break
        text += more
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if text:
        result: dict[str, Any] = json.loads(text)
        return result
    return {"failed": f"over {limit:.0f} s" if status == signal.SIGKILL else f"ended with status {status}"}


def _answer(system: System, task: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        if not system.warm_before_fork:
            warm_up(system)
        return TASKS[task](system, **arguments)
    except UnsupportedError as reason:
        return {"unsupported": str(reason)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:160]}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    serve(sys.argv[1], channel)
