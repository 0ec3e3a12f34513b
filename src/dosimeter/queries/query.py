"""What is asked, as a frozen value: read like a sentence, compared by its digest, free of any row.

    count().where("age >= 18 AND sex = 'F'")
    sum_of("spend", lower="0", upper="50").by("day", keys=["Mon", "Tue"])

A query states every bound it needs. Two spellings of one question (``AGE>=18`` is not one of ``age >= 18``, but
``18 <= age`` is) have one digest, so a question that was answered can be recognised and its answer given again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

from dosimeter.errors import InputError, QueryError
from dosimeter.exact import Number, show, text, to_decimal
from dosimeter.exact import count as whole
from dosimeter.queries.parse import conjunction
from dosimeter.queries.schema import is_text

Key: TypeAlias = "str | int | bool | None"

MAX_CELLS = 10_000
MAX_LABELS = 1_000_000  # characters of all labels of an answer, so that every answer can be stored
MAX_SENTENCE = 1_000
LARGEST_BOUND = Decimal("1e18")
MAX_PLACES = 18


class Aggregate(StrEnum):
    """What is computed from the rows."""

    COUNT = "count"
    DISTINCT_USERS = "distinct_users"
    SUM = "sum"
    MEAN = "mean"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Group:
    """One grouping column with its declared, public keys. Rows under any other key are left out."""

    column: str
    keys: tuple[Key, ...]

    def __post_init__(self) -> None:
        keys = tuple(self.keys)
        if not 1 <= len(keys) <= MAX_CELLS:
            raise QueryError(f"by({show(self.column)}) needs 1 to {MAX_CELLS} declared keys; got {len(keys)}")
        for key in keys:
            if key is not None and not isinstance(key, int) and not is_text(key):
                raise QueryError(
                    f"key {show(key)} of by({show(self.column)}) is not a text, whole number, boolean or None"
                )
        if len({(type(key), key) for key in keys}) != len(keys):
            raise QueryError(f"by({show(self.column)}) names a key twice; each key is one cell of the answer")
        object.__setattr__(self, "keys", keys)


@dataclass(frozen=True, slots=True)
class Query:
    """A question about the rows. Use the builders (`count`, `sum_of`, ...) rather than this constructor.

    Args:
        aggregate: what is computed.
        column: the aggregated column; None for `count` and `distinct_users`.
        lower: public lower bound of a sum or mean; values are clipped into the bounds.
        upper: public upper bound.
        edges: public edges of a histogram, increasing; bins are [a, b), the last one [a, b].
        condition: which rows take part, in its normal form; None for all.
        groups: the grouping columns with their declared keys; the answer has one cell per combination.
        max_groups: cells one user may contribute to; needs `groups` or a histogram.
        max_rows_per_group: rows one user may contribute to a cell.
    """

    aggregate: Aggregate
    column: str | None = None
    lower: Decimal | None = None
    upper: Decimal | None = None
    edges: tuple[Decimal, ...] = ()
    condition: str | None = None
    groups: tuple[Group, ...] = ()
    max_groups: int | None = None
    max_rows_per_group: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregate", Aggregate(self.aggregate))
        object.__setattr__(self, "groups", tuple(self.groups))
        if self.aggregate in {Aggregate.SUM, Aggregate.MEAN}:
            self._read_bounds()
        if self.aggregate is Aggregate.HISTOGRAM:
            self._read_edges()
        names = [group.column for group in self.groups]
        if twice := {name for name in names if names.count(name) > 1}:
            raise QueryError(f"by({show(min(twice))}) is given twice; give all its keys at once")
        if self.cells > MAX_CELLS:
            raise QueryError(f"the answer would have {self.cells} cells, more than {MAX_CELLS}; declare fewer keys")
        letters = sum(len(str(key)) * (self.cells // len(group.keys)) for group in self.groups for key in group.keys)
        if letters > MAX_LABELS:
            raise QueryError(
                f"the keys of all cells would take {letters} characters, more than {MAX_LABELS}; declare fewer or "
                "shorter ones"
            )
        for name in ("max_groups", "max_rows_per_group"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, whole(value, name, largest=10**6))
        if self.max_groups is not None and not self.shape:
            raise QueryError("max_groups bounds the cells of a grouped query; add .by(...) or leave it out")

    def _read_bounds(self) -> None:
        call = "sum_of" if self.aggregate is Aggregate.SUM else "mean_of"
        if self.lower is None or self.upper is None:
            raise QueryError(
                f"a {self.aggregate} without bounds has unbounded sensitivity: one person could move it by any amount; "
                f"give public bounds, as in {call}({show(self.column)}, lower='0', upper='50')"
            )
        lower, upper = _bound(self.lower, "lower"), _bound(self.upper, "upper")
        if not lower < upper:
            raise QueryError(f"lower={lower} is not below upper={upper}")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def _read_edges(self) -> None:
        edges = tuple(_bound(edge, "edge") for edge in self.edges)
        if len(edges) < 2 or any(not a < b for a, b in itertools.pairwise(edges)):
            raise QueryError("a histogram needs two or more public edges, in increasing order, as in edges=[0, 18, 65]")
        object.__setattr__(self, "edges", edges)

    def where(self, condition: str) -> Query:
        """Keep only the rows for which `condition` is true. A second call narrows further.

        Args:
            condition: columns, literals, ``= <> < <= > >=``, ``AND OR NOT``, ``IN``, ``BETWEEN``, ``IS [NOT] NULL``
                and ``+ - *``. Nothing in it can fail on a row; division, casts and functions are refused.
        """
        return replace(self, condition=conjunction(self.condition, condition))

    def by(self, column: str, keys: Iterable[Key] | None = None) -> Query:
        """One answer per declared key. Several calls give one answer per combination of keys.

        The keys are public and declared by the analyst: every one of them is answered, whether any row has it or not.
        Keys found in the data would reveal who is in it, so there is no way to ask for them.
        """
        if keys is None:
            raise QueryError(
                f"by({show(column)}) needs its keys: a key found in the data would reveal that someone has it; "
                f"declare them, as in by({show(column)}, keys=['a', 'b'])"
            )
        if isinstance(keys, str | bytes):
            raise QueryError(f"keys={show(keys)} is one text; give a list of keys")
        group = Group(column, tuple(key if isinstance(key, str | bool) else _key(key) for key in keys))
        return replace(self, groups=(*self.groups, group))

    def bounded(self, *, max_groups: int | None = None, max_rows_per_group: int | None = None) -> Query:
        """Let one user contribute to at most `max_groups` cells, with at most `max_rows_per_group` rows in each."""
        return replace(self, max_groups=max_groups, max_rows_per_group=max_rows_per_group)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells along each grouping column, and bins along a histogram's column."""
        bins = (len(self.edges) - 1,) if self.aggregate is Aggregate.HISTOGRAM else ()
        return (*(len(group.keys) for group in self.groups), *bins)

    @property
    def cells(self) -> int:
        """How many numbers the answer has."""
        total = 1
        for size in self.shape:
            total *= size
        return total

    def to_json(self) -> dict[str, Any]:
        """The question as JSON, numbers as texts; what is not asked is left out."""
        data: dict[str, Any] = {"aggregate": str(self.aggregate)}
        if self.column is not None:
            data["column"] = self.column
        if self.lower is not None and self.upper is not None:
            data |= {"lower": text(self.lower), "upper": text(self.upper)}
        if self.edges:
            data["edges"] = [text(edge) for edge in self.edges]
        if self.condition is not None:
            data["where"] = self.condition
        if self.groups:
            data["by"] = [{"column": group.column, "keys": list(group.keys)} for group in self.groups]
        for name in ("max_groups", "max_rows_per_group"):
            if getattr(self, name) is not None:
                data[name] = getattr(self, name)
        return data

    @property
    def digest(self) -> str:
        """What identifies the question: the SHA-256 of its JSON form, in hex."""
        return digest_of("dosimeter query 1", self.to_json())

    def __str__(self) -> str:
        inner = self.column or ""
        if self.lower is not None and self.upper is not None:
            inner += f" in [{text(self.lower)}, {text(self.upper)}]"
        if self.edges:
            inner += f" at {len(self.edges)} edges from {text(self.edges[0])} to {text(self.edges[-1])}"
        words = [f"{self.aggregate}({inner})" if inner else f"{self.aggregate}"]
        if self.condition is not None:
            words.append(f"where {self.condition}")
        words += [f"by {group.column} ({_listed(group.keys)})" for group in self.groups]
        return _printable(" ".join(words))


