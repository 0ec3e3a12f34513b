"""The mechanisms of the literature against their exact price: what each paper promises, and what is true."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.vectors import vectors

from dosimeter.composition import advanced_kov
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.mechanisms import SystemEntropy
from dosimeter.mechanisms.matrix import (
    FiniteSet,
    FrobeniusBall,
    GaussianMechanism,
    IidNoise,
    KroneckerNoise,
    MatrixRelease,
    analytic_gaussian,
    classical_gaussian,
    imgm,
    imgm_min_product,
    mvg,
    mvg_precision,
    mvg_zeta,
)
from dosimeter.notions import GDP, ApproxDP
from dosimeter.notions.convert import gdp_to_approx, gdp_to_rdp, rdp_to_approx_simple


def _array(rows: Any) -> Any:
    return np.array([[float(v) for v in row] for row in rows])


@pytest.mark.parametrize("vector", vectors("imgm_frobenius"), ids=str)
def test_imgm_frobenius(vector: Any) -> None:
    """|U1^-1 D U2^-T| of one difference."""
    noise = KroneckerNoise(_array(vector.args["U1"]), _array(vector.args["U2"]))
    mu = GaussianMechanism(noise, FiniteSet((_array(vector.args["D"]),))).mu
    assert float(mu.lower) * (1 - 1e-14) <= float(vector.value) <= float(mu.upper) * (1 + 1e-14)


@pytest.mark.parametrize("vector", vectors("imgm_sv_bound"), ids=str)
def test_imgm_sv_bound_is_sufficient_only(vector: Any) -> None:
    """The condition on singular values bounds the exact size from above, and is not equal to it."""
    u1, u2, d = (_array(vector.args[name]) for name in ("U1", "U2", "D"))
    s, a, b = (np.linalg.svd(m, compute_uv=False) for m in (d, u1, u2))
    bound = float(np.sqrt(sum((s[i] / (a[::-1][i] * b[::-1][i])) ** 2 for i in range(s.size))))
    assert bound == pytest.approx(float(vector.value), rel=1e-12)
    assert GaussianMechanism(KroneckerNoise(u1, u2), FiniteSet((d,))).mu.upper < bound


@pytest.mark.parametrize("vector", vectors("imgm_delta"), ids=str)
def test_imgm_delta(vector: Any) -> None:
    """The exact delta over the whole ball, from the smallest singular values."""
    noise = KroneckerNoise(_array(vector.args["U1"]), _array(vector.args["U2"]))
    mechanism = GaussianMechanism(noise, FrobeniusBall(vector.args["s2"]))
    assert float(mechanism.delta(vector.args["eps"])) == pytest.approx(float(vector.value), rel=1e-11)


@pytest.mark.parametrize("vector", vectors("imgm_min_product"), ids=str)
def test_imgm_min_product(vector: Any) -> None:
    """The least product of smallest singular values, rounded up."""
    found = imgm_min_product(
        l2_sensitivity=vector.args["s2"],
        epsilon=vector.args["eps"],
        delta=vector.args["delta"],
        rounds=int(vector.args["T"]),
    )
    assert found >= Decimal(str(vector.value)) * (1 - Decimal("1e-18"))
    assert float(found) == pytest.approx(float(vector.value), rel=1e-15)


@pytest.mark.parametrize("vector", vectors("mvg_zeta"), ids=str)
def test_mvg_zeta(vector: Any) -> None:
    """The bound on the squared norm of white noise."""
    found = mvg_zeta(int(vector.args["mdim"]), int(vector.args["ndim"]), vector.args["delta"])
    assert float(found) == pytest.approx(float(vector.value), rel=1e-15)


@pytest.mark.parametrize("fn", ["mvg_precision", "mvg_iid_std"])
def test_mvg_precision_and_mvg_iid_std(fn: str) -> None:
    """The published condition's precision, and the noise it asks for when all entries get the same."""
    for vector in vectors(fn):
        m, n = int(vector.args["mdim"]), int(vector.args["ndim"])
        precision = mvg_precision(
            m,
            n,
            value_bound=vector.args["gamma"],
            l2_sensitivity=vector.args["s2"],
            epsilon=vector.args["eps"],
            delta=vector.args["delta"],
        )
        found = precision if fn == "mvg_precision" else (m * n) ** 0.25 / float(precision) ** 0.5
        assert float(found) == pytest.approx(float(vector.value), rel=1e-13)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6), st.floats(0.01, 8))
def test_imgm_at_its_optimum_is_the_analytic_gaussian(m: int, n: int, seed: int, epsilon: float) -> None:
    """Orthogonal factors: the same standard deviation in every entry to 1e-12, for any directions."""
    rng = np.random.default_rng(seed)
    directions = [np.linalg.qr(rng.normal(size=(k, k)))[0] for k in (m, n)]
    shaped = imgm(*directions, l2_sensitivity=2, epsilon=epsilon, delta="1e-5")
    flat = analytic_gaussian((m, n), l2_sensitivity=2, epsilon=epsilon, delta="1e-5")
    assert isinstance(shaped.noise, KroneckerNoise)
    assert isinstance(flat.noise, IidNoise)
    covariance = np.kron(shaped.noise.right @ shaped.noise.right.T, shaped.noise.left @ shaped.noise.left.T)
    wanted = float(flat.noise.std) ** 2
    assert np.allclose(covariance, wanted * np.eye(m * n), rtol=2e-12, atol=2e-12 * wanted)


