"""The Gaussian mechanisms of the literature as instances of one class, each scaled to what is true of it.

All of them are `GaussianMechanism`s, so their exact price stands beside whatever their paper's condition asks for.
With B = `gaussian_mu(epsilon, delta)`, the largest mu whose Gaussian pair is (epsilon, delta)-DP:

* analytic Gaussian: independent noise of standard deviation s/B;
* IMGM: any matrix Gaussian noise with sigma_min(U1) sigma_min(U2) >= s/B. Its best choice is the analytic Gaussian;
* classical Gaussian: s sqrt(2 log(1.25/delta))/epsilon, refused where that is less than s/B;
* MVG: directional noise from a condition that is sufficient and far from necessary, as published, without a slack that
  can be proven away, or with its shape kept and its size made exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import Number, amount, count, divide_down, divide_up, multiply_up, show, sqrt_up
from dosimeter.mechanisms.matrix.arrays import MAX_DENSE, MAX_ENTRIES, norm, read_array
from dosimeter.mechanisms.matrix.covariance import IidNoise, KroneckerNoise, read_shape
from dosimeter.mechanisms.matrix.gaussian import GaussianMechanism
from dosimeter.mechanisms.matrix.sensitivity import FrobeniusBall
from dosimeter.notions.profiles.gaussian import gaussian_mu

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

MVG_CALIBRATIONS: Final = ("published", "without_slack", "exact")
MAX_ROUNDS: Final = 10**9
_SMALLEST_PRECISION: Final = Decimal("1e-90")


def analytic_gaussian(
    shape: object, *, l2_sensitivity: Number, epsilon: Number, delta: Number, rounds: int = 1
) -> GaussianMechanism:
    """Independent noise of the smallest standard deviation that makes `rounds` releases (epsilon, delta)-DP together.

    Guarantee: each release is (B/sqrt(rounds))-GDP; all of them together B-GDP, hence (epsilon, delta)-DP.

    Args:
        shape: of the value.
        l2_sensitivity: Frobenius norm of the largest difference.
        epsilon: above 0.
        delta: in (0, 1).
        rounds: how many such releases share the budget.

    Raises:
        InputError: a value outside its range.

    Reference: Balle, Wang, "Improving the Gaussian mechanism for differential privacy" (2018), Theorem 8.
    """
    std = imgm_min_product(l2_sensitivity=l2_sensitivity, epsilon=epsilon, delta=delta, rounds=rounds)
    return GaussianMechanism(IidNoise(std, read_shape(shape)), FrobeniusBall(amount(l2_sensitivity, "l2_sensitivity")))


def imgm_min_product(*, l2_sensitivity: Number, epsilon: Number, delta: Number, rounds: int = 1) -> Decimal:
    """The least sigma_min(U1) sigma_min(U2) of matrix Gaussian noise: sqrt(rounds) s/B, rounded up.

    Guarantee: noise that reaches it is (epsilon, delta)-DP over `rounds` releases for every set of differences inside
    the Frobenius ball; noise that does not reach it fails for the whole ball.

    Args:
        l2_sensitivity: s, the radius of the ball.
        epsilon: above 0.
        delta: in (0, 1).
        rounds: how many releases of this kind, 1 to 10^9.

    Raises:
        InputError: a value outside its range.

    Reference: the IMGM paper, Theorem 2 in its exact form (its condition on all products of singular values is not
    needed); Dong, Roth, Su (2022), Corollary 2 for the composition.
    """
    sensitivity = amount(l2_sensitivity, "l2_sensitivity")
    root = sqrt_up(Decimal(count(rounds, "rounds", largest=MAX_ROUNDS)))
    return divide_up(multiply_up(sensitivity, root), gaussian_mu(epsilon, delta))


def imgm(
    left: object, right: object, *, l2_sensitivity: Number, epsilon: Number, delta: Number, rounds: int = 1
) -> GaussianMechanism:
    """Matrix Gaussian noise U1 N U2^T of a chosen shape, with its size made exact.

    Guarantee: `rounds` such releases are (epsilon, delta)-DP together, and a smaller multiple of the same noise is not
    for the whole Frobenius ball (up to the last digits of certified norms).

    Args:
        left: shape of U1, m x m and invertible; only its proportions matter.
        right: shape of U2, n x n and invertible.
        l2_sensitivity: Frobenius norm of the largest difference.
        epsilon: above 0.
        delta: in (0, 1).
        rounds: how many such releases share the budget.

    Raises:
        InputError: singular or misshapen factors, a value outside its range.

    Reference: the IMGM paper, Theorem 2 and its composition.
    """
    ball_ = FrobeniusBall(amount(l2_sensitivity, "l2_sensitivity"))
    root = sqrt_up(Decimal(count(rounds, "rounds", largest=MAX_ROUNDS)))
    noise = KroneckerNoise(read_array(left, "left"), read_array(right, "right"))
    return GaussianMechanism(noise, ball_).scaled_to(divide_down(gaussian_mu(epsilon, delta), root))


def classical_gaussian(shape: object, *, l2_sensitivity: Number, epsilon: Number, delta: Number) -> GaussianMechanism:
    """Independent noise of standard deviation s sqrt(2 log(1.25/delta))/epsilon, where that suffices.

    Guarantee: (epsilon, delta)-DP; the exact price of the result is usually much smaller.

    Args:
        shape: of the value.
        l2_sensitivity: Frobenius norm of the largest difference.
        epsilon: above 0; the formula was proven below 1 and stops being private a little above it.
        delta: in (0, 1).

    Raises:
        InputError: a value outside its range.
        NoGuaranteeError: the formula gives less noise than (epsilon, delta)-DP needs.

    Reference: Dwork, Roth, "The algorithmic foundations of differential privacy" (2014), Theorem 3.22.
    """
    sensitivity, e = amount(l2_sensitivity, "l2_sensitivity"), amount(epsilon, "epsilon", round_up=False)
    d = amount(delta, "delta", round_up=False, below_one=True)
    std = up(enclose(lambda: ball(sensitivity) * (2 * (ball(5) / 4 / ball(d)).log()).sqrt() / ball(e)))
    needed = divide_up(sensitivity, gaussian_mu(epsilon, delta))
    if std < needed:
        raise NoGuaranteeError(
            f"at epsilon={epsilon}, delta={delta} the classical formula gives a standard deviation of {std:.6g}, below "
            f"the {needed:.6g} that is needed: it is not private there. Use analytic_gaussian"
        )
    return GaussianMechanism(IidNoise(std, read_shape(shape)), FrobeniusBall(sensitivity))


def mvg_zeta(rows: int, columns: int, delta: Number) -> Decimal:
    """zeta = mn + 2 sqrt(mn log(1/delta)) + 2 log(1/delta), rounded up.

    Guarantee: a white m x n matrix N has |N|_F^2 <= zeta with probability at least 1 - delta.

    Args:
        rows: m.
        columns: n.
        delta: in (0, 1).

    Raises:
        InputError: a value outside its range.

    Reference: Laurent, Massart (2000), Lemma 1.
    """
    d = amount(delta, "delta", round_up=False, below_one=True)
    entries = _entries(rows, columns)
    return up(enclose(lambda: _zeta(entries, d)))


def mvg_precision(
    rows: int,
    columns: int,
    *,
    value_bound: Number,
    l2_sensitivity: Number,
    epsilon: Number,
    delta: Number,
    without_slack: bool = False,
) -> Decimal:
    """The largest |sigma(S1^-1)|_2 |sigma(S2^-1)|_2 that MVG's condition allows, rounded down.

    Guarantee: matrix Gaussian noise of row covariance S1 and column covariance S2 within it is (epsilon, delta)-DP.
    `without_slack` uses |N|_F <= sqrt(zeta) where the paper uses zeta.

    Args:
        rows: m.
        columns: n.
        value_bound: gamma, a public bound on the Frobenius norm of the value, at least half the sensitivity.
        l2_sensitivity: Frobenius norm of the largest difference.
        epsilon: above 0.
        delta: in (0, 1).
        without_slack: the sharper form.

    Raises:
        InputError: a value outside its range.

    Reference: Chanyaswad, Dytso, Poor, Mittal, "MVG mechanism" (2018), Theorem 2.
    """
    gamma, s = amount(value_bound, "value_bound"), amount(l2_sensitivity, "l2_sensitivity")
    e = amount(epsilon, "epsilon", round_up=False)
    d = amount(delta, "delta", round_up=False, below_one=True)
    entries, rank = _entries(rows, columns), min(rows, columns)
    if rank > 10**6:
        raise InputError(f"a matrix of rank {rank} is beyond MVG's formula here; at most 10^6")

    def allowed() -> Ball:
        first = sum((ball(Fraction(1, i)) for i in range(1, rank + 1)), ball(0))
        half = sum((1 / ball(i).sqrt() for i in range(1, rank + 1)), ball(0))
        alpha = (first + half) * ball(gamma) ** 2 + 2 * first * ball(gamma) * ball(s)
        size = _zeta(entries, d).sqrt() if without_slack else _zeta(entries, d)
        beta = 2 * ball(entries).sqrt().sqrt() * size * first * ball(s)
        # the positive root of alpha x^2 + beta x = 2 epsilon, written without cancellation
        x = 4 * ball(e) / (beta + (beta * beta + 8 * alpha * ball(e)).sqrt())
        return x * x

    return down(enclose(allowed))


def mvg(
    directions: object,
    shares: Sequence[Number],
    columns: int,
    *,
    value_bound: Number,
    l2_sensitivity: Number,
    epsilon: Number,
    delta: Number,
    calibration: str = "published",
) -> GaussianMechanism:
    """Directional noise along the rows: variances (share_i P)^(-1/2) in the given directions, P = precision^2/columns.

    Guarantee: (epsilon, delta)-DP in all three calibrations; the exact price of the first two is far smaller.

    Args:
        directions: m x m, orthonormal columns, chosen without looking at the private rows (or paid for).
        shares: m positive numbers that sum to 1: how the precision is divided between the directions.
        columns: n.
        value_bound: gamma, a public bound on the Frobenius norm of the value.
        l2_sensitivity: Frobenius norm of the largest difference.
        epsilon: above 0.
        delta: in (0, 1).
        calibration: "published", "without_slack", or "exact": the same shape at the size that is needed.

    Raises:
        InputError: directions that are not orthonormal, shares that do not sum to 1, an unknown calibration.

    Reference: Chanyaswad, Dytso, Poor, Mittal (2018), section 5 (unimodal directional noise).
    """
    w = read_array(directions, "directions")
    rows = w.shape[0]
    if w.shape != (rows, rows) or norm(np.asarray(w.T @ w - np.eye(rows)))[1] > 1e-9:
        raise InputError(f"directions must be a square matrix with orthonormal columns; got shape {w.shape}")
    weights = read_array(shares, "shares", (1,))
    if weights.shape != (rows,) or not (weights > 0).all() or abs(float(weights.sum()) - 1) > 1e-9:
        raise InputError(f"shares must be {rows} positive numbers that sum to 1")
    if calibration not in MVG_CALIBRATIONS:
        raise InputError(f"calibration={show(calibration)} is unknown; use one of: {', '.join(MVG_CALIBRATIONS)}")
    precision = mvg_precision(
        rows,
        columns,
        value_bound=value_bound,
        l2_sensitivity=l2_sensitivity,
        epsilon=epsilon,
        delta=delta,
        without_slack=calibration != "published",
    )
    if columns > MAX_DENSE:
        raise InputError(f"{columns} columns are too many; at most {MAX_DENSE}")
    if precision < _SMALLEST_PRECISION:
        raise InputError(f"MVG's condition leaves a precision of {precision:.3g}: its noise is beyond every use")
    weights = weights / weights.sum()
    budget = float(precision) ** 2 / columns * (1 - 1e-8)  # the shares' sum and the last digits stay inside
    variances = (weights * budget) ** -0.5
    noise = KroneckerNoise(w * np.sqrt(variances), np.eye(columns))
    mechanism = GaussianMechanism(noise, FrobeniusBall(amount(l2_sensitivity, "l2_sensitivity")))
    return mechanism.scaled_to(gaussian_mu(epsilon, delta)) if calibration == "exact" else mechanism


def _entries(rows: int, columns: int) -> int:
    m, n = count(rows, "rows", largest=MAX_ENTRIES), count(columns, "columns", largest=MAX_ENTRIES)
    return count(m * n, "rows times columns", largest=MAX_ENTRIES)


def _zeta(entries: int, delta: Decimal) -> Ball:
    log = -ball(delta).log()
    return ball(entries) + 2 * (ball(entries) * log).sqrt() + 2 * log
