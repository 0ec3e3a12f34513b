"""Charges in the Gaussian family for mechanisms that look alike in both directions: one inequality proves all.

With budget b left, a mechanism with pair M may be charged c when M together with the Gaussian pair of b - c is nowhere
more revealing than the Gaussian pair of b alone. Let h_b be the profile of N(sqrt b, 1) against N(0, 1), let h be the
profile of M or an upper bound of it, and

    d(s) = h_c(s) - h(s),      D(s) = E[ d(s - X) ],  X ~ N((b-c)/2, b-c).

D(s) >= 0 for every real s is what is asked. Three facts reduce it to D(0) > 0:

* *Reversal.* Where both directions are alike, h(-s) = 1 - e^-s + e^-s h(s). So d(-s) = e^-s d(s): the signs of d are
  symmetric about 0, and those of D likewise.
* *Signs of d.* From left to right d is positive, negative, positive; or nowhere negative. Outside of [-eps, eps] h is
  trivial and d = h_c or e^s h_c(-s) is positive. Inside, with g = e^s:
  - randomized response: h is linear in g and h_c convex, so d is convex, positive at both ends: at most two zeros;
  - Laplace: h = 1 - k (g e^-eps)^(1/2) with k = 1, and the second derivative of d in g has the sign of
    A e^(-s^2 / (2c)) - 1 for some A > 0. So d is concave, convex, concave (or one of these), not negative at both
    ends. On a concave piece next to an end d changes sign at most once; on the convex piece {d < 0} is an interval,
    and if d(0) >= 0 it is empty, since it would be symmetric. Together: at most two changes, and none if d(0) >= 0;
  - discrete Laplace: at the points of its lattice the profile is Laplace's, in between it is linear in g. The chord of
    a square root on [u^2, v^2] exceeds it by at most (v - u)^2 / (4 (u + v)); so Laplace's form with a k slightly below
    1 is an upper bound, symmetric like it, and the same argument holds while h_c(eps) >= 1 - k.
* *Variation diminishing.* Convolution with a Gaussian density never increases the number of changes of sign, and keeps
  their order when the number stays (Karlin 1968, Total Positivity, chapter 5). So if D is negative anywhere, it is on
  one interval, symmetric about 0, which contains 0.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from dosimeter.enclosure import ball, enclose, precision
from dosimeter.errors import NoGuaranteeError
from dosimeter.notions.profiles.gaussian import profile_ball
from dosimeter.notions.profiles.solving import bracketed_root, certainly_at_most_zero

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

DIGITS: Final = 15
_BITS: Final = 224


@final
@dataclass(frozen=True, slots=True)
class Centred:
    """An upper bound, alike in both directions, of the profile of a mechanism whose loss never exceeds `epsilon`.

    Args:
        epsilon: the largest loss, positive.
        step: None for randomized response; else the distance of the points at which the profile is known to be
            Laplace's, 0 for continuous noise.
    """

    epsilon: Fraction
    step: Fraction | None = None

    def at_zero(self) -> Ball:
        """h(0)."""
        e = ball(self.epsilon)
        return (e / 2).tanh() if self.step is None else 1 - (1 - self._gap()) * (-e / 2).exp()

    def beside_zero(self) -> Ball:
        """1 - h(0), without a difference of near numbers."""
        e = ball(self.epsilon)
        return 2 / (1 + e.exp()) if self.step is None else (1 - self._gap()) * (-e / 2).exp()

    def at_centre(self, rest: Ball) -> Ball:
        """E[ h(-X) ], X ~ N(rest/2, rest): the mechanism and the Gaussian pair of `rest` together, at s = 0."""
        e = ball(self.epsilon)
        if self.step is None:
            return (e / 2).tanh() + 2 / (1 + e.exp()) * profile_ball(rest.sqrt(), e)
        width = (2 * rest).sqrt()
        inside = (-e / 2 - rest / 8).exp() * (e / width).erf()
        return ((e + rest / 2) / width).erf() - (1 - self._gap()) * inside

    def signs_are_known(self, charge: Decimal) -> bool:
        """Whether the argument above applies at this charge."""
        if not self.step:
            return True
        return certainly_at_most_zero(lambda: self._gap() - profile_ball(ball(charge).sqrt(), ball(self.epsilon)))

    def _gap(self) -> Ball:
        """1 - k: by how much chords exceed Laplace's profile, relative to e^((s - eps)/2)."""
        if not self.step:
            return ball(0)
        growth = (ball(self.step) / 2).exp()
        return (growth - 1) ** 2 / (4 * (1 + growth))


def whole_charge(shape: Centred) -> Decimal:
    """The least charge at which nothing needs to be left: the smallest b with h <= h_b everywhere, rounded up.

    Guarantee: at this charge d(0) >= 0, so d is nowhere negative.

    Raises:
        NoGuaranteeError: the argument above does not apply to this mechanism.
    """

    def charge() -> Ball:
        near_one = shape.epsilon > 1
        root = shape.beside_zero().erfcinv() if near_one else shape.at_zero().erfinv()
        return 8 * root * root

    found = _ceiling(enclose(charge))
    if not shape.signs_are_known(found):
        raise NoGuaranteeError("the lattice of this noise is too coarse for its scale to be charged by its profile")
    return found


def charge_at(shape: Centred, level: Decimal, dearer: Decimal) -> Decimal | None:
    """The least charge when `level` is left, rounded up to 15 digits; None where it cannot be proven.

    Guarantee: the mechanism and N(sqrt(level - charge), 1) together are nowhere more revealing, in either direction,
    than N(sqrt(level), 1) against N(0, 1); and so for every larger level.

    Args:
        shape: the mechanism.
        level: what is left, above `dearer`.
        dearer: a charge proven at a smaller level, where the search may start.

    Reference: module docstring. A charge proven at b holds at every larger b: composing both sides with one more
    Gaussian keeps the inequality.
    """

    def excess(charge: Ball) -> Ball:
        return shape.at_centre(ball(level) - charge) - (ball(level) / 8).sqrt().erf()

    with precision(_BITS):
        guess = bracketed_root(excess, ball(0), ball(dearer))
    found = _ceiling(guess)
    for _ in range(3):
        if not found < level:
            return None
        if certainly_at_most_zero(lambda: excess(ball(found))) and shape.signs_are_known(found):  # noqa: B023
            return found
        found = _UP.next_plus(found)
    return None


_UP: Final = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_CEILING, Emin=-999_999, Emax=999_999)


def _ceiling(value: Ball) -> Decimal:
    from dosimeter.enclosure import up

    return _UP.plus(up(value))
