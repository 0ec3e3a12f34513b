"""Renyi divergence under sampling: exact for the Gaussian at every real order, proven bounds for every other base."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors import agrees, vectors

from dosimeter.accounting.renyi_bounds import (
    between,
    convex_bound,
    fixed_size_renyi,
    fixed_size_renyi_of_pair,
    norm_bound,
    poisson_renyi,
    poisson_renyi_remove,
    poisson_response_renyi,
)
from dosimeter.accounting.renyi_sampling import LARGEST_SUM, _by_integral, poisson_gaussian_renyi, sum_excess
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.notions.profiles import laplace_renyi, randomized_response_renyi

REFERENCE = {
    "sg_renyi_int": lambda a: poisson_gaussian_renyi(
        sampling_probability=a["q"], noise_multiplier=a["sigma"], order=int(a["alpha"])
    ),
    "sg_renyi": lambda a: poisson_gaussian_renyi(
        sampling_probability=a["q"], noise_multiplier=a["sigma"], order=a["alpha"]
    ),
    "generic_subsampled_renyi": lambda a: poisson_renyi_remove(
        sampling_probability=a["q"], divergences=a["renyi_orders"]
    ),
    "wor_renyi_bound": lambda a: fixed_size_renyi(sampling_share=a["q"], divergences=a["renyi_orders"]),
}


@pytest.mark.parametrize("vector", [v for fn in REFERENCE for v in vectors(fn)], ids=lambda v: v.id)
def test_reference_values(vector: Any) -> None:
    """Whole and fractional orders, and the sums for any base, agree to 18 digits and are not below the truth."""
    ours = REFERENCE[vector.fn](vector.args)
    assert agrees(ours, vector.value)
    assert ours >= vector.value * (1 - Decimal("1e-19"))


@settings(max_examples=40, deadline=None)
@given(st.decimals("1e-4", "0.999", places=4), st.decimals("0.3", 30, places=2), st.integers(2, 60))
def test_the_integral_is_the_sum_at_whole_orders(q: Decimal, sigma: Decimal, order: int) -> None:
    """Two independent routes give overlapping enclosures, 20 digits wide at most."""
    square = 1 / Fraction(sigma) ** 2
    integral = enclose(lambda: _by_integral(Fraction(q), square, Decimal(order)), 20)
    total = enclose(lambda: 1 + sum_excess(Fraction(q), order, lambda k: ball(square) * k / 2), 20)
    assert integral.overlaps(total)


def test_published_points() -> None:
    """Without sampling it is a / (2 sigma^2); the fractional point that absolute values of a series overstate by 4%."""
    assert poisson_gaussian_renyi(sampling_probability=1, noise_multiplier=2, order=8) == 1
    fractional = poisson_gaussian_renyi(sampling_probability="0.01", noise_multiplier=1, order="1.5")
    assert agrees(fractional, Decimal("1.27254e-4"), "1e-5")
    assert fractional < Decimal("1.3237e-4")
    high = poisson_gaussian_renyi(sampling_probability="0.01", noise_multiplier=1, order=60)
    assert agrees(high / 60, Decimal("0.4219"), "1e-3")  # not q^2 rho = 5e-5: zCDP is not amplified
    scaled = 1000 * poisson_gaussian_renyi(sampling_probability="0.01", noise_multiplier="0.8", order=16)
    assert agrees(scaled, Decimal(7588), "1e-3")


@settings(max_examples=30, deadline=None)
@given(st.decimals("0.001", 1, places=3), st.decimals("0.4", 9, places=1), st.decimals("1.01", 80, places=2))
def test_divergences_grow_with_order_and_probability_and_stay_below_the_base(
    q: Decimal, s: Decimal, a: Decimal
) -> None:
    """Monotone in the order, in q and in the noise; never above a / (2 sigma^2)."""

    def at(**changed: Any) -> Decimal:
        return poisson_gaussian_renyi(**{"sampling_probability": q, "noise_multiplier": s, "order": a, **changed})

    one = at()
    assert one <= at(order=a + Decimal("0.5")) * (1 + Decimal("1e-22"))
    assert one >= at(sampling_probability=q / 2) * (1 - Decimal("1e-22"))
    assert one >= at(noise_multiplier=s + 1) * (1 - Decimal("1e-22"))
    assert one <= a / (2 * s * s) * (1 + Decimal("1e-20"))


@pytest.mark.parametrize("q", ["1e-300", "1e-9", "0.01", "0.999999", "1"])
@pytest.mark.parametrize("noise", ["1e-300", "1e-6", "0.001", "0.05", "1", "1e6", "1e12"])
@pytest.mark.parametrize("order", ["1.000001", "1.5", "2", "17.3", "1e6"])
def test_extremes_give_bounds_never_crashes(q: str, noise: str, order: str) -> None:
    """Any input in range has a positive bound at most the base's, or says that the number is beyond every range."""
    from dosimeter.errors import NoGuaranteeError

    try:
        value = poisson_gaussian_renyi(sampling_probability=q, noise_multiplier=noise, order=order)
    except NoGuaranteeError:
        assert noise == "1e-300"
        return
    base = Decimal(order) / (2 * Decimal(noise) ** 2)
    assert 0 < value <= max(Decimal("1e-300"), base * (1 + Decimal("1e-20")))


