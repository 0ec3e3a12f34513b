"""The exact losses of every mechanism, convolved: what no theorem about epsilon and delta alone can reach."""

from __future__ import annotations

from collections.abc import Iterable

from dosimeter.events import Event
from dosimeter.exact import Bound, Number
from dosimeter.neighbours import NeighbouringRelation


def privacy_loss_distribution(
    events: Iterable[Event | tuple[Event, int]],
    delta: Number,
    neighbouring_relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE,
) -> Bound:
    """The least epsilon of events at `delta` from their privacy loss distributions, enclosed.

    Guarantee: each event's mechanism is dominated by a pair at every real epsilon, and products of dominating pairs
    dominate compositions, adaptive in the choice of mechanism but not of parameters. The upper end holds for the
    mechanisms; the interval holds the exact value for the pairs.

    Args:
        events: what is released, or pairs of an event and a count.
        delta: the total delta, in [1e-300, 1), or 0 where all losses are bounded.
        neighbouring_relation: the relation the events' sensitivities are stated for.

    Raises:
        NoGuaranteeError: no dominating pair is known for an event, or no finite epsilon is enough.

    Reference: Zhu, Dong and Wang 2022, Theorem 10.
    """
    from dosimeter.pld.accountant import Accountant

    accountant = Accountant(neighbouring_relation)
    for entry in events:
        event, times = entry if isinstance(entry, tuple) else (entry, 1)
        accountant.append(event, times)
    return accountant.epsilon(delta)
