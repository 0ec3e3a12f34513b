"""Composition theorems for parameters fixed in advance, each under its own name; `best` picks among them.

Everything here holds when the mechanisms may depend on earlier answers but their parameters, their order and their
number may not. For parameters chosen on the way only filters and odometers hold (`dosimeter.adaptive`).
"""

from dosimeter.composition.advanced import (
    advanced_capped,
    advanced_drv,
    advanced_kov,
    advanced_squares,
    advanced_tanh,
    advanced_zcdp,
)
from dosimeter.composition.basic import basic
from dosimeter.composition.best import Best, Considered, best
from dosimeter.composition.central_limit import CentralLimit, central_limit
from dosimeter.composition.descriptions import Description, describe, describe_loss
from dosimeter.composition.estimates import (
    Estimate,
    estimate_delta_central_limit,
    estimate_delta_edgeworth,
    estimate_delta_saddle_point,
)
from dosimeter.composition.heterogeneous import optimal_heterogeneous_delta, optimal_heterogeneous_epsilon
from dosimeter.composition.homogeneous import (
    optimal_homogeneous_delta,
    optimal_homogeneous_epsilon,
    optimal_homogeneous_value,
)
from dosimeter.composition.mixed import mixed_delta, mixed_epsilon
from dosimeter.composition.murtagh_vadhan import murtagh_vadhan_epsilon
from dosimeter.composition.parallel import parallel
from dosimeter.composition.parts import Part, slack_for
from dosimeter.composition.profile import privacy_loss_distribution
from dosimeter.composition.reduction import (
    Decomposition,
    Kernel,
    decompose,
    hockey_stick_divergence,
    reduce_to_randomized_response,
)
from dosimeter.composition.sums import (
    gaussians_delta,
    gaussians_epsilon,
    gdp_sum,
    gdp_total,
    rdp_sum,
    rdp_total,
    zcdp_sum,
    zcdp_total,
)
from dosimeter.composition.theorems import Adaptivity, Certainty, Theorem, theorems

__all__ = [
    "Adaptivity",
    "Best",
    "CentralLimit",
    "Certainty",
    "Considered",
    "Decomposition",
    "Description",
    "Estimate",
    "Kernel",
    "Part",
    "Theorem",
    "advanced_capped",
    "advanced_drv",
    "advanced_kov",
    "advanced_squares",
    "advanced_tanh",
    "advanced_zcdp",
    "basic",
    "best",
    "central_limit",
    "decompose",
    "describe",
    "describe_loss",
    "estimate_delta_central_limit",
    "estimate_delta_edgeworth",
    "estimate_delta_saddle_point",
    "gaussians_delta",
    "gaussians_epsilon",
    "gdp_sum",
    "gdp_total",
    "hockey_stick_divergence",
    "mixed_delta",
    "mixed_epsilon",
    "murtagh_vadhan_epsilon",
    "optimal_heterogeneous_delta",
    "optimal_heterogeneous_epsilon",
    "optimal_homogeneous_delta",
    "optimal_homogeneous_epsilon",
    "optimal_homogeneous_value",
    "parallel",
    "privacy_loss_distribution",
    "rdp_sum",
    "rdp_total",
    "reduce_to_randomized_response",
    "slack_for",
    "theorems",
    "zcdp_sum",
    "zcdp_total",
]
