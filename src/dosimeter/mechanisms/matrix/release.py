"""Releasing an array safely: whiten, round to a lattice, add exact noise, map back.

The noise is added to whole numbers and is exact (`rounded_normals`), so no bit of a float decides what is revealed.
Floats are used before, where their error is bounded in advance and priced, and after, where everything is
post-processing of what has already been protected:

    y = H f          computed in floats, off by at most e in every entry
    q = round(2^m y) whole numbers
    r = q + round(2^m Z), the rounding of q + 2^m Z: a Gaussian release of q with noise multiplier 2^m
    the answer is H^-1 (2^-m r)

Neighbours' q differ by at most 2^m |H D| + sqrt(d) (1 + 2^(m+1) e) in Euclidean norm for d entries, so the release is
GDP with mu + sqrt(d) (2^-m + 2 e). That, and not mu alone, is what is charged; at m = 40 the difference is near 1e-9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from dosimeter.errors import InputError
from dosimeter.events import Gaussian
from dosimeter.exact import ONE, add_up, count, show
from dosimeter.mechanisms.entropy import Entropy, SystemEntropy
from dosimeter.mechanisms.matrix.arrays import decimal_up, read_array, read_float, read_private
from dosimeter.mechanisms.matrix.covariance import whitening_error
from dosimeter.mechanisms.matrix.gaussian import GaussianMechanism
from dosimeter.mechanisms.matrix.normal import MAX_FRACTION_BITS, rounded_normals

if TYPE_CHECKING:
    from dosimeter.mechanisms.matrix.arrays import Array

_WHOLE_BITS: Final = 60  # of a whole number before noise; the noise itself stays below 2^57
_USUAL_BITS: Final = 40
_LEAST_BITS: Final = 10


@dataclass(frozen=True)
class MatrixRelease:
    """A mechanism with everything that its exact sampling adds to the price.

    Args:
        mechanism: the noise and the sensitivity set.
        entry_bound: a public bound on the size of every entry of the value. Entries beyond it are clipped. That never
            enlarges a difference in a ball, nor any difference under independent noise; for the other sets it is part
            of what the caller vouches for, as the set itself is.
        fraction_bits: m: the lattice has 2^m steps to one standard deviation of the whitened noise, 10 to 50. When left
            out, 40, or as many as whole numbers of 64 bits have room for.
        value_error: how far an entry that is handed in may be from the exact value that the sensitivity speaks of,
            where the caller computes it in floating point.

    Guarantee: `release` is `mu`-GDP, floating point and lattice included.
    """

    mechanism: GaussianMechanism
    entry_bound: float = 1e6
    fraction_bits: int | None = None
    value_error: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.mechanism), GaussianMechanism):
            raise InputError(f"mechanism={show(self.mechanism)} is not a GaussianMechanism")
        object.__setattr__(self, "entry_bound", read_float(self.entry_bound, "entry_bound"))
        error = float(read_array(self.value_error, "value_error", (0,)))
        if not 0 <= error < self.entry_bound:
            raise InputError(f"value_error={show(self.value_error)} must be a number from 0 to below entry_bound")
        object.__setattr__(self, "value_error", error)
        reach = self.mechanism.noise.reach(self.entry_bound)
        if not reach < 2.0**_WHOLE_BITS:
            raise InputError(
                f"entries of size {self.entry_bound:g} do not fit 64 bits; lower entry_bound, or add noise"
            )
        room = _WHOLE_BITS - math.frexp(reach)[1]
        given = min(_USUAL_BITS, room) if self.fraction_bits is None else self.fraction_bits
        if self.fraction_bits is not None:
            count(given, "fraction_bits", smallest=_LEAST_BITS, largest=MAX_FRACTION_BITS)
        if not _LEAST_BITS <= given <= room:
            raise InputError(
                f"entries of size {self.entry_bound:g} reach {reach:.3g} standard deviations of the noise: a lattice "
                f"of 2^{max(given, _LEAST_BITS)} steps to each does not fit 64 bits. Lower entry_bound or "
                "fraction_bits, or add noise"
            )
        object.__setattr__(self, "fraction_bits", given)

    @property
    def _step(self) -> float:
        return 2.0 ** -(self.fraction_bits or 0)

    @cached_property
    def mu(self) -> Decimal:
        """The GDP parameter of the release, rounded up."""
        rows, columns = self.mechanism.noise.shape
        noise = self.mechanism.noise
        each = self._step + 2 * whitening_error(noise, self.entry_bound)
        if self.value_error:
            each += 2 * self.value_error * noise.gain()[1]
        return add_up(self.mechanism.mu.upper, decimal_up((rows * columns) ** 0.5 * each * (1 + 1e-12)))

    def event(self) -> Gaussian:
        """What an account charges before the value is looked at."""
        return Gaussian(ONE, self.mu)

    def release(self, value: object, entropy: Entropy | None = None) -> Array:
        """The value with noise. Charge `event()` first.

        Args:
            value: an array of the mechanism's shape. It is private: no message quotes it. Entries that are not numbers
                count as 0, and entries beyond the bound as the bound, so that nothing about the rows decides whether
                the release succeeds.
            entropy: where the randomness comes from; the operating system when left out.

        Shape: as the value.

        Raises:
            InputError: another shape than the mechanism's.
            EntropyError: the randomness failed; nothing was released.
        """
        source: Entropy = SystemEntropy() if entropy is None else entropy
        shape = self.mechanism.noise.shape
        noise = rounded_normals(shape[0] * shape[1], self.fraction_bits or 0, source.bits)
        exact, given = self._read(value, shape)
        white, _ = self.mechanism.noise.whiten(exact)
        steps = np.rint(white / self._step).astype(np.int64)
        noisy = (steps + noise.reshape(shape, order="F")).astype(np.float64) * self._step
        return np.asarray(self.mechanism.noise.colour(noisy)).reshape(given)

    def _read(self, value: object, shape: tuple[int, int]) -> tuple[Array, tuple[int, ...]]:
        array = read_private(value, "the value")
        given = array.shape
        if array.ndim == 1 and shape[1] == 1:
            array = array[:, None]
        if array.shape != shape:
            raise InputError(f"the value has shape {given}; the mechanism was priced for {shape}")
        bound = self.entry_bound
        return np.clip(np.nan_to_num(array, nan=0.0, posinf=bound, neginf=-bound), -bound, bound), given
