"""Dosimeter's two engines: the saddle line, which the accountant uses, and the tilted transform, which checks it."""

# ruff: noqa: ARG002 (an interface has arguments that some systems do not need)
from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from benchmarks.accounting.systems import Answer, Evolving, System, UnsupportedError, Value
from benchmarks.accounting.workloads import Gaussian, Laplace, Mechanism, Parts, Response


def event(mechanism: Mechanism) -> Any:
    """The event of a mechanism."""
    from dosimeter import events as library

    events: Any = library  # amounts may be given as exact ratios
    if isinstance(mechanism, Gaussian):
        return events.Gaussian(mechanism.sigma)
    if isinstance(mechanism, Laplace):
        return events.Laplace(mechanism.scale)
    if isinstance(mechanism, Response):
        return events.RandomizedResponse(mechanism.epsilon)
    return events.PoissonSampled(mechanism.rate, events.Gaussian(mechanism.sigma))


def exactly(delta: float) -> Decimal:
    """The delta that was meant."""
    return Decimal(repr(delta))


class Saddle(System):
    """The evolving accountant."""

    packages = ("dosimeter", "numpy", "python-flint")

    def load(self) -> None:
        from dosimeter.pld.accountant import Accountant

        self._new = Accountant

    def _compose(self, parts: Parts) -> Any:
        accountant = self._new()
        for mechanism, count in parts:
            accountant.append(event(mechanism), count)
        return accountant

    def price(self, parts: Parts, delta: float) -> Answer:
        bound = self._compose(parts).epsilon(exactly(delta))
        return Answer(upper=bound.upper, lower=bound.lower)

    def reader(self, parts: Parts, delta: float) -> Callable[[float], Value]:
        accountant = self._compose(parts)
        return lambda at: accountant.epsilon(exactly(at)).upper

    def start(self, delta: float) -> Evolving:
        return _Growing(self._new(), exactly(delta))

    def calibrate(self, step: Callable[[float], Parts], epsilon: float, delta: float) -> Value:
        from dosimeter.accounting.solve import solve

        return solve(
            lambda x: self._compose(step(float(x))).epsilon(exactly(delta)),
            Decimal(repr(epsilon)),
            rising=False,
            low=Decimal("0.01"),
            high=Decimal("1e6"),
            start=Decimal(1),
        ).value

    def allocation(self, sigma: float, steps: int, selected: int, delta: float) -> Answer:
        from dosimeter import events
        from dosimeter.errors import DosimeterError

        accountant = self._new()
        try:
            accountant.append(events.RandomAllocation(steps, selected, events.Gaussian(exactly(sigma))))
        except DosimeterError as reason:
            raise UnsupportedError(str(reason)) from None
        bound = accountant.epsilon(exactly(delta))
        return Answer(upper=bound.upper, lower=bound.lower)


class _Growing(Evolving):
    def __init__(self, accountant: Any, delta: Decimal) -> None:
        self._accountant, self._delta = accountant, delta

    def append(self, mechanism: Mechanism) -> None:
        self._accountant.append(event(mechanism))

    def epsilon(self) -> Value:
        upper: Decimal = self._accountant.epsilon(self._delta).upper
        return upper


class Tilted(System):
    """The tilted transform, refined until its bounds are within the relative accuracy asked."""

    packages = Saddle.packages

    def __init__(self, accuracy: float) -> None:
        self._accuracy = exactly(accuracy)

    def load(self) -> None:
        from dosimeter.pld.tilted.bounds import tilted_epsilon

        self._epsilon = tilted_epsilon

    def price(self, parts: Parts, delta: float) -> Answer:
        events = [(event(mechanism), count) for mechanism, count in parts]
        bound = self._epsilon(events, exactly(delta), accuracy=self._accuracy)
        return Answer(upper=bound.upper, lower=bound.lower)


def secant(function: Callable[[float], float], target: float) -> float:
    """Where a decreasing, smooth function of a noise scale takes the target: regula falsi in logarithms, upper end."""
    low, high = 0.2, 1.0
    while function(high) > target:
        low, high = high, 2 * high
    f_low, f_high = (math.log(function(x) / target) for x in (low, high))
    side = 0
    while high - low > 1e-10 * high:
        middle = min(max(high - f_high * (high - low) / (f_high - f_low), low + 1e-12), high)
        value = math.log(function(middle) / target)
        if abs(value) <= 1e-12:
            return middle
        if value > 0:
            low, f_low, f_high, side = middle, value, f_high / (2 if side == 1 else 1), 1
        else:
            high, f_high, f_low, side = middle, value, f_low / (2 if side == -1 else 1), -1
    return high
