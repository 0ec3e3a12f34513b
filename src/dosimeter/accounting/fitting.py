"""What would fit: after a refusal, the same release with just so much more noise that it is admitted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Final

from dosimeter.accounting.losses import loss_for
from dosimeter.adaptive.filter import Admitted, Refused
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Composed, Declared, DeclaredPair, RandomizedResponse, Repeated
from dosimeter.events.opening import open_event
from dosimeter.events.sampled import SAMPLED_TYPES
from dosimeter.exact import Number, brief_up, divide_down, multiply_up

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter
    from dosimeter.events import Event
    from dosimeter.neighbours import NeighbouringRelation

_STEP: Final = Decimal("1.01")  # noise is found within one per cent
_CONTEXT: Final = Context(prec=28)
_LARGEST: Final = 2000  # steps: a factor of about 4e8
_SHOWN: Final = 3  # parts of an event in a message


@dataclass(frozen=True, slots=True)
class Fit:
    """What a filter would admit now: the event asked for with its noise times `factor`."""

    event: Event
    factor: Decimal

    def in_words(self) -> str:
        """Such as ``the same with 1.09 times the noise would fit now (gaussian, sigma 4.36)``."""
        names = [f"{leaf.kind}, {_noise_in_words(leaf)}" for leaf in open_event(self.event)]
        shown = "; ".join(names[:_SHOWN]) + ("; ..." if len(names) > _SHOWN else "")
        return f"the same with {brief_up(self.factor, 4)} times the noise would fit now ({shown})"


def least_fit(
    event: Event,
    filter: Filter[Any],  # noqa: A002
    state: Any,
    *,
    delta: Number | None = None,
    relation: NeighbouringRelation | str | None = None,
) -> Fit | None:
    """The event with the least noise, within one per cent, that a filter would admit now, and the factor of its noise.

    Guarantee:
        The filter admits what is returned at this state. It depends on the event, the filter and the state alone.

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

    def tried(steps: int) -> Admitted[Any] | Refused | None:
        try:
            loss = loss_for(_wider(event, steps), filter, delta=delta, relation=relation)
        except (NoGuaranteeError, InputError):
            return None
        return filter.admit(state, loss)

    answer = tried(0)
    if isinstance(answer, Admitted):
        return Fit(event, Decimal(1))
    try:
        widened(event, _STEP)
    except InputError:
        return None
    low, high, hop = 0, 0, 1
    at = _guess(answer)
    while not high or high - low > 1:
        if isinstance(tried(at), Admitted):
            high = at
        elif at == _LARGEST:
            return None
        else:
            low = at
        if not high:
            at, hop = min(at + hop, _LARGEST), 4 * hop
        else:
            at, hop = max(high - hop, (low + high) // 2), 4 * hop
    return Fit(_wider(event, high), _CONTEXT.power(_STEP, high))


def least_noise(
    event: Event,
    filter: Filter[Any],  # noqa: A002
    state: Any,
    *,
    delta: Number | None = None,
    relation: NeighbouringRelation | str | None = None,
) -> Event | None:
    """The event of `least_fit`; itself if it fits, and None where nothing does."""
    found = least_fit(event, filter, state, delta=delta, relation=relation)
    return None if found is None else found.event


def _guess(answer: Admitted[Any] | Refused | None) -> int:
    """Steps of noise after which a refusal would turn: losses fall with its square, a pure epsilon with itself."""
    if not isinstance(answer, Refused):
        return 8
    needed = 1.0
    for name in answer.exceeded:
        asked, left = float(answer.requested.get(name, "0")), float(answer.remaining.get(name, "0"))
        if name != "delta" and asked > 0 and left > 0:
            needed = max(needed, (asked / left) ** (1.0 if name == "epsilon" else 0.5))
    return min(max(math.ceil(math.log(needed) / math.log(float(_STEP))), 1), _LARGEST)


def _wider(event: Event, steps: int) -> Event:
    return widened(event, _CONTEXT.power(_STEP, steps)) if steps else event


def _noise_in_words(leaf: Any) -> str:
    inner = leaf
    while hasattr(inner, "event"):
        inner = inner.event
    if hasattr(inner, "events"):
        return "several parts"
    name = next((name for name in ("sigma", "scale", "epsilon") if hasattr(inner, name)), None)
    return "as declared" if name is None else f"{name} {brief_up(getattr(inner, name), 6)}"


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
