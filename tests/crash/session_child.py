"""What the crash tests run in processes of their own: ask one question and die at a named boundary."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import dosimeter as dm

BOUNDARIES = ("before reserve", "after reserve", "after rows", "after noise", "after settle", "never")


def die() -> None:
    """As a power cut would: no handler, no clean-up, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


def ask(folder: Path, boundary: str, request: str, said: Any) -> None:
    """Ask for a count in `folder`, die at `boundary`, or say the answer and whether it was replayed."""
    release_module: Any = import_module("dosimeter.mechanisms.release")
    session = dm.open(
        folder / "people.csv", epsilon="2", delta="1e-6", ledger=folder / "ledger.db", opened_by="steward"
    )
    ledger: Any = session.ledger
    reserve, settle, source, release = ledger.reserve, ledger.settle, session._source, release_module.release

    def reserving(*args: Any) -> Any:
        if boundary == "before reserve":
            die()
        outcome = reserve(*args)
        if boundary == "after reserve":
            die()
        return outcome

    def settling(*args: Any) -> Any:
        settled = settle(*args)
        if boundary == "after settle":
            die()
        return settled

    class Dying:
        schema = source.schema
        content_digest = staticmethod(source.content_digest)

        def aggregate(self, plan: Any) -> Sequence[Sequence[int]]:
            exact = source.aggregate(plan)
            if boundary == "after rows":
                die()
            return exact

    def releasing(*args: Any) -> list[int]:
        noisy = release(*args)
        if boundary == "after noise":
            die()
        return noisy

    ledger.reserve, ledger.settle, release_module.release = reserving, settling, releasing
    session._source = Dying()  # type: ignore[assignment]
    answer = session.ask(dm.count(), epsilon="0.1", request=request)
    said.send((answer.value, answer.replayed))


def ask_at_once(folder: Path, price: str, request: str, barrier: Any, said: Any) -> None:
    """One of many processes: open, wait for the others, ask, say how it went."""
    session = dm.open(folder / "people.csv", epsilon="1", ledger=folder / "ledger.db", opened_by="steward")
    barrier.wait()
    try:
        session.ask(dm.count(), epsilon=price, request=request)
    except dm.QueryRefused:
        said.send("refused")
    else:
        said.send("answered")
