"""From words on a command line to a query: ``mean income --lower 0 --upper 100000 --by sex=F,M``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dosimeter.errors import InputError, QueryError
from dosimeter.exact import show

if TYPE_CHECKING:
    from dosimeter.queries import Query, Schema

AGGREGATES = ("count", "users", "sum", "mean", "histogram")


@dataclass(frozen=True, slots=True)
class Words:
    """A question as it stands on the command line."""

    aggregate: str
    column: str | None = None
    lower: str | None = None
    upper: str | None = None
    edges: str | None = None
    where: str | None = None
    by: list[str] | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None


def build(schema: Schema, words: Words) -> Query:
    """The query that the words mean; raises QueryError or InputError with the way to say it right."""
    query = _aggregate(words)
    for group in words.by or ():
        name, equals, keys = group.partition("=")
        if not equals:
            raise QueryError(
                f"--by {name} needs its keys: a key found in the data would reveal that someone has it; declare them, "
                f"as in: --by {name}=a,b"
            )
        query = query.by(name, keys=_keys(keys, schema, name))
    if words.where is not None:
        query = query.where(words.where)
    if words.max_groups is not None or words.max_rows_per_group is not None:
        query = query.bounded(max_groups=words.max_groups, max_rows_per_group=words.max_rows_per_group)
    return query


def _aggregate(words: Words) -> Query:
    from dosimeter.queries import count, count_distinct_users, histogram, mean_of, sum_of

    kind, column = words.aggregate, words.column
    if kind not in AGGREGATES:
        raise InputError(f"{show(kind)} is not a question; ask one of: {', '.join(AGGREGATES)}")
    if kind not in {"sum", "mean"} and not words.lower is words.upper is None:
        raise InputError(f"--lower and --upper belong to a sum or a mean, not to {kind}; choose rows with --where")
    if kind != "histogram" and words.edges is not None:
        raise InputError(f"--edges belongs to a histogram, not to {kind}")
    if kind in {"count", "users"}:
        if column is not None:
            raise InputError(f"{kind} takes no column; did you mean sum {column}, or --by {column}=...?")
        return count() if kind == "count" else count_distinct_users()
    if column is None:
        raise InputError(f"{kind} needs a column, as in: {kind} age")
    if kind == "histogram":
        if words.edges is None:
            raise InputError(f"a histogram needs public edges, as in: histogram {column} --edges 0,18,65,100")
        return histogram(column, edges=[edge.strip() for edge in words.edges.split(",")])
    if words.lower is None or words.upper is None:
        raise QueryError(
            f"a {kind} without bounds has unbounded sensitivity: one person could move it by any amount; give public "
            f"bounds, as in: {kind} {column} --lower 0 --upper 50"
        )
    return (sum_of if kind == "sum" else mean_of)(column, lower=words.lower, upper=words.upper)


def _keys(words: str, schema: Schema, column: str) -> list[Any]:
    """The declared keys: a list with commas, or JSON where keys hold commas; read as the column's type."""
    kind = str(schema.column(column).type)
    if words.lstrip().startswith("["):
        try:
            keys = json.loads(words)
        except ValueError:
            raise QueryError(
                f'the keys of --by {column}= are not JSON; write {column}=a,b or {column}=\'["a", "b"]\''
            ) from None
        return list(keys)
    return [_key(word.strip(), kind, column) for word in words.split(",")]


def _key(word: str, kind: str, column: str) -> Any:
    if word.upper() == "NULL":
        return None
    if kind == "integer":
        try:
            return int(word)
        except ValueError:
            raise QueryError(f"key {show(word)} of --by {column}= is not a whole number") from None
    if kind == "boolean":
        if word.lower() not in {"true", "false"}:
            raise QueryError(f"key {show(word)} of --by {column}= is not true or false")
        return word.lower() == "true"
    return word
