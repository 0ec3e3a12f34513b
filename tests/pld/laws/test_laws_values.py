"""Laws are exact values: read from text, equal by their parameters, saved without loss, and refused when wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    DiscreteLaplace,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
)
from dosimeter.notions import GDP, ZCDP, ApproxDP, PureDP
from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.laws.bounded_range import BoundedRangeLaw
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.discrete_laplace import DiscreteLaplaceLaw
from dosimeter.pld.laws.events import laws_of
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import GaussianLaw, gaussian_law
from dosimeter.pld.laws.jsonform import law_from_json, law_to_json
from dosimeter.pld.laws.laplace import LaplaceLaw, laplace_law
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.mixture import MixtureLaw
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw, poisson_sampled

EXAMPLES: list[Law] = [
    gaussian_law("0.1", 3),
    GaussianLaw(Fraction(1, 3), Fraction(1, 7)),
    laplace_law(3),
    BoundedRangeLaw(Fraction(2)),
    ResponseLaw(Fraction(1, 3), Fraction(1, 10**9)),
    DiscreteGaussianLaw(Fraction(5, 3), 2),
    DiscreteLaplaceLaw(Fraction(5, 3), 2),
    FinitePairLaw((Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 2), Fraction(1, 2))),
    PoissonSampledLaw(Fraction(1, 3), gaussian_law(1)),
    FixedSizeSampledLaw(Fraction(1, 3), laplace_law(1)),
    MixtureLaw((Fraction(1, 3), Fraction(2, 3)), (laplace_law(1), gaussian_law(1))),
    AllocatedGaussianLaw(12, Fraction(1, 3)),
]


@pytest.mark.parametrize("law", EXAMPLES, ids=[law.kind for law in EXAMPLES])
def test_a_law_survives_its_json_form(law: Law) -> None:
    again = law_from_json(law_to_json(law))
    assert again == law
    assert hash(again) == hash(law)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        {},
        {"kind": "gauss"},
        {"kind": "gaussian"},
        {"kind": "gaussian", "mu_squared": "1", "delta": "0", "more": "1"},
        {"kind": "gaussian", "mu_squared": "-1", "delta": "0"},
        {"kind": "gaussian", "mu_squared": "nan", "delta": "0"},
        {"kind": "laplace", "epsilon": []},
        {"kind": "poisson_sampled", "rate": "1/2", "base": {"kind": "mixture"}},
    ],
)
def test_json_of_anything_else_is_refused(bad: object) -> None:
    with pytest.raises(InputError):
        law_from_json(bad)


def test_parameters_are_exact_texts() -> None:
    assert gaussian_law("0.1") == GaussianLaw(Fraction(100))
    assert gaussian_law(0.1) == gaussian_law("1/10")
    assert laplace_law("0.3") == LaplaceLaw(Fraction(10, 3))
    assert PoissonSampledLaw("1/3", gaussian_law(1)).rate == Fraction(1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: gaussian_law(0),
        lambda: gaussian_law(-1),
        lambda: gaussian_law("nan"),
        lambda: GaussianLaw(Fraction(1), Fraction(1)),
        lambda: LaplaceLaw(Fraction(0)),
        lambda: ResponseLaw(Fraction(0)),
        lambda: PoissonSampledLaw(Fraction(0), gaussian_law(1)),
        lambda: PoissonSampledLaw(Fraction(13, 10), gaussian_law(1)),
        lambda: PoissonSampledLaw(Fraction(1, 2), MixtureLaw((Fraction(1),), (gaussian_law(1),))),  # type: ignore[arg-type]
        lambda: DiscreteLaplaceLaw(Fraction(1), 0),
        lambda: FinitePairLaw((Fraction(1, 2), Fraction(1, 3)), (Fraction(1, 2), Fraction(1, 2))),
        lambda: FinitePairLaw((Fraction(1),), (Fraction(1, 2), Fraction(1, 2))),
        lambda: FinitePairLaw((Fraction(3, 2), Fraction(-1, 2)), (Fraction(1, 2), Fraction(1, 2))),
        lambda: MixtureLaw((Fraction(1, 2),), (gaussian_law(1),)),
    ],
)
def test_impossible_laws_are_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]


def test_a_pair_that_misses_one_pays_for_it_in_delta() -> None:
    """Rounded probabilities are divided out, and the misses are charged to both infinite atoms."""
    third = Fraction("0.3333333333")
    law = FinitePairLaw((third, third, third), (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))
    missed = 1 - 3 * third
    assert law.infinite(Direction.REMOVE) == law.infinite(Direction.ADD) == missed
    total = math.exp(law.masses(Direction.REMOVE, np.array([-math.inf, math.inf])).log_p[0])
    assert math.isclose(total, 1 - float(missed), rel_tol=1e-12)


def test_sampling_everything_is_the_base_and_a_sample_of_a_sample_is_one_sample() -> None:
    whole = PoissonSampledLaw(Fraction(1), gaussian_law(2))
    assert whole.gaussian == Fraction(1, 4)
    assert whole.symmetric
    assert poisson_sampled("1/2", poisson_sampled("1/5", gaussian_law(1))) == poisson_sampled("1/10", gaussian_law(1))
    assert FixedSizeSampledLaw(Fraction(1), gaussian_law(2)).gaussian == Fraction(1, 4)


@pytest.mark.parametrize(
    ("law", "direction", "highest"),
    [
        (laplace_law(2), Direction.REMOVE, 0.5),
        (ResponseLaw(Fraction(1)), Direction.ADD, 1.0),
        (DiscreteLaplaceLaw(Fraction(2), 3), Direction.REMOVE, 1.5),
        (PoissonSampledLaw(Fraction(1, 10), laplace_law(1)), Direction.REMOVE, math.log1p(0.1 * math.expm1(1))),
        (PoissonSampledLaw(Fraction(1, 10), laplace_law(1)), Direction.ADD, -math.log1p(0.1 * math.expm1(-1))),
        (PoissonSampledLaw(Fraction(1, 10), gaussian_law(1)), Direction.ADD, -math.log(0.9)),
        (FixedSizeSampledLaw(Fraction(1, 10), laplace_law(1)), Direction.ADD, math.log1p(0.1 * math.expm1(1))),
    ],
)
def test_bounded_losses_know_their_end(law: Law, direction: Direction, highest: float) -> None:
    ends = law.highest(direction)
    assert ends is not None
    assert ends[0] <= ends[1]
    assert math.isclose(float(ends[1]), highest, rel_tol=1e-14)
    assert math.isclose(law.support(direction)[1], highest, rel_tol=1e-13)


def test_unbounded_losses_have_no_end() -> None:
    assert gaussian_law(1).highest(Direction.REMOVE) is None
    assert PoissonSampledLaw(Fraction(1, 10), gaussian_law(1)).highest(Direction.REMOVE) is None


def test_events_become_laws_with_their_counts() -> None:
    event = Composed((Gaussian(2), Repeated(Laplace(4, 2), 3), Repeated(Repeated(Gaussian(2), 5), 2)))
    assert dict(laws_of(event)) == {gaussian_law(2): 11, laplace_law(2): 3}
    assert laws_of(RandomizedResponse(1, "1e-6")) == ((ResponseLaw(Fraction(1), Fraction(1, 10**6)), 1),)
    assert laws_of(DiscreteLaplace(3, 2)) == ((DiscreteLaplaceLaw(Fraction(3), 2), 1),)
    assert laws_of(DiscreteGaussian(3)) == ((DiscreteGaussianLaw(Fraction(9)), 1),)
    assert laws_of(FixedSizeSampled(1, 4, Gaussian(1))) == ((FixedSizeSampledLaw(Fraction(1, 4), gaussian_law(1)), 1),)
    assert laws_of(Declared(PureDP(1), "told so")) == ((ResponseLaw(Fraction(1)), 1),)
    assert laws_of(Declared(ApproxDP(0, 0), "nothing")) == ()
    assert laws_of(Declared(GDP("0.5", "1e-9"), "told so")) == ((GaussianLaw(Fraction(1, 4), Fraction(1, 10**9)), 1),)


def test_several_gaussians_on_one_sample_are_one_gaussian() -> None:
    event = PoissonSampled("0.1", Repeated(Gaussian(2), 4))
    assert laws_of(event) == ((PoissonSampledLaw(Fraction(1, 10), gaussian_law(1)), 1),)
    nested = PoissonSampled("0.1", PoissonSampled("0.5", Laplace(1)))
    assert laws_of(nested) == ((PoissonSampledLaw(Fraction(1, 20), laplace_law(1)), 1),)


@pytest.mark.parametrize(
    "event",
    [
        Declared(ZCDP(1), "told so"),
        RandomAllocation(10, 1, Laplace(1)),
        PoissonSampled("0.1", Composed((Laplace(1), Gaussian(1)))),
        DiscreteGaussian(3, 2),
        DiscreteGaussian(3, "0.5"),
    ],
    ids=["zcdp", "allocation", "two on one sample", "vector", "less than a step"],
)
def test_events_without_a_dominating_pair_are_refused(event: object) -> None:
    """A zCDP bound is not a pair of distributions; a move of an integer vector can have several shapes."""
    with pytest.raises(NoGuaranteeError):
        laws_of(event)  # type: ignore[arg-type]


def test_bounded_range_dominates_each_of_its_two_point_losses() -> None:
    """The envelope's profile is at least that of every two-point law t, t - eta, at every epsilon."""
    eta = 1.5
    for epsilon in np.linspace(-eta, eta, 31):
        envelope = (math.exp(eta / 2) - math.exp(epsilon / 2)) ** 2 / math.expm1(eta)
        for t in np.linspace(0.01, eta - 0.01, 30):
            p = (math.exp(eta) - math.exp(t)) / math.expm1(eta)
            point = p * max(1 - math.exp(epsilon - t), 0) + (1 - p) * max(1 - math.exp(epsilon - t + eta), 0)
            assert point <= envelope + 1e-12
