"""Nineteen compositions from one Gaussian to a million sampled steps: true epsilons lie inside narrow intervals.

The true values need no privacy library: Gaussian compositions in closed form with 60 digits, randomized response by
the exact binomial sum, the others by an inversion whose moments are trapezoid sums in output space.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.gaussian import gaussian_law as gauss
from dosimeter.pld.laws.laplace import laplace_law as laplace
from dosimeter.pld.laws.law import Law
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import PoissonSampledLaw


def sampled(q: object, sigma: object) -> Law:
    return PoissonSampledLaw(q, gauss(sigma))


MIXED = [
    *((gauss(Fraction(100 + 2 * i, 5)), 1) for i in range(100)),
    *((laplace(Fraction(100 + 4 * i, 5)), 1) for i in range(50)),
    *((sampled(Fraction(100 + 2 * i, 10_000), Fraction(800 + 24 * i, 1000)), 1) for i in range(50)),
]
# name, laws, delta, epsilon, relative accuracy to which the true value is known
TRUTHS = [
    ("one Gaussian", [(gauss(1), 1)], "1e-5", 4.3771780956812245, 1e-15),
    ("ten Gaussians", [(gauss(20), 10)], "1e-5", 0.5612849328807854, 1e-15),
    ("a thousand Gaussians", [(gauss(20), 1000)], "1e-5", 7.511275900744782, 1e-15),
    ("a thousand weak ones", [(gauss(100), 1000)], "1e-5", 1.1993695737531684, 1e-15),
    ("a thousand strong ones", [(gauss(5), 1000)], "1e-5", 46.2112101912181, 1e-15),
    ("training", [(sampled("0.01", "0.8"), 1000)], "1e-5", 3.14101413945482, 1e-11),
    ("longer training", [(sampled("0.01", "0.8"), 10_000)], "1e-5", 10.053634770653806, 1e-11),
    ("sixty epochs", [(sampled("256/60000", "1.1"), 14_062)], "1e-5", 2.3815969214224337, 1e-11),
    ("randomized responses", [(ResponseLaw("0.1"), 1000)], "1e-6", 19.344671447993044, 1e-14),
    ("two hundred different mechanisms", MIXED, "1e-6", 1.6716371802751495, 1e-11),
    ("delta 1e-15", [(gauss(20), 1000)], "1e-15", 13.449328831550744, 1e-15),
    ("delta 1e-30", [(gauss(20), 1000)], "1e-30", 19.085246947340412, 1e-15),
    ("delta 1e-100", [(gauss(20), 1000)], "1e-100", 34.687727746371465, 1e-15),
    ("training at 1e-12", [(sampled("0.01", "0.8"), 1000)], "1e-12", 6.992031146182323, 1e-11),
    ("training at 1e-20", [(sampled("0.01", "0.8"), 1000)], "1e-20", 11.176232935975918, 1e-11),
    ("a million sampled steps", [(sampled("0.001", 1), 10**6)], "1e-6", 6.694272659721085, 1e-11),
    ("a million Gaussians", [(gauss(1000), 10**6)], "1e-6", 4.886554117462212, 1e-15),
    ("tiny rate, a million steps", [(sampled("1e-6", 1), 10**6)], "1e-9", 0.00590290684569, 1e-9),
    ("tiny rate, a thousand steps", [(sampled("1e-6", 1), 1000)], "1e-10", 0.000241740651054, 1e-9),
]


@pytest.mark.parametrize(("laws", "delta", "truth", "known"), [t[1:] for t in TRUTHS], ids=[t[0] for t in TRUTHS])
def test_the_true_epsilon_lies_in_a_narrow_interval(
    laws: list[tuple[Law, int]], delta: str, truth: float, known: float
) -> None:
    accountant = Accountant()
    for law, count in laws:
        accountant.append(law, count)
    found = accountant.epsilon(delta)
    slack = Decimal(truth * known)
    assert found.lower - slack <= Decimal(truth) <= found.upper + slack
    assert found.upper - found.lower <= Decimal("1e-6") * found.upper


def test_delta_at_the_certified_epsilon_straddles_the_target() -> None:
    """Reading delta back at the two ends of the interval gives deltas on either side of the target."""
    accountant = Accountant()
    accountant.append(sampled("0.01", "0.8"), 1000)
    found = accountant.epsilon("1e-5")
    assert accountant.delta(found.upper).upper <= Decimal("1.0000001e-5")
    assert accountant.delta(found.lower).lower >= Decimal("0.9999999e-5")
