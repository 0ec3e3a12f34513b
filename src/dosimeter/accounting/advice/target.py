"""What is asked of an account before it opens: the promise it must keep, and what people expect to ask of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import final

from dosimeter.accounting.bases import base_of
from dosimeter.errors import InputError
from dosimeter.events import Event, require_relation
from dosimeter.events.event import require_event
from dosimeter.exact import LARGEST, ZERO, add_up, amount, multiply_up, text
from dosimeter.exact import count as read_count
from dosimeter.neighbours import NeighbouringRelation

LARGEST_TARGET_MU = Decimal("1e6")


@final
@dataclass(frozen=True, slots=True)
class Target:
    """The promise for everything together: (epsilon, delta), epsilon alone, rho, or mu.

    Args:
        epsilon: in nats, in [1e-300, 1e12].
        delta: the probability of failure of the whole, 0 or in [1e-300, 1).
        rho: instead of epsilon, a budget in zCDP.
        mu: instead of epsilon, a budget in Gaussian DP.
    """

    epsilon: Decimal | None = None
    delta: Decimal = ZERO
    rho: Decimal | None = None
    mu: Decimal | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("epsilon", "rho", "mu") if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise InputError(f"a target is one of: epsilon (with delta), rho, mu; got {got}")
        name = given[0]
        largest = LARGEST_TARGET_MU if name == "mu" else LARGEST
        object.__setattr__(self, name, amount(getattr(self, name), name, round_up=False, largest=largest))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, zero=True, below_one=True))

    def in_words(self) -> str:
        """Such as ``epsilon 1, delta 1E-6``."""
        parts = [f"{name} {text(v)}" for name in ("epsilon", "rho", "mu") if (v := getattr(self, name)) is not None]
        return ", ".join([*parts, *([f"delta {text(self.delta)}"] if self.delta else [])])

    def to_json(self) -> dict[str, str]:
        """The numbers that were given, as texts."""
        return {n: text(v) for n in ("epsilon", "rho", "mu", "delta") if (v := getattr(self, n))}


@final
@dataclass(frozen=True, slots=True)
class Sketch:
    """What people expect to ask: events, and roughly how often each. It binds nobody.

    Args:
        parts: events with their counts, in the order in which they are expected.
        relation: the account's neighbouring relation.
    """

    parts: tuple[tuple[Event, int], ...]
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", NeighbouringRelation.read(self.relation))
        object.__setattr__(self, "parts", tuple((event, read_count(n, "count")) for event, n in self.parts))
        if not self.parts:
            raise InputError("the sketch is empty; say what will be asked, such as 500 pure queries of epsilon 0.01")
        for event, _ in self.parts:
            require_event(event)
            require_relation(event, self.relation)

    @classmethod
    def of(cls, parts: Iterable[tuple[Event, int]], relation: str = "add_remove") -> Sketch:
        """From any pairs of an event and a count."""
        return cls(tuple(parts), NeighbouringRelation.read(relation))

    @property
    def queries(self) -> int:
        """How many in total."""
        return sum(count for _, count in self.parts)

    @property
    def own_delta(self) -> Decimal:
        """What the events' own probabilities of failure add up to."""
        return add_up(ZERO, *(multiply_up(base_of(event).failure, count) for event, count in self.parts))

    def scaled(self, queries: int) -> list[int]:
        """The counts in the sketch's proportions for about so many queries in total; they grow with `queries`."""
        total = self.queries
        return [queries * count // total for _, count in self.parts]
