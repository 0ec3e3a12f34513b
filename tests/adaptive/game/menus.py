"""Menus for the adversary: boxes on one lattice, each with what every notion charges for it."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from dosimeter.accounting import loss_for
from dosimeter.adaptive.filters import ResidueFilter
from dosimeter.adaptive.game import Box, gaussian_cells, randomized_response
from dosimeter.events import Gaussian, RandomizedResponse
from dosimeter.notions import GDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.convert import approx_to_gdp, approx_to_zcdp, pure_to_rdp

UP = Context(prec=25, rounding=ROUND_CEILING)
DOWN = Context(prec=25, rounding=ROUND_FLOOR)
CELLS = (1, 2, 3, 4, 5, 6, 8, 10, 12)


def log_up(odds: Fraction) -> Decimal:
    """log(odds), not below it (a float's logarithm with a margin far above its error)."""
    value = math.log(odds.numerator) - math.log(odds.denominator)
    return UP.plus(Decimal(value) * (1 + Decimal("1e-13")))


def log_down(odds: Fraction) -> Decimal:
    """log(odds), not above it."""
    value = math.log(odds.numerator) - math.log(odds.denominator)
    return DOWN.plus(Decimal(value) * (1 - Decimal("1e-13")))


def pure_menu(base: Fraction, steps: tuple[int, ...], notion: str, orders: tuple[Decimal, ...] = ()) -> list[Any]:
    """Randomised responses with their losses in a notion."""
    return failing_menu(base, [(j, Fraction(0)) for j in steps], notion, orders)


def failing_menu(
    base: Fraction, pairs: list[tuple[int, Fraction]], notion: str, orders: tuple[Decimal, ...] = ()
) -> list[Any]:
    """Randomised responses that fail with a probability, with their losses in a notion."""
    menu: list[tuple[Box, Any]] = []
    for j, failure in pairs:
        epsilon = log_up(base**j) if j else Decimal(0)
        delta = Decimal(failure.numerator) / Decimal(failure.denominator)
        assert Fraction(delta) == failure
        stated = ApproxDP(epsilon, delta)
        loss: Any = {
            "pure": lambda e=epsilon: PureDP(e),
            "approx": lambda s=stated: s,
            "zcdp": lambda s=stated: approx_to_zcdp(s),
            "gdp": lambda s=stated: approx_to_gdp(s),
            "rdp": lambda e=epsilon: pure_to_rdp(PureDP(e), orders=orders),
            "residue": lambda s=stated: loss_for(RandomizedResponse(s.epsilon, s.delta), ResidueFilter("1", "0.01")),
        }[notion]()
        menu.append((randomized_response(base**j, failure), loss))
    return menu


def gaussian_menu(base: Fraction, mus: tuple[str, ...], notion: str) -> list[Any]:
    """Gaussian mechanisms, cut into cells on the lattice, with their losses in GDP or zCDP."""
    menu: list[tuple[Box, Any]] = []
    for mu in mus:
        loss: Any = GDP(Decimal(mu)) if notion == "gdp" else ZCDP(Decimal(mu) ** 2 / 2)
        if notion == "residue":
            loss = loss_for(Gaussian(1, mu), ResidueFilter("1", "0.01"))
        menu.append((gaussian_cells(float(mu), base, CELLS), loss))
    return menu
