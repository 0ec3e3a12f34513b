"""What all filters share: running sums, one comparison, one JSON form. No theorem stands here.

A filter keeps sums by quantity (epsilon, rho, delta, ...). A query fits when every sum that includes it, rounded up,
is certainly at most its cap, rounded down. The state has a fixed size, so a charge costs the same after a million
queries as after none. Each filter beside this file says which quantities it adds up and why that is enough.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeVar, cast

from dosimeter.adaptive.filter import Admitted, Refused
from dosimeter.errors import InputError, NotionError
from dosimeter.exact import ZERO, add_up, amount, certainly_le, show, subtract_down, text, to_decimal
from dosimeter.exact import count as read_count
from dosimeter.notions import Loss

Amounts = Mapping[str, Decimal]
State = TypeVar("State")
Taken = TypeVar("Taken", bound=Loss)


class SumFilter(abc.ABC, Generic[State, Taken]):
    """The verbs of `Filter` in terms of caps, sums and asked amounts. A subclass is final and says which theorem."""

    __slots__ = ()
    kind: ClassVar[str]
    notion: ClassVar[str]
    state_type: ClassVar[type[Any]]
    loss_type: ClassVar[type[Any]]

    @abc.abstractmethod
    def caps(self) -> dict[str, Decimal]:
        """The budget by quantity."""

    @abc.abstractmethod
    def sums(self, state: State) -> dict[str, Decimal]:
        """What the admitted queries used, by the quantities of `caps`."""

    @abc.abstractmethod
    def asked(self, state: State, loss: Taken, count: int) -> dict[str, Decimal]:
        """What `count` such losses add to each quantity."""

    @abc.abstractmethod
    def advance(self, state: State, loss: Taken, count: int) -> State:
        """The state after `count` such losses."""

    @abc.abstractmethod
    def start(self) -> State:
        """The state before the first query."""

    @abc.abstractmethod
    def guarantee(self) -> Loss:
        """What the whole interaction satisfies, whatever the analyst does."""

    def exceeded(self, totals: Amounts) -> tuple[str, ...]:
        """The quantities that stand in the way of these totals; none when the query fits."""
        return tuple(name for name, cap in self.caps().items() if not certainly_le(totals[name], cap))

    def equivalents(self, state: State) -> dict[str, Decimal]:  # noqa: ARG002
        """What is left in other words, for people; decides nothing."""
        return {}

    def admit(self, state: State, loss: Loss, count: int = 1) -> Admitted[State] | Refused:
        """Decide about one query before it runs. The state given is never changed.

        Args:
            state: from `start`, from the last `Admitted`, or read back from JSON.
            loss: what the query would cost, in the filter's notion.
            count: decide about so many queries of this loss at once, all or none, as if they came one by one.

        Returns:
            `Admitted` with the next state when every total certainly fits, else `Refused`.

        Raises:
            NotionError: the loss is of another notion.
            InputError: an amount in the loss is not a finite number at or above zero, or the state is another filter's.
        """
        taken, count = self._take(loss), read_count(count, "count")
        used, wanted = self.sums(self._own(state)), self.asked(state, taken, count)
        over = self.exceeded({name: add_up(used[name], wanted[name]) for name in wanted})
        if not over:
            return Admitted(self.advance(state, taken, count))
        code = "over_delta" if over == ("delta",) else "over_budget"
        caps = self.caps()
        return Refused(code, texts(wanted), texts(used), texts(left(used, caps)), texts(caps), over)

    def budget(self) -> dict[str, str]:
        """The caps, by quantity."""
        return texts(self.caps())

    def spent(self, state: State) -> dict[str, str]:
        """What the admitted queries have used, by quantity, rounded up."""
        return texts(self.sums(self._own(state)))

    def remaining(self, state: State) -> dict[str, str]:
        """What is left, by quantity, rounded down; then the same in words that people use, where there are any."""
        return texts(left(self.sums(self._own(state)), self.caps()) | self.equivalents(state))

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        return write(self.kind, self)

    def state_to_json(self, state: State) -> dict[str, Any]:
        """The state, numbers as texts."""
        return write(self.kind, self._own(state))

    def state_from_json(self, data: object) -> State:
        """Read a state back. One that lies beyond the budget is read too: it admits nothing that costs anything.

        Raises:
            InputError: `state_to_json` of a filter of this kind did not write it.
        """
        state: State = read(self.kind, self.state_type, data)
        self.sums(state)  # a Renyi state must speak of this filter's orders
        return state

    def _take(self, loss: Loss) -> Taken:
        if type(loss) is not self.loss_type:
            given = getattr(loss, "notion", type(loss).__name__)
            raise NotionError(
                f"a loss in the notion {show(given)} cannot be charged to a filter of kind {self.kind!r}, which adds "
                f"up {self.loss_type.__name__}; state the event in that notion, or use a proven conversion"
            )
        require_sums(loss)  # losses check themselves when built; a forged one must not pass either
        return cast("Taken", loss)

    def _own(self, state: State) -> State:
        if type(state) is not self.state_type:
            raise InputError(f"{type(state).__name__} is not a state of a filter of kind {self.kind!r}")
        return state


def left(spent: Amounts, caps: Amounts) -> dict[str, Decimal]:
    """What is left of each cap, rounded down, never below zero."""
    return {name: max(ZERO, subtract_down(cap, spent[name])) for name, cap in caps.items()}


def texts(amounts: Amounts) -> dict[str, str]:
    """Amounts by name, as exact texts."""
    return {name: text(value) for name, value in amounts.items()}


def require_sums(value: Any) -> None:
    """Check the fields of a state or a loss: finite amounts at or above zero, or tuples of them."""
    for field in fields(value):
        held = getattr(value, field.name)
        for item in held if isinstance(held, tuple) else (held,):
            if not (type(item) is Decimal and item.is_finite() and item >= ZERO):  # a subclass answers as it likes
                raise InputError(
                    f"{type(value).__name__}: {field.name}={show(item)} is not a finite amount; nothing was charged"
                )


def write(kind: str, value: Any) -> dict[str, Any]:
    """A state or a filter as JSON: its kind, then its fields as texts."""
    return {"kind": kind, **{f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.init}}


def read(kind: str, built: type[Any], data: object) -> Any:
    """Read back what `write` wrote; unknown and missing fields are refused, as is another kind.

    Raises:
        InputError: the data is anything else.
    """
    own = [f for f in fields(built) if f.init]
    if not isinstance(data, dict) or data.get("kind") != kind:
        got = show(data.get("kind")) if isinstance(data, dict) else type(data).__name__
        raise InputError(f"kind={got} where {kind!r} is expected; {built.__name__} is read from what it wrote")
    if set(data) != {"kind", *(f.name for f in own)}:
        raise InputError(f"{built.__name__} has exactly the fields: {', '.join(['kind', *(f.name for f in own)])}")
    value = built(**{f.name: _exact(data[f.name], f.name, several="tuple" in str(f.type)) for f in own})
    for name, stored in write(kind, value).items():
        if data[name] != stored:  # a ratio, for instance: which way it was rounded would be a guess
            raise InputError(f"{built.__name__}: {name}={show(data[name])} is stored as {show(stored)}; write it so")
    return value


def read_declared(declared_delta: object, delta: Decimal) -> Decimal:
    """Read the part of delta kept for declared failures: 0 or an amount below delta."""
    declared = amount(declared_delta, "declared_delta", round_up=False, zero=True, below_one=True)  # type: ignore[arg-type]
    if declared >= delta:
        raise InputError(
            f"declared_delta={show(declared_delta)} leaves nothing of delta={delta:g} for the composition itself; "
            "keep it below delta"
        )
    return declared


def _plain(value: Any) -> Any:
    return [text(item) for item in value] if isinstance(value, tuple) else text(value)


def _exact(value: object, name: str, *, several: bool) -> Any:
    if several and isinstance(value, list):
        return tuple(_exact(item, name, several=False) for item in value)
    if several or not isinstance(value, str):
        wanted = "a list of texts" if several else "a text"
        raise InputError(f"{name}={show(value)} is not {wanted}; numbers are stored as texts so that nothing is lost")
    return to_decimal(value, name)
