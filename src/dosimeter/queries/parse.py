"""Read a condition written in SQL into the closed tree of `condition`, in normal form; refuse everything else.

sqlglot reads the text; every node of its tree must be on the list below. What is equal by the laws of SQL's
three-valued logic gets one form: ``18 <= age`` is ``age >= 18``, ``BETWEEN`` two comparisons, ``NOT (a < b)`` is
``a >= b``, the parts of ``AND`` and ``OR`` are sorted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from dosimeter.errors import InputError, QueryError
from dosimeter.exact import show, to_decimal
from dosimeter.queries.condition import (
    FLIPPED,
    OPPOSITE,
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
    all_of,
    any_of,
    write,
)
from dosimeter.queries.schema import ColumnType, is_text

if TYPE_CHECKING:
    from sqlglot import exp

MAX_LENGTH: Final = 20_000
_SILENT: Final = logging.NullHandler()  # without a handler, the parser's warnings would be printed
MAX_DEPTH: Final = 60
_ALLOWED = "columns, literals, = <> < <= > >=, AND, OR, NOT, IN, BETWEEN, IS NULL and + - *"
_COMPARISONS: Final = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_ARITHMETIC: Final = {"Add": "+", "Sub": "-", "Mul": "*"}
_WHY: Final = {
    "Div": "division can fail on a row (x = 0)",
    "IntDiv": "division can fail on a row (x = 0)",
    "Mod": "division can fail on a row (x = 0)",
    "Cast": "a cast can fail on a row",
    "TryCast": "a cast is not needed: declare the column's type when the data is opened",
    "Subquery": "a subquery would read more than this row",
    "Select": "a subquery would read more than this row",
    "Null": "a comparison with NULL is never true; write IS NULL or IS NOT NULL",
    "In": "IN takes a list of constants here",
    "Like": "patterns are not on the list; name the values with IN",
    "ILike": "patterns are not on the list; name the values with IN",
    "ByteString": "write a text as 'text'",
    "RawString": "write a text as 'text'",
    "National": "write a text as 'text'",
    "Boolean": "it is not a condition on a column",
    "Parameter": "parameters are not filled in; write the value",
    "Placeholder": "parameters are not filled in; write the value",
    **dict.fromkeys([*_COMPARISONS, "And", "Or", "Not"], "a truth value is not compared; join conditions with AND"),
}


def parse(text: str) -> Condition:
    """Read a condition.

    Raises:
        QueryError: the text is not a condition, or uses something that is not on the list.
    """
    from sqlglot import exp
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str) or not text.strip():
        raise QueryError(f"where={show(text)} is not a condition; write one such as \"age >= 18 AND sex = 'F'\"")
    if not is_text(text):
        raise QueryError("the condition holds a NUL or half of a surrogate pair, which no table can hold; remove it")
    if len(text) > MAX_LENGTH:
        raise QueryError(f"the condition has {len(text)} characters, more than {MAX_LENGTH}; ask a simpler question")
    logging.getLogger("sqlglot").addHandler(_SILENT)
    try:
        trees = DuckDB().parse_into(exp.Condition, text)  # a condition, never a statement
    except (SqlglotError, RecursionError):
        trees = []
    tree = trees[0] if len(trees) == 1 else None  # a semicolon starts a second one
    if tree is None:
        raise QueryError(
            f"where={show(text)} cannot be read; a condition may use {_ALLOWED}. A column whose name is an SQL word or "
            'has other signs in it stands in double quotes, as in "order"'
        )
    return _condition(tree, 0)


def conjunction(first: str | None, second: str) -> str:
    """The normal form of `first AND second`; of `second` alone where there is no first."""
    parts = [parse(second)] if first is None else [parse(first), parse(second)]
    return write(all_of(parts))


def _refused(node: exp.Expr) -> QueryError:
    from sqlglot import exp

    other = "functions are not on the list" if isinstance(node, exp.Func) else "it is not on the list"
    why = _WHY.get(type(node).__name__, other)
    return QueryError(f"where: {_shown(node)} is refused: {why}; a condition may use {_ALLOWED}")


def _shown(node: exp.Expr) -> str:
    from sqlglot.errors import ErrorLevel

    return show(node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE))


def _deeper(depth: int) -> int:
    if depth > MAX_DEPTH:
        raise QueryError(f"the condition is nested deeper than {MAX_DEPTH}; ask a simpler question")
    return depth + 1


def _condition(node: exp.Expr, depth: int) -> Condition:
    from sqlglot import exp

    depth = _deeper(depth)
    kind = type(node).__name__
    match node:
        case exp.Paren():
            return _condition(node.this, depth)
        case exp.And() | exp.Or():
            joined = all_of if isinstance(node, exp.And) else any_of
            return joined([_condition(part, depth) for part in _flat(node, type(node))])
        case exp.Not():
            return _negated(_condition(node.this, depth))
        case exp.Between() if not node.args.get("symmetric"):
            value = _operand(node.this, depth)
            low, high = _operand(node.args["low"], depth), _operand(node.args["high"], depth)
            return all_of([_compare(">=", value, low), _compare("<=", value, high)])
        case exp.In() if not any(v for k, v in node.args.items() if k not in {"this", "expressions"}):
            return _in(_operand(node.this, depth), [_operand(value, depth) for value in node.expressions], node)
        case exp.Is() if isinstance(node.expression, exp.Null):
            return IsMissing(_not_literal(_operand(node.this, depth), node))
        case exp.Is() if isinstance(node.expression, exp.Not) and isinstance(node.expression.this, exp.Null):
            return Not(IsMissing(_not_literal(_operand(node.this, depth), node)))
        case exp.Column():
            return Compare("=", _name(node), Literal(True, ColumnType.BOOLEAN))
    if kind in _COMPARISONS:
        left, right = _operand(node.this, depth), _operand(node.expression, depth)
        return _compare(_COMPARISONS[kind], left, right, node)
    raise _refused(node)


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The parts of a chain of one connective, without recursion: chains may be long."""
    parts, stack = [], [node]
    while stack:
        top = stack.pop()
        if type(top) is kind:
            stack += [top.expression, top.this]
        else:
            parts.append(top)
    return parts


