"""Sums in the notions that add up without loss: zCDP, RDP, GDP, converted to (epsilon, delta) once, at the end.

Converting each mechanism first and adding afterwards loses a factor of about sqrt(k). Failures of approximate
mechanisms stay outside: together they happen with the chance 1 - prod (1 - delta_i), and what is left of the target
delta goes to the conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from dosimeter.composition.parts import failure_up
from dosimeter.errors import InputError, NotionError
from dosimeter.events import Gaussian
from dosimeter.exact import (
    ZERO,
    Number,
    add_up,
    count,
    divide_up,
    fraction_up,
    multiply_up,
    show,
    sqrt_up,
)
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP
from dosimeter.notions.convert import gdp_to_approx, rdp_to_approx, zcdp_to_approx
from dosimeter.notions.profiles.gaussian import gaussian_delta, gaussian_epsilon

Value = TypeVar("Value")
Many: TypeAlias = "Iterable[Value | tuple[Value, int]]"


def zcdp_total(parts: Many[ZCDP]) -> ZCDP:
    """rho adds; the chances of not failing multiply.

    Guarantee: delta_i-approximate rho_i-zCDP mechanisms, each chosen with knowledge of earlier answers, are together
    delta-approximate (sum rho_i)-zCDP with delta = 1 - prod (1 - delta_i), rounded up.

    Reference: Bun and Steinke 2016, Lemma 1.7 and 8.2; Steinke 2022, Proposition 19.
    """
    counts = read_many(parts, (ZCDP,))
    return ZCDP(add_up(*(multiply_up(part.rho, times) for part, times in counts.items())), _failure(counts))


def rdp_total(parts: Many[RDP]) -> RDP:
    """Renyi bounds add order by order; the chances of not failing multiply.

    Guarantee: mechanisms with the listed bounds at the same orders, each chosen with knowledge of earlier answers, have
    together the summed bounds at those orders.

    Raises:
        NotionError: the parts speak of different orders.

    Reference: Mironov 2017, Proposition 1; Papernot and Steinke 2022, for failures.
    """
    counts = read_many(parts, (RDP,))
    first = next(iter(counts))
    if any(part.orders != first.orders for part in counts):
        raise NotionError("RDP guarantees at different orders do not add; restate all of them at the same orders")
    epsilons = tuple(
        add_up(*(multiply_up(part.epsilons[i], times) for part, times in counts.items()))
        for i in range(len(first.orders))
    )
    return RDP(first.orders, epsilons, _failure(counts))


def gdp_total(parts: Many[GDP]) -> GDP:
    """Squares of mu add, exactly; the chances of not failing multiply.

    Guarantee: (mu_i, delta_i)-approximate GDP mechanisms, each chosen with knowledge of earlier answers, are together
    (sqrt(sum mu_i^2), 1 - prod (1 - delta_i))-approximate GDP; Gaussian noise attains it.

    Reference: Dong, Roth and Su 2022, Corollary 3.3.
    """
    counts = read_many(parts, (GDP,))
    return GDP(_root(sum(times * Fraction(part.mu) ** 2 for part, times in counts.items())), _failure(counts))


def zcdp_sum(parts: Many[ZCDP], delta: Number) -> ApproxDP:
    """The (epsilon, delta) guarantee of a sum of zCDP mechanisms, by the optimised conversion.

    Guarantee: as `zcdp_total`, restated at the given delta.

    Args:
        parts: ZCDP values or pairs of one and a count.
        delta: the total delta, in [1e-300, 1).

    Raises:
        NoGuaranteeError: delta is 0, or not above the chance that a mechanism fails.

    Reference: Canonne, Kamath and Steinke 2020, Proposition 12; Steinke 2022, Proposition 14.
    """
    return zcdp_to_approx(zcdp_total(parts), target_delta=delta)


def rdp_sum(parts: Many[RDP], delta: Number) -> ApproxDP:
    """The (epsilon, delta) guarantee of a sum of RDP mechanisms, at the best of their orders.

    Guarantee: as `rdp_total`, restated at the given delta. Choosing the best order at the end is sound because the
    parameters are fixed; an interaction that chooses its parameters on the way needs a filter for that.

    Args:
        parts: RDP values at the same orders, or pairs of one and a count.
        delta: the total delta, in [1e-300, 1), above the chance that a mechanism fails.

    Reference: Canonne, Kamath and Steinke 2020, Proposition 12, with the minimum over orders.
    """
    return rdp_to_approx(rdp_total(parts), target_delta=delta)


def gdp_sum(parts: Many[GDP], delta: Number) -> ApproxDP:
    """The (epsilon, delta) guarantee of a sum of GDP mechanisms; exact, since mu-GDP is a whole privacy profile.

    Guarantee: as `gdp_total`, restated at the given delta.

    Args:
        parts: GDP values or pairs of one and a count.
        delta: the total delta, in [1e-300, 1), above the chance that a mechanism fails.

    Reference: Dong, Roth and Su 2022, Corollaries 2.13 and 3.3.
    """
    return gdp_to_approx(gdp_total(parts), target_delta=delta)


def gaussians_epsilon(parts: Many[Gaussian], delta: Number) -> Decimal:
    """The exact epsilon of any number of Gaussian releases at `delta`, rounded up.

    Guarantee: Gaussian releases whose parameters were fixed in advance are together one Gaussian release with
    mu^2 = sum (sensitivity / sigma)^2; no smaller epsilon is true.

    Args:
        parts: Gaussian events or pairs of one and a count.
        delta: in [1e-300, 1).

    Reference: Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 3.3.
    """
    return gaussian_epsilon(gaussians_mu(parts), delta)


def gaussians_delta(parts: Many[Gaussian], epsilon: Number) -> Decimal:
    """The exact delta of any number of Gaussian releases at `epsilon`, rounded up.

    Guarantee: as `gaussians_epsilon`.

    Args:
        parts: Gaussian events or pairs of one and a count.
        epsilon: any real number, in nats.

    Reference: Balle and Wang 2018, Theorem 8.
    """
    return gaussian_delta(gaussians_mu(parts), epsilon)


def gaussians_mu(parts: Many[Gaussian]) -> Decimal:
    """sqrt(sum (sensitivity / sigma)^2), rounded up."""
    counts = read_many(parts, (Gaussian,))
    return _root(
        sum(times * (Fraction(part.l2_sensitivity) / Fraction(part.sigma)) ** 2 for part, times in counts.items())
    )


def _root(square: Fraction | int) -> Decimal:
    """The square root, rounded up; exact where it is a decimal."""
    ratio = Fraction(square)
    return divide_up(sqrt_up(fraction_up(ratio * 10**20)), 10**10) if ratio else ZERO


def _failure(counts: Mapping[Any, int]) -> Decimal:
    deltas: dict[Decimal, int] = {}
    for part, times in counts.items():
        if part.delta:
            deltas[part.delta] = deltas.get(part.delta, 0) + times
    return failure_up(deltas)


def read_many(parts: Many[Any], kinds: tuple[type, ...]) -> dict[Any, int]:
    """Read values of the given kinds with their counts.

    Raises:
        InputError: nothing was given, or an entry is of another kind.
    """
    counts: dict[Any, int] = {}
    for part in parts:
        value, times = part if isinstance(part, tuple) else (part, 1)
        if not isinstance(value, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            raise InputError(f"{show(value)} is not one of: {names}; give such values or pairs (value, count)")
        counts[value] = counts.get(value, 0) + count(times, "count")
    if not counts:
        raise InputError("a composition needs at least one part; nothing was given")
    return counts
