"""Rows on one machine: a CSV, Parquet or DuckDB file, copied once into an embedded engine that is then locked in.

The copy makes the data what it was when its fingerprint was taken: a file that changes later changes no answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dosimeter.errors import SourceError
from dosimeter.exact import show
from dosimeter.queries.frame import Frame
from dosimeter.queries.plans import Plan
from dosimeter.queries.schema import Schema
from dosimeter.sources import duckdb_load
from dosimeter.sources.duckdb_load import TABLE, Types
from dosimeter.sources.failures import quietly
from dosimeter.sources.port import Aggregates
from dosimeter.sources.tree import sql_of

if TYPE_CHECKING:
    import duckdb


class DuckDBSource:
    """A data set in DuckDB. Open one with `DuckDBSource.open`. May be used from several threads, not after a fork."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: Schema, digest: str) -> None:
        self._connection = connection
        self._schema = schema
        self._digest = digest
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        table: str | None = None,
        columns: Types | None = None,
        *,
        delimiter: str | None = None,
        threads: int | None = None,
    ) -> DuckDBSource:
        """Open a file and copy it into memory.

        Args:
            path: a .csv, .csv.gz, .tsv or .tsv.gz file with a header, a .parquet file, or a .duckdb database.
            table: which table of a database; may be left out where there is only one.
            columns: declared types, ``{"age": "integer"}``, or a whole `Schema`. For a column that is not declared,
                Parquet and DuckDB files say its type; in a CSV file it is the narrowest type that every cell reads as.
                That looks at every row: the steward who opens the data confirms that the schema may be public.
            delimiter: of a CSV file; found in its header when left out.
            threads: how many the engine may use; all when left out.

        Raises:
            SourceError: there is no such file, or it cannot be read. Says which step failed, never what a row holds.
        """
        return cls(*duckdb_load.from_file(path, table, columns, delimiter, threads))

    @classmethod
    def from_rows(cls, columns: Types, rows: Iterable[Sequence[object]]) -> DuckDBSource:
        """A small data set from Python values, one sequence per row."""
        return cls(*duckdb_load.from_rows(columns, rows))

    @property
    def schema(self) -> Schema:
        """The public columns."""
        return self._schema

    def content_digest(self) -> str:
        """What identifies the rows, in hex: the same for a copy, another order, or another format of the file.

        Raises:
            SourceError: the source was closed, or opened by another process, and cannot answer.
        """
        self._require_open()
        return self._digest

    def aggregate(self, plan: Plan) -> Aggregates:
        """The exact numbers of every part of a plan, in lattice steps. They are private.

        Raises:
            SourceError: the engine failed, or the plan or the process is not this source's.
        """
        return self.compute(plan.frame)

    def compute(self, frame: Frame) -> Aggregates:
        """The exact numbers of a frame: one tuple per measure, one number per cell. They are private."""
        from sqlglot import exp

        self._require_open()
        if missing := sorted({column.name for column in frame.columns} - set(self._schema.names)):
            raise SourceError(f"the data has no column {show(missing[0])}; plan the query with this source's schema")
        statement = sql_of(frame, exp.to_table(TABLE), "duckdb", self._schema)

        def run() -> Aggregates:
            with self._lock:
                return _arranged(frame, self._connection.execute(statement).fetchall())

        return quietly("aggregate", run)

    def close(self) -> None:
        """Free the memory. The source cannot be used afterwards."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise SourceError("the data was opened in another process; open it again in this one")
        if self._closed:
            raise SourceError("the data was closed; open it again")


def _arranged(frame: Frame, rows: list[tuple[Any, ...]]) -> Aggregates:
    measures = [[0] * frame.cells for _ in frame.measures]
    for cell, *numbers in rows:
        for row, number in zip(measures, numbers, strict=True):
            row[cell] = int(number)
    return tuple(tuple(row) for row in measures)
