"""`python -m benchmarks accounting`: options, the machine, and what is written where."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.accounting.rounds import Field
from benchmarks.accounting.systems import DEFAULT, KNOWN
from benchmarks.accounting.tables import TABLES, run
from benchmarks.accounting.verdict import reason, seconds
from benchmarks.accounting.workloads import QUICK, WORKLOADS
from benchmarks.table import show


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print tables, and write the data where `--json` says."""
    options = _read(sys.argv[1:] if arguments is None else arguments)
    if options.truths:
        from benchmarks.accounting.truth import print_truths

        print_truths(options.workloads)
        return
    begin = time.time()
    with Field(options.systems, tuple(options.python), options.limit) as field:
        result: dict[str, Any] = {"machine": machine(), "systems": field.about()}
        _show_systems(result)
        result["tables"] = run(field, options.tables, options.workloads, options.quick, options.rounds)
    result["machine"]["seconds"] = round(time.time() - begin)
    if options.json is not None:
        text = json.dumps(result, indent=1)
        if options.json == "-":
            print(text)
        else:
            Path(options.json).write_text(text + "\n")


def machine() -> dict[str, Any]:
    """The machine, in words that matter here."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "date": time.strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[0], 1),
    }


def _show_systems(result: dict[str, Any]) -> None:
    rows = []
    for name, about in result["systems"].items():
        if why := reason(about):
            rows.append([name, why, "", ""])
            continue
        versions = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
        rows.append([name, versions, about["python"], seconds(about["load"])])
    words = result["machine"]
    show(
        f"{words['processor']}, {words['cores']} cores, load {words['load']}, {words['date']}",
        ["system", "versions", "Python", "loaded in"],
        rows,
    )


def _names(known: Sequence[str], what: str) -> Any:
    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {what} {name!r}; there are: {', '.join(known)}")
        return names

    return read


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accounting", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer plans, one round, short histories")
    parser.add_argument("--systems", type=_names(tuple(KNOWN), "system"), default=list(DEFAULT), metavar="A,B")
    parser.add_argument("--tables", type=_names(TABLES, "table"), default=list(TABLES), metavar="A,B")
    parser.add_argument("--workloads", type=_names(tuple(WORKLOADS), "workload"), metavar="A,B")
    parser.add_argument("--rounds", type=int, help="how often each question is asked (3, or 1 with --quick)")
    parser.add_argument("--limit", type=float, default=100.0, help="seconds after which an answer is given up")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="another interpreter to look for systems in, after this one; may be repeated",
    )
    parser.add_argument("--json", metavar="FILE", help="write the data here; - prints it")
    parser.add_argument("--truths", action="store_true", help="compute the right answers again instead")
    options = parser.parse_args(list(arguments))
    options.python = [sys.executable, *options.python]
    options.rounds = options.rounds or (1 if options.quick else 3)
    if options.workloads is None:
        options.workloads = list(QUICK if options.quick else WORKLOADS)
    return options
