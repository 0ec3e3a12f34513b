"""A checked condition as a tree over the renamed columns; arithmetic in double precision, NaN missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dosimeter.queries.condition import (
    And,
    Arithmetic,
    Compare,
    Condition,
    In,
    IsMissing,
    Literal,
    Name,
    Not,
    Operand,
    Or,
)
from dosimeter.queries.schema import ColumnType
from dosimeter.sources.terms import SQL_TYPES, cast, double, joined, whole
from dosimeter.sources.typed import not_nan

if TYPE_CHECKING:
    from sqlglot import exp


def compiled(condition: Condition, names: dict[str, str]) -> exp.Expr:
    """A checked condition as a tree over the renamed columns."""
    from sqlglot import exp

    match condition:
        case And(parts) | Or(parts):
            connective = exp.And if isinstance(condition, And) else exp.Or
            return joined(connective, [compiled(part, names) for part in parts])
        case Not(part):
            return exp.Not(this=exp.Paren(this=compiled(part, names)))
        case IsMissing(operand):
            return exp.Paren(this=exp.Is(this=_operand(operand, names), expression=exp.null()))
        case In(operand, values):
            return exp.In(this=_operand(operand, names), expressions=[literal_of(value) for value in values])
        case Compare(op, left, right):
            kinds = {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
            return kinds[op](this=_operand(left, names), expression=_operand(right, names))


def _operand(operand: Operand, names: dict[str, str]) -> exp.Expr:
    from sqlglot import exp

    match operand:
        case Name(name):
            return exp.column(names[name])
        case Literal():
            return literal_of(operand)
        case Arithmetic(op, left, right):
            kinds = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
            sides = [cast(_operand(side, names), "DOUBLE") for side in (left, right)]
            return not_nan(kinds[op](this=sides[0], expression=sides[1]))


def literal_of(literal: Literal) -> exp.Expr:
    from sqlglot import exp

    value = literal.value
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, str):
        return cast(exp.Literal.string(value), SQL_TYPES[literal.type])
    return whole(int(value)) if literal.type is ColumnType.INTEGER else double(value)


def present(column: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Not(this=exp.Is(this=column.copy(), expression=exp.null()))
