"""What an accountant's profile says in other words: attacks, trade-off curves, Renyi and Gaussian guarantees.

Everything is derived from certified values of delta, never from add- and remove-curves rounded separately, and is an
interval again. `with` and `without` name the hypotheses: the record took part, or it did not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, down, enclose, precision, up
from dosimeter.errors import InputError
from dosimeter.exact import ONE, ZERO, Bound, Number, amount, fraction_up, show, subtract_down, subtract_up, to_decimal
from dosimeter.notions.profiles.gaussian import profile_ball
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.law import Direction

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

_GRID = Decimal("1e-9")
_CLOSE = Decimal("1e-8")
_LARGEST_LEVEL = 5_000.0
_WIDTHS = tuple(2e-7 * 5.0**k for k in range(12))  # of the cells around a minimiser, until they certainly hold it


def advantage(accountant: Accountant) -> Bound:
    """The total variation distance: the largest true-positive minus false-positive rate of any attack."""
    return accountant.delta(0, direction=Direction.REMOVE)


def bayes_success(accountant: Accountant, prior: Number = "0.5") -> Bound:
    """The largest probability with which any attack guesses membership right.

    Guarantee: contains (1 - p) + p H(log((1-p)/p); with, without), the Bayes risk's complement.

    Args:
        accountant: what was composed.
        prior: p, the probability that the record took part, in (0, 1).
    """
    p = to_decimal(prior, "prior")
    if not 0 < p < 1:
        raise InputError(f"prior={show(prior)} is outside (0, 1)")
    level = enclose(lambda: (ball(1 - p) / ball(p)).log() + 0) if p * 2 != 1 else None
    low, high = (ZERO, ZERO) if level is None else (down(level), up(level))
    upper = accountant.delta(low, direction=Direction.REMOVE).upper
    lower = accountant.delta(high, direction=Direction.REMOVE).lower
    share = ball(p)
    least, most = down(1 - share + share * ball(lower)), up(1 - share + share * ball(upper))
    return Bound(max(least, min(p, most), min(subtract_down(ONE, p), most)), min(ONE, most))


def true_positive_rate(
    accountant: Accountant, false_positive_rate: Number, *, direction: Direction | str | None = None
) -> Bound:
    """The largest true-positive rate of any attack with this false-positive rate; both directions unless one is named.

    Guarantee: contains inf over eps of [delta(eps) + e^eps x] (Dong, Roth and Su 2022, Proposition 2.12). Any epsilon
    gives an upper bound; the lower bound follows from convexity in e^eps.

    Args:
        accountant: what was composed.
        false_positive_rate: x, in [1e-300, 1].
        direction: `remove`: positive means "with"; `add`: positive means "without".
    """
    x = amount(false_positive_rate, "false_positive_rate", largest=ONE)
    directions = [Direction(direction)] if direction is not None else list(Direction)
    bounds = [_power(accountant, x, one) for one in directions]
    return Bound(max(b.lower for b in bounds), max(b.upper for b in bounds))


def trade_off(accountant: Accountant, false_positive_rates: Iterable[Number]) -> tuple[Bound, ...]:
    """The trade-off curve: the least false-negative rate at each false-positive rate, over both directions."""
    powers = [true_positive_rate(accountant, x) for x in false_positive_rates]
    return tuple(Bound(subtract_down(ONE, power.upper), subtract_up(ONE, power.lower)) for power in powers)


def _power(accountant: Accountant, x: Decimal, direction: Direction) -> Bound:
    """inf over g >= 0 of H(g) + g x for the convex H: four points around the minimiser bound it from both sides."""

    def line(level: float) -> float:
        bound = accountant.delta(level, direction=direction)
        return float(bound.upper) + math.exp(min(level, 700.0)) * float(x)

    best = _minimise(line, -40.0, min(-math.log(float(x)) + 1.0, _LARGEST_LEVEL))
    lower = x
    upper = min(
        _Point.at(accountant, level, direction).line_up(x) for level in _candidates(accountant, best, direction)
    )
    for width in _WIDTHS:
        levels = [Decimal(best + width * k).quantize(_GRID) for k in (-1.5, -0.5, 0.5, 1.5)]
        points = [_Point.at(accountant, level, direction) for level in levels]
        upper = min(upper, *(point.line_up(x) for point in points))
        found = _below(points, x)
        lower = lower if found is None else max(lower, found)
        if upper - lower <= _CLOSE * upper:
            break
    return Bound(min(lower, upper), upper)


def _candidates(accountant: Accountant, best: float, direction: Direction) -> list[Decimal]:
    """The minimiser found, and the end of the losses, where the curve may have a corner."""
    (side,) = accountant.sides(direction)
    tops = [] if side.top is None or side.atom.upper else [fraction_up(side.top[1])]
    return [Decimal(best).quantize(_GRID), *tops]


@dataclass(frozen=True, slots=True)
class _Point:
    """H at g = e^level, between low and high."""

    level: Decimal
    low: Decimal
    high: Decimal

    @classmethod
    def at(cls, accountant: Accountant, level: Decimal, direction: Direction) -> _Point:
        bound = accountant.delta(level, direction=direction)
        return cls(level, bound.lower, bound.upper)

    def ball(self) -> Ball:
        """g, enclosed."""
        return ball(self.level).exp()

    def line_up(self, x: Decimal) -> Decimal:
        """H(g) + g x, rounded up."""
        return up(enclose(lambda: ball(self.high) + self.ball() * ball(x), 18), 18)


def _below(points: list[_Point], x: Decimal) -> Decimal | None:
    """A lower bound of H(g) + g x over all g >= 0 from four points, or None if they do not straddle the minimiser.

    A convex H lies above a chord extended beyond either end. So right of g_k it is at least low_k + l_k (g - g_k) with
    l_k <= slope of the chord before g_k, and left of g_k at least low_k + r_k (g - g_k) with r_k >= slope of the chord
    after it. Outside the four points the outer chords decide (their slopes must straddle -x), in the outer cells the
    middle chord or that H does not increase, and in the middle cell the outer chords, which cross there.
    """
    with precision(256):
        g = [p.ball() for p in points]
        low, high = [ball(p.low) for p in points], [ball(p.high) for p in points]
        w = ball(x)
        left = [None, *((low[k] - high[k - 1]) / (g[k] - g[k - 1]) for k in (1, 2, 3))]
        right = [(high[k + 1] - low[k]) / (g[k + 1] - g[k]) for k in (0, 1, 2)]
        if not (bool(right[0] + w <= 0) and bool(left[3] + w >= 0)):
            return None
        values = [low[0] + w * g[0], low[3] + w * g[3], low[1] + w * g[1], low[2] + w * g[2]]
        values.append((low[1] + right[1] * (g[0] - g[1]) + w * g[0]).max(low[1] + w * g[0]))
        values.append((low[2] + left[2] * (g[3] - g[2]) + w * g[3]).max(low[3] + w * g[2]))
        crossing = (low[2] - low[1] + left[1] * g[1] - right[2] * g[2]) / (left[1] - right[2])
        if crossing.is_finite() and bool(crossing >= g[1]) and bool(crossing <= g[2]):
            values.append(low[1] + left[1] * (crossing - g[1]) + w * crossing)
        else:
            values.append(low[1] + left[1] * (g[2] - g[1]) + w * g[1])
        return min(down(value, 18) for value in values)


def _minimise(function: Callable[[float], float], low: float, high: float) -> float:
    """A minimiser of a function with one valley, by golden sections: it decides how tight, never how true."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(60):
        if high - low < 1e-6:
            break
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class GaussianEquivalent:
    """A Gaussian pair of parameter `mu` that describes the composition up to `regret`.

    Guarantee: for every false-positive rate x, the false-negative rate is at least G_mu(x + regret) - regret.
    """

    mu: Decimal
    regret: Decimal


