"""Conversions between notions, each a named function `<from>_to_<to>` with its theorem.

A conversion with a free parameter takes exactly one of `target_epsilon=` and `target_delta=`. Losses come out rounded
up; the functions `largest_<notion>_for_approx` give budgets, rounded down.
"""

from dosimeter.notions.convert.approx import (
    approx_to_approx,
    approx_to_gdp,
    approx_to_probabilistic,
    approx_to_tail_probability,
    approx_to_zcdp,
    probabilistic_to_approx,
)
from dosimeter.notions.convert.bounded_range import bounded_range_to_pure, bounded_range_to_zcdp
from dosimeter.notions.convert.gdp import gdp_to_approx, gdp_to_rdp, gdp_to_zcdp, largest_gdp_for_approx
from dosimeter.notions.convert.groups import group_approx, group_gdp, group_pure, group_rdp, group_zcdp
from dosimeter.notions.convert.pure import pure_to_approx, pure_to_gdp, pure_to_probabilistic, pure_to_rdp, pure_to_zcdp
from dosimeter.notions.convert.rdp import (
    largest_rdp_for_approx,
    largest_rdp_for_approx_simple,
    rdp_to_approx,
    rdp_to_approx_exact,
    rdp_to_approx_simple,
)
from dosimeter.notions.convert.tradeoff import (
    approx_to_tradeoff,
    gdp_to_tradeoff,
    profile_to_tradeoff,
    tradeoff_to_approx,
)
from dosimeter.notions.convert.zcdp import (
    largest_square_sum_for_approx,
    largest_zcdp_for_approx,
    largest_zcdp_for_approx_simple,
    zcdp_to_approx,
    zcdp_to_approx_simple,
    zcdp_to_rdp,
)

__all__ = [
    "approx_to_approx",
    "approx_to_gdp",
    "approx_to_probabilistic",
    "approx_to_tail_probability",
    "approx_to_tradeoff",
    "approx_to_zcdp",
    "bounded_range_to_pure",
    "bounded_range_to_zcdp",
    "gdp_to_approx",
    "gdp_to_rdp",
    "gdp_to_tradeoff",
    "gdp_to_zcdp",
    "group_approx",
    "group_gdp",
    "group_pure",
    "group_rdp",
    "group_zcdp",
    "largest_gdp_for_approx",
    "largest_rdp_for_approx",
    "largest_rdp_for_approx_simple",
    "largest_square_sum_for_approx",
    "largest_zcdp_for_approx",
    "largest_zcdp_for_approx_simple",
    "probabilistic_to_approx",
    "profile_to_tradeoff",
    "pure_to_approx",
    "pure_to_gdp",
    "pure_to_probabilistic",
    "pure_to_rdp",
    "pure_to_zcdp",
    "rdp_to_approx",
    "rdp_to_approx_exact",
    "rdp_to_approx_simple",
    "tradeoff_to_approx",
    "zcdp_to_approx",
    "zcdp_to_approx_simple",
    "zcdp_to_rdp",
]
