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
    from dosimeter.adaptive.residue.rule import Glance
    from dosimeter.pld.laws.law import Direction, Law

MARGIN: Final = 1e-3  # of the slack: a charge is proven with less than an audit allows, whose floats may differ
SMALLEST_LEVEL: Final = 1e-30
_HOP: Final = 200  # places: the first step of a search
_FAR: Final = 2000  # places: the longest step of a secant
_FEW: Final = 64  # points of a law
_SPARE: Final = 1.0  # straightened: little more than a third of the slack is taken
_SECANTS: Final = 6
_TRIES: Final = 6  # of the whole rule, before its places are halved instead
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
    from dosimeter.adaptive.residue.rule import Glance
    from dosimeter.exact import add_up, fraction_up

    proof = Proof.of(law, share)
    sides = [_Side(proof, number, Glance.of(points)) for number, points in enumerate(proof.sides)]
    variance = min(side.deviation for side in proof.sides) ** 2
    lowest, guess = _place(variance / 2), _place(max(variance, proof.alone()))
    start: int | None = lowest
    for side in sides:
        if start is not None:
            start = side.least(start - 1 if side.number else start, _place(_LARGEST_CHARGE), max(guess, start))
    if start is None:
        raise NoGuaranteeError(f"no Gaussian pair of mu^2 below {_LARGEST_CHARGE:g} covers it within its slack")
    first = _number(start)
    rows, stuck = [(first, start)], False
    for level in _levels(float(first), max(_LARGEST_LEVEL, 3 * float(first)) if most is None else float(most)):
        dearest = rows[-1][1]
        sides[0].level = lambda _: level  # noqa: B023
        if stuck and sides[0].missed(dearest - 1) > 0:
            continue
        found = sides[0].least(lowest, dearest, _place(math.sqrt(float(_number(dearest)) * variance)))
        stuck = found is None or found >= dearest
        if found is None or found >= dearest:
            continue
        rows.append((level, found))
        if float(_number(found)) > float(_number(dearest)) * (1 - _WORTH):
            break
    for side in sides[1:]:
        rows = _held(side, rows)
    own = [(level, _number(place)) for level, place in rows]
    return own, add_up(share, fraction_up(max(law.infinite(direction) for direction in _directions(law))))


def _held(side: _Side, rows: list[tuple[Decimal, int]]) -> list[tuple[Decimal, int]]:
    """The rows with their charges raised until the rule holds on a second side too; the first row does already.

    A charge proven at a level is proven at larger levels, and larger charges are too: the smallest charge of several
    rows at the smallest of their levels settles all of them, where it holds with room to spare.
    """
    kept = rows[:1]
    waiting = [(1, len(rows))]
    while waiting:
        first, last = waiting.pop()
        if first >= last:
            continue
        level, place = rows[first][0], rows[last - 1][1]
        side.level = lambda _: level  # noqa: B023
        if last - first > 1 and side.missed(place) > -_SPARE:
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
        elif last - first > 1:
            kept += rows[first:last]
        elif (found := side.least(place - 1, kept[-1][1], place)) is not None and found < kept[-1][1]:
            kept.append((level, found))
    return kept


def _levels(first: float, most: float) -> list[Decimal]:
    """Levels above the first, the last of them the largest that will be asked for, rounded down."""
    highest = _number(_place(max(most, SMALLEST_LEVEL)) - 1)
    within = [_number(_place(first * multiple)) for multiple in _LEVELS if first * multiple * 1.05 < float(highest)]
    return [*within, highest] if float(highest) > first else []


