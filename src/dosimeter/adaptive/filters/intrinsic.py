"""The clock that odometers read: V = 2 sum rho over the admitted queries, whatever notion the filter adds up."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from dosimeter.enclosure import ball, down, precision
from dosimeter.exact import ONE, ZERO, multiply_down, multiply_up, sqrt_down
from dosimeter.notions.profiles.randomized_response import randomized_response_renyi


@lru_cache(maxsize=4096)
def pure_rho(epsilon: Decimal) -> Decimal:
    """The rho of an epsilon-DP query: epsilon tanh(epsilon/2), the divergence of order 1, rounded up."""
    return randomized_response_renyi(epsilon, ONE)


def twice(rho: Decimal) -> Decimal:
    """2 rho, rounded up."""
    return multiply_up(rho, 2)


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
    for margin in (Decimal("1e-24"), Decimal("1e-20"), Decimal("1e-12")):
        found = down(e * (1 - ball(margin)))
        if found > lowest and pure_rho(found) <= rho:
            return found
    return lowest
