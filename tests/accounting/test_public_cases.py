"""Small situations that accounting libraries were publicly asked about or got wrong, each with its right answer.

One test per situation, by its stable name; a list of all names keeps them complete. Values are exact to the digits
given. `upper` is how far an answer may be above the truth; none may be below it.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dosimeter.accounting import calibration as c
from dosimeter.accounting import loss_for
from dosimeter.accounting.amplification import amplify_poisson, amplify_without_replacement
from dosimeter.accounting.batches import (
    empty_batch_probability,
    largest_probability,
    microbatch_sensitivity,
    sampled_event,
    shuffled_delta_at_least,
)
from dosimeter.accounting.renyi_sampling import poisson_gaussian_renyi
from dosimeter.accounting.sampling import estimate_gdp_mu, poisson_gaussian_delta, poisson_laplace_delta
from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import ZCDPFilter
from dosimeter.composition import (
    advanced_zcdp,
    best,
    gaussians_epsilon,
    optimal_heterogeneous_epsilon,
    optimal_homogeneous_delta,
    optimal_homogeneous_epsilon,
    parallel,
)
from dosimeter.errors import DosimeterError, NoGuaranteeError, NotionError
from dosimeter.events import Event, FixedSizeSampled, Gaussian, Laplace, PoissonSampled, Repeated
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions import convert as v
from dosimeter.notions.profiles import gaussian_delta, gaussian_epsilon, zcdp_delta, zcdp_epsilon
from dosimeter.pld.accountant import Accountant

NAMES = {
    f"{area}-{number}"
    for area, numbers in {
        "CNV": "02 04 07 09 10 12 14 16 18 20 22",
        "CMP": "01 04 06 07 10",
        "CAL": "02 03 06 08 10 11 13 14",
        "SUB": "02 03 07 08 10 11",
        "SGD": "02 04 07 09 11 12 14 15 17 18",
    }.items()
    for number in numbers.split()
}


def test_every_name_has_a_test() -> None:
    """Each situation of the list is the subject of one docstring below, and no other name is."""
    written = set(re.findall(r'"""([A-Z]{3}-\d\d)[ ,:]', Path(__file__).read_text()))
    assert written == NAMES


def close(ours: Decimal, truth: float, rel: float = 1e-9) -> bool:
    return math.isclose(float(ours), truth, rel_tol=rel)


def above(ours: Decimal, truth: float, upper: float, lower: float = 1e-9) -> bool:
    """Not below the truth, beyond its own digits, and above it by a share of at most `upper`."""
    return truth * (1 - lower) <= float(ours) <= truth * (1 + upper)


def price(event: Event, delta: str, relation: str = "add_remove") -> Any:
    accountant = Accountant(relation)
    accountant.append(event)
    return accountant.epsilon(delta)


# -- conversion -----------------------------------------------------------------------------------------------------


def test_epsilon_is_never_negative() -> None:
    """CNV-02: rho = 0.1 at a delta of 0.9 needs no epsilon at all; neither do other large deltas."""
    assert zcdp_epsilon("0.1", "0.9") == 0
    assert v.zcdp_to_approx(ZCDP("0.1"), target_delta="0.9").epsilon == 0
    for delta in ("0.4", "0.5", "0.99"):
        assert zcdp_epsilon("0.01", delta) == 0
        assert v.rdp_to_approx(RDP((2,), ("0.01",)), target_delta="0.9").epsilon == 0


def test_one_renyi_order_converts_by_the_sharp_formula() -> None:
    """CNV-04: (8, 0.25) at 1e-5 is 1.4641, not the 1.8947 of the first formula."""
    ours = v.rdp_to_approx(RDP((8,), ("0.25",)), target_delta="1e-5").epsilon
    assert close(ours, 1.46410916784553, 1e-10)
    assert close(v.rdp_to_approx_simple(RDP((8,), ("0.25",)), target_delta="1e-5").epsilon, 1.89470363785)
    for order, tau, delta in ((2, 0.1, 1e-3), (32, 1.5, 1e-9)):
        formula = tau + math.log1p(-1 / order) - math.log(order * delta) / (order - 1)
        ours = v.rdp_to_approx(RDP((order,), (str(tau),)), target_delta=str(delta)).epsilon
        assert above(ours, formula, 1e-12, 1e-12)


