"""Bring a file into DuckDB, as typed columns in memory, and close every door behind it.

After loading, the engine can reach no file, no network and no extension, spills nothing to disk, and its settings can
no longer be changed.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from dosimeter.errors import SourceError
from dosimeter.exact import count, show
from dosimeter.queries.schema import Column, Schema
from dosimeter.sources.csvheader import read_header
from dosimeter.sources.duckdb_infer import infer
from dosimeter.sources.failures import quietly
from dosimeter.sources.fingerprint import digest_of_sums, row_text
from dosimeter.sources.terms import SQL_TYPES
from dosimeter.sources.typed import Stored, typed

if TYPE_CHECKING:
    import duckdb

    Connection: TypeAlias = duckdb.DuckDBPyConnection

Types: TypeAlias = "Schema | Mapping[str, str]"
Loaded: TypeAlias = "tuple[Connection, Schema, str]"

TABLE: Final = "data"
_RAW: Final = "raw"
_SETTINGS: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",  # private rows are never spilled to disk
}
_AT_ONCE: Final = 200  # rows per statement
_CSV: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET: Final = (".parquet", ".pq")
_DATABASE: Final = (".duckdb", ".ddb", ".db")
_STORED: Final = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Stored.WHOLE),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), Stored.WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), Stored.REAL),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Stored.TIMESTAMP),
    "TIMESTAMP WITH TIME ZONE": Stored.TIMESTAMP,
    "BOOLEAN": Stored.BOOLEAN,
    "DATE": Stored.DATE,
    "VARCHAR": Stored.TEXT,
}


def from_file(
    path: str | os.PathLike[str],
    table: str | None,
    columns: Types | None,
    delimiter: str | None,
    threads: int | None,
) -> Loaded:
    """The engine with a file's rows in it, their schema and their fingerprint."""
    file = _file(path)
    name = file.name.lower()
    if table is not None and not name.endswith(_DATABASE):
        raise SourceError(f"table={show(table)} belongs to a database; a {file.suffix} file holds one table")
    if name.endswith(_CSV):
        names, mark = read_header(file, delimiter)
        connection = _connect(threads)
        if not quietly("read", lambda: _read_csv(connection, _pattern(file), names, mark)):
            raise SourceError("the file has a header line but no rows below it")
        return _load(connection, _RAW, dict.fromkeys(names, Stored.TEXT), columns)
    connection = _connect(threads)
    if name.endswith(_PARQUET):
        scan = f"read_parquet({_text(_pattern(file))}, hive_partitioning = false)"
        quietly("open", lambda: connection.execute(f"CREATE TEMP TABLE {_RAW} AS SELECT * FROM {scan}"))  # noqa: S608
        given = _RAW
    else:
        given = _attach(connection, file, table)
    return _load(connection, given, quietly("read", lambda: _storage(connection, given)), columns)


def from_rows(columns: Types, rows: Iterable[Sequence[object]]) -> Loaded:
    """The engine with Python values in it."""
    schema = columns if isinstance(columns, Schema) else Schema.of(columns)
    connection = _connect(None)

    def fill() -> None:
        fields = ", ".join(f"{_name(c.name)} {SQL_TYPES[c.type]}" for c in schema.columns)
        connection.execute(f"CREATE TEMP TABLE {_RAW} ({fields})")
        marks = f"({', '.join('?' for _ in schema.columns)})"
        given = [list(row) for row in rows]
        for start in range(0, len(given), _AT_ONCE):
            some = given[start : start + _AT_ONCE]
            values = ", ".join([marks] * len(some))
            connection.execute(f"INSERT INTO {_RAW} VALUES {values}", list(itertools.chain.from_iterable(some)))  # noqa: S608

    quietly("read", fill)
    return _load(connection, _RAW, quietly("read", lambda: _storage(connection, _RAW)), schema)


def _load(connection: Connection, given: str, stored: dict[str, Stored], columns: Types | None) -> Loaded:
    schema = _schema(connection, given, stored, columns)
    digest = quietly("load", lambda: _copy(connection, given, stored, schema))
    quietly("load", lambda: _lock_in(connection))
    return connection, schema, digest


def _file(path: str | os.PathLike[str]) -> Path:
    try:
        file = Path(os.fsdecode(path))
        is_file, is_directory = file.is_file(), file.is_dir()
    except (TypeError, ValueError, OSError):
        file, is_file, is_directory = Path(), False, False
    if is_directory:
        raise SourceError(f"{show(str(path))} is a directory; give the file that holds the rows")
    if not is_file:
        raise SourceError(f"there is no file {show(str(path))}; give a path on this machine")
    if not file.name.lower().endswith(_CSV + _PARQUET + _DATABASE):
        known = ", ".join((*_CSV, *_PARQUET, *_DATABASE))
        raise SourceError(
            f"the name {show(file.name)} does not say what the file holds; it must end in one of: {known}"
        )
    return file.absolute()


def _pattern(file: Path) -> str:
    """The path as a pattern that matches only itself: for the engine, ``a[1].csv`` would mean ``a1.csv``."""
    return re.sub(r"([\[\]*?])", r"[\1]", str(file))


