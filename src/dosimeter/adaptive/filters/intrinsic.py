"""The clock that odometers read: V = 2 sum rho over the admitted queries, whatever notion the filter adds up."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from dosimeter.adaptive.filters.sums import require_sums
from dosimeter.enclosure import ball, down, precision
from dosimeter.exact import LARGEST, ZERO, multiply_down, multiply_up, sqrt_down
from dosimeter.notions import PureDP
from dosimeter.notions.convert import pure_to_zcdp


class ClockedState:
    """A state that keeps sums, the rho of its queries among them; checked whenever one is built."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def rho(self) -> Decimal:
            """The sum of the rhos of the admitted queries, rounded up."""
            ...

    def __post_init__(self) -> None:
        require_sums(self)

    @property
    def intrinsic_time(self) -> Decimal:
        """V = 2 sum rho, rounded up."""
        return multiply_up(self.rho, 2)


@lru_cache(maxsize=4096)
def pure_rho(epsilon: Decimal) -> Decimal:
    """The rho of an epsilon-DP query: epsilon tanh(epsilon/2), rounded up."""
    return pure_to_zcdp(PureDP(epsilon)).rho


@lru_cache(maxsize=256)
def largest_pure(rho: Decimal) -> Decimal:
    """The largest epsilon with epsilon tanh(epsilon/2) <= rho, rounded down (to about 22 digits).

    Newton from sqrt(2 rho), which is never above the root, then checked in ball arithmetic.
    """
    if not rho:
        return ZERO
    lowest = sqrt_down(multiply_down(rho, 2))
    with precision(192):
        e, r = ball(lowest), ball(rho)
        for _ in range(80):
            half = (e / 2).tanh()
            step = ((r - e * half) / (half + e * (1 - half * half) / 2)).mid()
            e = (e + step).mid()
            if abs(step) <= e * ball(Decimal("1e-30")):
                break
        e = e * (1 - ball(Decimal("1e-22")))
    found = min(LARGEST, down(e))
    if found > lowest and pure_rho(found) <= rho:
        return found
    return multiply_down(lowest, Decimal("0.99999999999999999999"))  # safe: epsilon tanh(epsilon/2) <= epsilon^2/2
