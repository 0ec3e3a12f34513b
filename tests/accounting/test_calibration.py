"""Calibration: the right amount of noise at every epsilon, by name, for the stated neighbours."""

import inspect
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.vectors import truth

from dosimeter.accounting import calibration as cal
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import GDP, PureDP
from dosimeter.notions.convert import gdp_to_approx, pure_to_zcdp
from dosimeter.notions.profiles import hockey_stick


def close(ours: Decimal, value: float | str, relative: float = 1e-9) -> bool:
    return abs(float(ours) / float(value) - 1) <= relative


SIGMAS = [
    ("20", "1e-5", "0.290041418032796"),
    ("1", "1e-6", "4.22467888932684"),
    ("1", "1e-5", "3.73063163481594"),
    ("0.01", "1e-5", "243.785437675678"),
    ("2", "1e-5", "1.99381244564354"),
    ("4", "1e-5", "1.08116184952024"),
    ("8", "1e-5", "0.600229072198952"),
]


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), SIGMAS)
def test_gaussian_sigma_is_the_exact_one(epsilon: str, delta: str, sigma: str) -> None:
    """The noise at small, moderate and large epsilon is the analytic one, to 12 digits."""
    assert close(cal.gaussian_sigma(epsilon=epsilon, delta=delta, l2_sensitivity=1), sigma, 1e-12)


positive = st.decimals(min_value=Decimal("1e-6"), max_value=Decimal("1e4"), allow_nan=False, allow_infinity=False)
small = st.integers(1, 300).flatmap(lambda k: st.integers(1, 9).map(lambda d: Decimal(f"{d}e-{k}")))


@given(st.one_of(st.just(Decimal(0)), positive), small, positive)
@settings(max_examples=50, deadline=None)
@example(Decimal(0), Decimal("1e-300"), Decimal(1))
@example(Decimal(10) ** 4, Decimal("1e-300"), Decimal("1e-6"))
def test_sigma_suffices_and_a_little_less_does_not(epsilon: Decimal, delta: Decimal, sensitivity: Decimal) -> None:
    """The exact delta at the calibrated sigma is at most the target; one part in 10^15 less noise exceeds it."""
    sigma = cal.gaussian_sigma(epsilon=epsilon, delta=delta, l2_sensitivity=sensitivity)
    with mpmath.workdps(330 if delta < Decimal("1e-40") else 90):
        mu = truth.m(sensitivity) / truth.m(sigma)
        assert truth.gaussian_delta(mu, epsilon) <= truth.m(delta)
        assert truth.gaussian_delta(mu * (1 + mpmath.mpf("1e-15")), epsilon) > truth.m(delta)


def test_delta_epsilon_and_sigma_are_one_curve() -> None:
    """Delta of the calibrated sigma is the target, and epsilon of that sigma is the one asked for."""
    sigma = Decimal("4.22467888932684")
    assert close(cal.gaussian_delta(sigma=sigma, epsilon=1, l2_sensitivity=1), "1e-6", 1e-8)
    assert close(cal.gaussian_epsilon(sigma=sigma, delta="1e-6", l2_sensitivity=1), "1", 1e-8)
    assert close(cal.gaussian_epsilon(sigma="0.05", delta="1e-5", l2_sensitivity=1), "284.391849497742", 1e-12)


@pytest.mark.parametrize("scale", ["1e-3", "1", "2", "7/3", "1e6"])
def test_only_sensitivity_over_sigma_matters(scale: str) -> None:
    """Noise of 2 at sensitivity 2 protects like noise of 1 at sensitivity 1."""
    epsilon = cal.gaussian_epsilon(sigma=scale, delta="1e-5", l2_sensitivity=scale)
    assert close(epsilon, "4.37717809568122", 1e-12)


def test_arguments_cannot_be_swapped() -> None:
    """Every calibration takes its numbers by name only."""
    functions = [f for _, f in inspect.getmembers(cal, inspect.isfunction) if f.__module__ == cal.__name__]
    public = [f for f in functions if not f.__name__.startswith("_")]
    assert len(public) >= 10
    for function in public:
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert kinds == {inspect.Parameter.KEYWORD_ONLY}, function.__name__
    with pytest.raises(TypeError):
        cal.gaussian_sigma(1, "1e-5", 1)  # type: ignore[misc]
    swapped = cal.gaussian_delta(sigma=1, epsilon="4.22467888932684", l2_sensitivity=1)
    assert close(swapped, "1.90127724826e-05", 1e-6)  # what a swap would have reported instead of 1e-6


@pytest.mark.parametrize(
    ("relation", "factor"),
    [("add_remove", 1), ("zero_out", 1), ("replace_one", 2), (NeighbouringRelation.REPLACE_ONE, 2)],
)
def test_replacing_moves_a_clipped_sum_twice_as_far(relation: str, factor: int) -> None:
    """A vector of norm C can be added, removed or zeroed at distance C, exchanged at distance 2 C."""
    assert cal.clipped_sum_sensitivity(clip_norm="0.3", neighbouring_relation=relation) == Decimal("0.3") * factor
    mean = cal.clipped_mean_sensitivity(clip_norm=1, denominator=4, neighbouring_relation=relation)
    assert mean == Decimal("0.25") * factor