def count() -> Query:
    """How many rows there are."""
    return Query(Aggregate.COUNT)


def count_distinct_users() -> Query:
    """How many users have at least one row. Needs an account whose privacy unit is a user."""
    return Query(Aggregate.DISTINCT_USERS)


def sum_of(column: str, *, lower: Number | None = None, upper: Number | None = None) -> Query:
    """The sum of a column, each value clipped into the public bounds [lower, upper]. Missing values add nothing."""
    return Query(Aggregate.SUM, column, lower, upper)  # type: ignore[arg-type]


def mean_of(column: str, *, lower: Number | None = None, upper: Number | None = None) -> Query:
    """The mean of a column's values, clipped into [lower, upper]: a noisy sum over a noisy count, both charged."""
    return Query(Aggregate.MEAN, column, lower, upper)  # type: ignore[arg-type]


def histogram(column: str, *, edges: Iterable[Number]) -> Query:
    """How many rows fall between neighbouring edges: bins [a, b), the last [a, b]; other rows are in no bin."""
    return Query(Aggregate.HISTOGRAM, column, edges=tuple(edges))  # type: ignore[arg-type]


def query_from_json(data: object) -> Query:
    """Read a query back, or from a client; raises InputError for anything else."""
    known = {"aggregate", "column", "lower", "upper", "edges", "where", "by", "max_groups", "max_rows_per_group"}
    if not isinstance(data, dict) or data.get("aggregate") not in list(Aggregate):
        raise InputError(f"a query is an object with an aggregate: {', '.join(Aggregate)}")
    if extra := sorted(set(data) - known, key=str):
        raise InputError(f"a query has no field {show(extra[0])}; it has: {', '.join(sorted(known))}")
    aggregate = Aggregate(data["aggregate"])
    column, edges, groups = data.get("column"), data.get("edges", []), data.get("by", [])
    if aggregate in {Aggregate.COUNT, Aggregate.DISTINCT_USERS} and column is not None:
        raise InputError(f'{aggregate} takes no column; ask for rows with a value by where: "x IS NOT NULL"')
    if not isinstance(edges, list) or not isinstance(groups, list):
        raise InputError("edges and by are lists")
    query = Query(
        aggregate,
        column,
        data.get("lower"),
        data.get("upper"),
        tuple(edges),
        max_rows_per_group=data.get("max_rows_per_group"),
    )
    for group in groups:
        if not isinstance(group, dict) or set(group) != {"column", "keys"} or not isinstance(group["keys"], list):
            raise InputError("each element of by is an object with column and keys")
        query = query.by(group["column"], keys=group["keys"])
    if data.get("where") is not None:
        query = query.where(data["where"])
    return replace(query, max_groups=data.get("max_groups"))


