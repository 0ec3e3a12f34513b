"""What type a column of texts has: the narrowest that every one of its cells reads as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from dosimeter.queries.schema import ColumnType
from dosimeter.sources.typed import Stored, matches, typed, when

if TYPE_CHECKING:
    import duckdb
    from sqlglot import exp

    Connection: TypeAlias = duckdb.DuckDBPyConnection

_SAMPLE: Final = 1_000
_PADDED: Final = r"^\s*[+-]?0[0-9]"  # a number nobody writes: 007 is an identifier
_NARROWEST: Final = (ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE, ColumnType.TIMESTAMP)


def infer(connection: Connection, table: str, names: list[str]) -> dict[str, ColumnType]:
    """The narrowest type that every cell of a column reads as; text where there is none, or no cell at all.

    Whole numbers with leading zeros (postal codes, identifiers) stay texts. The first rows say which types are worth
    checking on all rows, and all rows decide.
    """
    tried = dict.fromkeys(names, (*_NARROWEST, ColumnType.BOOLEAN))
    fitting = _fitting(connection, tried, f"(SELECT * FROM {table} LIMIT {_SAMPLE})", no_cell_is_text=False)  # noqa: S608
    fitting = _fitting(connection, fitting, table, no_cell_is_text=True)
    return {name: fitting[name][0] if fitting[name] else ColumnType.TEXT for name in names}


def _fitting(
    connection: Connection, tried: Mapping[str, tuple[ColumnType, ...]], rows: str, *, no_cell_is_text: bool
) -> dict[str, tuple[ColumnType, ...]]:
    """Of the types to try for each column, those that every cell of these rows reads as.

    Where a column has no cell, all of them fit, or none does.
    """
    from sqlglot import exp

    checks: list[str] = []
    for name, kinds in tried.items():
        cell = exp.column(name, quoted=True)
        cells = f"count({cell.sql(dialect='duckdb')})"
        for kind in kinds:
            reads = typed(cell, Stored.TEXT, kind)
            if kind is ColumnType.BOOLEAN:
                reads = when(exp.In(this=exp.Lower(this=cell.copy()), expressions=_words("true", "false")), cell.copy())
            if kind.is_number:
                reads = when(exp.Not(this=matches(cell, _PADDED)), reads)
            checks.append(f"count({reads.sql(dialect='duckdb')}) = {cells}")
        checks.append(f"{cells} = 0")
    found = iter(connection.execute(f"SELECT {', '.join(checks)} FROM {rows}").fetchall()[0])  # noqa: S608
    result: dict[str, tuple[ColumnType, ...]] = {}
    for name, kinds in tried.items():
        fits = tuple(kind for kind in kinds if next(found))
        result[name] = () if next(found) and no_cell_is_text else fits
    return result


def _words(*words: str) -> list[exp.Expr]:
    from sqlglot import exp

    return [exp.Literal.string(word) for word in words]
