"""The lattice of a sum: values become whole numbers of steps before they are added.

Sums of floating-point numbers depend on the order of the rows and betray their inputs by their last bits. Whole
numbers do neither. The step is public: declared, or derived from the bounds alone. A value is clipped into the bounds
and rounded to the nearest multiple of the step (a half away from zero); rounding moves it by at most half a step.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dosimeter.errors import QueryError
from dosimeter.exact import Number, amount, show, text
from dosimeter.queries.schema import ColumnType

MAX_ROWS = 2**40  # public ceiling: a sum of that many values of 62 bits stays below 2^102
LARGEST_INTEGER_STEPS = 2**62
LARGEST_REAL_STEPS = 2**53  # below it a double is exact
DERIVED_DIGITS = 6  # a derived step leaves between 10^6 and 10^7 steps in the larger bound


@dataclass(frozen=True, slots=True)
class Lattice:
    """Which multiples of `step` a value may take, and which one counts as zero.

    Args:
        step: distance between neighbouring values.
        lower, upper: the bounds in steps: the smallest and largest multiple inside the declared bounds.
        centre: in steps; what is added up is the distance from it (0 for a sum, the middle for a mean).
    """

    step: Decimal
    lower: int
    upper: int
    centre: int = 0

    def value(self, steps: int) -> Decimal:
        """The value of so many steps, exactly."""
        return scaled(self.step, steps)

    def to_json(self) -> dict[str, str]:
        """The numbers as texts."""
        return {
            "step": text(self.step),
            "lower": str(self.lower),
            "upper": str(self.upper),
            "centre": str(self.centre),
        }


def scaled(step: Decimal, steps: int) -> Decimal:
    """step times steps, exactly."""
    with decimal.localcontext(decimal.Context(prec=400)):
        return step * steps


def lattice(
    lower: Decimal, upper: Decimal, kind: ColumnType, step: Number | None = None, *, coarser: int = 0
) -> Lattice:
    """The lattice for values in [lower, upper], from public facts only.

    Args:
        lower, upper: declared bounds.
        kind: of the column. Whole numbers have a step of 1 unless another is given.
        step: declared step; derived from the bounds when left out.
        coarser: powers of ten by which a derived step is made coarser.

    Raises:
        QueryError: fewer than two multiples of the step lie within the bounds, or more than can be counted exactly.
    """
    if step is not None:
        size = amount(step, "step", round_up=False)
        if (Fraction(size) * 10**18).denominator != 1:
            raise QueryError(f"step={show(step)} has more than 18 decimal places; round it")
    elif kind is ColumnType.INTEGER:
        size = Decimal(1).scaleb(coarser)
    else:
        size = Decimal(1).scaleb(max(lower.copy_abs(), upper.copy_abs()).adjusted() - DERIVED_DIGITS + coarser)
    ratio = Fraction(size)
    first, last = -(-Fraction(lower) // ratio), Fraction(upper) // ratio
    if first >= last:
        raise QueryError(
            f"step={text(size)} leaves fewer than two values in [{text(lower)}, {text(upper)}]; use a finer step"
        )
    largest = max(abs(first), abs(last))
    limit = LARGEST_INTEGER_STEPS if kind is ColumnType.INTEGER else LARGEST_REAL_STEPS
    room = ratio.denominator * (int(max(lower.copy_abs(), upper.copy_abs())) + 2) * 2 + ratio.numerator
    if largest > limit or (kind is ColumnType.INTEGER and room >= 2**63):
        raise QueryError(
            f"step={text(size)} is too fine for the bounds [{text(lower)}, {text(upper)}]: values would not be exact "
            "in 64 bits; use a coarser step"
        )
    return Lattice(size, int(first), int(last))


def centred(plain: Lattice) -> Lattice:
    """The same lattice, measured from its middle: the sensitivity becomes half the width."""
    return Lattice(plain.step, plain.lower, plain.upper, (plain.lower + plain.upper) // 2)
