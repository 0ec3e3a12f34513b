"""dp-accounting: its PLD and its Renyi accountant."""

# ruff: noqa: ARG002 (an interface has arguments that some systems do not need)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarks.accounting.systems import Answer, Evolving, System, Value, single
from benchmarks.accounting.workloads import Gaussian, Laplace, Mechanism, Parts, Response


class _Events(System):
    """What both accountants share: events, composition and calibration."""

    packages = ("dp-accounting", "scipy", "numpy")

    def load(self) -> None:
        import dp_accounting
        import dp_accounting.pld
        import dp_accounting.rdp

        self._library = dp_accounting

    def _accountant(self, *, responses: bool = False) -> Any:
        raise NotImplementedError

    def _event(self, mechanism: Mechanism) -> Any:
        library = self._library
        if isinstance(mechanism, Gaussian):
            return library.GaussianDpEvent(float(mechanism.sigma))
        if isinstance(mechanism, Laplace):
            return library.LaplaceDpEvent(float(mechanism.scale))
        if isinstance(mechanism, Response):
            return library.RandomizedResponseDpEvent(2 / (1 + math.exp(mechanism.epsilon)), 2)
        return library.PoissonSampledDpEvent(float(mechanism.rate), library.GaussianDpEvent(float(mechanism.sigma)))

    def _compose(self, parts: Parts) -> Any:
        accountant = self._accountant(responses=any(isinstance(mechanism, Response) for mechanism, _ in parts))
        for mechanism, count in parts:
            accountant.compose(self._event(mechanism), count)
        return accountant

    def price(self, parts: Parts, delta: float) -> Answer:
        return Answer(upper=self._compose(parts).get_epsilon(delta))

    def reader(self, parts: Parts, delta: float) -> Callable[[float], Value]:
        read: Callable[[float], Value] = self._compose(parts).get_epsilon
        return read

    def start(self, delta: float) -> Evolving:
        return _Growing(self._accountant(), self._event, delta)

    def calibrate(self, step: Callable[[float], Parts], epsilon: float, delta: float) -> Value:
        library = self._library

        def plan(parameter: float) -> Any:
            ((mechanism, count),) = step(parameter)
            return library.SelfComposedDpEvent(self._event(mechanism), count)

        bracket = library.ExplicitBracketInterval(0.5, 5.0)
        found: float = library.calibrate_dp_mechanism(self._accountant, plan, epsilon, delta, bracket)
        return found


class _Growing(Evolving):
    def __init__(self, accountant: Any, event: Callable[[Mechanism], Any], delta: float) -> None:
        self._accountant, self._event, self._delta = accountant, event, delta

    def append(self, mechanism: Mechanism) -> None:
        self._accountant.compose(self._event(mechanism))

    def epsilon(self) -> Value:
        value: float = self._accountant.get_epsilon(self._delta)
        return value


class Pld(_Events):
    """Connected dots on a grid of losses."""

    def __init__(self, grid: float) -> None:
        self._grid = grid

    def _accountant(self, *, responses: bool = False) -> Any:
        return self._library.pld.PLDAccountant(value_discretization_interval=self._grid)

    def _compose(self, parts: Parts) -> Any:
        if not any(isinstance(mechanism, Response) for mechanism, _ in parts):
            return super()._compose(parts)
        mechanism, count = single(parts)
        losses = self._library.pld.privacy_loss_distribution
        pair = losses.common.DifferentialPrivacyParameters(float(getattr(mechanism, "epsilon", 0)), 0.0)
        one = losses.from_privacy_parameters(pair, value_discretization_interval=self._grid)
        return _Read(one.self_compose(count))


class _Read:
    """A distribution, read as an accountant is."""

    def __init__(self, losses: Any) -> None:
        self.get_epsilon = losses.get_epsilon_for_delta


class Rdp(_Events):
    """Renyi divergences at the library's own orders."""

    def _accountant(self, *, responses: bool = False) -> Any:
        relations = self._library.NeighboringRelation
        return self._library.rdp.RdpAccountant(
            neighboring_relation=relations.REPLACE_ONE if responses else relations.ADD_OR_REMOVE_ONE
        )
