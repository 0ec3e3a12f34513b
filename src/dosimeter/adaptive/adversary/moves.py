"""What an entry of a menu does to the units that are left: it takes its cost, or what a rule takes at that moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dosimeter.errors import InputError


@dataclass(frozen=True, slots=True)
class Moves:
    """Which entries lead to so many units left, and from how many.

    Args:
        into: for what is left afterwards, pairs of an entry and what was left before; more than afterwards.
        longest: the largest difference of the two.
    """

    into: Callable[[int], Sequence[tuple[int, int]]]
    longest: int

    @classmethod
    def at_cost(cls, costs: Sequence[int], budget: int) -> Moves:
        """Every entry takes its cost."""
        return cls(
            lambda after: [(i, after + cost) for i, cost in enumerate(costs) if after + cost <= budget],
            min(budget, max(costs)),
        )

    @classmethod
    def table(cls, after: Callable[[int, int], int | None], entries: int, budget: int) -> Moves:
        """From what an entry leaves of so many units; None where it is refused."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(budget + 1)]
        longest = 1
        for before in range(budget + 1):
            for i in range(entries):
                left = after(i, before)
                if left is not None:
                    if not 0 <= left < before:
                        raise InputError(f"entry {i} leaves {left} of {before} units; it has to take at least one")
                    found[left].append((i, before))
                    longest = max(longest, before - left)
        return cls(found.__getitem__, longest)
