"""A value on its lattice: clipped, rounded to whole steps, measured from the centre; whatever the cell holds."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dosimeter.queries.frame import Value
from dosimeter.queries.schema import ColumnType
from dosimeter.sources.constants import double, whole

if TYPE_CHECKING:
    from sqlglot import exp


def on_lattice(value: Value, column: exp.Expr) -> exp.Expr:
    """Clip, round to steps with halves away from zero, and measure from the centre: whole numbers within the bounds."""
    from sqlglot import exp

    spot, ratio = value.lattice, Fraction(value.lattice.step)
    if value.column.type is ColumnType.INTEGER:
        steps = _integer_steps(value, column, ratio)
    else:
        number: exp.Expr = exp.Mul(this=column.copy(), expression=double(Decimal(ratio.denominator)))
        if ratio.numerator != 1:
            number = exp.Div(this=number, expression=double(Decimal(ratio.numerator)), typed=False, safe=False)
        half = double(Decimal("0.5"))
        up = exp.Floor(this=exp.Add(this=number.copy(), expression=half))
        down = exp.Neg(this=exp.Floor(this=exp.Sub(this=half.copy(), expression=number.copy())))
        rounded = (
            exp.Case()
            .when(exp.LTE(this=number.copy(), expression=double(Decimal(spot.lower))), double(Decimal(spot.lower)))
            .when(exp.GTE(this=number.copy(), expression=double(Decimal(spot.upper))), double(Decimal(spot.upper)))
            .when(exp.LT(this=number.copy(), expression=double(Decimal(0))), down)
            .else_(up)
        )
        steps = exp.cast(rounded, "BIGINT")
    if not value.column.nullable:
        steps = exp.Coalesce(this=steps, expressions=[exp.cast(whole(spot.lower), "BIGINT")])
    return steps if not spot.centre else exp.Sub(this=steps, expression=whole(spot.centre))


def _integer_steps(value: Value, column: exp.Expr, ratio: Fraction) -> exp.Expr:
    """Whole numbers stay whole: |x| denominator/numerator with halves up, by division of whole numbers."""
    from sqlglot import exp

    spot = value.lattice
    a, b = ratio.numerator, ratio.denominator
    least, most = (spot.lower * a) // b, -((-spot.upper * a) // b)  # around the bounds, so products fit 64 bits
    clipped = (
        exp.Case()
        .when(exp.LT(this=column.copy(), expression=whole(least)), exp.cast(whole(least), "BIGINT"))
        .when(exp.GT(this=column.copy(), expression=whole(most)), exp.cast(whole(most), "BIGINT"))
        .else_(column.copy())
    )
    if a == 1:
        steps: exp.Expr = clipped if b == 1 else exp.Mul(this=clipped, expression=whole(b))
    else:
        doubled = exp.Mul(this=exp.Abs(this=clipped.copy()), expression=whole(2 * b))
        rounded = exp.IntDiv(this=exp.paren(exp.Add(this=doubled, expression=whole(a))), expression=whole(2 * a))
        negative = exp.LT(this=column.copy(), expression=whole(0))
        steps = exp.Case().when(negative, exp.Neg(this=exp.paren(rounded))).else_(rounded.copy())
    if least * b == spot.lower * a and most * b == spot.upper * a:
        return steps
    return (
        exp.Case()
        .when(exp.LT(this=steps, expression=whole(spot.lower)), exp.cast(whole(spot.lower), "BIGINT"))
        .when(exp.GT(this=steps.copy(), expression=whole(spot.upper)), exp.cast(whole(spot.upper), "BIGINT"))
        .else_(steps.copy())
    )
