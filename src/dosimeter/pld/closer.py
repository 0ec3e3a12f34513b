"""Where the moments of allocated records are out of reach, points take over: the same number, from the second engine.

With hardly any noise, or with so much that every order that matters is beyond a hundred, the saddle line has only the
frames around an allocated record (see `dosimeter.pld.allocation.frame`) and leaves a wide interval. The second engine
needs no moments. Both intervals hold the exact value, so their intersection does. `cross_check` never uses this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dosimeter.errors import EnginesDisagree, InputError, NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Bound
from dosimeter.pld.allocation.line import is_allocated

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

_WIDE_EPSILON = Decimal("0.002")  # relative widths from which the second engine is asked
_WIDE_DELTA = Decimal("0.05")
_ACCURACY = "2e-4"


def closer_epsilon(counts: Mapping[Law, int], ends: tuple[float, float], question: Mapping[str, Any]) -> Bound | None:
    """The second engine's epsilon, if it is worth asking: None for plans without allocated records and narrow answers.

    Args:
        counts: what was composed.
        ends: what the saddle line says.
        question: `delta` or `log10_delta`, and a `direction`, as the accountant was asked.
    """
    low, high = ends
    if math.isfinite(high) and high - low <= float(_WIDE_EPSILON) * high:
        return None
    return _asked("tilted_epsilon", counts, question)


def closer_delta(counts: Mapping[Law, int], found: Bound, question: Mapping[str, Any]) -> Bound:
    """The delta of an accountant, narrowed by the second engine where that is worth asking."""
    if found.upper - found.lower <= _WIDE_DELTA * found.upper:
        return found
    other = _asked("tilted_delta", counts, question)
    return found if other is None else shared(found, other)


def shared(one: Bound, other: Bound) -> Bound:
    """What two enclosures of a number have in common.

    Raises:
        EnginesDisagree: nothing.
    """
    lower, upper = max(one.lower, other.lower), min(one.upper, other.upper)
    if lower > upper:
        raise EnginesDisagree(
            f"the two engines contradict each other: [{one.lower}, {one.upper}] and [{other.lower}, {other.upper}]; "
            "one of them is wrong, so use neither, and please report the plan",
            one,
            other,
        )
    return Bound(lower, upper)


def _asked(what: str, counts: Mapping[Law, int], question: Mapping[str, Any]) -> Bound | None:
    if not any(is_allocated(law) for law in counts):
        return None
    from dosimeter.pld.tilted import bounds

    try:
        found: Bound = getattr(bounds, what)(list(counts.items()), accuracy=_ACCURACY, **question)
    except (NoGuaranteeError, InputError):  # certifies nothing, or has a smaller range
        return None
    return Bound(max(found.lower, ZERO), found.upper if what == "tilted_epsilon" else min(found.upper, ONE))