def test_zcdp_delta_is_optimised() -> None:
    """CNV-07: rho = 1 at epsilon 10 has delta 1.17e-10, from above."""
    assert above(zcdp_delta(1, 10), 1.1714172313952302e-10, 1e-9, 1e-15)


def test_pure_dp_has_the_tight_rho() -> None:
    """CNV-09: 1-DP is 0.4621-zCDP: tanh(1/2), at most a half."""
    rho = v.pure_to_zcdp(PureDP(1)).rho
    assert close(rho, math.tanh(0.5), 1e-15)
    assert all(v.pure_to_zcdp(PureDP(e)).rho <= Decimal(e) ** 2 / 2 for e in ("0.01", "0.5", "3", "20"))


def test_a_gaussian_both_ways() -> None:
    """CNV-10: mu = 1 has delta 0.12694 at epsilon 1 and epsilon 4.37718 at delta 1e-5."""
    assert close(gaussian_delta(1, 1), 0.126936737506644)
    assert close(gaussian_epsilon(1, "1e-5"), 4.37717809568122)
    assert close(v.gdp_to_approx(GDP(1), target_delta="1e-5").epsilon, 4.37717809568122)


def test_hardly_any_noise_has_a_finite_epsilon() -> None:
    """CNV-12: sigma = 0.05 costs 284.39 at delta 1e-5, in the engine as in closed form."""
    assert close(c.gaussian_epsilon(sigma="0.05", delta="1e-5", l2_sensitivity=1), 284.391849497742)
    found = price(Gaussian("0.05"), "1e-5")
    assert found.lower <= Decimal("284.3918494977425") <= found.upper * (1 + Decimal("1e-14"))
    assert price(Gaussian("0.005"), "1e-5").upper > 20_000


def test_delta_zero_is_infinite_for_gaussian_noise_and_epsilon_for_laplace() -> None:
    """CNV-14: no Gaussian is pure, and a Laplace release of scale 1 is exactly 1-DP."""
    with pytest.raises(NoGuaranteeError, match="delta=0"):
        price(Gaussian(1), "0")
    assert price(Laplace(1), "0").upper == price(Laplace(1), "0").lower == 1
    with pytest.raises(NoGuaranteeError):
        c.gaussian_sigma(epsilon=1, delta=0, l2_sensitivity=1)


def test_deltas_of_total_failures_multiply() -> None:
    """CNV-16: (0, 0.1) once and twice is 0.1 and 0.19 at epsilon 0."""
    for times, delta in ((1, "0.1"), (2, "0.19"), (3, "0.271")):
        assert optimal_homogeneous_delta(ApproxDP(0, "0.1"), times, 0) == pytest.approx(
            Decimal(delta), rel=Decimal("1e-15")
        )
        accountant = Accountant()
        accountant.append(_declared(0, "0.1"), times)
        assert accountant.delta(0).lower <= Decimal(delta) * (1 + Decimal("1e-12"))
        assert Decimal(delta) <= accountant.delta(0).upper * (1 + Decimal("1e-12"))


def _declared(epsilon: Any, delta: Any) -> Event:
    from dosimeter.events import Declared

    return Declared(ApproxDP(epsilon, delta), "stated")


@pytest.mark.parametrize(
    ("parts", "delta", "truth"),
    [([(Gaussian(20), 60)], "0.002", 0.902939643005531), ([(Gaussian(10), 13)], "1e-6", 1.57689414041687)],
)
def test_equal_gaussians_compose_exactly(parts: Any, delta: str, truth: float) -> None:
    """CNV-18, and a plan of four and nine equal columns: thirteen Gaussians, not multiples of two and three."""
    assert close(gaussians_epsilon(parts, delta), truth)
    found = price(Repeated(*parts[0]), delta)
    assert close(found.upper, truth, 1e-12)


def test_unequal_gaussians_compose_exactly() -> None:
    """CNV-20: sigmas 1, 2 and 4 together are one of mu^2 = 1 + 1/4 + 1/16."""
    parts = [Gaussian(1), Gaussian(2), Gaussian(4)]
    assert close(gaussians_epsilon(parts, "1e-5"), 5.12736825681198)
    assert close(best(parts, "1e-5").guarantee.epsilon, 5.12736825681198)


