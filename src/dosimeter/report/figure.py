"""The odometer figure as a small, self-contained SVG: bounds against intrinsic time, the budget, each query a point.

Drawn by hand so that a statement needs no plotting library and opens anywhere. Colours follow the reader's light or
dark scheme; the style sheet travels with the figure when it stands alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 24, 56


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
    x_name: str = "intrinsic time V (twice the sum of rho)"
    y_name: str = "epsilon"


def style() -> str:
    """The figure's style sheet: light and dark."""
    return resources.files(__package__).joinpath("figure.css").read_text(encoding="utf-8")


def svg(figure: OdometerFigure, *, standalone: bool = True) -> str:
    """Draw the figure. `standalone` includes the style sheet, for a file of its own."""
    xs = [x for c in figure.curves for x, _ in c.points] + [q.intrinsic_time for q in figure.queries]
    ys = [y for c in figure.curves for _, y in c.points] + [q.bound for q in figure.queries]
    frame = _Frame(max(xs, default=1.0) * 1.04 or 1.0, max([*ys, figure.budget or 0.0], default=1.0) * 1.08 or 1.0)
    title = escape(figure.title, quote=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{title}">',
            f"<style>{style()}</style>" if standalone else "",
            f"<title>{title}</title>",
            *frame.axes(figure.x_name, figure.y_name),
            *(frame.limit(figure.budget) if figure.budget is not None else ()),
            *(line for i, curve in enumerate(figure.curves) for line in frame.curve(i, curve)),
            *(frame.query(query) for query in figure.queries),
            "</svg>",
        ]
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """The plotting area: where a pair of numbers lands, and the parts drawn there."""

    x_top: float
    y_top: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (WIDTH - LEFT - RIGHT) / self.x_top
        up = (HEIGHT - TOP - BOTTOM) / self.y_top
        return round(LEFT + x * across, 2), round(HEIGHT - BOTTOM - y * up, 2)

    def axes(self, x_name: str, y_name: str) -> Iterator[str]:
        end, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
        for tick in _ticks(self.x_top):
            x, _ = self.place(tick, 0)
            yield f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{floor}"/>'
            yield f'<text class="middle" x="{x}" y="{floor + 18}">{tick:.4g}</text>'
        for tick in _ticks(self.y_top):
            _, y = self.place(0, tick)
            yield f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{end}" y2="{y}"/>'
            yield f'<text class="end" x="{LEFT - 8}" y="{y + 4}">{tick:.4g}</text>'
        yield f'<path class="axis" d="M{LEFT} {TOP}V{floor}H{end}"/>'
        yield f'<text class="middle" x="{(LEFT + end) / 2}" y="{HEIGHT - 14}">{escape(x_name)}</text>'
        middle = (TOP + floor) / 2
        yield f'<text class="middle" transform="translate(16 {middle}) rotate(-90)">{escape(y_name)}</text>'

    def limit(self, budget: float) -> Iterator[str]:
        end, y = WIDTH - RIGHT, self.place(0, budget)[1]
        yield f'<line class="limit" x1="{LEFT}" y1="{y}" x2="{end}" y2="{y}"/>'
        yield f'<text class="end limit-name" x="{end}" y="{y - 6}">budget {budget:.6g}</text>'

    def curve(self, i: int, curve: Curve) -> Iterator[str]:
        stroke = f'class="curve" style="stroke:var(--c{i % 4})"'
        places = [self.place(*point) for point in curve.points]
        yield f'<path {stroke} d="M{" L".join(f"{x} {y}" for x, y in places)}"/>'
        y = TOP + 12 + 18 * i
        yield f'<line {stroke} x1="{LEFT + 14}" y1="{y}" x2="{LEFT + 38}" y2="{y}"/>'
        yield f'<text x="{LEFT + 44}" y="{y + 4}">{escape(curve.name)}</text>'

    def query(self, query: Query) -> str:
        x, y = self.place(query.intrinsic_time, query.bound)
        return f'<circle class="query" cx="{x}" cy="{y}" r="4"><title>{escape(query.label)}</title></circle>'


def _ticks(top: float, wanted: int = 5) -> list[float]:
    raw = top / wanted
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(m * scale for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * scale >= raw)
    return [i * step for i in range(int(top / step + 1e-9) + 1)]
