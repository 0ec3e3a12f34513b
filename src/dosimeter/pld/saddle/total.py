"""The sum of many laws on one line: composition is addition, repetition is multiplication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dosimeter.pld.laws.law import Complexes, Direction, Law, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.line import Line, on_line


@dataclass(frozen=True, slots=True)
class Total:
    """A composition in one direction on one line, without its Gaussian part.

    The moment at node t is ``e^(log_moment + i t centre) phi(t)``; `eta` bounds log of (1 + its relative error), and
    `log_error` the error of the real moment at the line's own order.
    """

    line: Line
    direction: Direction
    log_moment: float
    log_error: float
    centre: Fraction
    log_phi: Complexes
    eta: Reals
    log_beyond: float
    log_end: float
    cut: float

    def add(self, law: Law, count: int) -> Total:
        """`count` more runs of a law."""
        one = on_line(law, self.direction, self.line)
        log_phi = self.log_phi + count * one.values.log_phi
        log_moment = self.log_moment + count * one.values.log_moment
        log_beyond = self.log_beyond + count * one.log_beyond
        rounding = 2 * UNIT * (np.abs(count * one.values.log_phi) + np.abs(log_phi))
        return Total(
            self.line,
            self.direction,
            log_moment,
            self.log_error
            + count * one.values.log_error
            + 2 * UNIT * (abs(count * one.values.log_moment) + abs(log_moment)),
            self.centre + count * Fraction(one.values.centre),
            log_phi,
            (self.eta + count * one.values.eta + rounding) * (1 + 8 * UNIT),
            log_beyond + 2 * UNIT * (abs(count * one.log_beyond) + abs(log_beyond)),
            (self.log_end + count * one.log_end) * (1 - 8 * UNIT),
            (self.cut + count * one.cut) * (1 + 4 * UNIT),
        )


def start(line: Line, direction: Direction) -> Total:
    """Nothing composed yet: the loss is zero."""
    nothing = np.zeros(line.count)
    return Total(line, direction, 0.0, 0.0, Fraction(0), nothing.astype(complex), nothing, 0.0, 0.0, 0.0)


def compose(line: Line, direction: Direction, counts: Mapping[Law, int]) -> Total:
    """All laws with their counts."""
    total = start(line, direction)
    for law, count in counts.items():
        total = total.add(law, count)
    return total
