"""Divergences of laws with many atoms, enclosed at any level, from sums that are made once.

Where the losses rise with the outcome, H(s) = P(x >= k) - e^s Q(x >= k), k being the first outcome whose loss exceeds
s. Any other k gives less, so where a level is too near an atom to tell, the largest of its neighbours' values is taken.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import ball, enclose
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.law import Direction

if TYPE_CHECKING:
    Ball: TypeAlias = Any

Sums: TypeAlias = tuple[tuple[float, ...], tuple[tuple[Fraction, Fraction], ...]]
_NEAR: Final = 1e-12  # a level and an atom that are closer may be in either order
_VANISHED: Final = 140.0  # e^-140 is below 1e-60, which a lattice takes for nothing
_BITS: Final = 420.0  # the tail left out, relative to the smallest that counts, is below 2^-420
MOST_TERMS: Final = 200_000


def finite_divergence(law: FinitePairLaw, direction: Direction, level: Ball) -> Ball:
    """H of a finite pair at s = `level`, of either sign.

    Raises:
        NoGuaranteeError: its probabilities do not sum to exactly one.
    """
    losses, sums = _sums(law, direction)
    at, found = float(level.mid()), ball(0)
    width = _NEAR * (1 + abs(at))
    for place in range(bisect_left(losses, at - width), bisect_left(losses, at + width) + 1):
        mass, weight = sums[place]
        found = found.max(ball(mass) - level.exp() * ball(weight))
    return found


@lru_cache(maxsize=64)
def _sums(law: FinitePairLaw, direction: Direction) -> Sums:
    """Finite losses by size, rising; and for each number of them left out P and Q of the others, infinite ones too."""
    own, other = law.with_record, law.without_record
    if direction is Direction.ADD:
        own, other = other, own
    if sum(own) != 1 or sum(other) != 1:
        raise NoGuaranteeError("a plan needs a pair whose probabilities sum to exactly one; give them as ratios")
    ordered = sorted((a / b, a, b) for a, b in zip(own, other, strict=True) if a and b)
    infinite = sum((a for a, b in zip(own, other, strict=True) if not b), Fraction(0))
    masses = list(accumulate((a for _, a, _ in reversed(ordered)), initial=infinite))[::-1]
    weights = list(accumulate((b for _, _, b in reversed(ordered)), initial=Fraction(0)))[::-1]
    losses = tuple(_log(ratio) for ratio, _, _ in ordered)
    return losses, tuple(zip(masses, weights, strict=True))


def _log(ratio: Fraction) -> float:
    return float(enclose(lambda: ball(ratio).log())) if ratio != 1 else 0.0


def discrete_gaussian_divergence(law: DiscreteGaussianLaw, level: Ball) -> Ball:
    """H of discrete Gaussian noise that moves by whole steps, at s = `level` >= 0.

    P is the noise around `shift`, Q around 0; the loss of x is (2 x shift - shift^2) / (2 sigma^2).

    Raises:
        NoGuaranteeError: the noise is so wide that its sums are too long.

    Reference: Canonne, Kamath, Steinke 2020, Definition 1.
    """
    import flint

    tails, last = _tails(law.sigma_squared, law.shift, int(flint.ctx.prec))
    first = level * ball(law.sigma_squared) / law.shift + ball(Fraction(law.shift, 2))
    near = int(first.mid().floor().unique_fmpz())
    if near - 1 > last:  # the divergence falls, and is nothing that counts from here on
        return _tail(tails, last - law.shift).union(ball(0))
    found = ball(0)
    for k in range(near - 1, near + 3):
        found = found.max(_tail(tails, k - law.shift) - level.exp() * _tail(tails, k))
    return found


def _tail(tails: tuple[Ball, ...], k: int) -> Ball:
    """The probability of k and more."""
    return tails[k] if k > 0 else 1 - tails[1 - k]


@lru_cache(maxsize=8)
def _tails(sigma_squared: Fraction, shift: int, bits: int) -> tuple[tuple[Ball, ...], int]:  # noqa: ARG001
    """The probabilities of k and more at the current precision, k from 0 on; and the largest k that counts."""
    sigma = math.sqrt(sigma_squared)
    last = math.ceil(sigma * math.sqrt(2 * _VANISHED)) + shift
    top = last + 4
    end = math.ceil(math.sqrt(top**2 + 2 * _BITS * math.log(2) * sigma_squared)) + 1
    if end > MOST_TERMS:
        raise NoGuaranteeError(
            f"discrete Gaussian noise of sigma {sigma:.4g} has too many outcomes for the lattice of a plan; plan "
            "continuous noise, or give it on a coarser lattice"
        )
    width = 2 * ball(sigma_squared)
    terms = [(-ball(k * k) / width).exp() for k in range(end + 1)]
    beyond = terms[-1] * (1 + ball(sigma_squared) / end)  # a sum of falling terms is below its first and the integral
    sums = list(accumulate(reversed(terms), initial=(beyond / 2).union(ball(0)).union(beyond)))[::-1]
    total = 2 * sums[0] - terms[0]
    return tuple(value / total for value in sums[: top + 2]), last
