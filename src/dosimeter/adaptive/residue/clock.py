"""What a law is in zCDP outside of its failures, so that odometers can read an account that prices whole profiles."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import LARGEST, SMALLEST, ZERO, fraction_up
from dosimeter.notions import PureDP
from dosimeter.notions.convert import pure_to_zcdp
from dosimeter.notions.profiles import laplace_zcdp

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law


@lru_cache(maxsize=4096)
def rho_of(law: Law) -> Decimal:
    """The rho of a law outside of its failures, rounded up.

    Guarantee: Gaussian and discrete Gaussian noise: sensitivity^2 / (2 sigma^2); Laplace noise: its own constant; a law
    of bounded loss: epsilon tanh(epsilon/2); a sampled law, an allocated record or a mixture: that of what it samples,
    hides or mixes, since Renyi divergences are quasi-convex.

    Raises:
        NoGuaranteeError: the law is none of these.

    Reference: Bun, Steinke 2016; Canonne, Kamath, Steinke 2020; van Erven, Harremoes 2014, Theorem 13.
    """
    from dosimeter.pld.lattice.allocated import HeldLaw
    from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
    from dosimeter.pld.laws.laplace import LaplaceLaw
    from dosimeter.pld.laws.law import Direction
    from dosimeter.pld.laws.mixture import MixtureLaw
    from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw

    if law.gaussian is not None:
        return _within(law.gaussian / 2)
    if isinstance(law, DiscreteGaussianLaw):
        return _within(law.shift**2 / (2 * law.sigma_squared))
    if isinstance(law, LaplaceLaw):
        return laplace_zcdp(_within(law.epsilon))
    if isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw):
        return rho_of(law.base)
    if isinstance(law, HeldLaw):
        return _within(law.mu_squared / 2)
    if isinstance(law, MixtureLaw):
        return max(rho_of(one) for one in law.laws)
    ends = [law.highest(direction) for direction in Direction]
    if any(end is None for end in ends):
        raise NoGuaranteeError(f"nothing is known of a {law.kind} law in zCDP, which odometers need")
    largest = max(end[1] for end in ends if end is not None)
    return pure_to_zcdp(PureDP(_within(largest))).rho if largest > 0 else ZERO


def _within(value: Fraction) -> Decimal:
    return min(LARGEST, max(SMALLEST, fraction_up(value)))
