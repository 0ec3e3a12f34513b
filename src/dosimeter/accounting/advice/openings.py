"""How each kind of filter would be opened for a target: one row per kind, each a theorem or a reason why not.

A filter is opened so that what it guarantees implies the target. Where that needs parameters (a Renyi order, a share of
delta) they are chosen for the sketch, now, before anything is asked: afterwards would be too late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.accounting.advice.target import Sketch, Target
from dosimeter.accounting.losses import loss_for
from dosimeter.adaptive.filters import (
    AnyFilter,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    MenuFilter,
    PlanResidueFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RDPFilter,
    ResidueFilter,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
)
from dosimeter.adaptive.filters.intrinsic import largest_pure
from dosimeter.adaptive.filters.menu import expected_work, proportional
from dosimeter.adaptive.residue.profile_filter import QUERIES, SLACK_SHARE
from dosimeter.enclosure import ball, down, enclose
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import DiscreteGaussian
from dosimeter.events.opening import open_event
from dosimeter.events.sampled import SAMPLED_TYPES
from dosimeter.exact import ONE, ZERO, add_up, divide_down, multiply_down, sqrt_down, subtract_down
from dosimeter.notions import RDP
from dosimeter.notions.convert import largest_rdp_for_approx, largest_zcdp_for_approx
from dosimeter.notions.profiles import gaussian_mu
from dosimeter.notions.profiles.gaussian import profile_ball

_LOW = (
    "1.25",
    "1.5",
    "1.75",
    "2",
    "2.5",
    "3",
    "3.5",
    "4",
    "5",
    "6",
    "7",
    "8",
    "10",
    "12",
    "14",
    "16",
    "20",
    "24",
    "28",
)
ORDERS: Final = tuple(
    Decimal(order) for order in (*_LOW, "32", "40", "48", "56", "64", "80", "96", "128", "192", "256", "512")
)
MOST_WORK: Final = 10**9  # operations: beyond it a menu takes seconds, and a residue filter is about as good
SPREAD: Final = tuple(Decimal(order) for order in (2, 4, 8, 16, 32, 64, 128))  # where delta is shared out over orders
_NO_DELTA: Final = "its promise has a probability of failure, and the target allows none"
_FINITE_ORDERS: Final = "divergences at finitely many orders imply neither zCDP nor Gaussian DP"


if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

Opening: TypeAlias = Callable[[Target, Sketch], AnyFilter]


def declared_share(target: Target, sketch: Sketch) -> Decimal:
    """The part of delta set aside for failures: what the sketch declares.

    Raises:
        NoGuaranteeError: that leaves nothing.
    """
    own = sketch.own_delta
    if own and own >= target.delta:
        raise NoGuaranteeError(
            f"the queries' own probabilities of failure add up to {own:g}, and the target has delta {target.delta:g}"
        )
    return own


def pure(target: Target, sketch: Sketch) -> PureFilter:  # noqa: ARG001
    """The largest epsilon whose pure promise implies the target."""
    if target.epsilon is not None:
        return PureFilter(target.epsilon)
    if target.rho is not None:
        return PureFilter(largest_pure(target.rho))
    mu = _of(target.mu)
    epsilon = down(enclose(lambda: _odds_of_the_best_guess(mu).log()))
    if epsilon <= 0:
        raise NoGuaranteeError("the target is too small to be kept by adding epsilons")
    return PureFilter(epsilon)


def basic(target: Target, sketch: Sketch) -> BasicFilter:  # noqa: ARG001
    """Both sums against the target's own numbers."""
    return BasicFilter(_epsilon(target), target.delta)


def approx(target: Target, sketch: Sketch) -> ApproxFilter:
    """The target itself, with the sketch's own failures set aside."""
    return ApproxFilter(_epsilon(target), _delta(target), declared_share(target, sketch))


def zcdp(target: Target, sketch: Sketch) -> ZCDPFilter:
    """The largest rho that implies the target."""
    if target.rho is not None:
        return ZCDPFilter(target.rho, target.delta)
    if target.mu is not None:
        raise NoGuaranteeError("zCDP implies no Gaussian DP")
    declared = declared_share(target, sketch)
    return ZCDPFilter(largest_zcdp_for_approx(_epsilon(target), _delta(target), declared), declared)


