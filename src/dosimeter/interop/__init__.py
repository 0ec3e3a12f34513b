"""The edge: other libraries' descriptions of what was released, and plan files, translated once and nowhere else.

Nothing here is needed to import the library, and no other library is imported before one of its values is written.
"""

from dosimeter.interop.dp_accounting import from_dp_accounting, to_dp_accounting
from dosimeter.interop.opacus import from_opacus, to_opacus
from dosimeter.interop.opendp import from_opendp
from dosimeter.interop.planfile import PlanFile, PlanStep, load_plan, parse_plan
from dosimeter.interop.tumult import from_tumult, to_tumult

__all__ = [
    "PlanFile",
    "PlanStep",
    "from_dp_accounting",
    "from_opacus",
    "from_opendp",
    "from_tumult",
    "load_plan",
    "parse_plan",
    "to_dp_accounting",
    "to_opacus",
    "to_tumult",
]
