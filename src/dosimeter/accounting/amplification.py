"""Amplification by sampling as statements about (epsilon, delta): what a guarantee on the sample says about the data.

A guarantee of the base becomes ``log(1 + q (e^epsilon - 1))`` and ``q delta``, where q is the chance that one given
record is in the secret sample. The three functions that take a guarantee name the scheme, because the relation under
which the base is stated, and the one of the result, are different for each: Poisson sampling adds or removes a record,
samples of fixed size replace one. `q epsilon` is not a theorem, and `epsilon / q` is not its inverse: a base run at
epsilon / q = 1 / 0.01 is worth 95.4 to the data, not 1.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import DIGITS, ball, down, enclose, precision, up
from dosimeter.errors import InputError
from dosimeter.exact import LARGEST, ONE, SMALLEST, ZERO, Number, amount, count, fraction_up, multiply_up, show, text
from dosimeter.notions import ApproxDP, PureDP
from dosimeter.notions.convert import group_approx
from dosimeter.notions.profiles import randomized_response_delta
from dosimeter.notions.profiles.reading import read_fraction

if TYPE_CHECKING:
    from collections.abc import Callable

    Ball: TypeAlias = Any

MAX_POPULATION: Final = 10**12
_MOST_COPIES: Final = 2_000
_SHORT: Final = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_CEILING)


def read_probability(value: Number, name: str = "sampling_probability") -> Fraction:
    """Read a sampling probability exactly: in (0, 1]."""
    q = read_fraction(value, name)
    if not 0 < q <= 1:
        raise InputError(f"{name}={show(value)} is outside (0, 1]")
    return q


def amplified_epsilon(*, sampling_probability: Number, epsilon: Number) -> Decimal:
    """What a base of this epsilon costs the data: log(1 + q (e^epsilon - 1)).

    Guarantee: rounded up. Exact for the class of all epsilon-DP bases (randomized response attains it).

    Args:
        sampling_probability: q, in (0, 1].
        epsilon: of the base, 0 or in [1e-300, 1e12].

    Reference: Balle, Barthe, Gaboardi (2018), Theorems 8 and 9; Steinke (2022), section 5.
    """
    q, e = read_probability(sampling_probability), amount(epsilon, "epsilon", zero=True)
    if not e or q == 1:
        return e
    return up(enclose(lambda: (ball(q) * ball(e).expm1()).log1p()))


def amplified_epsilon_when_added(*, sampling_probability: Number, epsilon: Number) -> Decimal:
    """The add direction alone: -log(1 - q (1 - e^-epsilon)), never above `amplified_epsilon`.

    Guarantee: rounded up. Half a guarantee: a mechanism is private when both directions are bounded.

    Args: as in `amplified_epsilon`.

    Reference: the add pair P0 against (1-q) P0 + q P1; Zhu, Dong, Wang (2022), Theorem 11.
    """
    q, e = read_probability(sampling_probability), amount(epsilon, "epsilon", zero=True)
    if not e or q == 1:
        return e
    return up(enclose(lambda: -(ball(q) * (-ball(e)).expm1()).log1p()))


def base_epsilon(*, sampling_probability: Number, epsilon: Number) -> Decimal:
    """The largest base epsilon that costs the data at most this epsilon: log(1 + (e^epsilon - 1)/q).

    Guarantee: rounded down. This is the inverse of `amplified_epsilon`; epsilon / q is larger, and not private.

    Args:
        sampling_probability: q, in (0, 1].
        epsilon: wanted for the data, 0 or in [1e-300, 1e12].

    Reference: Balle, Barthe, Gaboardi (2018), Theorems 8 and 9, solved for the base.
    """
    q = read_probability(sampling_probability)
    e = amount(epsilon, "epsilon", zero=True, round_up=False)
    if not e or q == 1:
        return e
    return min(LARGEST, down(enclose(lambda: (ball(e).expm1() / ball(q)).log1p())))


def amplify_poisson(base: PureDP | ApproxDP, *, sampling_probability: Number) -> PureDP | ApproxDP:
    """What a base under add or remove guarantees when every record takes part with probability q, independently.

    Guarantee: (log(1 + q (e^epsilon - 1)), q delta)-DP under add or remove, rounded up. Independence is needed:
    P[a record is in the sample] <= q alone is not enough.

    Args:
        base: a guarantee under add or remove.
        sampling_probability: q, in (0, 1].

    Reference: Balle, Barthe, Gaboardi (2018), Theorem 8.
    """
    return _amplified(base, read_probability(sampling_probability))


def amplify_without_replacement(base: PureDP | ApproxDP, *, batch_size: int, population: int) -> PureDP | ApproxDP:
    """What a base under replace-one guarantees on a uniform batch of m out of n records.

    Guarantee: (log(1 + (m/n) (e^epsilon - 1)), (m/n) delta)-DP under replace-one, rounded up.

    Args:
        base: a guarantee under replace-one, on data of m records.
        batch_size: m, 1 to n.
        population: n, 1 to 1e12.

    Reference: Balle, Barthe, Gaboardi (2018), Theorem 9.
    """
    return _amplified(base, share(batch_size, population))


def amplify_with_replacement(base: PureDP | ApproxDP, *, draws: int, population: int) -> PureDP | ApproxDP:
    """What a base under replace-one guarantees on m uniform draws out of n records.

    One replaced record may change k draws, so the base enters by what it guarantees to groups: at level m epsilon,
    where a base without delta leaves nothing to groups of up to m.

    Guarantee: (log(1 + q (e^(m epsilon) - 1)), sum_k P(k) delta_k)-DP under replace-one, rounded up; q = 1 - (1-1/n)^m,
    P(k) binomial, delta_k the delta of a group of k. A smaller epsilon at a larger delta: `with_replacement_delta`.

    Args:
        base: a guarantee under replace-one, on data of m records.
        draws: m, 1 to 1e6.
        population: n, 1 to 1e12.

    Reference: Balle, Barthe, Gaboardi (2018), Theorem 10.
    """
    m = count(draws, "draws", largest=10**6)
    level = multiply_up(base.epsilon, m)
    q = inclusion_probability(draws=m, population=population)
    epsilon = amplified_epsilon(sampling_probability=q, epsilon=level)
    if isinstance(base, PureDP):
        return PureDP(epsilon)
    delta = mean_over_copies(m, population, lambda k: group_approx(base, size=k).delta) if base.delta else ZERO
    return ApproxDP(epsilon, delta)


def with_replacement_delta(
    group_delta: Callable[[int, Decimal], Decimal], *, draws: int, population: int, epsilon: Number
) -> Decimal:
    """The delta at epsilon >= 0 of m draws with replacement, from the base's profile for every size of group.

    Guarantee: rounded up; sum_k C(m,k) (1/n)^k (1-1/n)^(m-k) delta_k(level), level = log(1 + (e^epsilon - 1)/q),
    q = 1 - (1-1/n)^m, under replace-one.

    Args:
        group_delta: (k, level) -> the base's delta at this level when k of its m records are replaced, rounded up.
        draws: m, 1 to 1e12.
        population: n, 1 to 1e12.
        epsilon: 0 or in [1e-300, 1e12].

    Reference: Balle, Barthe, Gaboardi (2018), Theorem 10.
    """
    m = count(draws, "draws", largest=MAX_POPULATION)
    q = inclusion_probability(draws=m, population=population)
    level = base_epsilon(sampling_probability=q, epsilon=epsilon)
    return mean_over_copies(m, population, lambda k: group_delta(k, level))


def pure_group_delta(epsilon: Number) -> Callable[[int, Decimal], Decimal]:
    """The profile of an epsilon-DP base for groups of k: that of (k epsilon)-randomized response."""
    e = amount(epsilon, "epsilon", zero=True)
    return lambda k, level: randomized_response_delta(min(LARGEST, multiply_up(e, k)), 0, level)


def share(batch_size: int, population: int) -> Fraction:
    """m/n, exactly: the chance that one given record is in a uniform batch of m out of n."""
    n = count(population, "population", largest=MAX_POPULATION)
    return Fraction(count(batch_size, "batch_size", largest=n), n)


def inclusion_probability(*, draws: int, population: int) -> Decimal:
    """1 - (1 - 1/n)^m: the chance that one given record is among m uniform draws.

    Guarantee: rounded up.

    Args:
        draws: m, 1 to 1e12.
        population: n, 1 to 1e12.
    """
    m = count(draws, "draws", largest=MAX_POPULATION)
    n = count(population, "population", largest=MAX_POPULATION)
    if n == 1:
        return ONE
    return min(ONE, up(enclose(lambda: -(m * (-ball(Fraction(1, n))).log1p()).expm1())))


def mean_over_copies(draws: int, population: int, delta: Callable[[int], Decimal]) -> Decimal:
    """sum over k >= 1 of P(k copies) delta(k), rounded up; far tails, and over 2,000 copies, enter at delta 1."""
    n = count(population, "population", largest=MAX_POPULATION)
    if n == 1:
        return min(ONE, delta(draws))
    with precision(256):
        chance = (draws * (-ball(Fraction(1, n))).log1p()).exp()  # of no copy at all
        total, left = ball(0), 1 - chance
        for k in range(1, min(draws, _MOST_COPIES) + 1):
            chance = chance * (draws - k + 1) / (k * (n - 1))
            worth = delta(k)
            total = total + chance * ball(worth)
            left = _tail(chance, draws, n, k)
            if worth >= ONE or left < total * ball(Decimal("1e-40")):
                break
        else:
            left = left if draws > _MOST_COPIES else ball(0)
        return min(ONE, up(total + left)) if total > 0 or left > 0 else ZERO


def _tail(chance: Ball, draws: int, n: int, k: int) -> Ball:
    """P(more than k copies), from P(k): the ratio of neighbours only falls, so a geometric series bounds it."""
    if k >= draws:
        return ball(0)
    ratio = ball(Fraction(draws - k, (k + 1) * (n - 1)))
    return chance * ratio / (1 - ratio) if ratio < ball(Fraction(1, 2)) else ball(1)


def _amplified(base: PureDP | ApproxDP, q: Fraction) -> PureDP | ApproxDP:
    if not isinstance(base, PureDP | ApproxDP):
        raise InputError(f"{type(base).__name__} is not amplified by this theorem; give PureDP or ApproxDP")
    epsilon = amplified_epsilon(sampling_probability=q, epsilon=base.epsilon)
    if isinstance(base, PureDP):
        return PureDP(epsilon)
    return ApproxDP(epsilon, thinned(base.delta, q))


def short_up(value: Decimal) -> Decimal:
    """The value to 25 digits, not below it: what is left of it after a transcendental step."""
    return _SHORT.plus(value)


def thinned(delta: Decimal, q: Fraction) -> Decimal:
    """q delta, rounded up; 0 only for 0."""
    return max(SMALLEST, Decimal(text(fraction_up(Fraction(delta) * q)))) if delta else ZERO
