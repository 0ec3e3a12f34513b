"""Privacy filters: what each admits, under which theorem. All hold under full adaptivity.

Rules that need parameters fixed in advance (optimal composition, privacy loss distributions, "the best Renyi order at
the end") are not filters and are not here.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from dosimeter.adaptive.filter import Admitted, Filter, Refused
from dosimeter.adaptive.filters.approx import ApproxFilter
from dosimeter.adaptive.filters.basic import BasicFilter, BasicState
from dosimeter.adaptive.filters.children import Family, OpenChild
from dosimeter.adaptive.filters.gdp import GDPFilter, GDPState
from dosimeter.adaptive.filters.menu import MenuFilter, MenuState
from dosimeter.adaptive.filters.published import PublishedApproxFilter, SquaresState
from dosimeter.adaptive.filters.pure import PureFilter, PureState
from dosimeter.adaptive.filters.rdp import RDPCurveFilter, RDPFilter, RDPState
from dosimeter.adaptive.filters.rogers import RogersFilter, RogersState
from dosimeter.adaptive.filters.sums import read, texts
from dosimeter.adaptive.filters.weighted import WeightedRDPFilter
from dosimeter.adaptive.filters.zcdp import ZCDPFilter, ZCDPState
from dosimeter.adaptive.residue.gaussian_filter import ResidueFilter, ResidueState
from dosimeter.adaptive.residue.plan_filter import PlanResidueFilter, PlanResidueState
from dosimeter.errors import InputError
from dosimeter.exact import show
from dosimeter.notions import Loss

AnyFilter: TypeAlias = (
    PureFilter
    | BasicFilter
    | ApproxFilter
    | PublishedApproxFilter
    | ZCDPFilter
    | RDPFilter
    | RDPCurveFilter
    | WeightedRDPFilter
    | GDPFilter
    | RogersFilter
    | ResidueFilter
    | PlanResidueFilter
    | MenuFilter
)
AnyState: TypeAlias = (
    PureState
    | BasicState
    | SquaresState
    | ZCDPState
    | RDPState
    | GDPState
    | RogersState
    | ResidueState
    | PlanResidueState
    | MenuState
)

FILTERS: Final[dict[str, type[AnyFilter]]] = {
    built.kind: built
    for built in (
        ApproxFilter,
        ZCDPFilter,
        GDPFilter,
        PureFilter,
        BasicFilter,
        RDPFilter,
        RDPCurveFilter,
        WeightedRDPFilter,
        PublishedApproxFilter,
        RogersFilter,
        ResidueFilter,
        MenuFilter,
        PlanResidueFilter,
    )
}
DEFAULT_KIND: Final = ApproxFilter.kind

FILTER_KINDS: Final[dict[str, str]] = {
    "approx": "(epsilon, delta) for all queries together, paid in zCDP with each mechanism's own constant; the default",
    "zcdp": "a budget of rho: every Renyi order at once, any conversion at the end",
    "gdp": "a budget of mu: exact for Gaussian noise, squares of mu add up",
    "pure": "a budget of epsilon alone, no failure probability; epsilons add up",
    "basic": "budgets of epsilon and delta; both simply add up",
    "rdp": "a Renyi budget at one order, chosen before the first query",
    "rdp_curve": "Renyi budgets at several orders, all of which must hold",
    "rdp_weighted": "(epsilon, delta) from several Renyi orders, one of which must hold; each owns a share of delta",
    "approx_published": "(epsilon, delta) by the published advanced-composition filter; admits less than approx",
    "residue": "(epsilon, delta) paid from one Gaussian pair by each mechanism's whole privacy profile; admits most",
    "menu": "(epsilon, delta) for a declared menu of mechanisms, from the exact worst case over all adaptive analysts",
    "residue_plan": "(epsilon, delta) of a plan declared in advance, which may be left at any time; best for training",
    "rogers": "the first advanced-composition filter (2016), for comparison only",
}

FULLY_ADAPTIVE: Final = "mechanisms, parameters and the number of queries may depend on every earlier answer"
ADAPTIVITY: Final[dict[str, str]] = dict.fromkeys(FILTER_KINDS, FULLY_ADAPTIVE)


def filter_to_json(filter_: AnyFilter) -> dict[str, Any]:
    """A filter's configuration as JSON, numbers as texts."""
    return filter_.to_json()


def filter_from_json(data: object) -> AnyFilter:
    """Read a filter back.

    Raises:
        InputError: `filter_to_json` did not write it; names the kinds that exist.
    """
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in FILTERS:
        got = show(kind) if isinstance(data, dict) else type(data).__name__
        raise InputError(f"filter kind={got} is unknown; this version has: {', '.join(FILTERS)}")
    if kind == MenuFilter.kind:
        return MenuFilter.from_json(data)
    if kind == PlanResidueFilter.kind:
        return PlanResidueFilter.from_json(data)
    built: AnyFilter = read(kind, FILTERS[kind], data)
    return built


def fits(filter_: AnyFilter, state: Any, loss: Loss, *, largest: int = 10**9) -> int:
    """How many more queries of this loss the filter would admit, one after the other (at most `largest`)."""
    low, high = 0, 1
    while high <= largest and isinstance(filter_.admit(state, loss, high), Admitted):
        low, high = high, 2 * high
    high = min(high, largest + 1)
    while high - low > 1:
        middle = (low + high) // 2
        admitted = isinstance(filter_.admit(state, loss, middle), Admitted)
        low, high = (middle, high) if admitted else (low, middle)
    return low


__all__ = [
    "ADAPTIVITY",
    "DEFAULT_KIND",
    "FILTERS",
    "FILTER_KINDS",
    "FULLY_ADAPTIVE",
    "Admitted",
    "AnyFilter",
    "AnyState",
    "ApproxFilter",
    "BasicFilter",
    "BasicState",
    "Family",
    "Filter",
    "GDPFilter",
    "GDPState",
    "MenuFilter",
    "MenuState",
    "OpenChild",
    "PlanResidueFilter",
    "PlanResidueState",
    "PublishedApproxFilter",
    "PureFilter",
    "PureState",
    "RDPCurveFilter",
    "RDPFilter",
    "RDPState",
    "Refused",
    "ResidueFilter",
    "ResidueState",
    "RogersFilter",
    "RogersState",
    "SquaresState",
    "WeightedRDPFilter",
    "ZCDPFilter",
    "ZCDPState",
    "filter_from_json",
    "filter_to_json",
    "fits",
    "texts",
]
