"""Divergences at many orders: against exact sums of whole moments, and quadrature to add; never below, and close."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dosimeter.enclosure import precision
from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.allocation.orders import MOST_WHOLE, _in_logarithms, log_moments, whole_logs


def exactly(steps: int, square: Fraction, order: int) -> list[Any]:
    """log E W^n for n = 0 .. order in ball arithmetic: powers of a polynomial, by repeated multiplication."""
    import flint

    with precision(400):
        s = flint.arb(square.numerator) / square.denominator
        one = flint.arb_poly(
            [(s * j * (j - 1) / 2).exp() / flint.arb(j).gamma() / max(j, 1) if j else 1 for j in range(order + 1)]
        )
        total, base, left = flint.arb_poly([1]), one, steps
        while left:
            if left % 2:
                total = flint.arb_poly((total * base).coeffs()[: order + 1])
            base, left = flint.arb_poly((base * base).coeffs()[: order + 1]), left // 2
        return [(total[n] * flint.arb(n + 1).gamma() / flint.arb(steps) ** n).log() for n in range(order + 1)]


CASES = [(2, Fraction(1)), (3, Fraction(4)), (7, Fraction(1, 4)), (100, Fraction(1)), (5000, Fraction(1, 9))]


@pytest.mark.parametrize(("steps", "square"), CASES)
def test_whole_moments_are_never_below_and_close(steps: int, square: Fraction) -> None:
    """Up to order 200: not below the exact sum, and within a millionth of it (or of one)."""
    law = AllocatedGaussianLaw(steps, square)
    exact = exactly(steps, square, 200)
    for found in (whole_logs(law, 200), _in_logarithms(law, 256)):
        for n in range(2, 201):
            assert found[n] >= float(exact[n].mid()) * (1 - 1e-14)
            assert found[n] <= float(exact[n].mid()) * (1 + 1e-6) + 2e-7 * n


@pytest.mark.parametrize("order", ["1.1", "1.5", "3", "7.5", "12.25", "40"])
@pytest.mark.parametrize("square", [Fraction(1, 4), Fraction(1), Fraction(4)])
def test_two_steps_equal_the_integral(order: str, square: Fraction) -> None:
    """W of two steps by quadrature in two dimensions, both directions: not below, and within one per cent."""
    s, a = math.sqrt(square), float(order)
    z = np.linspace(-9 - a * s, 9 + a * s, 1601)
    log_y = s * z - s * s / 2
    log_w = np.logaddexp(*np.meshgrid(log_y, log_y)) - math.log(2)
    log_phi = np.add.outer(-z * z / 2, -z * z / 2) - math.log(2 * math.pi) + 2 * math.log(z[1] - z[0])
    exact = max(float(np.logaddexp.reduce((log_phi + power * log_w).ravel())) for power in (a, 1 - a))
    found = log_moments(AllocatedGaussianLaw(2, square), Fraction(order))
    assert exact * (1 - 1e-9) <= found <= exact * 1.01


def test_divergences_grow_with_the_order_and_end_at_a_known_step() -> None:
    """Never above known steps; a thousandth of them at small orders, nearly all at the largest."""
    law = AllocatedGaussianLaw(1000, Fraction(1, 4))
    orders = [Fraction(x) for x in ("1.5", "2", "4", "8", "16", "64", "256", "1000", "10000")]
    found = [log_moments(law, a) / (a - 1) for a in orders]
    known = [float(a) / 8 for a in orders]
    assert all(x <= y * (1 + 1e-12) for x, y in itertools.pairwise(found))
    assert all(x <= y * (1 + 1e-12) for x, y in zip(found, known, strict=True))
    assert found[0] < known[0] / 500
    assert found[-1] == pytest.approx(known[-1])
    assert MOST_WHOLE < 10_000


def test_adding_may_cost_more_than_removing_is_looked_at() -> None:
    """Little noise beyond the reach of moments: both directions stay bounded by known steps, and finite."""
    for square in (Fraction(25), Fraction(400)):
        law = AllocatedGaussianLaw(50, square)
        for order in ("1.25", "2", "30.5"):
            a = Fraction(order)
            least = float((a - 1) * (a * square / 2) - (a - 1) * Fraction(math.log(50)))
            assert max(least, 0) * (1 - 1e-9) <= log_moments(law, a) <= float(a * (a - 1) * square / 2) * (1 + 1e-12)


def test_more_steps_than_there_are_is_caught() -> None:
    """The control: moments of a few more steps lie below the exact ones."""
    square, steps = Fraction(1), 100
    exact = exactly(steps, square, 60)
    flawed = whole_logs(AllocatedGaussianLaw(103, square), 60)
    assert all(flawed[n] < float(exact[n].mid()) for n in range(2, 61))
