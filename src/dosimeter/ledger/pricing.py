"""The ledger's only door to prices: an event goes in, a loss comes out, and no caller can pass a number by it."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dosimeter.adaptive.filter import Filter
from dosimeter.events import Event, event_to_json, loss_to_json
from dosimeter.ledger.texts import canonical
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import Loss

if TYPE_CHECKING:
    from collections.abc import Hashable


class Charge(NamedTuple):
    """What an event costs, and both as the canonical JSON that a record carries."""

    loss: Loss
    loss_text: str
    event_text: str


def charge(event: Event, rule: Filter[Any], delta: Decimal | None, relation: NeighbouringRelation) -> Charge:
    """What `event` costs an account of `relation` under `rule`.

    Raises:
        NoGuaranteeError: no theorem gives a price.
        NotionError: the event's sampling scheme speaks of other neighbours.
    """
    return _charge(event, cast("Hashable", rule), delta, relation)


@lru_cache(maxsize=1024)  # a price is a pure function of frozen values, and sessions ask like queries many times
def _charge(event: Event, rule: Any, delta: Decimal | None, relation: NeighbouringRelation) -> Charge:
    from dosimeter.accounting import loss_for

    loss = loss_for(event, rule, delta=delta, relation=relation)
    return Charge(loss, canonical(loss_to_json(loss)), canonical(event_to_json(event)))


def is_proven(stored: Loss, event: Event, rule: Filter[Any], relation: NeighbouringRelation) -> bool:
    """Whether a stored price list is proven for an event under `rule`, whatever machine computed it."""
    from dosimeter.accounting.losses import is_proven_loss

    return is_proven_loss(stored, event, rule, relation=relation)


def verify(rule: Any) -> None:
    """Check what reading a filter or an odometer back does not: that it keeps its promise, where that takes computing.

    Raises:
        InputError: it does not.
    """
    check = getattr(rule, "verify", None)
    if check is not None:
        check()


def require_reads(odometer: Any, rule: Filter[Any]) -> None:
    """Check that an odometer can read the states of a filter, and means by them what the filter does.

    Raises:
        InputError: it cannot.
    """
    check = getattr(odometer, "require_reads", None)
    if check is not None:
        check(rule)
    odometer.bound(rule.start())


def read_filter(data: object) -> Filter[Any]:
    """The filter that wrote this JSON."""
    from dosimeter.adaptive.filters import filter_from_json

    return filter_from_json(data)


def read_odometer(data: object) -> Any:
    """The odometer that wrote this JSON."""
    from dosimeter.adaptive.odometers import odometer_from_json

    return odometer_from_json(data)