def test_bounds_where_nothing_is_exact_lie_above_what_is() -> None:
    """Between whole orders the fallback is above the integral, and Minkowski's bound is above the sum."""
    q, square = Fraction(1, 100), Fraction(1)
    exact = poisson_gaussian_renyi(sampling_probability=q, noise_multiplier=1, order="2.5")
    whole = {
        n: poisson_gaussian_renyi(sampling_probability=q, noise_multiplier=1, order=n) for n in (2, 3, LARGEST_SUM)
    }
    assert whole[2] < exact < between(Decimal("2.5"), whole.__getitem__) < whole[3]
    for order in (Decimal(3), Decimal(LARGEST_SUM)):
        base = order * Decimal(square.numerator) / 2
        assert whole[int(order)] <= norm_bound(q, base, order) <= convex_bound(q, base, order)


# -- the direction that dominates -----------------------------------------------------------------------------------


def _moments(p1: list[float], p0: list[float], q: float, a: float) -> tuple[float, float]:
    mixed = [(1 - q) * z + q * o for o, z in zip(p1, p0, strict=True)]
    remove = sum(m**a * z ** (1 - a) for m, z in zip(mixed, p0, strict=True))
    add = sum(z**a * m ** (1 - a) for m, z in zip(mixed, p0, strict=True))
    return remove, add


def test_removing_dominates_for_symmetric_pairs_and_only_for_them() -> None:
    """Random symmetric pairs: the remove moment is the larger one at every order. Control: a skewed pair turns it."""
    rng = random.Random(20240513)
    for _ in range(400):
        half = [(rng.random() ** 3 + 1e-6, rng.random() ** 3 + 1e-6) for _ in range(rng.randint(1, 4))]
        total = sum(x + y for x, y in half)
        p1 = [x / total for x, _ in half] + [y / total for _, y in half]
        p0 = p1[len(half) :] + p1[: len(half)]
        q, a = rng.random(), 1 + rng.random() ** 2 * 30
        remove, add = _moments(p1, p0, q, a)
        assert remove >= add * (1 - 1e-9)
    remove, add = _moments([0.001, 0.999], [0.1, 0.9], 0.3, 3.0)
    assert add > remove * 1.01


def test_sums_are_exact_for_symmetric_bases() -> None:
    """For randomized response the sum is the moment of the sampled pair, which is the closed two-point form."""
    for q, order in itertools.product(("0.01", "0.3", "1"), (2, 3, 7, 40)):
        known = [randomized_response_renyi("0.8", j) for j in range(2, order + 1)]
        total = poisson_renyi_remove(sampling_probability=q, divergences=known)
        closed = poisson_response_renyi(sampling_probability=q, epsilon="0.8", order=order)
        assert agrees(total, closed, "1e-20")
        assert poisson_renyi(sampling_probability=q, divergences=known) >= total
        p = math.exp(0.8) / (1 + math.exp(0.8))
        remove, add = _moments([p, 1 - p], [1 - p, p], float(q), order)
        assert float(closed) == pytest.approx(math.log(remove) / (order - 1), rel=1e-9)
        assert add <= remove


