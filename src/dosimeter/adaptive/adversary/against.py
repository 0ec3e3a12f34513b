"""The best analyst against a rule whose charges depend on what is left, such as a residue filter's.

What is left is counted in cells. A state between two of them is rounded down for what the analyst certainly reaches,
and up for what she certainly does not exceed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dosimeter.adaptive.adversary.menu import Menu, Offer
from dosimeter.errors import InputError
from dosimeter.exact import Bound, Number, count, to_decimal

if TYPE_CHECKING:
    from decimal import Decimal

    from dosimeter.adaptive.residue.profile_filter import ProfileFilter
    from dosimeter.events import Event
    from dosimeter.notions import Loss

    After = Callable[[int, int, bool], int | None]

LARGEST_CELLS = 100_000


def worst_delta_against(
    events: Sequence[Event], after: After, cells: int, epsilon: Number, step: Number | None = None
) -> Bound:
    """The largest delta at `epsilon` that an adaptive analyst reaches with these events while a rule admits them.

    Guarantee: if `after` rounds as it is asked to, and having more left never leaves less after the same query, no
    analyst who runs mechanisms dominated by the events' pairs reaches more than the upper end; one who runs the events
    themselves reaches the lower end.

    Args:
        events: single releases.
        after: from an event's number, the cells that are left, and whether to round in the analyst's favour, the cells
            that are left afterwards (at least one fewer); None for a refusal.
        cells: what is left at the start, in cells.
        epsilon: any real number.
        step: of the lattice of losses; chosen if not given.

    Reference: backward induction over what the rule has left and the loss.
    """
    from dosimeter.adaptive.adversary.moves import Moves
    from dosimeter.adaptive.adversary.points import Side
    from dosimeter.adaptive.adversary.values import delta_values, directions

    units, level = count(cells, "cells", largest=LARGEST_CELLS), float(to_decimal(epsilon, "epsilon"))
    ends = []
    for favour, side in ((False, Side.DOMINATED), (True, Side.DOMINATING)):
        table = [[after(i, left, favour) for left in range(units + 1)] for i in range(len(events))]
        taken = [[b - left for b, left in enumerate(row) if left is not None] for row in table]
        open_ = [i for i, costs in enumerate(taken) if costs]
        if not open_:
            raise InputError("the rule admits none of these events at any time")
        offers = tuple(Offer(events[i], max(1, min(taken[i]))) for i in open_)
        menu = Menu(offers) if step is None else Menu(offers, step)  # type: ignore[arg-type]
        moves = Moves.table(lambda i, left: table[open_[i]][left], len(open_), units)  # noqa: B023 - used at once
        solved = (delta_values(menu, units, level, side, way, moves=moves) for way in directions(menu))
        ends.append(max(one.value(units) for one in solved))
    low, high = ends
    return Bound(min(low, high), high)


def cells_of(filter_: ProfileFilter[Any], prices: Sequence[Loss], component: str, cells: int) -> After:
    """How a residue filter charges one component of its budget, counted in cells of it.

    The other components have nothing left, and the slack counts as endless.

    Args:
        filter_: its own code decides.
        prices: of the events, for this filter.
        component: a name from its budget, such as mu_squared, or "steps of run 1".
        cells: of the whole component.
    """
    cap = filter_.caps()[component]
    size = cap / cells

    def spent(left: Decimal) -> dict[str, Decimal]:
        return {
            name: cap - left if name == component else most * 0 if name == "delta" else most
            for name, most in filter_.caps().items()
        }

    def after(entry: int, left: int, favour: bool) -> int | None:
        price: Any = prices[entry]
        state = filter_.built(spent(min(cap, left * size)), cap * 0)
        taken = filter_.asked(state, price, 1)[component]
        rest = (left * size - taken) / size
        if rest < 0:
            return None
        whole = int(rest) + (rest != int(rest)) if favour else int(rest)
        return min(whole, left - 1)

    return after
