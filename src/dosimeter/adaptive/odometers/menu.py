"""A computed odometer for a declared menu: any mechanisms with known dominating pairs, mixed as the analyst likes.

Each entry of the menu has a whole cost, a reading belongs to each number of units used, and the worst case of stopping
at a reading is a finite game with a certified upper end. What is promised is about stopped runs, since that is what
dominance carries over; a bound on the loss would hold for the entries' pairs alone, and neighbouring data rarely make
exactly those.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast, final

from dosimeter.adaptive.odometers.computed import require_certified, tightest_scale
from dosimeter.adaptive.odometers.jsonform import configuration_to_json
from dosimeter.adaptive.odometers.reading import STOPPED_RUN, StoppedRunBound
from dosimeter.adaptive.odometers.shapes import SQUARE_ROOT, Shape, scale_guess, tuned_parameter
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import Composed, Event, Repeated
from dosimeter.events.event import require_event
from dosimeter.exact import ONE, Number, amount, count, divide_up, multiply_up

if TYPE_CHECKING:
    from dosimeter.adaptive.adversary import Menu

_LARGEST_BUDGET: Final = 100_000
_FIELDS: Final = ("delta", "shape", "parameter", "horizon", "scale")


@final
@dataclass(frozen=True, slots=True)
class MenuRecord:
    """The units that the rounds so far have used."""

    units: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", count(self.units, "units", smallest=0, largest=10**18))


@final
@dataclass(frozen=True, slots=True)
class MenuOdometer:
    """V/2 + scale g(V) with V = horizon x units used / budget, for entries of a menu.

    Guarantee:
        For entries of the menu, or any mechanisms dominated by their pairs at their costs, chosen with full adaptivity
        while the costs add up to at most `budget`: with u the reading at the moment of stopping, however that is
        chosen, P(S) <= E_Q[e^u; S] + delta for every set S of transcripts. So a run that never goes past a reading of a
        fixed epsilon is (epsilon, delta)-DP. A loss bound is not implied.

    Args:
        delta: in (0, 1).
        shape: of the part beyond V/2, a key of `SHAPES`.
        parameter: of the shape, an intrinsic time, > 0.
        horizon: the intrinsic time of the whole budget, > 0: it decides how readings grow, and proves nothing.
        menu: what may be chosen.
        budget: units, from 1 on.
        scale: c; `computed` finds the smallest.
        trusted: leaves out the check of the scale, which `verify` makes; for what was stored.

    Raises:
        InputError: the readings are not certified for `delta`.

    Reference:
        `stopping.worst_stopping`, the adversary's game with the reading's hockey stick as reward.
    """

    delta: Decimal
    shape: str
    parameter: Decimal
    horizon: Decimal
    menu: Menu
    budget: int
    scale: Decimal
    trusted: InitVar[bool] = False
    kind: ClassVar[str] = "menu"
    semantics: ClassVar[str] = STOPPED_RUN

    def __post_init__(self, trusted: bool) -> None:
        from dosimeter.adaptive.adversary import Menu

        shape = Shape(self.shape, self.parameter, self.delta)
        if not isinstance(self.menu, Menu):
            raise InputError(f"menu is a {type(self.menu).__name__}, not a Menu; declare one with `Menu(...)`")
        object.__setattr__(self, "delta", shape.delta)
        object.__setattr__(self, "parameter", shape.parameter)
        object.__setattr__(self, "horizon", amount(self.horizon, "horizon"))
        object.__setattr__(self, "budget", count(self.budget, "budget", largest=_LARGEST_BUDGET))
        object.__setattr__(self, "scale", amount(self.scale, "scale"))
        if not trusted:
            self.verify()

    @classmethod
    def computed(
        cls,
        *,
        delta: Number,
        menu: Menu,
        budget: int,
        shape: str = SQUARE_ROOT,
        horizon: Number | None = None,
        parameter: Number | None = None,
    ) -> MenuOdometer:
        """The lowest readings of a shape for a menu and a budget.

        Args:
            delta: in (0, 1).
            menu: what may be chosen.
            budget: units, fixed before the interaction.
            shape: a key of `SHAPES`; the square root if not given.
            horizon: the intrinsic time of the whole budget; the largest that the menu can reach if not given.
            parameter: of the shape; one that suits the horizon if not given.

        Returns:
            The odometer with the smallest scale, to about five digits, that is certified.

        Raises:
            NoGuaranteeError: the menu fails with a probability above delta.
        """
        share = amount(delta, "delta", round_up=False, below_one=True)
        end = _largest_time(menu, budget) if horizon is None else amount(horizon, "horizon")
        own = Shape(shape, tuned_parameter(shape, end, share) if parameter is None else parameter, share)  # type: ignore[arg-type]
        trial = cls(share, own.name, own.parameter, end, menu, budget, ONE, trusted=True)

        def crossing(scale: Decimal) -> float:
            return _worst(own, end, menu, trial.budget, scale)

        scale = tightest_scale(crossing, share, scale_guess(own))
        return cls(trial.delta, own.name, own.parameter, end, menu, trial.budget, scale, trusted=True)

    def verify(self) -> None:
        """Compute the certificate again.

        Raises:
            InputError: the readings are not certified for `delta`.
        """
        require_certified(self.delta_upper(), self.delta, self.scale)

    def delta_upper(self) -> float:
        """The certified upper bound of the delta beyond the reading, over all analysts."""
        own = Shape(self.shape, self.parameter, self.delta)
        return _worst(own, self.horizon, self.menu, self.budget, self.scale)

    def start(self) -> MenuRecord:
        """The record before the first round."""
        return MenuRecord()

    def record(self, state: MenuRecord, event: Event) -> MenuRecord:
        """The record after one more round; the one given is not changed.

        Raises:
            NotionError: a part of the event is not on the menu.
        """
        _own(state)
        require_event(event)
        return MenuRecord(state.units + self._cost(event))

    def require_reads(self, rule: Any) -> None:
        """Check that the states of a filter count the units of this very menu.

        Raises:
            InputError: it is no menu filter, has another menu, or a larger budget.
        """
        from dosimeter.adaptive.filters.menu import MenuFilter

        if not isinstance(rule, MenuFilter) or rule.menu != self.menu or rule.units > self.budget:
            raise InputError(
                f"this odometer was computed for another menu than that of this {rule.kind!r} filter, or for fewer "
                "units; compute one with MenuOdometer.computed(menu=filter.menu, budget=filter.units, ...)"
            )

    def bound(self, state: Any) -> Decimal:
        """The reading of a record, or of a state of a menu filter that `require_reads` accepts; rounded up.

        Raises:
            NoGuaranteeError: the record is beyond the budget.
        """
        units = _units(state)
        if units > self.budget:
            raise NoGuaranteeError(
                f"the rounds so far took {units} units, beyond this odometer's budget of {self.budget}, which is "
                "fixed before the interaction"
            )
        own = Shape(self.shape, self.parameter, self.delta)
        return own.reading(_time(self.horizon, self.budget, units), self.scale)

    def read(self, state: Any) -> StoppedRunBound:
        """The reading with its meaning."""
        return StoppedRunBound(self.bound(state), self.delta)

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        return configuration_to_json(self)

    @classmethod
    def from_json(cls, data: Any) -> MenuOdometer:
        """Read an odometer back; `verify` checks its promise again.

        Raises:
            InputError: `to_json` did not write it.
        """
        from dosimeter.adaptive.adversary import Menu

        if set(data) != {"kind", *_FIELDS, "menu", "budget"} or not all(
            isinstance(data[name], str) for name in _FIELDS
        ):
            raise InputError(f"a {cls.kind} odometer has exactly the fields: kind, {', '.join(_FIELDS)}, menu, budget")
        numbers = {name: data[name] for name in _FIELDS}
        return cls(**numbers, menu=Menu.from_json(data["menu"]), budget=data["budget"], trusted=True)

    def _cost(self, event: Event) -> int:
        if isinstance(event, Repeated):
            return self._cost(event.event) * event.count
        if isinstance(event, Composed):
            return sum(self._cost(part) for part in event.events)
        for offer in self.menu.offers:
            if offer.event == event:
                return offer.cost
        names = ", ".join(offer.name for offer in self.menu.offers)
        raise NotionError(f"this {event.kind} release is not on the menu, which has: {names}")


def _largest_time(menu: Menu, budget: int) -> Decimal:
    """The largest intrinsic time that a budget buys, in zCDP terms."""
    from dosimeter.adaptive.residue.clock import rho_of

    each = [divide_up(multiply_up(rho_of(law), 2), cost) for law, cost in zip(menu.laws, menu.costs, strict=True)]
    return multiply_up(max(each), count(budget, "budget", largest=_LARGEST_BUDGET))


def _time(horizon: Decimal, budget: int, units: int) -> Decimal:
    return min(horizon, divide_up(multiply_up(horizon, units), budget))


@lru_cache(maxsize=128)
def _worst(shape: Shape, horizon: Decimal, menu: Menu, budget: int, scale: Decimal) -> float:
    from dosimeter.adaptive.odometers.stopping import worst_stopping

    readings = [shape.reading(_time(horizon, budget, units), scale) for units in range(budget + 1)]
    found = worst_stopping(menu, readings)
    return float(found) * (1 + 1e-15)


def _own(state: object) -> None:
    if not isinstance(state, MenuRecord):
        raise InputError(
            f"a {type(state).__name__} is not a record of a menu's entries; fold the events with `start` and `record`"
        )


def _units(state: object) -> int:
    from dosimeter.adaptive.filters.menu import MenuState

    if isinstance(state, MenuState):
        return int(state.units)
    _own(state)
    return cast("MenuRecord", state).units


__all__ = ["MenuOdometer", "MenuRecord"]
