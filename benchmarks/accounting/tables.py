"""The tables: each asks its questions, returns plain data, and prints for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from benchmarks.accounting.rounds import Field
from benchmarks.accounting.systems import YARDSTICK
from benchmarks.accounting.verdict import judge, reason, seconds, shown, signed
from benchmarks.accounting.workloads import WORKLOADS
from benchmarks.table import show

Cells: TypeAlias = dict[str, Any]


def prices(field: Field, names: Sequence[str], rounds: int) -> Cells:
    """Every plan of the list: value, width, error, time, memory."""
    result: Cells = {}
    for name in names:
        cells = field.ask("price", rounds, workload=name)
        for cell in cells.values():
            if reason(cell) is None:
                verdict = judge(cell, WORKLOADS[name])
                cell.update(error=verdict.error, gap=verdict.gap, wrong=verdict.wrong)
        result[name] = cells
        _show_prices(name, cells, field)
    if len(names) > 1:
        _show_times(result, field)
    return result


def _show_prices(name: str, cells: Cells, field: Field) -> None:
    plan = WORKLOADS[name]
    yard = cells.get(YARDSTICK, {}).get("cold")
    rows: list[list[str]] = [["the limit", plan.truth, *[""] * 7]]
    for system, cell in cells.items():
        if why := reason(cell):
            rows.append([system, why, *[""] * 7])
            continue
        times = [seconds(cell.get(kind, {}).get("cpu")) for kind in ("cold", "again", "read")]
        ratio = f"{cell['cold']['cpu'] / yard['cpu']:.3g}" if yard and yard["cpu"] else ""
        value = shown(cell) + (f"  WRONG: {cell['wrong']}" if cell["wrong"] else "")
        gap = "" if cell["gap"] is None else f"{cell['gap']:.1e}"
        rows.append([system, value, signed(cell["error"]), gap, *times, ratio, f"{cell['memory']:.0f}"])
    rows += [[system, why, *[""] * 7] for system, why in field.missing.items()]
    show(
        f"{name}: {plan.title}, delta={plan.delta}",
        ["system", "epsilon", "error", "gap", "cold", "again", "read", f"x {YARDSTICK}", "MB"],
        rows,
    )


def _show_times(result: Cells, field: Field) -> None:
    """One line a plan: first answers of all systems side by side."""
    systems = list(field.workers)
    rows = []
    for name, cells in result.items():
        row = [name]
        for system in systems:
            cell = cells[system]
            mark = "-" if reason(cell) else seconds(cell["cold"]["cpu"]) + ("!" if cell.get("wrong") else "")
            row.append(mark)
        rows.append(row)
    show("First answers, processor time", ["plan", *systems], rows, "! is a value reported as a bound that is none")


def growing(field: Field, steps: int, patience: float) -> Cells:
    """An account that grows by different mechanisms, read after each."""
    cells = field.ask("grow", steps=steps, seconds=patience)
    marks = [mark for mark in (1, 10, 40, 160, 640) if mark <= steps]
    rows = []
    for system, cell in cells.items():
        if why := reason(cell):
            rows.append([system, why, *[""] * (2 * len(marks))])
            continue
        seen, epsilons = cell["seen"], cell["epsilons"]
        last = len(seen)
        at = [seconds(seen[mark - 1]["cpu"]) if mark <= last else f"stopped at {last}" for mark in marks]
        said = [f"{float(epsilons[mark - 1]):.9g}" if mark <= last else "" for mark in marks]
        rows.append([system, *at, *said, f"{cell['memory']:.0f}"])
    columns = ["system", *(f"{mark} steps" for mark in marks), *(f"epsilon at {mark}" for mark in marks), "MB"]
    show("An account that grows: different sampled Gaussians, epsilon after each, processor time", columns, rows)
    return cells


def history(field: Field, events: int, patience: float) -> Cells:
    """A long history of few kinds of mechanism."""
    kinds = 10
    cells = field.ask("append", events=events, kinds=kinds, seconds=patience)
    rows = []
    for system, cell in cells.items():
        if why := reason(cell):
            rows.append([system, why, "", "", "", ""])
            continue
        previous = 0
        for mark in cell["marks"]:
            each = mark["appends"] / (mark["events"] - previous)
            previous = mark["events"]
            first, read = seconds(mark["first"]["cpu"]), seconds(mark["read"]["cpu"])
            rows.append([system, mark["events"], seconds(each), first, read, f"{float(mark['epsilon']):.9g}"])
    show(
        f"A long history of {kinds} kinds of mechanism, processor time",
        ["system", "events", "per append", "first read", "next read", "epsilon"],
        rows,
    )
    return cells


def shapes(field: Field, quick: bool, rounds: int) -> Cells:
    """How the time to a first answer grows with the plan."""
    sizes: dict[str, tuple[int, ...]] = {
        "steps": (10, 1000, 100_000) if quick else (10, 1000, 100_000, 10_000_000, 1_000_000_000),
        "mechanisms": (1, 10) if quick else (1, 10, 100, 400),
        "digits": (3, 12, 48) if quick else (3, 6, 12, 24, 48, 96, 192),
    }
    titles = {
        "steps": "steps of q=.01 s=4, delta=1e-6",
        "mechanisms": "different mechanisms, five runs each",
        "digits": "digits of delta, 1000 steps of q=.01 s=1",
    }
    result: Cells = {}
    for shape, points in sizes.items():
        result[shape] = {size: field.ask("cost", rounds, shape=shape, size=size) for size in points}
        rows = []
        for system in field.workers:
            cells = [result[shape][size][system] for size in points]
            rows.append([system, *(reason(cell) or f"{seconds(cell['cold']['cpu'])}  {shown(cell)}" for cell in cells)])
        show(f"First answer by the number of {titles[shape]}", ["system", *map(str, points)], rows)
    return result


CALIBRATION = {"epsilon": 1.0, "delta": 1e-5}
SIGMA = "1.41461941"  # the least one, to its last digit


def calibration(field: Field, rounds: int) -> Cells:
    """The least noise of a training run."""
    cells = field.ask("calibrate", rounds, **CALIBRATION)
    rows = [["the limit", SIGMA, "", "", ""]]
    for system, cell in cells.items():
        if why := reason(cell):
            rows.append([system, why, "", "", ""])
            continue
        sigma = float(cell["sigma"])
        more = sigma / float(SIGMA) - 1
        times = [seconds(cell["cold"][kind]) for kind in ("wall", "cpu")]
        rows.append([system, f"{sigma:.9g}", f"{more:+.1e}" + (" too little" if more < -1e-7 else ""), *times])
    show("Noise for epsilon=1, delta=1e-5: q=.01, 1000 steps", ["system", "sigma", "too much", "wall", "cpu"], rows)
    return cells


ALLOCATIONS: tuple[tuple[float, int, int, float], ...] = (
    (1.0, 1000, 1, 1e-6),
    (2.0, 100, 1, 1e-6),
    (4.0, 100, 10, 1e-6),
    (0.8, 10_000, 1, 1e-8),
)


def allocation(field: Field, quick: bool) -> Cells:
    """Random allocation: certified brackets where there are some."""
    result: Cells = {}
    rows = []
    for sigma, steps, selected, delta in ALLOCATIONS[1:3] if quick else ALLOCATIONS:
        name = f"{selected} of {steps}, s={sigma}, delta={delta}"
        cells = field.ask("allocate", sigma=sigma, steps=steps, selected=selected, delta=delta)
        result[name] = cells
        for system, cell in cells.items():
            why = reason(cell)
            if why and "unsupported" in cell:
                continue
            lower = f"{float(cell['lower']):.6g}" if "lower" in cell else ""
            rows.append([name, system, lower, why or shown(cell), "" if why else seconds(cell["cold"]["cpu"])])
    rows = rows or [["", "none of these systems", "", "", ""]]
    show("Random allocation", ["plan", "system", "lower", "epsilon", "cpu"], rows)
    return result


def run(field: Field, tables: Sequence[str], workloads: Sequence[str], quick: bool, rounds: int) -> Cells:
    """The tables that were asked for, in order."""
    asked: dict[str, Callable[[], Cells]] = {
        "prices": lambda: prices(field, workloads, rounds),
        "growing": lambda: growing(field, 10 if quick else 160, 10 if quick else 120),
        "history": lambda: history(field, 1000 if quick else 100_000, 10 if quick else 120),
        "shapes": lambda: shapes(field, quick, rounds),
        "calibration": lambda: calibration(field, rounds),
        "allocation": lambda: allocation(field, quick),
    }
    return {name: work() for name, work in asked.items() if name in tables}


TABLES = ("prices", "growing", "history", "shapes", "calibration", "allocation")
