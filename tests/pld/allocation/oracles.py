"""Allocated Gaussian records computed in other ways: quadrature over all steps but one, and simulation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Reals = NDArray[np.float64]


def last_step(strike: Reals, s: float, *, above: bool) -> Reals:
    """E(Y - strike)+ (above) or E(strike - Y)+ for a log-normal Y of mean one: the option price formula."""
    positive = np.maximum(strike, 1e-300)
    d = -np.log(positive) / s + s / 2
    if above:
        return np.where(strike > 0, ndtr(d) - positive * ndtr(d - s), 1 - strike)
    return np.where(strike > 0, positive * ndtr(s - d) - ndtr(-d), 0.0)


def delta(steps: int, sigma: float, epsilon: float, direction: str, points: int = 4001) -> float:
    """delta of one of `steps` (1, 2 or 3) releases: all steps but one by the trapezoid rule, one in closed form."""
    s, g = 1 / sigma, math.exp(epsilon)
    z = np.linspace(-10, 10 + s, points)
    weight = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    y = np.exp(s * z - s * s / 2)
    seen, mass = np.zeros(1), np.ones(1)
    for _ in range(steps - 1):
        seen, mass = np.add.outer(seen, y).ravel(), np.outer(mass, weight).ravel()
    if direction == "remove":
        return float((mass * last_step(steps * g - seen, s, above=True)).sum() / steps)
    return float((mass * last_step(steps / g - seen, s, above=False)).sum() * g / steps)


def simulated(steps: int, sigma: float, runs: int, seed: int) -> Reals:
    """Values of the likelihood ratio when no release holds the record."""
    random = np.random.default_rng(seed)
    total = np.zeros(runs)
    for _ in range(steps):
        total += np.exp(random.standard_normal(runs) / sigma - 0.5 / sigma**2)
    return total / steps
