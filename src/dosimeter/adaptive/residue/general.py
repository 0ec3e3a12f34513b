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

from dosimeter.adaptive.residue.search import least
from dosimeter.errors import NoGuaranteeError

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.dots import Dots
    from dosimeter.pld.laws.law import Direction, Law

MARGIN: Final = 1e-3  # of the slack: a charge is proven with less than an audit allows, whose floats may differ
SMALLEST_LEVEL: Final = 1e-30
_HOP: Final = 3  # places; when a charge cannot be proven, the next one is tried so much higher
_GROWTH: Final = 4
_CLOSE: Final = 8  # places; a charge may be so much above the smallest that can be proven
LEAST_SLACK: Final = Decimal("1e-13")  # below it floating point could prove nothing
_CUT: Final = 1 / 64  # the share of the slack that pays for the tail which is cut off
_LEVELS: Final = (1.15, 1.4, 2, 3.5, 8, 25, 100, 600)
_LARGEST_LEVEL: Final = 5.0  # where more budget hardly makes queries cheaper
_LARGEST_CHARGE: Final = 400
_WORTH: Final = 1e-3  # a level that saves a smaller share than this ends the list
_DIGITS: Final = 4
_AHEAD: Final = 1.0003  # a charge is tried so far above its estimate


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
    from dosimeter.adaptive.residue.estimate import Estimate
    from dosimeter.exact import add_up, fraction_up

    proof = Proof.of(law, share)
    estimate = Estimate.of(proof.sides, proof.slack)

    def cheapest(level: Callable[[Decimal], Decimal], low: float, high: float, guess: float) -> Decimal | None:
        """The smallest charge that can be proven, or nearly: from the estimate on upwards."""

        def guessed(at: int) -> float:
            return estimate.missed(float(level(_number(at))), float(_number(at)))

        bottom, top = _place(low), _place(high)
        start = least(guessed, bottom, top, _place(guess), 10 ** (_DIGITS - 2)) or top
        ahead = min(_place(float(_number(start)) * _AHEAD), top)

        def holds(at: int) -> bool:
            return proof.holds(level(_number(at)), _number(at))

        fails, at, hop = bottom, ahead, _HOP
        while not holds(at):
            if at == top:
                return None
            fails, at, hop = at, min(at + hop, top), _GROWTH * hop
        while fails != bottom and at - fails > _CLOSE:
            middle = (fails + at) // 2
            fails, at = (fails, middle) if holds(middle) else (middle, at)
        return _number(at)

    variance = min(side.deviation for side in proof.sides) ** 2
    first = cheapest(lambda c: c, variance / 2, _LARGEST_CHARGE, variance)
    if first is None:
        raise NoGuaranteeError(f"no Gaussian pair of mu^2 below {_LARGEST_CHARGE:g} covers it within its slack")
    rows = [(first, first)]
    for level in _levels(float(first), max(_LARGEST_LEVEL, 3 * float(first)) if most is None else float(most)):
        dearest = rows[-1][1]
        found = cheapest(lambda _: level, variance / 2, float(dearest), float(dearest))  # noqa: B023
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

    def holds(self, level: Decimal, charge: Decimal, margin: float = MARGIN) -> bool:
        """Whether the rule certainly holds, with a part of the slack left over for other machines' roundings."""
        from dosimeter.adaptive.residue.rule import excess

        slack = self.slack * (1 - margin)
        return all(excess(side, float(level), float(charge), slack) <= 0 for side in self.sides)


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
