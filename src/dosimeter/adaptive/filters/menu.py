"""The menu filter: for mechanisms declared beforehand, the largest budget whose exact worst case keeps the promise.

Other filters rest on a theorem about all mechanisms, and pay for that with slack. Here the steward names the mechanisms
that may be asked, each with a whole cost, and the worst case over every adaptive analyst is computed as the value of a
game. The largest budget that keeps (epsilon, delta) is the account's: nothing larger would be safe for that menu. The
menu, its lattice and the computed value are the account's certificate, and the audit computes them again.

What is not on the menu is charged as the cheapest entry that certainly reveals at least as much
(`dosimeter.adaptive.filters.images`), and refused where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import InitVar, dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast, final

from dosimeter.adaptive.adversary.menu import Menu, Offer, deviation
from dosimeter.adaptive.filters.images import runs_covering
from dosimeter.adaptive.filters.intrinsic import ClockedState
from dosimeter.adaptive.filters.sums import SumFilter
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import (
    ONE,
    ZERO,
    Number,
    add_up,
    amount,
    brief_up,
    divide_up,
    fraction_up,
    multiply_down,
    multiply_up,
    show,
    text,
    to_decimal,
)
from dosimeter.exact import count as read_count
from dosimeter.notions import ApproxDP
from dosimeter.notions.menu import MenuPrice

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.pld.laws.law import Law

LARGEST_UNITS: Final = 100_000
MOST_WORK: Final = 3 * 10**10  # about half a minute
MOST_MEMORY: Final = 2 * 10**9  # bytes
_TOO_LONG: Final = (
    f"the largest safe budget of this menu is above {LARGEST_UNITS} units; say units={LARGEST_UNITS} where so many are "
    "enough, or leave the smallest entries out"
)
_ROOM: Final = Decimal("0.999999999")  # of delta: the next machine may round the last digits another way
_NEAR: Final = Decimal("1e-6")  # within which two machines agree about a value
_AHEAD: Final = 1.05  # the first budget that is tried, as a multiple of the one that is expected
_FINEST_UNIT: Final = 20  # units of the cheapest entry, at most, where costs are chosen here
_FAIR: Final = 0.02  # how far such costs may be off
_FIELDS: Final = ("epsilon", "delta", "menu", "units", "value")


@final
@dataclass(frozen=True, slots=True)
class MenuState(ClockedState):
    """Units used, and the zCDP and the failure probabilities of the admitted queries (for odometers)."""

    units: Decimal = ZERO
    rho: Decimal = ZERO
    delta: Decimal = ZERO


@final
@dataclass(frozen=True, slots=True)
class MenuFilter(SumFilter[MenuState, MenuPrice]):
    """Admits queries of a declared menu while their costs add up to at most `units`.

    Guarantee:
        The whole interaction is (epsilon, delta)-DP, however mechanisms were chosen from earlier answers: the worst
        case of the menu at `units` is computed from above, in both directions of a neighbouring pair. Left out, `units`
        is the most for which that is so; where all losses lie on the menu's lattice, some analyst would pass delta with
        one unit more (up to the last digits).

    Args:
        epsilon: in nats, 0 or in [1e-300, 1e12]; a ratio is rounded down.
        delta: in [1e-300, 1).
        menu: what may be asked, and the lattice.
        units: the budget, up to 100,000; the largest that keeps the promise when left out.
        value: the worst case's delta at `units`, rounded up; computed when left out.
        trusted: leaves out the computation, which `verify` makes; for what was stored.

    Raises:
        NoGuaranteeError: not even the cheapest entry fits into (epsilon, delta).
        InputError: `units` does not keep the promise, `value` is another one, or the game is too large to be solved.

    Reference:
        Regehr, Hu, Leeman, Manurangsi, Tholoniat, Lecuyer 2026: the worst case is the value of a decision problem whose
        terminal reward is (1 - e^(epsilon - L))+. A mechanism dominated at every real epsilon is a randomised image
        (Blackwell 1953), so playing the dominating pairs loses nothing and the value holds for what they dominate.
    """

    epsilon: Decimal
    delta: Decimal
    menu: Menu
    units: int = None  # type: ignore[assignment]  # filled in at once, like value
    value: Decimal = None  # type: ignore[assignment]
    trusted: InitVar[bool] = False
    kind: ClassVar[str] = "menu"
    notion: ClassVar[str] = "menu"
    state_type: ClassVar[type[MenuState]] = MenuState
    loss_type: ClassVar[type[MenuPrice]] = MenuPrice

    def __post_init__(self, trusted: bool) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False, zero=True))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, below_one=True))
        if not isinstance(cast("object", self.menu), Menu):
            raise InputError(f"menu={show(self.menu)} is not a Menu; build one of offers with whole costs")
        units, value = cast("object", self.units), cast("object", self.value)
        if units is None:
            units, trusted = _largest(self.menu, self.epsilon, self.delta), False
        object.__setattr__(self, "units", read_count(units, "units", largest=LARGEST_UNITS))
        if value is None:
            value, trusted = _worst(self.menu, self.units, self.epsilon), False
        object.__setattr__(self, "value", amount(cast("Number", value), "value", zero=True, largest=ONE))
        if not trusted:
            self.verify()

    @classmethod
    def of(cls, epsilon: Number, delta: Number, events: Iterable[Event]) -> MenuFilter:
        """The filter of a menu of these events, at costs in proportion to their intrinsic times.

        Args:
            epsilon: as for the filter.
            delta: as for the filter.
            events: single releases.
        """
        return cls(epsilon, delta, proportional(events))  # type: ignore[arg-type]

    def verify(self) -> None:
        """Compute the worst case of the menu at `units` again: the certificate.

        Raises:
            InputError: it is not within delta, or not the stored value.
        """
        worst = _worst(self.menu, self.units, self.epsilon)
        if worst > self.delta:
            raise InputError(
                f"units={self.units}: the worst case of this menu has delta {brief_up(worst)} at epsilon "
                f"{text(self.epsilon)}, above {text(self.delta)}; leave units out to get the largest safe budget"
            )
        if abs(self.value - worst) > worst * _NEAR or self.value > self.delta:
            raise InputError(f"value={show(self.value)} is not the worst case of this menu, which is {text(worst)}")

    def start(self) -> MenuState:
        """Nothing spent."""
        return MenuState()

    def caps(self) -> dict[str, Decimal]:
        """The cap on the sum of costs."""
        return {"units": Decimal(self.units)}

    def sums(self, state: MenuState) -> dict[str, Decimal]:
        """The sum of the admitted costs."""
        return {"units": state.units}

    def asked(self, state: MenuState, loss: MenuPrice, count: int) -> dict[str, Decimal]:  # noqa: ARG002
        """The query's cost."""
        return {"units": multiply_up(loss.units, count)}

    def advance(self, state: MenuState, loss: MenuPrice, count: int) -> MenuState:
        """Add the cost, and what odometers read."""
        return MenuState(
            add_up(state.units, multiply_up(loss.units, count)),
            add_up(state.rho, multiply_up(loss.rho, count)),
            add_up(state.delta, multiply_up(loss.delta, count)),
        )

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction; `delta_at` knows every other epsilon."""
        return ApproxDP(self.epsilon, self.delta)

    def delta_at(self, epsilon: Number) -> Decimal:
        """The delta of the whole interaction at any epsilon, rounded up; true for all of them at once."""
        return _worst(self.menu, self.units, to_decimal(epsilon, "epsilon", round_up=False))

    @property
    def whole_time(self) -> Decimal:
        """The most intrinsic time that the budget can buy: for tuning odometers."""
        return multiply_up(Decimal(self.units), _dearest_time(self.menu))

    @property
    def failures(self) -> Decimal:
        """What the entries' own probabilities of failure can add up to within the budget: for odometers."""
        shares = (_fails(law) * (self.units // cost) for law, cost in _entries(self.menu))
        return min(ONE, fraction_up(max(shares)))

    def price(self, law: Law) -> MenuPrice:
        """What one run of a mechanism with this dominating pair takes.

        Guarantee: the pair is a randomised image of so many runs of an entry, and no entry is known to cost less.

        Raises:
            NoGuaranteeError: no entry is known to reveal at least as much.
        """
        from dosimeter.adaptive.residue.clock import rho_of

        covers = [(runs_covering(law, entry), cost) for entry, cost in _entries(self.menu)]
        found = [runs * cost for runs, cost in covers if runs is not None]
        if not found:
            names = [offer.name for offer in self.menu.offers]
            more = f"; or {len(names) - 8} others" if len(names) > 8 else ""
            raise NoGuaranteeError(
                f"no entry of the account's menu is known to reveal at least as much (ask for: {'; '.join(names[:8])}"
                f"{more})"
            )
        return MenuPrice.of(min(found), rho_of(law), fraction_up(_fails(law)))

    def to_json(self) -> dict[str, Any]:
        """The promise and its certificate: menu, lattice, budget and value."""
        return {
            "kind": self.kind,
            "epsilon": text(self.epsilon),
            "delta": text(self.delta),
            "menu": self.menu.to_json(),
            "units": self.units,
            "value": text(self.value),
        }

    @classmethod
    def from_json(cls, data: object) -> MenuFilter:
        """Read a filter back; `verify` checks its certificate again.

        Raises:
            InputError: `to_json` did not write it.
        """
        if not isinstance(data, dict) or set(data) != {"kind", *_FIELDS} or data["kind"] != cls.kind:
            raise InputError(f"a {cls.kind} filter has exactly the fields: kind, {', '.join(_FIELDS)}")
        if type(data["units"]) is not int or not all(isinstance(data[name], str) for name in _FIELDS[:2] + _FIELDS[4:]):
            raise InputError(f"a {cls.kind} filter holds texts, a menu, and a whole number of units")
        built = cls(data["epsilon"], data["delta"], Menu.from_json(data["menu"]), data["units"], data["value"], True)
        if built.to_json() != data:
            raise InputError(f"a {cls.kind} filter is read from what it wrote; numbers are texts in one spelling")
        return built


def proportional(events: Iterable[Event]) -> Menu:
    """A menu of these events, at whole costs in proportion to their intrinsic times 2 rho, to about two per cent.

    Any costs are sound; these are fair to all entries where losses are small.

    Raises:
        InputError: the sizes are too different for whole costs up to 1000.
    """
    from dosimeter.adaptive.residue.clock import rho_of

    offers = [Offer(event, 1) for event in dict.fromkeys(events)]
    if not offers:
        raise InputError("a menu has 1 to 100 entries, not 0")
    times = [float(rho_of(offer.law)) for offer in offers]
    least = min(times)
    if not least or max(times) > 1000 * least:
        raise InputError("the entries of this menu have very different sizes; say what each costs")
    for unit in range(1, _FINEST_UNIT + 1):
        wanted = [unit * time / least for time in times]
        costs = [round(one) for one in wanted]
        if all(abs(cost - one) <= _FAIR * one for cost, one in zip(costs, wanted, strict=True)):
            break
    return Menu(tuple(Offer(offer.event, cost) for offer, cost in zip(offers, costs, strict=True)))


def _entries(menu: Menu) -> Iterable[tuple[Law, int]]:
    return zip(menu.laws, menu.costs, strict=True)


def _fails(law: Law) -> Any:
    from dosimeter.pld.laws.law import Direction

    return max(law.infinite(direction) for direction in Direction)


def _dearest_time(menu: Menu) -> Decimal:
    """The most intrinsic time that one unit buys."""
    from dosimeter.adaptive.residue.clock import rho_of

    return max(divide_up(multiply_up(rho_of(law), 2), cost) for law, cost in _entries(menu))


@lru_cache(maxsize=256)
def _worst(menu: Menu, units: int, epsilon: Decimal) -> Decimal:
    """The worst case's delta, rounded up."""
    from dosimeter.adaptive.adversary.values import upper_delta

    try:
        _require_modest(menu, units, epsilon)
        return upper_delta(menu, units, epsilon)
    except NoGuaranteeError as error:
        raise InputError(f"the worst case of this menu cannot be computed: {error}") from None


def _require_modest(menu: Menu, units: int, epsilon: Decimal) -> None:
    from dosimeter.adaptive.adversary.values import effort

    work, memory = effort(menu, units, epsilon)
    if work > MOST_WORK or memory > MOST_MEMORY:
        raise InputError(
            f"the worst case of this menu over {units} units takes about {work:.2g} operations and {memory:.2g} bytes, "
            f"more than {MOST_WORK:.2g} and {MOST_MEMORY:.2g}; name fewer or larger entries, give smaller costs, a "
            "larger step, or fewer units"
        )


@lru_cache(maxsize=256)
def _largest(menu: Menu, epsilon: Decimal, delta: Decimal) -> int:
    from dosimeter.adaptive.adversary.values import largest_budget

    least = min(menu.costs)
    if least > LARGEST_UNITS:
        raise InputError(f"the cheapest entry costs {least} units, more than {LARGEST_UNITS}; give smaller costs")
    if _expected(menu, epsilon, delta) > LARGEST_UNITS:
        raise InputError(_TOO_LONG)
    guess = _guess(menu, epsilon, delta)
    _require_modest(menu, guess, epsilon)
    try:
        found = largest_budget(menu, epsilon, multiply_down(delta, _ROOM), most=LARGEST_UNITS, guess=guess)
    except NoGuaranteeError as error:
        raise InputError(f"the worst case of this menu cannot be computed: {error}") from None
    if found >= LARGEST_UNITS:
        raise InputError(_TOO_LONG)
    if found < least:
        raise NoGuaranteeError(
            f"not even {least} units, the cost of the cheapest entry, keep epsilon={text(epsilon)}, "
            f"delta={text(delta)} for this menu; offer more noise, raise the costs of entries that reveal more, or "
            "promise less"
        )
    return found


def _expected(menu: Menu, epsilon: Decimal, delta: Decimal) -> float:
    """What the budget is if the entries are Gaussian noise of their spread."""
    from dosimeter.notions.profiles import gaussian_mu

    mu = float(gaussian_mu(epsilon, delta))
    return mu * mu / max(deviation(law) ** 2 / cost for law, cost in _entries(menu))


def _guess(menu: Menu, epsilon: Decimal, delta: Decimal) -> int:
    """The first budget that is tried: a little more than expected."""
    return int(min(_AHEAD * _expected(menu, epsilon, delta) + max(menu.costs), LARGEST_UNITS))


def expected_work(menu: Menu, epsilon: Decimal, delta: Decimal) -> float:
    """About how many operations it takes to open a filter of this menu.

    Raises:
        NoGuaranteeError: the losses span too many steps of the lattice.
    """
    from dosimeter.adaptive.adversary.values import effort

    return 2 * effort(menu, _guess(menu, epsilon, delta), epsilon)[0]
