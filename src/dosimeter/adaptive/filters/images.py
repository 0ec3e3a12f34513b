"""Which mechanism certainly reveals no more than another: it is a randomised image of it, in both directions.

Whoever may ask the second can then answer the first from what he was told, so an analyst who asks images of a menu's
entries does nothing that one who keeps to the menu could not. Only images that a theorem knows are known here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dosimeter.exact import fraction_up, multiply_up
from dosimeter.notions import PureDP

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

_LARGEST_PURE: Final = 100  # beyond it, the mu of a pure mechanism is of no use to anybody


def runs_covering(law: Law, entry: Law) -> int | None:
    """How many runs of an entry certainly reveal at least what one run of a law does; None if that is not known.

    Guarantee: the law's pair is a randomised image of that many runs of the entry's pair, in both directions.

    Args:
        law: what is asked.
        entry: what may be run.

    Reference: Gaussian noise: n runs of N(mu, 1) are one of N(sqrt(n) mu, 1), and a smaller mu is an image of a larger
    one; pure losses: an image of Gaussian noise of their mu; else as `is_image`.
    """
    if is_image(law, entry):
        return 1
    wanted, one = _mu_squared_covering(law), _mu_squared(entry)
    return None if wanted is None or one is None else int(-(-wanted // one))


def is_image(law: Law, entry: Law) -> bool:
    """Whether one run of a law is known to be a randomised image of one run of an entry, in both directions.

    Guarantee: if so, every adaptive interaction with the law can be simulated by one with the entry.

    Reference: Gaussian noise: add more noise. Laplace noise: the quotient of the characteristic functions of scales
    a < b is that of 0 with probability (a/b)^2 and of scale b otherwise. (epsilon, delta): Kairouz, Oh, Viswanath 2015.
    Pure losses under Gaussian noise: randomized response is an image of N(mu, 1) by its sign (Dong, Roth, Su 2022).
    Poisson samples: keep the answer with probability q'/q, and draw one without the record otherwise; then take the
    image of the base in either world.
    """
    from dosimeter.pld.laws.laplace import LaplaceLaw
    from dosimeter.pld.laws.response import ResponseLaw
    from dosimeter.pld.laws.sampled import PoissonSampledLaw

    if law == entry:
        return True
    if isinstance(law, LaplaceLaw) and isinstance(entry, LaplaceLaw):
        return law.epsilon <= entry.epsilon
    if isinstance(law, PoissonSampledLaw) and isinstance(entry, PoissonSampledLaw):
        return law.rate <= entry.rate and is_image(law.base, entry.base)
    if isinstance(entry, ResponseLaw):
        largest = _largest(law)
        return largest is not None and largest <= entry.epsilon and _fails(law) <= entry.delta
    wanted, one = _mu_squared_covering(law), _mu_squared(entry)
    return wanted is not None and one is not None and wanted <= one


def _mu_squared_covering(law: Law) -> Fraction | None:
    """The square of a mu such that the law is an image of N(mu, 1) against N(0, 1), if one is known."""
    from dosimeter.notions.convert import pure_to_gdp

    own, largest = _mu_squared(law), _largest(law)
    if own is not None or _fails(law) or largest is None or largest > _LARGEST_PURE:
        return own
    mu = pure_to_gdp(PureDP(fraction_up(largest))).mu
    return Fraction(multiply_up(mu, mu))


def _mu_squared(law: Law) -> Fraction | None:
    """The square of the mu of Gaussian noise that never fails."""
    return None if _fails(law) else law.gaussian


def _fails(law: Law) -> Fraction:
    from dosimeter.pld.laws.law import Direction

    return max(law.infinite(direction) for direction in Direction)


def _largest(law: Law) -> Fraction | None:
    """The largest loss in either direction, where losses are bounded."""
    from dosimeter.pld.laws.law import Direction

    ends = [law.highest(direction) for direction in Direction]
    return None if any(end is None for end in ends) else max(end[1] for end in ends if end is not None)
