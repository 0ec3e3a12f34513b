"""How stored cells become values: one rule per type, the same for every engine, and no rule that can fail.

| type | what reads as a value | what is missing |
|---|---|---|
| integer | a whole number of 64 bits | anything else: 12.5, text, too large |
| real | a number, or an infinity | NaN, text |
| text | any text | the empty text |
| boolean | true or false, t/f, yes/no, y/n, 1/0, in any case | anything else |
| date | year-month-day | anything else |
| timestamp | year-month-day hour:minute:second, with fractions; a date is its midnight | anything else |
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from dosimeter.queries.schema import ColumnType
from dosimeter.sources.terms import case, data_type

if TYPE_CHECKING:
    from sqlglot import exp

WHOLE: Final = r"^\s*[+-]?[0-9]+\s*$"
NUMBER: Final = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?\s*$"
ENDLESS: Final = r"^\s*[+-]?([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY])\s*$"
DAY: Final = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*$"
MOMENT: Final = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?\s*$"
YES: Final = ("true", "t", "yes", "y", "1")
NO: Final = ("false", "f", "no", "n", "0")


class Stored(StrEnum):
    """How a column is stored, as far as reading it needs to know. Public."""

    TEXT = "text"
    WHOLE = "whole"
    REAL = "real"  # also decimals
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    OTHER = "other"  # read through its text

    @property
    def natural(self) -> ColumnType:
        """The column type this storage suggests."""
        return _NATURAL.get(self, ColumnType.TEXT)

    @classmethod
    def of(cls, kind: ColumnType) -> Stored:
        """How a column of this type is stored."""
        return next((stored for stored, natural in _NATURAL.items() if natural is kind), Stored.TEXT)


_NATURAL: Final = {
    Stored.WHOLE: ColumnType.INTEGER,
    Stored.REAL: ColumnType.REAL,
    Stored.BOOLEAN: ColumnType.BOOLEAN,
    Stored.DATE: ColumnType.DATE,
    Stored.TIMESTAMP: ColumnType.TIMESTAMP,
}


def typed(cell: exp.Expr, stored: Stored, kind: ColumnType) -> exp.Expr:
    """The cell as a value of `kind`, or NULL."""
    match kind:
        case ColumnType.INTEGER:
            return _integer(cell, stored)
        case ColumnType.REAL:
            return _real(cell, stored)
        case ColumnType.TEXT:
            return _text(cell, stored)
        case ColumnType.BOOLEAN:
            return _boolean(cell, stored)
        case ColumnType.DATE:
            return _dated(cell, stored, kind, DAY)
        case ColumnType.TIMESTAMP:
            return _dated(cell, stored, kind, MOMENT)


def matches(cell: exp.Expr, pattern: str) -> exp.Expr:
    """Whether a text matches a regular expression."""
    from sqlglot import exp

    return exp.RegexpLike(this=cell.copy(), expression=exp.Literal.string(pattern))


def try_cast(cell: exp.Expr, kind: str) -> exp.Expr:
    """The cell in another type, NULL where it does not fit."""
    from sqlglot import exp

    return exp.TryCast(this=cell.copy(), to=data_type(kind).copy())


def when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """The value where the condition holds, else NULL."""
    return case((condition, value))


def not_nan(number: exp.Expr) -> exp.Expr:
    """The number, NULL where it is NaN. Clipping does not bound NaN on every engine, so it must not get that far."""
    from sqlglot import exp

    return when(exp.Not(this=exp.IsNan(this=number.copy())), number.copy())


def _integer(cell: exp.Expr, stored: Stored) -> exp.Expr:
    from sqlglot import exp

    if stored in {Stored.WHOLE, Stored.BOOLEAN}:
        return try_cast(cell, "BIGINT")
    if stored is Stored.REAL:
        number = try_cast(cell, "DOUBLE")
        return when(exp.EQ(this=number, expression=exp.Floor(this=number.copy())), try_cast(cell, "BIGINT"))
    words = cell if stored is Stored.TEXT else try_cast(cell, "TEXT")
    return when(matches(words, WHOLE), try_cast(words, "BIGINT"))


def _real(cell: exp.Expr, stored: Stored) -> exp.Expr:
    from sqlglot import exp

    if stored in {Stored.WHOLE, Stored.BOOLEAN}:
        return try_cast(cell, "DOUBLE")
    if stored is Stored.REAL:
        return not_nan(try_cast(cell, "DOUBLE"))
    words = cell if stored is Stored.TEXT else try_cast(cell, "TEXT")
    return when(exp.Or(this=matches(words, NUMBER), expression=matches(words, ENDLESS)), try_cast(words, "DOUBLE"))


def _text(cell: exp.Expr, stored: Stored) -> exp.Expr:
    from sqlglot import exp

    words = cell.copy() if stored is Stored.TEXT else try_cast(cell, "TEXT")
    return exp.Nullif(this=words, expression=exp.Literal.string(""))


def _boolean(cell: exp.Expr, stored: Stored) -> exp.Expr:
    from sqlglot import exp

    if stored is Stored.BOOLEAN:
        return cell.copy()
    words = exp.Lower(this=exp.Trim(this=cell.copy() if stored is Stored.TEXT else try_cast(cell, "TEXT")))
    yes, no = (exp.In(this=words.copy(), expressions=[exp.Literal.string(w) for w in each]) for each in (YES, NO))
    return case((yes, exp.true()), (no, exp.false()))


def _dated(cell: exp.Expr, stored: Stored, kind: ColumnType, pattern: str) -> exp.Expr:
    if stored in {Stored.DATE, Stored.TIMESTAMP}:
        return try_cast(cell, str(kind))
    words = cell if stored is Stored.TEXT else try_cast(cell, "TEXT")
    return when(matches(words, pattern), try_cast(words, str(kind)))