def digest_of(meaning: str, data: object) -> str:
    """The SHA-256 of a JSON value under a named meaning, in hex."""
    plain = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(f"{meaning}\n{plain}".encode()).hexdigest()


def _listed(keys: tuple[Key, ...]) -> str:
    """The keys, where they are few; else how many there are."""
    listed = ", ".join("NULL" if key is None else str(key) for key in keys[:20])
    return listed if len(keys) <= 20 and len(listed) <= 100 else f"{len(keys)} keys"


def _printable(sentence: str) -> str:
    """For a statement or a terminal: control characters are spelled out, and very long questions are cut."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in sentence)
    return shown if len(shown) <= MAX_SENTENCE else f"{shown[:MAX_SENTENCE]}... ({len(shown)} characters)"


def _bound(value: Number, name: str) -> Decimal:
    number = to_decimal(value, name)
    if number.copy_abs() > LARGEST_BOUND:
        raise QueryError(f"{name}={show(value)} is outside [-{LARGEST_BOUND:g}, {LARGEST_BOUND:g}]")
    if (Fraction(number) * 10**MAX_PLACES).denominator != 1:
        raise QueryError(f"{name}={show(value)} has more than {MAX_PLACES} decimal places; round it")
    return number


def _key(value: object) -> Any:
    if value is None or isinstance(value, int):
        return value
    if hasattr(value, "isoformat"):  # dates and timestamps are written as their ISO texts
        return value.isoformat(sep=" ") if hasattr(value, "hour") else value.isoformat()
    return value.__index__() if hasattr(value, "__index__") else value
