"""What a guarantee for one privacy unit says about a group of several.

`size` units change at once; equivalently, a guarantee per row becomes one per user with at most `size` rows.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from dosimeter.enclosure import ball
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, count, divide_down, multiply_up
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.gdp import GDP
from dosimeter.notions.profiles.solving import at_most_one, probability_up
from dosimeter.notions.pure import PureDP
from dosimeter.notions.rdp import RDP
from dosimeter.notions.zcdp import ZCDP

LARGEST_GROUP: Final = 10**6


def group_pure(guarantee: PureDP, *, size: int) -> PureDP:
    """epsilon-DP protects a group of k at k epsilon.

    Guarantee: rounded up; tight.

    Args:
        size: how many units change at once, 1 to 1e6.

    Reference: Dwork, Roth (2014), Theorem 2.2.
    """
    return PureDP(multiply_up(guarantee.epsilon, _size(size)))


def group_approx(guarantee: ApproxDP, *, size: int) -> ApproxDP:
    """(epsilon, delta)-DP protects a group of k at (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1)).

    Guarantee: rounded up.

    Args:
        size: how many units change at once, 1 to 1e6.

    Reference: Vadhan (2017), The complexity of differential privacy, Lemma 2.2, with the sum kept exact.
    """
    k, e0, d0 = _size(size), guarantee.epsilon, guarantee.delta
    if not d0 or not e0:
        delta = min(ONE, multiply_up(d0, k))
    else:
        delta = probability_up(lambda: at_most_one(ball(d0) * (k * ball(e0)).expm1() / ball(e0).expm1()))
    return ApproxDP(multiply_up(e0, k), delta)


def group_zcdp(guarantee: ZCDP, *, size: int) -> ZCDP:
    """rho-zCDP protects a group of k at k^2 rho.

    Guarantee: rounded up; tight (the Gaussian mechanism).

    Args:
        size: how many units change at once, 1 to 1e6.

    Raises:
        NoGuaranteeError: the guarantee has a failure probability; convert it with `zcdp_to_approx`, then use
            `group_approx`.

    Reference: Bun, Steinke (2016), Proposition 1.9.
    """
    _no_failures(guarantee.delta, "zcdp_to_approx")
    return ZCDP(multiply_up(guarantee.rho, _size(size) ** 2))


def group_gdp(guarantee: GDP, *, size: int) -> GDP:
    """mu-GDP protects a group of k at k mu.

    Guarantee: rounded up; tight (the Gaussian mechanism).

    Args:
        size: how many units change at once, 1 to 1e6.

    Raises:
        NoGuaranteeError: the guarantee has a failure probability; convert it with `gdp_to_approx`, then use
            `group_approx`.

    Reference: Dong, Roth, Su (2022), Theorem 2.14.
    """
    _no_failures(guarantee.delta, "gdp_to_approx")
    return GDP(multiply_up(guarantee.mu, _size(size)))


def group_rdp(guarantee: RDP, *, size: int) -> RDP:
    """(a, tau)-RDP protects a group of 2^c at order a / 2^c with 3^c tau, for a >= 2^(c+1).

    Guarantee: rounded up. A size between powers of two is treated as the next power; orders that are too small for it
    are dropped.

    Args:
        size: how many units change at once, 1 to 1e6.

    Raises:
        NoGuaranteeError: no order is large enough, or the guarantee has a failure probability.

    Reference: Mironov (2017), Proposition 2.
    """
    _no_failures(guarantee.delta, "rdp_to_approx")
    c = (_size(size) - 1).bit_length()
    pairs = [
        (a, tau) for a, tau in zip(guarantee.orders, guarantee.epsilons, strict=True) if c == 0 or a >= 2 ** (c + 1)
    ]
    if not pairs:
        raise NoGuaranteeError(
            f"a group of {size} needs a Renyi order of at least {2 ** (c + 1)}; "
            f"the largest here is {guarantee.orders[-1]}: state the guarantee at larger orders"
        )
    # an order rounded down: a Renyi divergence never decreases in its order
    return RDP(tuple(divide_down(a, 2**c) for a, _ in pairs), tuple(multiply_up(tau, 3**c) for _, tau in pairs))


def _size(size: int) -> int:
    return count(size, "size", largest=LARGEST_GROUP)


def _no_failures(delta: Decimal, conversion: str) -> None:
    if delta:
        raise NoGuaranteeError(
            f"a guarantee that fails with probability {delta} has no group form in its own notion; "
            f"state it in (epsilon, delta) with {conversion}, then use group_approx"
        )
