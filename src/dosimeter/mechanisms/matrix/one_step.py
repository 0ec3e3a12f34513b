"""A stream whose noise takes back a share of the step before, without remembering any noise: for large vectors.

With C_ts = lambda^(t-s) the rows follow a recursion: u_t = g_t + lambda u_(t-1) is the private sum that row t measures,
y_t = u_t + z_t is released, and y_t - lambda y_(t-1) = g_t + z_t - lambda z_(t-1) is the step's value with correlated
noise, by post-processing. So one private vector (u) and one public one (the last y) are all that is kept; no noise is
stored, and no generator has to be rewound to make it again.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dosimeter.errors import InputError
from dosimeter.events import Gaussian
from dosimeter.exact import ONE, Number, add_up, amount, count, fraction_up, multiply_up, show, subtract_up, to_fraction
from dosimeter.mechanisms.entropy import Entropy
from dosimeter.mechanisms.matrix.arrays import read_float
from dosimeter.mechanisms.matrix.covariance import IidNoise
from dosimeter.mechanisms.matrix.gaussian import GaussianMechanism
from dosimeter.mechanisms.matrix.release import MatrixRelease
from dosimeter.mechanisms.matrix.sensitivity import FrobeniusBall
from dosimeter.mechanisms.matrix.stream import MAX_WIDTH, numbers
from dosimeter.mechanisms.matrix.streams import MAX_STEPS

if TYPE_CHECKING:
    from dosimeter.mechanisms.matrix.arrays import Array


class OneStepStream:
    """Release steps with noise z_t - lambda z_(t-1), holding two vectors however long the stream is.

    Guarantee: after t steps what was released is mu-GDP with mu^2 = `worst`, for neighbours that differ in one record
    which takes part in one step with a vector of norm at most `clip_norm`; lattice and floating point included. `event`
    is what the next step adds to it: the worst record is the one of the first step, and row t moves it by
    lambda^(t-1) clip_norm/std deviations.

    Args:
        width: how many numbers arrive in each step.
        correlation: lambda, from 0 to below 1.
        std: of z, above 0.
        clip_norm: the largest norm of one record's contribution to one step; vouched for by the caller.
        entry_bound: a public bound on the numbers of one step.
        max_steps: the stream refuses to go on after so many.

    Raises:
        InputError: a number outside its range.

    Reference: the correlation is that of "DP-lambda-CGD" (2026); the filter is Smith, Thakurta (2022), Theorem 4.
    """

    def __init__(
        self,
        width: int,
        correlation: Number,
        *,
        std: Number,
        clip_norm: Number,
        max_steps: int,
        entry_bound: float = 1e6,
        entropy: Entropy | None = None,
    ) -> None:
        self._width = count(width, "width", largest=MAX_WIDTH)
        share = to_fraction(correlation, "correlation")
        if not 0 <= share < 1:
            raise InputError(f"correlation={show(correlation)} must lie in [0, 1)")
        self._share = float(share)
        if self._share == 1:
            raise InputError(f"correlation={show(correlation)} is too near 1 for floating point")
        self._decay = Fraction(self._share)  # the float is what the recursion uses
        self._steps = count(max_steps, "max_steps", largest=MAX_STEPS)
        noise = IidNoise(amount(std, "std", round_up=False), (self._width, 1))
        clip = amount(clip_norm, "clip_norm")
        self._bound = read_float(entry_bound, "entry_bound")
        reach = self._bound / (1 - self._share) * (1 + 1e-9)
        error = 4 * self._steps * 2.0**-53 * reach  # every step of the recursion rounds twice
        self._release = MatrixRelease(GaussianMechanism(noise, FrobeniusBall(clip)), reach, value_error=error)
        self._entropy = entropy
        self._private = np.zeros(self._width)
        self._public = np.zeros(self._width)
        self._taken = 0
        self._worst = Decimal(0)

    @property
    def worst(self) -> Decimal:
        """The squared GDP parameter of the stream so far, rounded up."""
        return self._worst

    @property
    def steps_left(self) -> int:
        """How many more steps the stream takes."""
        return self._steps - self._taken

    def event(self) -> Gaussian:
        """What the next step is charged; charge it first."""
        ideal = self._release.mechanism.mu.upper
        shrunk = multiply_up(ideal, fraction_up(self._decay ** min(self._taken, 400)))
        return Gaussian(ONE, add_up(shrunk, subtract_up(self._release.mu, ideal)))

    def step(self, value: object) -> Array:
        """The step's value with correlated noise.

        Args:
            value: the step's numbers. They are private: no message quotes them; what is not a number counts as 0.

        Shape: width.

        Raises:
            InputError: another width, or the stream is over.
            EntropyError: the randomness failed; nothing was released and the step was not taken in.
        """
        if self._taken >= self._steps:
            raise InputError(f"the stream of {self._steps} steps is over; open another one, under its own budget")
        arrived = np.clip(numbers(value, self._width), -self._bound, self._bound)
        private = arrived + self._share * self._private
        measured = self._release.release(private, self._entropy)
        spent = self.event().l2_sensitivity
        answer = measured - self._share * self._public
        self._private, self._public = private, measured
        self._taken += 1
        self._worst = add_up(self._worst, multiply_up(spent, spent))
        return np.asarray(answer)
