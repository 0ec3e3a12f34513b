"""Whether the other direction matters at all: one moment often proves that it does not.

Both directions of a composition have their own epsilon, and the larger one is the answer. By Chernoff's bound

    delta(eps) <= M(c) e^(-c eps) c^c / (1 + c)^(1 + c)

for every order c > 0; so if that is at most the wanted delta at the epsilon that one direction needs anyway, the other
need not be priced. Real moments cost a tenth of a line, and they add up as mechanisms are appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.inversion import log_kernel
from dosimeter.pld.saddle.moments import log_moment

_GROWN = 1.5  # by which factor runs must grow before another order is tried


@dataclass(slots=True)
class Bystander:
    """A growing sum of log moments at one order, of one direction."""

    direction: Direction
    order: float = 0.0
    log_moment: float = 0.0
    size: float = 0.0
    seen: int = 0
    runs: int = 0  # how many runs there were when the order was chosen
    log_delta: float = 0.0  # and for which delta

    def is_settled(self, runs: int, log_delta: float) -> bool:
        """Whether another order is not worth looking for yet."""
        return runs < _GROWN * self.runs and abs(log_delta - self.log_delta) <= 1

    def choose(self, order: float, runs: int, log_delta: float) -> None:
        """Start again at another order."""
        self.order, self.runs, self.log_delta = order, runs, log_delta
        self.log_moment, self.size, self.seen = 0.0, 0.0, 0

    def is_below(self, journal: Sequence[tuple[Law, int]], variance: float, log_delta: float, epsilon: float) -> bool:
        """Whether delta at epsilon > 0 is certainly at most e^log_delta; False where this order does not show it."""
        if not self.order:
            return False
        try:
            for law, count in journal[self.seen :]:
                high = log_moment(law, self.direction, self.order)[1]
                self.log_moment += count * high
                self.size += abs(count * high) + abs(self.log_moment)
                self.seen += 1
        except NoGuaranteeError:
            return False
        c = self.order
        gauss = c * (c + 1) * variance / 2
        bound = self.log_moment + gauss + log_kernel(c) - c * epsilon
        rounding = 16 * UNIT * (self.size + gauss + c * epsilon + 4 * (1 + c) + abs(log_delta))
        return bool(bound + rounding <= log_delta)
