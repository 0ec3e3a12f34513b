"""A value on its lattice: clipped, rounded to whole steps, measured from the centre; whatever the cell holds."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dosimeter.queries.frame import Value
from dosimeter.queries.schema import ColumnType
from dosimeter.sources.terms import case, cast, double, whole

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
        rounded = case(
            (exp.LTE(this=number.copy(), expression=double(Decimal(spot.lower))), double(Decimal(spot.lower))),
            (exp.GTE(this=number.copy(), expression=double(Decimal(spot.upper))), double(Decimal(spot.upper))),
            (exp.LT(this=number.copy(), expression=double(Decimal(0))), down),
            default=up,
        )
        steps = cast(rounded, "BIGINT")
    if not value.column.nullable:
        steps = exp.Coalesce(this=steps, expressions=[cast(whole(spot.lower), "BIGINT")])
    return steps if not spot.centre else exp.Sub(this=steps, expression=whole(spot.centre))


def _integer_steps(value: Value, column: exp.Expr, ratio: Fraction) -> exp.Expr:
    """Whole numbers stay whole: |x| denominator/numerator with halves up, by division of whole numbers."""
    from sqlglot import exp

    spot = value.lattice
    a, b = ratio.numerator, ratio.denominator
    least, most = (spot.lower * a) // b, -((-spot.upper * a) // b)  # around the bounds, so products fit 64 bits
    clipped = _clipped(column, least, most)
    if a == b == 1:
        return clipped
    if a == 1:
        steps: exp.Expr = exp.Mul(this=clipped, expression=whole(b))
    else:
        doubled = exp.Mul(this=exp.Abs(this=clipped.copy()), expression=whole(2 * b))
        rounded = exp.IntDiv(this=exp.Paren(this=exp.Add(this=doubled, expression=whole(a))), expression=whole(2 * a))
        negative = exp.LT(this=clipped.copy(), expression=whole(0))  # of the clipped value: bounds may exclude zero
        steps = case((negative, exp.Neg(this=exp.Paren(this=rounded))), default=rounded.copy())
    return _clipped(steps, spot.lower, spot.upper)


def _clipped(number: exp.Expr, lower: int, upper: int) -> exp.Expr:
    """A whole number pulled into [lower, upper]; a missing one stays missing."""
    from sqlglot import exp

    return case(
        (exp.LT(this=number.copy(), expression=whole(lower)), cast(whole(lower), "BIGINT")),
        (exp.GT(this=number.copy(), expression=whole(upper)), cast(whole(upper), "BIGINT")),
        default=number.copy(),
    )