def test_groups_of_three_in_three_notions() -> None:
    """CNV-22: (0.5, 1e-6), rho = 0.02 and mu = 0.2 for three records at once."""
    approx = v.group_approx(ApproxDP("0.5", "1e-6"), size=3)
    assert (approx.epsilon, close(approx.delta, 5.36700309915917e-06)) == (Decimal("1.5"), True)
    assert v.group_zcdp(ZCDP("0.02"), size=3) == ZCDP("0.18")
    assert v.group_gdp(GDP("0.2"), size=3) == GDP("0.6")


# -- composition ----------------------------------------------------------------------------------------------------


def test_a_hundred_tenths_lie_between_optimum_and_theorem() -> None:
    """CMP-01: between 4.3068 and 5.2981, and never the 447.7 of a formula that forgot the logarithm."""
    parts = [("0.1", 100)]
    assert close(optimal_homogeneous_epsilon("0.1", 100, "1e-5"), 4.30679137251651)
    for ours in (advanced_zcdp(parts, "1e-5").epsilon, best([(_declared("0.1", 0), 100)], "1e-5").guarantee.epsilon):
        assert 4.30679137251651 * (1 - 1e-9) <= float(ours) <= 5.29810966177


def test_unequal_pure_mechanisms_compose_optimally() -> None:
    """CMP-04: ten of 0.1 and two of 0.5 at slack 1e-6: at least 1.99838, at most their sum of 2."""
    bound = optimal_heterogeneous_epsilon([("0.1", 10), ("0.5", 2)], "1e-6")
    assert close(bound.upper, 1.99837553681786)
    assert close(price(_all(_declared("0.1", 0), 10, _declared("0.5", 0), 2), "1e-6").upper, 1.99837553681786, 1e-7)


def _all(first: Event, m: int, second: Event, n: int) -> Event:
    from dosimeter.events import Composed

    return Composed((Repeated(first, m), Repeated(second, n)))


def test_equal_columns_are_counted_once_each() -> None:
    """CMP-06: four and nine columns are thirteen releases: 1.5769, not 2.2541."""
    twice = _all(Gaussian(10), 4, Gaussian(10), 9)
    assert close(price(twice, "1e-6").upper, 1.57689414041687)
    assert price(twice, "1e-6") == price(Repeated(Gaussian(10), 13), "1e-6")


def test_disjoint_parts_depend_on_the_relation() -> None:
    """CMP-07: 0.3, 0.5 and 0.2 on disjoint parts cost 0.5 when a row comes or goes, 0.8 when it is exchanged."""
    parts = ["0.3", "0.5", "0.2"]
    assert parallel(parts, "add_remove").epsilon == Decimal("0.5")
    assert parallel(parts, "replace_one").epsilon == Decimal("0.8")


def test_a_batch_costs_what_its_singles_cost() -> None:
    """CMP-10: 1e5 releases of rho = 1e-5 fill a budget of 1 exactly, in one batch or one by one."""
    rule = ZCDPFilter(rho=1)
    step = Gaussian(Decimal(50_000).sqrt() * Decimal("1.0000000001"))
    single: Any = loss_for(step, rule)
    batch: Any = loss_for(Repeated(step, 100_000), rule)
    assert Fraction(batch.rho) == 100_000 * Fraction(single.rho)
    exact = ZCDP("1e-5")
    state = rule.start()
    for _ in range(1000):
        decision = rule.admit(state, exact.repeat(100))
        assert isinstance(decision, Admitted)
        state = decision.state
    assert not isinstance(rule.admit(state, ZCDP("1e-300")), Admitted)


# -- calibration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        ("20", "1e-5", 0.290041418032796),
        ("1", "1e-6", 4.22467888932684),
        ("1", "1e-5", 3.73063163481594),
        ("0.01", "1e-5", 243.785437675678),
        ("2", "1e-5", 1.99381244564354),
        ("4", "1e-5", 1.08116184952024),
        ("8", "1e-5", 0.600229072198952),
    ],
)
def test_gaussian_noise_is_the_least_that_is_enough(epsilon: str, delta: str, sigma: float) -> None:
    """CAL-02, and its kind: the analytic sigma, from above; with a millionth less the delta is exceeded."""
    found = c.gaussian_sigma(epsilon=epsilon, delta=delta, l2_sensitivity=1)
    assert above(found, sigma, 1e-9)
    less = found * (1 - Decimal("1e-6"))
    assert c.gaussian_delta(sigma=found, epsilon=epsilon, l2_sensitivity=1) <= Decimal(delta) * (1 + Decimal("1e-20"))
    assert c.gaussian_delta(sigma=less, epsilon=epsilon, l2_sensitivity=1) > Decimal(delta)


