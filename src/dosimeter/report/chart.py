"""Line charts as small, self-contained SVG files: no plotting library, no script, light and dark.

Colours follow the reader's scheme; the style sheet travels with a chart that stands alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 24, 56
_LEGEND = 230  # the width of the names of lines


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis from `low` to `high`; with `log` both are positive and steps are factors of ten."""

    name: str
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies between the ends: 0 at `low`, 1 at `high`."""
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round values between the ends, about five of them."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            every = max(1, (last - first) // 5)
            return [10.0**power for power in range(first, last + 1, every)]
        raw = (self.high - self.low) / 5
        scale = 10.0 ** math.floor(math.log10(raw))
        step = next(m * scale for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * scale >= raw * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True, slots=True)
class Line:
    """A curve through points; `dashed` for what is no guarantee, `quiet` for one of many, thin and without a name.

    `errors`, one per point where there are any, are drawn as bars of that length up and down.
    """

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    quiet: bool = False
    errors: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A point, and what to show when somebody hovers over it."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A horizontal line that matters."""

    y: float
    name: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that is drawn; where lines are `falling`, their names stand on the right."""

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line] = ()
    marks: Sequence[Mark] = ()
    limits: Sequence[Limit] = ()
    falling: bool = False

    @property
    def legend(self) -> int:
        """Where the names of the lines begin."""
        return WIDTH - RIGHT - _LEGEND if self.falling else LEFT + 14


def style() -> str:
    """The style sheet of every chart."""
    return resources.files(__package__).joinpath("figure.css").read_text(encoding="utf-8")


def draw(chart: Chart, *, standalone: bool = True) -> str:
    """The chart as SVG. `standalone` includes the style sheet, for a file of its own."""
    title = escape(chart.title, quote=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{title}">',
            f"<style>{style()}</style>" if standalone else "",
            f"<title>{title}</title>",
            *_axes(chart),
            *(part for limit in chart.limits for part in _limit(chart, limit)),
            *(_quiet(chart, line) for line in chart.lines if line.quiet),
            *(part for i, line in enumerate(named(chart)) for part in _line(chart, i, line)),
            *(_mark(chart, mark) for mark in chart.marks),
            "</svg>",
        ]
    )


def place(chart: Chart, x: float, y: float) -> tuple[float, float]:
    """Where a point of the chart is drawn."""
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    return round(LEFT + chart.x.share(x) * across, 2), round(HEIGHT - BOTTOM - chart.y.share(y) * up, 2)


def _axes(chart: Chart) -> Iterator[str]:
    end, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    for tick in chart.x.ticks():
        x, _ = place(chart, tick, chart.y.low)
        yield f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{floor}"/>'
        yield f'<text class="middle" x="{x}" y="{floor + 18}">{tick:.4g}</text>'
    for tick in chart.y.ticks():
        _, y = place(chart, chart.x.low, tick)
        yield f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{end}" y2="{y}"/>'
        yield f'<text class="end" x="{LEFT - 8}" y="{y + 4}">{tick:.4g}</text>'
    yield f'<path class="axis" d="M{LEFT} {TOP}V{floor}H{end}"/>'
    yield f'<text class="middle" x="{(LEFT + end) / 2}" y="{HEIGHT - 14}">{escape(chart.x.name)}</text>'
    middle = (TOP + floor) / 2
    yield f'<text class="middle" transform="translate(16 {middle}) rotate(-90)">{escape(chart.y.name)}</text>'


def _limit(chart: Chart, limit: Limit) -> Iterator[str]:
    end, y = WIDTH - RIGHT, place(chart, chart.x.low, limit.y)[1]
    yield f'<line class="limit" x1="{LEFT}" y1="{y}" x2="{end}" y2="{y}"/>'
    yield f'<text class="end limit-name" x="{end}" y="{y - 6}">{escape(limit.name)}</text>'


def _line(chart: Chart, i: int, line: Line) -> Iterator[str]:
    dash = " dashed" if line.dashed else ""
    stroke = f'class="curve{dash}" style="stroke:var(--c{i % 8})"'
    places = [place(chart, *point) for point in line.points]
    yield f'<path {stroke} d="M{" L".join(f"{x} {y}" for x, y in places)}"/>'
    for (x, low), (_, high) in error_bars(chart, line):
        thin = f"stroke:var(--c{i % 8});stroke-width:1"
        yield f'<line class="curve" style="{thin}" x1="{x}" y1="{low}" x2="{x}" y2="{high}"/>'
    y = TOP + 12 + 18 * i
    yield f'<line {stroke} x1="{chart.legend}" y1="{y}" x2="{chart.legend + 24}" y2="{y}"/>'
    yield f'<text x="{chart.legend + 30}" y="{y + 4}">{escape(line.name)}</text>'


def error_bars(chart: Chart, line: Line) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Both ends of every error bar, within the frame."""
    if line.errors:
        for (x, y), error in zip(line.points, line.errors, strict=True):
            if error > 0:
                yield place(chart, x, max(y - error, chart.y.low)), place(chart, x, min(y + error, chart.y.high))


def named(chart: Chart) -> list[Line]:
    """The lines that stand in the legend."""
    return [line for line in chart.lines if not line.quiet]


def _quiet(chart: Chart, line: Line) -> str:
    places = [place(chart, *point) for point in line.points]
    return f'<path class="curve quiet" d="M{" L".join(f"{x} {y}" for x, y in places)}"/>'


def _mark(chart: Chart, mark: Mark) -> str:
    x, y = place(chart, mark.x, mark.y)
    return f'<circle class="query" cx="{x}" cy="{y}" r="4"><title>{escape(mark.label)}</title></circle>'
