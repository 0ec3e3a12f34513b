"""Moments on a line, computed in floating point, lie within their error of enclosures by ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from dosimeter.enclosure import ball, precision
from dosimeter.pld.laws.bounded_range import BoundedRangeLaw
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw
from dosimeter.pld.saddle import line as line_module
from dosimeter.pld.saddle.blocks import ELEMENTARY
from dosimeter.pld.saddle.decay import layers
from dosimeter.pld.saddle.line import Line, evaluate, on_line
from dosimeter.pld.saddle.quadrature import rule
from dosimeter.pld.saddle.shift import shifted


def moment(law: PoissonSampledLaw, direction: Direction, order: float, height: float) -> flint.acb:
    """E[e^(zL)] of a sampled Gaussian, by rigorous integration over the base loss under P0."""
    square, q = law.base.mu_squared, law.rate
    with precision(120):
        mu = ball(square).sqrt()
        z = flint.acb(ball(Fraction(order)), ball(Fraction(height)))
        a = z + 1 if direction is Direction.REMOVE else -z

        def integrand(x: flint.acb, _analytic: bool) -> flint.acb:
            growth = (1 - ball(q) + ball(q) * (x * mu - mu * mu / 2).exp()).log()
            return (-x * x / 2 + a * growth).exp() / (2 * flint.arb.pi()).sqrt()

        reach = 14 + float(mu) * max(order + 1, 1)
        return flint.acb.integral(integrand, -reach, reach)


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize(("rate", "square"), [((1, 100), 1), ((1, 2), (1, 25)), ((9, 10), 4)])
def test_sampled_gaussian_moments_agree_with_rigorous_integration(
    direction: Direction, rate: tuple, square: object
) -> None:
    law = PoissonSampledLaw(
        Fraction(*rate), GaussianLaw(Fraction(*square) if isinstance(square, tuple) else Fraction(1))
    )
    line = Line(3.5, 6.0, 2.5, 12, 1e-40)
    found = on_line(law, direction, line)
    for node in (0, 1, 5, 11):
        height = line.step * node
        truth = moment(law, direction, line.order, height)
        values = found.values
        with precision(120):
            log_found = flint.acb(values.log_moment, height * values.centre) + flint.acb(
                float(values.log_phi[node].real), float(values.log_phi[node].imag)
            )
            off = abs(truth / log_found.exp() - 1)
        assert float(off.upper()) <= values.eta[node] + values.log_error + 8 * UNIT * abs(height * values.centre)


LONG = [
    (PoissonSampledLaw(Fraction(1, 10), GaussianLaw(Fraction(1))), Line(3.0, 5.0, 1.0, 600, 1e-15)),
    (PoissonSampledLaw(Fraction(1, 10**6), GaussianLaw(Fraction(1))), Line(611.0, 1000.0, 200.0, 600, 1e-22)),
    (PoissonSampledLaw(Fraction(3, 10), LaplaceLaw(Fraction(1))), Line(13.0, 15.0, 3.0, 600, 1e-15)),
    (LaplaceLaw(Fraction(1)), Line(13.0, 15.0, 3.0, 600, 1e-15)),
    (BoundedRangeLaw(Fraction(1)), Line(13.0, 15.0, 3.0, 600, 1e-15)),
    (FixedSizeSampledLaw(Fraction(1, 10), GaussianLaw(Fraction(1))), Line(3.0, 5.0, 1.0, 600, 1e-15)),
]


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize(("law", "line"), LONG, ids=[f"{law.kind}-{line.order:g}" for law, line in LONG])
def test_the_complex_contour_and_the_real_rule_agree(
    monkeypatch: pytest.MonkeyPatch, law: Law, line: Line, direction: Direction
) -> None:
    """Two quadratures that share nothing but the law are within the sum of their errors at every height."""
    compute = evaluate
    monkeypatch.setattr(line_module, "is_long", lambda *_: True)
    far = compute(law, direction, line).values
    monkeypatch.setattr(line_module, "is_long", lambda *_: False)
    near = compute(law, direction, line).values
    kept = (far.eta < 0.1) & (near.eta < 0.1)
    off = np.abs(np.exp(far.log_phi - near.log_phi) - 1)[kept]
    assert kept.sum() > 10
    assert (off <= (far.eta + near.eta)[kept] * 1.2).all()


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize(("law", "line"), LONG, ids=[f"{law.kind}-{line.order:g}" for law, line in LONG])
def test_certificates_of_decay_are_above_everything_beyond(law: Law, line: Line, direction: Direction) -> None:
    found = on_line(law, direction, line).values
    size = found.log_phi.real
    beyond = np.maximum.accumulate(size[::-1])[::-1]
    heights = line.step * np.arange(line.count)
    parts = law.parts(direction, line.cut)
    bound = layers(parts, line.order, line.cut).log_bound(heights, found.log_moment + found.log_error)
    assert (bound >= beyond - found.eta).all()
    moved = shifted(parts, line.order, line.cut)
    if moved is not None:
        for node in (0, 1, 10, 100, 500):
            assert moved.log_bound(float(heights[node])) - found.log_moment >= beyond[node] - found.eta[node]


def test_a_discrete_gaussian_by_theta_functions_equals_its_sum_over_points() -> None:
    law = DiscreteGaussianLaw(Fraction(9, 2), 2)
    line = Line(1.5, 3.0, 0.37, 200, 1e-40)
    smooth = on_line(law, Direction.REMOVE, line).values
    atoms = law.atoms(Direction.REMOVE, 1e-60)
    assert atoms is not None
    z = line.order + 1j * line.step * np.arange(line.count)
    direct = np.exp(atoms.log_p + np.outer(z, atoms.losses)).sum(axis=1)
    closed = np.exp(smooth.log_moment + 1j * z.imag * smooth.centre + smooth.log_phi)
    scale = np.exp(smooth.log_moment)
    assert np.abs(direct - closed).max() <= 1e-12 * scale


def test_the_gauss_rule_integrates_its_polynomials() -> None:
    """Twenty-four nodes are exact to degree 47."""
    nodes, weights = rule()
    for power in range(0, 48, 2):
        assert math.isclose(float((weights * nodes**power).sum()), 2 / (power + 1), rel_tol=1e-14)


FUNCTIONS = [
    ("exp", -700.0, 700.0),
    ("expm1", -40.0, 40.0),
    ("log", 1e-300, 1e300),
    ("log1p", -0.999, 1e6),
    ("sin", -1e9, 1e9),
    ("cos", -1e9, 1e9),
]


@pytest.mark.parametrize(("name", "low", "high"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_the_numerical_library_is_as_accurate_as_the_proofs_assume(name: str, low: float, high: float) -> None:
    """Elementary functions of arrays are within half of the error that every bound allows for them."""
    generator = np.random.default_rng(7)
    spread = np.exp(generator.uniform(-30, 0, 4000)) * generator.choice([low, high], 4000)
    at = np.concatenate([np.clip(spread, low, high), generator.uniform(max(low, -1e9), min(high, 1e9), 4000)])
    got = getattr(np, name)(at)
    with precision(160):
        worst = 0.0
        for x, y in zip(at.tolist(), got.tolist(), strict=True):
            truth = getattr(flint.arb(x), name)()
            if truth != 0 and abs(y) > 1e-290:
                worst = max(worst, float(abs(y / truth - 1).upper()))
    assert worst <= ELEMENTARY / 2
