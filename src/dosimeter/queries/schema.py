"""The public facts about a data set: which columns it has, and what each may hold.

A schema is declared, or confirmed, by the steward who opens the data; from then on it is public. Planning reads the
schema and never a row, so neither the price of a query nor its refusal can depend on private data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dosimeter.errors import InputError, QueryError
from dosimeter.exact import show

MAX_COLUMNS = 4_096
MAX_NAME = 256


class ColumnType(StrEnum):
    """What a column may hold. A cell that does not read as its column's type is a missing value."""

    INTEGER = "integer"  # whole numbers of 64 bits
    REAL = "real"  # double precision; NaN is a missing value
    TEXT = "text"  # the empty text is a missing value
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @classmethod
    def read(cls, value: object) -> ColumnType:
        """Read a type by name; the error lists the names."""
        try:
            return cls(str(value))
        except ValueError:
            raise InputError(f"column type {show(value)} is unknown; use one of: {', '.join(cls)}") from None

    @property
    def is_number(self) -> bool:
        """Whether values can be added up."""
        return self in {ColumnType.INTEGER, ColumnType.REAL}


def is_text(value: object) -> bool:
    """Whether a value is a text that every engine can hold: no NUL, and no half of a surrogate pair."""
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name and its type.

    Args:
        name: as it stands in the data, case included.
        type: what it may hold.
        nullable: whether values may be missing. Where it is False, a value that is missing all the same counts as the
            lower bound of the query, so that the declaration is enforced, not believed.
    """

    name: str
    type: ColumnType
    nullable: bool = True

    def __post_init__(self) -> None:
        if not is_text(self.name) or not 1 <= len(self.name) <= MAX_NAME:
            raise InputError(f"column name {show(self.name)} is not a text of 1 to {MAX_NAME} characters")
        object.__setattr__(self, "type", ColumnType.read(self.type))
        if not isinstance(self.nullable, bool):
            raise InputError(f"nullable={show(self.nullable)} of column {show(self.name)} is not true or false")


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a data set, in order. Names are compared exactly, and differ by more than case."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        if not 1 <= len(columns) <= MAX_COLUMNS:
            raise InputError(f"a schema has 1 to {MAX_COLUMNS} columns; got {len(columns)}")
        seen: dict[str, str] = {}
        for column in columns:
            if not isinstance(column, Column):
                raise InputError(f"a schema is made of columns, not of {type(column).__name__}")
            if (other := seen.get(column.name.casefold())) is not None:
                raise InputError(
                    f"columns {show(other)} and {show(column.name)} have the same name up to case; rename one of them"
                )
            seen[column.name.casefold()] = column.name
        object.__setattr__(self, "columns", columns)

    @classmethod
    def of(cls, types: Mapping[str, str] | Iterable[tuple[str, str]]) -> Schema:
        """A schema from names and types: ``Schema.of({"age": "integer", "sex": "text"})``."""
        pairs = types.items() if isinstance(types, Mapping) else types
        return cls(tuple(Column(name, ColumnType.read(kind)) for name, kind in pairs))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: object) -> Column:
        """The column of this name.

        Raises:
            QueryError: there is none; the message names the nearest one and lists the columns.
        """
        for column in self.columns:
            if column.name == name:
                return column
        folded = {known.casefold(): known for known in self.names}
        near = difflib.get_close_matches(str(name).casefold()[:MAX_NAME], folded, n=1)
        hint = f"; did you mean {show(folded[near[0]])}?" if near else "."
        listed = ", ".join(self.names[:40]) + (", ..." if len(self.names) > 40 else "")
        raise QueryError(f"column {show(name)} does not exist{hint} The columns are: {listed}")

    def to_json(self) -> list[dict[str, Any]]:
        """The columns as JSON."""
        return [{"name": c.name, "type": str(c.type), "nullable": c.nullable} for c in self.columns]

    @classmethod
    def from_json(cls, data: object) -> Schema:
        """Read a schema back; raises InputError for anything that `to_json` does not write."""
        if not isinstance(data, list) or any(
            not isinstance(row, dict) or set(row) != {"name", "type", "nullable"} for row in data
        ):
            raise InputError("a schema is a list of columns, each with exactly: name, type, nullable")
        return cls(tuple(Column(row["name"], row["type"], row["nullable"]) for row in data))
