"""What a query may cost, in the words of one notion; or what accuracy is wanted, and the cost follows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dosimeter.errors import InputError
from dosimeter.exact import Number, amount, text

_FORMS = "epsilon, rho, mu, or epsilon with delta"


@dataclass(frozen=True, slots=True, init=False)
class Price:
    """The most a query may cost: exactly one of ``epsilon``, ``rho``, ``mu``, or ``epsilon`` with ``delta``.

    Each form chooses the noise that belongs to it: epsilon discrete Laplace, rho discrete Gaussian (zCDP), mu a
    rounded Gaussian (Gaussian DP), epsilon with delta a rounded Gaussian of the smallest sigma that meets them.

    Args:
        epsilon: in nats.
        rho: of zero-concentrated DP.
        mu: of Gaussian DP.
        delta: only together with epsilon, below 1.

    A ratio such as 1/3 is rounded down: a price is a cap.
    """

    epsilon: Decimal | None
    rho: Decimal | None
    mu: Decimal | None
    delta: Decimal | None

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        delta: Number | None = None,
    ) -> None:
        given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
        if len(given) != 1:
            got = " and ".join(given) or ("none" if delta is None else "delta alone")
            raise InputError(f"a price has exactly one form ({_FORMS}); got {got}")
        if delta is not None and epsilon is None:
            raise InputError(f"a delta belongs to an epsilon, not to {given[0]}; leave it out")

        def read(value: Number | None, name: str) -> Decimal | None:
            return None if value is None else amount(value, name, round_up=False, below_one=name == "delta")

        object.__setattr__(self, "epsilon", read(epsilon, "epsilon"))
        object.__setattr__(self, "rho", read(rho, "rho"))
        object.__setattr__(self, "mu", read(mu, "mu"))
        object.__setattr__(self, "delta", read(delta, "delta"))

    def to_json(self) -> dict[str, str]:
        """The given quantities as texts."""
        values = (("epsilon", self.epsilon), ("delta", self.delta), ("rho", self.rho), ("mu", self.mu))
        return {name: text(value) for name, value in values if value is not None}

    @classmethod
    def from_json(cls, data: object) -> Price:
        """Read a price back; raises InputError for anything that `to_json` does not write."""
        known = {"epsilon", "delta", "rho", "mu"}
        if not isinstance(data, dict) or not set(data) <= known or not all(isinstance(v, str) for v in data.values()):
            raise InputError(f"a price is an object with texts: {_FORMS}")
        return cls(**data)

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.to_json().items())
