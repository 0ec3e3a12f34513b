"""The residue filter of a plan: follow it at its tight, non-adaptive price, and leave it whenever you like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from dosimeter.adaptive.filters.intrinsic import ClockedState
from dosimeter.adaptive.filters.sums import left
from dosimeter.adaptive.residue.clock import rho_of
from dosimeter.adaptive.residue.gaussian_filter import largest_pure_query
from dosimeter.adaptive.residue.plan import MOST_STEPS, Runs, plan_from_json, plan_to_json, read_plan
from dosimeter.adaptive.residue.plan_price import planned_price, proves_unplanned, unplanned_price
from dosimeter.adaptive.residue.prices import RULE
from dosimeter.adaptive.residue.profile_filter import ProfileFilter, read_queries, read_rule, read_slack
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Number, add_up, amount, brief_up, multiply_up, sqrt_down, subtract_down, text
from dosimeter.notions import ApproxDP
from dosimeter.notions.residue import ResiduePrice, from_quanta, quanta_down, quanta_up

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.plan_lattice import Lattice
    from dosimeter.pld.laws.law import Law

LARGEST_EPSILON: Final = Decimal(10**6)
_FIELDS: Final = ("epsilon", "delta", "slack", "queries", "reserve", "step", "reach", "rule")
_AHEAD: Final = Decimal("1.00000001")  # at opening: so that another machine's roundings change no verdict
_PLACES: Final = 5  # decimals of a smallest epsilon


@final
@dataclass(frozen=True, slots=True)
class PlanResidueState(ClockedState):
    """What the admitted queries took: of the reserve, of each run of the plan, of the slack, and their zCDP."""

    mu_squared: Decimal
    steps: tuple[Decimal, ...]
    delta: Decimal = ZERO
    rho: Decimal = ZERO


@final
@dataclass(frozen=True, slots=True)
class PlanResidueFilter(ProfileFilter[PlanResidueState]):
    """Admits a plan's own queries at one step each, and every other query for as many steps as its profile needs.

    The budget is what is left of each run of the plan, and of a Gaussian reserve, component by component. A planned
    query takes exactly one step of its run, without slack, in whatever order. Another query M may take k of the n steps
    that are left of a run with law A when, in both directions and for all real s, H(s; M x A^(n-k)) <= H(s; A^n) + eta;
    or it is paid from the reserve as in `ResidueFilter`. The reserve is tried first, then the runs in their order.
    Several runs of one query, fixed in advance as one `Repeated` event, are charged as one M.

    Guarantee:
        The whole interaction has delta <= H(e) + slack at every real e at once, under full adaptivity, H being the
        divergence of the whole plan and the reserve together; so it is (epsilon, delta)-DP.

    Args:
        plan: events with how often each is planned, in order; equal ones are added up. At most a million steps.
        epsilon: in nats, 0 or in [1e-300, 1e6]; `smallest_epsilon` finds the least.
        delta: in [1e-300, 1).
        slack: the part of delta kept for queries that are not planned; a hundredth of delta if not given.
        queries: how many such queries are planned for; each may take so small a part of the slack.
        reserve: mu^2 of a Gaussian budget beside the plan, 0 or in [1e-30, 1e6].
        step: the distance of the points on which the plan's losses are laid out; chosen if not given.
        reach: points on either side of zero; chosen if not given.
        rule: the version of the rules that price queries.
        trusted: leaves out the check that plan and slack keep within delta, which `verify` makes; for what was stored.

    Raises:
        InputError: the plan and the slack together have a larger delta at `epsilon`; says which one.

    Reference:
        Regehr, Hu, Leeman, Manurangsi, Tholoniat, Lecuyer 2026. The proof of `ResidueFilter` holds for any family of
        remaining guarantees, ordered component by component, that does not shrink with the budget. Here the family is
        the product A_1^(n_1) x ... x A_m^(n_m) x N(sqrt b). The rule for the product follows from the rule for the one
        component that pays: composing both sides of it with the same other components keeps the inequality, since H of
        a product is an average of H of one factor over the other's losses, and the slack stays what it was. For the
        same reason a charge at n steps left holds with more, and what two parts of an event take, one after the other
        and perhaps from different components, covers them together.
    """

    plan: Runs
    epsilon: Decimal
    delta: Decimal
    slack: Decimal = None  # type: ignore[assignment]  # filled in at once, like step and reach
    queries: Decimal = Decimal(100)
    reserve: Decimal = ZERO
    step: Decimal = None  # type: ignore[assignment]
    reach: Decimal = None  # type: ignore[assignment]
    rule: Decimal = RULE
    trusted: InitVar[bool] = False
    laws: tuple[tuple[Law, int], ...] = field(init=False, compare=False, repr=False)
    kind: ClassVar[str] = "residue_plan"
    state_type: ClassVar[type[PlanResidueState]] = PlanResidueState

    def __post_init__(self, trusted: bool) -> None:
        plan, laws = read_plan(self.plan)
        delta = amount(self.delta, "delta", round_up=False, below_one=True)
        lattice = _read_lattice(self.step, self.reach, laws, delta)
        fields = {
            "plan": plan,
            "laws": laws,
            "epsilon": amount(self.epsilon, "epsilon", round_up=False, zero=True, largest=LARGEST_EPSILON),
            "delta": delta,
            "slack": read_slack(self.slack, delta),
            "queries": read_queries(self.queries),
            "reserve": _read_reserve(self.reserve),
            "rule": read_rule(self.rule),
            "step": lattice.step,
            "reach": lattice.reach,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if not trusted:
            self._require(_AHEAD)

    def verify(self) -> None:
        """Check that the plan, the reserve and the slack keep within delta at epsilon.

        Raises:
            InputError: they do not.
        """
        self._require(ONE)

    def _require(self, ahead: Decimal) -> None:
        own = multiply_up(_delta_of(self.laws, self.lattice, self.reserve, self.epsilon), ahead)
        if (needed := add_up(own, self.slack)) > self.delta:
            raise InputError(
                f"the plan with its slack has delta {brief_up(needed)} at epsilon {text(self.epsilon)}, above "
                f"{text(self.delta)}; plan less, reserve less, or raise epsilon (`smallest_epsilon` finds the least)"
            )

    @classmethod
    def smallest_epsilon(
        cls, plan: Iterable[Any], delta: Number, slack: Number | None = None, reserve: Number = 0
    ) -> Decimal:
        """The least epsilon, a multiple of 1e-5, at which a plan with its slack and reserve keeps within delta.

        Args:
            plan: pairs of an event and a count.
            delta: of the whole interaction.
            slack: the part of it kept for other queries; a hundredth if not given.
            reserve: mu^2 of the Gaussian budget beside the plan.

        Raises:
            NoGuaranteeError: no epsilon up to 1000 is enough.
        """
        _, laws = read_plan(tuple(plan))
        most = amount(delta, "delta", round_up=False, below_one=True)
        kept = subtract_down(most, read_slack(slack, most))
        lattice, own = _read_lattice(None, None, laws, most), _read_reserve(reserve)

        def fits(place: int) -> bool:
            return multiply_up(_delta_of(laws, lattice, own, Decimal(f"{place}e-{_PLACES}")), _AHEAD) <= kept

        low, high = -1, 10**_PLACES
        while not fits(high):
            low, high = high, 2 * high
            if high > 1000 * 10**_PLACES:
                raise NoGuaranteeError("no epsilon up to 1000 keeps the plan within this delta; plan less")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        return Decimal(f"{high}e-{_PLACES}")

    @classmethod
    def largest(
        cls,
        plan: Iterable[Any],
        epsilon: Number,
        delta: Number,
        slack: Number | None = None,
        queries: Number = 100,
        reserve: Number = 0,
    ) -> PlanResidueFilter:
        """The filter of a plan in these proportions, as long as epsilon and delta allow.

        Args:
            plan: pairs of an event and a count; the counts say in which proportions.
            epsilon: of the whole interaction.
            delta: of the whole interaction.
            slack: the part of delta kept for other queries; a hundredth if not given.
            queries: how many of those are planned for.
            reserve: mu^2 of the Gaussian budget beside the plan.

        Raises:
            NoGuaranteeError: not even one step of each event fits.
        """
        runs, laws = read_plan(tuple(plan))
        level = amount(epsilon, "epsilon", round_up=False, zero=True, largest=LARGEST_EPSILON)
        most = amount(delta, "delta", round_up=False, below_one=True)
        kept = subtract_down(most, read_slack(slack, most))
        lattice, own = _read_lattice(None, None, laws, most), _read_reserve(reserve)
        total = sum(many for _, many in runs)

        def scaled(steps: int) -> Runs:
            return tuple((event, steps * many // total) for event, many in runs)

        def fits(steps: int) -> bool:
            part = scaled(steps)
            if not all(many for _, many in part):
                return steps < total
            _, own_laws = read_plan(part)
            return multiply_up(_delta_of(own_laws, lattice, own, level), _AHEAD) <= kept

        low, high = 0, total
        while high <= MOST_STEPS and fits(high):
            low, high = high, 2 * high
        high = min(high, MOST_STEPS + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        if not all(many for _, many in scaled(low)):
            raise NoGuaranteeError("not even one step of each planned event keeps within the target")
        shares: dict[str, Any] = {"slack": slack, "queries": queries, "reserve": reserve}
        return cls(scaled(low), level, most, **shares, step=lattice.step, reach=lattice.reach)

    @property
    def whole_time(self) -> Decimal:
        """The intrinsic time of the whole plan and the reserve: for tuning odometers."""
        rhos = (multiply_up(rho_of(law), many) for law, many in self.laws)
        return add_up(self.reserve, multiply_up(add_up(ZERO, *rhos), 2))

    @property
    def lattice(self) -> Lattice:
        """Where the plan's losses lie."""
        return _read_lattice(self.step, self.reach, self.laws, self.delta)

    def price(self, law: Law, share: Decimal, count: int = 1) -> ResiduePrice:
        """What runs of a law cost: one planned step each; else so much of the reserve, or so many steps of each run."""
        for number, (planned, _) in enumerate(self.laws, start=1):
            if law == planned:
                return planned_price(law, number).repeat(count)
        return unplanned_price(law, share, self.laws, self.lattice, self.reserve, count)

    def proves(self, law: Law, count: int, stored: ResiduePrice) -> bool:
        """Whether every row of a stored list for `count` runs of a law satisfies the rule."""
        for number, (planned, _) in enumerate(self.laws, start=1):
            if law == planned:
                return stored.covers(planned_price(law, number).repeat(count))
        return proves_unplanned(law, count, stored, self.laws, self.lattice, self.reserve)

    def start(self) -> PlanResidueState:
        """Nothing spent."""
        return PlanResidueState(ZERO, (ZERO,) * len(self.laws))

    def caps(self) -> dict[str, Decimal]:
        """The caps on the reserve, on the steps of each run, and on the slack."""
        return {"mu_squared": self.reserve, **self._steps([many for _, many in self.laws]), "delta": self.slack}

    def sums(self, state: PlanResidueState) -> dict[str, Decimal]:
        """What was taken of each."""
        if len(state.steps) != len(self.laws):
            raise InputError("the state speaks of another plan than the filter")
        return {"mu_squared": state.mu_squared, **self._steps(state.steps), "delta": state.delta}

    def _steps(self, values: Iterable[Decimal | int]) -> dict[str, Decimal]:
        return {f"steps of run {i}": Decimal(value) for i, value in enumerate(values, start=1)}

    def rest(self, state: PlanResidueState) -> list[int]:
        """What is left of the reserve and of each run, in quanta."""
        caps, used = self.caps(), self.sums(state)
        return [quanta_down(caps[name]) - quanta_up(used[name]) for name in caps if name != "delta"]

    def named(self, paid: list[int]) -> dict[str, Decimal]:
        """Charges by the names of the caps."""
        return {"mu_squared": from_quanta(paid[0]), **self._steps([from_quanta(value) for value in paid[1:]])}

    def built(self, totals: dict[str, Decimal], rho: Decimal) -> PlanResidueState:
        """The state with these totals."""
        steps = tuple(totals[f"steps of run {i}"] for i in range(1, len(self.laws) + 1))
        return PlanResidueState(totals["mu_squared"], steps, totals["delta"], rho)

    def equivalents(self, state: PlanResidueState) -> dict[str, Decimal]:
        """What fits into what is left of the reserve, if there is one."""
        rest = left(self.sums(state), self.caps())["mu_squared"]
        return {"largest_mu": sqrt_down(rest), "largest_epsilon": largest_pure_query(rest)} if self.reserve else {}

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction; `delta_at` knows every other epsilon."""
        return ApproxDP(self.epsilon, self.delta)

    def delta_at(self, epsilon: Number) -> Decimal:
        """The delta of the whole interaction at any epsilon >= 0, rounded up; true for all of them at once."""
        level = amount(epsilon, "epsilon", round_up=False, zero=True, largest=LARGEST_EPSILON)
        return min(ONE, add_up(_delta_of(self.laws, self.lattice, self.reserve, level), self.slack))

    def to_json(self) -> dict[str, Any]:
        """The configuration, numbers as texts."""
        numbers = {name: text(getattr(self, name)) for name in _FIELDS}
        return {"kind": self.kind, "plan": plan_to_json(self.plan), **numbers}

    @classmethod
    def from_json(cls, data: object) -> PlanResidueFilter:
        """Read a filter back; `verify` checks its promise again.

        Raises:
            InputError: `to_json` did not write it.
        """
        if not isinstance(data, dict) or set(data) != {"kind", "plan", *_FIELDS} or data["kind"] != cls.kind:
            raise InputError(f"a {cls.kind} filter has exactly the fields: kind, plan, {', '.join(_FIELDS)}")
        if not all(isinstance(data[name], str) for name in _FIELDS):
            raise InputError(f"a {cls.kind} filter holds a list of runs, and texts")
        built = cls(plan_from_json(data["plan"]), **{name: data[name] for name in _FIELDS}, trusted=True)
        if built.to_json() != data:
            raise InputError(f"a {cls.kind} filter is read from what it wrote; numbers are texts in one spelling")
        return built


def _read_reserve(value: object) -> Decimal:
    reserve = amount(value, "reserve", round_up=False, zero=True, largest=LARGEST_EPSILON)  # type: ignore[arg-type]
    return from_quanta(quanta_down(reserve))


def _read_lattice(step: object, reach: object, laws: tuple[tuple[Law, int], ...], delta: Decimal) -> Lattice:
    from dosimeter.adaptive.residue.plan_lattice import read_lattice

    if step is None and reach is None:
        return _chosen(laws, delta)
    if step is None or reach is None:
        raise InputError("give both step and reach of the plan's lattice, or neither")
    return read_lattice(step, reach)


@lru_cache(maxsize=64)
def _chosen(laws: tuple[tuple[Law, int], ...], delta: Decimal) -> Lattice:
    from dosimeter.adaptive.residue.plan_lattice import choose_lattice

    return choose_lattice(laws, delta)


def _delta_of(laws: tuple[tuple[Law, int], ...], lattice: Lattice, reserve: Decimal, epsilon: Decimal) -> Decimal:
    from dosimeter.adaptive.residue.plan_reading import plan_delta

    try:
        return plan_delta(laws, lattice, reserve, epsilon)
    except NoGuaranteeError as error:
        raise InputError(f"the guarantee of this plan cannot be computed: {error}") from None