def _connect(threads: int | None) -> Connection:
    settings: dict[str, str | bool | int | float | list[str]] = dict(_SETTINGS)
    if threads is not None:
        settings["threads"] = str(count(threads, "threads", largest=1024))

    def connect() -> Connection:
        import duckdb

        connection = duckdb.connect(":memory:", config=settings)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    return quietly("open", connect)


def _read_csv(connection: Connection, pattern: str, names: tuple[str, ...], mark: str) -> bool:
    """Every cell as text; a row with too few or too many cells is an error, not a guess. False if there is no row."""
    fields = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
    packed = "gzip" if pattern.lower().endswith(".gz") else "none"
    options = (
        f"auto_detect = false, header = true, delim = {_text(mark)}, quote = '\"', escape = '\"', nullstr = '', "
        f"compression = '{packed}', strict_mode = true, ignore_errors = false, null_padding = false, "
        f"columns = {{{fields}}}"
    )
    scan = f"read_csv({_text(pattern)}, {options})"
    connection.execute(f"CREATE TEMP TABLE {_RAW} AS SELECT * FROM {scan}")  # noqa: S608
    return bool(connection.execute(f"SELECT 1 FROM {_RAW} LIMIT 1").fetchall())  # noqa: S608


def _attach(connection: Connection, file: Path, table: str | None) -> str:
    """Attach a database read-only and name its table."""
    quietly("open", lambda: connection.execute(f"ATTACH {_text(str(file))} AS given (TYPE duckdb, READ_ONLY)"))
    listing = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'given' ORDER BY ALL"
    tables: list[tuple[str, str]] = quietly("open", lambda: connection.execute(listing).fetchall())
    found = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in tables}
    if table is None and len(found) == 1:
        table = next(iter(found))
    if table is None or table not in found:
        asked = "say which table to open" if table is None else f"there is no table {show(table)}"
        raise SourceError(f"{asked}; the database has: {', '.join(list(found)[:40]) or 'none'}")
    return ".".join(_name(part) for part in ("given", *found[table]))


def _storage(connection: Connection, given: str) -> dict[str, Stored]:
    described = connection.execute(f"DESCRIBE SELECT * FROM {given}").fetchall()  # noqa: S608
    return {str(row[0]): _STORED.get(re.sub(r"^DECIMAL.*", "DOUBLE", str(row[1])), Stored.OTHER) for row in described}


def _schema(connection: Connection, given: str, stored: dict[str, Stored], columns: Types | None) -> Schema:
    """Declared types first; then what the file says; for texts of a CSV file, what every cell reads as."""
    if isinstance(columns, Schema):
        declared = {column.name: column for column in columns.columns}
    else:
        declared = {c.name: c for c in Schema.of(columns).columns} if columns else {}
    if unknown := sorted(set(declared) - set(stored)):
        listed = ", ".join(list(stored)[:40])
        raise SourceError(f"column {show(unknown[0])} was declared but is not in the data, which has: {listed}")
    open_names = [name for name in stored if name not in declared]
    if isinstance(columns, Schema):
        return columns
    guessed = {name: stored[name].natural for name in open_names}
    if given == _RAW and set(stored.values()) == {Stored.TEXT} and open_names:
        guessed = quietly("read", lambda: infer(connection, _RAW, open_names))
    return Schema(tuple(declared.get(name) or Column(name, guessed[name]) for name in stored))


def _copy(connection: Connection, given: str, stored: dict[str, Stored], schema: Schema) -> str:
    """Copy the rows as typed columns and take their fingerprint in the same pass, over the columns as stored.

    A second table, filled through plain column types, also loses collations and generated columns of a database.
    """
    from sqlglot import exp

    cells = {name: (exp.column(name, quoted=True), kind) for name, kind in stored.items()}
    values = [typed(*cells[c.name], c.type).sql(dialect="duckdb") for c in schema.columns]
    text = row_text(cells).sql(dialect="duckdb")
    lowered = {name.casefold() for name in stored}
    fields = [f"c{place} {SQL_TYPES[c.type]}" for place, c in enumerate(schema.columns)]
    mark = next(f"mark{place}" for place in itertools.count() if f"mark{place}" not in lowered)
    halves = [f"('0x' || substr({mark}, {start}, 16))::UBIGINT" for start in (1, 17)]
    connection.execute(f"CREATE TABLE loaded ({', '.join(fields)}, high UBIGINT, low UBIGINT)")
    connection.execute(
        f"INSERT INTO loaded SELECT {', '.join([*values, *halves])} FROM (SELECT *, md5({text}) AS {mark} FROM {given})"  # noqa: S608
    )
    rows, low, high = connection.execute("SELECT count(*), sum(low), sum(high) FROM loaded").fetchall()[0]
    for half in ("low", "high"):
        connection.execute(f"ALTER TABLE loaded DROP COLUMN {half}")
    renamed = ", ".join(f"c{place} AS {_name(c.name)}" for place, c in enumerate(schema.columns))
    connection.execute(f"CREATE VIEW {TABLE} AS SELECT {renamed} FROM loaded")  # noqa: S608
    return digest_of_sums(tuple(stored), int(rows), int(low or 0), int(high or 0))


def _lock_in(connection: Connection) -> None:
    connection.execute(f"DROP TABLE IF EXISTS temp.main.{_RAW}")
    if connection.execute("SELECT 1 FROM duckdb_databases() WHERE database_name = 'given'").fetchall():
        connection.execute("DETACH given")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