def test_the_textbook_sigma_is_refused_where_it_is_too_small() -> None:
    """CAL-03 speaks of epsilon 1, where the textbook has too much noise; at 20 its delta is 0.0015: not offered."""
    assert c.classical_gaussian_sigma(epsilon=1, delta="1e-5", l2_sensitivity=1) > Decimal("3.73063163481594")
    for epsilon in ("10", "20"):
        with pytest.raises(NoGuaranteeError, match="too little noise"):
            c.classical_gaussian_sigma(epsilon=epsilon, delta="1e-5", l2_sensitivity=1)
    textbook = Decimal(repr(math.sqrt(2 * math.log(1.25e5)) / 20))
    assert close(c.gaussian_delta(sigma=textbook, epsilon=20, l2_sensitivity=1), 0.00152669469552, 1e-6)


def test_small_budgets_need_much_noise_and_no_memory() -> None:
    """CAL-06: epsilon 0.01 needs sigma 243.785; a millionth of that needs it in proportion to the delta alone."""
    assert above(c.gaussian_sigma(epsilon="0.01", delta="1e-5", l2_sensitivity=1), 243.785437675678, 1e-3)
    assert above(c.gaussian_sigma(epsilon=0, delta="1e-5", l2_sensitivity=1), 39894.2280, 1e-6, 1e-8)


def test_arguments_of_one_kind_go_by_name() -> None:
    """CAL-08: sigma 4.2247 at epsilon 1 has delta 1e-6; exchanged numbers cannot happen, since names are required."""
    assert close(c.gaussian_delta(sigma="4.22467888932684", epsilon=1, l2_sensitivity=1), 1e-6, 1e-8)
    with pytest.raises(TypeError):
        c.gaussian_delta("4.22467888932684", 1, 1)  # type: ignore[misc]


def test_noise_for_a_rho() -> None:
    """CAL-10: rho = 0.02 needs sigma 5."""
    assert c.zcdp_sigma(rho="0.02", l2_sensitivity=1) == 5


def test_noise_for_a_large_sensitivity() -> None:
    """CAL-11: epsilon 10 at sensitivity 65536 needs scale 6553.6."""
    assert c.laplace_scale(epsilon=10, l1_sensitivity=65536) == Decimal("6553.6")


def test_only_the_ratio_of_noise_and_sensitivity_counts() -> None:
    """CAL-13: sigma 2 at sensitivity 2 is sigma 1 at sensitivity 1."""
    for sigma in (2, 1):
        assert close(c.gaussian_epsilon(sigma=sigma, delta="1e-5", l2_sensitivity=sigma), 4.37717809568122)
        assert close(price(Gaussian(sigma, sigma), "1e-5").upper, 4.37717809568122)


def test_noise_falls_as_epsilon_grows() -> None:
    """CAL-14: epsilons 2, 4 and 8 at 1e-5 need 1.994, 1.081 and 0.600."""
    found = [c.gaussian_sigma(epsilon=e, delta="1e-5", l2_sensitivity=1) for e in (2, 4, 8)]
    truths = (1.99381244564354, 1.08116184952024, 0.600229072198952)
    assert all(above(ours, truth, 1e-9) for ours, truth in zip(found, truths, strict=True))


# -- subsampling ----------------------------------------------------------------------------------------------------


def test_both_directions_of_one_sampled_step() -> None:
    """SUB-02: q = 0.1, sigma 1 at epsilon 0.1: remove 0.01847, add 7.5e-6, and both are the larger one."""
    deltas = {
        way: poisson_gaussian_delta(sampling_probability="0.1", noise_multiplier=1, epsilon="0.1", direction=way)
        for way in ("remove", "add", "both")
    }
    assert close(deltas["remove"], 0.0184719306880621, 1e-8)
    assert close(deltas["add"], 7.5267450100566e-06, 1e-8)
    assert deltas["both"] == deltas["remove"]
    accountant = Accountant()
    accountant.append(PoissonSampled("0.1", Gaussian(1)))
    for way in ("remove", "add"):
        assert close(accountant.delta("0.1", direction=way).upper, float(deltas[way]), 1e-12)