def test_the_bound_for_any_base_covers_skewed_pairs_in_both_directions() -> None:
    """Random pairs without symmetry: the bound with the factor 3 is above both directions, and the plain sum is not."""
    rng = random.Random(77)
    plain_failed = 0
    for _ in range(200):
        p1 = [rng.random() ** 2 + 1e-3 for _ in range(3)]
        p0 = [rng.random() ** 2 + 1e-3 for _ in range(3)]
        p1, p0 = ([x / sum(p) for x in p] for p in (p1, p0))
        order, q = rng.randint(2, 8), rng.choice([0.05, 0.3, 0.7])
        known = []
        for j in range(2, order + 1):
            both = _moments(p1, p0, 1.0, j)
            known.append(repr(math.log(max(both)) / (j - 1) + 1e-12))
        truth = max(math.log(m) / (order - 1) for m in _moments(p1, p0, q, order))
        assert float(poisson_renyi(sampling_probability=repr(q), divergences=known)) >= truth * (1 - 1e-9)
        remove_known = [repr(math.log(_moments(p1, p0, 1.0, j)[0]) / (j - 1)) for j in range(2, order + 1)]
        plain_failed += (
            float(poisson_renyi_remove(sampling_probability=repr(q), divergences=remove_known)) < truth * 0.99
        )
    assert plain_failed > 0


# -- batches of fixed size ------------------------------------------------------------------------------------------


def _batch_truth(epsilon: float, m: int, n: int, order: float) -> float:
    """Every batch of m out of n bits, each bit of it through randomized response: its exact divergence.

    The replaced record is 1 in one data set and 0 in the other; all other records are 0.
    """
    p = math.exp(epsilon) / (1 + math.exp(epsilon))

    def law(record: int) -> list[float]:
        out = [0.0] * 2**m
        for batch in itertools.combinations(range(n), m):
            bits = [record if who == 0 else 0 for who in batch]
            for code in range(2**m):
                chance = 1.0
                for i, bit in enumerate(bits):
                    chance *= p if bit == (code >> i) & 1 else 1 - p
                out[code] += chance / math.comb(n, m)
        return out

    one, zero = law(1), law(0)
    moments = [
        sum(x**order * y ** (1 - order) for x, y in zip(a, b, strict=True)) for a, b in ((one, zero), (zero, one))
    ]
    return max(math.log(moment) / (order - 1) for moment in moments)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (1, 6), (2, 3), (3, 5)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_batches_of_fixed_size_cover_enumerated_truth(m: int, n: int, epsilon: float) -> None:
    """Every batch enumerated: both bounds hold, and the one from a dominating pair is the smaller one at order 2."""
    for order in (2, 3, 9):
        known = [randomized_response_renyi(str(epsilon), j) for j in range(2, order + 1)]
        truth = _batch_truth(epsilon, m, n, order)
        share = Fraction(m, n)
        pair = fixed_size_renyi_of_pair(sampling_share=share, divergences=known)
        general = fixed_size_renyi(sampling_share=share, divergences=known)
        assert truth <= float(pair) * (1 + 1e-9)
        assert truth <= float(general) * (1 + 1e-9)
        if order == 2:
            assert pair <= general


def test_poisson_numbers_are_too_small_for_batches_of_fixed_size() -> None:
    """Control: pricing a batch of one in two as a Poisson sample of the clip norm once is below the truth."""
    sigma, order = 1.0, 4
    step, truth = 1e-3, 0.0
    for i in range(20_000):
        x = -10 + i * step

        def law(shift: float, x: float = x) -> float:
            return (math.exp(-(x**2) / 2) + math.exp(-((x - shift) ** 2) / 2)) / 2 / math.sqrt(2 * math.pi)

        truth += law(1 / sigma) ** order * law(-1 / sigma) ** (1 - order) * step
    exact = math.log(truth) / (order - 1)
    as_poisson = poisson_gaussian_renyi(sampling_probability="0.5", noise_multiplier="1", order=order)
    batch = fixed_size_renyi_of_pair(sampling_share="0.5", divergences=[str(2 * j) for j in range(2, order + 1)])
    assert float(as_poisson) < exact < float(batch)


def test_laplace_sums_are_below_the_class_of_pure_bases() -> None:
    """A Laplace base costs less than the worst base of the same epsilon, at every whole order."""
    for order in (2, 5, 30):
        known = [laplace_renyi(1, j) for j in range(2, order + 1)]
        own = poisson_renyi_remove(sampling_probability="0.1", divergences=known)
        assert own < poisson_response_renyi(sampling_probability="0.1", epsilon=1, order=order)


def test_inputs_are_read_strictly() -> None:
    """No list, too long a list, negative or infinite entries: refused."""
    for bad in ([], "12", [1] * 512, ["-1"], ["inf"], [None]):
        with pytest.raises(InputError):
            poisson_renyi(sampling_probability="0.1", divergences=bad)
    assert poisson_renyi(sampling_probability="0.1", divergences=[0, 0]) >= 0
    assert poisson_response_renyi(sampling_probability="0.1", epsilon=0, order=2) == 0
    assert up(ball(1)) == 1
