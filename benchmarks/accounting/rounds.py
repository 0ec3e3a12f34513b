"""Measure systems in turn: in every round each one answers once, so that a slow minute is slow for all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks.accounting.verdict import merge
from benchmarks.accounting.worker import Missing, Worker

_LONG = 10.0  # an answer that takes longer is asked for once


class Field:
    """The systems that are measured together, each in a process of its own."""

    def __init__(self, names: Sequence[str], pythons: tuple[str, ...], limit: float) -> None:
        self.limit = limit
        self.workers: dict[str, Worker] = {}
        self.missing: dict[str, str] = {}
        self._stack = ExitStack()
        for name in names:
            try:
                self.workers[name] = Worker(name, pythons)
            except Missing as reason:
                self.missing[name] = f"not installed ({reason})"
            else:
                self._stack.callback(self.workers[name].close)

    def __enter__(self) -> Field:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ask(self, task: str, rounds: int = 1, **arguments: Any) -> dict[str, dict[str, Any]]:
        """One question to all, in turn, several times."""
        cells: dict[str, list[dict[str, Any]]] = {name: [] for name in self.workers}
        for _ in range(rounds):
            for name, worker in self.workers.items():
                if cells[name] and _settled(cells[name][-1]):
                    continue
                cells[name].append(worker.ask(task, self.limit, **arguments))
                print(".", end="", file=sys.stderr, flush=True)
        return {name: merge(answers) for name, answers in cells.items()}

    def about(self) -> dict[str, dict[str, Any]]:
        """Versions, and how long each library takes to load; or why it is missing."""
        known = {name: worker.about for name, worker in self.workers.items()}
        return {**known, **{name: {"missing": why} for name, why in self.missing.items()}}


def _settled(cell: dict[str, Any]) -> bool:
    return "cold" not in cell or cell["cold"]["wall"] > _LONG
