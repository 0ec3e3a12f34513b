"""A frame as one narrow SQL tree: the same tree for every engine, printed in its dialect.

    given    the columns the frame reads, renamed c0, c1, ... so that no name of the data can clash with ours
    kept     the rows that count: condition true, in a declared cell, with a user and a value
    ranked   where a user is protected: each of a user's rows and cells gets a place in an order decided by MD5
    bounded  the rows within the caps
    result   per cell, the count of rows and the sum of whole numbers, in 38 digits, which no sum can exceed

Nothing in it can fail on a row: comparisons, CASE, additions within bounds. An order decided by MD5 of public salt,
user, cell and value is the same on every engine and in every run; rows that tie have the same user, cell and value, so
it does not matter which of them is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dosimeter.queries.frame import COUNT, Frame, KeyAxis
from dosimeter.queries.schema import Column, Schema
from dosimeter.sources.cells import bin_of, key_match, key_table, within_bins
from dosimeter.sources.compiled import compiled, present
from dosimeter.sources.onlattice import on_lattice
from dosimeter.sources.terms import cast, whole
from dosimeter.sources.typed import Stored, typed

if TYPE_CHECKING:
    from sqlglot import exp


def sql_of(frame: Frame, table: exp.Expr, dialect: str, schema: Schema | None = None) -> str:
    """The statement that computes a frame, in a dialect: rows (cell, count and/or sum), cells without rows left out."""
    return tree_of(frame, table, schema).sql(dialect=dialect)


def tree_of(frame: Frame, table: exp.Expr, schema: Schema | None = None) -> exp.Select:
    """The statement as a tree.

    Args:
        frame: what is computed.
        table: holds the typed columns under their own names.
        schema: the types of these columns, where they may differ from the frame's; a cell that does not read as the
            frame's type is then missing.
    """
    from sqlglot import exp

    names = {column.name: f"c{place}" for place, column in enumerate(frame.columns)}
    given = exp.select(*(exp.alias_(_given(column, schema), names[column.name]) for column in frame.columns))
    if not frame.columns:
        given = exp.select(exp.alias_(exp.Literal.number(1), "c"))
    given = given.from_(table)
    kept = _kept(frame, names)
    last, steps = "kept", [("given", given), ("kept", kept)]
    if frame.user is not None:
        for name, step in _bounding(frame):
            steps.append((name, step))
            last = name
    measures = [_measure(measure) for measure in frame.measures]
    result = exp.select(exp.column("cell"), *measures).from_(last).group_by("cell")
    for name, step in steps:
        result = result.with_(name, as_=step, copy=False)
    return result


def _given(column: Column, schema: Schema | None) -> exp.Expr:
    from sqlglot import exp

    cell = exp.column(column.name, quoted=True)
    kind = column.type if schema is None else schema.column(column.name).type
    return cell if kind is column.type else typed(cell, Stored.of(kind), column.type)


def _measure(measure: str) -> exp.Expr:
    from sqlglot import exp

    if measure == COUNT:
        return exp.alias_(exp.Count(this=exp.Star()), "row_count")
    return exp.alias_(exp.Sum(this=cast(exp.column("value"), "DECIMAL(38, 0)")), "value_sum")


def _kept(frame: Frame, names: dict[str, str]) -> exp.Select:
    from sqlglot import exp

    cell: exp.Expr = whole(0)
    conditions: list[exp.Expr] = []
    joins: list[tuple[exp.Expr, exp.Expr]] = []
    stride = frame.cells
    for place, axis in enumerate(frame.axes):
        stride //= axis.size
        column = exp.column(names[axis.column.name])
        if isinstance(axis, KeyAxis):
            alias = f"k{place}"
            joins.append((key_table(axis, alias), key_match(axis, column, alias)))
            index: exp.Expr = exp.column("place", table=alias)
        else:
            index = bin_of(axis, column)
            conditions.append(within_bins(axis, column))
        term = index if stride == 1 else exp.Mul(this=exp.Paren(this=index), expression=whole(stride))
        cell = term if place == 0 else exp.Add(this=cell, expression=term)
    columns: list[exp.Expr] = [exp.alias_(cell, "cell", copy=False)]
    if frame.value is not None:
        column = exp.column(names[frame.value.column.name])
        columns.append(exp.alias_(on_lattice(frame.value, column), "value"))
        if frame.value.column.nullable:
            conditions.append(present(column))
    if frame.user is not None:
        column = exp.column(names[frame.user.name])
        columns.insert(0, exp.alias_(cast(column.copy(), "TEXT"), "unit"))
        conditions.append(present(column))
    if frame.condition is not None:
        conditions.append(compiled(frame.condition, names))
    kept = exp.Select().select(*columns, copy=False).from_("given", copy=False)
    for table, match in joins:
        kept = kept.join(table, on=match, join_type="inner", copy=False)
    return kept.where(*conditions, copy=False) if conditions else kept


def _bounding(frame: Frame) -> list[tuple[str, exp.Select]]:
    """The caps, in the order the sensitivity assumes: rows per cell, cells, rows in all; each only where it binds."""
    from sqlglot import exp

    caps = frame.contribution
    total = caps.rows < caps.groups * caps.rows_per_group
    per_cell = caps.rows_per_group < caps.rows or not total
    cells = caps.groups < frame.cells and not (total and caps.groups == caps.rows)
    kept = ["unit", "cell", *(["value"] if frame.value is not None else [])]
    by_row = [_digest(frame, value=True), *(exp.column(name) for name in kept[1:])]
    by_cell = [_digest(frame, value=False), exp.column("cell")]
    steps: list[tuple[str, exp.Select]] = []
    ranks: list[tuple[str, exp.Expr, int]] = []
    if per_cell:
        place = _window(exp.RowNumber(), [exp.column("unit"), exp.column("cell")], by_row)
        ranks.append(("row_place", place, caps.rows_per_group))
    if cells:
        ranks.append(("cell_place", _window(exp.DenseRank(), [exp.column("unit")], by_cell), caps.groups))
    if ranks:
        ranked = exp.select(*kept, *(exp.alias_(place, name) for name, place, _ in ranks)).from_("kept")
        within = [exp.LTE(this=exp.column(name), expression=whole(cap)) for name, _, cap in ranks]
        steps += [("ranked", ranked), ("bounded", exp.select(*kept).from_("ranked").where(*within))]
    if total:
        place = _window(exp.RowNumber(), [exp.column("unit")], by_row)
        numbered = exp.select(*kept, exp.alias_(place, "place")).from_("bounded" if ranks else "kept")
        within = [exp.LTE(this=exp.column("place"), expression=whole(caps.rows))]
        steps += [("numbered", numbered), ("capped", exp.select(*kept).from_("numbered").where(*within))]
    return steps


def _window(function: exp.Expr, partition: list[exp.Expr], order: list[exp.Expr]) -> exp.Expr:
    from sqlglot import exp

    ordered = exp.Order(expressions=[exp.Ordered(this=each.copy(), nulls_first=True) for each in order])
    return exp.Window(this=function, partition_by=[each.copy() for each in partition], order=ordered)


def _digest(frame: Frame, *, value: bool) -> exp.Expr:
    """MD5 of salt, user, cell and, for the order of rows, value, as text."""
    from sqlglot import exp

    columns = ["unit", "cell", *(["value"] if value and frame.value is not None else [])]
    joined: exp.Expr = exp.Literal.string(frame.salt)
    for name in columns:
        joined = exp.DPipe(this=joined, expression=exp.Literal.string("|"))
        part = exp.column(name) if name == "unit" else cast(exp.column(name), "TEXT")
        joined = exp.DPipe(this=joined, expression=part)
    return exp.MD5(this=joined)