def test_replace_one_needs_twice_the_noise() -> None:
    """A clip norm used as a sensitivity under replace-one would claim a rho four times too small."""
    half = cal.clipped_sum_sensitivity(clip_norm=1, neighbouring_relation="add_remove")
    full = cal.clipped_sum_sensitivity(clip_norm=1, neighbouring_relation="replace_one")
    assert cal.zcdp_sigma(rho="0.5", l2_sensitivity=full) == 2 * cal.zcdp_sigma(rho="0.5", l2_sensitivity=half)
    with pytest.raises(InputError, match="neighbouring_relation"):
        cal.clipped_sum_sensitivity(clip_norm=1, neighbouring_relation="bounded")


@pytest.mark.parametrize(
    ("epsilon", "delta", "worse"), [("10", "1e-5", 2e-5), ("20", "1e-5", 1e-3), ("100", "1e-9", 0.1)]
)
def test_the_classical_formula_is_refused_where_it_fails(epsilon: str, delta: str, worse: float) -> None:
    """At a large epsilon the textbook's noise exceeds delta, and the message says by how much and what to use."""
    with mpmath.workdps(60):
        sigma = mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(delta))) / mpmath.mpf(epsilon)
        assert truth.gaussian_delta(1 / sigma, epsilon) > worse
    with pytest.raises(NoGuaranteeError, match="use gaussian_sigma"):
        cal.classical_gaussian_sigma(epsilon=epsilon, delta=delta, l2_sensitivity=1)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "0.5", "0.99"])
def test_the_classical_formula_is_never_less_than_the_exact_one(epsilon: str) -> None:
    """Where the textbook's formula is proven it holds, with more noise than needed."""
    classical = cal.classical_gaussian_sigma(epsilon=epsilon, delta="1e-5", l2_sensitivity=1)
    assert classical > cal.gaussian_sigma(epsilon=epsilon, delta="1e-5", l2_sensitivity=1)


@pytest.mark.parametrize(("rho", "sigma"), [("0.02", "5"), ("0.5", "1"), ("2", "0.5"), ("0.125", "2")])
def test_zcdp_sigma(rho: str, sigma: str) -> None:
    """sigma = sensitivity / sqrt(2 rho), exact where the root is."""
    assert cal.zcdp_sigma(rho=rho, l2_sensitivity=1) == Decimal(sigma)


@given(positive, positive)
@settings(max_examples=60, deadline=None)
def test_zcdp_and_laplace_noise_is_not_too_small(budget: Decimal, sensitivity: Decimal) -> None:
    """Charging the calibrated noise exactly never exceeds the budget it was calibrated for."""
    sigma = Fraction(cal.zcdp_sigma(rho=budget, l2_sensitivity=sensitivity))
    assert Fraction(sensitivity) ** 2 / (2 * sigma**2) <= Fraction(budget)
    scale = Fraction(cal.laplace_scale(epsilon=budget, l1_sensitivity=sensitivity))
    assert Fraction(sensitivity) / scale <= Fraction(budget)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "scale"), [(10, 65536, "6553.6"), ("0.1", 3, "30"), ("1/3", 1, "3")]
)
def test_laplace_scale(epsilon: str, sensitivity: int, scale: str) -> None:
    """scale = sensitivity / epsilon, not truncated to whole numbers."""
    ours = cal.laplace_scale(epsilon=epsilon, l1_sensitivity=sensitivity)
    assert close(ours, scale, 1e-15)
    assert ours >= Decimal(scale)


TRUTHS = [
    ("0.75", 2, "another_value", "1.09861228866811"),  # three in four, else the wrong answer: log 3
    ("0.75", 2, "any_value", "1.94591014905531"),  # three in four, else a fair coin: log 7
    ("1/2", 2, "another_value", "0"),
    ("0", 2, "any_value", "0"),
    ("0.25", 2, "another_value", "1.09861228866811"),  # lying three times in four says as much
    ("0.5", 5, "another_value", "1.38629436111989"),  # (1/2)/(1/8)
    ("0.5", 5, "any_value", "1.79175946922806"),  # (3/5)/(1/10)
    ("1/3", 3, "another_value", "0"),
]


@pytest.mark.parametrize(("p", "k", "otherwise", "epsilon"), TRUTHS)
def test_randomized_response_epsilon(p: str, k: int, otherwise: str, epsilon: str) -> None:
    """The two ways not to tell the truth cost differently, and each is what its table of probabilities says."""
    ours = cal.randomized_response_epsilon(truth_probability=p, categories=k, otherwise=otherwise)
    assert abs(float(ours) - float(epsilon)) < 1e-13
    share = Fraction(p)
    truth_, other = (
        (share, (1 - share) / (k - 1))
        if otherwise == "another_value"
        else (
            share + (1 - share) / k,
            (1 - share) / k,
        )
    )
    rest = [other] * (k - 2)
    assert hockey_stick([truth_, other, *rest], [other, truth_, *rest], ours) < Decimal("1e-20")
    if ours:
        assert hockey_stick([truth_, other, *rest], [other, truth_, *rest], ours * Decimal("0.999")) > 0


