"""Privacy random variables: prv-accountant, and Opacus's own version of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.accounting.systems import Answer, Evolving, System, UnsupportedError, Value, only
from benchmarks.accounting.workloads import Gaussian, Laplace, Mechanism, Parts, Response, Sampled


class Prv(System):
    """prv-accountant at one error of epsilon; the error of delta is a thousandth of delta."""

    packages = ("prv-accountant", "scipy", "numpy")

    def __init__(self, epsilon_error: float) -> None:
        self._epsilon_error = epsilon_error

    def load(self) -> None:
        import prv_accountant
        from prv_accountant.privacy_random_variables import PureDPMechanism

        self._library, self._pure = prv_accountant, PureDPMechanism

    def _one(self, mechanism: Mechanism) -> Any:
        library = self._library
        if isinstance(mechanism, Gaussian):
            return library.GaussianMechanism(float(mechanism.sigma))
        if isinstance(mechanism, Laplace):
            return library.LaplaceMechanism(float(1 / mechanism.scale))
        if isinstance(mechanism, Response):
            return self._pure(float(mechanism.epsilon))
        return library.PoissonSubsampledGaussianMechanism(
            sampling_probability=float(mechanism.rate), noise_multiplier=float(mechanism.sigma)
        )

    def _compose(self, parts: Parts, delta: float) -> tuple[Any, list[int]]:
        counts = [count for _, count in parts]
        accountant = self._library.PRVAccountant(
            prvs=[self._one(mechanism) for mechanism, _ in parts],
            max_self_compositions=counts,
            eps_error=self._epsilon_error,
            delta_error=delta / 1000,
        )
        return accountant, counts

    def price(self, parts: Parts, delta: float) -> Answer:
        accountant, counts = self._compose(parts, delta)
        lower, estimate, upper = accountant.compute_epsilon(delta, counts)
        return Answer(upper=upper, lower=lower, estimate=estimate)

    def calibrate(self, step: Callable[[float], Parts], epsilon: float, delta: float) -> Value:
        from benchmarks.accounting.ours import secant

        return secant(lambda x: float(self.price(step(x), delta).value), epsilon)


def history(parts: Parts) -> list[tuple[float, float, int]]:
    """A plan in Opacus's words: noise multiplier, sampling rate, steps."""
    only(parts, Gaussian, Sampled)
    return [
        (float(m.sigma), float(m.rate) if isinstance(m, Sampled) else 1.0, count)
        for m, count in parts
        if isinstance(m, Gaussian | Sampled)
    ]


class Opacus(System):
    """What Opacus's accountants share."""

    packages = ("opacus", "torch", "numpy")
    kind = ""

    def load(self) -> None:
        from opacus import accountants

        self._new = {"prv": accountants.PRVAccountant, "rdp": accountants.RDPAccountant}[self.kind]

    def price(self, parts: Parts, delta: float) -> Answer:
        accountant = self._new()
        accountant.history = history(parts)
        return Answer(upper=accountant.get_epsilon(delta=delta))

    def start(self, delta: float) -> Evolving:
        return _Growing(self._new(), delta)

    def calibrate(self, step: Callable[[float], Parts], epsilon: float, delta: float) -> Value:
        from opacus.accountants.utils import get_noise_multiplier

        ((mechanism, count),) = step(1.0)
        if not isinstance(mechanism, Sampled):
            raise UnsupportedError("training only")
        found: float = get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=delta,
            sample_rate=float(mechanism.rate),
            steps=count,
            accountant=self.kind,
        )
        return found


class _Growing(Evolving):
    def __init__(self, accountant: Any, delta: float) -> None:
        self._accountant, self._delta = accountant, delta

    def append(self, mechanism: Mechanism) -> None:
        ((sigma, rate, _),) = history(((mechanism, 1),))
        self._accountant.step(noise_multiplier=sigma, sample_rate=rate)

    def epsilon(self) -> Value:
        value: float = self._accountant.get_epsilon(delta=self._delta)
        return value


class OpacusPrv(Opacus):
    """Opacus's PRV accountant at its defaults."""

    kind = "prv"
