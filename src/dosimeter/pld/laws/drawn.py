"""Draws with replacement: how often the exchanged record was drawn decides, and may be thought of as public.

m uniform draws from n records under replace-one: with J the number of draws that hit the record, and q = P(J > 0), the
profile is sum_j P(J = j) delta_j(log(1 + (e^eps - 1)/q)) for eps >= 0, delta_j being the base's profile when j of its
records are exchanged. That is the profile of a mixture: j is drawn given J > 0, shown, and a batch of fixed size with
share q is run on the base for a group of j. So the law is a mixture of laws that exist already.

The far tail of J is given away: those outcomes reveal the record. Probabilities of tails are rounded up, which moves
weight to larger groups and never below the truth.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dosimeter.enclosure import ball, precision, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import count
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.discrete_laplace import DiscreteLaplaceLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Law
from dosimeter.pld.laws.mixture import MixtureLaw
from dosimeter.pld.laws.primitive import Primitive
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw

_MOST_HITS = 48
_NEVER = Fraction(1, 10**60)


def drawn(draws: int, population: int, base: Primitive) -> Law:
    """`base` run on `draws` uniform draws with replacement; neighbours by replacing one record of the population.

    Guarantee: the pair dominates for every real epsilon. Exact up to the given-away tail (1e-60, or more than 48 hits)
    for bases whose groups are exactly the law used here.

    Args:
        draws: m, 1 to 1e12.
        population: n, 1 to 1e12.
        base: the law of the base when one of its draws is exchanged.

    Raises:
        NoGuaranteeError: no law is known for several exchanged records of this base.

    Reference: Balle, Barthe, Gaboardi (2018), Theorem 10; Zhu, Dong, Wang (2022), Proposition 30, for the reverse side.
    """
    m, n = count(draws, "draws", largest=10**12), count(population, "population", largest=10**12)
    if n == 1:
        whole = group_of(base, m)
        if whole is None:
            raise NoGuaranteeError(
                "every draw is the same record, and the base may fail for that many; use fewer draws"
            )
        return whole
    tails = hit_chances(m, n)
    share, given_away = tails[0], tails[-1] if len(tails) < m else Fraction(0)
    if 2 * given_away > 1 or share == 1:
        raise NoGuaranteeError(
            f"a record is drawn more than {_MOST_HITS} times on average; sample without replacement, or draw less often"
        )
    laws: list[Law] = []
    for j in range(1, len(tails) + 1):
        group = group_of(base, j) if j < len(tails) or len(tails) == m else None
        laws.append(ResponseLaw(Fraction(0), share) if group is None else FixedSizeSampledLaw(share, group))
    weights = [(a - b) / share for a, b in zip(tails, [*tails[1:], Fraction(0)], strict=True)]
    kept = [(weight, law) for weight, law in zip(weights, laws, strict=True) if weight]
    return kept[0][1] if len(kept) == 1 else MixtureLaw(tuple(w for w, _ in kept), tuple(law for _, law in kept))


def group_of(base: Primitive, size: int) -> Primitive | None:
    """The law of the base when `size` of its records are exchanged at once; None where everything may be revealed.

    Guarantee: exact for Gaussian, Laplace and discrete noise on one number; the textbook rule for (epsilon, delta).

    Raises:
        NoGuaranteeError: nothing is known of several records of this base.

    Reference: triangle inequality; Vadhan (2017), Lemma 2.2.
    """
    if size == 1:
        return base
    if isinstance(base, GaussianLaw) and not base.delta:
        return GaussianLaw(base.mu_squared * size**2)
    if isinstance(base, LaplaceLaw):
        return LaplaceLaw(base.epsilon * size)
    if isinstance(base, DiscreteLaplaceLaw | DiscreteGaussianLaw):
        return replace(base, shift=base.shift * size)
    if isinstance(base, ResponseLaw):
        return _response(base, size)
    raise NoGuaranteeError(
        f"what a {base.kind} law says about several exchanged records is not known; sample without replacement"
    )


def _response(base: ResponseLaw, size: int) -> Primitive | None:
    """(k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))."""
    if not base.delta:
        return ResponseLaw(base.epsilon * size)
    if not base.epsilon:
        total = base.delta * size
    else:
        with precision(256):
            e = ball(base.epsilon)
            total = Fraction(up(ball(base.delta) * (size * e).expm1() / e.expm1()))
    return ResponseLaw(base.epsilon * size, total) if total < 1 else None


def hit_chances(m: int, n: int) -> list[Fraction]:
    """P(J >= 1), P(J >= 2), ..., J being how many of m uniform draws hit one given record of n > 1.

    Guarantee: each rounded up; as far as they are at least 1e-60, and one more unless there are no more draws.
    """
    with precision(512):
        chances = [(m * (-ball(Fraction(1, n))).log1p()).exp()]
        for j in range(1, min(m, _MOST_HITS) + 1):
            chances.append(chances[-1] * (m - j + 1) / (j * (n - 1)))
        last = len(chances) - 1
        ratio = Fraction(m - last, (last + 1) * (n - 1))  # of neighbours, which only falls
        beyond = ball(1) if 2 * ratio >= 1 else chances[-1] * ball(ratio) / (1 - ball(ratio))
        tails = [beyond] if m > last else []
        for chance in reversed(chances[1:]):
            tails.insert(0, chance + (tails[0] if tails else 0))
        rounded = [min(Fraction(1), Fraction(up(tail, 40))) for tail in tails]
    kept = [tail for tail in rounded if tail >= _NEVER]
    return [*kept, *rounded[len(kept) : len(kept) + 1]]  # one more: what is given away
