"""From a question to the frame a source computes: columns, cells, caps and lattice, checked against the schema."""

from __future__ import annotations

from decimal import Decimal

from dosimeter.errors import QueryError
from dosimeter.exact import Number, show
from dosimeter.neighbours import PrivacyUnit
from dosimeter.queries.check import LARGEST_INTEGER, SMALLEST_INTEGER, check, read_date, read_timestamp
from dosimeter.queries.condition import names
from dosimeter.queries.frame import COUNT, SUM, Axis, BinAxis, Frame, KeyAxis, Value
from dosimeter.queries.lattice import centred, lattice
from dosimeter.queries.parse import parse
from dosimeter.queries.query import Aggregate, Group, Key, Query
from dosimeter.queries.schema import Column, ColumnType, Schema
from dosimeter.queries.sensitivity import Contribution


def frame_of(
    query: Query,
    schema: Schema,
    unit: PrivacyUnit,
    *,
    step: Number | None = None,
    coarser: int = 0,
    within: Decimal | None = None,
    salt: str,
) -> Frame:
    """What a source computes for a question.

    Args:
        query: the question.
        schema: the public columns.
        unit: whose rows are capped.
        step: declared step of a sum's lattice.
        coarser: powers of ten by which a derived step is made coarser.
        within: the wanted accuracy, which a derived step must be able to show.
        salt: decides which rows of a user are kept.

    Raises:
        QueryError: the question does not fit the schema or the unit.
    """
    condition = None if query.condition is None else check(parse(query.condition), schema)
    axes: list[Axis] = [_key_axis(group, schema) for group in query.groups]
    if query.aggregate is Aggregate.HISTOGRAM:
        axes.append(BinAxis(_numeric(query.column, schema, "a histogram"), query.edges))
    value = _value(query, schema, step, coarser, within)
    measures = {Aggregate.SUM: (SUM,), Aggregate.MEAN: (COUNT, SUM)}.get(query.aggregate, (COUNT,))
    user = _user(query, schema, unit)
    if not isinstance(salt, str) or len(salt) > 200 or not salt.isprintable():
        raise QueryError("the salt is a printable text of at most 200 characters")
    read = {axis.column.name for axis in axes}
    read |= set() if condition is None else names(condition)
    read |= set() if value is None else {value.column.name}
    read |= set() if user is None else {user.name}
    return Frame(
        columns=tuple(column for column in schema.columns if column.name in read),
        condition=condition,
        axes=tuple(axes),
        measures=measures,
        value=value,
        user=user,
        contribution=_contribution(query, unit),
        salt=salt,
    )


def _value(query: Query, schema: Schema, step: Number | None, coarser: int, within: Decimal | None) -> Value | None:
    if query.lower is None or query.upper is None:
        if step is not None:
            raise QueryError(f"step={show(step)} belongs to a sum or a mean; counts are whole already")
        return None
    column = _numeric(query.column, schema, f"a {query.aggregate}")
    spot = lattice(query.lower, query.upper, column.type, step, coarser=_finer(query, column, within) + coarser)
    return Value(column, centred(spot) if query.aggregate is Aggregate.MEAN else spot)


def _user(query: Query, schema: Schema, unit: PrivacyUnit) -> Column | None:
    if unit.column is None:
        if query.aggregate is Aggregate.DISTINCT_USERS:
            raise QueryError("count_distinct_users needs an account whose privacy unit is a user; here it is a row")
        return None
    user = schema.column(unit.column)
    if user.type is ColumnType.REAL:
        raise QueryError(f"the privacy unit {show(user.name)} is real; users are told apart by whole numbers or texts")
    return user


def _finer(query: Query, column: Column, within: Decimal | None) -> int:
    """By how many powers of ten a derived step must be finer, so that a wanted accuracy is many steps wide."""
    if within is None or column.type is ColumnType.INTEGER or query.lower is None or query.upper is None:
        return 0
    return min(0, within.adjusted() - max(query.lower.copy_abs(), query.upper.copy_abs()).adjusted() + 3)


def _contribution(query: Query, unit: PrivacyUnit) -> Contribution:
    if unit.column is None:
        return Contribution()
    rows = unit.max_contributions
    per_group = 1 if query.aggregate is Aggregate.DISTINCT_USERS else min(rows, query.max_rows_per_group or rows)
    return Contribution(rows, min(rows, query.cells, query.max_groups or rows), per_group)


def _numeric(name: str | None, schema: Schema, what: str) -> Column:
    column = schema.column(name)
    if not column.type.is_number:
        raise QueryError(f"{what} needs a number; {show(column.name)} is {column.type}")
    return column


def _key_axis(group: Group, schema: Schema) -> KeyAxis:
    column = schema.column(group.column)
    if column.type is ColumnType.REAL:
        raise QueryError(f"by({show(column.name)}): real numbers have no list of keys; use a histogram with edges")
    keys = tuple(_key(key, column) for key in group.keys)
    if len(set(keys)) != len(keys):
        raise QueryError(f"by({show(column.name)}) names a key twice; each key is one cell of the answer")
    return KeyAxis(column, keys)


def _key(key: Key, column: Column) -> Key:
    match column.type, key:
        case _, None:
            return None
        case ColumnType.BOOLEAN, bool():
            return key
        case ColumnType.INTEGER, int() if not isinstance(key, bool) and SMALLEST_INTEGER <= key <= LARGEST_INTEGER:
            return key
        case ColumnType.TEXT, "":
            raise QueryError(f"by({show(column.name)}): an empty text is a missing value; its key is None")
        case ColumnType.TEXT, str():
            return key
        case ColumnType.DATE, str():
            return read_date(key, column.name)
        case ColumnType.TIMESTAMP, str():
            return read_timestamp(key, column.name)
    raise QueryError(f"by({show(column.name)}): key {show(key)} is not a value of a column that is {column.type}")
