"""Renyi accountants: Opacus and autodp (dp-accounting's stands beside its PLD)."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.accounting.prv import Opacus
from benchmarks.accounting.systems import Answer, System
from benchmarks.accounting.workloads import Gaussian, Laplace, Mechanism, Parts, Response


class OpacusRdp(Opacus):
    """Opacus's Renyi accountant at its default orders."""

    kind = "rdp"


class Autodp(System):
    """autodp's composition of Renyi curves."""

    packages = ("autodp", "scipy", "numpy")

    def load(self) -> None:
        from autodp import mechanism_zoo, transformer_zoo

        self._mechanisms, self._transformers = mechanism_zoo, transformer_zoo

    def _one(self, mechanism: Mechanism) -> Any:
        zoo = self._mechanisms
        if isinstance(mechanism, Gaussian):
            return zoo.GaussianMechanism(float(mechanism.sigma))
        if isinstance(mechanism, Laplace):
            return zoo.LaplaceMechanism(float(mechanism.scale))
        if isinstance(mechanism, Response):
            return zoo.RandresponseMechanism(1 / (1 + math.exp(-mechanism.epsilon)))
        amplify = self._transformers.AmplificationBySampling(PoissonSampling=True)
        return amplify(zoo.GaussianMechanism(float(mechanism.sigma)), float(mechanism.rate), improved_bound_flag=True)

    def price(self, parts: Parts, delta: float) -> Answer:
        composed = self._transformers.Composition()(
            [self._one(mechanism) for mechanism, _ in parts], [count for _, count in parts]
        )
        return Answer(upper=float(composed.get_approxDP(delta)))
