"""The table of composition theorems: what each needs, which adaptivity it allows, and which function states it.

All of them are about parameters fixed in advance. A few have a fully adaptive counterpart, a filter with the same sum;
the others have none, and evaluating them on parameters chosen on the way is unsound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dosimeter.composition.advanced import (
    advanced_capped,
    advanced_drv,
    advanced_kov,
    advanced_squares,
    advanced_tanh,
    advanced_zcdp,
)
from dosimeter.composition.basic import basic
from dosimeter.composition.central_limit import central_limit
from dosimeter.composition.estimates import (
    estimate_delta_central_limit,
    estimate_delta_edgeworth,
    estimate_delta_saddle_point,
)
from dosimeter.composition.heterogeneous import optimal_heterogeneous_epsilon
from dosimeter.composition.homogeneous import optimal_homogeneous_epsilon
from dosimeter.composition.mixed import mixed_epsilon
from dosimeter.composition.murtagh_vadhan import murtagh_vadhan_epsilon
from dosimeter.composition.parallel import parallel
from dosimeter.composition.profile import privacy_loss_distribution
from dosimeter.composition.sums import gaussians_epsilon, gdp_sum, rdp_sum, zcdp_sum


class Adaptivity(StrEnum):
    """What may depend on earlier answers."""

    ADAPTIVE = "adaptive"  # the mechanisms; their parameters, order and number are fixed in advance
    DISJOINT = "disjoint"  # nothing needs to be fixed but the rule that splits the rows


class Certainty(StrEnum):
    """Whether the answer certainly holds."""

    GUARANTEE = "guarantee"
    ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True)
class Theorem:
    """One row of the table.

    Args:
        name: how `best` calls it.
        title: one line for a person.
        needs: the parameters it takes, in words.
        adaptivity: what may depend on earlier answers.
        filter_kind: the filter that makes the same sum hold for parameters chosen on the way; None when there is none.
        certainty: a guarantee, or an estimate that nothing accepts as a loss.
        function: the function that states it.
        reference: the paper and theorem.
    """

    name: str
    title: str
    needs: str
    adaptivity: Adaptivity
    filter_kind: str | None
    certainty: Certainty
    function: Callable[..., Any]
    reference: str


_PAIRS = "(epsilon, delta) of every mechanism"
_SLACK = "(epsilon, delta) of every mechanism; a slack delta"


def theorems() -> tuple[Theorem, ...]:
    """Every composition theorem offered, weakest needs first; `find` one by name.

    Guarantee: each row says which adaptivity its theorem allows and whether it is a guarantee or an estimate.

    Reference: in each row.
    """
    return _TABLE


def _guarantee(
    name: str, title: str, needs: str, function: Callable[..., Any], reference: str, filter_kind: str | None = None
) -> Theorem:
    return Theorem(name, title, needs, Adaptivity.ADAPTIVE, filter_kind, Certainty.GUARANTEE, function, reference)


def _estimate(name: str, title: str, function: Callable[..., Any], reference: str) -> Theorem:
    needs = "Gaussian, Laplace and randomized-response events"
    return Theorem(name, title, needs, Adaptivity.ADAPTIVE, None, Certainty.ESTIMATE, function, reference)


_TABLE = (
    _guarantee("basic", "losses add", _PAIRS, basic, "Dwork et al. 2006", "basic"),
    Theorem(
        "parallel",
        "disjoint parts of the data do not add up",
        "(epsilon, delta) of every part; the neighbouring relation",
        Adaptivity.DISJOINT,
        None,
        Certainty.GUARANTEE,
        parallel,
        "McSherry 2009, Theorem 4",
    ),
    _guarantee(
        "advanced_drv",
        "the first square-root bound",
        _SLACK,
        advanced_drv,
        "Dwork, Rothblum and Vadhan 2010, Theorem III.3",
    ),
    _guarantee(
        "advanced_squares",
        "half the sum of squares and its deviation",
        _SLACK,
        advanced_squares,
        "Steinke 2022, Theorem 18",
        "approx_published",
    ),
    _guarantee(
        "advanced_capped",
        "the same, or the plain sum",
        _SLACK,
        advanced_capped,
        "Steinke 2022, Theorem 22",
    ),
    _guarantee(
        "advanced_tanh",
        "the tight drift and its deviation",
        _SLACK,
        advanced_tanh,
        "Bun and Steinke 2016, with e tanh(e/2)",
    ),
    _guarantee(
        "advanced_zcdp",
        "the tight drift and the optimised conversion",
        _SLACK,
        advanced_zcdp,
        "Canonne, Kamath and Steinke 2020, Proposition 12",
        "approx",
    ),
    _guarantee(
        "advanced_kov",
        "the least of three simple bounds",
        _SLACK,
        advanced_kov,
        "Kairouz, Oh and Viswanath 2017, Theorems 3.4 and 3.5",
    ),
    _guarantee(
        "optimal_homogeneous",
        "the best possible bound for equal mechanisms",
        "(epsilon, delta) of one mechanism; a count",
        optimal_homogeneous_epsilon,
        "Kairouz, Oh and Viswanath 2017, Theorem 3.3",
    ),
    _guarantee(
        "optimal_heterogeneous",
        "the best possible bound for unequal mechanisms, enclosed",
        _PAIRS,
        optimal_heterogeneous_epsilon,
        "Murtagh and Vadhan 2016, Theorem 1.5",
    ),
    _guarantee(
        "murtagh_vadhan",
        "the same, by rounding epsilons to a lattice",
        _PAIRS,
        murtagh_vadhan_epsilon,
        "Murtagh and Vadhan 2016, Theorem 1.7",
    ),
    _guarantee(
        "zcdp_sum",
        "rho adds, converted once",
        "rho of every mechanism",
        zcdp_sum,
        "Bun and Steinke 2016, Lemma 1.7",
        "zcdp",
    ),
    _guarantee(
        "rdp_sum",
        "Renyi bounds add order by order, the best order at the end",
        "Renyi bounds of every mechanism at the same orders",
        rdp_sum,
        "Mironov 2017, Proposition 1",
        "rdp",
    ),
    _guarantee(
        "gdp_sum",
        "squares of mu add, exactly",
        "mu of every mechanism",
        gdp_sum,
        "Dong, Roth and Su 2022, Corollary 3.3",
        "gdp",
    ),
    _guarantee(
        "gaussians",
        "many Gaussian releases are one",
        "sigma and sensitivity of every Gaussian release",
        gaussians_epsilon,
        "Balle and Wang 2018, Theorem 8",
        "gdp",
    ),
    _guarantee(
        "mixed",
        "Gaussian releases with (epsilon, delta) ones, jointly",
        "mu of some mechanisms, (epsilon, delta) of the others",
        mixed_epsilon,
        "Dong, Roth and Su 2022, Theorem 3.2",
    ),
    _guarantee(
        "privacy_loss_distribution",
        "the exact losses of every mechanism, convolved",
        "mechanisms with a dominating pair",
        privacy_loss_distribution,
        "Zhu, Dong and Wang 2022, Theorem 10",
    ),
    _guarantee(
        "central_limit",
        "nearly Gaussian, with the error of being only nearly so",
        "Gaussian, Laplace and randomized-response events",
        central_limit,
        "Dong, Roth and Su 2022, Theorem 3.4",
    ),
    _estimate(
        "estimate_central_limit",
        "nearly Gaussian, error left out",
        estimate_delta_central_limit,
        "Dong, Roth and Su 2022, Theorem 3.4",
    ),
    _estimate(
        "estimate_edgeworth",
        "corrected by skewness and kurtosis",
        estimate_delta_edgeworth,
        "Wang et al. 2022",
    ),
    _estimate(
        "estimate_saddle_point",
        "the leading term at the saddle",
        estimate_delta_saddle_point,
        "Alghamdi et al. 2023",
    ),
)
