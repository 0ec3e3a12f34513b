"""Accountant histories of Opacus: rows of (noise multiplier, sample rate, steps), read and written.

A history does not say how batches were made; the data loader does. Rates of a shuffling loader, or of a weighted
sampler, are not Poisson rates, so the reader has to say which it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dosimeter.accounting.batches import Batching, sampled_event
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event, Gaussian, PoissonSampled, require_relation
from dosimeter.events.opening import open_event
from dosimeter.exact import ONE, amount, count, divide_down
from dosimeter.interop.values import float_down, float_up, together
from dosimeter.neighbours import NeighbouringRelation


def from_opacus(
    accountant: object, *, batching: Batching | str, relation: NeighbouringRelation | str = "add_remove"
) -> Event:
    """Read an accountant, its state, or its history as one event.

    Guarantee: every step is there with its own noise and rate, in groups of equal ones. The event is the run's plan,
    had it been fixed in advance; noise that was changed in view of released numbers needs a filter while it happens.

    Args:
        accountant: an object with `history`, a state with the key "history", or the list of rows itself.
        batching: how the loader made batches: "poisson" (its default sampler). Nothing else can be read from a rate.
        relation: add_remove or zero_out.

    Raises:
        NoGuaranteeError: batches were made in a way that a rate does not describe.
        NotionError: a relation that Poisson sampling says nothing about.
        InputError: no history, an empty one, or a row out of range.
    """
    steps: dict[tuple[Any, Any], int] = {}
    for number, row in enumerate(_rows(accountant), 1):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 3:
            raise InputError(f"row {number} of the history is not (noise_multiplier, sample_rate, steps)")
        try:
            key = (amount(row[0], "noise_multiplier", round_up=False), amount(row[1], "sample_rate", largest=ONE))
            steps[key] = steps.get(key, 0) + count(row[2], "steps")
        except InputError as error:
            raise InputError(f"row {number} of the history: {error}") from None
    if not steps:
        raise InputError("the history has no steps, so there is nothing to charge")
    if str(batching) in (Batching.FIXED_SIZE, Batching.WITH_REPLACEMENT, Batching.ALLOCATION):
        raise NoGuaranteeError(
            f"batching={batching}: a sample rate does not give the sizes this scheme needs; build the event with "
            "sampled_event instead"
        )
    return together(
        [
            (sampled_event(Gaussian(noise), batching=batching, relation=relation, probability=rate), times)
            for (noise, rate), times in steps.items()
        ]
    )


def to_opacus(event: Event) -> list[tuple[float, float, int]]:
    """Write Poisson-sampled Gaussian steps as the rows of a history.

    Guarantee: noise is rounded down and rates up, so the history is not more private than the event.

    Raises:
        InputError: a part is not a Gaussian release on a Poisson sample or on all records.
        NotionError: a part's sampling does not speak of add or remove.
    """
    require_relation(event, NeighbouringRelation.ADD_REMOVE)
    rows = []
    for leaf, times in open_event(event).items():
        inner = leaf.event if isinstance(leaf, PoissonSampled) else leaf
        if not isinstance(inner, Gaussian):
            raise InputError(
                f"a history has rows for Gaussian noise on Poisson samples only; this event has a {inner.kind}"
            )
        rate = float_up(leaf.probability) if isinstance(leaf, PoissonSampled) else 1.0
        rows.append((float_down(divide_down(inner.sigma, inner.l2_sensitivity)), rate, times))
    return rows


def _rows(accountant: object) -> Sequence[Any]:
    found = accountant["history"] if isinstance(accountant, Mapping) and "history" in accountant else accountant
    found = getattr(found, "history", found)
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise InputError(
            "no history of (noise_multiplier, sample_rate, steps) was found; give an accountant or its list"
        )
    return found
