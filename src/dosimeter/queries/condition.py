"""Which rows take part: a small closed tree that cannot fail on any row.

Truth has three values, as in SQL: a comparison with a missing value is unknown, and a row takes part only where the
whole condition is true. There is no division, cast, function or subquery, so no row can raise an error (an error
would be an answer nobody paid for). Arithmetic is done in double precision; a result that is NaN is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from dosimeter.exact import text
from dosimeter.queries.schema import ColumnType

FLIPPED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Name:
    """A column; `type` is known once the condition has been checked against a schema."""

    name: str
    type: ColumnType | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: a number, a text (also the text of a date), or a boolean."""

    value: Decimal | str | bool
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """left op right, for op one of + - *."""

    op: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Compare:
    """left op right, for op one of = <> < <= > >=."""

    op: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class In:
    """operand IN (values), at least two of them."""

    operand: Operand
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsMissing:
    """operand IS NULL. NaN, an empty text and a cell that does not read as its column's type are missing, too."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """NOT part."""

    part: Condition


@dataclass(frozen=True, slots=True)
class And:
    """All parts."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any part."""

    parts: tuple[Condition, ...]


Operand: TypeAlias = Name | Literal | Arithmetic
Condition: TypeAlias = Compare | In | IsMissing | Not | And | Or
Node: TypeAlias = Operand | Condition


def write(node: Node) -> str:
    """The condition in its normal form, which reads back as the same tree."""
    match node:
        case Name() | Literal() | Arithmetic():
            return _write_operand(node)
        case Compare(op, left, right):
            return f"{write(left)} {op} {write(right)}"
        case In(operand, values):
            return f"{write(operand)} IN ({', '.join(write(value) for value in values)})"
        case IsMissing(operand):
            return f"{write(operand)} IS NULL"
        case Not(IsMissing(operand)):
            return f"{write(operand)} IS NOT NULL"
        case Not(In(operand, values)):
            return f"{write(operand)} NOT IN ({', '.join(write(value) for value in values)})"
        case Not(part):
            return f"NOT ({write(part)})"
        case And(parts):
            return " AND ".join(f"({write(part)})" if isinstance(part, Or) else write(part) for part in parts)
        case Or(parts):
            return " OR ".join(f"({write(part)})" if isinstance(part, And) else write(part) for part in parts)
    raise TypeError(type(node).__name__)


def _write_operand(operand: Operand) -> str:
    match operand:
        case Name(name):
            return name if _plain(name) else '"' + name.replace('"', '""') + '"'
        case Arithmetic(op, left, right):
            return f"({write(left)} {op} {write(right)})"
        case Literal(bool() as value):
            return "TRUE" if value else "FALSE"
        case Literal(Decimal() as value):
            return text(value)
        case Literal(value):
            return "'" + str(value).replace("'", "''") + "'"


def names(node: Node) -> frozenset[str]:
    """The columns a condition reads."""
    match node:
        case Name(name):
            return frozenset({name})
        case Arithmetic(_, left, right) | Compare(_, left, right):
            return names(left) | names(right)
        case In(operand, _) | IsMissing(operand):
            return names(operand)
        case Not(part):
            return names(part)
        case And(parts) | Or(parts):
            return frozenset().union(*(names(part) for part in parts))
    return frozenset()


def all_of(parts: list[Condition]) -> Condition:
    """The conjunction: nested ones opened, repetitions dropped, in a fixed order."""
    return _joined(And, parts)


def any_of(parts: list[Condition]) -> Condition:
    """The disjunction: nested ones opened, repetitions dropped, in a fixed order."""
    return _joined(Or, parts)


def _joined(kind: type[And] | type[Or], parts: list[Condition]) -> Condition:
    opened: list[Condition] = []
    for part in parts:
        opened.extend(part.parts if isinstance(part, kind) else (part,))
    distinct = {write(part): part for part in opened}
    ordered = tuple(distinct[key] for key in sorted(distinct))
    return ordered[0] if len(ordered) == 1 else kind(ordered)


_RESERVED: Final = frozenset(
    """
    all alter and any as between by call case cast connect_by_root create cross current_catalog current_date
    current_time current_timestamp current_user distinct drop else end escape except execute exists explain
    false fetch for force from glob grant group having if ilike in inner insert install intersect interval into
    is isnull join lateral like limit localtime localtimestamp map not notnull null offset on only optimize or
    order outer over partitioned_by positional prepare qualify regexp rename reset returning revoke rlike
    rollback select session_user similar summarize table tablesample then true try_cast uncache union unique
    using vacuum when where with xor
    """.split()  # noqa: SIM905
)


def _plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name.lower() not in _RESERVED
