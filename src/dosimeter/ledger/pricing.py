"""The ledger's only door to prices: an event goes in, a loss comes out, and no caller can pass a number by it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from dosimeter.adaptive.filter import Filter
from dosimeter.events import Event
from dosimeter.notions import Loss


def price(event: Event, rule: Filter[Any], delta: Decimal | None) -> Loss:
    """What `event` costs an account under `rule`; raises NoGuaranteeError where no theorem gives a price."""
    from dosimeter.accounting import loss_for

    return loss_for(event, rule, delta=delta)


def read_filter(data: object) -> Filter[Any]:
    """The filter that wrote this JSON."""
    from dosimeter.adaptive.filters import filter_from_json

    return filter_from_json(data)


def read_odometer(data: object) -> Any:
    """The odometer that wrote this JSON."""
    from dosimeter.adaptive.odometers import odometer_from_json

    return odometer_from_json(data)
