"""The one door through which randomness enters Dosimeter.

Whatever is released was drawn by an object with the three verbs of `Entropy`. There are two kinds:

* `SystemEntropy`, the default and the only one a session makes by itself. Uniform bits come from the operating system,
  read afresh for every draw. Discrete Laplace and discrete Gaussian integers come from OpenDP's exact samplers, whose
  bits come from OpenSSL's generator inside the process: seeded by the operating system, seeded anew in a forked child,
  never from a number anyone can set. Nothing repeats after a fork, a thread switch or a restart. A running process that
  is copied whole (a machine image taken after the first draw and started twice) is what no library can see.
* `SeededTestEntropy` and `ScriptedTestEntropy`: repeatable, for tests. No setting, file, environment variable or name
  leads to them; a test has to construct one and pass it in.

OpenDP reads its scale as a binary float. The float is rounded *up*, and the surplus noise is removed again by an
exact acceptance test: a draw x of the wider law is kept with probability exp(-c(x)), c(x) = |x|(1/b - 1/b') or
x^2 (1/s^2 - 1/s'^2)/2, a rational number near 1e-16. What is kept follows the declared law exactly, for every decimal
parameter. This matters: the privacy profile of the discrete Gaussian is not monotone in sigma, so "a little more
noise" would not by itself be safe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import inf, nextafter
from typing import Any, ClassVar, Final, Protocol

from dosimeter.errors import EntropyError, InputError
from dosimeter.exact import count
from dosimeter.mechanisms import exact_sampling

_BATCH: Final = 4096
_FAILED: Final = (
    "the randomness source failed; nothing was released, and what was charged stays charged. "
    "Check the operating system's source of randomness, then ask again under a new request"
)


class Entropy(Protocol):
    """A source of fresh randomness. An implementer owes independent draws with exactly the stated laws."""

    for_tests_only: ClassVar[bool]

    def bits(self, width: int) -> int:
        """An integer uniform on [0, 2^width)."""
        ...

    def discrete_laplace(self, scale: Decimal, size: int) -> list[int]:
        """`size` independent integers with P(x) = tanh(1/(2 scale)) exp(-|x|/scale)."""
        ...

    def discrete_gaussian(self, sigma: Decimal, size: int) -> list[int]:
        """`size` independent integers with P(x) proportional to exp(-x^2/(2 sigma^2))."""
        ...


class SystemEntropy:
    """The operating system's randomness, and OpenDP's exact samplers. Takes no seed."""

    for_tests_only: ClassVar[bool] = False
    __slots__ = ()

    def bits(self, width: int) -> int:
        """An integer uniform on [0, 2^width), from `os.urandom`."""
        try:
            drawn = int.from_bytes(os.urandom((width + 7) // 8), "big")
        except (OSError, NotImplementedError):
            raise EntropyError(_FAILED) from None
        return drawn >> (-width % 8)

    def discrete_laplace(self, scale: Decimal, size: int) -> list[int]:
        """`size` independent integers with P(x) = tanh(1/(2 scale)) exp(-|x|/scale), exactly."""
        wider = float_up(scale)
        surplus = 1 / Fraction(scale) - 1 / Fraction(wider)
        return self._kept(_opendp("laplace", wider), size, surplus, abs)

    def discrete_gaussian(self, sigma: Decimal, size: int) -> list[int]:
        """`size` independent integers with P(x) proportional to exp(-x^2/(2 sigma^2)), exactly."""
        wider = float_up(sigma)
        surplus = (1 / Fraction(sigma) ** 2 - 1 / Fraction(wider) ** 2) / 2
        return self._kept(_opendp("gaussian", wider), size, surplus, _square)

    def _kept(self, measurement: Any, size: int, surplus: Fraction, statistic: Callable[[int], int]) -> list[int]:
        """Draw from the wider law until `size` draws x were kept, each with probability exp(-surplus statistic(x))."""
        kept: list[int] = []
        while len(kept) < size:
            try:
                drawn = measurement([0] * min(size - len(kept), _BATCH))
            except Exception:
                raise EntropyError(_FAILED) from None
            if surplus:
                n, d = surplus.numerator, surplus.denominator
                drawn = [x for x in drawn if exact_sampling.bernoulli_exp(statistic(x) * n, d, self.bits)]
            kept += drawn
        return kept


def _square(x: int) -> int:
    return x * x


@lru_cache(maxsize=256)
def _opendp(kind: str, scale: float) -> Any:
    """OpenDP's measurement that adds this noise to a vector of 64-bit integers, checked against its own privacy map."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        measurement: Any = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
        expected = 1 / Fraction(scale)
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
        expected = 1 / (2 * Fraction(scale) ** 2)
    claimed = measurement.map(1 if kind == "laplace" else 1.0)
    if abs(Fraction(claimed) / expected - 1) > Fraction(1, 10**9):
        raise EntropyError(
            f"OpenDP's {kind} sampler no longer means by its scale what Dosimeter means; "
            "install the version of opendp that Dosimeter pins"
        )
    return measurement


def float_up(value: Decimal) -> float:
    """The smallest binary float that is not below the decimal."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= Fraction(value) else nextafter(nearest, inf)


class _BitEntropy:
    """The discrete laws from uniform bits alone, by Dosimeter's own exact samplers."""

    for_tests_only: ClassVar[bool] = True

    def bits(self, width: int) -> int:
        raise NotImplementedError

    def discrete_laplace(self, scale: Decimal, size: int) -> list[int]:
        """`size` independent integers with P(x) = tanh(1/(2 scale)) exp(-|x|/scale), exactly."""
        exact = Fraction(scale)
        return [exact_sampling.discrete_laplace(exact, self.bits) for _ in range(size)]

    def discrete_gaussian(self, sigma: Decimal, size: int) -> list[int]:
        """`size` independent integers with P(x) proportional to exp(-x^2/(2 sigma^2)), exactly."""
        exact = Fraction(sigma)
        return [exact_sampling.discrete_gaussian(exact, self.bits) for _ in range(size)]


class SeededTestEntropy(_BitEntropy):
    """Repeatable noise for tests. Anyone who knows the seed can subtract the noise: never release with it."""

    def __init__(self, seed: int) -> None:
        import random

        self._generator = random.Random(count(seed, "seed", smallest=0, largest=2**63))  # noqa: S311  tests only

    def bits(self, width: int) -> int:
        """The next `width` bits of the seeded stream."""
        return self._generator.getrandbits(width) if width else 0


class ScriptedTestEntropy(_BitEntropy):
    """Plays back given bits, first one most significant: for tests that force a draw or enumerate all of them.

    Raises:
        EntropyError: when the script has run out.
    """

    def __init__(self, script: Iterable[int], then: _BitEntropy | None = None) -> None:
        self._script: Iterator[int] = chain(script)
        self._then = then

    def bits(self, width: int) -> int:
        """The next `width` bits of the script, and of the source named by `then` when it has run out."""
        word = 0
        for done in range(width):
            bit = next(self._script, None)
            if bit is None:
                if self._then is None:
                    raise EntropyError("the scripted bits have run out")
                rest = width - done
                return (word << rest) | self._then.bits(rest)
            if bit not in (0, 1):
                raise InputError("a script holds the bits 0 and 1 only")
            word = word << 1 | bit
        return word
