"""From the privacy profile for one record to the profile for several: what holds when nothing but the profile is known.

A group of k is k hops from one data set to another, each between neighbours. If the hops lose e_1, ..., e_k, then

    delta_k(e_1 + ... + e_k) <= sum_i e^(e_1 + ... + e_(i-1)) delta(e_i),

for any real e_i. The best split is the one where one test is optimal at every hop; for Gaussian noise the e_i grow by
mu^2 from hop to hop, and the bound is then the exact delta of k mu. Such an arithmetic split is looked for. It holds
for any mixture of records that come and records that go, and for every mechanism that an accountant can hold. An event
may have a group form of its own (`dosimeter.accounting.groups`); both are bounds, so the smaller one counts.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dosimeter.enclosure import ball, precision, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Number, add_up, amount, count, divide_up, fraction_down, multiply_up
from dosimeter.pld.saddle.target import read_delta

if TYPE_CHECKING:
    from dosimeter.pld.accountant import Accountant

LARGEST_GROUP = 64
_GRID = Fraction(1, 10**9)
_SECTIONS = 26


def group_delta(accountant: Accountant, epsilon: Number, *, size: int) -> Decimal:
    """A delta at which a composition is (epsilon, delta)-DP for groups of `size` records.

    Guarantee: rounded up; for data sets that differ by at most `size` additions, removals, or whatever single change
    the accountant's relation speaks of. Exact for Gaussian mechanisms (to about six digits); an upper bound otherwise.

    Args:
        accountant: what was composed, for one record.
        epsilon: 0 or in [1e-300, 1e6], in nats.
        size: k, 1 to 64.

    Reference: Dong, Roth, Su (2022), Theorem 2.14, in the form of the profile; Vadhan (2017), Lemma 2.2, with hops of
        different loss.
    """
    level = amount(epsilon, "epsilon", zero=True, round_up=False, largest=Decimal(10**6))
    k = count(size, "size", largest=LARGEST_GROUP)
    if k == 1:
        return accountant.delta(level).upper
    return min(ONE, _least(accountant, level, k, Decimal(2)))


def group_epsilon(accountant: Accountant, delta: Number, *, size: int) -> Decimal:
    """An epsilon at which a composition is (epsilon, delta)-DP for groups of `size` records.

    Guarantee: as `group_delta`, which was checked at the value returned.

    Args:
        accountant: what was composed, for one record.
        delta: in [1e-300, 1).
        size: k, 1 to 64.

    Raises:
        NoGuaranteeError: no epsilon up to 1e6 reaches this delta.

    Reference: as `group_delta`.
    """
    wanted = read_delta(delta, None)
    k = count(size, "size", largest=LARGEST_GROUP)
    if k == 1:
        return accountant.epsilon(delta).upper
    target = amount(delta, "delta", round_up=False, below_one=True)
    if not wanted.upper:
        raise InputError("delta=0 has no group form here; multiply the largest loss by the size")
    if _least(accountant, ZERO, k, target) <= target:
        return ZERO
    low, high = ZERO, max(accountant.epsilon(delta).upper, Decimal("1e-6"))
    while _least(accountant, high, k, target) > target:
        low, high = high, multiply_up(high, 2)
        if high > 10**6:
            raise NoGuaranteeError(
                f"a group of {k} reaches delta={target:g} at no epsilon up to 1e6; use a smaller size"
            )
    while Fraction(high) - Fraction(low) > Fraction(high) / 10**6:
        middle = divide_up(add_up(low, high), 2)
        if _least(accountant, middle, k, target) <= target:
            high = middle
        else:
            low = middle
    return high


def _least(accountant: Accountant, level: Decimal, k: int, enough: Decimal) -> Decimal:
    """The bound at the best spread found by golden sections; any split at once whose bound is at most `enough`."""
    mean = float(level) / k
    low, high = 0.0, 4.0 * (1.0 + math.sqrt(1.0 + mean)) + mean
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = (_sum(accountant, _split(level, k, x)) for x in (a, b))
    least = min(_sum(accountant, _split(level, k, 0.0)), at_a, at_b)
    for _ in range(_SECTIONS):
        if least <= enough < 1:
            break
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = _sum(accountant, _split(level, k, a))
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = _sum(accountant, _split(level, k, b))
        least = min(least, at_a, at_b)
        if enough < 1 and (high - low) < 0.1 and min(at_a, at_b) > 4 * enough:
            break  # the valley is flat by now, and far above
    return least


def _split(level: Decimal, k: int, spread: float) -> list[Decimal]:
    """k levels that sum to at most `level`, growing from the first to the last by `spread` each."""
    whole = Fraction(level)
    step, share = _GRID * round(spread / 2 / float(_GRID)), whole / k // _GRID * _GRID
    levels = [share + step * (2 * i - (k - 1)) for i in range(k - 1)]
    return [fraction_down(one) for one in (*levels, whole - sum(levels))]


def _sum(accountant: Accountant, levels: list[Decimal]) -> Decimal:
    deltas = [accountant.delta(level).upper for level in levels]
    with precision(128):
        total, before = ball(0), ball(0)
        for level, delta in zip(levels, deltas, strict=True):
            total = total + before.exp() * ball(delta)
            before = before + ball(level)
        return up(total, 17)
