"""The odometer figure: bounds against intrinsic time, the budget line, each query a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dosimeter.report.chart import Axis, Chart, Limit, Line, Mark, draw


@dataclass(frozen=True, slots=True)
class Curve:
    """One bound as a function of intrinsic time."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Query:
    """One answered query: where it left the account, and what to show on hover."""

    intrinsic_time: float
    bound: float
    label: str


@dataclass(frozen=True, slots=True)
class OdometerFigure:
    """What the figure shows; `svg` draws it."""

    curves: Sequence[Curve]
    queries: Sequence[Query]
    budget: float | None = None
    title: str = "Privacy loss against intrinsic time"


def svg(figure: OdometerFigure, *, standalone: bool = True) -> str:
    """Draw the figure. `standalone` includes the style sheet, for a file of its own."""
    xs = [x for c in figure.curves for x, _ in c.points] + [q.intrinsic_time for q in figure.queries]
    ys = [y for c in figure.curves for _, y in c.points] + [q.bound for q in figure.queries]
    x_top, y_top = max(xs, default=1.0) or 1.0, max([*ys, figure.budget or 0.0]) or 1.0
    chart = Chart(
        title=figure.title,
        x=Axis("intrinsic time V (twice the sum of rho)", 0.0, 1.04 * x_top),
        y=Axis("epsilon", 0.0, 1.08 * y_top),
        lines=[Line(curve.name, curve.points) for curve in figure.curves],
        marks=[Mark(query.intrinsic_time, query.bound, query.label) for query in figure.queries],
        limits=() if figure.budget is None else [Limit(figure.budget, f"budget {figure.budget:.6g}")],
    )
    return draw(chart, standalone=standalone)
