"""Parallel composition: mechanisms that see disjoint parts of the data do not add up.

A person whose row is added or removed is in one part only. A person whose row is *replaced* may leave one part and
enter another, so two mechanisms notice: the relation decides the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from dosimeter.composition.parts import Part, failure_up, read_parts
from dosimeter.exact import ZERO, add_up
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import ApproxDP


def parallel(parts: Iterable[Part], neighbouring_relation: NeighbouringRelation | str) -> ApproxDP:
    """The guarantee of mechanisms on disjoint parts of the data.

    Guarantee: let each row fall into one part by a rule that looks at that row alone, and let mechanism i, which sees
    part i only, be (epsilon_i, delta_i)-DP. Then all together are (max epsilon_i, max delta_i)-DP under `add_remove`
    and `zero_out`. Under `replace_one` the new row may fall into another part than the old one: the two largest
    epsilons add and the two largest deltas combine.

    Args:
        parts: one entry (or count) per part of the data. For `replace_one` each guarantee must hold both when a row of
            the part is added or removed and when one is replaced inside the part; a guarantee that is known for adding
            or removing only doubles under a replacement inside one part, so give it doubled.
        neighbouring_relation: for which neighbours the answer holds. A zeroed-out row stays in its part.

    Returns:
        The guarantee under `neighbouring_relation`, rounded up.

    Raises:
        InputError: nothing to compose, or an unknown relation.

    Reference: McSherry 2009, Theorem 4 (add_remove); the replacement case is a removal in one part followed by an
    addition in another.
    """
    counts = read_parts(parts)
    affected = 2 if NeighbouringRelation.read(neighbouring_relation) is NeighbouringRelation.REPLACE_ONE else 1
    epsilons = _largest(((part.epsilon, times) for part, times in counts.items()), affected)
    deltas = _largest(((part.delta, times) for part, times in counts.items()), affected)
    failures: dict[Decimal, int] = {}
    for delta in deltas:
        if delta > ZERO:
            failures[delta] = failures.get(delta, 0) + 1
    return ApproxDP(add_up(*epsilons), failure_up(failures))


def _largest(values: Iterable[tuple[Decimal, int]], how_many: int) -> list[Decimal]:
    ordered = sorted(values, reverse=True)
    return [value for value, times in ordered for _ in range(min(times, how_many))][:how_many]
