"""What certainly lies below and above an allocated record: for plans whose moments are out of reach.

With W = (Y_1 + ... + Y_t) / t as in `law`, all by Jensen's inequality for every convex f, so in both directions, at
every level, and for products with other pairs:

* *Below*, one coin: E[W | Y_1] = (1 - 1/t) + Y_1 / t, the pair of **one** run on a Poisson sample of rate 1/t. Nearly
  all there is when noise is small.
* *Below*, the mean: given the mean u of the t normals behind the Y_i they are independent normals of variance 1 - 1/t
  around it, so E[W | u] is log-normal: a Gaussian pair of mu^2 = s / t. Nearly all there is when noise is large.
* *Above*: W is a mean of variables alike, so E f(W) <= E f(Y_1): the price of a step that everyone knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Law
from dosimeter.pld.laws.primitive import SMALLEST
from dosimeter.pld.laws.sampled import PoissonSampledLaw

Counts = Mapping[Law, int]


def frames(counts: Counts) -> tuple[tuple[bool, dict[Law, int]], ...]:
    """Compositions with whether they lie above."""
    return (False, one_coin(counts)), (False, mean_of_noise(counts)), (True, known_step(counts))


def one_coin(counts: Counts) -> dict[Law, int]:
    """A composition below: one Poisson-sampled run instead of each allocated record."""
    return _replaced(counts, lambda law: PoissonSampledLaw(Fraction(1, law.steps), GaussianLaw(law.mu_squared)))


def mean_of_noise(counts: Counts) -> dict[Law, int]:
    """A composition below: only the sum of all steps is seen."""

    def alone(law: AllocatedGaussianLaw) -> Law | None:
        square = law.mu_squared / law.steps
        return GaussianLaw(square) if square >= SMALLEST else None  # nothing at all is below, too

    return _replaced(counts, alone)


def known_step(counts: Counts) -> dict[Law, int]:
    """A composition above: the step of every record is known."""
    return _replaced(counts, lambda law: GaussianLaw(law.mu_squared))


def _replaced(counts: Counts, other: Callable[[AllocatedGaussianLaw], Law | None]) -> dict[Law, int]:
    result: dict[Law, int] = {}
    for law, count in counts.items():
        one = other(law) if isinstance(law, AllocatedGaussianLaw) else law
        if one is not None:
            result[one] = result.get(one, 0) + count
    return result
