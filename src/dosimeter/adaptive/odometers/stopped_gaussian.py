"""A computed odometer for GDP accounts: the worst case of stopping at a reading, whatever mechanisms the account holds.

A GDP round is a randomised image of an increment of a Brownian motion with drift 1/2 in V = sum mu^2, so a run that
stops is an image of the motion stopped at some time. Stopping at the loss l with the reading u shows (1 - e^(u - l))+
of delta beyond u. The range of times is cut into equal steps. Within a step the reading is at least what it was at the
step's beginning, and against a reading that stands still stopping early never helps; so the worst case is at most that
of stopping at the steps' ends with the readings of their beginnings, a finite game (`stopping`).
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, final

from dosimeter.adaptive.filters.gdp import GDPState
from dosimeter.adaptive.odometers.computed import require_certified, tightest_scale
from dosimeter.adaptive.odometers.jsonform import configuration_to_json
from dosimeter.adaptive.odometers.reading import STOPPED_RUN, StoppedRunBound
from dosimeter.adaptive.odometers.shapes import SQUARE_ROOT, Shape, scale_guess, tuned_parameter
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import (
    ONE,
    ZERO,
    Number,
    add_up,
    amount,
    count,
    divide_down,
    multiply_down,
    sqrt_down,
    subtract_up,
    text,
)

_STEPS: Final = 600
_ROUGH: Final = 100
_CELLS: Final = 8  # lattice points per standard deviation of a step
_SMALLEST, _LARGEST = Decimal("1e-12"), Decimal("1e6")


@final
@dataclass(frozen=True, slots=True)
class StoppedGaussianOdometer:
    """V/2 + scale g(V), for runs of a GDP account that stop while V is at most `horizon`.

    Guarantee:
        For a fully adaptive run of (mu_m, delta_m)-approximate GDP rounds whose declared deltas add up to at most
        `declared_delta`: with u the reading at the moment of stopping, however that is chosen, P(S) <= E_Q[e^u; S] +
        delta for every set S of transcripts, with delta = declared_delta + (1 - declared_delta) stopping_delta. So a
        run that never goes past a reading of a fixed epsilon is (epsilon, delta)-DP. A loss bound is not implied.

    Args:
        stopping_delta: the delta of runs without failures, in [1e-200, 1).
        shape: of the part beyond V/2, a key of `SHAPES`.
        parameter: of the shape, an intrinsic time, > 0.
        horizon: the largest intrinsic time that is read, in [1e-12, 1e6].
        scale: c; `computed` finds the smallest.
        declared_delta: the share of delta for failing rounds, 0 or in [1e-300, 1), fixed beforehand.
        steps: of time, in the computation.
        trusted: leaves out the check of the scale, which `verify` makes; for what was stored.

    Raises:
        InputError: the readings are not certified for `stopping_delta`.

    Reference:
        Every mu-GDP round is a randomised image of N(mu, 1) against N(0, 1) (Blackwell 1953; Dong, Roth, Su 2022);
        e^-loss is a martingale and the reward convex in it. Failures: decomposition of Kairouz, Oh, Viswanath 2015.
    """

    stopping_delta: Decimal
    shape: str
    parameter: Decimal
    horizon: Decimal
    scale: Decimal
    declared_delta: Decimal = ZERO
    steps: int = _STEPS
    trusted: InitVar[bool] = False
    kind: ClassVar[str] = "gaussian_stopped"
    semantics: ClassVar[str] = STOPPED_RUN
    certified: ClassVar[bool] = True

    def __post_init__(self, trusted: bool) -> None:
        shape = Shape(self.shape, self.parameter, self.stopping_delta)
        if shape.delta < Decimal("1e-200"):
            raise InputError(f"stopping_delta={self.stopping_delta} is below 1e-200")
        declared = amount(self.declared_delta, "declared_delta", round_up=False, zero=True, below_one=True)
        object.__setattr__(self, "stopping_delta", shape.delta)
        object.__setattr__(self, "parameter", shape.parameter)
        object.__setattr__(self, "horizon", _read_horizon(self.horizon))
        object.__setattr__(self, "scale", amount(self.scale, "scale"))
        object.__setattr__(self, "declared_delta", declared)
        object.__setattr__(self, "steps", count(self.steps, "steps", largest=10_000))
        if not trusted:
            self.verify()

    @classmethod
    def computed(
        cls,
        *,
        delta: Number,
        horizon: Number,
        shape: str = SQUARE_ROOT,
        parameter: Number | None = None,
        declared_delta: Number = 0,
    ) -> StoppedGaussianOdometer:
        """The lowest readings of a shape up to a horizon.

        Args:
            delta: of runs without failures, in [1e-200, 1).
            horizon: the largest intrinsic time that is read, fixed before the interaction; mu^2 of a GDP budget mu.
            shape: a key of `SHAPES`; the square root if not given.
            parameter: of the shape; one that suits the horizon if not given.
            declared_delta: the share of delta for failing rounds, on top.

        Returns:
            The odometer with the smallest scale, to about five digits, that is certified.
        """
        share, end = amount(delta, "delta", round_up=False, below_one=True), _read_horizon(horizon)
        own = Shape(shape, tuned_parameter(shape, end, share) if parameter is None else parameter, share)  # type: ignore[arg-type]

        def delta_of(scale: Decimal, steps: int = _STEPS) -> float:
            return _worst(own, end, scale, steps)

        scale = tightest_scale(delta_of, share, 0.9 * scale_guess(own), lambda c: delta_of(c, _ROUGH))
        return cls(share, own.name, own.parameter, end, scale, declared_delta, trusted=True)  # type: ignore[arg-type]

    @property
    def delta(self) -> Decimal:
        """The delta of every stopped run: failures and the rest together, rounded up."""
        own = self.stopping_delta
        return min(ONE, subtract_up(add_up(self.declared_delta, own), multiply_down(self.declared_delta, own)))

    def verify(self) -> None:
        """Compute the certificate again.

        Raises:
            InputError: the readings are not certified for `stopping_delta`.
        """
        require_certified(self.delta_upper(), self.stopping_delta, self.scale)

    def delta_upper(self) -> float:
        """The certified upper bound of the delta beyond the reading, over all analysts, without failures."""
        return _worst(Shape(self.shape, self.parameter, self.stopping_delta), self.horizon, self.scale, self.steps)

    def bound(self, state: Any) -> Decimal:
        """The reading of a GDP account, rounded up.

        Raises:
            NoGuaranteeError: the account is not kept in GDP, is beyond the horizon, or has declared too much.
            InputError: the value is not a filter's state.
        """
        if not isinstance(getattr(state, "delta", None), Decimal):
            raise InputError(f"a {type(state).__name__} is not a filter's state; read the state that `admit` returned")
        if not isinstance(state, GDPState):
            raise NoGuaranteeError(
                f"a {type(state).__name__} does not say that its rounds reveal at most what Gaussian noise does; keep "
                "the account in GDP (filter `gdp`), or read a mixture odometer"
            )
        if not state.delta <= self.declared_delta:
            raise NoGuaranteeError(
                f"the rounds declared delta={state.delta}, beyond the odometer's share of {self.declared_delta}"
            )
        if state.intrinsic_time > self.horizon:
            raise NoGuaranteeError(
                f"the intrinsic time {text(state.intrinsic_time)} is beyond this odometer's horizon of "
                f"{text(self.horizon)}, which is fixed before the interaction"
            )
        own = Shape(self.shape, self.parameter, self.stopping_delta)
        return own.reading(state.intrinsic_time, self.scale)

    def read(self, state: Any) -> StoppedRunBound:
        """The reading with its meaning."""
        return StoppedRunBound(self.bound(state), self.delta)

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        return configuration_to_json(self)


def _read_horizon(value: Number) -> Decimal:
    horizon = amount(value, "horizon", largest=_LARGEST)
    if horizon < _SMALLEST:
        raise InputError(f"horizon={text(horizon)} is outside [{_SMALLEST:g}, {_LARGEST:g}]")
    return horizon


@lru_cache(maxsize=128)
def _worst(shape: Shape, horizon: Decimal, scale: Decimal, steps: int) -> float:
    from dosimeter.adaptive.adversary import Menu, Offer
    from dosimeter.adaptive.odometers.stopping import worst_stopping
    from dosimeter.events import Gaussian

    noise = Gaussian(sigma=sqrt_down(divide_down(Decimal(steps), horizon)))  # of one step, not more than there is
    menu = Menu((Offer(noise, 1),), Fraction(float(1 / noise.sigma) / _CELLS))
    begun = [shape.reading(horizon * max(0, k - 1) / steps, scale) for k in range(steps + 1)]
    return float(worst_stopping(menu, begun)) * (1 + 1e-15)
