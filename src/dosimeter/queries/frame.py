"""What a source needs to know to aggregate, and nothing else: columns, condition, cells, caps, lattice.

A frame is the public half of a plan that touches rows. Every bound the sensitivity relies on is in it, so that a source
enforces the bounds rather than assuming them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from dosimeter.exact import text
from dosimeter.queries.condition import Condition, write
from dosimeter.queries.lattice import Lattice
from dosimeter.queries.query import Key
from dosimeter.queries.schema import Column
from dosimeter.queries.sensitivity import Contribution

COUNT, SUM = "count", "sum"


@dataclass(frozen=True, slots=True)
class KeyAxis:
    """Cells by the declared keys of a column; None is the key of missing values. Other rows are in no cell."""

    column: Column
    keys: tuple[Key, ...]

    @property
    def size(self) -> int:
        """How many cells there are along this axis."""
        return len(self.keys)

    def labels(self) -> tuple[Key, ...]:
        """What each cell is called in an answer."""
        return self.keys


@dataclass(frozen=True, slots=True)
class BinAxis:
    """Cells [a, b) between neighbouring edges, the last [a, b]; other rows and missing values are in no cell."""

    column: Column
    edges: tuple[Decimal, ...]

    @property
    def size(self) -> int:
        """How many cells there are along this axis."""
        return len(self.edges) - 1

    def labels(self) -> tuple[Key, ...]:
        """What each cell is called in an answer."""
        ends = [text(edge) for edge in self.edges]
        last = len(ends) - 2
        return tuple(f"[{ends[i]}, {ends[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


Axis: TypeAlias = KeyAxis | BinAxis


@dataclass(frozen=True, slots=True)
class Value:
    """The aggregated column, on its lattice. Rows without a value are left out.

    Where the column is declared not to miss values, a missing one counts as the lower bound.
    """

    column: Column
    lattice: Lattice


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that count, where they count, and how much of one user counts.

    Args:
        columns: every column that is read.
        condition: with types; None for all rows.
        axes: the cells; their cross product in row-major order.
        measures: what is computed in every cell: "count" of rows, "sum" of the value.
        value: what is added up; None where only rows are counted.
        user: the column of the privacy unit; None where a row is a unit. Rows without a user are left out.
        contribution: the caps on one unit: rows per cell first, then cells, then rows.
        salt: which rows and cells of a user are kept is decided by the MD5 of salt, user, cell and value.
    """

    columns: tuple[Column, ...]
    condition: Condition | None
    axes: tuple[Axis, ...]
    measures: tuple[str, ...]
    value: Value | None
    user: Column | None
    contribution: Contribution
    salt: str

    @property
    def cells(self) -> int:
        """How many cells the answer has."""
        total = 1
        for axis in self.axes:
            total *= axis.size
        return total

    def to_json(self) -> dict[str, Any]:
        """The public description, for a plan's digest."""
        caps = self.contribution
        return {
            "columns": [{"name": c.name, "type": str(c.type), "nullable": c.nullable} for c in self.columns],
            "where": None if self.condition is None else write(self.condition),
            "axes": [{"column": axis.column.name, "labels": list(axis.labels())} for axis in self.axes],
            "measures": list(self.measures),
            "value": None
            if self.value is None
            else {"column": self.value.column.name, "lattice": self.value.lattice.to_json()},
            "user": None if self.user is None else self.user.name,
            "caps": {"rows": caps.rows, "groups": caps.groups, "rows_per_group": caps.rows_per_group},
            "salt": self.salt,
        }
