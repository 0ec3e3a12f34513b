"""Gaussian mechanisms with structure: one exact price for every covariance and every set of differences.

Imported on its own (it needs numpy): ``from dosimeter.mechanisms.matrix import GaussianMechanism``.
"""

from dosimeter.mechanisms.matrix.baselines import (
    MVG_CALIBRATIONS,
    analytic_gaussian,
    classical_gaussian,
    imgm,
    imgm_min_product,
    mvg,
    mvg_precision,
    mvg_zeta,
)
from dosimeter.mechanisms.matrix.covariance import (
    Covariance,
    DenseNoise,
    DiagonalNoise,
    IidNoise,
    KroneckerNoise,
    LowRankNoise,
    ToeplitzNoise,
)
from dosimeter.mechanisms.matrix.gaussian import GaussianMechanism
from dosimeter.mechanisms.matrix.marginals import Domain, MarginalPlan, Marginals, plan_marginals
from dosimeter.mechanisms.matrix.normal import rounded_normals
from dosimeter.mechanisms.matrix.one_step import OneStepStream
from dosimeter.mechanisms.matrix.participation import sensitivity_squared, stream_mu, toeplitz_sensitivity_squared
from dosimeter.mechanisms.matrix.release import MatrixRelease
from dosimeter.mechanisms.matrix.sensitivity import (
    ColumnBalls,
    FiniteSet,
    FrobeniusBall,
    SensitivitySet,
    StrategyColumns,
    SubspaceBall,
)
from dosimeter.mechanisms.matrix.strategies import (
    Strategy,
    all_ranges,
    all_ranges_gram,
    best_laplace_strategy,
    hierarchical,
    identity,
    optimal_gram,
    optimal_strategy,
    prefix,
    total,
)
from dosimeter.mechanisms.matrix.stream import ColumnCharges, Stream
from dosimeter.mechanisms.matrix.streams import (
    StreamStrategy,
    banded_inverse_strategy,
    banded_strategy,
    binary_tree,
    independent_strategy,
    one_step_strategy,
    square_root_coefficients,
    square_root_strategy,
    toeplitz_strategy,
    tree_online_errors,
    tree_sensitivity_squared,
)

__all__ = [
    "MVG_CALIBRATIONS",
    "ColumnBalls",
    "ColumnCharges",
    "Covariance",
    "DenseNoise",
    "DiagonalNoise",
    "Domain",
    "FiniteSet",
    "FrobeniusBall",
    "GaussianMechanism",
    "IidNoise",
    "KroneckerNoise",
    "LowRankNoise",
    "MarginalPlan",
    "Marginals",
    "MatrixRelease",
    "OneStepStream",
    "SensitivitySet",
    "Strategy",
    "StrategyColumns",
    "Stream",
    "StreamStrategy",
    "SubspaceBall",
    "ToeplitzNoise",
    "all_ranges",
    "all_ranges_gram",
    "analytic_gaussian",
    "banded_inverse_strategy",
    "banded_strategy",
    "best_laplace_strategy",
    "binary_tree",
    "classical_gaussian",
    "hierarchical",
    "identity",
    "imgm",
    "imgm_min_product",
    "independent_strategy",
    "mvg",
    "mvg_precision",
    "mvg_zeta",
    "one_step_strategy",
    "optimal_gram",
    "optimal_strategy",
    "plan_marginals",
    "prefix",
    "rounded_normals",
    "sensitivity_squared",
    "square_root_coefficients",
    "square_root_strategy",
    "stream_mu",
    "toeplitz_sensitivity_squared",
    "toeplitz_strategy",
    "total",
    "tree_online_errors",
    "tree_sensitivity_squared",
]
