"""Laws whose loss is its own base: one spread says everything, and sampling may be put on top of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import cast

from dosimeter.errors import InputError
from dosimeter.exact import Number, show, to_decimal
from dosimeter.pld.laws.law import Direction, Law, Part
from dosimeter.pld.laws.spread import Spread

SMALLEST = Fraction(1, 10**30)
LARGEST = Fraction(10**12)


class Primitive(Law):
    """A pair (P, Q) given by its loss log dP/dQ under Q. `spread` is the remove direction; add is its reverse."""

    @abstractmethod
    def spread(self, cut: float) -> Spread:
        """The finite losses of the remove direction under Q, all but mass `cut` of P and of Q."""

    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:
        spread = self.spread(cut)
        if direction is Direction.ADD and not self.symmetric:
            spread = spread.tilted(1.0).mirrored()
        return (Part(spread),)


def read(value: object, name: str, *, smallest: Fraction = SMALLEST, largest: Fraction = LARGEST) -> Fraction:
    """Read a positive parameter exactly: a float by its shortest decimal form, a ratio such as 1/3 as it is."""
    number = _exact(value, name)
    if not smallest <= number <= largest:
        raise InputError(f"{name}={show(value)} is outside [{float(smallest):g}, {float(largest):g}]")
    return number


def read_probability(value: object, name: str, *, zero: bool = True, one: bool = False) -> Fraction:
    """Read a probability exactly, in [0, 1) or as the flags say."""
    number = _exact(value, name)
    if not 0 <= number <= 1 or (number == 0 and not zero) or (number == 1 and not one):
        raise InputError(f"{name}={show(value)} is outside {'[' if zero else '('}0, 1{']' if one else ')'}")
    return number


def _exact(value: object, name: str) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str) and value.count("/") == 1:
        top, bottom = (part.strip() for part in value.split("/"))
        if top.isdecimal() and bottom.isdecimal() and int(bottom):
            return Fraction(int(top), int(bottom))
    return Fraction(to_decimal(cast(Number, value), name))


def log_of(value: Fraction) -> float:
    """The logarithm of an exact positive number, within a few units in the last place."""
    if Fraction(1, 2) < value < 2:
        return math.log1p(float(value - 1))
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / Fraction(2) ** shift
    return math.log(float(scaled)) + shift * math.log(2)
