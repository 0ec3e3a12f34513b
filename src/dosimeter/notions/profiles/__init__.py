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
from dosimeter.notions.profiles.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from dosimeter.notions.profiles.laplace import laplace_delta, laplace_epsilon, laplace_renyi, laplace_zcdp
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

__all__ = [
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "laplace_delta",
    "laplace_epsilon",
    "laplace_renyi",
    "laplace_zcdp",
    "randomized_response_delta",
    "randomized_response_mu",
    "randomized_response_renyi",
    "renyi_budget",
    "renyi_budget_simple",
    "renyi_delta",
    "renyi_delta_simple",
    "renyi_epsilon",
    "renyi_epsilon_simple",
    "zcdp_delta",
    "zcdp_delta_simple",
    "zcdp_epsilon",
    "zcdp_epsilon_simple",
    "zcdp_rho",
    "zcdp_rho_simple",
]
