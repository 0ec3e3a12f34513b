"""Small parts of a tree. Every constant carries its type, so that no engine converts a column instead."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
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
        return cast(exp.null(), SQL_TYPES[kind])
    if isinstance(key, bool):
        return exp.true() if key else exp.false()
    if isinstance(key, int):
        return cast(whole(key), SQL_TYPES[kind])
    return cast(exp.Literal.string(key), SQL_TYPES[kind])


def whole(number: int) -> exp.Expr:
    from sqlglot import exp

    plain = exp.Literal.number(abs(number))
    return exp.Neg(this=plain) if number < 0 else plain


def double(number: Decimal) -> exp.Expr:
    """A constant in double precision, by its text: the engine takes the nearest double."""
    from sqlglot import exp

    return cast(exp.Literal.string(str(number)), "DOUBLE")


def cast(node: exp.Expr, kind: str) -> exp.Expr:
    """CAST(node AS kind). The node is not copied."""
    from sqlglot import exp

    return exp.Cast(this=node, to=data_type(kind).copy())


@lru_cache(maxsize=32)
def data_type(kind: str) -> exp.DataType:
    """A type by its name; reading names is slow, and there may be thousands of constants."""
    from sqlglot import exp

    return exp.DataType.build(kind)


def case(*branches: tuple[exp.Expr, exp.Expr], default: exp.Expr | None = None) -> exp.Expr:
    """CASE WHEN condition THEN value ... ELSE default END; NULL without a default. The parts are not copied."""
    from sqlglot import exp

    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=default)


def joined(connective: type[exp.And] | type[exp.Or], conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The conditions under one connective, in parentheses. The parts are not copied."""
    from sqlglot import exp

    whole_condition = conditions[0]
    for condition in conditions[1:]:
        whole_condition = connective(this=whole_condition, expression=condition)
    return exp.Paren(this=whole_condition)
