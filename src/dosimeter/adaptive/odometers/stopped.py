"""What an odometer says when rounds may fail: a statement about stopped runs, of a type of its own.

An (epsilon, delta)-DP round is, for a bystander who also sees a flag, an epsilon-DP round that fails with probability
delta. The loss of that enlarged interaction obeys the odometer as long as no flag is raised, and the real transcript
is a post-processing of it. So a run stopped while the reading is at most epsilon is differentially private; the loss
that did occur is not bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, final

from dosimeter.adaptive.odometers.jsonform import configuration_to_json
from dosimeter.adaptive.odometers.reading import STOPPED_RUN, LossOdometer, StoppedRunBound
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_down, subtract_up


@final
@dataclass(frozen=True, slots=True)
class StoppedRunOdometer:
    """A loss odometer read for (epsilon, delta)-DP, approximate zCDP or approximate GDP rounds.

    Guarantee:
        Fix an epsilon. A fully adaptive run that never goes past a reading of epsilon, and whose declared deltas add
        up to at most `declared_delta`, is (epsilon, delta)-DP with delta = declared_delta + (1 - declared_delta)
        crossing_probability. A loss bound is not implied.

    Args:
        odometer: the loss odometer to read.
        declared_delta: the share of delta for failing rounds, 0 or in [1e-300, 1), fixed beforehand.

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 3, restricted to what holds for DP rounds; decomposition:
        Kairouz, Oh, Viswanath 2015.
    """

    odometer: LossOdometer
    declared_delta: Decimal = ZERO
    kind: ClassVar[str] = "stopped_run"
    semantics: ClassVar[str] = STOPPED_RUN

    def __post_init__(self) -> None:
        if not isinstance(self.odometer, LossOdometer):
            raise InputError(f"a stopped-run odometer reads a loss odometer, not a {type(self.odometer).__name__}")
        share = amount(self.declared_delta, "declared_delta", round_up=False, zero=True, below_one=True)
        object.__setattr__(self, "declared_delta", share)

    @property
    def delta(self) -> Decimal:
        """The delta of every stopped run: failures and crossings together, rounded up."""
        own = self.odometer.crossing_probability
        return min(ONE, subtract_up(add_up(self.declared_delta, own), multiply_down(self.declared_delta, own)))

    def bound(self, state: Any) -> Decimal:
        """The reading, rounded up.

        Raises:
            NoGuaranteeError: the state's declared delta is beyond `declared_delta`.
        """
        if not isinstance(getattr(state, "delta", None), Decimal):
            raise InputError(f"a {type(state).__name__} is not a filter's state; read the state that `admit` returned")
        if not state.delta <= self.declared_delta:
            raise NoGuaranteeError(
                f"the rounds declared delta={state.delta}, beyond the odometer's share of {self.declared_delta}"
            )
        return self.odometer.bound(_Intact(state))

    def read(self, state: Any) -> StoppedRunBound:
        """The reading with its meaning."""
        return StoppedRunBound(self.bound(state), self.delta)

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        return configuration_to_json(self)


class _Intact:
    """The same state in the enlarged interaction while no round has failed: its rounds are pure there."""

    __slots__ = ("_state",)

    def __init__(self, state: Any) -> None:
        self._state = state

    @property
    def delta(self) -> Decimal:
        return ZERO

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)
