"""What an accountant owes to this benchmark, and the list of those that are known.

Ours and the peers are called the way their own documentation says. A system that is not installed is a row that says
so; a mechanism that a system does not have is a cell that says so.
"""

# ruff: noqa: ARG002 (an interface has arguments that some systems do not need)
from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, TypeAlias

from benchmarks.accounting.workloads import Mechanism, Parts, Sampled

Value: TypeAlias = float | Decimal


class UnsupportedError(Exception):
    """The system has no such mechanism or no such entry point."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system said: a value it reports as a guarantee, a lower bound of the truth, or a mere estimate."""

    upper: Value | None = None
    lower: Value | None = None
    estimate: Value | None = None

    @property
    def value(self) -> Value:
        """What a user would take."""
        for number in (self.upper, self.estimate):
            if number is not None:
                return number
        raise ValueError("an answer needs a value")


class Evolving(ABC):
    """An account that grows one mechanism at a time."""

    @abstractmethod
    def append(self, mechanism: Mechanism) -> None:
        """Compose one more run."""

    @abstractmethod
    def epsilon(self) -> Value:
        """The epsilon of everything so far."""


class System(ABC):
    """One accountant at one setting."""

    packages: ClassVar[tuple[str, ...]]
    warm_before_fork: ClassVar[bool] = True  # False where threads started by a first answer do not survive a fork

    @abstractmethod
    def load(self) -> None:
        """Import what is needed; ImportError when it is not installed."""

    @abstractmethod
    def price(self, parts: Parts, delta: float) -> Answer:
        """The epsilon of a plan, from nothing."""

    def reader(self, parts: Parts, delta: float) -> Callable[[float], Value]:
        """Compose once, then read at other deltas."""
        raise UnsupportedError("no composed state to read")

    def start(self, delta: float) -> Evolving:
        """An account that grows."""
        raise UnsupportedError("does not grow")

    def calibrate(self, step: Callable[[float], Parts], epsilon: float, delta: float) -> Value:
        """The least parameter at which the plan `step(parameter)` is (epsilon, delta)-DP."""
        raise UnsupportedError("does not calibrate")

    def allocation(self, sigma: float, steps: int, selected: int, delta: float) -> Answer:
        """Every record in `selected` of `steps` Gaussian releases, chosen at random."""
        raise UnsupportedError("no random allocation")


def only(parts: Parts, *kinds: type) -> None:
    """Refuse plans with other mechanisms."""
    for mechanism, _ in parts:
        if not isinstance(mechanism, kinds):
            raise UnsupportedError(f"no {type(mechanism).__name__.lower()}")


def single(parts: Parts) -> tuple[Mechanism, int]:
    """The one mechanism of a plan that has one."""
    if len(parts) != 1:
        raise UnsupportedError("one mechanism only")
    return parts[0]


def sampled_only(parts: Parts) -> tuple[Sampled, int]:
    """The one sampled Gaussian of a plan that has one."""
    mechanism, count = single(parts)
    if not isinstance(mechanism, Sampled):
        raise UnsupportedError("sampled Gaussians only")
    return mechanism, count


_OURS, _DPA, _GRIDS, _PRV, _RENYI = (
    f"benchmarks.accounting.{name}" for name in ("ours", "google", "grids", "prv", "renyi")
)
KNOWN: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "dosimeter": (_OURS, "Saddle", ()),
    "dosimeter tilted": (_OURS, "Tilted", (1e-4,)),
    "dosimeter tilted 1e-6": (_OURS, "Tilted", (1e-6,)),
    "opake": (_GRIDS, "Opake", (1e-4,)),
    "opake 1e-5": (_GRIDS, "Opake", (1e-5,)),
    "dp-accounting": (_DPA, "Pld", (1e-4,)),
    "dp-accounting 1e-5": (_DPA, "Pld", (1e-5,)),
    "dp-accounting RDP": (_DPA, "Rdp", ()),
    "PLD_accounting": (_GRIDS, "Bounded", (1e-4,)),
    "prv": (_PRV, "Prv", (1e-2,)),
    "prv 1e-3": (_PRV, "Prv", (1e-3,)),
    "opacus prv": (_PRV, "OpacusPrv", ()),
    "opacus RDP": (_RENYI, "OpacusRdp", ()),
    "autodp RDP": (_RENYI, "Autodp", ()),
}
DEFAULT = tuple(name for name in KNOWN if name not in {"opake 1e-5", "dp-accounting 1e-5", "prv 1e-3"})
YARDSTICK = "opake"  # the fastest peer


def create(name: str) -> System:
    """A system by name; ImportError when it is not installed."""
    module, kind, setting = KNOWN[name]
    system: System = getattr(importlib.import_module(module), kind)(*setting)
    system.load()
    return system
