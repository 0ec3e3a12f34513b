"""A figure with its data: what is drawn, the same as a table, and the few numbers that tell if it came out right."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from dosimeter.errors import InputError
from dosimeter.report.bars import Bars, draw_bars
from dosimeter.report.chart import Chart, draw

Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reproduced:
    """One figure.

    Args:
        name: of its files.
        about: one sentence.
        chart: what is drawn.
        columns: of its table.
        rows: of its table; empty texts where a curve has no value.
        numbers: key numbers by name, as texts.
    """

    name: str
    about: str
    chart: Chart | Bars
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Mapping[str, str]

    def csv(self) -> str:
        """The table."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()

    def svg(self) -> str:
        """The drawing."""
        return draw_bars(self.chart) if isinstance(self.chart, Bars) else draw(self.chart)


def save(figure: Reproduced, folder: Path, *, png: bool = True) -> list[Path]:
    """Write a figure as SVG, CSV and (unless told otherwise) PNG into a folder, made where it is missing.

    Raises:
        InputError: the folder cannot be written, or Pillow is missing for the PNG.
    """
    contents: dict[str, bytes] = {".svg": figure.svg().encode(), ".csv": figure.csv().encode()}
    if png:
        from dosimeter.report.raster import png as raster

        contents[".png"] = raster(figure.chart)
    written = []
    for ending, content in contents.items():
        path = folder / (figure.name + ending)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or 'no reason given'}") from None
        written.append(path)
    return written


def crossing(
    first: Callable[[Decimal], Decimal], second: Callable[[Decimal], Decimal], low: Decimal, high: Decimal
) -> Decimal:
    """Where two curves cross between `low` and `high`, to twelve digits: the middle of the last bracket.

    Raises:
        InputError: they are in the same order at both ends.
    """
    below = first(low) < second(low)
    if (first(high) < second(high)) == below:
        raise InputError(f"the curves do not cross between {low} and {high}")
    while high - low > low * Decimal("1e-12"):
        middle = (low + high) / 2
        low, high = (middle, high) if (first(middle) < second(middle)) == below else (low, middle)
    return (low + high) / 2


def spaced(low: str, high: str, count: int) -> list[Decimal]:
    """Numbers that grow by one factor, both ends among them."""
    first, last = Decimal(low), Decimal(high)
    factor = (last / first).ln() / (count - 1)
    return [first, *((first.ln() + factor * i).exp().normalize() for i in range(1, count - 1)), last]


def short(value: Decimal | float | None, digits: int = 10) -> str:
    """A number for a table; empty for none."""
    return "" if value is None else f"{value:.{digits}g}"
