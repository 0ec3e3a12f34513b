"""Sampling so rare that it hardly matters: what a composition is without its sampled laws, and what those can add.

A law on a sample of share q has total variation at most q between its two distributions. Composing it changes delta by
at most that: for any event S, P P'(S) - e^eps Q Q'(S) <= [P Q'(S) - e^eps Q Q'(S)] + TV(P', Q'). So with n_i runs of
laws sampled at q_i next to others whose delta is d(eps),

    d(eps) <= delta(eps) <= d(eps) + sum of n_i q_i.

Where the sum is below the delta that is asked about, this needs no line, and for a tiny rate it is narrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw


def thinned(counts: Mapping[Law, int], direction: Direction, most: Fraction) -> tuple[dict[Law, int], Fraction] | None:
    """The laws that are kept and the sum over the others, where that is below `most`; None if nothing can go.

    The rarest go first: one law that is sampled too often does not stop the others. Laws with infinite losses stay.
    """
    sampled = [
        (law.rate * count, law)
        for law, count in counts.items()
        if isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw) and law.rate < 1 and not law.infinite(direction)
    ]
    gone, total = set(), Fraction(0)
    for share, law in sorted(sampled, key=lambda pair: pair[0]):
        if total + share >= most:
            break
        gone.add(law)
        total += share
    return ({law: count for law, count in counts.items() if law not in gone}, total) if gone else None
