"""Price lists in the Gaussian family for laws without a closed form: sampled ones, discrete Gaussian noise, any pair.

Each charge is the smallest of four digits for which the rule is proven on a grid, in both directions, with the slack
that one run may take. A law whose losses are rare and large is dear while little is left: its tail has to fit into the
Gaussian pair's own tail, or into the slack.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from dosimeter.adaptive.residue.search import least, straightened
from dosimeter.errors import NoGuaranteeError

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.dots import Dots
    from dosimeter.pld.laws.law import Direction, Law

MARGIN: Final = 1e-3  # of the slack: a charge is proven with less than an audit allows, whose floats may differ
SMALLEST_LEVEL: Final = 1e-30
_HOP: Final = 200  # places: the first step of a search
_CLOSE: Final = 8  # places; a charge may be so much above the smallest that can be proven
LEAST_SLACK: Final = Decimal("1e-13")  # below it floating point could prove nothing
_CUT: Final = 1 / 64  # the share of the slack that pays for the tail which is cut off
_LEVELS: Final = (1.2, 1.6, 2.5, 5, 20, 100, 600)
_LARGEST_LEVEL: Final = 5.0  # where more budget hardly makes queries cheaper
_LARGEST_CHARGE: Final = 400
_WORTH: Final = 1e-3  # a level that saves a smaller share than this ends the list
_DIGITS: Final = 4


def general_rows(
    law: Law, share: Decimal, most: Decimal | None = None
) -> tuple[list[tuple[Decimal, Decimal]], Decimal]:
    """Levels with their charges, and the slack that one run takes.

    Guarantee: each charge satisfies the admission rule at its level, for all real s and in both directions.

    Args:
        law: any pair.
        share: what one run may take of the slack beside its own probability of revealing everything.
        most: the largest level that will ever be asked for; any if not given.

    Raises:
        NoGuaranteeError: the share is too small, or no charge could be proven.
    """
    from dosimeter.exact import add_up, fraction_up

    proof = Proof.of(law, share)

    def cheapest(level: Callable[[Decimal], Decimal], low: float, high: float, guess: float) -> Decimal | None:
        """The smallest charge that can be proven, or nearly: in one direction, and from there in the other."""
        place, top, start = _place(low), _place(high), _place(guess)
        for number in range(len(proof.sides)):

            def missed(at: int) -> float:
                return straightened(proof.missed(number, level(_number(at)), _number(at)), proof.slack)  # noqa: B023

            found = least(missed, place, top, start, _HOP if not number else 1, _CLOSE)
            if found is None:
                return None
            place, start = found - 1, found
        return _number(start)

    variance = min(side.deviation for side in proof.sides) ** 2
    first = cheapest(lambda c: c, variance / 2, _LARGEST_CHARGE, variance)
    if first is None:
        raise NoGuaranteeError(f"no Gaussian pair of mu^2 below {_LARGEST_CHARGE:g} covers it within its slack")
    rows = [(first, first)]
    for level in _levels(float(first), max(_LARGEST_LEVEL, 3 * float(first)) if most is None else float(most)):
        dearest = rows[-1][1]
        guess = math.sqrt(float(dearest) * variance)
        found = cheapest(lambda _: level, variance / 2, float(dearest), guess)  # noqa: B023
        if found is None or found >= dearest:
            continue
        rows.append((level, found))
        if float(found) > float(dearest) * (1 - _WORTH):
            break
    return rows, add_up(share, fraction_up(max(law.infinite(direction) for direction in _directions(law))))


def _levels(first: float, most: float) -> list[Decimal]:
    """Levels above the first, the last of them the largest that will be asked for, rounded down."""
    highest = _number(_place(max(most, SMALLEST_LEVEL)) - 1)
    within = [_number(_place(first * multiple)) for multiple in _LEVELS if first * multiple * 1.05 < float(highest)]
    return [*within, highest] if float(highest) > first else []


@dataclass(frozen=True, slots=True)
class Proof:
    """A law's points in the directions that matter, and the slack: what a charge is proven with."""

    sides: tuple[Dots, ...]
    slack: float

    @classmethod
    def of(cls, law: Law, share: Decimal) -> Proof:
        """Lay a law out for a share of the slack.

        Raises:
            NoGuaranteeError: the share is too small, or the losses reach too far.
        """
        from dosimeter.adaptive.residue.dots import dots

        if share < LEAST_SLACK:
            raise NoGuaranteeError(
                f"its profile has no end, or no closed form, so each run needs slack of at least {LEAST_SLACK:g}"
            )
        slack = float(share) * (1 - 1e-12)
        return cls(tuple(dots(law, direction, slack * _CUT) for direction in _directions(law)), slack)

    def holds(self, level: Decimal, charge: Decimal) -> bool:
        """Whether the rule certainly holds, with all of the slack."""
        return all(self.missed(number, level, charge, 0.0) <= 0 for number in range(len(self.sides)))

    def missed(self, number: int, level: Decimal, charge: Decimal, margin: float = MARGIN) -> float:
        """By how much it is missed on one side, with a part of the slack left over for other machines' roundings."""
        from dosimeter.adaptive.residue.rule import excess

        return excess(self.sides[number], float(level), float(charge), self.slack * (1 - margin))


def _directions(law: Law) -> tuple[Direction, ...]:
    from dosimeter.pld.laws.law import Direction

    return (Direction.REMOVE,) if law.symmetric else tuple(Direction)


def _place(value: float) -> int:
    """The position of a number, rounded up, among all numbers of four digits."""
    digits = 10 ** (_DIGITS - 1)
    decade = math.floor(math.log10(value))
    return int(decade * 9 * digits + math.ceil(value / 10.0**decade * digits) - digits)


def _number(place: int) -> Decimal:
    digits = 10 ** (_DIGITS - 1)
    decade, rest = divmod(place, 9 * digits)
    return Decimal(f"{digits + rest}e{decade - _DIGITS + 1}")  # whatever the caller's decimal context
