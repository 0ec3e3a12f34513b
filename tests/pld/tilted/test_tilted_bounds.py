"""The engine's bounds hold the truth: closed forms, exact sums, published values and the other engine."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import (
    gaussians_delta,
    gaussians_epsilon,
    mixed_epsilon,
    optimal_heterogeneous_epsilon,
    optimal_homogeneous_delta,
    optimal_homogeneous_epsilon,
)
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import DiscreteGaussian, DiscreteLaplace, Event, Gaussian, Laplace, RandomizedResponse, Repeated
from dosimeter.exact import Bound
from dosimeter.notions import GDP, ApproxDP
from dosimeter.notions.profiles import laplace_epsilon
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.gaussian import gaussian_law
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Law
from dosimeter.pld.laws.mixture import MixtureLaw
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw
from dosimeter.pld.tilted import engine
from dosimeter.pld.tilted.bounds import tilted_delta, tilted_epsilon

Parts = list[tuple[Law | Event, int]]


def sampled(rate: str, sigma: str) -> PoissonSampledLaw:
    """Poisson sampling of Gaussian noise."""
    return PoissonSampledLaw(Fraction(rate), gaussian_law(sigma))


def width(bound: Bound) -> Decimal:
    """Relative."""
    return (bound.upper - bound.lower) / bound.upper


# Values by an independent method (inversion of the moment generating function, 60 digits or adaptive quadrature).
PUBLISHED = [
    ([(Gaussian("1"), 1)], "1e-5", 4.3771780956812245),
    ([(Gaussian("20"), 10)], "1e-5", 0.5612849328807854),
    ([(Gaussian("20"), 1000)], "1e-5", 7.511275900744782),
    ([(Gaussian("5"), 1000)], "1e-5", 46.2112101912181),
    ([(Gaussian("20"), 1000)], "1e-15", 13.449328831550744),
    ([(Gaussian("20"), 1000)], "1e-100", 34.687727746371465),
    ([(Gaussian("1000"), 10**6)], "1e-6", 4.886554117462212),
    ([(sampled("0.01", "0.8"), 1000)], "1e-5", 3.14101413945482),
    ([(sampled("0.01", "0.8"), 10_000)], "1e-5", 10.053634770653806),
    ([(sampled("256/60000", "1.1"), 14_062)], "1e-5", 2.3815969214244337),
    ([(sampled("0.01", "0.8"), 1000)], "1e-12", 6.992031146182323),
    ([(sampled("0.01", "0.8"), 1000)], "1e-20", 11.176232935975918),
    ([(RandomizedResponse("0.1"), 1000)], "1e-6", 19.344671447993044),
    ([(sampled("0.2", "1"), 10)], "1e-5", 4.98421340),
    ([(sampled("0.1", "0.5"), 100)], "1e-5", 31.3709950),
    ([(sampled("0.00033", "4"), 10_000)], "1.13e-18", 0.0671854),
]


@pytest.mark.parametrize(("parts", "delta", "truth"), PUBLISHED)
def test_bounds_hold_published_values(parts: Parts, delta: str, truth: float) -> None:
    """Gaussian, sampled and lattice laws, up to 1e6 runs and down to delta 1e-100, each within 2e-4 of the truth."""
    bound = tilted_epsilon(parts, delta, accuracy="1e-4")
    assert bound.lower <= Decimal(truth) * (1 + Decimal("1e-8"))
    assert bound.upper >= Decimal(truth) * (1 - Decimal("1e-8"))
    assert width(bound) < Decimal("2e-4")


def test_rare_sampling_keeps_its_scale() -> None:
    """q = 1e-6 over a thousand runs: epsilon 2.4e-4 is enclosed within two percent, not rounded up to a grid."""
    bound = tilted_epsilon([(sampled("1e-6", "1"), 1000)], "1e-10", accuracy="0.02")
    assert bound.lower <= Decimal("2.41740651054e-4") <= bound.upper
    assert width(bound) < Decimal("0.02")


@given(
    st.lists(st.tuples(st.decimals("0.5", "40", places=1), st.integers(1, 50)), min_size=1, max_size=3),
    st.sampled_from(["1e-3", "1e-9", "1e-40"]),
)
@settings(max_examples=15, deadline=None)
def test_gaussian_sums_hold_the_closed_form(parts: list[tuple[Decimal, int]], delta: str) -> None:
    """Folded Gaussians, epsilon and delta, against ball arithmetic."""
    events = [(Gaussian(sigma), times) for sigma, times in parts]
    exact = gaussians_epsilon(events, delta)
    bound = tilted_epsilon(events, delta, accuracy="1e-3")
    assert bound.lower <= exact <= bound.upper * (1 + Decimal("1e-20"))
    level = exact / 2
    back = tilted_delta(events, level, accuracy="1e-2")
    assert back.lower <= gaussians_delta(events, level) * (1 + Decimal("1e-15"))
    assert back.upper >= gaussians_delta(events, level) * (1 - Decimal("1e-15"))


@given(st.decimals("0.01", "2", places=2), st.integers(1, 300), st.sampled_from(["0", "1e-7"]), st.floats(-12, -1))
@settings(max_examples=20, deadline=None)
def test_responses_hold_the_exact_sum(epsilon: Decimal, count: int, own: str, log10_delta: float) -> None:
    """Lattice laws with and without infinite losses, against the exact binomial sum, to ten digits."""
    delta = Decimal(10) ** Decimal(repr(log10_delta))
    part = ApproxDP(epsilon, own)  # type: ignore[arg-type]
    try:
        exact = optimal_homogeneous_epsilon(part, count, delta)
    except NoGuaranteeError:
        return
    if delta < Decimal("1.01") * count * Decimal(own):
        return  # so close to the failures that a float cannot tell what is left
    bound = tilted_epsilon([(RandomizedResponse(epsilon, own), count)], delta, accuracy="1e-9")
    assert bound.lower <= exact <= bound.upper
    assert bound.upper - bound.lower <= exact * Decimal("1e-5")
    level = exact / 2
    back = tilted_delta([(RandomizedResponse(epsilon, own), count)], level)
    assert back.lower <= optimal_homogeneous_delta(part, count, level) <= back.upper


def test_unequal_responses_hold_the_optimum() -> None:
    """Off each other's lattices: the exact optimum of eighteen unequal mechanisms lies inside."""
    epsilons = [Decimal("0.1") + Decimal(i * i) / 997 for i in range(18)]
    exact = optimal_heterogeneous_epsilon(epsilons, "1e-6")
    bound = tilted_epsilon([(RandomizedResponse(e), 1) for e in epsilons], "1e-6", accuracy="1e-3")
    assert bound.lower <= exact.upper
    assert exact.lower <= bound.upper
    assert width(bound) < Decimal("5e-3")