def gaussian_equivalent(accountant: Accountant, mu: Number | None = None, *, cells: int = 64) -> GaussianEquivalent:
    """The Gaussian pair with the same advantage (or the given mu), and a certified bound of what it hides.

    A statement "mu-GDP" alone would be false for most compositions: no finite mu, or only a large one, holds in the far
    tail. The regret bounds sup over eps of (delta(eps) - delta_mu(eps)) / (1 + e^eps), by monotonicity on cells of
    epsilon; more cells bring it closer to that supremum.

    Args:
        accountant: what was composed.
        mu: positive; by default the mu with the same total variation distance.
        cells: how many cells of epsilon are looked at, 8 to 4096.
    """
    if not 8 <= cells <= 4096:
        raise InputError(f"cells={cells} is outside [8, 4096]")
    if mu is None:
        middle = accountant.delta(0)
        value = _equal_advantage((middle.lower + middle.upper) / 2)
    else:
        value = amount(mu, "mu")
    top = accountant.epsilon("1e-9").upper if accountant.delta(0).upper > Decimal("1e-9") else ONE
    levels = [(top * k / cells).quantize(_GRID) for k in range(cells + 1)]
    values = [accountant.delta(level).upper for level in levels]
    regret = up(enclose(lambda: ball(values[-1]) / (1 + ball(levels[-1]).exp()), 6), 17) if values[-1] else ZERO
    for k in range(cells):
        regret = max(regret, _regret((levels[k], levels[k + 1]), (values[k], values[k + 1]), value))
    return GaussianEquivalent(value, regret)


def _regret(ends: tuple[Decimal, Decimal], deltas: tuple[Decimal, Decimal], mu: Decimal) -> Decimal:
    """An upper bound of (delta(eps) - delta_mu(eps)) / (1 + e^eps) on a cell.

    As functions of g = e^eps both are convex: delta is below its chord, delta_mu above its tangents at both ends. The
    chord minus a line, over 1 + g, is monotone, so the ends and the point where the tangents cross decide.
    """
    with precision(256):
        g = [ball(end).exp() for end in ends]
        slope = (ball(deltas[1]) - ball(deltas[0])) / (g[1] - g[0])
        other = [profile_ball(ball(mu), ball(end)) for end in ends]
        falls = [-_upper_tail(ball(mu), ball(end)) for end in ends]
        crossing = (other[1] - other[0] + falls[0] * g[0] - falls[1] * g[1]) / (falls[0] - falls[1])
        values = [(ball(deltas[k]) - other[k]) / (1 + g[k]) for k in (0, 1)]
        if crossing.is_finite():
            here = crossing.max(g[0]).min(g[1])
            chord = ball(deltas[0]) + slope * (here - g[0])
            values.append((chord - other[0] - falls[0] * (here - g[0])) / (1 + here))
            values.append((chord - other[1] - falls[1] * (here - g[1])) / (1 + here))
        else:
            values.append((ball(deltas[0]) - other[1]) / (1 + g[0]))
        return max(ZERO, *(up(value, 17) for value in values))


def _upper_tail(mu: Ball, epsilon: Ball) -> Ball:
    """Q(loss > epsilon) = Phi(-epsilon/mu - mu/2)."""
    import flint

    return ((epsilon / mu + mu / 2) / flint.arb(2).sqrt()).erfc() / 2


def _equal_advantage(distance: Decimal) -> Decimal:
    """2 PhiInv((1 + TV) / 2), roughly."""
    from statistics import NormalDist

    share = min(max(float(distance), 1e-12), 1 - 1e-12)
    return Decimal(repr(2 * NormalDist().inv_cdf((1 + share) / 2)))
