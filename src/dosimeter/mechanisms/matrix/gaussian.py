"""One class for every Gaussian release: noise with a covariance, a sensitivity set, and the exact price of the two.

Between neighbours whose values differ by D the privacy loss of f(X) + Z is Gaussian with mean |H D|^2/2 and variance
|H D|^2, H the whitener of Z: a pair of unit Gaussians |H D| apart. So the mechanism is mu-GDP with
mu = sup |H D| over the sensitivity set, and with no smaller parameter; everything else follows from mu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final, cast

import numpy as np

from dosimeter.errors import InputError
from dosimeter.events import Gaussian
from dosimeter.exact import ONE, ZERO, Bound, Number, amount, divide_up, multiply_up
from dosimeter.mechanisms.matrix.arrays import between, float_up
from dosimeter.mechanisms.matrix.covariance import COVARIANCES, Covariance, IidNoise
from dosimeter.mechanisms.matrix.sensitivity import SENSITIVITY_SETS, FrobeniusBall, SensitivitySet
from dosimeter.notions import GDP, ZCDP

# Below the smallest the parts of a sum may vanish one by one, and their total would be too small without a trace.
_SMALLEST_MU: Final = Decimal("1e-250")
_LARGEST_MU: Final = Decimal("1e250")
_BEYOND: Final = Decimal("1e999")


@dataclass(frozen=True, eq=False)
class GaussianMechanism:
    """Release f(X) + Z, Z Gaussian with this covariance, for an f whose differences lie in this set.

    Guarantee: `mu.upper`-GDP, hence mu^2/2-zCDP and every (epsilon, delta) of that Gaussian pair. `mu.lower` shows how
    sharp it is: no guarantee below it is true of the set.

    Args:
        noise: one of the covariances of this package.
        sensitivity: the differences neighbouring data can make; vouched for by the caller.

    Raises:
        InputError: not such values, or shapes that do not fit.

    Reference: Dong, Roth, Su, "Gaussian differential privacy" (2022), Theorem 1; Balle, Wang, "Improving the Gaussian
    mechanism for differential privacy" (2018), Theorem 8.
    """

    noise: Covariance
    sensitivity: SensitivitySet

    def __post_init__(self) -> None:
        noise, sensitivity = cast("object", self.noise), cast("object", self.sensitivity)
        if not isinstance(noise, COVARIANCES):
            names = ", ".join(c.__name__ for c in COVARIANCES)
            raise InputError(f"{type(noise).__name__} is not a covariance; use one of: {names}")
        if not isinstance(sensitivity, SENSITIVITY_SETS):
            names = ", ".join(s.__name__ for s in SENSITIVITY_SETS)
            raise InputError(f"{type(sensitivity).__name__} is not a sensitivity set; use one of: {names}")
        if not _SMALLEST_MU <= self.mu.upper <= _LARGEST_MU:  # NaN is outside as well
            raise InputError(
                f"the worst difference is outside [{_SMALLEST_MU:g}, {_LARGEST_MU:g}] deviations of the noise, where "
                "floating point overflows or vanishes; change the unit of the value, or the noise"
            )

    @cached_property
    def mu(self) -> Bound:
        """sup |H D| over the sensitivity set: the GDP parameter, enclosed."""
        if isinstance(self.noise, IidNoise) and isinstance(self.sensitivity, FrobeniusBall):
            exact = divide_up(self.sensitivity.radius, self.noise.std)
            return Bound(exact, exact)
        with np.errstate(all="ignore"):  # what overflows is refused below
            lower, upper = self.sensitivity.worst(self.noise)
        if not math.isfinite(upper) or math.isnan(lower):
            return Bound(ZERO, _BEYOND)
        return between(max(min(lower, upper), 0.0), upper)

    @property
    def gdp(self) -> GDP:
        """What the mechanism promises as Gaussian DP."""
        return GDP(self.mu.upper)

    @property
    def zcdp(self) -> ZCDP:
        """What the mechanism promises as concentrated DP: mu^2/2."""
        return ZCDP(multiply_up(multiply_up(self.mu.upper, self.mu.upper), Decimal("0.5")))

    def event(self) -> Gaussian:
        """What an account charges: unit Gaussian noise at sensitivity mu."""
        return Gaussian(ONE, self.mu.upper)

    def delta(self, epsilon: Number) -> Decimal:
        """The smallest delta this mechanism is certainly (epsilon, delta)-DP with, rounded up."""
        from dosimeter.notions.profiles.gaussian import gaussian_delta

        return gaussian_delta(self.mu.upper, epsilon)

    def epsilon(self, delta: Number) -> Decimal:
        """The smallest epsilon this mechanism is certainly (epsilon, delta)-DP with, rounded up."""
        from dosimeter.notions.profiles.gaussian import gaussian_epsilon

        return gaussian_epsilon(self.mu.upper, delta)

    def scaled_to(self, mu: Number) -> GaussianMechanism:
        """The same shape of noise, made as large as it must be for the whole to be mu-GDP, and no larger.

        Raises:
            InputError: mu outside its range.
        """
        wanted = amount(mu, "mu", round_up=False)
        if isinstance(self.noise, IidNoise) and isinstance(self.sensitivity, FrobeniusBall):
            std = divide_up(self.sensitivity.radius, wanted)
            return GaussianMechanism(IidNoise(std, self.noise.shape), self.sensitivity)
        factor = float_up(divide_up(self.mu.upper, wanted))
        for _ in range(8):  # rounding may leave it a digit too small
            with np.errstate(all="ignore"):  # an entry that overflows is refused as not finite
                noise = self.noise.scaled(factor)
            scaled = GaussianMechanism(noise, self.sensitivity)
            if scaled.mu.upper <= wanted:
                return scaled
            factor *= float_up(divide_up(scaled.mu.upper, wanted)) * (1 + 2.0**-50)
        raise InputError(f"mu={mu} cannot be met to the last digit with this covariance; ask for a little more")
