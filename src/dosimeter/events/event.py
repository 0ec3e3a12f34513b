"""Events: what a release looks like from outside, as frozen data.

An event names the mechanism and the parameters that decide its privacy, never a value. Its JSON form is part of the
ledger, so its meaning never changes: a new meaning gets a new name.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, TypeAlias, final

from dosimeter.errors import InputError
from dosimeter.events.nesting import require_modest
from dosimeter.events.pair import DeclaredPair, require_reason
from dosimeter.events.sampled import FixedSizeSampled, PoissonSampled, RandomAllocation, WithReplacementSampled
from dosimeter.exact import ONE, ZERO, amount, count, show
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP

MAX_PARTS = 10_000
DECLARABLE = (PureDP, ApproxDP, ZCDP, RDP, GDP)


@final
@dataclass(frozen=True, slots=True)
class Gaussian:
    """Continuous Gaussian noise of standard deviation `sigma` on a value of L2 sensitivity `l2_sensitivity`."""

    sigma: Decimal
    l2_sensitivity: Decimal = ONE
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", amount(self.sigma, "sigma", round_up=False))
        object.__setattr__(self, "l2_sensitivity", amount(self.l2_sensitivity, "l2_sensitivity"))


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Discrete Gaussian noise of parameter `sigma` on integers of L2 sensitivity `l2_sensitivity`.

    On a lattice of another step, give both parameters in steps.
    """

    sigma: Decimal
    l2_sensitivity: Decimal = ONE
    kind: ClassVar[str] = "discrete_gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", amount(self.sigma, "sigma", round_up=False))
        object.__setattr__(self, "l2_sensitivity", amount(self.l2_sensitivity, "l2_sensitivity"))


@final
@dataclass(frozen=True, slots=True)
class Laplace:
    """Continuous Laplace noise of scale `scale` on a value of L1 sensitivity `l1_sensitivity`."""

    scale: Decimal
    l1_sensitivity: Decimal = ONE
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", amount(self.scale, "scale", round_up=False))
        object.__setattr__(self, "l1_sensitivity", amount(self.l1_sensitivity, "l1_sensitivity"))


@final
@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Discrete Laplace noise of scale `scale` on integers of L1 sensitivity `l1_sensitivity`."""

    scale: Decimal
    l1_sensitivity: Decimal = ONE
    kind: ClassVar[str] = "discrete_laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", amount(self.scale, "scale", round_up=False))
        object.__setattr__(self, "l1_sensitivity", amount(self.l1_sensitivity, "l1_sensitivity"))


@final
@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """(epsilon, delta)-randomized response: the canonical worst case, and a mechanism of its own."""

    epsilon: Decimal
    delta: Decimal = ZERO
    kind: ClassVar[str] = "randomized_response"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", zero=True))
        object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, below_one=True))
        if not self.epsilon and not self.delta:
            raise InputError(
                "randomized response with epsilon=0 and delta=0 reveals nothing; there is nothing to charge"
            )


@final
@dataclass(frozen=True, slots=True)
class Declared:
    """A third party's mechanism, taken at its word: the claimed guarantee and why it is believed.

    The reason stays in the ledger for ever; every statement shows that this charge was declared, not derived.
    """

    loss: PureDP | ApproxDP | ZCDP | RDP | GDP
    reason: str
    kind: ClassVar[str] = "declared"

    def __post_init__(self) -> None:
        if type(self.loss) not in DECLARABLE:
            names = ", ".join(t.__name__ for t in DECLARABLE)
            raise InputError(f"a declared loss is one of {names}; got {type(self.loss).__name__}")
        require_reason(self.reason)


@final
@dataclass(frozen=True, slots=True)
class Repeated:
    """`count` independent runs of one event with the same parameters."""

    event: Event
    count: int
    kind: ClassVar[str] = "repeated"

    def __post_init__(self) -> None:
        require_event(self.event)
        object.__setattr__(self, "count", count(self.count, "count"))
        require_modest(self)


@final
@dataclass(frozen=True, slots=True)
class Composed:
    """Several events released together, all parameters fixed before the first of them."""

    events: tuple[Event, ...]
    kind: ClassVar[str] = "composed"

    def __post_init__(self) -> None:
        if not isinstance(self.events, tuple | list):
            raise InputError(f"events={show(self.events)} is not a tuple of events")
        if not 1 <= len(self.events) <= MAX_PARTS:
            raise InputError(f"a composed event has 1 to {MAX_PARTS} parts; got {len(self.events)}")
        object.__setattr__(self, "events", tuple(self.events))
        for event in self.events:
            require_event(event)
        require_modest(self)


Event: TypeAlias = (
    Gaussian
    | DiscreteGaussian
    | Laplace
    | DiscreteLaplace
    | RandomizedResponse
    | Declared
    | DeclaredPair
    | Repeated
    | Composed
    | PoissonSampled
    | FixedSizeSampled
    | WithReplacementSampled
    | RandomAllocation
)
EVENT_TYPES = (
    Gaussian,
    DiscreteGaussian,
    Laplace,
    DiscreteLaplace,
    RandomizedResponse,
    Declared,
    DeclaredPair,
    Repeated,
    Composed,
    PoissonSampled,
    FixedSizeSampled,
    WithReplacementSampled,
    RandomAllocation,
)


def require_event(value: object) -> None:
    """Refuse anything that is not one of the events above."""
    if type(value) not in EVENT_TYPES:  # a subclass could say one thing to the table and another to the ledger
        names = ", ".join(t.__name__ for t in EVENT_TYPES)
        raise InputError(f"{type(value).__name__} is not an event; use one of: {names}")
