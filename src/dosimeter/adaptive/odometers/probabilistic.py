"""An odometer for the loss itself when rounds are (epsilon, delta)-pDP, with the correction that this needs.

With probability at least 1 - delta_m a round's loss lies within epsilon_m; but conditioning on that shifts the law, and
an odometer that ignores the shift is wrong with probability one (twenty rounds of epsilon = 0.02 can lose 0.4 for sure
against a reading of 0.2754). The shift is at most log(1/(1 - delta_m)) a round and is added here. Since the interval
may be shifted, rounds are charged epsilon^2, not epsilon tanh(epsilon/2); hence a record of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, final

from dosimeter.adaptive.odometers.jsonform import configuration_to_json
from dosimeter.adaptive.odometers.reading import LOSS, BettingOdometer, LossBound, LossOdometer
from dosimeter.adaptive.odometers.union import UnionOdometer
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.exact import ONE, ZERO, add_up, amount, multiply_up
from dosimeter.notions import Loss, ProbabilisticDP, PureDP


@final
@dataclass(frozen=True, slots=True)
class ProbabilisticRecord:
    """Running sums over (epsilon_m, delta_m)-pDP rounds: epsilon^2, delta, and log(1/(1 - delta))."""

    intrinsic_time: Decimal = ZERO
    delta: Decimal = ZERO
    correction: Decimal = ZERO

    def __post_init__(self) -> None:
        for name in ("intrinsic_time", "delta", "correction"):
            object.__setattr__(self, name, amount(getattr(self, name), name, zero=True))


@dataclass(frozen=True, slots=True)
class _PureRounds:
    """What the inner odometer reads: rounds whose losses stayed within their intervals."""

    intrinsic_time: Decimal
    delta: Decimal = ZERO


@final
@dataclass(frozen=True, slots=True)
class ProbabilisticOdometer:
    """A filter, mixture or stitched odometer (or a union of them), corrected for (epsilon, delta)-pDP rounds.

    Guarantee:
        For (epsilon_m, delta_m)-pDP rounds chosen with full adaptivity, at every moment at which the delta_m so far
        add up to at most `declared_delta` the loss is at most its reading, except with probability
        `crossing_probability`. Rounds that are only (epsilon, delta)-DP do not qualify.

    Args:
        odometer: the odometer to correct; a function of the intrinsic time alone.
        declared_delta: the share of delta for rounds outside their interval, 0 or in [1e-300, 1).

    Reference:
        Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 3, corrected: on the good set of round m both laws have mass at
        least 1 - delta_m, which moves the loss by at most log(1/(1 - delta_m)); Hoeffding's lemma for the rest.
    """

    odometer: LossOdometer
    declared_delta: Decimal = ZERO
    kind: ClassVar[str] = "probabilistic"
    semantics: ClassVar[str] = LOSS

    def __post_init__(self) -> None:
        timed = self.odometer.parts if isinstance(self.odometer, UnionOdometer) else (self.odometer,)
        if not all(isinstance(part, BettingOdometer) for part in timed):
            raise InputError("the correction is proven for filter, mixture and stitched odometers and unions of them")
        share = amount(self.declared_delta, "declared_delta", round_up=False, zero=True, below_one=True)
        object.__setattr__(self, "declared_delta", share)

    @property
    def crossing_probability(self) -> Decimal:
        """Crossings and rounds outside their interval together."""
        return min(ONE, add_up(self.odometer.crossing_probability, self.declared_delta))

    def start(self) -> ProbabilisticRecord:
        """The record before the first round."""
        return ProbabilisticRecord()

    def record(self, state: ProbabilisticRecord, loss: Loss) -> ProbabilisticRecord:
        """The record after one more round; the one given is not changed.

        Raises:
            NotionError: the loss is not stated in pDP (or pure DP, which is pDP with delta 0).
        """
        _own(state)
        if not isinstance(loss, ProbabilisticDP | PureDP):
            notion = getattr(loss, "notion", type(loss).__name__)
            raise NotionError(
                f"a loss in the notion {notion!r} does not bound the loss itself; restate the round in pDP, or read "
                "stopped runs instead"
            )
        delta = loss.delta if isinstance(loss, ProbabilisticDP) else ZERO
        return ProbabilisticRecord(
            add_up(state.intrinsic_time, multiply_up(loss.epsilon, loss.epsilon)),
            add_up(state.delta, delta),
            add_up(state.correction, shift(delta)),
        )

    def bound(self, state: ProbabilisticRecord) -> Decimal:
        """The reading, rounded up.

        Raises:
            NoGuaranteeError: the deltas of the record add up to more than `declared_delta`.
        """
        _own(state)
        if state.delta > self.declared_delta:
            raise NoGuaranteeError(
                f"the rounds declared delta={state.delta}, beyond the odometer's share of {self.declared_delta}"
            )
        return add_up(self.odometer.bound(_PureRounds(state.intrinsic_time)), state.correction)

    def read(self, state: ProbabilisticRecord) -> LossBound:
        """The reading with its meaning."""
        return LossBound(self.bound(state), self.crossing_probability)

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        return configuration_to_json(self)


def shift(delta: Decimal) -> Decimal:
    """log(1/(1 - delta)), rounded up: how far conditioning on an event of probability 1 - delta can move a loss."""
    if delta >= ONE:
        raise NoGuaranteeError("a round with delta=1 promises nothing, so its loss has no bound")
    return up(enclose(lambda: -(-ball(delta)).log1p())) if delta else ZERO


def _own(state: object) -> None:
    if not isinstance(state, ProbabilisticRecord):
        raise InputError(
            f"a {type(state).__name__} is not a record of pDP rounds; fold the rounds with `start` and `record`"
        )
