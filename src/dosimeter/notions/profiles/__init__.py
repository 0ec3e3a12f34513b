"""Exact privacy profiles of the standard mechanisms and notions, as functions of numbers.

Every function takes text, int, float or Decimal and returns a Decimal: a delta, an epsilon or a divergence is rounded
up, a budget is rounded down. Notion values and events are built on these.
"""

from dosimeter.notions.profiles.concentrated import (
    zcdp_delta,
    zcdp_delta_simple,
    zcdp_epsilon,
    zcdp_epsilon_simple,
    zcdp_rho,
    zcdp_rho_simple,
)
from dosimeter.notions.profiles.discrete import (
    discrete_gaussian_delta,
    discrete_gaussian_epsilon,
    discrete_gaussian_norm,
    discrete_gaussian_pmf,
    discrete_gaussian_sigma,
    discrete_gaussian_variance,
    discrete_laplace_delta,
    discrete_laplace_pmf,
    discrete_laplace_variance,
)
from dosimeter.notions.profiles.finite import best_tests, hockey_stick, renyi_divergence
from dosimeter.notions.profiles.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from dosimeter.notions.profiles.laplace import (
    laplace_delta,
    laplace_epsilon,
    laplace_renyi,
    laplace_tradeoff,
    laplace_zcdp,
)
from dosimeter.notions.profiles.randomized_response import (
    randomized_response_delta,
    randomized_response_mu,
    randomized_response_renyi,
)
from dosimeter.notions.profiles.renyi import (
    renyi_budget,
    renyi_budget_simple,
    renyi_delta,
    renyi_delta_simple,
    renyi_epsilon,
    renyi_epsilon_simple,
)
from dosimeter.notions.profiles.renyi_exact import renyi_delta_exact, renyi_epsilon_exact, renyi_order_bound

__all__ = [
    "best_tests",
    "discrete_gaussian_delta",
    "discrete_gaussian_epsilon",
    "discrete_gaussian_norm",
    "discrete_gaussian_pmf",
    "discrete_gaussian_sigma",
    "discrete_gaussian_variance",
    "discrete_laplace_delta",
    "discrete_laplace_pmf",
    "discrete_laplace_variance",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "hockey_stick",
    "laplace_delta",
    "laplace_epsilon",
    "laplace_renyi",
    "laplace_tradeoff",
    "laplace_zcdp",
    "randomized_response_delta",
    "randomized_response_mu",
    "randomized_response_renyi",
    "renyi_budget",
    "renyi_budget_simple",
    "renyi_delta",
    "renyi_delta_exact",
    "renyi_delta_simple",
    "renyi_divergence",
    "renyi_epsilon",
    "renyi_epsilon_exact",
    "renyi_epsilon_simple",
    "renyi_order_bound",
    "zcdp_delta",
    "zcdp_delta_simple",
    "zcdp_epsilon",
    "zcdp_epsilon_simple",
    "zcdp_rho",
    "zcdp_rho_simple",
]
