"""The answer: what is read off the noisy numbers. Nothing here sees a row, so nothing here costs anything."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from dosimeter.errors import InputError
from dosimeter.exact import ZERO, fraction_up, text
from dosimeter.queries.lattice import Lattice, scaled
from dosimeter.queries.query import Key

COUNT_NOT_CLEARLY_POSITIVE: Final = "count_not_clearly_positive"
CLAMPED: Final = "clamped"


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer.

    Args:
        label: the keys (or the bin) it belongs to; empty for a single number.
        value: a whole number for counts, else a decimal.
        error: with the answer's confidence, all cells together are within their errors of the bounded true values.
        flags: "clamped" (a mean was pulled back into its bounds), "count_not_clearly_positive" (there may be no row,
            so a mean says nothing).
    """

    label: tuple[Key, ...]
    value: int | Decimal
    error: Decimal
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The cells of an answer, in the order of the declared keys."""

    axes: tuple[str, ...]
    cells: tuple[Cell, ...]
    confidence: Decimal

    @property
    def value(self) -> int | Decimal | dict[Any, int | Decimal]:
        """The number; for a grouped answer, the numbers by key (by tuple of keys where there are several columns)."""
        if not self.axes:
            return self.cells[0].value
        return {cell.label[0] if len(self.axes) == 1 else cell.label: cell.value for cell in self.cells}

    @property
    def error(self) -> Decimal:
        """The widest error bar of all cells."""
        return max(cell.error for cell in self.cells)

    @property
    def flags(self) -> tuple[str, ...]:
        """Every flag that any cell carries."""
        return tuple(sorted({flag for cell in self.cells for flag in cell.flags}))

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON, numbers as texts."""
        return {
            "axes": list(self.axes),
            "confidence": text(self.confidence),
            "cells": [
                {
                    "label": list(cell.label),
                    "value": str(cell.value) if isinstance(cell.value, int) else text(cell.value),
                    "whole": isinstance(cell.value, int),
                    "error": text(cell.error),
                    "flags": list(cell.flags),
                }
                for cell in self.cells
            ],
        }

    @classmethod
    def from_json(cls, data: object) -> Result:
        """Read an answer back; raises InputError for anything that `to_json` does not write."""
        try:
            cells = tuple(
                Cell(
                    tuple(cell["label"]),
                    int(cell["value"]) if cell["whole"] else Decimal(cell["value"]),
                    Decimal(cell["error"]),
                    tuple(cell["flags"]),
                )
                for cell in data["cells"]  # type: ignore[index]
            )
            return cls(tuple(data["axes"]), cells, Decimal(data["confidence"]))  # type: ignore[index]
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise InputError("an answer is an object with axes, confidence and cells") from None


def mean_cell(
    label: tuple[Key, ...], count: int, total: int, count_width: int, total_width: int, lattice: Lattice
) -> Cell:
    """A mean from a noisy count and a noisy sum of distances from the lattice's centre.

    Args:
        label: of the cell.
        count, total: the noisy numbers; the total in steps, measured from the centre.
        count_width, total_width: error bars of the two, holding together with the wanted confidence.
        lattice: of the values.

    Returns:
        The ratio, clamped into the bounds. Its error bar follows from the two error bars; where the count might be
        zero it is the whole range, and the cell is flagged.
    """
    low, high = Fraction(lattice.lower), Fraction(lattice.upper)
    least, most = count - count_width, count + count_width
    ratio = lattice.centre + Fraction(total, count) if count > 0 else Fraction(lattice.lower + lattice.upper, 2)
    value = min(max(ratio, low), high)
    flags = [CLAMPED] if value != ratio else []
    if least >= 1:
        ends = [lattice.centre + Fraction(total + side * total_width, n) for side in (-1, 1) for n in (least, most)]
        bottom, top = max(low, min(ends)), min(high, max(ends))
    else:
        flags.append(COUNT_NOT_CLEARLY_POSITIVE)
        bottom, top = low, high
    shown = _rounded(value * Fraction(lattice.step), lattice.step)
    step = Fraction(lattice.step)
    reach = max(abs(top * step - Fraction(shown)), abs(Fraction(shown) - bottom * step))
    return Cell(label, shown, _readable_up(reach, lattice.step), tuple(flags))


def plain_cell(label: tuple[Key, ...], value: int, width: int, step: Decimal, *, whole: bool) -> Cell:
    """A count or a sum: the noisy number on its lattice."""
    return Cell(label, value if whole else scaled(step, value), scaled(step, width))


def variance(mean_of_squares: Decimal, mean: Decimal) -> tuple[Decimal, bool]:
    """A variance from two noisy moments, never below zero, and whether it had to be raised to zero.

    Noise can make the mean of squares smaller than the square of the mean; a standard deviation taken from the
    difference would not be a number.
    """
    difference = Fraction(mean_of_squares) - Fraction(mean) ** 2
    return (ZERO, True) if difference < 0 else (fraction_up(difference), False)


def _rounded(value: Fraction, step: Decimal) -> Decimal:
    """To a thousandth of a step: exact enough for a noisy number, short enough to read."""
    places = 3 - Decimal(step).adjusted()
    return scaled(Decimal(1).scaleb(-places), round(value * Fraction(10) ** places))


def _readable_up(value: Fraction, step: Decimal) -> Decimal:
    places = 3 - Decimal(step).adjusted()
    return scaled(Decimal(1).scaleb(-places), -int(-(value * Fraction(10) ** places) // 1))