def gdp(target: Target, sketch: Sketch) -> GDPFilter:
    """The largest mu that implies the target."""
    if target.mu is not None:
        return GDPFilter(target.mu, target.delta)
    if target.rho is not None:
        return GDPFilter(sqrt_down(multiply_down(target.rho, 2)), target.delta)
    declared = declared_share(target, sketch)
    return GDPFilter(gaussian_mu(_epsilon(target), _delta(target), declared), declared)


def residue(target: Target, sketch: Sketch) -> ResidueFilter:
    """(epsilon, delta) with some of delta as slack, or the Gaussian pair that the target names, without any.

    A hundredth of delta is slack enough for closed forms, which take none; a tenth where queries take some each,
    planned for half as many queries again as are expected.

    The profile of the whole run stays within that of one pair N(mu, 1) against N(0, 1) at every real level, which is
    mu-GDP, hence mu^2/2-zCDP.
    """
    leaves = [leaf for event, _ in sketch.parts for leaf in open_event(event)]
    open_ended = any(isinstance(leaf, (*SAMPLED_TYPES, DiscreteGaussian)) for leaf in leaves)
    queries = Decimal(sketch.queries * 3 // 2 + 1) if open_ended else max(QUERIES, Decimal(sketch.queries))
    if target.epsilon is not None:
        own = declared_share(target, sketch)
        share = 10 * SLACK_SHARE if open_ended else SLACK_SHARE
        slack = add_up(multiply_down(subtract_down(_delta(target), own), share), own)
        return ResidueFilter(target.epsilon, target.delta, slack, queries)
    if target.delta:
        raise NoGuaranteeError(
            "with a delta beside mu or rho its profile does not imply the target; use epsilon, delta"
        )
    mu = target.mu if target.mu is not None else sqrt_down(multiply_down(_of(target.rho), 2))
    level = divide_down(multiply_down(mu, mu), 2)
    if not level:
        raise NoGuaranteeError("the target is too small")
    delta = down(enclose(lambda: profile_ball(ball(mu), ball(level))))
    return ResidueFilter(level, delta, ZERO, queries)


def menu(target: Target, sketch: Sketch) -> MenuFilter:
    """The sketch's own mechanisms as a menu, at costs in proportion to their squares, with the largest safe budget."""
    epsilon, delta = _epsilon(target), _delta(target)
    leaves = list(dict.fromkeys(leaf for event, _ in sketch.parts for leaf in open_event(event)))
    if any(isinstance(leaf, SAMPLED_TYPES) for leaf in leaves):
        raise NoGuaranteeError(
            "what a sampled mechanism should cost is for its steward to say; declare a menu yourself"
        )
    declared = proportional(leaves)
    work = expected_work(declared, epsilon, delta)
    if work > MOST_WORK:
        raise NoGuaranteeError(
            f"a menu of these mechanisms takes about {work:.2g} operations to open; declare it yourself if you like "
            "(`dosimeter open --menu`)"
        )
    return MenuFilter(epsilon, delta, declared)


def residue_plan(target: Target, sketch: Sketch) -> PlanResidueFilter:
    """The sketch as a plan, as long as the target allows; whoever leaves it pays by profile."""
    if target.epsilon is None:
        raise NoGuaranteeError(_FINITE_ORDERS)
    plan = [(leaf, inner * count) for event, count in sketch.parts for leaf, inner in open_event(event).items()]
    try:
        return PlanResidueFilter.largest(plan, target.epsilon, _delta(target))
    except InputError as error:
        raise NoGuaranteeError(str(error)) from None


def rdp(target: Target, sketch: Sketch) -> RDPFilter:
    """One order, the one at which the sketch takes the smallest part of its budget."""
    declared = _renyi_share(target, sketch)
    curve = renyi_of(sketch)
    costs = zip(curve.orders, curve.epsilons, strict=True)
    budgets = [(a, cost, largest_rdp_for_approx(a, _epsilon(target), target.delta, declared)) for a, cost in costs]
    usable = [(cost / budget, a, budget) for a, cost, budget in budgets if budget > 0]
    if not usable:
        raise NoGuaranteeError("no Renyi order reaches this epsilon at this delta")
    _, order, budget = min(usable)
    return RDPFilter(order, budget, declared)


def rdp_curve(target: Target, sketch: Sketch) -> RDPCurveFilter:
    """The sketch's own curve, as often as the target allows: every order must hold, so none is wasted."""
    declared = _renyi_share(target, sketch)
    curve = renyi_of(sketch)
    one = rdp(target, sketch)
    at = curve.epsilons[curve.orders.index(one.order)]
    if not at:
        raise NoGuaranteeError("the sketch costs nothing in Renyi DP")
    budgets = tuple(
        one.epsilon if a == one.order else multiply_down(divide_down(cost, at), one.epsilon)
        for a, cost in zip(curve.orders, curve.epsilons, strict=True)
    )
    return RDPCurveFilter(curve.orders, budgets, declared)


def rdp_weighted(target: Target, sketch: Sketch) -> WeightedRDPFilter:
    """Equal shares of delta for orders that double."""
    declared = _renyi_share(target, sketch)
    orders = renyi_of(sketch).orders
    spread = tuple(order for order in SPREAD if order <= orders[-1]) or orders[:1]
    return WeightedRDPFilter(_epsilon(target), target.delta, spread, None, declared)


def approx_published(target: Target, sketch: Sketch) -> PublishedApproxFilter:
    """The target itself; half of delta for deltas at which Gaussian noise is stated, where there is any."""
    return PublishedApproxFilter(_epsilon(target), _delta(target), _stated_share(target, sketch))


def rogers(target: Target, sketch: Sketch) -> RogersFilter:  # noqa: ARG001
    """The target itself."""
    return RogersFilter(_epsilon(target), _delta(target))


def renyi_of(sketch: Sketch) -> RDP:
    """The sketch's Renyi divergences at many orders, added; at as many of them as everything is known."""
    at = RDPCurveFilter(ORDERS, (ONE,) * len(ORDERS))
    losses: list[Any] = [loss_for(event, at, relation=sketch.relation) for event, _ in sketch.parts]
    repeated = [loss.repeat(count) for loss, (_, count) in zip(losses, sketch.parts, strict=True)]
    total: RDP = reduce(lambda a, b: a.compose(b), repeated)
    return total


def needs_statement(event: Any) -> bool:
    """Whether an event has no (epsilon, delta) of its own, so that "approx" accounts need a delta to state it at."""
    from dosimeter.accounting.tables.approx import stated

    return any(stated(leaf) is None for leaf in open_event(event))


def _odds_of_the_best_guess(mu: Decimal) -> Ball:
    """Phi(mu/2) / (1 - Phi(mu/2)): pure DP at its logarithm is mu-GDP, and at nothing larger."""
    miss = (ball(mu) / 2 / ball(Decimal(2)).sqrt()).erfc() / 2
    return (1 - miss) / miss


def _stated_share(target: Target, sketch: Sketch) -> Decimal:
    own = declared_share(target, sketch)
    if not any(needs_statement(event) for event, _ in sketch.parts):
        return own
    return add_up(own, divide_down(subtract_down(target.delta, own), 2))


def _renyi_share(target: Target, sketch: Sketch) -> Decimal:
    if target.epsilon is None:
        raise NoGuaranteeError(_FINITE_ORDERS)
    _delta(target)
    return declared_share(target, sketch)


def _epsilon(target: Target) -> Decimal:
    if target.epsilon is None:
        raise NoGuaranteeError("its promise is about one epsilon, and the target is about all of them")
    return target.epsilon


def _delta(target: Target) -> Decimal:
    if not target.delta:
        raise NoGuaranteeError(_NO_DELTA)
    return target.delta


def _of(value: Decimal | None) -> Decimal:
    return value if value is not None else _never()


def _never() -> Any:
    raise InputError("a target has one of epsilon, rho and mu")


OPENINGS: Final[dict[str, Opening]] = {
    "approx": approx,
    "zcdp": zcdp,
    "gdp": gdp,
    "pure": pure,
    "basic": basic,
    "rdp": rdp,
    "rdp_curve": rdp_curve,
    "rdp_weighted": rdp_weighted,
    "approx_published": approx_published,
    "rogers": rogers,
    "residue": residue,
    "residue_plan": residue_plan,
    "menu": menu,
}
COMPARISON_ONLY: Final = frozenset({"approx_published", "rogers"})
DECLARED_IN_ADVANCE: Final = frozenset({"menu", "residue_plan"})  # best for what was declared at opening
PREFERENCE: Sequence[str] = ("pure", "gdp", "residue", "approx", "zcdp", "basic", "rdp", "rdp_weighted", "rdp_curve")
