"""Expectations of a value function after each entry of a menu, all entries at once.

A few points are added one by one: the error is relative to the value. Many are correlated by fast Fourier transforms,
one forward transform for all entries and one inverse transform for each, with the whole possible error of rounding
added or taken away.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.pld.laws.parts import UNIT

if TYPE_CHECKING:
    from dosimeter.pld.laws.spread import Reals

FEW: Final = 24  # points up to which they are added one by one
SHARE: Final = 64  # units of rounding, times log2 of the length, that three transforms are counted as
BATCH: Final = 1 << 16  # numbers that are transformed at a time


class Entries:
    """The masses of every entry: the first loss in steps, and the masses from there on."""

    def __init__(self, entries: Sequence[tuple[int, Reals]], length: int) -> None:
        self.few: dict[int, list[tuple[int, float]]] = {}
        self.many: dict[int, tuple[int, Reals]] = {}
        for i, (first, masses) in enumerate(entries):
            filled = np.flatnonzero(masses)
            if len(filled) <= FEW:
                self.few[i] = [(first + int(at), float(masses[at])) for at in filled]
            else:
                self.many[i] = (first, masses)
        self.widest = max((len(steps) for steps in self.few.values()), default=0)
        self.size = fast_length(length)
        self.transforms = np.empty((len(self.many), self.size // 2 + 1), dtype=np.complex128)
        for row, (_, masses) in enumerate(self.many.values()):
            np.conj(np.fft.rfft(masses, self.size), out=self.transforms[row])
        self.product = np.empty_like(self.transforms[: max(1, BATCH // self.size)])
        self.norms = {i: float(np.linalg.norm(masses)) for i, (_, masses) in self.many.items()}

    def expectations(
        self, padded: Reals, left_pad: int, n: int, wanted: Collection[int], sign: float
    ) -> Iterator[tuple[int, Reals]]:
        """For each entry wanted, the sum of its masses times the values so many steps further on.

        Guarantee: where transforms are used, not below (`sign` 1) or not above (-1) the exact sum.

        Args:
            padded: values, all of them between 0 and 1, with `left_pad` more in front and some more behind.
            left_pad: the place of the first loss of the window.
            n: losses of the window.
            wanted: entries.
            sign: the side on which rounding errors are charged.

        Reference: Higham 2002, Theorem 24.2: a transform of length N is off by at most log2(N) eta / (1 - log2(N) eta)
            of the norm of its input, eta below 7 units of rounding (radix two; larger radices round less). Forward,
            product and inverse together are below 24 log2(N) units times the product of both norms, and no component
            is off by more than the norm. 64 are counted.
        """
        for i in wanted:
            if i in self.few:
                yield i, self._one_by_one(i, padded, left_pad, n)
        rows = [(row, i) for row, i in enumerate(self.many) if i in wanted]
        if not rows:
            return
        transform = np.fft.rfft(padded, self.size)
        error = sign * SHARE * UNIT * math.log2(self.size) * float(np.linalg.norm(padded))
        together = len(self.product)
        for start in range(rows[0][0], rows[-1][0] + 1, together):
            part = self.transforms[start : start + together]
            product = np.multiply(part, transform, out=self.product[: len(part)])
            back = np.fft.irfft(product, self.size, axis=1)
            for row, i in rows:
                if start <= row < start + len(part):
                    at = left_pad + self.many[i][0]
                    total = back[row - start, at : at + n]
                    total += error * self.norms[i]
                    yield i, total if sign > 0 else np.maximum(total, 0.0, out=total)

    def _one_by_one(self, i: int, padded: Reals, left_pad: int, n: int) -> Reals:
        total = np.zeros(n)
        for jump, mass in self.few[i]:
            total += mass * padded[left_pad + jump : left_pad + jump + n]
        return total


def fast_length(length: int) -> int:
    """The next length of the form 2^a 3^b 5^c with b and c at most 2, which transforms are fast at."""
    best = 1 << max(length - 1, 1).bit_length()
    for odd in (3, 5, 9, 15, 25, 45, 75, 225):
        power = 1 << max(0, math.ceil(math.log2(max(length, 1) / odd)))
        if length <= odd * power < best:
            best = odd * power
    return best
