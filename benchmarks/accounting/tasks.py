"""What is measured, one function per question; each runs in a process of its own and returns plain data.

Times are wall and processor time: on a machine that others use, the second is the steadier one. `cold` is the first
answer of a process in which the library is loaded but has seen no such plan, `again` the same question asked again,
`read` another delta of a plan already composed.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from benchmarks.accounting.systems import Answer, System, UnsupportedError
from benchmarks.accounting.workloads import WORKLOADS, Gaussian, Parts, Sampled, gaussian, growing

_PATIENCE = 2.0  # seconds spent on repetitions


def memory() -> float:
    """The most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def clock(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """A result, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def median(work: Callable[[], Any], most: int = 9) -> dict[str, float]:
    """The median time of some repetitions, as many as patience allows."""
    taken: list[dict[str, float]] = []
    begin = time.perf_counter()
    while len(taken) < most and (not taken or time.perf_counter() - begin < _PATIENCE):
        taken.append(clock(work)[1])
    return {key: statistics.median(times[key] for times in taken) for key in ("wall", "cpu")}


def said(answer: Answer) -> dict[str, str]:
    """The numbers of an answer as texts."""
    numbers = {"upper": answer.upper, "lower": answer.lower, "estimate": answer.estimate}
    return {name: str(value) for name, value in numbers.items() if value is not None}


def warm_up(system: System) -> None:
    """Two small plans that no table asks about, so that what is loaded or compiled on first use is."""
    for parts in (((gaussian("1.7"), 3),), ((Sampled(Fraction(1, 5), Fraction(2)), 7),)):
        system.price(parts, 1e-4)


def price(system: System, workload: str) -> dict[str, Any]:
    """One plan of the table."""
    plan = WORKLOADS[workload]
    parts, delta = plan.parts, float(plan.delta)
    before = memory()
    answer, cold = clock(lambda: system.price(parts, delta))
    result: dict[str, Any] = {**said(answer), "cold": cold, "memory": memory() - before}
    if cold["wall"] < _PATIENCE:
        result["again"] = median(lambda: system.price(parts, delta))
    try:
        read, build = clock(lambda: system.reader(parts, delta))
        read(delta * 1.5)
        if build["wall"] < 2 * _PATIENCE:
            deltas = iter(delta * (1.1 + 0.01 * i) for i in range(99))
            result["read"] = median(lambda: read(next(deltas)))
    except UnsupportedError:
        pass
    return result


def grow(system: System, steps: int, seconds: float, delta: float = 1e-5) -> dict[str, Any]:
    """Different mechanisms one after another, epsilon after each: the epsilons and the time so far."""
    before, account = memory(), system.start(delta)
    begin, cpu = time.perf_counter(), time.process_time()
    epsilons: list[str] = []
    seen: list[dict[str, float]] = []
    for mechanism in growing(steps):
        account.append(mechanism)
        epsilons.append(str(account.epsilon()))
        seen.append({"wall": time.perf_counter() - begin, "cpu": time.process_time() - cpu})
        if seen[-1]["wall"] > seconds:
            break
    return {"epsilons": epsilons, "seen": seen, "memory": memory() - before}


def append(system: System, events: int, kinds: int, seconds: float, delta: float = 1e-6) -> dict[str, Any]:
    """A long history: time of an append and of a read at each power of ten."""
    account, steps = system.start(delta), growing(kinds)
    begin, marks, since = time.perf_counter(), [], time.process_time()
    for number in range(1, events + 1):
        account.append(steps[number % kinds])
        if str(number).strip("0") == "1":
            spent = time.process_time() - since
            epsilon, first = clock(account.epsilon)
            second = median(account.epsilon, 3)
            marks.append({"events": number, "appends": spent, "first": first, "read": second, "epsilon": str(epsilon)})
            since = time.process_time()
        if time.perf_counter() - begin > seconds:
            break
    return {"marks": marks}


def cost(system: System, shape: str, size: float) -> dict[str, Any]:
    """One point of a curve: how the time to a first answer depends on one size of the plan."""
    parts, delta = shaped(shape, size)
    answer, cold = clock(lambda: system.price(parts, delta))
    return {**said(answer), "cold": cold}


def shaped(shape: str, size: float) -> tuple[Parts, float]:
    """A plan of one size: that many steps, that many different mechanisms, or that many digits of delta."""
    if shape == "steps":
        return ((Sampled(Fraction(1, 100), Fraction(4)), round(size)),), 1e-6
    if shape == "mechanisms":
        return tuple((mechanism, 5) for mechanism in growing(round(size))), 1e-6
    if shape == "digits":
        return ((Sampled(Fraction(1, 100), Fraction(1)), 1000),), 10.0 ** -round(size)
    raise ValueError(f"no shape {shape!r}")


def calibrate(system: System, epsilon: float, delta: float) -> dict[str, Any]:
    """The noise of a training run of 1000 steps at rate 0.01."""

    def step(sigma: float) -> Parts:
        return ((Sampled(Fraction(1, 100), Fraction(repr(float(sigma)))), 1000),)

    sigma, cold = clock(lambda: system.calibrate(step, epsilon, delta))
    return {"sigma": str(sigma), "cold": cold}


def allocate(system: System, sigma: float, steps: int, selected: int, delta: float) -> dict[str, Any]:
    """Random allocation: every record in `selected` of `steps` releases."""
    answer, cold = clock(lambda: system.allocation(sigma, steps, selected, delta))
    return {**said(answer), "cold": cold}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    f.__name__: f for f in (price, grow, append, cost, calibrate, allocate)
}
__all__ = ["TASKS", "Gaussian", "shaped", "warm_up"]
