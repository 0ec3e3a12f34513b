"""Amplification by sampling: exact profiles in both directions, statements with their inverses, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors import agrees, vectors

from dosimeter.accounting.amplification import (
    amplified_epsilon,
    amplified_epsilon_when_added,
    amplify_poisson,
    amplify_with_replacement,
    amplify_without_replacement,
    base_epsilon,
    inclusion_probability,
)
from dosimeter.accounting.sampling import (
    Direction,
    estimate_gdp_mu,
    poisson_delta_add,
    poisson_delta_remove,
    poisson_delta_when_replaced,
    poisson_gaussian_delta,
    poisson_laplace_delta,
    sampled_delta,
    sampled_epsilon,
)
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
)
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.notions.profiles.finite import hockey_stick


def _share(q: Any) -> dict[str, int]:
    ratio = Fraction(q)
    return {"batch_size": ratio.numerator, "population": ratio.denominator}


REFERENCE = {
    "amp_eps": lambda a: amplified_epsilon(sampling_probability=a["q"], epsilon=a["eps"]),
    "amp_eps_add": lambda a: amplified_epsilon_when_added(sampling_probability=a["q"], epsilon=a["eps"]),
    "amp_eps_inverse": lambda a: base_epsilon(sampling_probability=a["q"], epsilon=a["eps"]),
    "amp_replacement_eps": lambda a: amplified_epsilon(
        sampling_probability=inclusion_probability(draws=int(a["msize"]), population=int(a["n"])), epsilon=a["eps"]
    ),
    "sg_delta_remove": lambda a: poisson_gaussian_delta(
        sampling_probability=a["q"], noise_multiplier=a["sigma"], epsilon=a["eps"], direction="remove"
    ),
    "sg_delta_add": lambda a: poisson_gaussian_delta(
        sampling_probability=a["q"], noise_multiplier=a["sigma"], epsilon=a["eps"], direction="add"
    ),
    "slap_delta_remove": lambda a: poisson_laplace_delta(
        sampling_probability=a["q"], scale=1, l1_sensitivity=a["eps0"], epsilon=a["eps"], direction="remove"
    ),
    "slap_delta_add": lambda a: poisson_laplace_delta(
        sampling_probability=a["q"], scale=1, l1_sensitivity=a["eps0"], epsilon=a["eps"], direction="add"
    ),
    "poisson_replace_gauss_upper": lambda a: poisson_delta_when_replaced(
        sampling_probability=a["q"], noise_multiplier=a["sigma"], epsilon=a["eps"]
    ),
    "wor_gauss_delta": lambda a: sampled_delta(
        FixedSizeSampled(**_share(a["q"]), event=Gaussian(a["sigma"], 2)), epsilon=a["eps"]
    ),
    "with_replacement_gauss_delta": lambda a: sampled_delta(
        WithReplacementSampled(int(a["msize"]), int(a["n"]), Gaussian(a["sigma"], 2)), epsilon=a["eps"]
    ),
    "sg_clt_mu": lambda a: (
        estimate_gdp_mu(sampling_probability=a["q"], noise_multiplier=a["sigma"], steps=int(a["T"])).value
    ),
}


@pytest.mark.parametrize("vector", [v for fn in REFERENCE for v in vectors(fn)], ids=lambda v: v.id)
def test_reference_values(vector: Any) -> None:
    """Every formula of sampling agrees with its reference value to 18 digits, and lies on the safe side of it."""
    ours = REFERENCE[vector.fn](vector.args)
    assert agrees(ours, vector.value)
    low, high = vector.value * (1 - Decimal("1e-19")), vector.value * (1 + Decimal("1e-19"))
    assert ours <= high if vector.fn == "amp_eps_inverse" else ours >= low


# -- (epsilon, delta) statements ------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", vectors("printed_wrong_amp"), ids=lambda v: v.id)
def test_epsilon_over_q_is_not_the_inverse(vector: Any) -> None:
    """A base run at epsilon / q costs more than epsilon; the true inverse does not."""
    q, eps = vector.args["q"], vector.args["eps"]
    wrong = Fraction(eps) / Fraction(q)
    cost = amplified_epsilon(sampling_probability=q, epsilon=wrong)
    assert agrees(cost, vector.value)
    assert cost > eps
    right = base_epsilon(sampling_probability=q, epsilon=eps)
    assert right < wrong
    assert amplified_epsilon(sampling_probability=q, epsilon=right) <= eps * (1 + Decimal("1e-24"))


@settings(max_examples=60, deadline=None)
@given(st.decimals("1e-6", 1, places=6), st.decimals("1e-4", 20, places=4))
def test_the_inverse_is_an_inverse_on_the_safe_side(q: Decimal, epsilon: Decimal) -> None:
    """Base epsilon and amplified epsilon undo each other to 23 digits; sampling never costs more than the base."""
    base = base_epsilon(sampling_probability=q, epsilon=epsilon)
    again = amplified_epsilon(sampling_probability=q, epsilon=base)
    assert abs(again - epsilon) <= epsilon * Decimal("1e-22") + Decimal("1e-22")
    assert amplified_epsilon(sampling_probability=q, epsilon=epsilon) <= epsilon <= base
    added = amplified_epsilon_when_added(sampling_probability=q, epsilon=epsilon)
    assert added <= amplified_epsilon(sampling_probability=q, epsilon=epsilon)


def test_pure_guarantees_of_both_schemes() -> None:
    """A tenth by coin under add or remove, one of two without replacement under replace-one."""
    poisson = amplify_poisson(PureDP(1), sampling_probability="0.1")
    batch = amplify_without_replacement(PureDP(1), batch_size=1, population=2)
    assert agrees(poisson.epsilon, Decimal("0.158565078740429"), "1e-14")
    assert agrees(batch.epsilon, Decimal("0.620114506958278"), "1e-14")
    assert amplify_poisson(ApproxDP(1, "1e-6"), sampling_probability="0.1").delta == Decimal("1e-7")
    assert amplify_without_replacement(ApproxDP(1, "1e-6"), batch_size=1, population=3).delta >= Fraction(1, 3 * 10**6)
    with pytest.raises(InputError, match="not amplified"):
        amplify_poisson(GDP(1), sampling_probability="0.1")


def test_draws_with_replacement_against_all_draws() -> None:
    """Three draws from two records, each draw through randomized response: the exact loss is within the statement."""
    epsilon, m, n = Fraction(1), 3, 2
    truth = Fraction(731058578630004879, 10**18)  # e/(1+e), a touch below: the local epsilon is below 1

    def law(record: int) -> dict[tuple[int, ...], Fraction]:
        out: dict[tuple[int, ...], Fraction] = {}
        for code in range(n**m):
            drawn = [(code // n**i) % n for i in range(m)]
            bits = [record if who == 0 else 0 for who in drawn]
            for answer in range(2**m):
                said = tuple((answer >> i) & 1 for i in range(m))
                chance = Fraction(1, n**m)
                for bit, word in zip(bits, said, strict=True):
                    chance *= truth if bit == word else 1 - truth
                out[said] = out.get(said, Fraction(0)) + chance
        return out

    one, zero = law(1), law(0)
    worst = max(max(one[o] / zero[o], zero[o] / one[o]) for o in one)
    bound = amplify_with_replacement(PureDP(epsilon), draws=m, population=n)
    assert mp.log(mp.mpf(worst.numerator) / worst.denominator) <= mp.mpf(str(bound.epsilon))
    for level in ("0.1", "0.4", "1"):
        exact = hockey_stick([one[o] for o in one], [zero[o] for o in one], level)
        event = WithReplacementSampled(m, n, Declared(PureDP(epsilon), "local"))
        assert exact <= sampled_delta(event, epsilon=level) + Decimal("1e-17")


def test_with_replacement_in_the_limits() -> None:
    """One draw is a batch of one; a single record is always drawn; very many draws cost the whole loss at most."""
    one_draw = sampled_delta(WithReplacementSampled(1, 50, Gaussian(2, 2)), epsilon="0.1")
    batch = sampled_delta(FixedSizeSampled(1, 50, Gaussian(2, 2)), epsilon="0.1")
    assert abs(one_draw - batch) <= batch * Decimal("1e-20")
    alone = sampled_delta(WithReplacementSampled(3, 1, Gaussian(2, 2)), epsilon=1)
    assert alone == gaussian_delta(3, 1)
    assert sampled_delta(WithReplacementSampled(10**9, 10, Gaussian(2, 2)), epsilon=1) == 1
    assert sampled_delta(WithReplacementSampled(10, 10**9, Gaussian(2, 2)), epsilon="0.1") < Decimal("1e-8")


# -- exact profiles -------------------------------------------------------------------------------------------------


def test_published_deltas_of_one_step() -> None:
    """One Poisson-sampled Gaussian, and one Laplace step, in both directions."""
    step = {"sampling_probability": "0.1", "noise_multiplier": 1, "epsilon": "0.1"}
    assert agrees(poisson_gaussian_delta(**step, direction="remove"), Decimal("0.0184719306880621"), "1e-13")
    assert agrees(poisson_gaussian_delta(**step, direction="add"), Decimal("7.5267450100566e-6"), "1e-13")
    assert poisson_gaussian_delta(**step) == poisson_gaussian_delta(**step, direction=Direction.REMOVE)
    laplace = poisson_laplace_delta(sampling_probability="0.1", scale=1, epsilon="0.05", direction="remove")
    assert agrees(laplace, Decimal("0.0254013898251428"), "1e-13")


def _truth(density_one: Any, density_zero: Any, q: float, epsilon: float) -> tuple[float, float]:
    """Both hockey-stick divergences of the sampled pair by the midpoint rule."""
    g, step = math.exp(epsilon), 1e-3
    remove = add = 0.0
    for i in range(26_000):
        x = -12.5 + (i + 0.5) * step
        zero = density_zero(x)
        mixed = (1 - q) * zero + q * density_one(x)
        remove += max(0.0, mixed - g * zero) * step
        add += max(0.0, zero - g * mixed) * step
    return remove, add


@pytest.mark.parametrize("epsilon", [-3.0, -0.02, 0.0, 0.03, 0.5])
@pytest.mark.parametrize("q", [0.05, 1.0])
def test_profiles_equal_numerical_integration(q: float, epsilon: float) -> None:
    """Levels of both signs: what the identities say is the integral itself."""
    normal = [lambda x, m=m: math.exp(-((x - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (1, 0)]
    laplace = [lambda x, m=m: math.exp(-abs(x - m)) / 2 for m in (1, 0)]
    for direction, truth in zip(("remove", "add"), _truth(*normal, q, epsilon), strict=True):
        ours = poisson_gaussian_delta(
            sampling_probability=str(q), noise_multiplier=1, epsilon=str(epsilon), direction=direction
        )
        assert float(ours) == pytest.approx(truth, abs=1e-6)
    for direction, truth in zip(("remove", "add"), _truth(*laplace, q, epsilon), strict=True):
        ours = poisson_laplace_delta(sampling_probability=str(q), scale=1, epsilon=str(epsilon), direction=direction)
        assert float(ours) == pytest.approx(truth, abs=1e-5)


BASES: list[Event] = [
    Gaussian(1),
    Composed((Gaussian(2), Repeated(Gaussian(3), 2))),
    Laplace(1),
    DiscreteLaplace(2, 3),
    RandomizedResponse(1),
    RandomizedResponse(1, "0.01"),
    Declared(PureDP("0.7"), "x"),
    Declared(ApproxDP("0.7", "0.02"), "x"),
    Declared(GDP("0.7", "0.02"), "x"),
]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(BASES), st.sampled_from(["0.01", "0.3", "0.9"]), st.decimals(-2, 2, places=2))
def test_sampling_never_hurts_and_directions_are_dual(base: Event, q: str, level: Decimal) -> None:
    """Each direction is at most the base, and remove at a level determines add at minus that level."""
    event = PoissonSampled(q, base)
    whole = sampled_delta(PoissonSampled(1, base), epsilon=level)
    slack = 1 + Decimal("1e-20")
    remove, add = (sampled_delta(event, epsilon=level, direction=way) for way in ("remove", "add"))
    assert max(remove, add) <= whole * slack
    mirrored = sampled_delta(event, epsilon=-level, direction="add")
    factor = Decimal(str(mp.e ** mp.mpf(str(level))))
    assert abs(remove - (1 - factor + factor * mirrored)) < Decimal("1e-12")
    batch = sampled_delta(FixedSizeSampled(**_share(q), event=base), epsilon=abs(level))
    assert batch == sampled_delta(event, epsilon=abs(level), direction="remove")


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(BASES), st.sampled_from(["0.001", "0.2", "1"]), st.sampled_from(["1e-9", "1e-3", "0.05"]))
def test_epsilon_at_delta_is_certified_and_least(base: Event, q: str, delta: str) -> None:
    """The exact delta at the returned epsilon is at most the target, and above it a little earlier."""
    event = PoissonSampled(q, base)
    try:
        epsilon = sampled_epsilon(event, delta=delta)
    except NoGuaranteeError:
        failure = {RandomizedResponse(1, "0.01"): "0.01"}.get(base, "0.02")
        assert Decimal(failure) * Decimal(q) >= Decimal(delta)
        return
    assert sampled_delta(event, epsilon=epsilon) <= Decimal(delta) * (1 + Decimal("1e-20"))
    if epsilon:
        assert sampled_delta(event, epsilon=epsilon * (1 - Decimal("1e-9"))) > Decimal(delta)


def test_randomized_response_attains_the_statement() -> None:
    """For the class of epsilon-DP bases nothing better is true: sampled randomized response reaches every point."""
    e = mp.e
    p1, p0 = [e / (1 + e), 1 / (1 + e)], [1 / (1 + e), e / (1 + e)]
    q = mp.mpf("0.1")
    for level in (-0.5, 0.05, 0.1):
        g = mp.e**level
        truth = sum(max(mp.mpf(0), (1 - q) * b + q * a - g * b) for a, b in zip(p1, p0, strict=True))
        event = PoissonSampled("0.1", RandomizedResponse(1))
        ours = sampled_delta(event, epsilon=str(level), direction="remove")
        assert abs(mp.mpf(str(ours)) - truth) < mp.mpf("1e-14")


def test_samples_of_samples_are_samples() -> None:
    """Two coins are one coin; a batch of a batch is a batch."""
    two = PoissonSampled("0.5", PoissonSampled("0.02", Gaussian(1)))
    assert sampled_delta(two, epsilon="0.1") == sampled_delta(PoissonSampled("0.01", Gaussian(1)), epsilon="0.1")
    batches = FixedSizeSampled(50, 1000, FixedSizeSampled(10, 50, Gaussian(1, 2)))
    assert sampled_epsilon(batches, delta="1e-6") == sampled_epsilon(
        FixedSizeSampled(10, 1000, Gaussian(1, 2)), delta="1e-6"
    )


def test_scheme_and_relation_change_the_price() -> None:
    """The same loop read as the wrong scheme is silently cheaper: the clip norm once, or twice under replacement."""
    poisson = sampled_epsilon(PoissonSampled("0.01", Gaussian(1)), delta="1e-6")
    batch = sampled_epsilon(FixedSizeSampled(10, 1000, Gaussian(1, 2)), delta="1e-6")
    assert batch > 4 * poisson


@pytest.mark.parametrize("vector", vectors("poisson_replace_gauss_delta"), ids=lambda v: v.id)
def test_the_bound_for_a_replaced_record_is_above_the_known_pair(vector: Any) -> None:
    """The pair of opposite shifts bounds Poisson sampling under replacement from below; add or remove is lower yet."""
    a = vector.args
    step = {"sampling_probability": a["q"], "noise_multiplier": a["sigma"], "epsilon": a["eps"]}
    assert poisson_delta_when_replaced(**step) > vector.value > poisson_gaussian_delta(**step)


def test_what_has_no_closed_profile_is_refused_in_words() -> None:
    """No profile is made up for a base that has none, and a lattice in many dimensions is not one integer."""
    for base in (DiscreteGaussian(2), Composed((Laplace(1), Gaussian(1))), Declared(ZCDP(1), "x")):
        with pytest.raises(NoGuaranteeError, match="use the privacy loss distributions"):
            sampled_delta(PoissonSampled("0.1", base), epsilon=1)
    with pytest.raises(NoGuaranteeError, match="groups"):
        sampled_delta(WithReplacementSampled(2, 9, Declared(RDP((2,), (1,)), "x")), epsilon=1)
    for event in (Gaussian(1), RandomAllocation(9, 1, Gaussian(1))):
        with pytest.raises(InputError, match="not one sampled release"):
            sampled_delta(event, epsilon=1)


@pytest.mark.parametrize("bad", ["0", "-0.1", "1.0001", "NaN", "inf", "", None, True])
def test_probabilities_outside_the_unit_interval_are_refused(bad: Any) -> None:
    """Zero, negative, above one, not a number: refused at the door, by name."""
    with pytest.raises(InputError):
        amplified_epsilon(sampling_probability=bad, epsilon=1)
    with pytest.raises(InputError):
        poisson_gaussian_delta(sampling_probability=bad, noise_multiplier=1, epsilon=1)


def test_extreme_levels_and_probabilities() -> None:
    """Nothing overflows, and nothing positive becomes zero."""
    for q in ("1e-300", "1e-12", "0.999999999999", "1"):
        for level in ("-1e12", "-700", "-1e-12", "0", "1e-300", "30", "1e12"):
            value = poisson_gaussian_delta(sampling_probability=q, noise_multiplier="0.3", epsilon=level)
            assert 0 < value <= 1
    assert amplified_epsilon(sampling_probability="1e-300", epsilon="1e12") > Decimal("9e11")
    assert poisson_delta_add(lambda _: Decimal(1), sampling_probability="0.5", epsilon=1) == 0
    assert poisson_delta_remove(lambda _: Decimal(1), sampling_probability="0.5", epsilon="1e12") <= Decimal("0.5")
    with pytest.raises(InputError, match="direction"):
        poisson_gaussian_delta(sampling_probability="0.5", noise_multiplier=1, epsilon=1, direction="sideways")


def test_the_central_limit_number_is_an_estimate_below_the_truth() -> None:
    """Its type is no loss, and at 500 steps its epsilon is far below the true 2.3994."""
    from dosimeter.composition.estimates import Estimate
    from dosimeter.notions.profiles import gaussian_epsilon

    estimate = estimate_gdp_mu(sampling_probability="0.01", noise_multiplier="0.8", steps=500)
    assert isinstance(estimate, Estimate)
    assert abs(gaussian_epsilon(estimate.value, "1e-5") - Decimal("1.703244848")) < Decimal("1e-8")
    assert gaussian_epsilon(estimate.value, "1e-5") < Decimal("2.39943715402")
    with pytest.raises(InputError):
        estimate_gdp_mu(sampling_probability="0.01", noise_multiplier="0.01", steps=500)
