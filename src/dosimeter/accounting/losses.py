"""Event x notion -> loss: the only way from "what is released" to "what it costs".

The event says what the mechanism is; the filter says in which notion the account adds up. Every pair is priced by a
theorem or refused with the reason. Counts are opened by `open_event`, once.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Protocol

from dosimeter.accounting.tables import approx, gdp, menu, pure, rdp, residue, zcdp
from dosimeter.accounting.tables.terms import Table, Terms
from dosimeter.errors import InputError, NotionError
from dosimeter.events import Event, relations_of, require_relation
from dosimeter.events.event import require_event
from dosimeter.events.opening import open_event
from dosimeter.events.sampled import EVERY_RELATION
from dosimeter.exact import Number, amount, show
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import Loss, ResiduePrice

TABLES: dict[str, Table] = {"pure": pure.TABLE, "zcdp": zcdp.TABLE, "rdp": rdp.TABLE, "gdp": gdp.TABLE}
NOTIONS = (*TABLES, "approx", "residue", "menu")


class HasNotion(Protocol):
    """What pricing needs to know about a filter; Renyi filters also have `orders`."""

    @property
    def notion(self) -> str:
        """The notion in which the filter adds up."""
        ...


def loss_for(
    event: Event,
    filter: HasNotion,  # noqa: A002
    *,
    delta: Number | None = None,
    relation: NeighbouringRelation | str | None = None,
) -> Loss:
    """What an event costs in the notion of a filter.

    Guarantee:
        The event's release satisfies the returned guarantee, every number rounded against the spender, for neighbours
        within the event's sensitivity. Parts of an event must have parameters fixed before the first of them runs.
        An event on a sample is priced under the relations of its sampling scheme only.

    Args:
        event: what is released.
        filter: its `notion` decides the unit, its `orders` (Renyi filters) where divergences are stated.
        delta: in the notion "approx": the failure probability, in [1e-300, 1), at which mechanisms without
            an (epsilon, delta) guarantee of their own (Gaussian noise) are stated. It is for the whole event. In the
            notion "residue": the slack that one run of a part may take where it needs any.
        relation: the account's neighbouring relation. It may be left out for events whose price is the same under any
            (those without sampling), since their sensitivity was stated for the account's.

    Returns:
        PureDP, ApproxDP, ZCDP, RDP, GDP, ResiduePrice or MenuPrice, as the filter takes it.

    Raises:
        NoGuaranteeError: no theorem holds the event in this notion; says why and what to do.
        NotionError: the event's sampling scheme says nothing about this relation, or no relation was given for it.
        InputError: not an event; a number outside its range; a notion that no filter adds up.

    Reference:
        One docstring per row in `dosimeter.accounting.tables`.
    """
    terms = Terms(
        orders=tuple(getattr(filter, "orders", ())),
        delta=None if delta is None else amount(delta, "delta", round_up=False, below_one=True),
    )
    _check_relation(event, relation)
    parts = tuple(open_event(event).items())
    if filter.notion == "approx":
        return approx.charge(parts, terms)
    if filter.notion == "residue":
        return residue.charge(parts, filter, terms)
    if filter.notion == "menu":
        return menu.charge(parts, filter)
    if filter.notion not in TABLES:
        raise InputError(f"no account adds up losses in the notion {show(filter.notion)}; use {', '.join(NOTIONS)}")
    table = TABLES[filter.notion]
    priced: list[Any] = [table[type(leaf)](leaf, terms).repeat(count) for leaf, count in parts]  # type: ignore[union-attr]
    total: Loss = reduce(lambda a, b: a.compose(b), priced)
    return total


def is_proven_loss(
    loss: object,
    event: Event,
    filter: HasNotion,  # noqa: A002
    *,
    relation: NeighbouringRelation | str | None = None,
) -> bool:
    """Whether a price list found elsewhere is proven for an event.

    Guarantee:
        If so, charging the list is as sound as charging what `loss_for` returns. Lists are found in floating point with
        counted errors, so another machine's may differ in a last digit and still be proven here.

    Args:
        loss: a ResiduePrice; anything else is not proven this way.
        event: what is released.
        filter: one that prices whole profiles.
        relation: the account's neighbouring relation.
    """
    _check_relation(event, relation)
    if filter.notion != "residue" or not isinstance(loss, ResiduePrice) or not hasattr(filter, "proves"):
        return False
    return residue.is_proven(tuple(open_event(event).items()), filter, loss)


def _check_relation(event: Event, relation: NeighbouringRelation | str | None) -> None:
    require_event(event)
    if relation is not None:
        require_relation(event, relation)
    elif (speaks_of := relations_of(event)) != EVERY_RELATION:
        if not speaks_of:
            require_relation(event, NeighbouringRelation.ADD_REMOVE)
        raise NotionError(
            f"an event on a sample has a price under {' or '.join(sorted(speaks_of))} only; say which neighbours the "
            "account speaks of (relation=...)"
        )
