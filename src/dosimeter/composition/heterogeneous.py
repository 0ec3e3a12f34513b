"""The best possible composition of unequal mechanisms, always as an enclosure of the optimum.

Computing it exactly is #P-hard in general. Where the totals of randomized responses can be listed it is exact to 25
digits; everywhere else the saddle line encloses it, for any number of mechanisms.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from dosimeter.composition.hockey_stick import Total
from dosimeter.composition.parts import Counts, Part, delta_counts, read_delta, read_parts
from dosimeter.composition.responses import exact_law
from dosimeter.exact import Bound, Number, to_decimal

if TYPE_CHECKING:
    from dosimeter.pld.accountant import Accountant


def optimal_heterogeneous_delta(parts: Iterable[Part], epsilon: Number) -> Bound:
    """The least delta at which mechanisms of different guarantees are together (epsilon, delta)-DP, enclosed.

    Guarantee: with S over all subsets of mechanisms, the optimum delta_g solves
    sum_S (e^(sum_S e_i) - e^epsilon e^(sum_not_S e_i))+ / prod (1 + e^e_i) = 1 - (1 - delta_g) / prod (1 - d_i).
    Any mechanisms that are (e_i, d_i)-DP, each chosen with knowledge of earlier answers, are together
    (epsilon, upper)-DP; randomized responses reach at least `lower`.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count; fixed before the first mechanism runs.
        epsilon: the total epsilon asked about, in nats; any real number.

    Returns:
        Both ends 25 digits apart where the totals can be listed, otherwise a narrow interval.

    Reference: Murtagh and Vadhan 2016, Theorem 1.5.
    """
    counts = read_parts(parts)
    level = to_decimal(epsilon, "epsilon", round_up=False)
    law = exact_law(counts)
    if law is not None:
        return Total(law, delta_counts(counts)).delta(level)
    return _accountant(counts).delta(level)


def optimal_heterogeneous_epsilon(parts: Iterable[Part], delta: Number) -> Bound:
    """The least epsilon at which mechanisms of different guarantees are together (epsilon, delta)-DP, enclosed.

    Guarantee: as `optimal_heterogeneous_delta`; the mechanisms are (upper, delta)-DP together, and some are not for
    any epsilon below `lower`.

    Args:
        parts: guarantees, bare epsilons, or pairs of one and a count; fixed before the first mechanism runs.
        delta: the total delta, 0 or in [1e-300, 1).

    Raises:
        NoGuaranteeError: `delta` is below 1 - prod (1 - d_i).

    Reference: Murtagh and Vadhan 2016, Theorem 1.5.
    """
    counts = read_parts(parts)
    target = read_delta(delta)
    law = exact_law(counts)
    if law is not None:
        return Total(law, delta_counts(counts)).least_epsilon(target)
    return _accountant(counts).epsilon(target)


def _accountant(counts: Counts) -> Accountant:
    """An accountant that holds the randomized responses; one with epsilon and delta 0 reveals nothing."""
    from dosimeter.pld.accountant import Accountant
    from dosimeter.pld.laws.response import ResponseLaw

    accountant = Accountant()
    for guarantee, times in counts.items():
        if guarantee.epsilon or guarantee.delta:
            accountant.append(ResponseLaw(Fraction(guarantee.epsilon), Fraction(guarantee.delta)), times)
    return accountant
