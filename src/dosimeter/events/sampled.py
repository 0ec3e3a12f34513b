"""Events that run on a secret random part of the data. The scheme is part of the event, and so is the relation.

Amplification by sampling is a theorem about one way of sampling under one neighbouring relation; mixing them is off by
a factor of about two in sensitivity, silently. So each scheme is a class of its own, and `relations_of` says under
which relations its price means anything. The inner event's sensitivity is that of the same relation: one record's
contribution for Poisson sampling and allocation, a replacement (twice that, for sums) for batches of fixed size.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, final

from dosimeter.errors import InputError, NotionError
from dosimeter.events.nesting import everything_in, require_modest
from dosimeter.exact import ONE, amount, count
from dosimeter.neighbours import NeighbouringRelation

if TYPE_CHECKING:
    from dosimeter.events.event import Event

EVERY_RELATION: Final = frozenset(NeighbouringRelation)
_ABSENCE: Final = frozenset({NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.ZERO_OUT})
_EXCHANGE: Final = frozenset({NeighbouringRelation.REPLACE_ONE})
MAX_POPULATION: Final = 10**12


@final
@dataclass(frozen=True, slots=True)
class PoissonSampled:
    """Every record takes part in `event` with the same probability, independently of all others and of the past.

    Speaks of add or remove, and of zero-out where a zeroed record contributes exactly what an absent one does. The
    sample, its size included, stays secret: an empty sample is run like any other, and no released number is divided
    by the size that came out.

    Args:
        probability: in (0, 1]; the largest one where records differ. A ratio is rounded up.
        event: what is released of the sample, its sensitivity under add or remove.
    """

    probability: Decimal
    event: Event
    kind: ClassVar[str] = "poisson_sampled"
    relations: ClassVar[frozenset[NeighbouringRelation]] = _ABSENCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", amount(self.probability, "probability", largest=ONE))
        _require_inner(self, self.event)


@final
@dataclass(frozen=True, slots=True)
class FixedSizeSampled:
    """A secret batch of exactly `batch_size` different records, uniform among all such batches; fresh for every run.

    Speaks of replacing one record; the size of the data is public.

    Args:
        batch_size: 1 to `population`.
        population: the number of records, 1 to 1e12.
        event: what is released of the batch, its sensitivity under replace-one.
    """

    batch_size: int
    population: int
    event: Event
    kind: ClassVar[str] = "fixed_size_sampled"
    relations: ClassVar[frozenset[NeighbouringRelation]] = _EXCHANGE

    def __post_init__(self) -> None:
        _read_counts(self, "batch_size", "population")
        if self.batch_size > self.population:
            raise InputError(f"batch_size={self.batch_size} is larger than population={self.population}")
        _require_inner(self, self.event)
        for inner in everything_in(self.event):
            if isinstance(inner, FixedSizeSampled | WithReplacementSampled) and inner.population != self.batch_size:
                raise InputError(
                    f"a sample of {inner.population} records is taken from a batch of {self.batch_size}; "
                    "the inner population is the outer batch_size"
                )


@final
@dataclass(frozen=True, slots=True)
class WithReplacementSampled:
    """`draws` secret, independent, uniform draws; the same record may be drawn, and then counts, several times.

    Speaks of replacing one record. One replaced record may change several draws, so the price needs what `event`
    guarantees to groups.

    Args:
        draws: 1 to 1e12.
        population: the number of records, 1 to 1e12.
        event: what is released of the draws, its sensitivity under replacing one draw.
    """

    draws: int
    population: int
    event: Event
    kind: ClassVar[str] = "with_replacement_sampled"
    relations: ClassVar[frozenset[NeighbouringRelation]] = _EXCHANGE

    def __post_init__(self) -> None:
        _read_counts(self, "draws", "population")
        _require_inner(self, self.event)


@final
@dataclass(frozen=True, slots=True)
class RandomAllocation:
    """`steps` runs of `event`; every record takes part in `selected` of them, chosen secretly and independently.

    With selected=1 this is one shuffled pass ("balls in bins"). Speaks of add or remove, and of zero-out. It is not
    Poisson sampling with probability selected/steps, whose price can be far too low for it.

    Args:
        steps: how often `event` is run, 1 to 1e12.
        selected: in how many of the steps each record takes part, 1 to `steps`.
        event: what is released in one step, its sensitivity under add or remove.
    """

    steps: int
    selected: int
    event: Event
    kind: ClassVar[str] = "random_allocation"
    relations: ClassVar[frozenset[NeighbouringRelation]] = _ABSENCE

    def __post_init__(self) -> None:
        _read_counts(self, "steps", "selected")
        if self.selected > self.steps:
            raise InputError(f"selected={self.selected} is larger than steps={self.steps}")
        _require_inner(self, self.event)


SAMPLED_TYPES: Final = (PoissonSampled, FixedSizeSampled, WithReplacementSampled, RandomAllocation)


def relations_of(event: Event) -> frozenset[NeighbouringRelation]:
    """The neighbouring relations under which an event can be priced.

    Any relation for an event without sampling (its sensitivity was stated for the account's); those of its scheme for
    a sampled one; what all parts have in common for a composed one, which may be nothing.
    """
    relations = EVERY_RELATION
    for part in everything_in(event):
        if isinstance(part, SAMPLED_TYPES):
            relations &= part.relations
    return relations


def require_relation(event: Event, relation: NeighbouringRelation | str) -> None:
    """Refuse an event whose sampling scheme says nothing about this neighbouring relation.

    Raises:
        NotionError: names the scheme, the relation and the way out.
    """
    wanted = NeighbouringRelation.read(relation)
    schemes: dict[str, frozenset[NeighbouringRelation]] = {}
    for part in everything_in(event):
        if isinstance(part, SAMPLED_TYPES):
            schemes.setdefault(part.kind, part.relations)
    strangers = [kind for kind, relations in schemes.items() if wanted not in relations]
    if not strangers:
        return
    speaks = " or ".join(sorted(schemes[strangers[0]]))
    if not relations_of(event):
        raise NotionError(
            f"{' and '.join(schemes)} speak of different neighbours, so nothing is known of them together; "
            "run both under one scheme"
        )
    raise NotionError(
        f"{strangers[0]} has a price under {speaks} and none under {wanted}: amplification is a theorem about one way "
        f"of sampling and one relation; sample in another way, or use an account under {speaks}"
    )


def _require_inner(
    outer: PoissonSampled | FixedSizeSampled | WithReplacementSampled | RandomAllocation, event: Event
) -> None:
    from dosimeter.events.event import require_event

    require_event(event)
    require_modest(outer)
    if not relations_of(event) & outer.relations:
        inner = next(part.kind for part in everything_in(event) if isinstance(part, SAMPLED_TYPES))
        raise NotionError(
            f"{outer.kind} speaks of {' or '.join(sorted(outer.relations))} and cannot hold a {inner} event, which "
            "speaks of other neighbours; use one scheme"
        )


def _read_counts(value: object, *names: str) -> None:
    for name in names:
        object.__setattr__(value, name, count(getattr(value, name), name, largest=MAX_POPULATION))
