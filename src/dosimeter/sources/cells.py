"""In which cell of the answer a row counts: declared keys by a join, bins by bisection over their edges."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dosimeter.queries.frame import BinAxis, KeyAxis
from dosimeter.queries.schema import Column, ColumnType
from dosimeter.sources.terms import case, double, joined, key_literal, whole

if TYPE_CHECKING:
    from sqlglot import exp


def key_table(axis: KeyAxis, alias: str) -> exp.Expr:
    from sqlglot import exp

    rows = [
        exp.Tuple(expressions=[key_literal(key, axis.column.type), whole(place)]) for place, key in enumerate(axis.keys)
    ]
    columns = [exp.to_identifier("key"), exp.to_identifier("place")]
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier(alias), columns=columns))


def key_match(axis: KeyAxis, column: exp.Expr, alias: str) -> exp.Expr:
    from sqlglot import exp

    key = exp.column("key", table=alias)
    if None in axis.keys:
        return exp.NullSafeEQ(this=column, expression=key)
    return exp.EQ(this=column, expression=key)


def within_bins(axis: BinAxis, column: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    first, last = axis.edges[0], axis.edges[-1]
    return joined(
        exp.And,
        [
            exp.GTE(this=column.copy(), expression=_edge(first, axis.column)),
            exp.LTE(this=column.copy(), expression=_edge(last, axis.column, upper=True)),
        ],
    )


def bin_of(axis: BinAxis, column: exp.Expr) -> exp.Expr:
    """The bin by bisection over the edges, so that many edges stay cheap."""
    from sqlglot import exp

    def search(low: int, high: int) -> exp.Expr:
        if low == high:
            return whole(low)
        middle = (low + high) // 2
        below = exp.LT(this=column.copy(), expression=_edge(axis.edges[middle + 1], axis.column))
        return case((below, search(low, middle)), default=search(middle + 1, high))

    return search(0, axis.size - 1)


def _edge(edge: Decimal, column: Column, *, upper: bool = False) -> exp.Expr:
    """An edge in the column's type. For whole numbers, x < 17.5 is x < 18 and x <= 17.5 is x <= 17."""
    if column.type is ColumnType.INTEGER:
        ratio = Fraction(edge)
        return whole(ratio.numerator // ratio.denominator if upper else -(-ratio.numerator // ratio.denominator))
    return double(edge)
