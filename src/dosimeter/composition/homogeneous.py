"""The best possible composition of equal mechanisms: the exact law of k randomized responses.

No theorem about k mechanisms of which only (epsilon, delta) is known can say more than this one does. The loss of k
randomized responses lies on k+1 points, so its tails are binomial; they are summed from their largest term outwards,
which keeps a hundred thousand mechanisms well below a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dosimeter.composition.hockey_stick import Total
from dosimeter.composition.parts import Single, delta_counts, read_delta, read_parts
from dosimeter.enclosure import ball
from dosimeter.exact import ONE, Number, multiply_up, to_decimal
from dosimeter.exact import count as checked
from dosimeter.notions import ApproxDP

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball


@dataclass(frozen=True, slots=True)
class BinomialLaw:
    """The total loss of `count` randomized responses of one epsilon: (count - 2 l) epsilon, l binomial."""

    epsilon: Decimal
    count: int

    def top(self) -> Fraction:
        """The loss when every response is truthful."""
        return self.count * Fraction(self.epsilon)

    def losses_above(self, epsilon: Decimal) -> int:
        """How many of the count + 1 losses lie above `epsilon`."""
        if not self.epsilon:
            return 0 if epsilon >= 0 else self.count + 1
        lies = (self.count - Fraction(epsilon) / Fraction(self.epsilon)) / 2
        return min(max(-(-lies.numerator // lies.denominator), 0), self.count + 1)

    def tails(self, epsilon: Decimal) -> tuple[Ball, Ball]:
        """P and Q of the losses above `epsilon`."""
        return self.tails_at(self.losses_above(epsilon))

    def tails_at(self, number: int) -> tuple[Ball, Ball]:
        """P and Q of the `number` largest losses."""
        log_true = -(-ball(self.epsilon)).exp().log1p()
        log_lie = log_true - ball(self.epsilon)
        return (
            binomial_below(self.count, number, log_lie, log_true),
            binomial_below(self.count, number, log_true, log_lie),
        )


def binomial_below(count: int, number: int, log_hit: Ball, log_miss: Ball) -> Ball:
    """P(X < number) for X binomial with `count` trials, at the current precision.

    Terms shrink faster than geometrically away from the mean, so the sum stops when a geometric series bounds the rest
    below the precision; beyond the mean the complement is summed instead.
    """
    if number <= 0:
        return ball(0)
    if number > count:
        return ball(1)
    odds = (log_hit - log_miss).exp()
    if float(odds.mid()) * (count - number + 2) >= number - 1:
        return _outwards(count, number - 1, log_hit, log_miss, odds)
    return 1 - _outwards(count, count - number, log_miss, log_hit, 1 / odds)


def _outwards(count: int, first: int, log_hit: Ball, log_miss: Ball, odds: Ball) -> Ball:
    """P(X <= first) for first not beyond the mean, by descending terms with a bounded rest."""
    import flint

    log_choose = flint.arb(count + 1).lgamma() - flint.arb(first + 1).lgamma() - flint.arb(count - first + 1).lgamma()
    term = (log_choose + first * log_hit + (count - first) * log_miss).exp()
    total, inverse = term, 1 / odds
    relative = flint.arb(2) ** -flint.ctx.prec
    for successes in range(first, 0, -1):
        ratio = inverse * successes / (count - successes + 1)
        term *= ratio
        total += term
        if ratio < 1 and successes % 16 == 0:
            rest = term * ratio / (1 - ratio)  # the ratios only fall further
            if rest < total * relative:
                return total + flint.arb(0, rest.upper())
    return total


def _total(part: Single, count: int) -> tuple[Total, BinomialLaw]:
    counts = read_parts([(part, count)])
    ((guarantee, times),) = counts.items()
    law = BinomialLaw(guarantee.epsilon, times)
    return Total(law, delta_counts(counts)), law


def optimal_homogeneous_delta(part: Single, count: int, epsilon: Number) -> Decimal:
    """The least delta at which `count` mechanisms of one (epsilon, delta) guarantee are (epsilon, delta)-DP.

    Guarantee: any `count` mechanisms, each (e, d)-DP and chosen with knowledge of earlier answers, are together
    (epsilon, returned)-DP, and randomized responses attain it: with n truthful answers,
    delta = 1 - (1-d)^k (1 - sum_l C(k,l) (e^((k-l)e) - e^(epsilon + l e))+ / (1+e^e)^k).

    Args:
        part: one guarantee: PureDP, ApproxDP, or the epsilon of a pure mechanism.
        count: how many mechanisms, 1 to 1e9.
        epsilon: the total epsilon asked about, in nats; any real number.

    Returns:
        delta, rounded up.

    Reference: Kairouz, Oh and Viswanath 2017, Theorem 3.3; any epsilon, not only the published multiples of e.
    """
    total, _ = _total(part, count)
    return min(ONE, total.delta(to_decimal(epsilon, "epsilon", round_up=False)).upper)


def optimal_homogeneous_epsilon(part: Single, count: int, delta: Number) -> Decimal:
    """The least epsilon at which `count` mechanisms of one guarantee are (epsilon, delta)-DP.

    Guarantee: as `optimal_homogeneous_delta`; the value is above the exact one by less than 1e-20 of it.

    Args:
        part: one guarantee: PureDP, ApproxDP, or the epsilon of a pure mechanism.
        count: how many mechanisms, 1 to 1e9.
        delta: the total delta, 0 or in [1e-300, 1).

    Returns:
        epsilon, rounded up. At the delta that the mechanisms' own deltas use up, the plain sum.

    Raises:
        NoGuaranteeError: `delta` is below 1 - (1-d)^k.

    Reference: Kairouz, Oh and Viswanath 2017, Theorem 3.3, inverted on its linear pieces in e^epsilon.
    """
    total, _ = _total(part, count)
    return total.least_epsilon(read_delta(delta)).upper


def optimal_homogeneous_value(part: Single, count: int, lies: int) -> ApproxDP:
    """One of the published values: ((k - 2i) epsilon, 1 - (1-d)^k (1 - delta_i)), for i = `lies` in 0 .. k/2.

    Guarantee: the least delta at that epsilon, rounded up; see `optimal_homogeneous_delta`.

    Args:
        part: one guarantee.
        count: how many mechanisms, k.
        lies: i; 0 is the plain sum with the mechanisms' own deltas, k/2 is epsilon 0.

    Reference: Kairouz, Oh and Viswanath 2017, Theorem 3.3.
    """
    total, law = _total(part, count)
    lies = checked(lies, "lies", smallest=0, largest=law.count // 2)
    epsilon = multiply_up(law.epsilon, law.count - 2 * lies)
    return ApproxDP(epsilon, total.delta(epsilon).upper)
