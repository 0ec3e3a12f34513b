"""However a line is chosen, what is read from it contains the exact delta: a poor line is wide, never wrong."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.exact import ONE, Bound
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import PoissonSampledLaw
from dosimeter.pld.saddle.closed import closed
from dosimeter.pld.saddle.inversion import Reading, aliases, prepare, read
from dosimeter.pld.saddle.line import Line
from dosimeter.pld.saddle.periodic import common
from dosimeter.pld.saddle.periodic import prepare as prepare_period
from dosimeter.pld.saddle.total import Total, compose

orders = st.floats(0.05, 60.0)
steps = st.floats(0.02, 5.0)
counts = st.integers(2, 400)
levels = st.floats(0.0, 4.0)
smoothings = st.sampled_from([0.0, 1e-8, 1e-4, 0.01, 0.5])


def exact(epsilon: Fraction, runs: int, at: float) -> Decimal:
    """`runs` randomized responses, by the binomial sum."""
    import flint

    from dosimeter.enclosure import ball, precision

    with precision(300):
        p = 1 / (1 + (-ball(epsilon)).exp())
        total = flint.arb(0)
        for k in range(runs + 1):
            loss = (runs - 2 * k) * epsilon
            if loss > Fraction(at):
                weight = math.comb(runs, k) * p ** (runs - k) * (1 - p) ** k
                total += weight * (1 - (ball(Decimal(at)) - ball(loss)).exp())
        return Decimal(total.mid().str(40, radius=False))


def ends(reading: Reading, cut: float = 0.0) -> tuple[Decimal, Decimal]:
    scale = Decimal(reading.log_scale).exp()
    slack = Decimal("1e-20")
    lower, upper = Decimal(reading.lower) * scale, Decimal(reading.upper) * scale
    return lower * (1 - slack), upper * (1 + slack) + Decimal(cut)


def read_off(total: Total, smoothing: float, at: float) -> Reading:
    extra = Fraction(smoothing)
    twice = prepare(total, 2 * extra) if smoothing else None
    return read(prepare(total, extra), twice, smoothing, 1 - 1e-12, at)


def laplace_delta(epsilon: Fraction, at: float) -> Decimal:
    from dosimeter.enclosure import ball, precision

    if Fraction(at) >= epsilon:
        return Decimal(0)
    with precision(200):
        value = -((ball(Decimal(at)) - ball(epsilon)) / 2).expm1()
        return Decimal(value.mid().str(40, radius=False))


@settings(max_examples=60, deadline=None)
@given(orders, steps, counts, levels, smoothings, st.integers(1, 30))
def test_any_line_contains_randomized_responses(
    order: float, step: float, count: int, at: float, smoothing: float, runs: int
) -> None:
    law = ResponseLaw(Fraction(3, 10))
    line = Line(order, order * 1.7, step, count, 1e-30)
    lower, upper = ends(read_off(compose(line, Direction.REMOVE, {law: runs}), smoothing, at))
    assert lower <= exact(Fraction(3, 10), runs, at) <= upper


@settings(max_examples=40, deadline=None)
@given(orders, st.integers(1, 200), levels, st.integers(1, 30))
def test_any_period_contains_randomized_responses(order: float, points: int, at: float, runs: int) -> None:
    law = ResponseLaw(Fraction(3, 10))
    lattice = law.lattice(Direction.REMOVE)
    assert lattice is not None
    total_lattice = common(None, lattice, runs)
    nodes = 2 * points + 1
    line = Line(order, order * 1.7, 2 * math.pi / (nodes * float(lattice.step)), points + 1, 1e-30)
    total = compose(line, Direction.REMOVE, {law: runs})
    lower, upper = ends(prepare_period(total, total_lattice).read(1 - 1e-12, at))
    assert lower <= exact(Fraction(3, 10), runs, at) <= upper


@settings(max_examples=40, deadline=None)
@given(orders, steps, counts, st.floats(0.0, 1.5), smoothings)
def test_any_line_contains_laplace_noise(order: float, step: float, count: int, at: float, smoothing: float) -> None:
    law = LaplaceLaw(Fraction(1))
    line = Line(order, order * 1.7, step, count, 1e-30)
    lower, upper = ends(read_off(compose(line, Direction.REMOVE, {law: 1}), smoothing, at))
    assert lower <= laplace_delta(Fraction(1), at) <= upper


@pytest.mark.parametrize("direction", list(Direction))
@settings(max_examples=25, deadline=None)
@given(orders, steps, counts, levels, smoothings, st.sampled_from([(1, 100, 1), (1, 2, 4), (9, 10, 1), (1, 5, 25)]))
def test_any_line_contains_a_sampled_gaussian(
    direction: Direction, order: float, step: float, count: int, at: float, smoothing: float, case: tuple
) -> None:
    rate, over, variance = case
    law = PoissonSampledLaw(Fraction(rate, over), GaussianLaw(Fraction(1, variance)))
    form = closed({law: 1}, Fraction(0), direction, Bound(ONE, ONE))
    assert form is not None
    truth = form.delta(Decimal(at))
    line = Line(order, order * 1.7, step, count, 1e-18)
    total = compose(line, direction, {law: 1})
    lower, upper = ends(read_off(total, smoothing, at), total.cut)
    assert lower <= truth.upper
    assert truth.lower <= upper


def test_a_line_without_its_alias_bounds_would_be_wrong() -> None:
    """Control: on a coarse line the sum with its rounding error alone misses the truth by exactly the aliases."""
    law, at = ResponseLaw(Fraction(3, 10)), 0.5
    line = Line(1.0, 3.0, 2.0, 100_000, 1e-30)
    total = compose(line, Direction.REMOVE, {law: 5})
    reading = read_off(total, 0.0, at)
    lower, upper = ends(reading)
    truth = exact(Fraction(3, 10), 5, at)
    assert lower <= truth <= upper
    inversion = prepare(total, Fraction(0))
    raw = float(
        (inversion.size * np.cos(inversion.angle + inversion.heights * float(inversion.drift - Fraction(at)))).sum()
    )
    value = raw * line.step / math.pi * math.exp(reading.log_scale)
    assert value - float(truth) > 0.01
    high, low = aliases(line.period, 2 * line.period, 1.0, at)
    assert math.exp(low) * 0.999 < value - float(truth) < math.exp(high) * 1.3


def test_smoothing_brackets_the_truth_and_a_smaller_constant_would_not() -> None:
    """The correction K (delta_2v - delta_v) is needed: at an atom half of it is too little."""
    law, at, v = ResponseLaw(Fraction(1)), 1.0, 1e-4  # delta(1) = 0: the atom sits at epsilon itself
    line = Line(5.0, 9.0, 0.2, 20_000, 1e-30)
    total = compose(line, Direction.REMOVE, {law: 1})
    first = prepare(total, Fraction(v)).read(1 - 1e-12, at)
    second = prepare(total, 2 * Fraction(v)).read(1 - 1e-12, at)
    scale = math.exp(second.log_scale - first.log_scale)
    assert first.lower > 0
    ratio = math.exp(v / 4) / math.sqrt(2)
    correction = ratio / (1 - ratio) * (second.upper * scale - first.lower)
    assert first.upper - correction <= 1e-12
    assert first.lower - correction / 2 > 0


def test_a_law_keeps_relative_accuracy_when_repeated_a_billion_times() -> None:
    """The relative error of a hardly moving law's moment is far below 1e-16, so 10^9 runs are still certified."""
    law: Law = PoissonSampledLaw(Fraction(1, 10**4), GaussianLaw(Fraction(1, 4)))
    total = compose(Line(3.7, 8.0, 0.5, 16, 1e-24), Direction.REMOVE, {law: 10**9})
    assert total.log_error < 1e-6
    assert float(total.eta.max()) < 1e-3
