"""round(2^m Z) for unit Gaussians Z, millions a second, and exact: the vectorised twin of `rounded_gaussian`.

The law. A trial draws k >= 0 with probability proportional to exp(-k^2/2), x uniform on (0, 1), and accepts with
probability exp(-x (2k + x)/2). The accepted k + x has the density of |Z|: exp(-k^2/2) exp(-x(2k+x)/2) =
exp(-(k+x)^2/2). With a fair sign it is Z, and what is returned is its rounding to a multiple of 2^-m, for which m + 1
bits of x suffice.

Why it is exact although it computes with floats. k, x and the uniform number v that decides acceptance are read from
words of random bits, of which only a prefix is known. A float comparison is believed only when the numbers differ by
more than `_MARGIN`, ten thousand times what the float and the unknown bits can be off; otherwise the trial goes to
`_decide`, which reveals more bits and encloses the numbers in balls until the comparison is certain. So every trial
ends as it would with infinitely many bits and real arithmetic. The doubtful trials (about one in 10^8) are not
thrown away: that would bend the law.

Reference: Karney, "Sampling exactly from the normal distribution" (2016), Algorithm N, with k drawn from a table.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dosimeter.enclosure import ball, precision
from dosimeter.errors import EntropyError
from dosimeter.exact import count
from dosimeter.mechanisms.exact_sampling import Bits, stuck

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

    Integers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

FIRST_BITS: Final = 32
MAX_FRACTION_BITS: Final = 50
MAX_DRAWS: Final = 10**9
_MARGIN: Final = 1e-12
_TABLE: Final = 12  # P(k >= 12) < 1e-31: such a k is found by the exact path
_CHUNK: Final = 1 << 16
_MAX_BITS: Final = 1 << 14


def rounded_normals(size: int, fraction_bits: int, bits: Bits, *, first_bits: int = FIRST_BITS) -> Integers:
    """`size` independent draws of round(2^fraction_bits Z), Z a unit Gaussian, as 64-bit integers.

    Guarantee: P(j) = Phi((j + 1/2) 2^-m) - Phi((j - 1/2) 2^-m) exactly, given uniform independent bits.

    Args:
        size: how many draws, 0 to 10^9.
        fraction_bits: m, 0 to 50.
        bits: the source of uniform bits, `Entropy.bits`.
        first_bits: how many bits of the two comparisons are revealed at first, 2 to 32; a small number sends nearly
            every trial down the exact path and is meant for tests.

    Raises:
        EntropyError: the source gave something else than the bits it owes.
    """
    size = count(size, "size", smallest=0, largest=MAX_DRAWS)
    fraction_bits = count(fraction_bits, "fraction_bits", smallest=0, largest=MAX_FRACTION_BITS)
    first_bits = count(first_bits, "first_bits", smallest=2, largest=FIRST_BITS)
    out = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        trials = min(_CHUNK, int((size - done) * 1.42) + 16)
        drawn = _trials(trials, fraction_bits, bits, first_bits)[: size - done]
        out[done : done + drawn.size] = drawn
        done += drawn.size
    return out


def _words(size: int, bits: Bits) -> Any:
    """`size` uniform words of 64 bits."""
    width = 64 * size
    word = bits(width)
    if type(word) is not int or not 0 <= word < 1 << width:
        raise EntropyError(f"the source of randomness owes {width} bits and gave something else")
    return np.frombuffer(word.to_bytes(8 * size, sys.byteorder), dtype=np.uint64)


def _trials(size: int, fraction_bits: int, bits: Bits, first_bits: int) -> Any:
    """The accepted ones of `size` trials, rounded, in order."""
    x, both = _words(size, bits), _words(size, bits)
    negative = (both & np.uint64(1)).astype(bool)
    which = both >> np.uint64(65 - first_bits)  # the top bits; `v` has others, the sign the last
    v = (both >> np.uint64(1)) & np.uint64((1 << first_bits) - 1)
    table = _table(first_bits - 1)
    k = np.searchsorted(table, which, side="right")
    doubtful = (k >= _TABLE) | ((k > 0) & (which == table[np.maximum(k, 1) - 1]))  # a cut inside the word's interval
    scale = 2.0**-first_bits
    fraction, uniform = x * 2.0**-64, v * scale
    chance = np.exp(-0.5 * fraction * (2 * k + fraction))
    margin = _MARGIN + 2 * scale  # v is known up to `scale`; what is unknown of x moves the chance by 2^-60 at most
    accepted = uniform < chance - margin
    doubtful |= np.abs(uniform - chance) <= margin
    for i in np.nonzero(doubtful)[0].tolist():
        accepted[i], k[i] = _decide(int(which[i]), int(x[i]), int(v[i]), first_bits, bits)
    steps = (k.astype(np.int64) << np.int64(fraction_bits + 1)) + (x >> np.uint64(63 - fraction_bits)).astype(np.int64)
    rounded = (steps + 1) >> 1
    return np.where(negative, -rounded, rounded)[accepted]


@lru_cache(maxsize=8)
def _table(width: int) -> Any:
    """floor(2^width F(k)) for the first k: below it k is certainly at most that, at it nobody knows yet."""
    with precision(width + 256):
        cuts = [int((_cumulative(k) * ball(2) ** width).floor().unique_fmpz()) for k in range(_TABLE)]
    return np.array(cuts, dtype=np.uint64)


def _cumulative(k: int) -> Ball:
    """F(k) = P(K <= k), K >= 0 with probability proportional to exp(-K^2/2), at the current precision."""
    terms = [(-ball(j * j) / 2).exp() for j in range(60)]  # what follows is below exp(-1800)
    total = sum(terms, ball(0))
    rest = (-ball(1800)).exp() * 2
    return sum(terms[: k + 1], ball(0)) / (total + rest.union(ball(0)))


def _decide(which: int, x: int, v: int, width: int, bits: Bits, known: int | None = None) -> tuple[bool, int]:
    """Whether the trial that begins with these bits accepts, and its k: bits are revealed until both are certain."""
    known = width - 1 if known is None else known
    while True:
        with precision(known + 64):
            first = _index(which, known)
            if first is not None:
                break
        which, known = _more(which, known, bits)
    k, known_x, known_v = first, 64, width
    while True:
        with precision(max(known_x, known_v) + 64):
            fraction = _interval(x, known_x)
            uniform = _interval(v, known_v)
            chance = (-fraction * (2 * k + fraction) / 2).exp()
            if uniform < chance:
                return True, k
            if uniform > chance:
                return False, k
        if known_x <= known_v:
            x, known_x = _more(x, known_x, bits)
        else:
            v, known_v = _more(v, known_v, bits)


def _interval(word: int, known: int) -> Ball:
    """Every continuation of a word of `known` bits, as a number in [0, 1]."""
    return ball(Fraction(word, 1 << known)).union(ball(Fraction(word + 1, 1 << known)))


def _index(which: int, known: int) -> int | None:
    """The k whose interval holds every continuation of these bits, or None."""
    unit = ball(2) ** -known
    low, high = ball(which) * unit, ball(which + 1) * unit
    for k in range(40):
        cut = _cumulative(k)
        if high <= cut:
            return k
        if not low >= cut:
            return None
    return None


def _more(word: int, known: int, bits: Bits) -> tuple[int, int]:
    if known >= _MAX_BITS:
        raise stuck(known)
    return (word << 64) | bits(64), known + 64
