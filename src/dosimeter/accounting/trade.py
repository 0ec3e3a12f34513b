"""How slack and charge are traded: more slack per query makes it cheaper, and leaves slack for fewer queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from dosimeter.accounting.losses import loss_for
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import count, divide_down
from dosimeter.notions import ResiduePrice

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.profile_filter import ProfileFilter
    from dosimeter.events import Event
    from dosimeter.neighbours import NeighbouringRelation

PLANNED: Final = (10, 30, 100, 300, 1000, 3000, 10_000)


@dataclass(frozen=True, slots=True)
class Trade:
    """With slack for so many queries each may take `share`; `price` is None where that is too little to prove one."""

    queries: int
    share: Decimal
    price: ResiduePrice | None


def slack_trade(
    event: Event,
    filter: ProfileFilter,  # type: ignore[type-arg]  # noqa: A002
    *,
    relation: NeighbouringRelation | str | None = None,
    queries: Sequence[int] = PLANNED,
) -> tuple[Trade, ...]:
    """What an event costs an account that prices whole profiles, by how many queries its slack is planned for.

    Guarantee:
        Each price is one that `loss_for` gives with that share as its `delta`.

    Args:
        event: what is released.
        filter: a residue filter.
        relation: the account's neighbouring relation.
        queries: planned numbers of queries, from 1 on.

    Raises:
        InputError: the filter has no slack.
        NotionError: the event says nothing about this relation.

    Reference:
        Regehr, Hu, Leeman, Manurangsi, Tholoniat, Lecuyer 2026: the slacks of all queries add up.
    """
    slack = getattr(filter, "slack", None)
    if not slack:
        raise InputError("this account has no slack to trade; open a residue filter with some")
    rows = []
    for many in queries:
        share = divide_down(slack, count(many, "queries"))
        try:
            price = loss_for(event, filter, delta=share, relation=relation)
        except NoGuaranteeError:
            rows.append(Trade(many, share, None))
            continue
        rows.append(Trade(many, share, price if isinstance(price, ResiduePrice) else None))
    return tuple(rows)
