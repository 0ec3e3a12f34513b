"""Infinite atoms of a composition: 1 - product of (1 - a_i)^n_i, enclosed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.exact import ONE, ZERO, Bound, add_up, multiply_down, multiply_up, subtract_down
from dosimeter.pld.laws.law import Direction, Law


@functools.lru_cache(maxsize=65536)
def log_lost(atom: Fraction) -> Bound:
    """-log(1 - a)."""
    if not atom:
        return Bound(ZERO, ZERO)
    value = enclose(lambda: -(-ball(atom)).log1p())
    return Bound(down(value), up(value))


def add_atom(total: Bound, law: Law, direction: Direction, count: int) -> Bound:
    """-log of the finite mass, after `count` more runs of a law."""
    one = log_lost(law.infinite(direction))
    if not one.upper:
        return total
    lower = subtract_down(total.lower, -multiply_down(one.lower, count))
    return Bound(lower, add_up(total.upper, multiply_up(one.upper, count)))


def infinite_atom(counts: Mapping[Law, int], direction: Direction) -> Bound:
    """The atom of a whole composition."""
    total = Bound(ZERO, ZERO)
    for law, count in counts.items():
        total = add_atom(total, law, direction, count)
    return atom_of(total)


def atom_of(total: Bound) -> Bound:
    """1 - e^(-total)."""
    if not total.upper:
        return Bound(ZERO, ZERO)

    def lost(x: Decimal) -> object:
        return -(-ball(x)).expm1()

    return Bound(max(ZERO, down(enclose(lambda: lost(total.lower)))), min(ONE, up(enclose(lambda: lost(total.upper)))))
