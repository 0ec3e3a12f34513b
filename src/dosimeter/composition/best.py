"""The best valid theorem for a composition that is fixed in advance, by name.

Every mechanism keeps all its descriptions; every theorem whose needs are met answers; the smallest epsilon wins. The
answer says which theorem it is and what the others said, so that nobody has to believe a bare number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

from dosimeter.composition.advanced import advanced_kov, advanced_zcdp
from dosimeter.composition.basic import basic
from dosimeter.composition.descriptions import ORDERS, Description, describe
from dosimeter.composition.heterogeneous import optimal_heterogeneous_epsilon
from dosimeter.composition.homogeneous import optimal_homogeneous_epsilon
from dosimeter.composition.mixed import mixed_epsilon
from dosimeter.composition.parts import read_delta, slack_for
from dosimeter.composition.profile import privacy_loss_distribution
from dosimeter.composition.sums import gaussians_epsilon, gdp_sum, rdp_sum, zcdp_sum
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event, Gaussian
from dosimeter.events.opening import open_event
from dosimeter.exact import Number
from dosimeter.exact import count as checked
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import ApproxDP


@dataclass(frozen=True, slots=True)
class Considered:
    """What one theorem said: an epsilon, or why it does not apply."""

    theorem: str
    epsilon: Decimal | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Best:
    """The guarantee, the theorem that gives it, and every theorem that was asked."""

    theorem: str
    guarantee: ApproxDP
    considered: tuple[Considered, ...]


def best(
    events: Iterable[Event | tuple[Event, int]],
    delta: Number,
    neighbouring_relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE,
) -> Best:
    """The smallest epsilon that any theorem of this room proves for these events at `delta`.

    Guarantee: the events' mechanisms, each chosen with knowledge of earlier answers but with parameters, order and
    number fixed in advance, are together (epsilon, delta)-DP under the relation their sensitivities are stated for.

    Args:
        events: what is released; nested events are opened; pairs are an event and a count.
        delta: the total delta, 0 or in [1e-300, 1).
        neighbouring_relation: that relation; sampled events have theorems under some relations only.

    Raises:
        NoGuaranteeError: no theorem applies (for example, delta is 0 and an event has no pure guarantee).

    Reference: named in the answer; `theorems()` has the table.
    """
    counts = _read(events)
    target = read_delta(delta)
    described = {event: describe(event) for event in counts}
    theorems = _applicable(described, counts, target)
    theorems["privacy_loss_distribution"] = lambda: (
        privacy_loss_distribution(counts.items(), target, neighbouring_relation).upper
    )
    considered = tuple(_ask(name, theorem) for name, theorem in theorems.items())
    valid = [(entry.epsilon, entry.theorem) for entry in considered if entry.epsilon is not None]
    if not valid:
        reasons = "; ".join(f"{entry.theorem}: {entry.reason}" for entry in considered) or "none knows these events"
        raise NoGuaranteeError(f"no composition theorem applies at delta={target}: {reasons}")
    epsilon, name = min(valid, key=lambda pair: pair[0])
    return Best(name, ApproxDP(epsilon, target), considered)


def _applicable(
    described: dict[Event, Description], counts: dict[Event, int], delta: Decimal
) -> dict[str, Callable[[], Decimal]]:
    """The theorems whose needs are met; on a tie the earlier one, which says more simply, is named."""
    found: dict[str, Callable[[], Decimal]] = {}
    pairs = [(d.approx, counts[e]) for e, d in described.items() if d.approx is not None]
    gdps = [(d.gdp, counts[e]) for e, d in described.items() if d.gdp is not None]
    gaussians = [(e, times) for e, times in counts.items() if isinstance(e, Gaussian)]
    zcdps = [(d.zcdp, counts[e]) for e, d in described.items() if d.zcdp is not None]
    rdps = [(bound, counts[e]) for e, d in described.items() if (bound := d.rdp(_orders(described)))]
    everything = len(described)
    if len(pairs) == everything:
        found["basic"] = lambda: _within(basic(pairs), delta)
        found["advanced_kov"] = lambda: advanced_kov(pairs, slack_for(pairs, delta)).epsilon
        found["advanced_zcdp"] = lambda: advanced_zcdp(pairs, slack_for(pairs, delta)).epsilon
        if len({pair for pair, _ in pairs}) == 1:
            (pair, _), total = pairs[0], sum(times for _, times in pairs)
            found["optimal_homogeneous"] = lambda: optimal_homogeneous_epsilon(pair, total, delta)
        else:
            found["optimal_heterogeneous"] = lambda: optimal_heterogeneous_epsilon(pairs, delta).upper
    if len(gaussians) == everything:
        found["gaussians"] = lambda: gaussians_epsilon(gaussians, delta)
    if len(gdps) == everything:
        found["gdp_sum"] = lambda: gdp_sum(gdps, delta).epsilon
    elif gdps and len(pairs) + len(gdps) == everything:
        found["mixed"] = lambda: mixed_epsilon(gdps, pairs, delta)
    if len(zcdps) == everything:
        found["zcdp_sum"] = lambda: zcdp_sum(zcdps, delta).epsilon
    if len(rdps) == everything:
        found["rdp_sum"] = lambda: rdp_sum(rdps, delta).epsilon
    return found


def _orders(described: dict[Event, Description]) -> tuple[Decimal, ...]:
    """The usual orders, or those that every event with a listed curve has in common."""
    common: set[Decimal] | None = None
    for description in described.values():
        if description.orders is not None:
            common = set(description.orders) if common is None else common & set(description.orders)
    return ORDERS if common is None else tuple(sorted(common))


def _within(guarantee: ApproxDP, delta: Decimal) -> Decimal:
    if guarantee.delta > delta:
        raise NoGuaranteeError(f"the mechanisms' own deltas add up to {guarantee.delta:.6g}")
    return guarantee.epsilon


def _ask(name: str, theorem: Callable[[], Decimal]) -> Considered:
    try:
        return Considered(name, theorem())
    except (NoGuaranteeError, InputError) as error:
        return Considered(name, None, str(error))


def _read(events: Iterable[Event | tuple[Event, int]]) -> dict[Event, int]:
    counts: dict[Event, int] = {}
    for entry in events:
        event, times = entry if isinstance(entry, tuple) else (entry, 1)
        times = checked(times, "count")
        for single, inside in open_event(event).items():
            counts[single] = counts.get(single, 0) + times * inside
    if not counts:
        raise InputError("a composition needs at least one event; nothing was given")
    return counts