@given(st.decimals(Decimal("1e-9"), Decimal(200)), st.integers(2, 1000), st.sampled_from(list(cal.Otherwise)))
@settings(max_examples=60, deadline=None)
def test_randomized_response_inverts(epsilon: Decimal, k: int, otherwise: cal.Otherwise) -> None:
    """Telling the truth as often as epsilon allows costs at most epsilon, and nearly all of it."""
    p = cal.randomized_response_truth(epsilon=epsilon, categories=k, otherwise=otherwise)
    if p < 1 and (otherwise is cal.Otherwise.ANY_VALUE or p > Decimal(1) / k):
        spent = cal.randomized_response_epsilon(truth_probability=p, categories=k, otherwise=otherwise)
        if epsilon < 40:
            assert spent <= epsilon * (1 + Decimal("1e-24"))
            assert spent >= epsilon * (1 - Decimal("1e-5"))


@pytest.mark.parametrize(("p", "otherwise"), [("1", "another_value"), ("0", "another_value"), ("1", "any_value")])
def test_answers_that_exclude_a_value_have_no_epsilon(p: str, otherwise: str) -> None:
    """A respondent who never says some value gives it away: epsilon is infinite, and refused."""
    with pytest.raises(NoGuaranteeError, match="infinite"):
        cal.randomized_response_epsilon(truth_probability=p, otherwise=otherwise)


def test_binary_randomized_response_is_the_worst_case_of_its_epsilon() -> None:
    """The truth probability e^eps/(1 + e^eps) is the mechanism that the pure-DP conversions are tight for."""
    epsilon = cal.randomized_response_epsilon(truth_probability="0.75")
    rho = pure_to_zcdp(PureDP(epsilon)).rho
    assert close(rho, mpmath.log(3) * 0.5, 1e-14)  # the divergence (3/4 - 1/4) log 3


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "0.5"), (1, "3"), (4, "1"), (2, "8")])
def test_discrete_gaussian_sigma_uses_up_delta(sensitivity: int, epsilon: str) -> None:
    """At the calibrated sigma the enumerated delta of one integer is the target, not above it."""
    sigma = cal.discrete_gaussian_sigma(epsilon=epsilon, delta="1e-6", sensitivity=sensitivity)
    with mpmath.workdps(60):
        s, e = truth.m(sigma), truth.m(epsilon)
        weight = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(-400, 401)]
        shifted = [mpmath.exp(-(mpmath.mpf(k - sensitivity) ** 2) / (2 * s * s)) for k in range(-400, 401)]
        gap = sum(max(0, a - mpmath.exp(e) * b) for a, b in zip(weight, shifted, strict=True)) / sum(weight)
        assert gap <= mpmath.mpf("1e-6")
        assert gap > mpmath.mpf("1e-6") * (1 - mpmath.mpf("1e-20"))


def test_gaussians_with_their_own_noise_add_up_in_gdp() -> None:
    """Fixed Gaussian releases of different noise compose to one Gaussian, exactly."""
    total = GDP(1).compose(GDP("0.5")).compose(GDP("0.25"))
    assert close(gdp_to_approx(total, target_delta="1e-5").epsilon, "5.12736825681198", 1e-12)
    sixty = GDP("0.05").repeat(60)
    assert close(gdp_to_approx(sixty, target_delta="0.002").epsilon, "0.902939643005531", 1e-12)


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": "nan", "delta": "1e-5", "l2_sensitivity": 1},
        {"epsilon": 1, "delta": "1", "l2_sensitivity": 1},
        {"epsilon": 1, "delta": "-1e-5", "l2_sensitivity": 1},
        {"epsilon": 1, "delta": "1e-5", "l2_sensitivity": 0},
        {"epsilon": -1, "delta": "1e-5", "l2_sensitivity": 1},
    ],
)
def test_impossible_inputs_are_refused_by_name(arguments: dict[str, str]) -> None:
    """A value outside its range is named in the message, and nothing is calibrated."""
    with pytest.raises(InputError, match=r"epsilon|delta|l2_sensitivity"):
        cal.gaussian_sigma(**arguments)  # type: ignore[arg-type]


def test_no_gaussian_is_pure() -> None:
    """Delta 0 has no Gaussian noise, in any calibration that needs a delta."""
    with pytest.raises(NoGuaranteeError, match="delta=0"):
        cal.gaussian_sigma(epsilon=1, delta=0, l2_sensitivity=1)
    with pytest.raises(NoGuaranteeError, match="delta=0"):
        cal.gaussian_epsilon(sigma=1, delta=0, l2_sensitivity=1)
    with pytest.raises(NoGuaranteeError, match="delta=0"):
        cal.classical_gaussian_sigma(epsilon="0.5", delta=0, l2_sensitivity=1)
    with pytest.raises(NoGuaranteeError, match="delta=0"):
        cal.discrete_gaussian_sigma(epsilon=1, delta=0, sensitivity=1)
