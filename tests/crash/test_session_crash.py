"""Kill a session at every boundary of its effects: what may be out is paid for, and a retry completes or replays."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from decimal import Decimal
from pathlib import Path

import pytest
from tests.crash.session_child import BOUNDARIES, ask, ask_at_once

import dosimeter as dm
from dosimeter.notions import PureDP
from dosimeter.notions.convert import pure_to_zcdp

PRICE = pure_to_zcdp(PureDP(Decimal("0.1"))).rho
CHILDREN = multiprocessing.get_context("forkserver")  # imports once, then each child is a fork of a clean process
CHILDREN.set_forkserver_preload(
    ["tests.crash.session_child", "dosimeter.session", "duckdb", "opendp.prelude", "alembic"]
)


def run(folder: Path, boundary: str, request: str = "r1") -> tuple[int | None, tuple[int, bool] | None]:
    """Ask in a process of its own: how it ended, and what it said before."""
    hears, speaks = CHILDREN.Pipe(duplex=False)
    child = CHILDREN.Process(target=ask, args=(folder, boundary, request, speaks))
    child.start()
    speaks.close()
    child.join()
    said = None
    if hears.poll():
        with contextlib.suppress(EOFError):
            said = hears.recv()
    hears.close()
    return child.exitcode, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with people.csv."""
    (tmp_path / "people.csv").write_text("person,age\n" + "".join(f"{i},{20 + i % 50}\n" for i in range(300)))
    return tmp_path


def spent(folder: Path) -> Decimal:
    """What the account has used, read by a fresh ledger."""
    ledger = dm.open_ledger(folder / "ledger.db", create=False)
    (account,) = ledger.accounts()
    assert ledger.audit(account).ok
    return Decimal(ledger.balance(account).spent["rho"])


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_kill_never_loses_a_charge_and_a_retry_never_pays_twice(folder: Path, boundary: str) -> None:
    """Killed anywhere: the charge is there as soon as rows may have been read; the retry completes or replays."""
    ended, first = run(folder, boundary)
    assert ended == (0 if boundary == "never" else -signal.SIGKILL)
    charged = spent(folder)
    assert (charged > 0) == (boundary != "before reserve")
    ended, retry = run(folder, "never")
    assert ended == 0
    assert retry is not None
    assert retry[1] == (boundary in {"after settle", "never"})
    assert spent(folder) == PRICE  # whatever happened before, the request was paid for exactly once
    assert charged in (0, PRICE)
    if boundary == "never":
        assert first is not None
        assert first[0] == retry[0]  # the same noise, not a second draw
    assert run(folder, "never") == (0, (retry[0], True))


def test_many_crashes_spend_what_they_may_have_released(folder: Path) -> None:
    """Several requests, each killed at another boundary: what is spent is what was reserved, nothing more or less."""
    for number, boundary in enumerate(BOUNDARIES):
        run(folder, boundary, f"r{number}")
    reserved = len(BOUNDARIES) - 1  # "before reserve" never got that far
    ledger = dm.open_ledger(folder / "ledger.db", create=False)
    (account,) = ledger.accounts()
    assert len([e for e in ledger.statement(account).entries if e.status in {"reserved", "settled"}]) == reserved
    assert len(ledger.orphans(account)) == 3  # after reserve, after rows, after noise
    assert spent(folder) == reserved * PRICE
    for number in range(len(BOUNDARIES)):
        assert run(folder, "never", f"r{number}")[0] == 0
    assert ledger.orphans(account) == ()


def test_many_processes_never_overspend(folder: Path) -> None:
    """A dozen processes ask at once for more than fits: the account admits what fits, and every answer was charged."""
    barrier = CHILDREN.Barrier(12)
    hears, speaks = CHILDREN.Pipe(duplex=False)
    running = [CHILDREN.Process(target=ask_at_once, args=(folder, "0.3", f"r{i}", barrier, speaks)) for i in range(12)]
    for process in running:
        process.start()
    words = [hears.recv() for _ in running]
    for process in running:
        process.join()
    assert sorted(words) == ["answered"] * 3 + ["refused"] * 9
    ledger = dm.open_ledger(folder / "ledger.db", create=False)
    (account,) = ledger.accounts()  # twelve openers, one account
    assert Decimal(ledger.balance(account).spent["epsilon"]) == Decimal("0.9")
    assert ledger.audit(account).ok
