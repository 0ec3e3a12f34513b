"""The same figures as PNG, for slides and papers that take no SVG: one layout, drawn with Pillow if it is installed.

Lines are drawn four times as large as the drawing's units and made smaller by half, which smooths their edges.
"""

from __future__ import annotations

import importlib
import io
import re
from itertools import pairwise
from typing import Any, Final, TypeAlias

from dosimeter.errors import InputError
from dosimeter.report import bars as b
from dosimeter.report import chart as c

SCALE: Final = 4
_PAPER: Final = "#ffffff"
Dash: TypeAlias = tuple[float, float]  # how long a stroke is, and how long the gap after it


def png(figure: c.Chart | b.Bars) -> bytes:
    """The figure as a PNG file, twice as many pixels as the drawing has units.

    Raises:
        InputError: Pillow is not installed.
    """
    try:
        image, draw, font = (importlib.import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont"))
    except ImportError:
        raise InputError(
            "a PNG needs Pillow, which is not installed (pip install 'dosimeter[figures]'); SVG needs nothing"
        ) from None
    height = figure.height if isinstance(figure, b.Bars) else c.HEIGHT
    canvas = image.new("RGB", (c.WIDTH * SCALE, height * SCALE), _PAPER)
    pen = _Pen(draw.Draw(canvas), font.load_default(12 * SCALE), font.load_default(12 * SCALE), image, canvas)
    if isinstance(figure, b.Bars):
        _bars(pen, figure)
    else:
        _chart(pen, figure)
    small = canvas.resize((c.WIDTH * SCALE // 2, height * SCALE // 2), image.LANCZOS)
    out = io.BytesIO()
    small.save(out, format="PNG", optimize=True)
    return out.getvalue()


class _Pen:
    """Draws in the units of the SVG."""

    def __init__(self, draw: Any, font: Any, upright: Any, image: Any, canvas: Any) -> None:
        self.draw, self.font, self.upright, self.image, self.canvas = draw, font, upright, image, canvas
        light = c.style().partition("@media")[0]
        self.colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light))

    def line(self, points: list[tuple[float, float]], colour: str, width: float, dash: Dash | None = None) -> None:
        for piece in _dashes(points, dash) if dash else [points]:
            places = [(x * SCALE, y * SCALE) for x, y in piece]
            self.draw.line(places, fill=self.colours[colour], width=round(width * SCALE), joint="curve")

    def text(self, x: float, y: float, words: str, colour: str = "ink", anchor: str = "ls") -> None:
        self.draw.text((x * SCALE, y * SCALE), words, fill=self.colours[colour], font=self.font, anchor=anchor)

    def sideways(self, x: float, y: float, words: str) -> None:
        box = self.draw.textbbox((0, 0), words, font=self.font, anchor="lt")
        label = self.image.new("RGB", (box[2] + 4, box[3] + 4), _PAPER)
        importlib.import_module("PIL.ImageDraw").Draw(label).text(
            (2, 2), words, fill=self.colours["ink"], font=self.font, anchor="lt"
        )
        turned = label.rotate(90, expand=True)
        self.canvas.paste(turned, (round(x * SCALE - turned.width / 2), round(y * SCALE - turned.height / 2)))

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        ends = (x * SCALE, y * SCALE, (x + max(width, 0.5)) * SCALE, (y + height) * SCALE)
        self.draw.rectangle(ends, fill=self.colours[colour])

    def dot(self, x: float, y: float, radius: float) -> None:
        ends = ((x - radius) * SCALE, (y - radius) * SCALE, (x + radius) * SCALE, (y + radius) * SCALE)
        self.draw.ellipse(ends, fill=self.colours["c0"], outline=self.colours["ink"], width=SCALE)


def _dashes(points: list[tuple[float, float]], dash: Dash) -> list[list[tuple[float, float]]]:
    """A path cut into the strokes of a dashed line."""
    strokes: list[list[tuple[float, float]]] = []
    drawing, left = True, dash[0]
    stroke = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        long = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        done = 0.0
        while long - done > left:
            done += left
            at = (x0 + (x1 - x0) * done / long, y0 + (y1 - y0) * done / long)
            if drawing:
                strokes.append([*stroke, at])
            drawing, left, stroke = not drawing, dash[1] if drawing else dash[0], [at]
        left -= long - done
        stroke.append((x1, y1))
    if drawing and len(stroke) > 1:
        strokes.append(stroke)
    return strokes


def _chart(pen: _Pen, chart: c.Chart) -> None:
    end, floor = c.WIDTH - c.RIGHT, c.HEIGHT - c.BOTTOM
    for tick in chart.x.ticks():
        x, _ = c.place(chart, tick, chart.y.low)
        pen.line([(x, c.TOP), (x, floor)], "faint", 1)
        pen.text(x, floor + 18, f"{tick:.4g}", anchor="ms")
    for tick in chart.y.ticks():
        _, y = c.place(chart, chart.x.low, tick)
        pen.line([(c.LEFT, y), (end, y)], "faint", 1)
        pen.text(c.LEFT - 8, y + 4, f"{tick:.4g}", anchor="rs")
    pen.line([(c.LEFT, c.TOP), (c.LEFT, floor), (end, floor)], "ink", 1)
    pen.text((c.LEFT + end) / 2, c.HEIGHT - 14, chart.x.name, anchor="ms")
    pen.sideways(14, (c.TOP + floor) / 2, chart.y.name)
    for limit in chart.limits:
        y = c.place(chart, chart.x.low, limit.y)[1]
        pen.line([(c.LEFT, y), (end, y)], "limit", 1.5, (7, 4))
        pen.text(end, y - 6, limit.name, "limit", "rs")
    for line in chart.lines:
        if line.quiet:
            pen.line([c.place(chart, *point) for point in line.points], "faint", 1)
    for i, line in enumerate(c.named(chart)):
        colour, dash = f"c{i % 8}", (3.0, 4.0) if line.dashed else None
        pen.line([c.place(chart, *point) for point in line.points], colour, 2, dash)
        for ends in c.error_bars(chart, line):
            pen.line(list(ends), colour, 1)
        y = c.TOP + 12 + 18 * i
        pen.line([(chart.legend, y), (chart.legend + 24, y)], colour, 2, dash)
        pen.text(chart.legend + 30, y + 4, line.name)
    for mark in chart.marks:
        pen.dot(*c.place(chart, mark.x, mark.y), 4)


def _bars(pen: _Pen, chart: b.Bars) -> None:
    pen.text(12, 24, chart.title)
    for i, bar in enumerate(chart.bars):
        y, long = b.TOP + b.ROW * i, chart.length(bar.value)
        pen.text(b.LEFT - 8, y + 17, bar.name, anchor="rs")
        pen.box(b.LEFT, y + 3, long, b.ROW - 9, "faint" if bar.faint else "c0")
        pen.text(b.LEFT + long + 6, y + 17, bar.label)
    if chart.limit is not None:
        x, floor = b.LEFT + chart.length(chart.limit[0]), b.TOP + b.ROW * len(chart.bars)
        pen.line([(x, b.TOP - 6), (x, floor + 4)], "limit", 1.5, (7, 4))
        pen.text(x, floor + 18, chart.limit[1], "limit", "ms")