@dataclass(slots=True)
class _Side:
    """The search for a charge on one side: the whole rule is asked rarely, a few of its points often.

    Where the rule is closest to being missed hardly moves with the charge, nor with the level. So the next charge to
    ask for is found from points around the one that decided last; what is returned has always passed the whole rule.
    """

    proof: Proof
    number: int
    glance: Glance
    around: float = 0.0  # the grid point that decided last, here or at the level before
    offset: float = 0.0  # for every place: what the estimate leaves out
    level: Callable[[Decimal], Decimal] = lambda charge: charge

    def least(self, low: int, high: int, guess: int) -> int | None:
        """The smallest place in (low, high] at which the rule holds, or little above it; None if none does."""
        if len(self.glance.masses) <= _FEW:  # the whole rule is as quickly asked
            return least(self.missed, low, high, guess, _HOP)
        bottom, top, self.offset = low, high + 1, 0.0
        at, before = min(max(guess, low + 1), high), None
        if self.around:
            at = self.predicted(bottom, high, at)
        for _ in range(_TRIES):
            missed = self.missed(at)
            if missed <= 0:
                top = at
            else:
                bottom = at
            if top - bottom <= 1 or not math.isfinite(missed):
                break
            if -_SPARE < missed <= 0 < self.estimated(at - 1):
                return top
            following = self.predicted(bottom, top - 1, at) if before is None else _secant(before, (at, missed))
            before, at = (at, missed), min(max(following, bottom + 1), top - 1)
        if top - bottom > 1:
            return least(self.missed, bottom, min(top, high), at, _HOP)
        return top if top <= high else None

    def missed(self, at: int) -> float:
        """By how much the whole rule is missed at a place, straightened."""
        missed, place = self.proof.tightest(self.number, self.level(_number(at)), _number(at))
        value = straightened(missed, self.proof.slack)
        if value > -_SPARE or not self.around:  # else it holds everywhere, and where it is closest says nothing
            self.around = max(float(place), 1.0)
        self.offset = 0.0
        if value > -_SPARE and len(self.glance.masses) > _FEW:
            self.offset = value - self.estimated(at)
        return value

    def estimated(self, at: int) -> float:
        """The same, nearly, from points around the one that decided last."""
        charge, slack = _number(at), self.proof.slack * (1 - MARGIN)
        missed = self.glance.missed(float(self.level(charge)), float(charge), slack, self.around)
        return straightened(missed, self.proof.slack) + self.offset

    def predicted(self, bottom: int, top: int, at: int) -> int:
        """Where the estimate says that the rule begins to hold: by secants, or else by halving."""
        value = self.estimated(at)
        one, two = (at, value), (at + (_HOP if value > 0 else -_HOP), 0.0)
        for _ in range(_SECANTS):
            two = (min(max(two[0], bottom + 1), top), 0.0)
            if abs(two[0] - one[0]) <= 1:
                return two[0]
            two = (two[0], self.estimated(two[0]))
            one, two = two, (_secant(one, two), 0.0)
        found = least(self.estimated, bottom, top, one[0], _HOP)
        return top if found is None else found


def _secant(one: tuple[int, float], two: tuple[int, float]) -> int:
    """Where a straight line through two places crosses zero."""
    (at, value), (other, before) = two, one
    away = value * (at - other) / (value - before) if value != before else math.copysign(_HOP, -value)
    return math.ceil(at - min(max(away, -_FAR), _FAR))


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

    def alone(self) -> float:
        """About the smallest charge that covers the first side with nothing left beside it: where a search starts."""
        from dosimeter.adaptive.residue.rule import alone

        return alone(self.sides[0], self.slack)

    def holds(self, level: Decimal, charge: Decimal) -> bool:
        """Whether the rule certainly holds, with all of the slack."""
        return all(self.missed(number, level, charge, 0.0) <= 0 for number in range(len(self.sides)))

    def missed(self, number: int, level: Decimal, charge: Decimal, margin: float = MARGIN) -> float:
        """By how much it is missed on one side, with a part of the slack left over for other machines' roundings."""
        return self.tightest(number, level, charge, margin)[0]

    def tightest(self, number: int, level: Decimal, charge: Decimal, margin: float = MARGIN) -> tuple[float, int]:
        """The same, and the grid point that decides."""
        from dosimeter.adaptive.residue.rule import tightest

        return tightest(self.sides[number], float(level), float(charge), self.slack * (1 - margin))


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
