"""Which account to open: how much of what people expect to ask each kind of filter would admit, and why one is best.

A choice of filter is made once, before the first query. Every number here comes from the real filters charging the real
losses, so what is admitted here is admitted there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from dosimeter.accounting.advice.openings import (
    COMPARISON_ONLY,
    DECLARED_IN_ADVANCE,
    OPENINGS,
    PREFERENCE,
    needs_statement,
)
from dosimeter.accounting.advice.target import Sketch, Target
from dosimeter.accounting.losses import loss_for
from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import FILTER_KINDS, FILTERS, AnyFilter, filter_to_json
from dosimeter.errors import DosimeterError
from dosimeter.exact import Number, divide_down, subtract_down
from dosimeter.notions import Loss

MOST: Final = 10**9  # more queries than this are not counted
ADVANTAGE: Final = 1.05  # how much more a filter must admit that is good for the declared queries only


@final
@dataclass(frozen=True, slots=True)
class Offer:
    """What one kind of filter would do for a sketch.

    Args:
        kind: the filter's kind.
        filter: as it would be opened; None where it cannot keep the target or cannot price the sketch.
        admitted: how many queries in the sketch's proportions it admits in total.
        parts: how many of each event these are.
        alone: how many of each event it would admit if nothing else were asked.
        reason: why there is no filter.
    """

    kind: str
    filter: AnyFilter | None = None
    admitted: int = 0
    parts: tuple[int, ...] = ()
    alone: tuple[int, ...] = ()
    reason: str = ""

    @property
    def comparison_only(self) -> bool:
        """Whether the filter is proven but never best."""
        return self.kind in COMPARISON_ONLY

    @property
    def in_words(self) -> str:
        """What the kind is."""
        return FILTER_KINDS[self.kind]

    def to_json(self) -> dict[str, Any]:
        """Everything, with the filter as it is stored."""
        if self.filter is None:
            return {"kind": self.kind, "filter": None, "reason": self.reason}
        return {
            "kind": self.kind,
            "filter": filter_to_json(self.filter),
            "admitted": self.admitted,
            "parts": list(self.parts),
            "alone": list(self.alone),
            "comparison_only": self.comparison_only,
        }


@final
@dataclass(frozen=True, slots=True)
class Advice:
    """Every kind of filter, the one that admits most first, and which of them to open.

    Args:
        target: the promise for everything together.
        sketch: what people expect to ask.
        offers: one for each kind of filter.
        recommended: the one to open; None where no kind keeps the target for this sketch.
        reasons: why, in sentences.
    """

    target: Target
    sketch: Sketch
    offers: tuple[Offer, ...]
    recommended: Offer | None
    reasons: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything; parts are in the sketch's order."""
        from dosimeter.events import event_to_json

        return {
            "target": self.target.to_json(),
            "relation": str(self.sketch.relation),
            "sketch": [{"event": event_to_json(event), "count": count} for event, count in self.sketch.parts],
            "recommended": None if self.recommended is None else self.recommended.kind,
            "reasons": list(self.reasons),
            "offers": [offer.to_json() for offer in self.offers],
        }


def advise(target: Target, sketch: Sketch, *, watch: Callable[[str], None] | None = None) -> Advice:
    """Which filter to open for what people expect to ask, before anything is asked.

    Guarantee:
        Each offered filter's promise implies the target under full adaptivity, whatever is asked in the end; the
        sketch only decides which one is recommended. The counts are what the filters admit when the sketch is asked in
        its order, in its proportions.

    Args:
        target: the promise for everything together.
        sketch: events with rough counts.
        watch: told the name of each kind before it is tried, for a progress bar.

    Reference:
        The theorems of each kind, on the claims page of filters and of residue filters.
    """
    offers = []
    for kind in FILTERS:
        if watch is not None:
            watch(kind)
        offers.append(offer(kind, target, sketch))
    offers.sort(key=lambda one: (one.filter is None, -one.admitted, one.comparison_only, _rank(one.kind)))
    best = _best(offers)
    return Advice(target, sketch, tuple(offers), best, tuple(_reasons(best, offers, sketch)))


