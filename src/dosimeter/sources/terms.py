"""Small parts of a tree. Every constant carries its type, so that no engine converts a column instead."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from dosimeter.queries.query import Key
from dosimeter.queries.schema import ColumnType

if TYPE_CHECKING:
    from sqlglot import exp

SQL_TYPES: Final = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.REAL: "DOUBLE",
    ColumnType.TEXT: "TEXT",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}


def key_literal(key: Key, kind: ColumnType) -> exp.Expr:
    """A declared key as a constant of its column's type, so that no engine converts the column instead."""
    from sqlglot import exp

    if key is None:
        return exp.cast(exp.null(), SQL_TYPES[kind])
    if isinstance(key, bool):
        return exp.true() if key else exp.false()
    if isinstance(key, int):
        return exp.cast(whole(key), SQL_TYPES[kind])
    return exp.cast(exp.Literal.string(key), SQL_TYPES[kind])


def whole(number: int) -> exp.Expr:
    from sqlglot import exp

    plain = exp.Literal.number(abs(number))
    return exp.Neg(this=plain) if number < 0 else plain


def double(number: Decimal) -> exp.Expr:
    """A constant in double precision, by its text: the engine takes the nearest double."""
    from sqlglot import exp

    return exp.cast(exp.Literal.string(str(number)), "DOUBLE")


def case(*branches: tuple[exp.Expr, exp.Expr], default: exp.Expr | None = None) -> exp.Expr:
    """CASE WHEN condition THEN value ... ELSE default END; NULL without a default. The parts are not copied."""
    from sqlglot import exp

    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=default)


def both(*conditions: exp.Expr) -> exp.Expr:
    """All conditions, in parentheses. The parts are not copied."""
    from sqlglot import exp

    joined = conditions[0]
    for condition in conditions[1:]:
        joined = exp.And(this=joined, expression=condition)
    return exp.Paren(this=joined)