def test_imgm_releases_and_analytic_gaussian_releases_are_the_same_law() -> None:
    """Two-sample test on the released entries; a shape that is not optimal is told apart by it."""
    rng = np.random.default_rng(7)
    zero = np.zeros((40, 50))
    target = {"l2_sensitivity": 1, "epsilon": 1, "delta": "1e-5"}
    turned = imgm(*(np.linalg.qr(rng.normal(size=(k, k)))[0] for k in zero.shape), **target)
    skewed = imgm(np.diag(np.linspace(1, 3, 40)), np.eye(50), **target)
    flat = analytic_gaussian(zero.shape, **target)
    entries = [MatrixRelease(mechanism).release(zero, SystemEntropy()).ravel() for mechanism in (turned, skewed, flat)]
    assert stats.ks_2samp(entries[0], entries[2]).pvalue > 1e-6
    assert stats.ks_2samp(entries[1], entries[2]).pvalue < 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_any_shape_of_imgm_noise_is_at_least_as_large(m: int, n: int, seed: int) -> None:
    """E|Z|^2 = |U1|^2 |U2|^2 is never below mn (s/B)^2: no matrix-shaped noise beats independent noise on a ball."""
    rng = np.random.default_rng(seed)
    shaped = imgm(
        rng.normal(size=(m, m)) + 2 * np.eye(m),
        rng.normal(size=(n, n)) + 2 * np.eye(n),
        l2_sensitivity=1,
        epsilon=1,
        delta="1e-6",
    )
    assert isinstance(shaped.noise, KroneckerNoise)
    energy = float((shaped.noise.left**2).sum() * (shaped.noise.right**2).sum())
    least = m * n * float(imgm_min_product(l2_sensitivity=1, epsilon=1, delta="1e-6")) ** 2
    assert energy >= least * (1 - 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6), st.floats(0.05, 4))
def test_mvg_is_private_in_all_calibrations_and_exact_only_in_one(m: int, n: int, seed: int, epsilon: float) -> None:
    """published >= without_slack >= exact in noise; each satisfies its (epsilon, delta), the last one just so."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(m, 3.0)) if m > 1 else np.ones(1)
    shares = np.maximum(shares, 1e-3) / np.maximum(shares, 1e-3).sum()
    directions = np.linalg.qr(rng.normal(size=(m, m)))[0]
    options: dict[str, Any] = {"value_bound": 1, "l2_sensitivity": 1, "epsilon": epsilon, "delta": "1e-5"}
    published, without, exact = (
        mvg(directions, shares.tolist(), n, calibration=c, **options) for c in ("published", "without_slack", "exact")
    )
    assert published.mu.upper <= without.mu.upper <= exact.mu.upper
    assert exact.epsilon("1e-5") <= Decimal(repr(epsilon))
    assert float(exact.epsilon("1e-5")) == pytest.approx(epsilon, rel=1e-9)


def test_mvg_with_shares_that_are_no_shares_would_break_its_condition() -> None:
    """Control: precision handed out twice over is not published MVG any more, and such shares are refused."""
    with pytest.raises(InputError):
        mvg(np.eye(2), [1, 1], 2, value_bound=1, l2_sensitivity=1, epsilon=1, delta="1e-5")
    with pytest.raises(InputError):
        mvg(2 * np.eye(2), [0.5, 0.5], 2, value_bound=1, l2_sensitivity=1, epsilon=1, delta="1e-5")
    with pytest.raises(InputError):
        mvg(np.eye(2), [0.5, 0.5], 2, value_bound=1, l2_sensitivity=1, epsilon=1, delta="1e-5", calibration="mine")


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 20), st.sampled_from(["1e-3", "1e-5", "1e-9"]))
def test_the_classical_formula_is_refused_exactly_where_it_under_noises(epsilon: float, delta: str) -> None:
    """Either it is private, by the exact price, or it is refused; a control shows that it is not private there."""
    formula = (2 * np.log(1.25 / float(delta))) ** 0.5 / epsilon
    try:
        mechanism = classical_gaussian((2, 2), l2_sensitivity=1, epsilon=epsilon, delta=delta)
    except NoGuaranteeError:
        bare = GaussianMechanism(IidNoise(formula, (2, 2)), FrobeniusBall(1))
        assert float(bare.delta(epsilon)) > float(delta) * (1 - 1e-9)
    else:
        assert mechanism.delta(epsilon) <= Decimal(delta)
        assert float(mechanism.noise.std) == pytest.approx(formula, rel=1e-12)  # type: ignore[union-attr]


def test_rounds_share_the_budget_by_squares() -> None:
    """T releases of an equal split compose to B exactly."""
    one = analytic_gaussian((2,), l2_sensitivity=1, epsilon=1, delta="1e-5")
    many = analytic_gaussian((2,), l2_sensitivity=1, epsilon=1, delta="1e-5", rounds=100)
    assert many.mu.upper**2 * 100 <= one.mu.upper**2 * (1 + Decimal("1e-20"))
    assert float(many.mu.upper) == pytest.approx(float(one.mu.upper) / 10, rel=1e-14)


def test_accountants_of_many_releases_in_their_order() -> None:
    """A hundred IMGM releases: exact, moments accountant, strong composition; each is above the one before it."""
    delta, each = "1e-5", imgm(np.eye(2), np.eye(3), l2_sensitivity=1, epsilon="0.1", delta="1e-8")
    rounds, mu = 100, each.mu.upper
    exact = gdp_to_approx(GDP(mu * 10), target_delta=delta).epsilon
    orders = [Decimal(n) / 4 for n in range(5, 2000)]
    moments = rdp_to_approx_simple(gdp_to_rdp(GDP(mu * 10), orders=orders), target_delta=delta).epsilon
    strong = advanced_kov([(ApproxDP(Decimal("0.1"), Decimal("1e-8")), rounds)], "9e-6").epsilon  # and 1e-6 declared
    assert exact < moments < strong
