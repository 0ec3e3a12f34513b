"""Release: exact integers in, noisy integers out, and nothing in between but an addition of whole numbers.

The noise is drawn before it meets the value and never depends on it, so what a value is cannot change how long, or
whether, the draw succeeds.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from dosimeter.errors import EntropyError, InputError
from dosimeter.mechanisms.entropy import Entropy, SystemEntropy
from dosimeter.mechanisms.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, Noise, require_noise
from dosimeter.mechanisms.rounded_gaussian import rounded_gaussian

MAX_VALUES: Final = 10**8


def release(exact: Sequence[int], noise: Noise, entropy: Entropy | None = None) -> list[int]:
    """Add fresh, independent noise to every value.

    Guarantee: the outputs are integers on the plan's lattice whatever the inputs are; with the sensitivity that
    was given to `noise.event`, the release costs what that event costs.

    Args:
        exact: whole numbers of any size, in lattice steps. They are private: no message quotes them.
        noise: what to add, in lattice steps.
        entropy: where the randomness comes from; the operating system when left out.

    Raises:
        InputError: not a noise, or not whole numbers.
        EntropyError: the randomness failed; nothing was released.
    """
    require_noise(noise)
    if len(exact) > MAX_VALUES:
        raise InputError(f"a release of {len(exact)} values is over {MAX_VALUES}; release in parts")
    drawn = draw(noise, len(exact), SystemEntropy() if entropy is None else entropy)
    try:
        return [operator.index(value) + extra for value, extra in zip(exact, drawn, strict=True)]
    except TypeError:  # the value itself stays out of the message
        raise InputError("the values to release are whole numbers on the plan's lattice; round them first") from None


def draw(noise: Noise, size: int, entropy: Entropy) -> list[int]:
    """`size` fresh, independent draws of the noise."""
    if isinstance(noise, DiscreteLaplaceNoise):
        drawn = entropy.discrete_laplace(noise.scale, size)
    elif isinstance(noise, DiscreteGaussianNoise):
        drawn = entropy.discrete_gaussian(noise.sigma, size)
    else:
        drawn = rounded_gaussian(Decimal(noise.sigma), size, entropy.bits)
    if len(drawn) != size or any(type(extra) is not int for extra in drawn):
        raise EntropyError(f"the source of randomness owes {size} whole numbers and gave something else")
    return drawn
