"""The adaptive game: exact laws and worst cases over every strategy, to check what a rule really allows.

An analyst who chooses each mechanism from all earlier answers plays against a rule that reads costs only. For finite
menus the worst case is a number that can be computed, so a claim can be attacked optimally instead of believed.
"""

from dosimeter.adaptive.game.box import Box, from_laws, randomized_response, three_atoms
from dosimeter.adaptive.game.bracket import worst_delta_over_range
from dosimeter.adaptive.game.exact import Law, exact_law, worst_crossing_exact, worst_delta_exact
from dosimeter.adaptive.game.gaussian import gaussian_cells
from dosimeter.adaptive.game.lattice import worst_crossing, worst_delta, worst_moment
from dosimeter.adaptive.game.rule import Rule, budget_rule, filter_rule, restrict, single_use_rule

__all__ = [
    "Box",
    "Law",
    "Rule",
    "budget_rule",
    "exact_law",
    "filter_rule",
    "from_laws",
    "gaussian_cells",
    "randomized_response",
    "restrict",
    "single_use_rule",
    "three_atoms",
    "worst_crossing",
    "worst_crossing_exact",
    "worst_delta",
    "worst_delta_exact",
    "worst_delta_over_range",
    "worst_moment",
]
