"""Roots of increasing convex functions are approached from above and certified."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.roots import log_of_sum, root_from_above
from dosimeter.enclosure import ball, enclose, precision, up
from dosimeter.errors import NoGuaranteeError


@settings(max_examples=40, deadline=None)
@given(st.decimals("1e-6", "1e6", places=6).filter(bool), st.integers(1, 6), st.sampled_from(["1", "3", "1000"]))
def test_the_square_root_from_above(square: Decimal, times: int, off: str) -> None:
    """x^2 = a from starts near and far: never below, and right to 24 digits."""

    def prepare() -> tuple[Callable[[Any], tuple[Any, Any]], Any]:
        a = ball(square)
        return lambda x: (x * x - a, 2 * x), a.sqrt() * times + ball(Decimal(off))

    root = up(root_from_above(prepare))
    truth = up(enclose(lambda: ball(square).sqrt()))
    assert truth - truth * Decimal("1e-24") <= root
    assert root <= truth * (1 + Decimal("1e-24"))
    assert root * root >= square


def test_a_start_below_the_root_is_no_danger() -> None:
    """The first step of a convex function from below lands above."""
    root = up(root_from_above(lambda: (lambda x: (x.exp() - 2, x.exp()), ball(Decimal("0.1")))))
    assert abs(root - Decimal("0.69314718055994530941723212")) < Decimal("1e-24")


def test_a_function_without_a_root_is_refused() -> None:
    """No number is returned that was not certified."""
    with pytest.raises(NoGuaranteeError, match="could not be enclosed"):
        root_from_above(lambda: (lambda x: (-x.exp(), x.exp()), ball(1)))
    with pytest.raises(NoGuaranteeError):
        root_from_above(lambda: (lambda x: (x, x * 0), ball(Decimal(-1)).log()))


def test_the_logarithm_of_a_sum_of_exponentials() -> None:
    """Value and slope at a point, terms of very different size."""
    with precision(160):
        value, slope = log_of_sum([(ball(0), ball(1)), (ball(-1000), ball(2))], ball(3))
    assert abs(up(value) - 3) < Decimal("1e-20")
    assert abs(up(slope) - 1) < Decimal("1e-20")
