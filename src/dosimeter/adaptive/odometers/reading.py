"""What an odometer says, in two forms that are different claims and therefore different types.

`LossBound` is about the loss itself: with the stated probability it has never exceeded its bound, at any moment,
however the moment is chosen. `StoppedRunBound` is about runs: whoever always stops before the reading passes a fixed
epsilon has run an (epsilon, delta)-DP interaction. The first implies the second; the second says nothing about the
loss that did occur, and rounds that are only (epsilon, delta)-DP give nothing more (a run can lose 0.51 for sure while
every reading stays below 0.16).

Neither is a differential privacy guarantee at a random epsilon. A plain sum of epsilons is a running sum, and is not
called an odometer here.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from dosimeter.adaptive.odometers.jsonform import configuration_to_json
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ZERO

if TYPE_CHECKING:
    from dosimeter.adaptive.roots import ValueAndSlope

LOSS: Final = "loss"
STOPPED_RUN: Final = "dp"


@dataclass(frozen=True, slots=True)
class LossBound:
    """With probability at least 1 - crossing_probability, the loss never exceeded its reading, now and at any time.

    Args:
        epsilon: the reading, rounded up.
        crossing_probability: the probability that some reading of the whole interaction is too small.
    """

    epsilon: Decimal
    crossing_probability: Decimal
    semantics: ClassVar[str] = LOSS


@dataclass(frozen=True, slots=True)
class StoppedRunBound:
    """A run that is always stopped while its reading is at most a fixed epsilon is (epsilon, delta)-DP.

    Args:
        epsilon: the reading, rounded up.
        delta: crossing probability and declared failures together, rounded up.
    """

    epsilon: Decimal
    delta: Decimal
    semantics: ClassVar[str] = STOPPED_RUN


class Timed(Protocol):
    """A filter's state that keeps the intrinsic time V = 2 sum rho and the declared probability of failure."""

    @property
    def intrinsic_time(self) -> Decimal | None: ...  # None where only Renyi bounds are kept

    @property
    def delta(self) -> Decimal: ...


class LossOdometer(abc.ABC):
    """A curve fixed before the interaction, read from any filter's state; a subclass is final and says which theorem.

    Reading changes nothing, so two readings are equal.
    """

    __slots__ = ()
    kind: ClassVar[str]  # the name in JSON
    semantics: ClassVar[str] = LOSS
    delta: Decimal

    @property
    def crossing_probability(self) -> Decimal:
        """The probability that any reading of the whole interaction is too small."""
        return self.delta

    @abc.abstractmethod
    def bound(self, state: Any) -> Decimal:
        """The reading for a state, rounded up.

        Raises:
            NoGuaranteeError: the state's rounds do not allow a statement about the loss itself.
            InputError: the value is not a filter's state.
        """

    def read(self, state: Any) -> LossBound:
        """The reading with its meaning."""
        return LossBound(self.bound(state), self.crossing_probability)

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        return configuration_to_json(self)


class BettingOdometer(LossOdometer):
    """A loss odometer that also shows its supermartingale, so that several can be combined by averaging."""

    __slots__ = ()

    @abc.abstractmethod
    def log_wealth(self, time: Decimal) -> ValueAndSlope:
        """Log of the supermartingale (started at 1) at V = time, as a function of L - V/2, with its slope."""


def require_pointwise(state: Any) -> None:
    """Refuse a state whose rounds may fail: for them the loss itself has no bound of this form.

    Raises:
        NoGuaranteeError: the state has a declared delta.
        InputError: the value is not a filter's state.
    """
    delta = getattr(state, "delta", None)
    if not isinstance(delta, Decimal):
        raise InputError(f"a {type(state).__name__} is not a filter's state; read the state that `admit` returned")
    if delta > ZERO:
        raise NoGuaranteeError(
            f"rounds with a declared delta (here {delta}) have no bound on the loss itself; wrap the odometer in "
            "StoppedRunOdometer for a statement about stopped runs, or in ProbabilisticOdometer if every round is "
            "(epsilon, delta)-pDP"
        )


def pointwise_time(state: Timed) -> Decimal:
    """The intrinsic time of a state whose rounds are pure.

    Raises:
        NoGuaranteeError: the state has a declared delta, or keeps Renyi bounds instead of an intrinsic time.
    """
    require_pointwise(state)
    time = getattr(state, "intrinsic_time", None)
    if not isinstance(time, Decimal):
        raise NoGuaranteeError("this state keeps Renyi bounds, not an intrinsic time; use an RDP odometer")
    return time
