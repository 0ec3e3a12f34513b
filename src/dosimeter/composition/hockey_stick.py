"""From the tails of a finite loss law to delta at an epsilon, and back to the least epsilon at a delta.

For a pair (P, Q) with loss L, delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon), which is convex in e^epsilon
and linear between two atoms of the loss. Both ways are walked in balls: a delta leaves rounded up, and an epsilon
leaves only together with a certificate, the delta found at that very decimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

from dosimeter.composition.parts import failure_ball, failure_up
from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ZERO, Bound, add_up, fraction_up, multiply_up

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

_HALVINGS: Final = 24


class LossLaw(Protocol):
    """The law of a bounded privacy loss whose two directions agree, as those of randomized responses do."""

    def top(self) -> Fraction:
        """The largest loss, exactly."""
        ...

    def tails(self, epsilon: Decimal) -> tuple[Ball, Ball]:
        """(P(L > epsilon), Q(L > epsilon)) at the current precision, for an epsilon below `top`."""
        ...


@dataclass(frozen=True, slots=True)
class Total:
    """A loss law together with the mechanisms' own deltas: everything that delta(epsilon) depends on."""

    law: LossLaw
    deltas: dict[Decimal, int]

    def delta(self, epsilon: Decimal) -> Bound:
        """delta(epsilon) = 1 - prod (1 - delta_i) (1 - excess), enclosed to 25 digits."""
        if Fraction(epsilon) >= self.law.top():
            return self._failure()
        if not self.deltas:
            return self._excess(epsilon)

        def value() -> Ball:
            failing = failure_ball(self.deltas)
            return failing + (1 - failing) * hockey_stick(self.law, epsilon)

        return _bound(enclose(value))

    def least_epsilon(self, delta: Decimal) -> Bound:
        """The least epsilon >= 0 with delta(epsilon) <= delta, enclosed.

        Raises:
            NoGuaranteeError: `delta` is below the chance that a mechanism fails outright.
        """
        allowed = self._allowed_excess(delta)
        top = fraction_up(self.law.top())
        if not allowed:
            return Bound(top, top)
        if self._excess(ZERO).upper <= allowed:
            return Bound(ZERO, ZERO)
        low, epsilon = self._search(allowed, top)
        nudge = multiply_up(epsilon, Decimal("1e-25"))
        while epsilon < top and self._excess(epsilon).upper > allowed:
            epsilon, nudge = add_up(epsilon, nudge), 2 * nudge
        return Bound(low, min(epsilon, top))

    def _failure(self) -> Bound:
        """The chance that a mechanism fails outright: the delta no epsilon gets below."""
        high = failure_up(self.deltas)
        return Bound(min(high, down(enclose(lambda: failure_ball(self.deltas)))), high)

    def _excess(self, epsilon: Decimal) -> Bound:
        if Fraction(epsilon) >= self.law.top():
            return Bound(ZERO, ZERO)
        return _bound(enclose(lambda: hockey_stick(self.law, epsilon)))

    def _allowed_excess(self, delta: Decimal) -> Decimal:
        """The excess x with 1 - prod (1 - delta_i) (1 - x) = delta, rounded down; 0 when nothing is left."""
        failing = failure_up(self.deltas)
        if delta < failing:
            raise NoGuaranteeError(
                f"the mechanisms fail outright with probability {failing:.6g}; no epsilon reaches delta={delta:.6g}"
            )
        if not self.deltas:
            return delta
        if delta == failing:
            return ZERO
        return max(ZERO, down(enclose(lambda: 1 - (1 - ball(delta)) / (1 - failure_ball(self.deltas)))))

    def _search(self, allowed: Decimal, top: Decimal) -> tuple[Decimal, Decimal]:
        """A point certainly not above the root and a guess just above it: halving, then Newton in e^epsilon.

        The excess is convex in e^epsilon, so no step of Newton's passes the root, and the step taken on the root's own
        segment lands on it.
        """
        low, high = ZERO, top
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._excess(middle).lower > allowed:
                low = middle
            else:
                high = middle
        while True:
            step = enclose(lambda: self._newton(low, allowed))  # noqa: B023
            if down(step) <= low:
                return low, max(low, up(step))
            low = down(step)

    def _newton(self, epsilon: Decimal, allowed: Decimal) -> Ball:
        above_p, above_q = self.law.tails(epsilon)
        return ((above_p - ball(allowed)) / above_q).log()


def hockey_stick(law: LossLaw, epsilon: Decimal) -> Ball:
    """P(L > epsilon) - e^epsilon Q(L > epsilon) at the current precision."""
    above_p, above_q = law.tails(epsilon)
    return above_p - ball(epsilon).exp() * above_q


def _bound(value: Ball) -> Bound:
    return Bound(max(ZERO, down(value)), max(ZERO, up(value)))
