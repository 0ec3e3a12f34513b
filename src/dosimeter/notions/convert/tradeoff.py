"""Trade-off functions: the least false-negative rate of any test at a given false-positive rate.

A guarantee in f-DP says that no test does better than f, so values are rounded DOWN here: the tester is never credited
with less than it has. Trade-off functions and (epsilon, delta) profiles are convex conjugates of one another; that
duality is exact for piecewise linear functions, which is what every mechanism with finitely many outputs has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball
from dosimeter.errors import InputError
from dosimeter.exact import ONE, SMALLEST, ZERO, Number, amount, fraction_down, fraction_up
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.gdp import GDP
from dosimeter.notions.profiles.reading import read_fraction, read_target_epsilon
from dosimeter.notions.profiles.solving import nonnegative_down, probability_up

if TYPE_CHECKING:
    Ball: TypeAlias = Any


def gdp_to_tradeoff(guarantee: GDP, *, false_positive_rate: Number) -> Decimal:
    """The least false-negative rate under mu-GDP: Phi(PhiInv(1 - x) - mu), and (1-d) G_mu(x/(1-d)) with failures d.

    Guarantee: rounded down; this is the definition of mu-GDP.

    Args:
        false_positive_rate: x, 0 or in [1e-300, 1].

    Reference: Dong, Roth, Su (2022), Definition 2.6.
    """
    x = _read_rate(false_positive_rate)
    mu, failure = guarantee.mu, guarantee.delta
    good = 1 - Fraction(failure)
    if Fraction(x) >= good:
        return ZERO
    if not x:
        return fraction_down(good)

    def miss() -> Ball:
        import flint

        rate = Fraction(x) / good
        root_two = flint.arb(2).sqrt()
        quantile = (
            root_two * (2 * ball(rate)).erfcinv()
            if rate < Fraction(1, 2)
            else -root_two * (2 * ball(1 - rate)).erfcinv()
        )
        return ball(good) * ((ball(mu) - quantile) / root_two).erfc() / 2

    return nonnegative_down(miss)


def approx_to_tradeoff(guarantee: ApproxDP, *, false_positive_rate: Number) -> Decimal:
    """The least false-negative rate under (epsilon, delta)-DP: max(0, 1 - d - e^eps x, e^-eps (1 - d - x)).

    Guarantee: rounded down; equivalent to (epsilon, delta)-DP.

    Args:
        false_positive_rate: x, 0 or in [1e-300, 1].

    Reference: Wasserman, Zhou (2010), Theorem 2.4; Dong, Roth, Su (2022), Proposition 2.5.
    """
    x = _read_rate(false_positive_rate)
    left = 1 - Fraction(guarantee.delta) - Fraction(x)
    if left <= 0:
        return ZERO
    steep = nonnegative_down(lambda: ball(1 - Fraction(guarantee.delta)) - ball(guarantee.epsilon).exp() * ball(x))
    flat = nonnegative_down(lambda: (-ball(guarantee.epsilon)).exp() * ball(left))
    return max(steep, flat)


def profile_to_tradeoff(guarantees: Iterable[ApproxDP], *, false_positive_rate: Number) -> Decimal:
    """The least false-negative rate when one mechanism has all these (epsilon, delta) guarantees at once.

    Guarantee: rounded down; the supremum over more and more points of a profile is the trade-off function itself.

    Args:
        guarantees: any number of points of the profile, at least one.
        false_positive_rate: 0 or in [1e-300, 1].

    Raises:
        InputError: no guarantee is given.

    Reference: Dong, Roth, Su (2022), Proposition 2.12.
    """
    points = tuple(guarantees)
    if not points:
        raise InputError("a profile needs at least one (epsilon, delta) guarantee")
    return max(approx_to_tradeoff(point, false_positive_rate=false_positive_rate) for point in points)


def tradeoff_to_approx(vertices: Sequence[tuple[Number, Number]], *, target_epsilon: Number) -> ApproxDP:
    """The (epsilon, delta) guarantee of f-DP for the piecewise linear f through these vertices.

    Guarantee: rounded up, exact; delta = 1 + f*(-e^epsilon) = max over vertices of 1 - f(x) - e^epsilon x. For f the
    trade-off function of the ordered pair (P, Q), this is the hockey-stick divergence of Q from P: mind the direction.

    Args:
        vertices: (false-positive rate, false-negative rate), from rate 0 to (1, 0), convex and non-increasing.
        target_epsilon: 0 or in [1e-300, 1e12].

    Raises:
        InputError: the vertices are not those of a trade-off function.

    Reference: Dong, Roth, Su (2022), Proposition 2.12.
    """
    epsilon = read_target_epsilon(target_epsilon, "target_epsilon")
    points = _read_tradeoff(vertices)

    def delta() -> Ball:
        best = ball(0)
        for x, miss in points:
            best = best.max(ball(1 - miss) - ball(epsilon).exp() * ball(x))
        return best

    if not epsilon:
        gap = max(1 - miss - x for x, miss in points)
        return ApproxDP(epsilon, max(SMALLEST, fraction_up(gap)) if gap else ZERO)
    return ApproxDP(epsilon, probability_up(delta))


def _read_rate(value: Number, name: str = "false_positive_rate") -> Decimal:
    """A rate: 0 or in [1e-300, 1], a ratio rounded up."""
    return amount(value, name, zero=True, largest=ONE)


def _read_tradeoff(vertices: Sequence[tuple[Number, Number]]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The vertices of a piecewise linear trade-off function, checked."""
    points = tuple(
        (read_fraction(x, "false_positive_rate"), read_fraction(miss, "false_negative_rate")) for x, miss in vertices
    )
    if len(points) < 2 or points[0][0] != 0 or points[-1] != (Fraction(1), Fraction(0)):
        raise InputError("a trade-off function starts at false-positive rate 0 and ends at (1, 0)")
    slopes = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if not (x0 < x1 and y0 >= y1 and 0 <= y0 <= 1 - x0):
            raise InputError("the vertices of a trade-off function rise in x, do not rise in y, and stay below 1 - x")
        slopes.append((y1 - y0) / (x1 - x0))
    if any(a > b for a, b in itertools.pairwise(slopes)):
        raise InputError("a trade-off function is convex; these vertices are not")
    return points
