"""Exact samplers over uniform bits: integers only, so the law is the stated one and not its floating-point shadow.

Every function asks `bits(n)` for an integer uniform on [0, 2^n) and returns an integer (or a truth value) whose law
is exactly the one named, for any rational parameter. The arithmetic never rounds. A source that is stuck (all zeros,
all ones) would keep a rejection loop waiting for ever; after `MAX_TRIES` rejections, which a working source reaches
with probability below 2^-1000, the source is called broken.

Reference: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (2020), Algorithms 1 to 3.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

from dosimeter.errors import EntropyError

Bits: TypeAlias = Callable[[int], int]

MAX_TRIES: Final = 20_000
_BROKEN = (
    "the randomness source looks stuck: a draw was rejected {tries} times in a row; nothing was released, "
    "check the operating system's source of randomness"
)


def stuck(tries: int = MAX_TRIES) -> EntropyError:
    """The error of a source that no working source resembles."""
    return EntropyError(_BROKEN.format(tries=tries))


def uniform_below(bound: int, bits: Bits) -> int:
    """An integer uniform on [0, bound): draw enough bits, draw again while they spell a number outside."""
    width = (bound - 1).bit_length()
    if width == 0:
        return 0
    for _ in range(MAX_TRIES):
        drawn = bits(width)
        if drawn < bound:
            return drawn
    raise stuck()


def bernoulli(numerator: int, denominator: int, bits: Bits) -> bool:
    """True with probability exactly numerator/denominator, in [0, 1].

    A small denominator costs one draw below it; a large one is compared 64 binary digits at a time until they decide.
    """
    if numerator >= denominator:
        return True
    if denominator.bit_length() <= 64:
        return uniform_below(denominator, bits) < numerator
    for _ in range(MAX_TRIES):
        if numerator == 0:
            return False
        digit, numerator = divmod(numerator << 64, denominator)
        drawn = bits(64)
        if drawn != digit:
            return drawn < digit
    raise stuck()


def bernoulli_exp(numerator: int, denominator: int, bits: Bits) -> bool:
    """True with probability exactly exp(-numerator/denominator), for a ratio >= 0 (Algorithm 1).

    exp(-g) is the alternating series of g^k/k!: for g <= 1, the run of successes of Bernoulli(g/k), k = 1, 2, ...,
    stops at an odd k with that probability. A larger g is a product of factors exp(-1) and one such factor.
    """
    whole, rest = divmod(numerator, denominator)
    for _ in range(whole):
        if not _bernoulli_exp_below_one(1, 1, bits):
            return False
    return _bernoulli_exp_below_one(rest, denominator, bits)


def _bernoulli_exp_below_one(numerator: int, denominator: int, bits: Bits) -> bool:
    for k in range(1, MAX_TRIES):
        if not bernoulli(numerator, denominator * k, bits):
            return k % 2 == 1
    raise stuck()


def discrete_laplace(scale: Fraction, bits: Bits) -> int:
    """An integer x with probability tanh(1/(2 scale)) exp(-|x|/scale), exactly (Algorithm 2)."""
    t, s = scale.numerator, scale.denominator
    for _ in range(MAX_TRIES):
        u = uniform_below(t, bits)
        if not _bernoulli_exp_below_one(u, t, bits):
            continue
        v = 0
        while _bernoulli_exp_below_one(1, 1, bits):
            v += 1
            if v > MAX_TRIES:
                raise stuck()
        magnitude = (u + t * v) // s
        negative = bits(1)
        if negative and magnitude == 0:
            continue  # zero has one sign: without this line it would be twice as likely
        return -magnitude if negative else magnitude
    raise stuck()


def discrete_gaussian(sigma: Fraction, bits: Bits) -> int:
    """An integer x with probability proportional to exp(-x^2/(2 sigma^2)), exactly (Algorithm 3)."""
    n, d = sigma.numerator**2, sigma.denominator**2  # sigma^2 = n/d
    t = int(sigma) + 1
    for _ in range(MAX_TRIES):
        drawn = discrete_laplace(Fraction(t), bits)
        # accepted with probability exp(-(|Y| - sigma^2/t)^2 / (2 sigma^2))
        if bernoulli_exp((abs(drawn) * d * t - n) ** 2, 2 * n * d * t * t, bits):
            return drawn
    raise stuck()