def test_sampling_everything_is_not_sampling() -> None:
    """SUB-03: q = 1, sigma 2, order 8: the divergence is exactly 1."""
    assert poisson_gaussian_renyi(sampling_probability=1, noise_multiplier=2, order=8) == 1
    assert price(PoissonSampled(1, Gaussian(2)), "1e-5") == price(Gaussian(2), "1e-5")


def test_pure_amplification_in_both_schemes() -> None:
    """SUB-07: 1-DP on a tenth is 0.158565; on one record of two, exchanged, 0.620115."""
    assert close(amplify_poisson(PureDP(1), sampling_probability="0.1").epsilon, 0.158565078740429)
    assert close(amplify_without_replacement(PureDP(1), batch_size=1, population=2).epsilon, 0.620114506958278)
    for q in ("0.001", "0.5", "0.9"):
        exact = math.log1p(float(q) * math.expm1(1))
        assert above(amplify_poisson(PureDP(1), sampling_probability=q).epsilon, exact, 1e-12, 1e-12)


def test_one_scheme_is_never_priced_as_another() -> None:
    """SUB-08: fixed batches under add or remove are refused; under replace-one they never cost the Poisson number."""
    batch = FixedSizeSampled(10, 1000, Gaussian(1, 2))
    for where in (lambda: price(batch, "1e-5"), lambda: loss_for(batch, ZCDPFilter(rho=1), relation="add_remove")):
        with pytest.raises(NotionError, match="fixed_size_sampled"):
            where()
    with pytest.raises(NotionError, match="poisson"):
        price(PoissonSampled("0.01", Gaussian(1)), "1e-5", "replace_one")
    assert price(batch, "1e-5", "replace_one").lower > price(PoissonSampled("0.01", Gaussian(1)), "1e-5").upper


def test_a_shuffled_pass_is_not_a_poisson_sample() -> None:
    """SUB-10: a thousand batches at noise 0.5: shuffled at least 0.0738 at epsilon 4, as Poisson samples 1.7e-6."""
    least = shuffled_delta_at_least(noise_multiplier="0.5", batches=1000, epsilon=4)
    assert 0.073798 * (1 - 1e-4) <= float(least) <= 0.073798 * (1 + 1e-3)
    accountant = Accountant()
    accountant.append(PoissonSampled("0.001", Gaussian("0.5")), 1000)
    assert above(accountant.delta(4).upper, 1.74489e-06, 1e-3, 1e-4)
    with pytest.raises(NoGuaranteeError, match="shuffled"):
        sampled_event(Gaussian("0.5"), batching="shuffled", relation="add_remove")


def test_sampled_laplace_has_its_own_profile() -> None:
    """SUB-11: q = 0.1, scale 1 at epsilon 0.05, removing: 0.0254014, in closed form and in the engine."""
    delta = poisson_laplace_delta(sampling_probability="0.1", scale=1, epsilon="0.05", direction="remove")
    assert above(delta, 0.0254013898251428, 1e-8, 1e-8)
    accountant = Accountant()
    accountant.append(PoissonSampled("0.1", Laplace(1)))
    assert above(accountant.delta("0.05", direction="remove").upper, 0.0254013898251428, 1e-4, 1e-8)


# -- private training -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "delta", "truth"),
    [
        (Repeated(PoissonSampled("1/60", Gaussian("1.3")), 900), "1e-5", 1.8915185117),
        (Repeated(PoissonSampled("0.2", Gaussian(1)), 10), "1e-5", 4.98421339871),
        (Repeated(PoissonSampled("0.01", Gaussian("0.8")), 500), "1e-5", 2.39943715402),
        (_all(PoissonSampled("0.01", Gaussian(1)), 200, PoissonSampled("0.01", Gaussian(1)), 100), "1e-5", 1.068091114),
    ],
)
def test_training_runs_have_their_exact_price(event: Event, delta: str, truth: float) -> None:
    """SGD-02, and its kind: from above, and by no more than a millionth."""
    found = price(event, delta)
    assert above(found.upper, truth, 1e-6, 1e-8)
    assert found.lower <= Decimal(repr(truth)) * (1 + Decimal("1e-9"))