def test_a_mixture_of_families_holds_the_joint_profile() -> None:
    """Gaussian noise with randomized responses: the exact average over the responses lies inside."""
    exact = mixed_epsilon([(GDP("0.05"), 100)], [("0.1", 50)], "1e-7")  # type: ignore[arg-type]
    bound = tilted_epsilon([(Gaussian("20"), 100), (RandomizedResponse("0.1"), 50)], "1e-7", accuracy="1e-4")
    assert bound.lower <= exact <= bound.upper


@pytest.mark.parametrize("delta", ["0.3", "1e-3", "1e-16"])
def test_one_laplace_release(delta: str) -> None:
    """1 + 2 log(1 - delta), below the pure bound."""
    bound = tilted_epsilon([Laplace("1")], delta)
    assert bound.lower <= laplace_epsilon(1, delta) <= bound.upper <= 1


def test_pure_bounds_stay_finite_at_delta_zero() -> None:
    """Ten Laplace releases of scale 1 cost exactly 10 at delta 0 and no more than 10 at 1e-16."""
    assert tilted_epsilon([(Laplace("1"), 10)], 0) == Bound(Decimal(10), Decimal(10))
    assert Decimal("9.99") < tilted_epsilon([(Laplace("1"), 10)], "1e-16").upper <= 10
    with pytest.raises(NoGuaranteeError, match="bounded"):
        tilted_epsilon([Gaussian("1")], 0)


def test_delta_may_be_far_below_any_float() -> None:
    """1000 Gaussian releases at delta 1e-1000: epsilon 108.34037139904379."""
    bound = tilted_epsilon([(Gaussian("20"), 1000)], log10_delta=-1000)
    assert bound.lower <= Decimal("108.3403713990437911") <= bound.upper
    assert width(bound) < Decimal("1e-5")


