"""The lattice: from public bounds alone, fine enough to see, coarse enough to count exactly."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import QueryError
from dosimeter.queries.lattice import Lattice, centred, lattice, scaled
from dosimeter.queries.schema import ColumnType

WHOLE, REAL = ColumnType.INTEGER, ColumnType.REAL
D = Decimal

TABLE = [
    (("0", "50"), WHOLE, None, Lattice(D(1), 0, 50)),
    (("0.5", "50.5"), WHOLE, None, Lattice(D(1), 1, 50)),
    (("-10", "5"), WHOLE, "0.5", Lattice(D("0.5"), -20, 10)),
    (("0", "50"), WHOLE, "3", Lattice(D(3), 0, 16)),
    (("0", "50"), REAL, None, Lattice(D("0.00001"), 0, 5_000_000)),
    (("-1", "0.25"), REAL, None, Lattice(D("0.000001"), -1_000_000, 250_000)),
    (("0", "1234567890"), REAL, None, Lattice(D(1000), 0, 1_234_567)),
    (("0", "0.003"), REAL, None, Lattice(D("1e-9"), 0, 3_000_000)),
    (("0", "1"), REAL, "0.1", Lattice(D("0.1"), 0, 10)),
]


@pytest.mark.parametrize(("bounds", "kind", "step", "expected"), TABLE)
def test_the_step_follows_from_the_bounds_or_is_declared(bounds, kind, step, expected):
    """Whole numbers have a step of one; reals between a million and ten million steps to the larger bound."""
    assert lattice(D(bounds[0]), D(bounds[1]), kind, step) == expected


@settings(max_examples=100, deadline=None)
@given(
    bounds=st.lists(st.decimals("-1e9", "1e9", places=4, allow_nan=False), min_size=2, max_size=2, unique=True),
    kind=st.sampled_from([WHOLE, REAL]),
    step=st.none() | st.sampled_from(["1", "0.25", "7", "100"]),
)
def test_every_lattice_value_lies_within_the_declared_bounds(bounds, kind, step):
    """The sensitivity is that of the lattice, so the lattice never reaches beyond what was declared."""
    lower, upper = sorted(bounds)
    try:
        found = lattice(lower, upper, kind, step)
    except QueryError:
        return
    assert lower <= found.value(found.lower) < found.value(found.upper) <= upper
    assert found.value(found.lower) - lower < found.step
    assert upper - found.value(found.upper) < found.step
    middle = centred(found)
    assert max(middle.upper - middle.centre, middle.centre - middle.lower) <= (found.upper - found.lower + 1) // 2


REFUSED = [
    (("0", "50"), WHOLE, "100", "fewer than two"),
    (("0.2", "0.8"), WHOLE, None, "fewer than two"),
    (("0", "1e18"), REAL, "1e-3", "too fine"),
    (("0", "1e18"), WHOLE, "0.1", "too fine"),
    (("0", "1"), REAL, "0", "step"),
    (("0", "1"), REAL, "-1", "step"),
    (("0", "1"), REAL, "nan", "step"),
    (("0", "1"), REAL, "1e-30", "18 decimal places"),
    (("0", "1"), REAL, "1/3", "18 decimal places"),
]


@pytest.mark.parametrize(("bounds", "kind", "step", "why"), REFUSED)
def test_a_step_that_cannot_carry_exact_sums_is_refused(bounds, kind, step, why):
    """Fewer than two values say nothing; more than 2^53 are not exact in a double, more than 2^62 not in 64 bits."""
    with pytest.raises(ValueError, match=why):
        lattice(D(bounds[0]), D(bounds[1]), kind, step)


def test_the_largest_sum_fits_the_engine():
    """2^40 rows of the largest value stay below the 38 decimal digits in which sums are kept."""
    from dosimeter.queries.lattice import LARGEST_INTEGER_STEPS, MAX_ROWS

    assert MAX_ROWS * LARGEST_INTEGER_STEPS < 10**38


def test_values_are_exact_whatever_their_size():
    """A sum of 2^100 steps keeps every digit."""
    assert Fraction(scaled(D("0.1"), 2**100 + 1)) == Fraction(2**100 + 1, 10)
