"""The noises Dosimeter adds: integers on a declared lattice, so an output never betrays its input by its last bits.

A release is `exact integer + integer noise`; the lattice's step is fixed by the query plan before any row is read.
The parameters below are counted in steps of that lattice. A continuous Laplace or Gaussian is not offered: floating
point cannot sample one, and its failures are observable. Each noise names the event that prices it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Final, TypeAlias

from dosimeter.errors import InputError
from dosimeter.events import DiscreteGaussian, DiscreteLaplace, Gaussian
from dosimeter.exact import ONE, Number, add_up, amount, count, divide_up, multiply_up, show, sqrt_up, text, to_decimal

SMALLEST_PARAMETER: Final = Decimal("1e-12")
LARGEST_PARAMETER: Final = Decimal("1e12")
MAX_DIMENSIONS: Final = 10**9


def _parameter(value: Number, name: str) -> Decimal:
    """Read a noise parameter in lattice steps. A ratio such as 1/3 is rounded up: more noise, never less."""
    parsed = to_decimal(value, name)
    if not SMALLEST_PARAMETER <= parsed <= LARGEST_PARAMETER:
        way_out = "choose a coarser step" if parsed > 1 else "choose a finer step, or ask for less accuracy"
        raise InputError(
            f"{name}={show(value)} lattice steps is outside [{SMALLEST_PARAMETER:g}, {LARGEST_PARAMETER:g}]; {way_out}"
        )
    return add_up(parsed)  # at most 50 digits


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceNoise:
    """Integer noise with P(x) = tanh(1/(2 scale)) exp(-|x|/scale), exactly.

    Args:
        scale: in lattice steps, in [1e-12, 1e12].

    Guarantee: integers of L1 sensitivity D become (D/scale, 0)-DP: pure, so there is no delta to spend.

    Reference: Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms" (2009).
    """

    scale: Decimal
    kind: ClassVar[str] = "discrete_laplace"
    parameter: ClassVar[str] = "scale"
    norm: ClassVar[str] = "l1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _parameter(self.scale, "scale"))

    @classmethod
    def for_epsilon(cls, epsilon: Number, l1_sensitivity: Number = 1, delta: Number = 0) -> DiscreteLaplaceNoise:
        """The noise that makes integers of this L1 sensitivity `epsilon`-DP; its cost is exactly (epsilon, 0).

        Raises:
            InputError: for a delta above zero, which Laplace noise cannot use.
        """
        if to_decimal(delta, "delta"):
            raise InputError(
                f"delta={show(delta)}: discrete Laplace noise costs (epsilon, 0) and cannot use a delta; "
                "leave delta out, or ask for discrete Gaussian noise"
            )
        sensitivity = amount(l1_sensitivity, "l1_sensitivity")
        price = amount(epsilon, "epsilon", round_up=False)
        return cls(divide_up(sensitivity, price))

    def event(self, sensitivity: Number) -> DiscreteLaplace:
        """What a release costs, for an L1 sensitivity in lattice steps (over the whole vector)."""
        return DiscreteLaplace(self.scale, amount(sensitivity, "l1_sensitivity"))

    def event_of_vector(self, change: Number, dimensions: int) -> DiscreteLaplace:
        """What a vector costs when each coordinate may change by `change` steps: L1 = change dimensions."""
        per_coordinate = amount(change, "change")
        return self.event(multiply_up(per_coordinate, count(dimensions, "dimensions", largest=MAX_DIMENSIONS)))

    def to_json(self) -> dict[str, str]:
        """Kind and parameter as texts."""
        return {"kind": self.kind, "scale": text(self.scale)}


@dataclass(frozen=True, slots=True)
class DiscreteGaussianNoise:
    """Integer noise with P(x) proportional to exp(-x^2 / (2 sigma^2)), exactly.

    Args:
        sigma: in lattice steps, in [1e-12, 1e12]; the standard deviation is at most sigma.

    Guarantee: integers of L2 sensitivity D become D^2/(2 sigma^2)-zCDP. It is not (D/sigma)-GDP, and a sum of two
    such noises is not one: every release is charged on its own.

    Reference: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (2020), Theorems 4 and 14.
    """

    sigma: Decimal
    kind: ClassVar[str] = "discrete_gaussian"
    parameter: ClassVar[str] = "sigma"
    norm: ClassVar[str] = "l2"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _parameter(self.sigma, "sigma"))

    def event(self, sensitivity: Number) -> DiscreteGaussian:
        """What a release costs, for an L2 sensitivity in lattice steps (over the whole vector)."""
        return DiscreteGaussian(self.sigma, amount(sensitivity, "l2_sensitivity"))

    def event_of_vector(self, change: Number, dimensions: int) -> DiscreteGaussian:
        """What a vector costs when each coordinate may change by `change` steps: L2 = change sqrt(dimensions)."""
        return self.event(_l2(change, dimensions))

    def to_json(self) -> dict[str, str]:
        """Kind and parameter as texts."""
        return {"kind": self.kind, "sigma": text(self.sigma)}


@dataclass(frozen=True, slots=True)
class RoundedGaussianNoise:
    """round(Y) for a real Gaussian Y of standard deviation `sigma`: P(k) = Phi((k+1/2)/sigma) - Phi((k-1/2)/sigma).

    For an integer x, x + round(Y) = round(x + Y) (a tie has probability zero), so a release is a post-processing of
    the continuous Gaussian mechanism and carries its guarantee whole, in every notion.

    Args:
        sigma: of the Gaussian before rounding, in lattice steps, in [1e-12, 1e12].

    Guarantee: integers of L2 sensitivity D become (D/sigma)-GDP, which discrete Gaussian noise is not.

    Reference: Dong, Roth, Su, "Gaussian differential privacy" (2022): the Gaussian mechanism, and post-processing.
    """

    sigma: Decimal
    kind: ClassVar[str] = "rounded_gaussian"
    parameter: ClassVar[str] = "sigma"
    norm: ClassVar[str] = "l2"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _parameter(self.sigma, "sigma"))

    def event(self, sensitivity: Number) -> Gaussian:
        """What a release costs, for an L2 sensitivity in lattice steps (over the whole vector)."""
        return Gaussian(self.sigma, amount(sensitivity, "l2_sensitivity"))

    def event_of_vector(self, change: Number, dimensions: int) -> Gaussian:
        """What a vector costs when each coordinate may change by `change` steps: L2 = change sqrt(dimensions)."""
        return self.event(_l2(change, dimensions))

    def to_json(self) -> dict[str, str]:
        """Kind and parameter as texts."""
        return {"kind": self.kind, "sigma": text(self.sigma)}


Noise: TypeAlias = DiscreteLaplaceNoise | DiscreteGaussianNoise | RoundedGaussianNoise
NOISES: Final = (DiscreteLaplaceNoise, DiscreteGaussianNoise, RoundedGaussianNoise)
_BY_KIND: Final[dict[str, type[Noise]]] = {noise.kind: noise for noise in NOISES}


def _l2(change: Number, dimensions: int) -> Decimal:
    root = sqrt_up(Decimal(count(dimensions, "dimensions", largest=MAX_DIMENSIONS)))
    return multiply_up(amount(change, "change"), root) if root != ONE else amount(change, "change")


def noise_kind(value: object) -> type[Noise]:
    """The noise class of this name; raises InputError that lists the names."""
    if isinstance(value, type) and value in NOISES:
        return value
    kind = _BY_KIND.get(value) if isinstance(value, str) else None
    if kind is None:
        raise InputError(f"noise kind={show(value)} is unknown; use one of: {', '.join(_BY_KIND)}")
    return kind


def noise_from_json(data: object) -> Noise:
    """Read a noise back; raises InputError for anything that `to_json` does not write."""
    if not isinstance(data, dict):
        raise InputError(f"a noise is a JSON object with a kind and a parameter, not {type(data).__name__}")
    kind = noise_kind(data.get("kind"))
    value: Any = data.get(kind.parameter)
    if set(data) != {"kind", kind.parameter} or not isinstance(value, str):
        raise InputError(f"a noise of kind {kind.kind} has exactly the fields kind and {kind.parameter}, both texts")
    return kind(value)  # type: ignore[arg-type]


def require_noise(value: object) -> None:
    """Refuse anything that is not one of the noises above."""
    if not isinstance(value, NOISES):
        raise InputError(f"{type(value).__name__} is not a noise; use one of: {', '.join(n.__name__ for n in NOISES)}")
