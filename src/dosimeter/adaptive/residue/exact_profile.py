"""The hockey-stick divergence of a law at any real level, enclosed: what a reference plan is made of.

A plan's lattice has to be the same numbers wherever it is computed, for charges made on one machine must fit the budget
that was opened on another. So it is computed in ball arithmetic, from closed forms.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.adaptive.residue.exact_sums import discrete_gaussian_divergence, finite_divergence
from dosimeter.enclosure import ball, precision
from dosimeter.errors import NoGuaranteeError
from dosimeter.notions.profiles.gaussian import profile_ball
from dosimeter.pld.laws.bounded_range import BoundedRangeLaw
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.discrete_laplace import DiscreteLaplaceLaw
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types


def divergence(law: Law, direction: Direction, level: Ball) -> Ball:
    """H(s) = E_P[(1 - e^(s - L))+] at s = `level`, infinite losses included, at the current precision.

    Raises:
        NoGuaranteeError: no closed form is known for this law.

    Reference: Zhu, Dong, Wang 2022, Theorem 11 and Proposition 30, for sampling.
    """
    if isinstance(law, PoissonSampledLaw) and law.rate < 1:
        return _poisson(law, direction, level)
    if isinstance(law, FixedSizeSampledLaw) and law.rate < 1:
        return _fixed_size(law, direction, level)
    if isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw):
        return divergence(law.base, direction, level)
    if isinstance(law, FinitePairLaw):
        return finite_divergence(law, direction, level)
    if not law.symmetric:
        raise NoGuaranteeError(f"a {law.kind} law has no closed form that a plan could be made of")
    if level < 0:
        g = level.exp()
        finite = 1 - g + g * _finite(law, -level)
    else:
        finite = _finite(law, level)
    infinite = law.infinite(direction)
    return _kept(infinite) + (1 - _kept(infinite)) * finite if infinite else finite


def _finite(law: Law, level: Ball) -> Ball:
    """The divergence of what is left of a symmetric law without its infinite loss, at a level not below zero."""
    if isinstance(law, GaussianLaw):
        return profile_ball(_kept(law.mu_squared, root=True), level)
    if isinstance(law, ResponseLaw):
        e = ball(law.epsilon)
        return _positive((e.exp() - level.exp()) / (1 + e.exp()))
    if isinstance(law, LaplaceLaw):
        return _positive(-((level - ball(law.epsilon)) / 2).expm1())
    if isinstance(law, BoundedRangeLaw):
        eta = ball(law.width)
        root = _positive((eta / 2).exp() - (level / 2).exp())
        return root * root / eta.expm1()
    if isinstance(law, DiscreteLaplaceLaw):
        return _discrete_laplace(law, level)
    if isinstance(law, DiscreteGaussianLaw):
        return discrete_gaussian_divergence(law, level)
    raise NoGuaranteeError(f"a {law.kind} law has no closed form that a plan could be made of")


def _discrete_laplace(law: DiscreteLaplaceLaw, level: Ball) -> Ball:
    """At the points of its lattice it is Laplace's, in between linear in e^s; a level near a point may be in either."""
    top, step = law.shift / law.scale, 2 / law.scale
    below = (ball(top) - level) / ball(step)
    if below < 0:
        return ball(0)
    cell = int(below.mid().floor().unique_fmpz())
    pieces = [_chord(top, step, k, level) for k in range(max(cell - 1, 0), cell + 2)]
    found = pieces[0]
    for piece in pieces[1:]:
        found = found.max(piece)  # the profile is convex and piecewise linear: the largest of its lines
    return _positive(found)


def _chord(top: Fraction, step: Fraction, cell: int, level: Ball) -> Ball:
    """The line through the points `cell` and `cell` + 1 steps below the largest loss."""
    high, low = ball(top - cell * step), ball(top - (cell + 1) * step)
    at_high, at_low = (-((end - ball(top)) / 2).expm1() for end in (high, low))
    slope = (at_high - at_low) / (high.exp() - low.exp())
    return at_high + slope * (level.exp() - high.exp())


def _poisson(law: PoissonSampledLaw, direction: Direction, level: Ball) -> Ball:
    """Removing a record: q H(g') with g' = 1 + (g - 1)/q; adding one: (1 - g (1 - q)) H(g'') of the reverse."""
    q, g = _kept(law.rate), level.exp()
    if direction is Direction.REMOVE:
        inner = 1 + (g - 1) / q
        if inner <= 0:
            return 1 - g
        return q * divergence(law.base, direction, inner.log())
    weight = 1 - g * (1 - q)
    if weight <= 0:
        return ball(0)
    return weight * divergence(law.base, direction, (g * q / weight).log())


def _fixed_size(law: FixedSizeSampledLaw, direction: Direction, level: Ball) -> Ball:
    """At levels from one on as for a Poisson sample, below by reversal."""
    if level < 0:
        return 1 - level.exp() + level.exp() * _fixed_size(law, direction.reverse, -level)
    q = _kept(law.rate)
    return q * divergence(law.base, direction, (1 + level.expm1() / q).log())


def _kept(value: Fraction, *, root: bool = False) -> Ball:
    """A parameter, or its square root, at the current precision: the same for thousands of levels."""
    import flint

    return _ball_of(value, flint.ctx.prec, root)


@lru_cache(maxsize=64)
def _ball_of(value: Fraction, bits: int, root: bool) -> Ball:
    with precision(bits):
        return ball(value).sqrt() if root else ball(value)


def _positive(value: Ball) -> Ball:
    return value.max(ball(0))
