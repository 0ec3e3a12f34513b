"""The bit tree: run a sampler on every bit string up to a depth, so that its law is known exactly, not sampled."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

MAX_LEAVES = 200_000


class _OutOfBitsError(Exception):
    pass


class Tree:
    """What a sampler does on all bit strings of at most `depth` bits: exact masses, and what is still undecided."""

    def __init__(self, sampler: Callable[[Callable[[int], int]], object], depth: int) -> None:
        self.mass: dict[object, Fraction] = {}
        self.undecided = Fraction(0)
        leaves = 0
        open_prefixes = [""]
        while open_prefixes:
            prefix = open_prefixes.pop()
            position = 0

            def bits(width: int, prefix: str = prefix) -> int:
                nonlocal position
                if position + width > len(prefix):
                    raise _OutOfBitsError
                word = int(prefix[position : position + width] or "0", 2)
                position += width
                return word

            leaves += 1
            if leaves > MAX_LEAVES:
                raise AssertionError("the tree is too large; lower the depth")
            try:
                result = sampler(bits)
            except _OutOfBitsError:
                if len(prefix) < depth:
                    open_prefixes += [prefix + "0", prefix + "1"]
                else:
                    self.undecided += Fraction(1, 1 << len(prefix))
                continue
            assert position == len(prefix), "a bit was drawn and not used for the decision"
            self.mass[result] = self.mass.get(result, Fraction(0)) + Fraction(1, 1 << len(prefix))

    def agrees(self, result: object, lower: object, upper: object | None = None) -> bool:
        """Whether the probability of `result` can be the one claimed, given what is undecided."""
        decided = self.mass.get(result, Fraction(0))
        high = Fraction(upper if upper is not None else lower)  # type: ignore[arg-type]
        return decided <= high and Fraction(lower) <= decided + self.undecided  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def bit_tree() -> type[Tree]:
    """The tree's class."""
    return Tree
