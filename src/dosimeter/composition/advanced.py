"""Advanced composition in every published form: losses concentrate, so k mechanisms cost about sqrt(k), not k.

All forms pay a slack for a tail bound and differ in how well they bound mean and spread of the loss. They are kept
apart because people check numbers against a paper; `best` picks among them, and the optimal theorems beat them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from dosimeter.composition.parts import Counts, Part, epsilon_counts, epsilon_sum, read_parts, read_slack, with_slack
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import LARGEST, Number, add_up, multiply_up
from dosimeter.notions import ApproxDP, PureDP
from dosimeter.notions.convert import pure_to_zcdp
from dosimeter.notions.profiles.concentrated import zcdp_epsilon

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball


def advanced_drv(parts: Iterable[Part], slack_delta: Number) -> ApproxDP:
    """The first advanced composition theorem: sum e(exp(e) - 1) + sqrt(2 log(1/slack) sum e^2).

    Guarantee: mechanisms that are (e_i, d_i)-DP, each chosen with knowledge of earlier answers but with parameters
    fixed in advance, are together (returned, 1 - (1 - slack) prod (1 - d_i))-DP. For k equal ones this is the published
    k e(exp(e) - 1) + e sqrt(2 k log(1/slack)); unequal ones enter its proof (Azuma's inequality) term by term.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count.
        slack_delta: what the tail bound costs, in [1e-300, 1).

    Raises:
        NoGuaranteeError: the formula exceeds 1e12 (the drift grows like exp(e)); use `basic`.

    Reference: Dwork, Rothblum and Vadhan 2010, Theorem III.3; Dwork and Roth 2014, Theorem 3.20.
    """
    counts = read_parts(parts)
    slack = read_slack(slack_delta)

    def epsilon() -> Ball:
        drift = _sum(counts, lambda e: e * e.expm1())
        return drift + _deviation(counts, slack)

    return _guarantee(counts, slack, up(enclose(epsilon)))


def advanced_squares(parts: Iterable[Part], slack_delta: Number) -> ApproxDP:
    """Advanced composition from squares: sum e^2 / 2 + sqrt(2 log(1/slack) sum e^2).

    Guarantee: as `advanced_drv`, never larger.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count.
        slack_delta: what the tail bound costs, in [1e-300, 1).

    Reference: Bun and Steinke 2016; Steinke 2022, Theorem 18; Whitehouse, Ramdas, Rogers and Wu 2023, equation (2).
    """
    counts = read_parts(parts)
    slack = read_slack(slack_delta)

    def epsilon() -> Ball:
        return _sum(counts, lambda e: e * e) / 2 + _deviation(counts, slack)

    return _guarantee(counts, slack, up(enclose(epsilon)))


def advanced_capped(parts: Iterable[Part], slack_delta: Number) -> ApproxDP:
    """Advanced composition from squares, or the plain sum where that is smaller.

    Guarantee: as `advanced_squares`; with target delta, take the slack from `slack_for(parts, delta)`. The published
    total is slack + sum d_i; the product used here is never more.

    Reference: Steinke 2022, Theorem 22.
    """
    counts = read_parts(parts)
    squares = advanced_squares(counts.items(), slack_delta)
    return ApproxDP(min(squares.epsilon, epsilon_sum(counts)), squares.delta)


def advanced_tanh(parts: Iterable[Part], slack_delta: Number) -> ApproxDP:
    """Advanced composition with the tight drift: r + 2 sqrt(r log(1/slack)), r = sum e tanh(e/2).

    Guarantee: as `advanced_squares`, never larger: e-DP is (e tanh(e/2))-zCDP and no less, and 2r <= sum e^2.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count.
        slack_delta: what the tail bound costs, in [1e-300, 1).

    Reference: e tanh(e/2) by concavity of log cosh sqrt; zCDP's tail bound, Bun and Steinke 2016, Proposition 1.3.
    """
    counts = read_parts(parts)
    slack = read_slack(slack_delta)

    def epsilon() -> Ball:
        r = _sum(counts, _drift)
        return r + 2 * (-r * ball(slack).log()).sqrt()

    return _guarantee(counts, slack, up(enclose(epsilon)))


def advanced_zcdp(parts: Iterable[Part], slack_delta: Number) -> ApproxDP:
    """Advanced composition through zCDP with its optimised conversion: the best of this family.

    Guarantee: as `advanced_tanh`, never larger: inf over orders a > 1 of a r + log(1 - 1/a) - log(a slack)/(a - 1).

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count.
        slack_delta: what the tail bound costs, in [1e-300, 1).

    Reference: Canonne, Kamath and Steinke 2020, Proposition 12; Steinke 2022, Proposition 14.
    """
    counts = read_parts(parts)
    slack = read_slack(slack_delta)
    rho = add_up(
        *(multiply_up(pure_to_zcdp(PureDP(epsilon)).rho, times) for epsilon, times in epsilon_counts(counts).items())
    )
    return _guarantee(counts, slack, zcdp_epsilon(rho, slack))


def advanced_kov(parts: Iterable[Part], slack_delta: Number) -> ApproxDP:
    """The simple form of Kairouz, Oh and Viswanath: the least of three, with K = sum e tanh(e/2) and V = sum e^2.

    Guarantee: as `advanced_drv`: min { sum e, K + sqrt(2V log(exp(1) + sqrt(V)/slack)), K + sqrt(2V log(1/slack)) }.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count.
        slack_delta: what the tail bound costs, in [1e-300, 1).

    Reference: Kairouz, Oh and Viswanath 2017, Theorem 3.4 (equal mechanisms) and 3.5 (unequal ones).
    """
    counts = read_parts(parts)
    slack = read_slack(slack_delta)

    def second() -> Ball:
        v = _sum(counts, lambda e: e * e)
        return _sum(counts, _drift) + (2 * v * (ball(1).exp() + v.sqrt() / ball(slack)).log()).sqrt()

    def third() -> Ball:
        return _sum(counts, _drift) + _deviation(counts, slack)

    return _guarantee(counts, slack, min(epsilon_sum(counts), up(enclose(second)), up(enclose(third))))


def _drift(epsilon: Ball) -> Ball:
    return epsilon * (epsilon / 2).tanh()


def _deviation(counts: Counts, slack: Decimal) -> Ball:
    return (-2 * _sum(counts, lambda e: e * e) * ball(slack).log()).sqrt()


def _sum(counts: Counts, term: Callable[[Ball], Ball]) -> Ball:
    total = ball(0)
    for epsilon, times in epsilon_counts(counts).items():
        total += times * term(ball(epsilon))
    return total


def _guarantee(counts: Counts, slack: Decimal, epsilon: Decimal) -> ApproxDP:
    if epsilon > LARGEST:
        raise NoGuaranteeError(f"epsilon={epsilon:.6g} is beyond every range; basic composition gives the plain sum")
    return ApproxDP(epsilon, with_slack(counts, slack))
