"""Murtagh and Vadhan's approximation: move every epsilon to a lattice, then compose exactly there.

Up gives a certified upper bound, down a certified lower one, both by monotonicity. It is kept under its own name
because people compare with it; `optimal_heterogeneous_epsilon` is closer and quicker.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from dosimeter.composition.hockey_stick import Total
from dosimeter.composition.parts import Counts, Part, delta_counts, epsilon_counts, read_delta, read_parts
from dosimeter.composition.responses import LARGEST_LATTICE, LatticeLaw
from dosimeter.exact import Bound, Number, amount


def murtagh_vadhan_epsilon(parts: Iterable[Part], delta: Number, accuracy: Number = "1e-3") -> Bound:
    """The least epsilon of unequal mechanisms, between lattices below and above.

    Guarantee: the mechanisms are (upper, delta)-DP together; randomized responses need at least `lower`.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count; fixed before the first mechanism runs.
        delta: the total delta, 0 or in [1e-300, 1).
        accuracy: how far the epsilons may be moved in total on either side, in nats.

    Returns:
        An interval of at most twice the accuracy where that lattice has at most 2^15 points. Longer ones are not
        multiplied out exactly: there the same losses are spread on a lattice between the dots, and the interval is as
        wide as it comes out.

    Raises:
        NoGuaranteeError: `delta` is below 1 - prod (1 - d_i).

    Reference: Murtagh and Vadhan 2016, Theorem 1.7 (its left inequality; it needs monotonicity in each epsilon only).
    """
    counts = read_parts(parts)
    target, wanted = read_delta(delta), amount(accuracy, "accuracy", round_up=False)
    both = bracket(counts, wanted)
    if both is None:
        return _spread(counts, target)
    lower, upper = both
    return Bound(lower.least_epsilon(target).lower, upper.least_epsilon(target).upper)


def bracket(counts: Counts, accuracy: Decimal) -> tuple[Total, Total] | None:
    """Totals certainly below and above the true one: every epsilon moved down or up to a lattice.

    The moves sum to at most `accuracy` on either side. None where that lattice would be too long.
    """
    epsilons = epsilon_counts(counts)
    step = Fraction(accuracy) / max(sum(epsilons.values()), 1)
    lower: dict[int, int] = {}
    upper: dict[int, int] = {}
    for epsilon, times in epsilons.items():
        steps = Fraction(epsilon) / step
        below, above = math.floor(steps), math.ceil(steps)
        lower[below] = lower.get(below, 0) + times
        upper[above] = upper.get(above, 0) + times
    lower.pop(0, None)
    if sum(multiple * times for multiple, times in upper.items()) > LARGEST_LATTICE:
        return None
    deltas = delta_counts(counts)
    return Total(LatticeLaw(step, lower), deltas), Total(LatticeLaw(step, upper), deltas)


def _spread(counts: Counts, delta: Decimal) -> Bound:
    from dosimeter.pld.laws.response import ResponseLaw
    from dosimeter.pld.tilted.bounds import tilted_epsilon

    laws = [
        (ResponseLaw(Fraction(part.epsilon), Fraction(part.delta)), times)
        for part, times in counts.items()
        if part.epsilon or part.delta
    ]
    return tilted_epsilon(laws, delta, accuracy="1e-4")
