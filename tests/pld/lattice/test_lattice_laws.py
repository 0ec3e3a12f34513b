"""A law on a lattice lies certainly below, or certainly above, the law it stands for: at every epsilon and tilt."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import optimal_heterogeneous_delta
from dosimeter.notions.profiles import gaussian_delta, laplace_delta
from dosimeter.pld.lattice.cells import Place, cut
from dosimeter.pld.lattice.lower import lower
from dosimeter.pld.lattice.points import PointLaw
from dosimeter.pld.lattice.upper import upper
from dosimeter.pld.laws.discrete_gaussian import discrete_gaussian_law
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import PoissonSampledLaw

Profile = Callable[[float], float]


def delta_of(law: PointLaw, epsilon: float) -> float:
    """delta of one tilted point law, by the definition."""
    losses = law.offset + law.step * (law.first + np.arange(len(law.weights)))
    masses = law.weights * np.exp(law.log_moment - law.order * losses)
    return float((masses * -np.expm1(np.minimum(epsilon - losses - law.shift, 0.0))).sum() + math.exp(law.log_infinite))


def sampled(base: Profile, rate: float, direction: Direction) -> Profile:
    """The profile under Poisson sampling, by the exact identities."""

    def delta(epsilon: float) -> float:
        g = math.exp(epsilon)
        if direction is Direction.REMOVE:
            return 1 - g if g <= 1 - rate else rate * base(math.log((g - 1 + rate) / rate))
        left = 1 - g * (1 - rate)
        return 0.0 if left <= 0 else left * base(math.log(g * rate / left))

    return delta


def gaussian(mu: str) -> tuple[Law, Profile]:
    return GaussianLaw(Fraction(mu) ** 2), lambda e: float(gaussian_delta(mu, e))


def laplace(ratio: str) -> tuple[Law, Profile]:
    return LaplaceLaw(Fraction(ratio)), lambda e: float(laplace_delta(ratio, e))


def response(epsilon: str) -> tuple[Law, Profile]:
    return ResponseLaw(Fraction(epsilon)), lambda e: float(optimal_heterogeneous_delta([epsilon], e).upper)


def poisson(of: tuple[Law, Profile], rate: str) -> dict[Direction, tuple[Law, Profile]]:
    law, profile = of
    return {d: (PoissonSampledLaw(Fraction(rate), law), sampled(profile, float(rate), d)) for d in Direction}  # type: ignore[arg-type]


CASES: list[tuple[str, Direction, Law, Profile]] = [
    (name, direction, *pair)
    for name, pair in {
        "gaussian 1": gaussian("1"),
        "gaussian 0.05": gaussian("0.05"),
        "gaussian 3": gaussian("3"),
        "laplace 1": laplace("1"),
        "laplace 0.1": laplace("0.1"),
        "response 0.7": response("0.7"),
    }.items()
    for direction in (Direction.REMOVE,)
] + [
    (name, direction, *pair)
    for name, pairs in {
        "sampled gaussian": poisson(gaussian("1.25"), "0.01"),
        "often sampled gaussian": poisson(gaussian("2"), "0.5"),
        "sampled laplace": poisson(laplace("1"), "0.1"),
    }.items()
    for direction, pair in pairs.items()
]
IDS = [f"{name} {direction}" for name, direction, _, _ in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
@given(
    step=st.floats(2e-3, 0.6),
    offset=st.floats(-0.5, 0.5),
    order=st.sampled_from([0.0, 0.5, 3.0, 20.0]),
    epsilons=st.lists(st.floats(-2, 4), min_size=5, max_size=5),
)
@settings(max_examples=15, deadline=None)
def test_both_laws_enclose_the_profile(
    case: tuple[str, Direction, Law, Profile], step: float, offset: float, order: float, epsilons: list[float]
) -> None:
    """For any step, any place of the lattice and any tilt: lower law <= exact profile <= upper law, below zero too."""
    _, direction, law, profile = case
    place = Place(step, offset, math.floor(-8 / step), math.ceil(8 / step))
    cells = cut(law, direction, place)
    low, high = lower(cells, order), upper(cells, order)
    assert (low.weights >= 0).all()
    assert abs(low.weights.sum() - 1) < 1e-12
    assert abs(high.weights.sum() - 1) < 1e-9
    for epsilon in epsilons:
        exact = profile(epsilon)
        assert delta_of(high, epsilon) >= exact * (1 - 1e-13) - 1e-299
        assert delta_of(low, epsilon) <= exact * (1 + 1e-13)


SMOOTH = [
    (gaussian("1"), Direction.REMOVE, 1 / 64, 0.0, 0.4),
    (gaussian("0.05"), Direction.REMOVE, 1 / 1024, 0.0, 0.02),
    (laplace("1"), Direction.REMOVE, 1 / 64, 1.0, 0.4),
    (poisson(gaussian("1.25"), "0.01")[Direction.REMOVE], Direction.REMOVE, 1 / 1024, math.log(0.99), 0.3),
    (poisson(gaussian("2"), "0.5")[Direction.ADD], Direction.ADD, 1 / 64, math.log(2), 0.4),
]


@pytest.mark.parametrize(("pair", "direction", "step", "offset", "epsilon"), SMOOTH)
def test_both_laws_are_off_by_the_square_of_the_step(
    pair: tuple[Law, Profile], direction: Direction, step: float, offset: float, epsilon: float
) -> None:
    """A quarter of the step divides the largest error of both laws by about sixteen."""
    law, profile = pair
    levels = [epsilon * (1 + share / 50) for share in range(7)]
    errors = []
    for finer in (1, 4):
        place = Place(step / finer, offset, math.floor(-9 * finer / step), math.ceil(9 * finer / step))
        cells = cut(law, direction, place)
        low, high = lower(cells, 1.0), upper(cells, 1.0)
        errors.append(
            (
                max(profile(e) - delta_of(low, e) for e in levels),
                max(delta_of(high, e) - profile(e) for e in levels),
            )
        )
    assert errors[0][0] > 9 * errors[1][0] > 0
    assert errors[0][1] > 9 * errors[1][1] > 0


def test_an_isolated_point_off_the_lattice_moves_down() -> None:
    """Randomized response between lattice points: the lower law has the masses one point down, to the last digit."""
    law = ResponseLaw(Fraction(7, 10))
    cells = cut(law, Direction.REMOVE, Place(0.25, 0.0, -5, 5))
    low = lower(cells, 0.0)
    truth = 1 / (1 + math.exp(-0.7))
    masses = dict(
        zip(range(low.first, low.first + len(low.weights)), low.weights * math.exp(low.log_moment), strict=True)
    )
    assert masses[2] == pytest.approx(truth, rel=1e-11)
    assert masses[-3] == pytest.approx(1 - truth, rel=1e-11)
    assert sum(m for j, m in masses.items() if j not in (2, -3)) < 1e-11


def test_the_upper_law_taken_for_a_lower_one_is_caught() -> None:
    """Control: connect-the-dots masses lie above the profile between lattice points, so they are no lower bound."""
    law, profile = gaussian("1")
    high = upper(cut(law, Direction.REMOVE, Place(0.25, 0.0, -40, 40)), 0.0)
    assert delta_of(high, 0.125) > profile(0.125) * (1 + 1e-3)


def test_rounding_up_is_coarser_than_connecting_the_dots() -> None:
    """Control for the order of accuracy: moving every cell to its right edge is off by the step, not by its square."""
    law, profile = gaussian("1")
    place = Place(1 / 256, 0.0, -4000, 4000)
    cells = cut(law, Direction.REMOVE, place)
    high = upper(cells, 0.0)
    rounded = upper(
        type(cells)(**{**{f: getattr(cells, f) for f in cells.__slots__}, "margin": cells.margin + 1.0}), 0.0
    )
    assert delta_of(rounded, 0.5) - profile(0.5) > 100 * (delta_of(high, 0.5) - profile(0.5))


@pytest.mark.parametrize(
    "law", [ResponseLaw(Fraction(1, 3)), discrete_gaussian_law("2.5"), discrete_gaussian_law("0.7", 3)]
)
@pytest.mark.parametrize("order", [0.0, 2.0, 30.0])
def test_laws_on_their_own_lattice_keep_their_masses(law: Law, order: float) -> None:
    """Nothing is spread where all losses lie on the lattice; only rounding is charged, in the safe direction."""
    lattice = law.lattice(Direction.REMOVE)
    assert lattice is not None
    cells = cut(law, Direction.REMOVE, Place(float(lattice.step), float(lattice.offset), -40, 40))
    low, high = lower(cells, order), upper(cells, order)
    assert np.allclose(low.weights[1:-1], high.weights[1:-1], rtol=1e-6, atol=1e-300)  # tails lie at the ends
    assert low.shift <= 0 <= high.shift < 1e-12
    assert low.log_moment <= high.log_moment <= low.log_moment + 1e-6


@pytest.mark.parametrize(
    ("ratio", "step", "first"),
    [("1/10", 0.03, -4), ("1/10", 0.3, -1), ("1/3", 0.01, -34), ("1/3", 0.1, -4), ("1/10", 0.025, 0), ("1/3", 0.03, 2)],
)
def test_a_lower_law_never_has_more_mass_than_there_is(ratio: str, step: float, first: int) -> None:
    """Also where the lattice begins with a filled cell; a sharpened one would end up with a quarter too much."""
    place = Place(step, 0.0, first, math.ceil(1.5 / step))
    law = lower(cut(LaplaceLaw(Fraction(ratio)), Direction.REMOVE, place), 0.0)
    assert 0 < math.exp(law.log_moment) <= 1 + 1e-12
    for epsilon in (-0.2, -0.05, 0.0, 0.03, 0.06, 0.09, 0.3):
        base = float(laplace_delta(Fraction(ratio), abs(epsilon)))
        truth = base if epsilon >= 0 else 1 - math.exp(epsilon) + math.exp(epsilon) * base
        assert delta_of(law, epsilon) <= truth + 1e-12