def _negated(part: Condition) -> Condition:
    match part:
        case Compare(op, left, right):
            return _compare(OPPOSITE[op], left, right)
        case Not(inner):
            return inner
        case And(parts):
            return any_of([_negated(each) for each in parts])
        case Or(parts):
            return all_of([_negated(each) for each in parts])
    return Not(part)


def _compare(op: str, left: Operand, right: Operand, node: exp.Expr | None = None) -> Compare:
    if isinstance(left, Literal) and isinstance(right, Literal) and node is not None:
        raise QueryError(f"where: {_shown(node)} compares two constants; compare a column")
    if isinstance(left, Literal) or (not isinstance(right, Literal) and write(right) < write(left)):
        return Compare(FLIPPED[op], right, left)
    return Compare(op, left, right)


def _in(operand: Operand, values: list[Operand], node: exp.Expr) -> Condition:
    _not_literal(operand, node)
    literals = {write(value): value for value in values if isinstance(value, Literal)}
    if not literals or not all(isinstance(value, Literal) for value in values):
        raise QueryError(f"where: {_shown(node)}: IN takes a list of one or more constants")
    ordered = tuple(literals[key] for key in sorted(literals))
    return Compare("=", operand, ordered[0]) if len(ordered) == 1 else In(operand, ordered)


def _not_literal(operand: Operand, node: exp.Expr) -> Operand:
    if isinstance(operand, Literal):
        raise QueryError(f"where: {_shown(node)} asks about a constant; ask about a column")
    return operand


def _operand(node: exp.Expr, depth: int) -> Operand:
    from sqlglot import exp

    depth = _deeper(depth)
    match node:
        case exp.Paren():
            return _operand(node.this, depth)
        case exp.Column():
            return _name(node)
        case exp.Boolean():
            return Literal(bool(node.this), ColumnType.BOOLEAN)
        case exp.Literal() if node.is_string:
            return Literal(str(node.this), ColumnType.TEXT)
        case exp.Literal():
            return _number(str(node.this))
        case exp.Cast() if _is_dated_literal(node):
            return Literal(str(node.this.this), ColumnType.TEXT)
        case exp.Neg():
            inner = _operand(node.this, depth)
            if isinstance(inner, Literal):
                return _number("-" + write(inner)) if inner.type.is_number else _bad_minus(node)
            return _arithmetic("*", inner, _number("-1"))
    if (op := _ARITHMETIC.get(type(node).__name__)) is not None:
        left, right = _operand(node.this, depth), _operand(node.expression, depth)
        if isinstance(left, Literal) and isinstance(right, Literal):
            raise QueryError(f"where: {_shown(node)} is arithmetic on constants; write its value")
        return _arithmetic(op, left, right)
    raise _refused(node)


def _arithmetic(op: str, left: Operand, right: Operand) -> Arithmetic:
    if op != "-" and write(right) < write(left):
        left, right = right, left
    return Arithmetic(op, left, right)


def _bad_minus(node: exp.Expr) -> Operand:
    raise QueryError(f"where: {_shown(node)}: only a number can be negative")


def _is_dated_literal(node: exp.Cast) -> bool:
    """DATE '2013-01-01' and TIMESTAMP '...', which sqlglot reads as casts of a text."""
    from sqlglot import exp

    dated = node.is_type(exp.DType.DATE, exp.DType.TIMESTAMP)
    return type(node) is exp.Cast and dated and isinstance(node.this, exp.Literal) and bool(node.this.is_string)


def _name(node: exp.Column) -> Name:
    from sqlglot import exp

    if node.table or not isinstance(node.this, exp.Identifier):
        raise QueryError(f"where: {_shown(node)}: name the column alone")
    return Name(str(node.this.this))


def _number(text: str) -> Literal:
    try:
        value = to_decimal(text.replace("--", ""), "number")
    except InputError:
        raise QueryError(f"where: {show(text)} is not a number that a row can be compared with") from None
    if value and not -350 < value.adjusted() < 310:
        raise QueryError(f"where: {show(text)} is outside the range of double precision")
    whole = value == value.to_integral_value()
    return Literal(value, ColumnType.INTEGER if whole else ColumnType.REAL)
