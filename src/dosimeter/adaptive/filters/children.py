"""Sub-budgets: parts of one filter's budget, handed to teams or tasks that then run at the same time.

The parent pays a child's whole cap when the child is opened, so children can never spend more together than the parent
has, whatever they do and in whatever order their queries interleave. When a child is closed its cap is exchanged for
what it really spent: on every path the queries admitted so far, plus the caps still open, stay within the parent's
budget, and the interleaved queries are one adaptive interaction of the parent's filter.

Children's analysts see each other's answers. That is allowed here *because* the parent holds one filter over all of
them; budgets per analyst without it promise nothing about the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from dosimeter.adaptive.filter import Admitted, Refused
from dosimeter.adaptive.filters.basic import BasicFilter
from dosimeter.adaptive.filters.gdp import GDPFilter
from dosimeter.adaptive.filters.pure import PureFilter
from dosimeter.adaptive.filters.rdp import RDPCurveFilter
from dosimeter.adaptive.filters.sums import SumFilter
from dosimeter.adaptive.filters.zcdp import ZCDPFilter
from dosimeter.errors import InputError, NotionError
from dosimeter.exact import show
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, PureDP

State = TypeVar("State")
Child: TypeAlias = PureFilter | BasicFilter | ZCDPFilter | RDPCurveFilter | GDPFilter


@dataclass(frozen=True, slots=True)
class OpenChild:
    """A child at work: the cap that the parent paid, the filter that enforces it, what the child used."""

    cap: Loss
    filter: Child
    state: Any


@dataclass(frozen=True, slots=True)
class Family(Generic[State]):
    """A parent filter, what it is committed to, and its open children. A value: every verb returns the next one.

    Args:
        parent: the filter whose budget is shared out.
        settled: the parent's state over its own queries and over closed children.
        children: the open children by name.
    """

    parent: SumFilter[State, Any]
    settled: State
    children: Mapping[str, OpenChild]

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", MappingProxyType(dict(self.children)))  # what is promised stays promised

    @classmethod
    def start(cls, parent: SumFilter[State, Any]) -> Family[State]:
        """No children, nothing spent."""
        return Family(parent, parent.start(), {})

    def committed(self) -> State:
        """The parent's state with every open cap paid in full: what may no longer be promised to anyone else."""
        return _pay(self.parent, self.settled, [child.cap for child in self.children.values()])

    def realised(self) -> State:
        """The parent's state with open children at what they used so far: what odometers read."""
        return _pay(self.parent, self.settled, [_used(child) for child in self.children.values()])

    def admit(self, loss: Loss) -> Admitted[Family[State]] | Refused:
        """A query of the parent itself: admitted when it fits beside everything that is committed."""
        answer = self.parent.admit(self.committed(), loss)
        if isinstance(answer, Refused):
            return answer
        return Admitted(Family(self.parent, _pay(self.parent, self.settled, [loss]), self.children))

    def open(self, name: str, cap: Loss) -> Admitted[Family[State]] | Refused:
        """Open a child whose queries may cost at most `cap` together, a loss in the parent's notion.

        Returns:
            The family with the child, or the parent's refusal when the cap does not fit beside what is committed.

        Raises:
            InputError: a child of this name is open, or the cap is not a budget.
            NotionError: the cap is in another notion than the parent's.
        """
        if not isinstance(name, str) or not name:
            raise InputError(f"a child's name is a text that is not empty; got {show(name)}")
        if name in self.children:
            raise InputError(f"a child named {show(name)} is open; close it first, or choose another name")
        answer = self.parent.admit(self.committed(), cap)
        if isinstance(answer, Refused):
            return answer
        child = child_filter(cap)
        return Admitted(self._with(name, OpenChild(cap, child, child.start())))

    def spend(self, name: str, loss: Loss) -> Admitted[Family[State]] | Refused:
        """A query of a child: admitted when the child's own filter admits it; the parent has paid already."""
        child = self._child(name)
        answer = child.filter.admit(child.state, loss)
        if isinstance(answer, Refused):
            return answer
        return Admitted(self._with(name, OpenChild(child.cap, child.filter, answer.state)))

    def close(self, name: str) -> Family[State]:
        """End a child: the parent keeps what it used, the rest of its cap is free again."""
        child = self._child(name)
        rest = {other: value for other, value in self.children.items() if other != name}
        return Family(self.parent, _pay(self.parent, self.settled, [_used(child)]), rest)

    def remaining(self, name: str | None = None) -> dict[str, str]:
        """What a child, or (without a name) the parent, has left to spend or to hand out."""
        if name is None:
            return self.parent.remaining(self.committed())
        child = self._child(name)
        return child.filter.remaining(child.state)

    def _child(self, name: str) -> OpenChild:
        if name not in self.children:
            raise InputError(f"no child named {show(name)} is open")
        return self.children[name]

    def _with(self, name: str, child: OpenChild) -> Family[State]:
        return Family(self.parent, self.settled, {**self.children, name: child})


def child_filter(cap: Loss) -> Child:
    """The filter that keeps a child within a cap: plain sums in the cap's notion.

    Guarantee:
        The child's admitted losses, as one interaction, cost at most the cap in that notion.

    Raises:
        NotionError: no filter adds up losses of the cap's notion.
    """
    if isinstance(cap, PureDP):
        return PureFilter(cap.epsilon)
    if isinstance(cap, ApproxDP):
        return BasicFilter(cap.epsilon, cap.delta)
    if isinstance(cap, ZCDP):
        return ZCDPFilter(cap.rho, cap.delta)
    if isinstance(cap, RDP):
        return RDPCurveFilter(cap.orders, cap.epsilons, cap.delta)
    if isinstance(cap, GDP):
        return GDPFilter(cap.mu, cap.delta)
    raise NotionError(f"no filter adds up losses of the notion {show(getattr(cap, 'notion', cap))}")


def _used(child: OpenChild) -> Loss:
    used: Loss = child.filter.running_sum(child.state)
    return used


def _pay(parent: SumFilter[State, Any], state: State, losses: list[Loss]) -> State:
    for loss in losses:  # admitted when they were opened or asked; what is paid here is never more than was promised
        state = parent.advance(state, loss, 1)
    return state
