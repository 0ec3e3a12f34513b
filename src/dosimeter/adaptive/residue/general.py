"""Price lists in the Gaussian family for laws without a closed form: sampled ones, discrete Gaussian noise, any pair.

Each charge is the smallest of four digits for which the rule is proven on a grid, in both directions, with the slack
that one run may take. A law whose losses are rare and large is dear while little is left: its tail has to fit into the
Gaussian pair's own tail, or into the slack.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from dosimeter.errors import NoGuaranteeError

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

LEAST_SLACK: Final = Decimal("1e-13")  # below it floating point could prove nothing
_CUT: Final = 1 / 64  # the share of the slack that pays for the tail which is cut off
_LEVELS: Final = (1.08, 1.3, 1.7, 2.5, 4, 8, 20, 60, 200, 1000)
_LARGEST_LEVEL: Final = 5.0  # where more budget hardly makes queries cheaper
_LARGEST_CHARGE: Final = 400
_WORTH: Final = 1e-3  # a level that saves a smaller share than this ends the list
_DIGITS: Final = 4


def general_rows(law: Law, share: Decimal) -> tuple[list[tuple[Decimal, Decimal]], Decimal]:
    """Levels with their charges, and the slack that one run takes.

    Guarantee: each charge satisfies the admission rule at its level, for all real s and in both directions.

    Args:
        law: any pair.
        share: what one run may take of the slack beside its own probability of revealing everything.

    Raises:
        NoGuaranteeError: the share is too small, or no charge could be proven.
    """
    from dosimeter.adaptive.residue.dots import dots
    from dosimeter.adaptive.residue.rule import excess
    from dosimeter.exact import add_up, fraction_up
    from dosimeter.pld.laws.law import Direction

    if share < LEAST_SLACK:
        raise NoGuaranteeError(
            f"its profile has no end, or no closed form, so each run needs slack of at least {LEAST_SLACK:g}"
        )
    directions = (Direction.REMOVE,) if law.symmetric else tuple(Direction)
    own = max(law.infinite(direction) for direction in directions)
    slack = float(share) * (1 - 1e-12)
    sides = [dots(law, direction, slack * _CUT) for direction in directions]

    def holds(level: Decimal, charge: Decimal) -> bool:
        return all(excess(side, float(level), float(charge), slack) <= 0 for side in sides)

    variance = min(side.deviation for side in sides) ** 2
    first = _whole(holds, variance)
    rows = [(first, first)]
    for multiple in _LEVELS:
        level = _number(_place(float(first) * multiple))
        if float(level) > max(_LARGEST_LEVEL, 3 * float(first)):
            break
        dearest = rows[-1][1]
        found = _least(lambda c: holds(level, c), variance / 2, float(dearest))  # noqa: B023
        if found is None or found >= dearest:
            continue
        rows.append((level, found))
        if float(found) > float(dearest) * (1 - _WORTH):
            break
    return rows, add_up(share, fraction_up(own))


def _whole(holds: Callable[[Decimal, Decimal], bool], variance: float) -> Decimal:
    """The charge at which nothing needs to be left."""
    enough = variance
    while not holds(*(_number(_place(enough)),) * 2):
        enough *= 2
        if enough > _LARGEST_CHARGE:
            raise NoGuaranteeError(f"no Gaussian pair of mu^2 below {_LARGEST_CHARGE:g} covers it within its slack")
    return _least(lambda b: holds(b, b), enough / 2, enough) or _number(_place(enough))


def _least(holds: Callable[[Decimal], bool], low: float, high: float) -> Decimal | None:
    """The smallest number of four digits in (low, high] for which `holds` is true; None if it is false at `high`.

    `holds` is false below some number and true above it.
    """
    bottom, top = _place(low), _place(high)
    if not holds(_number(top)):
        return None
    while top - bottom > 1:
        middle = (bottom + top) // 2
        bottom, top = (bottom, middle) if holds(_number(middle)) else (middle, top)
    return _number(top)


def _place(value: float) -> int:
    """The position of a number, rounded up, among all numbers of four digits."""
    digits = 10 ** (_DIGITS - 1)
    decade = math.floor(math.log10(value))
    return int(decade * 9 * digits + math.ceil(value / 10.0**decade * digits) - digits)


def _number(place: int) -> Decimal:
    digits = 10 ** (_DIGITS - 1)
    decade, rest = divmod(place, 9 * digits)
    return Decimal(f"{digits + rest}e{decade - _DIGITS + 1}")  # whatever the caller's decimal context
