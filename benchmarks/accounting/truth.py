"""The right answers, computed again without any accountant, in arithmetic of a hundred digits.

* Gaussians: the closed form of their composition.
* Randomized responses: the binomial sum.
* Everything else: delta(eps) = 1/(2 pi i) * integral of M(z) e^(-z eps) / (z (z + 1)) along a vertical line, where the
  moment M of a sampled Gaussian is a trapezoid sum over outputs. Both sums converge faster than any power of their
  steps; each is halved to see which digits stand.

Nothing here is meant to be fast, and nothing is shared with the engines that are measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, arb, ctx, fmpq

from benchmarks.accounting.workloads import WORKLOADS, Gaussian, Laplace, Mechanism, Parts, Response, Sampled, Workload
from benchmarks.table import show

_BITS = 400
_SMALL = 1e-26  # what is left out, relative


def ball(value: Fraction | float) -> Any:
    """An exact number as a ball."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def truth(plan: Workload) -> tuple[float, float]:
    """The least epsilon, and how much it moves when every step is halved."""
    ctx.prec = _BITS
    kinds = {type(mechanism) for mechanism, _ in plan.parts}
    delta = Fraction(plan.delta)
    if kinds == {Gaussian}:
        return _gaussian(plan.parts, delta), 0.0
    if kinds == {Response}:
        return _response(plan.parts, delta), 0.0
    first, second = (_inversion(plan.parts, delta, fine) for fine in (1, 2))
    return second, abs(second - first)


def _root(function: Callable[[Any], Any], high: Fraction) -> float:
    """Where a decreasing function crosses zero, by halving: doubling first."""
    low = Fraction(0)
    while function(ball(high)) > 0:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if function(ball(middle)) > 0 else (low, middle)
    return float(high)


def _gaussian(parts: Parts, delta: Fraction) -> float:
    square = sum((count / m.sigma**2 for m, count in parts if isinstance(m, Gaussian)), Fraction(0))
    mu, root2 = ball(square).sqrt(), arb(2).sqrt()

    def over(epsilon: Any) -> Any:
        near, far = (((epsilon / mu + sign * mu / 2) / root2).erfc() / 2 for sign in (-1, 1))
        return near - epsilon.exp() * far - ball(delta)

    return _root(over, Fraction(1))


def _response(parts: Parts, delta: Fraction) -> float:
    ((mechanism, count),) = parts
    if not isinstance(mechanism, Response):
        raise TypeError("randomized responses only")
    epsilon = ball(mechanism.epsilon)
    chance = 1 / (1 + (-epsilon).exp())
    masses = [chance ** (count - i) * (1 - chance) ** i * math.comb(count, i) for i in range(count + 1)]

    def over(level: Any) -> Any:
        losses = ((epsilon * (count - 2 * i), mass) for i, mass in enumerate(masses))
        return sum((mass * (1 - (level - loss).exp()) for loss, mass in losses if loss > level), arb(0)) - ball(delta)

    return _root(over, Fraction(1))


@dataclass(frozen=True, slots=True)
class _Outputs:
    """E[e^((c + it) L)] of one sampled Gaussian as a sum of weights * e^(it loss)."""

    weights: Any
    losses: Any


def _outputs(mechanism: Sampled, order: float, remove: bool, step: Fraction) -> _Outputs:
    """The trapezoid rule over all outputs whose share is not below e^-130."""
    rate, sigma, square = ball(mechanism.rate), mechanism.sigma, ball(mechanism.sigma**2)
    exponent = ball(order) + 1 if remove else -ball(order)
    scale = ball(step) / (2 * arb.pi()).sqrt()
    away = order * min(1.0, float(mechanism.rate) / max(float(1 - mechanism.rate), 1e-9))
    left, right = (0.0, order + 1) if remove else (-away, 0.0)  # where the tilt may have moved the bulk
    weights, losses = [], []
    for i in range(math.floor((left / sigma - 17) / step), math.ceil((right / sigma + 17) / step) + 1):
        x = ball(step * sigma * i)
        growth = (1 + rate * ((2 * x - 1) / (2 * square)).expm1()).log()
        weights.append(scale * (exponent * growth - x * x / (2 * square)).exp())
        losses.append(growth if remove else -growth)
    return _Outputs(np.array(weights, dtype=object), np.array(losses, dtype=object))


def _closed(mechanism: Mechanism, z: Any) -> Any:
    """E[e^(zL)] where there is a closed form."""
    if isinstance(mechanism, Gaussian):
        return (z * (z + 1) / (2 * ball(mechanism.sigma**2))).exp()
    if isinstance(mechanism, Laplace):
        rate = ball(1 / mechanism.scale)
        return ((z + 1) * (z * rate).exp() + z * (-(z + 1) * rate).exp()) / (2 * z + 1)
    raise TypeError("no closed form")


