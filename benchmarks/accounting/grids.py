"""opake, a compiled accountant on a grid of losses, and PLD_accounting, which bounds from both sides on one."""

# ruff: noqa: ARG002 (an interface has arguments that some systems do not need)
from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

from benchmarks.accounting.systems import Answer, Evolving, System, UnsupportedError, Value, only
from benchmarks.accounting.workloads import Gaussian, Laplace, Mechanism, Parts, Response, Sampled


def _core() -> Any:
    """The compiled core; its Python layer does not import on every interpreter that the package installs on."""
    try:
        from opake.api.accounting.core import opake_accounting
    except TypeError:
        files = metadata.files("opake-accounting") or []
        path = next(
            str(file.locate())
            for file in files
            if file.name.startswith("opake_accounting.") and file.suffix in {".so", ".pyd"}
        )
        loader = ExtensionFileLoader("opake_accounting", path)
        spec = spec_from_loader("opake_accounting", loader)
        if spec is None:
            raise ImportError("the compiled core of opake cannot be found") from None
        module = module_from_spec(spec)
        loader.exec_module(module)
        return module
    return opake_accounting


class Opake(System):
    """The distributions of the compiled core, composed by its own operators."""

    packages = ("opake-accounting",)
    warm_before_fork = False  # its thread pool does not survive a fork

    def __init__(self, grid: float) -> None:
        self._grid = grid

    def load(self) -> None:
        self._core = _core()
        self._config = self._core.DiscretizationConfig(self._grid)

    def _one(self, mechanism: Mechanism) -> Any:
        core, config = self._core, self._config
        if isinstance(mechanism, Gaussian):
            return core.gaussian_pld(float(mechanism.sigma), config)
        if isinstance(mechanism, Sampled):
            return core.poisson_pld(core.gaussian_pld(float(mechanism.sigma), config), float(mechanism.rate))
        if isinstance(mechanism, Response):
            return core.eps_delta_pld(float(mechanism.epsilon), 0.0, config)
        raise UnsupportedError("no laplace")

    def _compose(self, parts: Parts) -> Any:
        only(parts, Gaussian, Sampled, Response)
        total = None
        for mechanism, count in parts:
            one = self._one(mechanism)
            one = one.self_compose(count) if count > 1 else one
            total = one if total is None else total.compose(one)
        return total

    def price(self, parts: Parts, delta: float) -> Answer:
        return Answer(upper=self._compose(parts).epsilon_at(delta))

    def reader(self, parts: Parts, delta: float) -> Callable[[float], Value]:
        read: Callable[[float], Value] = self._compose(parts).epsilon_at
        return read

    def start(self, delta: float) -> Evolving:
        return _Growing(self._one, delta)

    def calibrate(self, step: Callable[[float], Parts], epsilon: float, delta: float) -> Value:
        from benchmarks.accounting.ours import secant

        return secant(lambda x: float(self.price(step(x), delta).value), epsilon)  # its own search takes its processes

    def allocation(self, sigma: float, steps: int, selected: int, delta: float) -> Answer:
        one = self._core.random_allocation_gaussian_pld(sigma, steps, selected, self._config)
        return Answer(upper=one.epsilon_at(delta))


class _Growing(Evolving):
    def __init__(self, one: Callable[[Mechanism], Any], delta: float) -> None:
        self._one, self._delta = one, delta
        self._total: Any = None

    def append(self, mechanism: Mechanism) -> None:
        one = self._one(mechanism)
        self._total = one if self._total is None else self._total.compose(one)

    def epsilon(self) -> Value:
        if self._total is None:
            return 0.0
        value: float = self._total.epsilon_at(self._delta)
        return value


class Bounded(System):
    """Bounds by stochastic domination on a grid; its lower side knows no sampling."""

    packages = ("PLD_accounting", "dp-accounting", "numba")

    def __init__(self, grid: float) -> None:
        self._grid = grid

    def load(self) -> None:
        import PLD_accounting
        from PLD_accounting import fft_convolution
        from PLD_accounting.dp_accounting_support import linear_dist_to_dp_accounting_pmf

        self._library, self._fft, self._masses = PLD_accounting, fft_convolution, linear_dist_to_dp_accounting_pmf

    def _one(self, mechanism: Mechanism, bound: Any, direction: Any, tail: float) -> Any:
        library = self._library
        settings = {"value_discretization": self._grid, "tail_truncation": tail, "bound_type": bound}
        if isinstance(mechanism, Gaussian):
            return library.gaussian_distribution(scale=float(mechanism.sigma), **settings)
        if isinstance(mechanism, Laplace):
            return library.laplace_distribution(scale=float(mechanism.scale), **settings)
        if isinstance(mechanism, Sampled) and bound is library.BoundType.DOMINATES:
            base = library.gaussian_distribution(scale=float(mechanism.sigma), **settings)
            return library.subsample_pld_realization(
                base_pld=base, sampling_prob=float(mechanism.rate), direction=direction
            )
        raise UnsupportedError(f"no {type(mechanism).__name__.lower()} on this side")

    def _side(self, parts: Parts, delta: float, bound: Any, direction: Any) -> float:
        tail, total = min(1e-12, delta * 1e-3), None
        for mechanism, count in parts:
            one = self._one(mechanism, bound, direction, max(tail / count / 10, 1e-300))
            if count > 1:
                one = self._fft.fft_self_convolve(
                    dist=one, num_convolutions=count, tail_truncation=tail, bound_type=bound, use_direct=True
                )
            total = (
                one
                if total is None
                else self._fft.fft_convolve(dist_1=total, dist_2=one, tail_truncation=tail, bound_type=bound)
            )
        return float(self._masses(dist=total, bound_type=bound).get_epsilon_for_delta(delta))

    def price(self, parts: Parts, delta: float) -> Answer:
        if delta < 1e-12 and any(isinstance(mechanism, Gaussian) for mechanism, _ in parts):
            raise UnsupportedError("its documented entry points say infinity")
        bounds, directions = self._library.BoundType, self._library.Direction
        sampled = any(isinstance(mechanism, Sampled) for mechanism, _ in parts)
        both = (directions.REMOVE, directions.ADD) if sampled else (directions.REMOVE,)
        upper = max(self._side(parts, delta, bounds.DOMINATES, direction) for direction in both)
        if sampled:
            return Answer(upper=upper)
        return Answer(upper=upper, lower=self._side(parts, delta, bounds.IS_DOMINATED, directions.REMOVE))

    def allocation(self, sigma: float, steps: int, selected: int, delta: float) -> Answer:
        upper, lower = self._library.gaussian_allocation_epsilon_range(
            delta=delta, sigma=sigma, num_steps=steps, num_selected=selected
        )
        return Answer(upper=upper, lower=lower)
