"""Charging from price lists: whole numbers, a fixed number of steps, no analysis.

Runs are charged one by one, each at the price of what is left then. Between two rows of a list the price does not
change, so many runs (and many rounds of several mechanisms) are charged at once, to the same total as one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dosimeter.notions.residue import Digest, Offer


@dataclass(slots=True)
class _Round:
    """One round of all mechanisms: what each component pays, and for how many like rounds no price changes."""

    paid: list[int]
    fits: bool
    like: int


def charges(price: Digest, left: Sequence[int], count: int) -> list[int]:
    """What `count` rounds of a price list take from each component of the budget; more than `left` if they do not fit.

    Args:
        price: the list's digest.
        left: what is left of each component, in quanta.
        count: rounds of the whole list, one after the other.
    """
    total, rest = [0] * len(left), list(left)
    while count:
        one = _round(price, rest, count)
        total = [a + one.like * b for a, b in zip(total, one.paid, strict=True)]
        if not one.fits:
            return total
        rest = [a - one.like * b for a, b in zip(rest, one.paid, strict=True)]
        count -= one.like
    return total


def _round(price: Digest, left: Sequence[int], most: int) -> _Round:
    rest = list(left)
    bounds: list[tuple[int, int]] = []  # component, and how far it may still fall before some price would change
    for runs, offers in price.offers:
        waiting = runs
        while waiting:
            found = _find(offers, rest)
            if found is None:
                component, rows = offers[0]
                paid = [a - b for a, b in zip(left, rest, strict=True)]
                paid[component] = max(paid[component] + rows[-1][0], left[component] + 1)
                return _Round(paid, False, 1)
            component, level, charge = found
            times = waiting if charge == 0 else min(waiting, (rest[component] - level) // charge + 1)
            rest[component] -= times * charge
            bounds.append((component, rest[component] + charge - level))
            waiting -= times
    paid = [a - b for a, b in zip(left, rest, strict=True)]
    like = min((room // paid[c] for c, room in bounds if paid[c]), default=most - 1)
    return _Round(paid, True, min(most, 1 + like))


def _find(offers: tuple[Offer, ...], left: Sequence[int]) -> tuple[int, int, int] | None:
    """The first component that can pay for one run, with the row that applies."""
    for component, rows in offers:
        for level, charge in rows:
            if level <= left[component]:
                return component, level, charge
    return None
