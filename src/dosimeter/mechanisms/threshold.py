"""Releasing keys nobody listed in advance: a key shows only when its noisy count clears a threshold.

A key held by one person alone betrays that person by appearing at all. The threshold is so high that such a key clears
it with probability at most delta, over all the keys the person brought. The price is (epsilon, delta); noise alone
would cost (epsilon, 0), and no threshold makes an unbounded number of keys per person safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.exact import Number, amount, count, to_decimal
from dosimeter.mechanisms.entropy import Entropy
from dosimeter.mechanisms.laws import tail
from dosimeter.mechanisms.noise import DiscreteLaplaceNoise
from dosimeter.mechanisms.release import release

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

MAX_KEYS: Final = 10**9


def laplace_threshold(epsilon: Number, delta: Number, max_keys_per_user: int = 1) -> Decimal:
    """The threshold for continuous Laplace noise of scale max_keys_per_user/epsilon on counts of users, rounded up.

    Guarantee: noisy counts above it, and their keys, are (epsilon, delta)-DP under add_remove of one user, when a user
    adds at most 1 to each of at most `max_keys_per_user` keys. Published for comparison: Dosimeter releases with
    `discrete_laplace_threshold`.

    Args:
        epsilon: price of the counts.
        delta: in (0, 1), the chance that any key of one user alone is shown.
        max_keys_per_user: enforced before counting.

    Reference: Wilson et al., "Differentially private SQL with bounded user contribution" (2020), with a share of
    1 - (1-delta)^(1/keys) for each key: P(1 + Laplace > T) is at most that.
    """
    keys = count(max_keys_per_user, "max_keys_per_user", largest=MAX_KEYS)
    price, allowed = amount(epsilon, "epsilon", round_up=False), _delta(delta)

    def threshold() -> Ball:
        per_key = _per_key(allowed, keys)
        scale = ball(keys) / ball(price)
        # P(1 + Laplace > T) = per_key; the two sides of the median have different formulas
        return 1 + scale * (-(2 * per_key).log() if 2 * per_key < 1 else (2 * (1 - per_key)).log())

    return up(enclose(threshold))


def discrete_laplace_threshold(
    noise: DiscreteLaplaceNoise, delta: Number, max_keys_per_user: int = 1, max_count_per_key: int = 1
) -> int:
    """The smallest whole threshold for this noise: a key of one user alone is shown with probability at most delta.

    Guarantee: with `release_above_threshold`, (max_keys max_count / scale, delta)-DP under add_remove of one user who
    adds at most `max_count_per_key` to each of at most `max_keys_per_user` keys.

    Args:
        noise: discrete Laplace, in lattice steps.
        delta: in (0, 1).
        max_keys_per_user: keys one user may contribute to, enforced before counting.
        max_count_per_key: what one user may add to a key, enforced before counting.

    Reference: P(c + N > T) = tail(T - c)/2, at most 1 - (1-delta)^(1/keys) for each of the user's keys.
    """
    if not isinstance(noise, DiscreteLaplaceNoise):
        raise InputError("a threshold is offered for discrete Laplace noise only")
    keys = count(max_keys_per_user, "max_keys_per_user", largest=MAX_KEYS)
    alone = count(max_count_per_key, "max_count_per_key", largest=MAX_KEYS)
    allowed = _delta(delta)
    per_key = enclose(lambda: 2 * _per_key(allowed, keys), digits=40)

    low, high = -1, 1  # low is not certainly enough (or below zero), high will be
    while not tail(noise, high) <= per_key:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(noise, middle) <= per_key else (middle, high)
    return alone + high


def is_released(noisy_count: Number, threshold: Number) -> bool:
    """Whether a key may be shown: its noisy count is strictly above the threshold, neither of them rounded first."""
    return Fraction(to_decimal(noisy_count, "noisy_count")) > Fraction(to_decimal(threshold, "threshold"))


def release_above_threshold(
    counts: Mapping[str, int], noise: DiscreteLaplaceNoise, threshold: int, entropy: Entropy | None = None
) -> dict[str, int]:
    """The noisy counts strictly above the threshold, by key, in the order of the keys' names.

    Guarantee: that of `discrete_laplace_threshold` for the threshold it gave. The order does not tell which row came
    first, and what is not shown leaves no trace in the result.

    Args:
        counts: exact counts of the keys that occur, with contributions already bounded. Private.
        noise: as given to `discrete_laplace_threshold`.
        threshold: as given by it.
        entropy: where the randomness comes from; the operating system when left out.
    """
    if not isinstance(noise, DiscreteLaplaceNoise):
        raise InputError("a threshold is offered for discrete Laplace noise only")
    limit = count(threshold, "threshold", largest=10**30)
    keys = sorted(counts)
    noisy = release([counts[key] for key in keys], noise, entropy)
    return {key: value for key, value in zip(keys, noisy, strict=True) if value > limit}


def _delta(value: Number) -> Decimal:
    return amount(value, "delta", round_up=False, below_one=True)


def _per_key(delta: Decimal, keys: int) -> Ball:
    """1 - (1 - delta)^(1/keys), without cancellation."""
    return -(((-ball(delta)).log1p() / keys).expm1())
