"""A mechanism of somebody else's, given by its privacy loss distribution: two finite laws, taken at their word.

Whoever declares a pair says: for every two neighbours the mechanism's output laws are a post-processing of this pair.
Then any account can charge it, and sharper than by one declared epsilon. The probabilities are exact ratios and sum to
exactly one, so nothing about a pair depends on the machine that reads it. An outcome that only one of the two laws
reaches is an infinite loss.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, final

from dosimeter.errors import InputError
from dosimeter.exact import Number, show, to_decimal, to_fraction

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

MAX_REASON: Final = 2_000
MAX_OUTCOMES: Final = 4_096
MAX_DIGITS: Final = 800_000  # of all numerators and denominators together: what a ledger's record holds
LARGEST_LOSS: Final = Decimal(10_000)
_WRITTEN: Final = 40  # digits of a probability that is computed from a loss
_AGREES: Final = Fraction(1, 10**9)
Line: TypeAlias = tuple[Fraction, Fraction]  # height and slope


@final
@dataclass(frozen=True)  # no slots: the hash of a long pair is kept once computed
class DeclaredPair:
    """A pair of finite laws that is said to dominate a mechanism, and why that is believed.

    The law of the outputs with the record against the law without it, outcome by outcome; the reverse serves the other
    direction. Under replace-one the pair and its reverse both speak of every two neighbours. Outcomes of equal loss are
    merged and sorted by loss, which changes nothing about the pair. The reason stays in the ledger for ever.

    Args:
        with_record: probabilities of the outcomes, ratios and decimals taken exactly; they sum to exactly 1.
        without_record: of the same outcomes in the same order.
        reason: whose mechanism it is and why the pair is believed, 1 to 2,000 characters.

    Raises:
        InputError: a law does not sum to 1, a probability is none, the laws are of different lengths, equal, without a
            common outcome, or longer than 4,096 outcomes.

    Reference: Zhu, Dong, Wang 2022, Definition 7 and Theorem 10: products of dominating pairs dominate compositions.
    """

    with_record: tuple[Fraction, ...]
    without_record: tuple[Fraction, ...]
    reason: str
    kind: ClassVar[str] = "declared_pair"

    def __post_init__(self) -> None:
        require_reason(self.reason)
        p, q = (_law(getattr(self, name), name) for name in ("with_record", "without_record"))
        if len(p) != len(q):
            raise InputError(
                f"with_record has {len(p)} outcomes and without_record {len(q)}; list the same outcomes in both"
            )
        p, q = _merged(p, q)
        if not any(a and b for a, b in zip(p, q, strict=True)):
            raise InputError("the two laws have no outcome in common: such a mechanism reveals everything; no price")
        if len(p) == 1:
            raise InputError("the two laws are equal, so the mechanism reveals nothing; there is nothing to charge")
        object.__setattr__(self, "with_record", p)
        object.__setattr__(self, "without_record", q)

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = hash((self.with_record, self.without_record, self.reason))
            object.__setattr__(self, "_hash", known)
        return known

    @classmethod
    def from_losses(
        cls,
        losses: Sequence[Number],
        masses: Sequence[Number],
        *,
        reason: str,
        infinite: Number | None = 0,
        masses_without: Sequence[Number] | None = None,
    ) -> DeclaredPair:
        """A pair given as a privacy loss distribution: losses, and the probability of each with the record.

        Guarantee: the pair dominates the distribution. The law without the record is mass times e^-loss, rounded down
        to 40 digits; what is then missing of it is an infinite loss in the other direction.

        Args:
            losses: log of the ratio of both probabilities, in [-1e4, 1e4].
            masses: the probability of each loss with the record.
            reason: whose mechanism it is and why the distribution is believed.
            infinite: the probability of an infinite loss; with the masses it sums to exactly 1. None, for masses that
                were rounded: whatever is missing; an excess of at most 1e-9 is taken from the lowest losses.
            masses_without: the probabilities without the record, where they are known; they must agree with the losses.

        Raises:
            InputError: as above; or masses and losses contradict each other.

        Reference: the module. Where masses exceed 1 by t, the mechanism's divergence, convex in e^s and 1 at
            e^s = 0, lies below the chord that begins there; taking t from the lowest losses draws this chord.
        """
        own = [_probability(mass, "masses") for mass in masses]
        if len(losses) != len(own) or not own:
            raise InputError(f"{len(losses)} losses and {len(own)} masses are no distribution; give one of each")
        if len(own) > MAX_OUTCOMES:
            raise InputError(
                f"a declared pair has at most {MAX_OUTCOMES} outcomes, not {len(own)}; merge some, upwards"
            )
        places = [to_decimal(loss, "loss") for loss in losses]
        if infinite is None:
            own = _trimmed(places, own)
        missing = 1 - sum(own, Fraction(0))
        lost = missing if infinite is None else _probability(infinite, "infinite")
        if lost < 0 or lost != missing:
            raise InputError(
                f"masses and infinite sum to {_shown(1 - missing + (0 if infinite is None else lost))}, not to 1; "
                "infinite=None counts what is missing as an infinite loss"
            )
        other = _densities(places, own)
        if masses_without is not None:
            other = _agreeing([_probability(mass, "masses_without") for mass in masses_without], other)
        rest = 1 - sum(other, Fraction(0))
        if rest < 0:
            raise InputError(
                f"losses and masses contradict each other: without the record they would sum to {_shown(1 - rest)}, "
                "above 1; is a loss the log of the probability with the record over that without it?"
            )
        return cls((*own, lost, Fraction(0)), (*other, Fraction(0), rest), reason)

    @classmethod
    def covering(cls, pairs: Sequence[DeclaredPair], *, reason: str) -> DeclaredPair:
        """The least pair that dominates each of several: of two directions, or of several kinds of neighbours.

        Guarantee: at every level its divergence is the largest of theirs, exactly.

        Args:
            pairs: all stated with the record first.
            reason: why the pairs together cover the mechanism.

        Reference: a convex, falling function of e^s from 1, not below (1 - e^s)+, is the divergence of a pair; the
            largest of several is one again (Zhu, Dong, Wang 2022, Proposition 8).
        """
        if not pairs or not all(type(pair) is DeclaredPair for pair in pairs):
            raise InputError("covering takes one DeclaredPair or more")
        knots = reduce(_highest, ([*_knots(pair)] for pair in pairs))
        return cls(*_from_knots(knots), reason)

    @property
    def infinite(self) -> tuple[Fraction, Fraction]:
        """The probability of an infinite loss: with the record against without it, and the reverse."""
        together = list(zip(self.with_record, self.without_record, strict=True))
        return sum((a for a, b in together if not b), Fraction(0)), sum((b for a, b in together if not a), Fraction(0))


def require_reason(reason: object) -> None:
    """Refuse what no ledger could keep as a reason.

    Raises:
        InputError: it is no text of 1 to 2,000 characters, or holds half a character.
    """
    if type(reason) is not str or not reason.strip() or len(reason) > MAX_REASON:
        raise InputError(f"a declared event needs a reason of 1 to {MAX_REASON} characters")
    if any("\ud800" <= character <= "\udfff" for character in reason):
        raise InputError("a declared event's reason holds half a character (a lone surrogate), which no file keeps")


def _law(values: object, name: str) -> tuple[Fraction, ...]:
    if not isinstance(values, tuple | list):
        raise InputError(f"{name}={show(values)} is not a tuple of probabilities")
    if not 1 <= len(values) <= MAX_OUTCOMES:
        raise InputError(f"{name} has 1 to {MAX_OUTCOMES} outcomes; got {len(values)}")
    law = tuple(_probability(value, name) for value in values)
    if sum(_digits(p.numerator) + _digits(p.denominator) for p in law) > MAX_DIGITS // 2:
        raise InputError(f"{name} takes more than {MAX_DIGITS // 2} digits to write; round it, or merge outcomes")
    if (total := sum(law, Fraction(0))) != 1:
        raise InputError(
            f"{name} sums to {_shown(total)}, not to exactly 1; give ratios or decimals, or use "
            "DeclaredPair.from_losses(..., infinite=None)"
        )
    return law


def _probability(value: Any, name: str) -> Fraction:
    number = _ratio(value, name) if isinstance(value, str) and "/" in value else to_fraction(value, name)
    if not 0 <= number <= 1:
        raise InputError(f"{name} holds {show(value)}, which is outside [0, 1]; it is a probability")
    return number


def _ratio(value: str, name: str) -> Fraction:
    """A ratio of any length, as JSON keeps it; what `to_fraction` reads is shorter."""
    top, _, bottom = value.partition("/")
    if not all(part.isascii() and part.isdigit() and len(part) <= MAX_DIGITS // 2 for part in (top, bottom)):
        raise InputError(f"{name} holds {show(value)}, which is no ratio of whole numbers such as 1/3")
    below = _whole(bottom)
    if not below:
        raise InputError(f"{name} holds {show(value)}: nothing is divided by 0")
    return Fraction(_whole(top), below)


def _whole(digits: str) -> int:
    """int(), whose limit of digits is meant for strangers' data and far above any probability here."""
    if len(digits) <= 4_000:
        return int(digits)
    raise InputError(f"a probability of {len(digits)} digits is too long; round it")


