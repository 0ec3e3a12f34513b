"""What a privacy filter owes: a pure, resumable rule that admits a query only while the total certainly holds.

A filter is configuration (frozen); its state is a separate frozen value. `admit` looks ahead by one: it decides about
the next query before that query runs. A refusal changes nothing, and a cheaper query may follow: refused queries are
rounds of cost zero, and whether a query is refused depends on parameters alone, never on an unreleased answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from dosimeter.exact import brief_down, brief_up
from dosimeter.notions import Loss

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Admitted(Generic[State]):
    """The query may run; `state` includes its loss."""

    state: State


@dataclass(frozen=True, slots=True)
class Refused:
    """The query may not run. `requested`, `spent`, `remaining` and `budget` are texts by quantity, e.g. rho, delta."""

    code: str  # "over_budget", or "over_delta" when only the probability of failure does not fit
    requested: dict[str, str]
    spent: dict[str, str]
    remaining: dict[str, str]
    budget: dict[str, str]
    exceeded: tuple[str, ...] = ()  # the quantities that do not fit

    def message(self) -> str:
        """One sentence for a person: what was asked, what is left, what to do."""
        names = [name for name in self.exceeded or self.budget if name in self.requested]
        parts = [
            f"{name}: asked {brief_up(self.requested[name])}, remaining {brief_down(self.remaining[name])} "
            f"of {brief_down(self.budget[name])}"
            for name in names
        ]
        if self.code == "over_delta" and self.budget.get("delta") == "0":
            way_out = (
                "nothing is set aside for mechanisms that may fail; use one that never does, such as Gaussian noise"
            )
        elif self.code == "over_delta":
            way_out = "ask with a smaller delta, or use a mechanism that never fails"
        elif {"largest_mu", "largest_epsilon"} <= self.remaining.keys():
            mu, epsilon = (brief_down(self.remaining[name]) for name in ("largest_mu", "largest_epsilon"))
            way_out = f"ask with more noise: Gaussian noise of mu {mu} fits, or a pure query of epsilon {epsilon}"
        else:
            way_out = "ask with more noise, or ask something cheaper"
        return "refused, " + "; ".join(parts) + "; " + way_out


class FilterState(Protocol):
    """What every state offers, so that any odometer can read any filter's state."""

    @property
    def intrinsic_time(self) -> Decimal | None:
        """V = 2 sum rho over the admitted queries, rounded up; None for a state that knows Renyi orders only."""
        ...

    @property
    def delta(self) -> Decimal:
        """The sum of the failure probabilities of the admitted queries, rounded up."""
        ...


class Filter(Protocol[State]):
    """A rule proven under full adaptivity (mechanisms and parameters may depend on every earlier answer)."""

    kind: ClassVar[str]  # the name in JSON, e.g. "approx"
    notion: ClassVar[str]  # the notion in which it takes losses, e.g. "zcdp"

    def start(self) -> State:
        """The state before the first query."""
        ...

    def admit(self, state: State, loss: Loss) -> Admitted[State] | Refused:
        """Decide about one query in constant time. A loss of another notion raises NotionError."""
        ...

    def budget(self) -> dict[str, str]:
        """The caps, by quantity, rounded down."""
        ...

    def spent(self, state: State) -> dict[str, str]:
        """What the admitted queries have used, by quantity, rounded up."""
        ...

    def remaining(self, state: State) -> dict[str, str]:
        """What is left, by quantity, rounded down."""
        ...

    def guarantee(self) -> Loss:
        """What the whole interaction satisfies, whatever the analyst does."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        ...

    def state_to_json(self, state: State) -> dict[str, Any]:
        """The state, numbers as texts."""
        ...

    def state_from_json(self, data: object) -> State:
        """Read a state back; raises InputError for anything else."""
        ...
