"""How much noise a guarantee needs, and what a given noise guarantees.

Every argument is passed by name: an epsilon, a delta and a sensitivity are all just numbers, and two of them exchanged
would be a silent loss of privacy. Noise comes out rounded up, a probability of telling the truth rounded down.
A sensitivity belongs to a neighbouring relation; `clipped_sum_sensitivity` says which one is which.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.enclosure import DIGITS, ball, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Number, amount, count, divide_up, multiply_down, multiply_up, show, sqrt_down
from dosimeter.mechanisms.randomized_response import MAX_CATEGORIES, truth_or_other_epsilon, truth_or_uniform_epsilon
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import profiles
from dosimeter.notions.profiles.reading import read_target_delta
from dosimeter.notions.profiles.solving import nonnegative_down

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_SHORT: Final = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_CEILING)


def clipped_sum_sensitivity(*, clip_norm: Number, neighbouring_relation: NeighbouringRelation | str) -> Decimal:
    """By how much one unit moves a sum of vectors clipped to `clip_norm`, in the norm they were clipped in.

    Guarantee: `clip_norm` when a unit is added, removed or replaced by one that contributes zero; twice that when its
    vector is exchanged for another. Exact.

    Args:
        clip_norm: C, the largest norm of one unit's vector, in [1e-300, 1e12].
        neighbouring_relation: add_remove, zero_out or replace_one.

    Reference: triangle inequality; the two vectors of a replacement may point in opposite directions.
    """
    norm = amount(clip_norm, "clip_norm")
    relation = NeighbouringRelation.read(neighbouring_relation)
    return multiply_up(norm, 2 if relation is NeighbouringRelation.REPLACE_ONE else 1)


def clipped_mean_sensitivity(
    *, clip_norm: Number, denominator: Number, neighbouring_relation: NeighbouringRelation | str
) -> Decimal:
    """By how much one unit moves a clipped sum divided by a FIXED, public denominator.

    Guarantee: rounded up. A denominator that depends on the data is another query with its own price.

    Args:
        clip_norm: C, in [1e-300, 1e12].
        denominator: a public constant, for instance the expected batch size, in [1e-300, 1e12].
        neighbouring_relation: add_remove, zero_out or replace_one.

    Reference: `clipped_sum_sensitivity`, divided.
    """
    total = clipped_sum_sensitivity(clip_norm=clip_norm, neighbouring_relation=neighbouring_relation)
    return divide_up(total, amount(denominator, "denominator", round_up=False))


def gaussian_sigma(*, epsilon: Number, delta: Number, l2_sensitivity: Number) -> Decimal:
    """The least standard deviation that makes one Gaussian release (epsilon, delta)-DP, by its exact profile.

    Guarantee: rounded up, and certified; necessary and sufficient for every epsilon, 0 included.

    Args:
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1).
        l2_sensitivity: under the neighbouring relation of the guarantee, in [1e-300, 1e12].

    Raises:
        NoGuaranteeError: delta is 0; no Gaussian noise is epsilon-DP.

    Reference: Balle, Wang (2018), Theorem 9.
    """
    sigma = divide_up(amount(l2_sensitivity, "l2_sensitivity"), profiles.gaussian_mu(epsilon, delta))
    return _SHORT.plus(sigma)


def gaussian_delta(*, sigma: Number, epsilon: Number, l2_sensitivity: Number) -> Decimal:
    """The exact delta at epsilon of one Gaussian release.

    Guarantee: rounded up.

    Args:
        sigma: the standard deviation of the noise, in [1e-300, 1e12].
        epsilon: of either sign, in [-1e12, 1e12].
        l2_sensitivity: in [1e-300, 1e12].

    Reference: Balle, Wang (2018), Theorem 8.
    """
    return profiles.gaussian_delta(_mu(sigma, l2_sensitivity), epsilon)


def gaussian_epsilon(*, sigma: Number, delta: Number, l2_sensitivity: Number) -> Decimal:
    """The least epsilon at which one Gaussian release has at most this delta.

    Guarantee: rounded up, and certified.

    Args:
        sigma: the standard deviation of the noise, in [1e-300, 1e12].
        delta: in [1e-300, 1).
        l2_sensitivity: in [1e-300, 1e12].

    Raises:
        NoGuaranteeError: delta is 0, where epsilon is infinite.

    Reference: Balle, Wang (2018), Theorem 8.
    """
    return profiles.gaussian_epsilon(_mu(sigma, l2_sensitivity), delta)


def classical_gaussian_sigma(*, epsilon: Number, delta: Number, l2_sensitivity: Number) -> Decimal:
    """The textbook's l2_sensitivity sqrt(2 log(1.25/delta)) / epsilon, where it is enough noise.

    Guarantee: rounded up; refused wherever the exact profile says that it is too little. `gaussian_sigma` is never
    larger and always applies; this one is here to compare with.

    Args: as in `gaussian_sigma`, with epsilon above 0.

    Raises:
        NoGuaranteeError: delta is 0, or the formula gives too little noise here (proven to be enough for epsilon < 1
            only; at epsilon 10, delta 1e-5 its true delta is 2.3e-5).

    Reference: Dwork, Roth (2014), Theorem A.1.
    """
    price, sensitivity = amount(epsilon, "epsilon", round_up=False), amount(l2_sensitivity, "l2_sensitivity")
    failure = read_target_delta(delta)
    if not failure:
        raise NoGuaranteeError("delta=0: no Gaussian noise is epsilon-DP; give a delta above 0")
    sigma = up(
        enclose(lambda: ball(sensitivity) * (2 * (ball(Fraction(5, 4)) / ball(failure)).log()).sqrt() / ball(price))
    )
    if (true := gaussian_delta(sigma=sigma, epsilon=price, l2_sensitivity=sensitivity)) > failure:
        raise NoGuaranteeError(
            f"the classical formula gives too little noise at epsilon={price}, delta={failure}: "
            f"its true delta is {true:.6g}; use gaussian_sigma"
        )
    return sigma


def zcdp_sigma(*, rho: Number, l2_sensitivity: Number) -> Decimal:
    """The least standard deviation that makes a Gaussian or discrete Gaussian release rho-zCDP.

    Guarantee: rounded up; l2_sensitivity / sqrt(2 rho), for vectors too.

    Args:
        rho: in [1e-300, 1e12].
        l2_sensitivity: in [1e-300, 1e12].

    Reference: Bun, Steinke (2016), Proposition 1.6; Canonne, Kamath, Steinke (2020), Theorem 4.
    """
    budget = amount(rho, "rho", round_up=False)
    return divide_up(amount(l2_sensitivity, "l2_sensitivity"), sqrt_down(multiply_down(budget, 2)))


def laplace_scale(*, epsilon: Number, l1_sensitivity: Number) -> Decimal:
    """The least scale that makes a Laplace or discrete Laplace release epsilon-DP: l1_sensitivity / epsilon.

    Guarantee: rounded up.

    Args:
        epsilon: in [1e-300, 1e12].
        l1_sensitivity: in [1e-300, 1e12].

    Reference: Dwork, McSherry, Nissim, Smith (2006), Proposition 1.
    """
    return divide_up(amount(l1_sensitivity, "l1_sensitivity"), amount(epsilon, "epsilon", round_up=False))


def discrete_gaussian_sigma(*, epsilon: Number, delta: Number, sensitivity: int) -> Decimal:
    """A sigma that makes a discrete Gaussian release of ONE integer (epsilon, delta)-DP, by its exact profile.

    Guarantee: certified at the returned value, with delta used up. Do not round it, not even up: at a large epsilon
    the exact delta is not monotone in sigma. For vectors go through `zcdp_sigma`.

    Args:
        epsilon: 0 or in [1e-300, 1e12].
        delta: in [1e-300, 1).
        sensitivity: the largest change of the integer, in lattice steps, 1 to 1e9.

    Raises:
        NoGuaranteeError: delta is 0.

    Reference: Canonne, Kamath, Steinke (2020), Theorem 7, solved for sigma.
    """
    return profiles.discrete_gaussian_sigma(sensitivity, epsilon, delta)


class Otherwise(StrEnum):
    """What a respondent says who does not tell the truth."""

    ANOTHER_VALUE = "another_value"  # uniformly one of the other values; with two values, the wrong one
    ANY_VALUE = "any_value"  # uniformly any value, the true one included; with two values, a fair coin


def randomized_response_truth(
    *, epsilon: Number, categories: int = 2, otherwise: Otherwise | str = Otherwise.ANOTHER_VALUE
) -> Decimal:
    """How often to tell the truth for epsilon-DP: e^eps/(e^eps + k - 1), or (e^eps - 1)/(e^eps + k - 1) for a coin.

    Guarantee: rounded down.

    Args:
        epsilon: 0 or in [1e-300, 1e12].
        categories: k, the number of values, 2 to 1e9.
        otherwise: what is said instead of the truth: `another_value`, or `any_value` (the truth may come up again).

    Reference: Warner (1965); Kairouz, Bonawitz, Ramage (2016), section 2.
    """
    price = amount(epsilon, "epsilon", zero=True, round_up=False)
    k, variant = count(categories, "categories", smallest=2, largest=MAX_CATEGORIES), _otherwise(otherwise)

    def probability() -> Ball:
        shrunk = (-ball(price)).exp()
        total = 1 + (k - 1) * shrunk
        return (1 if variant is Otherwise.ANOTHER_VALUE else -(-ball(price)).expm1()) / total

    if not price and variant is Otherwise.ANY_VALUE:
        return ZERO
    return min(ONE, nonnegative_down(probability))


def randomized_response_epsilon(
    *, truth_probability: Number, categories: int = 2, otherwise: Otherwise | str = Otherwise.ANOTHER_VALUE
) -> Decimal:
    """The epsilon of telling the truth this often, in the stated variant.

    Guarantee: rounded up. With three answers in four true, lying otherwise costs log 3, tossing a coin otherwise log 7.

    Args:
        truth_probability: p, in [0, 1), exact (a ratio such as 1/3 stays one).
        categories: k, the number of values, 2 to 1e9.
        otherwise: what is said instead of the truth: `another_value`, or `any_value` (the truth may come up again).

    Raises:
        NoGuaranteeError: some value is never said instead of another; epsilon is infinite.

    Reference: Warner (1965); Kairouz, Bonawitz, Ramage (2016), section 2.
    """
    recipe = truth_or_other_epsilon if _otherwise(otherwise) is Otherwise.ANOTHER_VALUE else truth_or_uniform_epsilon
    return recipe(truth_probability, categories)


def _otherwise(value: Otherwise | str) -> Otherwise:
    try:
        return Otherwise(value)
    except ValueError:
        raise InputError(f"otherwise={show(value)} is unknown; use one of: {', '.join(Otherwise)}") from None


def _mu(sigma: Number, l2_sensitivity: Number) -> Decimal:
    return divide_up(amount(l2_sensitivity, "l2_sensitivity"), amount(sigma, "sigma", round_up=False))
