"""A price list: what an event costs depends on how much is left, and every row of the list was proven beforehand.

A closed-form notion keeps one or two numbers of a mechanism. A filter that prices whole profiles cannot: the same
query is cheaper while much is left, because what is left hides its shape. So the loss is a list. It says everything
that charging needs, and an audit folds it again without any analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import ClassVar, Final, TypeAlias, final

from dosimeter.errors import InputError, NotionError
from dosimeter.exact import ONE, ZERO, add_up, amount, brief_up, multiply_up, to_decimal
from dosimeter.notions.law import LARGEST_COUNT, read_runs, require_same_notion

QUANTUM: Final = 36  # charges and levels are whole multiples of 10**-36: sums of them are exact

Row: TypeAlias = tuple[int, int]  # level and charge, in multiples of 10**-QUANTUM
Offer: TypeAlias = tuple[int, tuple[Row, ...]]  # a component of the budget, and its rows by falling level


@final
@dataclass(frozen=True, slots=True)
class Digest:
    """A price list as charging needs it.

    Args:
        offers: for each mechanism its count, and for each component that may pay it the rows by falling level.
        delta: the slack that everything takes.
        rho: the zCDP of everything outside of failures.
        reach: the number of the last component that any row charges, or -1.
    """

    offers: tuple[tuple[int, tuple[Offer, ...]], ...]
    delta: Decimal
    rho: Decimal
    reach: int


@final
@dataclass(frozen=True)  # no slots: the digest is kept once computed
class ResiduePrice:
    """What a sequence of mechanisms costs, as lists of proven charges.

    Mechanism i runs `counts[i]` times; each run takes `deltas[i]` of the slack and is `rhos[i]`-zCDP outside of
    failures (for odometers). Row j is about mechanism `parts[j]`: while at least `levels[j]` is left of component
    `components[j]` of the budget, one run may be charged `charges[j]` of it. The rows of one mechanism and component
    stand together by rising level and falling charge, and the components in the order in which they are to be tried.

    Composition: one after the other.

    Args:
        counts: runs of each mechanism, 1 to 1e12.
        deltas: slack that each run takes, in [0, 1].
        rhos: zCDP of each run outside of failures, 0 or in [1e-300, 1e12].
        parts: for each row the number of its mechanism, from 0.
        components: for each row the number of the budget's component, from 0.
        levels: for each row what must be left.
        charges: for each row what is charged, at most its level.
    """

    counts: tuple[Decimal, ...] = ()
    deltas: tuple[Decimal, ...] = ()
    rhos: tuple[Decimal, ...] = ()
    parts: tuple[Decimal, ...] = ()
    components: tuple[Decimal, ...] = ()
    levels: tuple[Decimal, ...] = ()
    charges: tuple[Decimal, ...] = ()
    notion: ClassVar[str] = "residue"

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if not isinstance(given, tuple | list):
                raise InputError(
                    f"a price list: {field.name} is a {type(given).__name__}, no tuple; nothing was charged"
                )
            object.__setattr__(self, field.name, tuple(_READ[field.name](value) for value in given))
        if not len(self.counts) == len(self.deltas) == len(self.rhos):
            raise InputError("a price list has one count, delta and rho per mechanism")
        if not len(self.parts) == len(self.components) == len(self.levels) == len(self.charges):
            raise InputError("a price list has one part, component, level and charge per row")
        if set(self.parts) != set(map(Decimal, range(len(self.counts)))) or list(self.parts) != sorted(self.parts):
            raise InputError("a price list has rows for each of its mechanisms, in their order")
        for j in range(len(self.parts)):
            if self.charges[j] > self.levels[j]:
                raise InputError(f"a price list charges {self.charges[j]} where only {self.levels[j]} may be left")
            if j and self._follows(j) and not self._is_better(j):
                raise InputError("the rows of a price list go by rising level and falling charge")

    def _follows(self, j: int) -> bool:
        return self.parts[j - 1] == self.parts[j] and self.components[j - 1] == self.components[j]

    def _is_better(self, j: int) -> bool:
        return self.levels[j] > self.levels[j - 1] and self.charges[j] < self.charges[j - 1]

    @property
    def digest(self) -> Digest:
        """The list as charging needs it, kept while the fields are the very objects it was made of."""
        known: tuple[ResiduePrice, Digest] | None = self.__dict__.get("_digest")
        if known is None or not self._is_made_of(known[0]):
            checked = ResiduePrice(**{name: getattr(self, name) for name in _READ})
            known = (checked, _digest(checked))
            for name in _READ:
                object.__setattr__(self, name, getattr(checked, name))
            object.__setattr__(self, "_digest", known)
        return known[1]

    def _is_made_of(self, other: ResiduePrice) -> bool:
        return (
            self.levels is other.levels
            and self.charges is other.charges
            and self.counts is other.counts
            and self.deltas is other.deltas
            and self.rhos is other.rhos
            and self.parts is other.parts
            and self.components is other.components
        )

    @property
    def delta(self) -> Decimal:
        """The slack that everything takes."""
        return self.digest.delta

    @property
    def rho(self) -> Decimal:
        """The zCDP of everything outside of failures."""
        return self.digest.rho

    @property
    def cheapest(self) -> Decimal:
        """What everything takes of the first component that may pay, where much is left: for comparing mechanisms."""
        return from_quanta(sum(count * (offers[0][1][0][1] if offers else 0) for count, offers in self.digest.offers))

    def in_words(self, digits: int = 6) -> str:
        """Such as ``3 runs at mu squared 0.0001001 to 0.000158 each, by what is left; slack 1e-11``."""
        parts = []
        for i, (count, offers) in enumerate(self.digest.offers):
            each = " or ".join(_offer_in_words(offer, digits) for offer in offers)
            parts.append(each if count == 1 else f"{count} runs at {each} each")
            if self.deltas[i]:
                parts[-1] += f", slack {brief_up(self.deltas[i], digits)}"
        return "; ".join(parts) or "nothing"

    def covers(self, other: object) -> bool:
        """Whether this list charges at least as much as another for the same mechanisms, whatever is left."""
        if not isinstance(other, ResiduePrice) or self.counts != other.counts:
            return False
        if not all(a >= b for a, b in zip(self.deltas + self.rhos, other.deltas + other.rhos, strict=True)):
            return False
        return all(
            _offers_cover(mine, theirs)
            for (_, mine), (_, theirs) in zip(self.digest.offers, other.digest.offers, strict=True)
        )

    def compose(self, other: ResiduePrice) -> ResiduePrice:
        """Both, this one first."""
        require_same_notion(self, other)
        shift = len(self.counts)
        return ResiduePrice(
            self.counts + other.counts,
            self.deltas + other.deltas,
            self.rhos + other.rhos,
            self.parts + tuple(part + shift for part in other.parts),
            self.components + other.components,
            self.levels + other.levels,
            self.charges + other.charges,
        )

    def singles(self) -> tuple[ResiduePrice, ...]:
        """The list of each mechanism by itself, in order."""
        found = []
        for i in range(len(self.counts)):
            rows = [j for j, part in enumerate(self.parts) if part == i]
            found.append(
                ResiduePrice(
                    (self.counts[i],),
                    (self.deltas[i],),
                    (self.rhos[i],),
                    (ZERO,) * len(rows),
                    tuple(self.components[j] for j in rows),
                    tuple(self.levels[j] for j in rows),
                    tuple(self.charges[j] for j in rows),
                )
            )
        return tuple(found)

    def offers_of(self, part: int) -> tuple[tuple[int, tuple[tuple[Decimal, Decimal], ...]], ...]:
        """For one mechanism the components that may pay it, in order, each with its levels and charges."""
        found: dict[int, list[tuple[Decimal, Decimal]]] = {}
        for j, own in enumerate(self.parts):
            if own == part:
                found.setdefault(int(self.components[j]), []).append((self.levels[j], self.charges[j]))
        return tuple((component, tuple(rows)) for component, rows in found.items())

    def repeat(self, count: int) -> ResiduePrice:
        """`count` runs of a single mechanism.

        Raises:
            NotionError: the list is about several mechanisms, and repeating all of them is not repeating each.
        """
        runs = read_runs(count)
        if len(self.counts) > 1 and runs > 1:
            raise NotionError("a price list of several mechanisms is not repeated as a whole; admit it several times")
        counts = tuple(Decimal(read_runs(int(c) * runs)) for c in self.counts)
        return ResiduePrice(counts, self.deltas, self.rhos, self.parts, self.components, self.levels, self.charges)


def _digest(price: ResiduePrice) -> Digest:
    built: list[tuple[int, list[tuple[int, list[Row]]]]] = [(int(count), []) for count in price.counts]
    for j, part in enumerate(price.parts):
        mine = built[int(part)][1]
        if not mine or mine[-1][0] != price.components[j]:
            mine.append((int(price.components[j]), []))
        mine[-1][1].insert(0, (quanta_up(price.levels[j]), quanta_up(price.charges[j])))
    offers = tuple((count, tuple((c, tuple(rows)) for c, rows in mine)) for count, mine in built)
    delta = add_up(ZERO, *(multiply_up(d, c) for d, c in zip(price.deltas, price.counts, strict=True)))
    rho = add_up(ZERO, *(multiply_up(r, c) for r, c in zip(price.rhos, price.counts, strict=True)))
    return Digest(offers, delta, rho, int(max(price.components, default=-1)))


def _offer_in_words(offer: Offer, digits: int) -> str:
    component, rows = offer
    name = "mu squared" if component == 0 else f"steps of run {component}"
    least, most = (brief_up(from_quanta(rows[j][1]), digits) for j in (0, -1))
    return f"{name} {least}" if least == most else f"{name} {least} to {most}, by what is left"


def _offers_cover(mine: tuple[Offer, ...], theirs: tuple[Offer, ...]) -> bool:
    """The same components in the same order, and at every level no smaller charge."""
    if [component for component, _ in mine] != [component for component, _ in theirs]:
        return False
    for (_, own), (_, other) in zip(mine, theirs, strict=True):
        for level, charge in own:
            cheapest = next((c for at, c in other if at <= level), None)
            if cheapest is None or charge < cheapest:
                return False
    return True


def quanta_up(value: Decimal) -> int:
    """A decimal in multiples of 10**-36, rounded up."""
    return int(value.scaleb(QUANTUM, _WIDE).to_integral_value(ROUND_CEILING))


def quanta_down(value: Decimal) -> int:
    """A decimal in multiples of 10**-36, rounded down."""
    return int(value.scaleb(QUANTUM, _WIDE).to_integral_value(ROUND_FLOOR))


def from_quanta(value: int) -> Decimal:
    """A whole multiple of 10**-36 as a decimal, exactly."""
    return Decimal(value).scaleb(-QUANTUM, _WIDE)


def _index(value: object) -> Decimal:
    number = to_decimal(value, "index")  # type: ignore[arg-type]
    if number != number.to_integral_value() or not 0 <= number <= LARGEST_COUNT:
        raise InputError(f"index={number} is not a whole number from 0 on")
    return number


def _amount(value: object) -> Decimal:
    return amount(value, "charge", zero=True)  # type: ignore[arg-type]


_WIDE: Final = Context(prec=400, Emin=-20_000, Emax=20_000)
_READ: Final = {
    "counts": lambda value: Decimal(read_runs(int(_index(value)))),
    "deltas": lambda value: amount(value, "delta", zero=True, largest=ONE),
    "rhos": lambda value: amount(value, "rho", zero=True),
    "parts": _index,
    "components": _index,
    "levels": _amount,
    "charges": _amount,
}
