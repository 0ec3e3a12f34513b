"""What would fit: after a refusal, the same release with just so much more noise that it is admitted."""

from __future__ import annotations

from dataclasses import replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Final

from dosimeter.accounting.losses import loss_for
from dosimeter.adaptive.filter import Admitted
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Composed, Declared, DeclaredPair, RandomizedResponse, Repeated
from dosimeter.events.sampled import SAMPLED_TYPES
from dosimeter.exact import Number, divide_down, multiply_up

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter
    from dosimeter.events import Event
    from dosimeter.neighbours import NeighbouringRelation

_STEP: Final = Decimal("1.01")  # noise is found within one per cent
_CONTEXT: Final = Context(prec=28)
_LARGEST: Final = 2000  # steps: a factor of about 4e8


def least_noise(
    event: Event,
    filter: Filter[Any],  # noqa: A002
    state: Any,
    *,
    delta: Number | None = None,
    relation: NeighbouringRelation | str | None = None,
) -> Event | None:
    """The event with the least noise, within one per cent, that a filter would admit now; itself if it fits.

    Guarantee:
        The filter admits what is returned at this state.

    Args:
        event: what is released. Noise is scaled in all its parts alike; a randomized response gets a smaller epsilon.
        filter: of the account.
        state: where the account stands.
        delta: as `loss_for` takes it.
        relation: the account's neighbouring relation.

    Returns:
        None where no amount of noise would fit, or a part has no noise that could be scaled.

    Raises:
        NotionError: the event says nothing about this relation.
    """

    def fits(steps: int) -> Event | None:
        try:
            wider = widened(event, _CONTEXT.power(_STEP, steps)) if steps else event
            loss = loss_for(wider, filter, delta=delta, relation=relation)
        except (NoGuaranteeError, InputError):
            return None
        return wider if isinstance(filter.admit(state, loss), Admitted) else None

    low, high, found = -1, 0, fits(0)
    while found is None:
        low, high = high, min(2 * high + 8, _LARGEST)
        if low == high:
            return None
        found = fits(high)
    while high - low > 1:
        middle = (low + high) // 2
        better = fits(middle)
        low, high, found = (middle, high, found) if better is None else (low, middle, better)
    return found


def widened(event: Event, factor: Decimal) -> Event:
    """An event with its noise times `factor`, rounded up.

    Raises:
        InputError: a part is declared and has no noise of its own.
    """
    if isinstance(event, Declared | DeclaredPair):
        raise InputError("a declared guarantee has no noise that could be scaled")
    if isinstance(event, (Repeated, *SAMPLED_TYPES)):
        return replace(event, event=widened(event.event, factor))
    if isinstance(event, Composed):
        return Composed(tuple(widened(part, factor) for part in event.events))
    if isinstance(event, RandomizedResponse):
        return replace(event, epsilon=divide_down(event.epsilon, factor))
    name = "sigma" if hasattr(event, "sigma") else "scale"
    noise: Any = {name: multiply_up(getattr(event, name), factor)}
    return replace(event, **noise)
