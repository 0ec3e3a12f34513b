"""Check a condition against the schema: every column exists, both sides of a comparison can be compared.

The result is the same tree with types filled in and literals in the form of the column they meet, so that an engine
never has to convert a constant while it reads rows.
"""

from __future__ import annotations

import datetime
import decimal
from decimal import Decimal

from dosimeter.errors import QueryError
from dosimeter.exact import show, text
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
    write,
)
from dosimeter.queries.schema import ColumnType, Schema

SMALLEST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1


def check(condition: Condition, schema: Schema) -> Condition:
    """The condition with types.

    Raises:
        QueryError: a column does not exist, or a comparison has sides that cannot be compared.
    """
    match condition:
        case And(parts):
            return And(tuple(check(part, schema) for part in parts))
        case Or(parts):
            return Or(tuple(check(part, schema) for part in parts))
        case Not(part):
            return Not(check(part, schema))
        case IsMissing(operand):
            return IsMissing(_typed(operand, schema)[0])
        case In(operand, values):
            typed, kind = _typed(operand, schema)
            return In(typed, tuple(read_literal(value, kind, write(operand)) for value in values))
        case Compare(op, left, right):
            return _compare(op, left, right, schema)


def _compare(op: str, left: Operand, right: Operand, schema: Schema) -> Compare:
    typed, kind = _typed(left, schema)
    if isinstance(right, Literal):
        if kind is ColumnType.INTEGER and right.type is ColumnType.REAL and op not in {"=", "<>"}:
            op, right = _on_integers(op, right)
        literal = read_literal(right, kind, write(left))
        if kind is ColumnType.BOOLEAN and op not in {"=", "<>"}:
            raise QueryError(f"where: {write(left)} is boolean, which has no order; use = or <>")
        return Compare(op, typed, literal)
    other, other_kind = _typed(right, schema)
    if kind is not other_kind and not (kind.is_number and other_kind.is_number):
        raise QueryError(
            f"where: {write(left)} is {kind} and {write(right)} is {other_kind}; they cannot be compared. "
            f"{_listed(schema)}"
        )
    return Compare(op, typed, other)


def _on_integers(op: str, literal: Literal) -> tuple[str, Literal]:
    """For a whole number x: x > 17.5 is x > 17, x <= 17.5 is x <= 17, x >= 17.5 is x > 17, x < 17.5 is x <= 17."""
    if not isinstance(literal.value, Decimal):
        return op, literal
    floor = literal.value.to_integral_value(rounding=decimal.ROUND_FLOOR)
    return {">=": ">", "<": "<="}.get(op, op), Literal(floor, ColumnType.INTEGER)


def read_literal(literal: Literal, kind: ColumnType, name: str) -> Literal:
    """The literal as a value of a column's type.

    Raises:
        QueryError: it is not one; the message names the column, its type and the literal.
    """
    value = literal.value
    match kind:
        case ColumnType.INTEGER if literal.type is ColumnType.INTEGER and isinstance(value, Decimal):
            if SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
                return literal
            raise QueryError(f"where: {text(value)} is outside the 64-bit whole numbers that {name} holds")
        case ColumnType.INTEGER if literal.type is ColumnType.REAL:
            raise QueryError(f"where: {name} holds whole numbers and is never equal to {write(literal)}")
        case ColumnType.REAL if literal.type.is_number:
            return Literal(value, ColumnType.REAL)
        case ColumnType.TEXT if isinstance(value, str):
            if not value:
                raise QueryError(f"where: an empty text is a missing value; write {name} IS NULL")
            return literal
        case ColumnType.BOOLEAN if isinstance(value, bool):
            return literal
        case ColumnType.DATE if isinstance(value, str):
            return Literal(read_date(value, name), kind)
        case ColumnType.TIMESTAMP if isinstance(value, str):
            return Literal(read_timestamp(value, name), kind)
    raise QueryError(f"where: {name} is {kind} and cannot be compared with {write(literal)}")


def read_date(value: str, name: str) -> str:
    """A date in its ISO form, year-month-day."""
    try:
        return datetime.date.fromisoformat(value.strip()).isoformat()
    except ValueError:
        raise QueryError(f"{name} is a date; {show(value)} is not one, write it as '2013-01-31'") from None


def read_timestamp(value: str, name: str) -> str:
    """A time stamp without a zone in its ISO form; a date stands for its midnight."""
    try:
        stamp = datetime.datetime.fromisoformat(value.strip())
    except ValueError:
        stamp = None
    if stamp is None or stamp.tzinfo is not None:
        raise QueryError(
            f"{name} is a timestamp; {show(value)} is not one, write it as '2013-01-31 17:00:00' (without a time zone)"
        )
    return stamp.isoformat(sep=" ")


def _typed(operand: Operand, schema: Schema) -> tuple[Operand, ColumnType]:
    match operand:
        case Name(name):
            kind = schema.column(name).type
            return Name(name, kind), kind
        case Arithmetic(op, left, right):
            return Arithmetic(op, _number(left, schema), _number(right, schema)), ColumnType.REAL
        case Literal(_, kind):
            return operand, kind


def _number(operand: Operand, schema: Schema) -> Operand:
    typed, kind = _typed(operand, schema)
    if not kind.is_number:
        raise QueryError(f"where: {write(operand)} is {kind}; arithmetic needs numbers. {_listed(schema)}")
    return Literal(typed.value, ColumnType.REAL) if isinstance(typed, Literal) else typed


def _listed(schema: Schema) -> str:
    shown = ", ".join(f"{c.name} ({c.type})" for c in schema.columns[:40])
    return f"The columns are: {shown}" + (", ..." if len(schema.columns) > 40 else "")