def _digits(value: int) -> int:
    return value.bit_length() * 3 // 10 + 1


def _shown(value: Fraction) -> str:
    return str(decimal.Context(prec=20).divide(Decimal(value.numerator), Decimal(value.denominator)))


def _merged(p: Sequence[Fraction], q: Sequence[Fraction]) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Outcomes of equal loss as one, by rising loss: a sufficient statistic of both laws."""
    held: dict[Fraction, list[Fraction]] = {}
    never = Fraction(-1)  # of an outcome that is impossible without the record: its loss is infinite
    for a, b in zip(p, q, strict=True):
        if a or b:
            sums = held.setdefault(a / b if b else never, [Fraction(0), Fraction(0)])
            sums[0] += a
            sums[1] += b
    ordered = sorted(ratio for ratio in held if ratio != never)
    ordered += [never] if never in held else []
    return tuple(held[ratio][0] for ratio in ordered), tuple(held[ratio][1] for ratio in ordered)


def _densities(losses: Sequence[Decimal], masses: Sequence[Fraction]) -> list[Fraction]:
    """mass e^-loss, rounded down."""
    from dosimeter.enclosure import ball, down, enclose

    found = []
    for loss, mass in zip(losses, masses, strict=True):
        if loss.copy_abs() > LARGEST_LOSS:
            raise InputError(f"loss={show(loss)} is outside [-{LARGEST_LOSS}, {LARGEST_LOSS}]; count it as infinite")
        density = down(enclose(lambda: ball(mass) * (-ball(loss)).exp()), _WRITTEN) if mass else Decimal(0)  # noqa: B023
        found.append(Fraction(density))
    return found


def _trimmed(losses: Sequence[Decimal], masses: list[Fraction]) -> list[Fraction]:
    """The masses without what they sum to above 1, if that is little: taken from the lowest losses."""
    excess = sum(masses, Fraction(0)) - 1
    kept = list(masses)
    if excess > _AGREES:
        return kept
    for place in sorted(range(len(kept)), key=lambda i: losses[i]):
        taken = min(kept[place], max(excess, Fraction(0)))
        kept[place], excess = kept[place] - taken, excess - taken
    return kept


def _agreeing(given: Sequence[Fraction], implied: Sequence[Fraction]) -> list[Fraction]:
    """The smaller of both, where they agree."""
    if len(given) != len(implied):
        raise InputError(f"masses_without has {len(given)} entries for {len(implied)} losses; give one of each")
    for i, (own, other) in enumerate(zip(given, implied, strict=True)):
        if abs(own - other) > _AGREES * max(own, other):
            raise InputError(
                f"losses and masses contradict each other at outcome {i}: without the record its probability is said "
                f"to be {_shown(own)}, and mass times e^-loss is {_shown(other)}"
            )
    return [min(pair) for pair in zip(given, implied, strict=True)]


def _knots(pair: DeclaredPair) -> list[tuple[Fraction, Line]]:
    """The divergence as a function of g = e^s: where each of its lines begins, and the line, from g = 0 on."""
    p, q = pair.with_record, pair.without_record
    height = Fraction(1)
    weight = sum((b for a, b in zip(p, q, strict=True) if a), Fraction(0))
    knots = [(Fraction(0), (height, -weight))]
    for a, b in zip(p, q, strict=True):
        if a and b:
            height, weight = height - a, weight - b
            knots.append((a / b, (height, -weight)))
    return knots


def _highest(one: list[tuple[Fraction, Line]], two: list[tuple[Fraction, Line]]) -> list[tuple[Fraction, Line]]:
    """The knots of the larger of two convex, piecewise linear functions."""
    starts = sorted({at for at, _ in one} | {at for at, _ in two})
    found: list[tuple[Fraction, Line]] = []
    i = j = 0
    for place, at in enumerate(starts):
        i += i + 1 < len(one) and one[i + 1][0] <= at
        j += j + 1 < len(two) and two[j + 1][0] <= at
        a, b = one[i][1], two[j][1]
        end = starts[place + 1] if place + 1 < len(starts) else None
        first, second = (a, b) if _at(a, at) > _at(b, at) or (_at(a, at) == _at(b, at) and a[1] >= b[1]) else (b, a)
        _continue(found, at, first)
        if first[1] < second[1]:
            crossing = (first[0] - second[0]) / (second[1] - first[1])
            if crossing > at and (end is None or crossing < end):
                _continue(found, crossing, second)
    return found


def _continue(found: list[tuple[Fraction, Line]], at: Fraction, line: Line) -> None:
    if not found or found[-1][1] != line:
        found.append((at, line))


def _at(line: Line, g: Fraction) -> Fraction:
    return line[0] + line[1] * g


def _from_knots(knots: Sequence[tuple[Fraction, Line]]) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The two laws: at a kink g the slope changes by the probability without the record; with it, g times that."""
    rest = 1 + knots[0][1][1]
    p, q = [Fraction(0)], [rest]
    for (_, before), (at, after) in pairwise(knots):
        q.append(after[1] - before[1])
        p.append(at * q[-1])
    return (*p, knots[-1][1][0]), (*q, Fraction(0))
