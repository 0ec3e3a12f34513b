"""Bar charts as small, self-contained SVG files, in the style of the line charts beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from dosimeter.report.chart import style

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 760, 30, 190, 90, 44, 16


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it is called, how long it is, what is written at its end; faint ones are for comparison only."""

    name: str
    value: float
    label: str
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Everything that is drawn, from top to bottom; `limit` is a vertical line that matters, with its name."""

    title: str
    bars: Sequence[Bar]
    limit: tuple[float, str] | None = None

    @property
    def height(self) -> int:
        """In the units of the drawing."""
        return TOP + ROW * len(self.bars) + BOTTOM + (18 if self.limit else 0)

    def length(self, value: float) -> float:
        """How long a bar of this value is."""
        ends = [bar.value for bar in self.bars] + ([self.limit[0]] if self.limit else [])
        return round((WIDTH - LEFT - RIGHT) * max(0.0, value) / (max(ends, default=1.0) or 1.0), 2)


def draw_bars(chart: Bars, *, standalone: bool = True) -> str:
    """The chart as SVG. `standalone` includes the style sheet, for a file of its own."""
    title = escape(chart.title, quote=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {WIDTH} {chart.height}" role="img" '
            f'aria-label="{title}">',
            f"<style>{style()}</style>" if standalone else "",
            f"<title>{title}</title>",
            f'<text x="12" y="24">{title}</text>',
            *(part for i, bar in enumerate(chart.bars) for part in _bar(chart, i, bar)),
            *_limit(chart),
            "</svg>",
        ]
    )


def _bar(chart: Bars, i: int, bar: Bar) -> Iterator[str]:
    y, long = TOP + ROW * i, chart.length(bar.value)
    colour = "--faint" if bar.faint else "--c0"
    yield f'<text class="end" x="{LEFT - 8}" y="{y + 17}">{escape(bar.name)}</text>'
    yield f'<rect x="{LEFT}" y="{y + 3}" width="{long}" height="{ROW - 9}" style="fill:var({colour})"/>'
    yield f'<text x="{LEFT + long + 6}" y="{y + 17}">{escape(bar.label)}</text>'


def _limit(chart: Bars) -> Iterator[str]:
    if chart.limit is not None:
        x, floor = LEFT + chart.length(chart.limit[0]), TOP + ROW * len(chart.bars)
        yield f'<line class="limit" x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{floor + 4}"/>'
        yield f'<text class="middle limit-name" x="{x}" y="{floor + 18}">{escape(chart.limit[1])}</text>'