def test_few_steps_at_a_high_rate_have_a_price() -> None:
    """SGD-04: a fifth of the records, ten steps; and no failure where others fail, up to half of them."""
    assert above(price(Repeated(PoissonSampled("0.2", Gaussian(1)), 10), "1e-5").upper, 4.98421339871, 1e-6, 1e-8)
    half = price(Repeated(PoissonSampled("0.5", Gaussian(1)), 10), "1e-5")
    assert half.upper - half.lower <= Decimal("1e-6") * half.upper


def test_the_central_limit_number_is_below_the_truth_and_called_an_estimate() -> None:
    """SGD-07: 2.3994, where the central limit says 1.7032 and is no guarantee."""
    found = price(Repeated(PoissonSampled("0.01", Gaussian("0.8")), 500), "1e-5")
    assert above(found.upper, 2.39943715402, 1e-6, 1e-8)
    estimate = estimate_gdp_mu(sampling_probability="0.01", noise_multiplier="0.8", steps=500)
    assert type(estimate).__name__ == "Estimate"
    assert close(gaussian_epsilon(estimate.value, "1e-5"), 1.703244848, 1e-6)


def test_a_clipped_mean_of_several_examples_moves_twice_as_far() -> None:
    """SGD-09: microbatches of one and of four at noise 1.1: 3.9213 and 8.8952."""
    for size, truth in ((1, 3.92125025286), (4, 8.89523213718), (64, 8.89523213718)):
        moved = microbatch_sensitivity(clip_norm=1, microbatch_size=size, neighbouring_relation="add_remove")
        assert close(c.gaussian_epsilon(sigma="1.1", delta="1e-5", l2_sensitivity=moved), truth)


def test_the_divisor_is_a_public_constant() -> None:
    """SGD-11: a sum is divided by a given number; there is no way to divide by the size of the sample."""
    for relation, moved in (("add_remove", "0.5"), ("replace_one", "1")):
        found = c.clipped_mean_sensitivity(clip_norm=1, denominator=2, neighbouring_relation=relation)
        assert found == Decimal(moved)
    with pytest.raises(DosimeterError, match="denominator"):
        c.clipped_mean_sensitivity(clip_norm=1, denominator=0, neighbouring_relation="add_remove")


def test_an_empty_batch_is_a_step() -> None:
    """SGD-12: one sample in three of ten records at a tenth is empty; the step counts, so the event does not know."""
    assert close(empty_batch_probability(sampling_probability="0.1", population=10), 0.3486784401)
    assert empty_batch_probability(sampling_probability=1, population=10) == 0
    assert price(PoissonSampled("0.1", Gaussian(1)), "1e-5").upper > 0


def test_weighted_samplers_have_no_common_rate() -> None:
    """SGD-14: refused by name; independent coins are accounted for at the largest of their probabilities."""
    with pytest.raises(NoGuaranteeError, match="weighted"):
        sampled_event(Gaussian(1), batching="weighted", relation="add_remove")
    assert largest_probability(["0.00016", "0.0001", "0.07"]) == Decimal("0.07")


def test_a_pipeline_that_shuffles_is_told_so_before_it_starts() -> None:
    """SGD-15: a configuration whose batches are shuffled is refused, and an accepted one names its scheme."""
    with pytest.raises(NoGuaranteeError, match="Poisson"):
        sampled_event(Gaussian(1), batching="shuffled", relation="replace_one")
    accepted = sampled_event(Gaussian(1), batching="poisson", relation="add_remove", probability="0.01")
    assert accepted.kind == "poisson_sampled"


def test_segments_of_one_run_add_up() -> None:
    """SGD-17: three segments of a hundred steps, read after each, cost 1.0681 at the end and never less than before."""
    accountant = Accountant()
    read = []
    for _ in range(3):
        accountant.append(PoissonSampled("0.01", Gaussian(1)), 100)
        read.append(accountant.epsilon("1e-5").upper)
    assert above(read[-1], 1.068091114, 1e-6, 1e-8)
    assert read == sorted(read)
    assert len(accountant) == 300


def test_accumulated_gradients_are_one_larger_batch() -> None:
    """SGD-18: four times 256 and 64 times 16 of 14,732 records, 43 updates: 3.23636 either way, at 2e-5."""
    for batch, accumulation in ((4, 256), (64, 16), (1024, 1)):
        step = sampled_event(
            Gaussian(1), batching="poisson", relation="add_remove", probability=f"{batch * accumulation}/14732"
        )
        assert above(price(Repeated(step, 43), "2e-5").upper, 3.2363571974, 1e-6, 1e-8)
