"""What a filter claims at a level: the delta of everything together, from its guarantee by proven conversions."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, Number, to_decimal
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter


def claimed_delta(filter_: Filter[Any], epsilon: Number) -> Decimal:
    """The delta that a filter guarantees at an epsilon, rounded up.

    Guarantee: every interaction that the filter admits is (epsilon, delta)-DP.

    Args:
        filter_: any filter; one that knows its delta at every epsilon is asked for it.
        epsilon: 0 or more.

    Raises:
        NoGuaranteeError: the filter says nothing at an epsilon below its own.

    Reference: the conversions of each notion.
    """
    from dosimeter.notions.convert import gdp_to_approx, rdp_to_approx, zcdp_to_approx
    from dosimeter.notions.profiles import randomized_response_delta

    at = getattr(filter_, "delta_at", None)
    if at is not None:
        known: Decimal = at(epsilon)
        return known
    said = filter_.guarantee()
    if isinstance(said, PureDP):
        return randomized_response_delta(said.epsilon, 0, epsilon)
    if isinstance(said, ZCDP):
        return zcdp_to_approx(said, target_epsilon=epsilon).delta
    if isinstance(said, GDP):
        return gdp_to_approx(said, target_epsilon=epsilon).delta
    if isinstance(said, RDP):
        return rdp_to_approx(said, target_epsilon=epsilon).delta
    if isinstance(said, ApproxDP) and to_decimal(epsilon, "epsilon") >= said.epsilon:
        return min(ONE, said.delta)
    raise NoGuaranteeError(
        f"a filter of kind {filter_.kind!r} says nothing at epsilon={epsilon}; ask at its own epsilon"
    )
