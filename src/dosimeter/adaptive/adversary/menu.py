"""A menu: the mechanisms an analyst may choose from, each with a whole cost, and the lattice on which losses are
counted.

The menu and the costs are declared beforehand and do not depend on answers; which entry is chosen next may depend on
all of them. Everything that bounds the worst case follows from the menu and the budget alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event, RandomizedResponse, event_from_json, event_to_json
from dosimeter.events.event import require_event
from dosimeter.exact import Number, amount, count, fraction_down, show, text, to_fraction

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

LARGEST_COST: Final = 10**6
MOST_OFFERS: Final = 100
_FINEST: Final = 4096  # steps from zero to the largest loss of a lattice that all losses share
_CELLS: Final = 8  # steps per standard deviation of the smallest loss, where there is no such lattice


@final
@dataclass(frozen=True, slots=True)
class Offer:
    """One entry of a menu: what is released, and how many units of the budget it takes.

    Args:
        event: a single release with a dominating pair (Gaussian, Laplace, discrete noise, randomized response,
            sampled).
        cost: units, a whole number from 1 on.
    """

    event: Event
    cost: int

    def __post_init__(self) -> None:
        require_event(self.event)
        object.__setattr__(self, "cost", count(self.cost, "cost", largest=LARGEST_COST))

    @property
    def law(self) -> Law:
        """The law of the pair that dominates the event.

        Raises:
            NoGuaranteeError: none is known, or the event is several releases.
        """
        from dosimeter.pld.laws.events import laws_of

        laws = laws_of(self.event)
        if len(laws) != 1 or laws[0][1] != 1:
            raise NoGuaranteeError("an entry of a menu is one release; give each part an entry of its own")
        return laws[0][0]

    @property
    def name(self) -> str:
        """What the entry is called in plans and tables."""
        return _name(self.event)


@final
@dataclass(frozen=True, slots=True)
class Menu:
    """The declared mechanisms and the lattice of their losses.

    Args:
        offers: 1 to 100 entries.
        step: of the lattice, in nats; a common divisor of all losses where there is one, else a fine step, if not
            given. A finer one makes bounds for continuous noise tighter and slower.
    """

    offers: tuple[Offer, ...]
    step: Fraction = None  # type: ignore[assignment]  # filled in at once
    laws: tuple[Law, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        offers = tuple(offer if isinstance(offer, Offer) else Offer(*offer) for offer in self.offers)
        object.__setattr__(self, "offers", offers)
        if not 1 <= len(offers) <= MOST_OFFERS:
            raise InputError(f"a menu has 1 to {MOST_OFFERS} entries, not {len(offers)}")
        if len({offer.event for offer in offers}) < len(offers):
            raise InputError("a menu names every release once; keep the cheaper of two entries for the same one")
        object.__setattr__(self, "laws", tuple(offer.law for offer in offers))
        step = natural_step(self.laws) if self.step is None else to_fraction(self.step, "step")
        if not Fraction(1, 10**12) <= step <= 100:
            raise InputError(f"step={show(self.step)} is outside [1e-12, 100]")
        object.__setattr__(self, "step", step)

    @classmethod
    def responses(cls, step: Number, multiples: Iterable[int], costs: Sequence[int] | None = None) -> Menu:
        """Randomized responses with epsilon = m step, at a cost of m^2 units if not given: pure DP rounds.

        Every epsilon-DP mechanism is a randomised image of randomized response with the same epsilon, so for a filter
        nothing is lost by playing only that.
        """
        size, many = amount(step, "step"), tuple(multiples)
        prices = [m * m for m in many] if costs is None else list(costs)
        offers = [Offer(RandomizedResponse(size * m), c) for m, c in zip(many, prices, strict=True)]
        return cls(tuple(offers), Fraction(size))

    @property
    def costs(self) -> tuple[int, ...]:
        """The units of each entry."""
        return tuple(offer.cost for offer in self.offers)

    @property
    def symmetric(self) -> bool:
        """Whether both directions of a neighbouring pair reveal the same."""
        return all(law.symmetric for law in self.laws)

    @property
    def exact(self) -> bool:
        """Whether all losses lie on the lattice, so that bounds differ in rounding only."""
        return all(on_lattice(law, self.step) for law in self.laws)

    def to_json(self) -> dict[str, Any]:
        """The entries and the step."""
        offers = [{"event": event_to_json(offer.event), "cost": offer.cost} for offer in self.offers]
        return {"offers": offers, "step": str(self.step)}

    @classmethod
    def from_json(cls, data: object) -> Menu:
        """Read a menu back; raises InputError for anything that `to_json` does not write."""
        if not isinstance(data, dict) or set(data) != {"offers", "step"} or not isinstance(data["offers"], list):
            raise InputError("a menu has exactly the fields: offers (a list), step")
        offers = []
        for entry in data["offers"]:
            if not isinstance(entry, dict) or set(entry) != {"event", "cost"}:
                raise InputError("an entry of a menu has exactly the fields: event, cost")
            offers.append(Offer(event_from_json(entry["event"]), entry["cost"]))
        menu = cls(tuple(offers), data["step"])
        if menu.to_json() != data:
            raise InputError(f"a menu's step {show(data['step'])} is stored as {str(menu.step)!r}; write it so")
        return menu


def on_lattice(law: Law, step: Fraction) -> bool:
    """Whether every loss of a law is a whole multiple of the step, in both directions."""
    from dosimeter.pld.laws.law import Direction

    lattices = [law.lattice(direction) for direction in Direction]
    return all(
        lattice is not None and (lattice.step / step).denominator == 1 and (lattice.offset / step).denominator == 1
        for lattice in lattices
    )


def natural_step(laws: Sequence[Law]) -> Fraction:
    """A common divisor of all losses that is not too fine, else a fraction of the smallest standard deviation."""
    from dosimeter.pld.laws.law import Direction

    parts: list[Fraction] = []
    for law in laws:
        lattice = law.lattice(Direction.REMOVE)
        parts += [] if lattice is None else [abs(value) for value in (lattice.step, lattice.offset) if value]
    if parts and all(law.lattice(direction) is not None for law in laws for direction in Direction):
        divisor = parts[0]
        for part in parts[1:]:
            divisor = Fraction(
                math.gcd(divisor.numerator * part.denominator, part.numerator * divisor.denominator),
                divisor.denominator * part.denominator,
            )
        tops = [law.support(direction)[1] for law in laws for direction in Direction]
        if math.isfinite(max(tops)) and max(tops) / divisor <= _FINEST:
            return divisor
    fine = Fraction(fraction_down(Fraction(min(deviation(law) for law in laws) / _CELLS))).limit_denominator(10**9)
    ends = [law.highest(direction) for law in laws for direction in Direction]
    least = min((end[1] for end in ends if end is not None and end[0] == end[1]), default=Fraction(0))
    return least / math.ceil(least / fine) if least >= fine else fine  # so that the atom at an end is a point


def deviation(law: Law) -> float:
    """The root of the mean square of a loss, roughly."""
    from dosimeter.pld.laws.law import Direction

    if law.gaussian is not None:
        return math.sqrt(law.gaussian)
    small = 1e-3
    return math.sqrt(max(2 * law.cumulant(Direction.REMOVE, small) / small / (1 + small), 1e-12))


def _name(event: Any) -> str:
    words = []
    for part in fields(event):
        value = getattr(event, part.name)
        if part.default != value:
            shown = text(value) if isinstance(value, Decimal) else _name(value) if is_dataclass(value) else str(value)
            words.append(f"{part.name}={shown}")
    return f"{type(event).__name__}({', '.join(words)})"
