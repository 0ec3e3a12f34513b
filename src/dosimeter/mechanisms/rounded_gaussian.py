"""round(Y) for a real Gaussian Y, drawn exactly: the real number is never computed, only enclosed until it is decided.

Why exact. Let V be uniform on (0, 1), S a fair sign, and z(V) = sqrt(2) erfcinv(V), so that P(z(V) > a) = 2 Q(a) for
a >= 0: S sigma z(V) is a Gaussian of standard deviation sigma. After n bits of V are known, V lies in an interval
[v, v + 2^-n]; ball arithmetic encloses sigma z over all of it. If the whole enclosure lies between two neighbouring
half-integers, every continuation of the bits leads to the same rounded value, and the value is returned. If not, more
bits are drawn. The result is therefore the value that infinitely many bits would have given: the law is that of
round(Y), with no approximation, and the bits not drawn are not needed. An interval that touches 0 has no bounded
image, so the far tail is handled by the same rule: more bits.

With `FIRST_BITS` bits a second round is needed about once in 2^50 draws at sigma = 1e12, less often below.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from dosimeter.enclosure import ball, precision
from dosimeter.mechanisms.exact_sampling import Bits, stuck

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

FIRST_BITS: Final = 96
MORE_BITS: Final = 64
MAX_BITS: Final = 1 << 15
_CHUNK: Final = 512  # draws between two releases of the shared precision lock


def rounded_gaussian(
    sigma: Decimal, size: int, bits: Bits, *, first_bits: int = FIRST_BITS, more_bits: int = MORE_BITS
) -> list[int]:
    """`size` independent draws of round(Y), Y ~ N(0, sigma^2).

    Guarantee: P(k) = Phi((k+1/2)/sigma) - Phi((k-1/2)/sigma) exactly, given uniform independent bits.

    Args:
        sigma: standard deviation before rounding, in lattice steps.
        size: how many draws.
        bits: the source of uniform bits.
        first_bits: how many bits are revealed at first.
        more_bits: how many in every further round.

    Raises:
        EntropyError: 32768 bits did not decide a value, which a working source does with probability below 2^-30000.

    Reference: lazy evaluation of a real random variable, as in Karney, "Sampling exactly from the normal
    distribution" (2016), section 1; `erfcinv` by Johansson's Arb.
    """
    drawn: list[int] = []
    while len(drawn) < size:
        with precision(first_bits + 16):
            factor = ball(sigma) * ball(2).sqrt()
            for _ in range(min(_CHUNK, size - len(drawn))):
                word = bits(first_bits + 1)
                negative, v = word >> first_bits, word & ((1 << first_bits) - 1)
                magnitude = _decided(factor, v, first_bits)
                if magnitude is None:
                    magnitude = _refined(sigma, v, first_bits, more_bits, bits)
                drawn.append(-magnitude if negative else magnitude)
    return drawn


def _decided(factor: Ball, v: int, known: int) -> int | None:
    """The rounded value of factor erfcinv(V) if it is the same for every V in [v, v + 1] 2^-known, else None."""
    import flint

    uniform = flint.arb((2 * v + 1, -known - 1), (1, -known - 1))
    unique = (factor * uniform.erfcinv() + flint.arb((1, -1))).floor().unique_fmpz()
    return None if unique is None else int(unique)


def _refined(sigma: Decimal, v: int, known: int, more_bits: int, bits: Bits) -> int:
    while known < MAX_BITS:
        v = (v << more_bits) | bits(more_bits)
        known += more_bits
        with precision(known + 16):
            magnitude = _decided(ball(sigma) * ball(2).sqrt(), v, known)
        if magnitude is not None:
            return magnitude
    raise stuck(known)
