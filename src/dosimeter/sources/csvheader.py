"""The header of a CSV file: column names are public, so they are read and checked before any row is."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from dosimeter.errors import SourceError
from dosimeter.exact import show
from dosimeter.queries.schema import MAX_COLUMNS, MAX_NAME

DELIMITERS: Final = (",", "\t", ";", "|")
MAX_HEADER: Final = 1 << 20


def read_header(path: Path, delimiter: str | None = None) -> tuple[tuple[str, ...], str]:
    """The column names of a CSV file, and its delimiter: the one that gives the header most fields, else a comma.

    Raises:
        SourceError: the file is empty or not text, its names are not distinct, or the delimiter is not one.
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise SourceError(f"delimiter={show(delimiter)} is not one character such as ';'")
    first = _first_lines(path)
    if first is None:
        raise SourceError("the file could not be read as text in UTF-8; a .csv.gz file must be compressed with gzip")
    if not first:
        raise SourceError("the file is empty; a CSV file starts with a header line that names its columns")
    if len(first) == MAX_HEADER:
        raise SourceError("the header line is longer than a megabyte; this is not a CSV file")
    if delimiter is None and path.name.lower().removesuffix(".gz").endswith(".tsv"):
        delimiter = "\t"
    fields = {mark: next(_fields(first, mark), []) for mark in ([delimiter] if delimiter else DELIMITERS)}
    mark = max(fields, key=lambda each: len(fields[each]))
    names = tuple(fields[mark])
    _check(names)
    return names, mark


def _fields(text: str, mark: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(text.splitlines(keepends=True), delimiter=mark, strict=False)
    except csv.Error:
        return


def _first_lines(path: Path) -> str | None:
    """The beginning of the file up to the end of its header, "" when there is none, None when it is not text."""

    def opened() -> IO[str]:
        if path.name.lower().endswith(".gz"):
            return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
        return path.open(encoding="utf-8-sig", newline="")

    try:
        with opened() as file:
            text = file.readline(MAX_HEADER)
            while text.count('"') % 2 and len(text) < MAX_HEADER:  # a quoted name may hold a line break
                more = file.readline(MAX_HEADER - len(text))
                if not more:
                    break
                text += more
            return text
    except (OSError, EOFError, UnicodeDecodeError, gzip.BadGzipFile, ValueError):
        return None


def _check(names: tuple[str, ...]) -> None:
    if len(names) > MAX_COLUMNS:
        raise SourceError(f"the header names {len(names)} columns, more than {MAX_COLUMNS}")
    seen: dict[str, str] = {}
    for place, name in enumerate(names, start=1):
        if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
            raise SourceError(
                f"column {place} of the header has no printable name of 1 to {MAX_NAME} characters; the first line "
                "of a CSV file names its columns"
            )
        if (other := seen.get(name.casefold())) is not None:
            same = "twice" if other == name else f"and {show(name)}, the same name up to case"
            raise SourceError(f"the header names {show(other)} {same}; give every column its own name")
        seen[name.casefold()] = name