def _order(parts: Parts, remove: bool, delta: Fraction) -> float:
    """Where Chernoff's bound is least: near the saddle."""
    log_delta = math.log(delta)

    def chernoff(order: float) -> float:
        total = 0.0
        for mechanism, count in parts:
            if isinstance(mechanism, Sampled):
                moment = sum(_outputs(mechanism, order, remove, Fraction(1, 5)).weights, arb(0))
            else:
                moment = _closed(mechanism, ball(order))
            total += count * float(moment.log())
        return (total - log_delta - math.log(order * (order + 1))) / order

    few = parts if len(parts) < 20 else parts[:: len(parts) // 10]
    share = sum(count for _, count in parts) / sum(count for _, count in few)
    parts = tuple((mechanism, max(round(count * share), 1)) for mechanism, count in few)
    best, least, worse, order = 0.1, math.inf, 0, 0.1
    while worse < 4:
        value = chernoff(order)
        if 0 < value < least:
            best, least, worse = order, value, 0
        elif least < math.inf:
            worse += 1
        order *= 1.5
    return best


def _inversion(parts: Parts, delta: Fraction, fine: int) -> float:
    return max(_one_direction(parts, remove, delta, fine) for remove in (True, False))


def _one_direction(parts: Parts, remove: bool, delta: Fraction, fine: int) -> float:
    order = _order(parts, remove, delta)
    step = math.pi * order / (60 - math.log(delta)) / fine
    nodes, terms = _line(parts, remove, order, step, Fraction(1, 25 * fine))
    wanted = ball(delta) * arb.pi() / ball(step)

    def over(epsilon: Any) -> Any:
        return sum(((t * (-z * epsilon).exp()).real for z, t in zip(nodes, terms, strict=True)), arb(0)) - wanted

    if not over(arb(0)) > 0:
        return 0.0
    low, high = 0.0, 1e-6
    while over(ball(high)) > 0:
        low, high = high, 2 * high
    return _secant(over, low, high)


def _secant(function: Callable[[Any], Any], low: float, high: float) -> float:
    """The root between two ends by the Illinois rule, to the last digits of a float."""
    a, b = Fraction(low), Fraction(high)
    f_a, f_b = (function(ball(x)).mid() for x in (a, b))
    middle, side = b, 0
    for _ in range(60):
        middle = Fraction(float((ball(a) * f_b - ball(b) * f_a) / (f_b - f_a)))
        if not a < middle < b:
            break
        value = function(ball(middle)).mid()
        if value > 0:
            a, f_a, f_b, side = middle, value, f_b / 2 if side == 1 else f_b, 1
        else:
            b, f_b, f_a, side = middle, value, f_a / 2 if side == -1 else f_a, -1
    return float(middle)


def _line(parts: Parts, remove: bool, order: float, step: float, spacing: Fraction) -> tuple[list[Any], list[Any]]:
    """Nodes z = order + i step j and the integrand there without e^(-z eps), until the rest is nothing."""
    tables = [_outputs(m, order, remove, spacing) if isinstance(m, Sampled) else None for m, _ in parts]
    turns = [None if t is None else np.array([acb(0, x * ball(step)).exp() for x in t.losses]) for t in tables]
    states = [None if t is None else t.weights.astype(object) * acb(1) for t in tables]
    nodes: list[Any] = []
    terms: list[Any] = []
    first, quiet = 0.0, 0
    while quiet < 100:
        z = acb(ball(order), ball(step) * len(nodes))
        value = 1 / (z * (z + 1))
        for i, (mechanism, count) in enumerate(parts):
            state = states[i]
            value *= (_closed(mechanism, z) if state is None else np.add.reduce(state)) ** count
            if state is not None:
                states[i] = state * turns[i]
        size = float(abs(value).mid())
        first = first or size
        quiet = quiet + 1 if size < _SMALL * first else 0
        nodes.append(z)
        terms.append(value / 2 if len(nodes) == 1 else value)
    return nodes, terms


def print_truths(names: Sequence[str]) -> None:
    """Compare what is stored with what is computed."""
    rows = []
    for name in names:
        plan = WORKLOADS[name]
        value, moved = truth(plan)
        rows.append([name, plan.truth, repr(value), f"{value / float(plan.truth) - 1:+.1e}", f"{moved / value:.1e}"])
        print(rows[-1], flush=True)
    show("The right answers", ["plan", "stored", "computed", "difference", "when steps are halved"], rows)
