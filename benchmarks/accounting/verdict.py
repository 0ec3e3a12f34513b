"""Whether an answer is right, how narrow, and how it reads in a table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from benchmarks.accounting.workloads import Workload

_ROUNDING = Decimal("1e-12")
_WIDEST = 44


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a cell says about its workload."""

    error: float | None  # (value - truth) / truth
    gap: float | None  # (upper - lower) / value
    wrong: str  # empty, "below the truth" or "lower bound above the truth"


def judge(cell: dict[str, Any], workload: Workload) -> Verdict:
    """Compare an answer with the truth; a reported upper bound below it is wrong, an estimate is only inexact."""
    truth, slack = Decimal(workload.truth), workload.doubt + _ROUNDING
    upper, lower = (Decimal(cell[side]) if side in cell else None for side in ("upper", "lower"))
    value = upper if upper is not None else Decimal(cell["estimate"])
    if not value.is_finite():
        return Verdict(None, None, "")
    wrong = ""
    if upper is not None and upper < truth * (1 - slack):
        wrong = "below the truth"
    elif lower is not None and lower > truth * (1 + slack):
        wrong = "lower bound above the truth"
    gap = float((upper - lower) / value) if upper is not None and lower is not None and value else None
    return Verdict(float((value - truth) / truth), gap, wrong)


def merge(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several rounds as one: medians of the times, the largest memory, the last answer."""
    good = [cell for cell in cells if "cold" in cell]
    if not good:
        return dict(cells[-1])
    result = dict(good[-1])
    for kind in ("cold", "again", "read"):
        taken = [cell[kind] for cell in good if kind in cell]
        if taken:
            result[kind] = {key: statistics.median(t[key] for t in taken) for key in taken[0]}
    result["rounds"] = len(good)
    if "memory" in result:
        result["memory"] = max(cell["memory"] for cell in good)
    return result


def seconds(value: float | None) -> str:
    """A duration in a person's words."""
    if value is None:
        return ""
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def signed(value: float | None) -> str:
    """A relative error."""
    return "" if value is None else "0" if value == 0 else f"{value:+.1e}"


def reason(cell: dict[str, Any]) -> str | None:
    """Why there is no answer."""
    for key in ("missing", "unsupported", "failed"):
        if key in cell:
            text = str(cell[key])
            return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
    return None


def shown(cell: dict[str, Any]) -> str:
    """The value of a cell, with digits enough to compare."""
    value = float(cell.get("upper", cell.get("estimate", "nan")))
    return f"{value:.10g}" if math.isfinite(value) else "infinite"
