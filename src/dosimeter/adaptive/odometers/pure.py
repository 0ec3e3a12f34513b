"""A computed odometer for pure DP rounds: no mechanism and no strategy reaches it more often than stated.

The record counts each round at the smallest declared size that covers its epsilon. Against rounds of declared sizes the
worst case over all mechanisms, not only randomized response, is a finite game (`reached`), so the lowest boundary of a
shape is computed, and the bound is on the loss itself. It holds for whatever is epsilon-DP: Laplace noise as well as a
vote.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, final

from dosimeter.adaptive.odometers.computed import require_certified, tightest_scale
from dosimeter.adaptive.odometers.reading import LossOdometer
from dosimeter.adaptive.odometers.shapes import SQUARE_ROOT, Shape, scale_guess, tuned_parameter
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.exact import LARGEST, ONE, ZERO, Number, amount, count, multiply_down, multiply_up, text
from dosimeter.notions import Loss, PureDP

MOST_SIZES: Final = 16
LARGEST_SIZE: Final = 64
MOST_UNITS: Final = 100_000
_SMALLEST_DELTA: Final = Decimal("1e-200")
_LARGEST_STEP: Final = Decimal(10)


@final
@dataclass(frozen=True, slots=True)
class PureRecord:
    """The squares of the sizes of the rounds so far, in squared steps."""

    units: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", count(self.units, "units", smallest=0, largest=10**18))


@final
@dataclass(frozen=True, slots=True)
class PureOdometer(LossOdometer):
    """V/2 + scale g(V), rounded up to whole steps, for pure rounds of declared sizes while V is at most `horizon`.

    The clock is V = the sum of squares of the sizes at which rounds are counted, in nats.

    Guarantee:
        For epsilon_m-DP rounds chosen with full adaptivity, each with epsilon_m at most the size it is counted at, at
        every moment at which V <= `horizon` the loss is at most its reading, except with probability `delta`.

    Args:
        delta: crossing probability, in [1e-200, 1).
        shape: of the part beyond V/2, a key of `SHAPES`.
        parameter: of the shape, an intrinsic time, > 0.
        horizon: the largest V that is read.
        step: of the lattice of losses, in nats, in [1e-300, 10].
        sizes: the epsilons at which rounds are counted, in steps: whole numbers, increasing, at most 64.
        scale: c; `computed` finds the smallest.
        trusted: leaves out the check of the scale, which `verify` makes; for what was stored.

    Raises:
        InputError: the boundary is not certified to be crossed with probability at most `delta`.

    Reference:
        Backward induction over laws of two outcomes on the lattice, which are the worst of all (own proof, `reached`).
    """

    delta: Decimal
    shape: str
    parameter: Decimal
    horizon: Decimal
    step: Decimal
    sizes: tuple[int, ...]
    scale: Decimal
    trusted: InitVar[bool] = False
    kind: ClassVar[str] = "pure"
    certified: ClassVar[bool] = True

    def __post_init__(self, trusted: bool) -> None:
        shape = Shape(self.shape, self.parameter, self.delta)
        if shape.delta < _SMALLEST_DELTA:
            raise InputError(f"delta={self.delta} is below {_SMALLEST_DELTA}, where the computation has no digits left")
        sizes = tuple(count(size, "size", largest=LARGEST_SIZE) for size in self.sizes)
        if not 1 <= len(sizes) <= MOST_SIZES or list(sizes) != sorted(set(sizes)):
            raise InputError(f"sizes={self.sizes} are not 1 to {MOST_SIZES} increasing whole numbers")
        fields = {
            "delta": shape.delta,
            "parameter": shape.parameter,
            "horizon": amount(self.horizon, "horizon", round_up=False),
            "step": amount(self.step, "step", largest=_LARGEST_STEP),
            "sizes": sizes,
            "scale": amount(self.scale, "scale"),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if self.units < min(sizes) ** 2:
            raise InputError(f"horizon={text(self.horizon)} has no room for one round of the smallest size")
        if not trusted:
            self.verify()

    @classmethod
    def computed(
        cls,
        *,
        delta: Number,
        horizon: Number,
        step: Number,
        sizes: tuple[int, ...],
        shape: str = SQUARE_ROOT,
        parameter: Number | None = None,
    ) -> PureOdometer:
        """The lowest boundary of a shape up to a horizon.

        Args:
            delta: crossing probability, in [1e-200, 1).
            horizon: the largest V that is read, fixed before the interaction.
            step: of the lattice, in nats: readings are whole multiples of it.
            sizes: the epsilons at which rounds are counted, in steps.
            shape: a key of `SHAPES`; the square root if not given.
            parameter: of the shape; one that suits the horizon if not given.

        Returns:
            The odometer with the smallest scale, to about five digits, that is certified.
        """
        share, end = amount(delta, "delta", round_up=False, below_one=True), amount(horizon, "horizon", round_up=False)
        own = Shape(shape, tuned_parameter(shape, end, share) if parameter is None else parameter, share)  # type: ignore[arg-type]
        trial = cls(share, own.name, own.parameter, end, step, sizes, ONE, trusted=True)  # type: ignore[arg-type]

        def crossing(scale: Decimal) -> float:
            return _crossing(own, trial.step, trial.sizes, trial.units, scale)

        scale = tightest_scale(crossing, share, scale_guess(own))
        return cls(trial.delta, own.name, own.parameter, end, trial.step, trial.sizes, scale, trusted=True)

    @property
    def units(self) -> int:
        """The horizon in squared steps."""
        return math.floor(Fraction(self.horizon) / Fraction(self.step) ** 2)

    def verify(self) -> None:
        """Compute the certificate again.

        Raises:
            InputError: the boundary is crossed too often.
        """
        require_certified(self.crossing_upper(), self.delta, self.scale)

    def crossing_upper(self) -> float:
        """The certified upper bound of the probability that any run reaches the boundary up to the horizon."""
        return _crossing(Shape(self.shape, self.parameter, self.delta), self.step, self.sizes, self.units, self.scale)

    def start(self) -> PureRecord:
        """The record before the first round."""
        return PureRecord()

    def record(self, state: PureRecord, loss: Loss) -> PureRecord:
        """The record after one more round; the one given is not changed.

        Raises:
            NotionError: the loss is not pure.
            NoGuaranteeError: its epsilon is above the largest size.
        """
        _own(state)
        if not isinstance(loss, PureDP):
            notion = getattr(loss, "notion", type(loss).__name__)
            raise NotionError(
                f"a loss in the notion {notion!r} does not bound the loss of each answer; give PureDP rounds"
            )
        for size in self.sizes:
            if loss.epsilon <= multiply_down(self.step, size):
                return PureRecord(state.units + size * size)
        largest = multiply_down(self.step, self.sizes[-1])
        raise NoGuaranteeError(f"epsilon={text(loss.epsilon)} is above the largest declared size, {text(largest)}")

    def bound(self, state: Any) -> Decimal:
        """The reading of a record, a whole number of steps.

        Raises:
            NoGuaranteeError: the record is beyond the horizon.
        """
        _own(state)
        if state.units > self.units:
            raise NoGuaranteeError(
                f"the rounds so far are beyond this odometer's horizon of {text(self.horizon)}, which is fixed before "
                "the interaction"
            )
        shape = Shape(self.shape, self.parameter, self.delta)
        return multiply_up(self.step, _node(shape, self.step, state.units, self.scale))


def _node(shape: Shape, step: Decimal, units: int, scale: Decimal) -> int:
    """The reading in steps."""
    time = multiply_up(multiply_up(step, step), units)
    return math.ceil(Fraction(shape.reading(min(time, LARGEST) if time else ZERO, scale)) / Fraction(step))


@lru_cache(maxsize=256)
def _crossing(shape: Shape, step: Decimal, sizes: tuple[int, ...], units: int, scale: Decimal) -> float:
    from dosimeter.adaptive.odometers.reached import reach_probability

    common = math.gcd(*(size * size for size in sizes))
    if units // common > MOST_UNITS:
        raise InputError(f"a horizon of {units // common} units is too long to be computed; take a larger step")
    nodes = [_node(shape, step, common * used, scale) for used in range(units // common + 1)]
    return reach_probability(float(step), sizes, [size * size // common for size in sizes], nodes)


def _own(state: object) -> None:
    if not isinstance(state, PureRecord):
        raise InputError(
            f"a {type(state).__name__} is not a record of pure rounds; fold their losses with `start` and `record`"
        )
