"""What a plan fixed in advance costs, by the sharpest way that knows all of it.

Most events have privacy loss distributions, and then the price is exact. A declared zCDP guarantee or an integer vector
has none; such a plan is priced by the best composition theorem or fold of notions, which only bounds it from above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from dosimeter.accounting.groups import GroupSampling, for_group
from dosimeter.accounting.losses import loss_for
from dosimeter.composition.best import best
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Composed, Event, Repeated, relations_of, require_relation
from dosimeter.events.sampled import EVERY_RELATION
from dosimeter.exact import ZERO, Bound, Number, amount, subtract_down
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import ApproxDP

if TYPE_CHECKING:
    from dosimeter.pld.accountant import Accountant

EXACT: Final = "privacy_loss_distribution"
FOLD: Final = "notions_folded"
PROFILE: Final = "profile_of_a_group"


Parts: TypeAlias = "tuple[tuple[Event, int], ...]"


class _Approx:
    notion = "approx"


@dataclass(frozen=True, slots=True)
class Price:
    """An epsilon at a delta, and the way it was found.

    Args:
        epsilon: encloses the exact value if `way` is `privacy_loss_distribution`; else its lower end is 0, which says
            nothing.
        way: the theorem that holds it.
    """

    epsilon: Bound
    way: str

    @property
    def exact(self) -> bool:
        """Whether the lower end says something too."""
        return self.way == EXACT


def plan_price(
    parts: Iterable[tuple[Event, int]],
    delta: Number,
    *,
    relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE,
) -> Price:
    """The least epsilon that is known to hold for a plan at this delta.

    Guarantee: the events, run as often as stated, with parameters, order and number fixed in advance, are together
    (epsilon.upper, delta)-DP under `relation`.

    Args:
        parts: events with counts.
        delta: in [1e-300, 1), or 0 for plans that are pure.
        relation: the neighbouring relation the events' sensitivities are stated for.

    Raises:
        NoGuaranteeError: nothing holds at this delta; says why.
        NotionError: a sampling scheme says nothing about this relation.

    Reference: `pld.accountant.Accountant`; else `composition.best` and the fold of `loss_for` in the notion "approx".
    """
    counted = tuple(parts)
    target = amount(delta, "delta", zero=True, round_up=False, below_one=True)
    try:
        return Price(composed(counted, relation).epsilon(target), EXACT)
    except NoGuaranteeError as error:
        reason = error
    offers = [offer for way in (_by_theorem, _by_fold) if (offer := way(counted, target, relation)) is not None]
    if not offers:
        raise reason
    return min(offers, key=lambda offer: offer.epsilon.upper)


def group_price(
    parts: Iterable[tuple[Event, int]],
    delta: Number,
    *,
    size: int,
    sampling: GroupSampling | str = GroupSampling.RECORDS,
    relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE,
) -> Price:
    """The least epsilon that is known to hold for groups of `size` records.

    Two ways are compared: every event restated for the group, which knows the mechanisms, and the privacy profile of
    one record applied record after record, which knows the whole composition and is far better for samples.

    Guarantee: as `plan_price`, for data sets that differ by at most `size` additions, removals, or whatever single
    change the relation speaks of.

    Args:
        parts: events with counts, stated for one record.
        delta: in [1e-300, 1), or 0 for plans that are pure.
        size: how many records stand or fall together, 1 to 1e6; the profile is asked up to 64.
        sampling: `records` have a coin of their own in a sample, or `groups` have one together.
        relation: the neighbouring relation the events' sensitivities are stated for.

    Raises:
        NoGuaranteeError: neither way holds at this delta.

    Reference: `accounting.groups.for_group`; `pld.groups.group_epsilon`.
    """
    counted = tuple(parts)
    target = amount(delta, "delta", zero=True, round_up=False, below_one=True)
    offers, reasons = [], []
    for way in (_by_events, _by_profile):
        try:
            offer = way(counted, target, size, sampling, relation)
        except NoGuaranteeError as error:
            reasons.append(error)
            continue
        if offer is not None:
            offers.append(offer)
    if not offers:
        raise reasons[0]
    return min(offers, key=lambda offer: offer.epsilon.upper)


def _by_events(
    parts: Parts, delta: Decimal, size: int, sampling: GroupSampling | str, relation: NeighbouringRelation | str
) -> Price:
    grown = [(for_group(event, size=size, sampling=sampling), times) for event, times in parts]
    return plan_price(grown, delta, relation=relation)


def _by_profile(
    parts: Parts, delta: Decimal, size: int, sampling: GroupSampling | str, relation: NeighbouringRelation | str
) -> Price | None:
    """Where records have coins of their own, and what is released was sampled: else the events know it exactly."""
    from dosimeter.pld.groups import LARGEST_GROUP, group_epsilon

    sampled = any(relations_of(event) != EVERY_RELATION for event, _ in parts)
    if sampling != GroupSampling.RECORDS or not 1 < size <= LARGEST_GROUP or not delta or not sampled:
        return None
    return Price(Bound(ZERO, group_epsilon(composed(parts, relation), delta, size=size)), PROFILE)


def composed(parts: Iterable[tuple[Event, int]], relation: NeighbouringRelation | str) -> Accountant:
    """An accountant that holds a plan; raises NoGuaranteeError where a part has no law."""
    from dosimeter.pld.accountant import Accountant

    accountant = Accountant(relation)
    for event, times in parts:
        accountant.append(event, times)
    return accountant


def _by_theorem(parts: Parts, delta: Decimal, relation: NeighbouringRelation | str) -> Price | None:
    for event, _ in parts:
        require_relation(event, relation)
    try:
        found = best(parts, delta, relation)
    except (NoGuaranteeError, InputError):
        return None
    return Price(Bound(ZERO, found.guarantee.epsilon), found.theorem)


def _by_fold(parts: Parts, delta: Decimal, relation: NeighbouringRelation | str) -> Price | None:
    """The table of the notion "approx"; what parts fail with of their own is set aside first."""
    if not delta:
        return None
    event = Composed(tuple(Repeated(event, times) for event, times in parts))
    share = delta
    for _ in range(2):
        try:
            loss = loss_for(event, _Approx(), delta=share, relation=relation)
        except (NoGuaranteeError, InputError):
            return None
        if not isinstance(loss, ApproxDP):
            return None
        if loss.delta <= delta:
            return Price(Bound(ZERO, loss.epsilon), FOLD)
        share = subtract_down(delta, subtract_down(loss.delta, share))
        if share < Decimal("1e-300"):
            return None
    return None