CROSS: list[Parts] = [
    [(sampled("0.05", "1.2"), 200), (LaplaceLaw(Fraction(1, 10)), 20)],
    [(FixedSizeSampledLaw(Fraction(1, 20), gaussian_law("2")), 100)],
    [(FixedSizeSampledLaw(Fraction(1, 10), LaplaceLaw(Fraction(1))), 10)],
    [(PoissonSampledLaw(Fraction(1, 10), LaplaceLaw(Fraction(1))), 10)],
    [(MixtureLaw((Fraction(1, 4), Fraction(3, 4)), (gaussian_law(1), LaplaceLaw(Fraction(1, 5)))), 30)],
    [(DiscreteGaussian("3"), 20), (DiscreteLaplace("7"), 5)],
    [(Repeated(Gaussian("10"), 5), 4), (RandomizedResponse("0.3", "1e-9"), 7)],
]


@pytest.mark.parametrize("parts", CROSS)
@pytest.mark.parametrize("delta", ["1e-4", "1e-8"])
def test_two_engines_agree(parts: Parts, delta: str) -> None:
    """The tilted transform and the saddle line share only the laws; their intervals overlap, in both directions."""
    accountant = Accountant()
    for what, times in parts:
        accountant.append(what, times)
    for direction in ("remove", "add"):
        other = accountant.epsilon(delta, direction=direction)
        ours = tilted_epsilon(parts, delta, direction=direction, accuracy="1e-3")
        assert ours.lower <= other.upper
        assert other.lower <= ours.upper
        level = other.upper / 2
        mine, theirs = (
            tilted_delta(parts, level, direction=direction, accuracy="0.05"),
            accountant.delta(level, direction=direction),
        )
        assert mine.lower <= theirs.upper
        assert theirs.lower <= mine.upper


def test_both_directions_are_looked_at() -> None:
    """Without a direction the answer is the larger one."""
    parts: Parts = [(sampled("0.1", "1"), 50)]
    both = tilted_epsilon(parts, "1e-5", accuracy="1e-3")
    each = [tilted_epsilon(parts, "1e-5", direction=d, accuracy="1e-3") for d in ("remove", "add")]
    assert each[0].lower > each[1].upper
    assert both == each[0]


def test_tilt_and_rounding_errors_matter() -> None:
    """Control: without a tilt, and with the transform's error left out, delta 1e-20 comes out wrong by far."""
    from dataclasses import replace

    from dosimeter.pld.laws.law import Direction
    from dosimeter.pld.tilted.saddle import for_delta

    direct = engine.fold({sampled("0.01", "0.8"): 1000}, Direction.REMOVE)
    tilt = replace(for_delta(direct.counts, Direction.REMOVE, math.log(1e-20), 1e-3), order=1e-9)
    sides = direct.sides(tilt, 2e-3)
    assert sides is not None
    _, above = sides
    honest = above.log_delta(11.176)
    careless = replace(above, error=0.0, tail=0.0, log_infinite=-math.inf).log_delta(11.176)
    assert honest > math.log(1e-20)
    assert abs(careless - math.log(1e-20)) > 1.0


@pytest.mark.parametrize("count", [1, 10])
def test_infinite_losses_are_kept_apart(count: int) -> None:
    """Below the chance of an infinite loss nothing is enough; just above it, something is."""
    parts: Parts = [(RandomizedResponse("0.5", "1e-6"), count)]
    with pytest.raises(NoGuaranteeError, match="larger delta"):
        tilted_epsilon(parts, Decimal("0.9e-6") * count)
    assert tilted_epsilon(parts, Decimal("1.1e-6") * count).upper <= Decimal("0.5") * count + Decimal("1e-9")


def test_more_runs_cost_more() -> None:
    """Bounds grow with the count."""
    bounds = [tilted_epsilon([(sampled("0.05", "1"), n)], "1e-6", accuracy="1e-3") for n in (1, 5, 25, 125)]
    assert all(a.upper < b.lower for a, b in itertools.pairwise(bounds))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tilted_epsilon([], "1e-5"),
        lambda: tilted_epsilon([Gaussian("1")]),
        lambda: tilted_epsilon([Gaussian("1")], "1e-5", log10_delta=-5),
        lambda: tilted_epsilon([Gaussian("1")], log10_delta=1),
        lambda: tilted_epsilon([Gaussian("1")], "1e-5", accuracy="1e-12"),
        lambda: tilted_epsilon([(Gaussian("1"), 0)], "1e-5"),
        lambda: tilted_delta([Gaussian("1")], "-1"),
        lambda: tilted_delta([Gaussian("1")], "nan"),
    ],
)
def test_nonsense_is_refused(call: object) -> None:
    """What is not a composition or not a question is named and refused."""
    with pytest.raises(InputError):
        call()  # type: ignore[operator]