def offer(kind: str, target: Target, sketch: Sketch) -> Offer:
    """What one kind of filter would do for a sketch."""
    opening = OPENINGS.get(kind)
    if opening is None:
        return Offer(kind, reason="how it is opened for a target is not known")
    try:
        return _counted(opening(target, sketch), sketch)
    except DosimeterError as error:
        return Offer(kind, reason=str(error))


def _counted(rule: AnyFilter, sketch: Sketch) -> Offer:
    losses, start = losses_for(rule, sketch), rule.start()
    parts = tuple(sketch.scaled(_largest(lambda n: _fits(rule, start, losses, sketch.scaled(n)))))
    alone = tuple(_largest(lambda n, loss=loss: _fits(rule, start, [loss], [n])) for loss in losses)  # type: ignore[misc]
    return Offer(rule.kind, rule, sum(parts), parts, alone)


def losses_for(rule: AnyFilter, sketch: Sketch) -> list[Loss]:
    """What a filter would charge for each event of a sketch.

    An account in "approx" states Gaussian noise at a delta; here all such queries share what is set aside for them.

    Raises:
        NoGuaranteeError: an event has no price in the filter's notion.
    """
    shares = rule.notion == "approx"
    waiting = sum(n for event, n in sketch.parts if needs_statement(event)) if shares else 0
    each: Number | None = None
    if waiting:
        each = divide_down(subtract_down(rule.caps()["delta"], sketch.own_delta), waiting) or None
    return [
        loss_for(event, rule, delta=each if shares and needs_statement(event) else None, relation=sketch.relation)
        for event, _ in sketch.parts
    ]


def _fits(rule: AnyFilter, state: Any, losses: list[Loss], counts: list[int]) -> bool:
    for loss, count in zip(losses, counts, strict=True):
        if count:
            decision = rule.admit(state, loss, count)
            if not isinstance(decision, Admitted):
                return False
            state = decision.state
    return True


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest whole number up to MOST that fits, where smaller ones fit whenever larger ones do."""
    low, high = 0, 1
    while high <= MOST and fits(high):
        low, high = high, 2 * high
    high = min(high, MOST + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _rank(kind: str) -> int:
    return PREFERENCE.index(kind) if kind in PREFERENCE else len(PREFERENCE)


def _best(offers: list[Offer]) -> Offer | None:
    """The one that admits most; one that is good for the declared queries only must admit clearly more."""
    usable = [one for one in offers if one.filter is not None and one.admitted and not one.comparison_only]
    free = next((one for one in usable if one.kind not in DECLARED_IN_ADVANCE), None)
    bound = next((one for one in usable if one.kind in DECLARED_IN_ADVANCE), None)
    if free is None or bound is None:
        return free or bound
    return bound if bound.admitted > free.admitted and bound.admitted >= ADVANTAGE * free.admitted else free


def _reasons(best: Offer | None, offers: list[Offer], sketch: Sketch) -> Iterator[str]:
    if best is None:
        yield "no kind of filter keeps this target and prices all of these queries; see the reason of each"
        return
    wanted = sketch.queries
    if best.admitted >= MOST:
        yield f"{best.kind} admits more of these queries than anybody counts"
    elif best.admitted >= wanted:
        yield f"{best.kind} admits {best.admitted} queries in these proportions; {wanted} are expected"
    else:
        share = 100 * best.admitted // wanted
        yield f"{best.kind} admits {best.admitted} of the {wanted} queries expected ({share} %); add noise, or ask less"
    yield f"it is {best.in_words}"
    others = [one for one in offers if one is not best and one.filter is not None and not one.comparison_only]
    if others:
        yield f"the next is {others[0].kind} with {others[0].admitted}"
    tighter = [one for one in others if one.admitted > best.admitted]
    if tighter:
        yield f"{tighter[0].kind} admits slightly more, but is good for the declared queries only"


__all__ = ["MOST", "Advice", "Offer", "Sketch", "Target", "advise", "losses_for", "offer"]
