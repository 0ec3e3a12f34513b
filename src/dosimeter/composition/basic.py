"""Basic composition: losses add, whatever the mechanisms are.

The one theorem that needs nothing else, holds for parameters chosen on the way too (as a filter), and is optimal when
nothing may fail.
"""

from __future__ import annotations

from collections.abc import Iterable

from dosimeter.composition.parts import Part, delta_counts, epsilon_sum, failure_up, read_parts
from dosimeter.notions import ApproxDP


def basic(parts: Iterable[Part]) -> ApproxDP:
    """Epsilons add; the chances of not failing multiply.

    Guarantee: mechanisms that are (epsilon_i, delta_i)-DP, each chosen with knowledge of all earlier answers, are
    together (sum epsilon_i, 1 - prod (1 - delta_i))-DP. With every delta zero no smaller epsilon is possible at delta
    0: mechanisms that reveal losses of one sign attain the sum.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count; fixed before the first mechanism runs.

    Returns:
        The total, rounded up; its delta is never above the sum of the deltas.

    Raises:
        InputError: nothing to compose, or a total beyond 1e12.

    Reference: Dwork, Kenthapadi, McSherry, Mironov and Naor 2006; product rule: Kairouz, Oh and Viswanath 2017,
    Theorem 3.5.
    """
    counts = read_parts(parts)
    return ApproxDP(epsilon_sum(counts), failure_up(delta_counts(counts)))
