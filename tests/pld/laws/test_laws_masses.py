"""Laws are pairs of distributions: masses add up, change of measure holds, and moments agree with masses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dosimeter.pld.laws.bounded_range import BoundedRangeLaw
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw, discrete_gaussian_law
from dosimeter.pld.laws.discrete_laplace import DiscreteLaplaceLaw
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import GaussianLaw, gaussian_law
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.mixture import MixtureLaw
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw
from dosimeter.pld.laws.spread import gaussian_piece, log_tail

UNEVEN = FinitePairLaw(
    (Fraction(1, 2), Fraction(3, 10), Fraction(3, 20), Fraction(1, 20), Fraction(0)),
    (Fraction(7, 20), Fraction(3, 10), Fraction(1, 5), Fraction(0), Fraction(3, 20)),
)
LAWS: list[Law] = [
    gaussian_law(1),
    gaussian_law("0.05"),
    GaussianLaw(Fraction(1, 10**6), Fraction(1, 100)),
    LaplaceLaw(Fraction(1)),
    LaplaceLaw(Fraction(1, 1000)),
    BoundedRangeLaw(Fraction(3, 2)),
    ResponseLaw(Fraction(1, 2), Fraction(1, 1000)),
    DiscreteLaplaceLaw(Fraction(3), 4),
    DiscreteGaussianLaw(Fraction(1, 2)),
    discrete_gaussian_law(3, 2),
    UNEVEN,
    PoissonSampledLaw(Fraction(1, 10**6), gaussian_law(1)),
    PoissonSampledLaw(Fraction(1, 10), gaussian_law("0.1")),
    PoissonSampledLaw(Fraction(999, 1000), gaussian_law(2)),
    PoissonSampledLaw(Fraction(1, 10), LaplaceLaw(Fraction(2))),
    PoissonSampledLaw(Fraction(1, 10), ResponseLaw(Fraction(1), Fraction(1, 50))),
    PoissonSampledLaw(Fraction(1, 3), UNEVEN),
    PoissonSampledLaw(Fraction(1, 10), discrete_gaussian_law(2)),
    FixedSizeSampledLaw(Fraction(1, 10), gaussian_law(1)),
    FixedSizeSampledLaw(Fraction(1, 10), UNEVEN),
    FixedSizeSampledLaw(Fraction(1, 10), LaplaceLaw(Fraction(1))),
    MixtureLaw(
        (Fraction(1, 4), Fraction(3, 4)), (LaplaceLaw(Fraction(1)), PoissonSampledLaw(Fraction(1, 10), gaussian_law(1)))
    ),
]
BOTH = [(law, direction) for law in LAWS for direction in Direction]
NAMES = [f"{law.kind}-{i // 2}-{direction}" for i, (law, direction) in enumerate(BOTH)]
EVERYTHING = np.array([-math.inf, math.inf])


@pytest.mark.parametrize(("law", "direction"), BOTH, ids=NAMES)
def test_finite_losses_and_the_atom_are_everything(law: Law, direction: Direction) -> None:
    """P-mass of finite losses = 1 - atom; their Q-mass = E_P[e^-L] = 1 - the reverse atom (0 under sampling's add)."""
    masses = law.masses(direction, EVERYTHING)
    assert math.isclose(math.exp(masses.log_p[0]), 1 - float(law.infinite(direction)), rel_tol=1e-12)
    if not isinstance(law, FixedSizeSampledLaw | MixtureLaw):
        assert math.isclose(math.exp(masses.log_q[0]), 1 - float(law.infinite(direction.reverse)), rel_tol=1e-12)


@pytest.mark.parametrize(("law", "direction"), BOTH, ids=NAMES)
def test_masses_change_measure_cell_by_cell(law: Law, direction: Direction) -> None:
    """In a cell of losses (a, b] the P-mass is between e^a and e^b times the Q-mass."""
    low, high = law.support(direction)
    edges = np.linspace(max(low, -9.0) - 0.01, min(high, 9.0), 41)
    masses = law.masses(direction, edges)
    kept = (masses.log_p > -300) & (masses.log_q > -300)
    ratio = masses.log_p[kept] - masses.log_q[kept]
    slack = 1e-9
    assert (ratio >= edges[:-1][kept] - slack).all()
    assert (ratio <= edges[1:][kept] + slack).all()
    assert kept.any()


@pytest.mark.parametrize(("law", "direction"), BOTH, ids=NAMES)
def test_the_two_directions_are_one_pair(law: Law, direction: Direction) -> None:
    """The P-masses of (a, b] in one direction are the Q-masses of [-b, -a) in the other."""
    edges = np.array([-3.1, -1.23, -0.517, -0.0501, 0.0317, 0.2713, 1.111, 2.77])
    here, there = law.masses(direction, edges), law.masses(direction.reverse, -edges[::-1])
    own, other = np.exp(here.log_p), np.exp(there.log_q[::-1])
    assert np.allclose(own, other, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("law", "direction"), BOTH, ids=NAMES)
def test_moments_agree_with_masses(law: Law, direction: Direction) -> None:
    """A moment lies between the sums over the lower and the upper edges of fine cells."""
    low, high = law.support(direction)
    edges = np.concatenate([[-math.inf], np.linspace(max(low, -60.0) - 1e-9, min(high, 60.0) + 1e-9, 6001), [math.inf]])
    masses = law.masses(direction, edges)
    for order in (0.5, 2.0):
        value = law.cumulant(direction, order)
        below = np.logaddexp.reduce(masses.log_p[1:-1] + order * edges[1:-2])
        above = np.logaddexp.reduce(masses.log_p[1:-1] + order * edges[2:-1])
        if high < 60:
            assert below - 1e-6 <= value <= above + 1e-6


def test_points_of_purely_atomic_laws_carry_the_same_masses() -> None:
    for law in (
        UNEVEN,
        DiscreteLaplaceLaw(Fraction(3), 4),
        PoissonSampledLaw(Fraction(1, 10), discrete_gaussian_law(2)),
    ):
        for direction in Direction:
            atoms = law.atoms(direction, 1e-40)
            assert atoms is not None
            total = math.fsum(np.exp(atoms.log_p))
            assert math.isclose(total, 1 - float(law.infinite(direction)), rel_tol=1e-12)
            assert (np.diff(atoms.losses) >= 0).all()
    assert LaplaceLaw(Fraction(1)).atoms(Direction.REMOVE, 1e-30) is None


@pytest.mark.parametrize(
    "law", [ResponseLaw(Fraction(3, 10)), DiscreteLaplaceLaw(Fraction(5, 2), 3), discrete_gaussian_law(2, 3)]
)
def test_lattices_hold_every_point(law: Law) -> None:
    lattice, atoms = law.lattice(Direction.REMOVE), law.atoms(Direction.REMOVE, 1e-30)
    assert lattice is not None
    assert atoms is not None
    places = (atoms.losses - float(lattice.offset)) / float(lattice.step)
    assert np.allclose(places, np.round(places), atol=1e-9)


def test_tiny_cells_and_far_cells_keep_their_digits() -> None:
    """Masses never come from differences of numbers near one: compared with 60-digit arithmetic."""
    import flint

    from dosimeter.enclosure import precision

    piece = gaussian_piece(0.0, 1.0)
    for low, high in (
        (0.3, 0.3 + 1e-9),
        (8.0, 8.0001),
        (-37.5, -37.0),
        (25.0, 26.5),
        (-0.2, 0.2),
        (-40.0, 5.0),
        (38.0, 38.1),
    ):
        got = float(piece.log_mass(np.array([low, high]))[0])
        with precision(2000):
            root = flint.arb(2).sqrt()
            exact = ((flint.arb(low) / root).erfc() - (flint.arb(high) / root).erfc()) / 2
            truth = float(exact.log().mid())
        assert abs(got - truth) <= 1e-13 * max(1.0, abs(truth))


def test_the_tail_function_joins_its_series() -> None:
    import flint

    from dosimeter.enclosure import precision

    for x in (-5.0, 0.0, 3.0, 25.9, 26.0, 26.1, 40.0, 300.0):
        with precision(200):
            truth = float(((flint.arb(x) / flint.arb(2).sqrt()).erfc() / 2).log().mid())
        assert math.isclose(float(log_tail(np.array([x]))[0]), truth, rel_tol=4e-15, abs_tol=1e-15)


def test_masses_of_a_huge_gaussian_pair_are_within_their_stated_error() -> None:
    """With mu = 1000 terms of size 125000 cancel; the error says so, and holds."""
    import flint

    from dosimeter.enclosure import precision

    law = gaussian_law("0.001")
    edges = np.array([499_000.0, 500_500.0, 501_200.0])
    masses = law.masses(Direction.REMOVE, edges)
    with precision(300):
        root = flint.arb(2).sqrt()
        z = [(flint.arb(float(e)) - 500_000) / 1000 / root for e in edges]
        for k in (0, 1):
            truth = ((z[k].erfc() - z[k + 1].erfc()) / 2).log()
            off = abs(flint.arb(float(masses.log_p[k])) - truth)
            assert float(off.upper()) <= masses.error * max(1.0, abs(float(masses.log_p[k])))
