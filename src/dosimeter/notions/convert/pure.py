"""What epsilon-DP implies in the other notions. Randomized response attains every one of these."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from dosimeter.exact import ZERO, Number
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.gdp import GDP
from dosimeter.notions.probabilistic import ProbabilisticDP
from dosimeter.notions.profiles import randomized_response_mu, randomized_response_renyi
from dosimeter.notions.pure import PureDP
from dosimeter.notions.rdp import RDP, read_order
from dosimeter.notions.zcdp import ZCDP


def pure_to_approx(guarantee: PureDP) -> ApproxDP:
    """epsilon-DP is (epsilon, 0)-DP. For a smaller epsilon at some delta, go on with `approx_to_approx`.

    Guarantee: equivalent.

    Reference: Dwork, Roth (2014), Definition 2.4.
    """
    return ApproxDP(guarantee.epsilon, ZERO)


def pure_to_probabilistic(guarantee: PureDP) -> ProbabilisticDP:
    """epsilon-DP bounds the loss by epsilon everywhere.

    Guarantee: equivalent.

    Reference: Kasiviswanathan, Smith (2014), section 2.
    """
    return ProbabilisticDP(guarantee.epsilon, ZERO)


def pure_to_zcdp(guarantee: PureDP) -> ZCDP:
    """epsilon-DP is rho-zCDP with rho = epsilon tanh(epsilon/2), at most epsilon^2 / 2.

    Guarantee: rounded up; tight (randomized response, as the order goes to 1).

    Reference: sharpens Bun, Steinke (2016), Proposition 1.4: log cosh(sqrt u) is concave in u, so the divergence of
        randomized response lies below its tangent at order 1.
    """
    return ZCDP(randomized_response_renyi(guarantee.epsilon, 1))


def pure_to_rdp(guarantee: PureDP, *, orders: Iterable[Number]) -> RDP:
    """epsilon-DP at the given Renyi orders: log(cosh((a - 1/2) epsilon) / cosh(epsilon/2)) / (a - 1).

    Guarantee: rounded up; tight at every order (randomized response).

    Args:
        orders: strictly increasing, each in (1, 1e6].

    Reference: Bun, Steinke (2016), proof of Proposition 3.3.
    """
    read: tuple[Decimal, ...] = tuple(read_order(order) for order in orders)
    return RDP(read, tuple(randomized_response_renyi(guarantee.epsilon, order) for order in read))


def pure_to_gdp(guarantee: PureDP) -> GDP:
    """epsilon-DP is mu-GDP with mu = 2 PhiInv(e^epsilon / (1 + e^epsilon)).

    Guarantee: rounded up; tight (randomized response).

    Raises:
        InputError: mu is above 1e6 (an epsilon above about 1e11).

    Reference: Dong, Roth, Su (2022), section 2: G_mu lies below the trade-off curve of randomized response
        exactly when it does so at that curve's kink.
    """
    return GDP(randomized_response_mu(guarantee.epsilon))
