"""Notions of privacy: one frozen value each, with its own law of composition.

Conversions between them are named functions in `dosimeter.notions.convert`, each with its theorem.
"""

from typing import TypeAlias

from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.gdp import GDP
from dosimeter.notions.menu import MenuPrice
from dosimeter.notions.probabilistic import ProbabilisticDP
from dosimeter.notions.pure import PureDP
from dosimeter.notions.rdp import RDP
from dosimeter.notions.residue import ResiduePrice
from dosimeter.notions.zcdp import ZCDP

Loss: TypeAlias = PureDP | ApproxDP | ProbabilisticDP | ZCDP | RDP | GDP | ResiduePrice | MenuPrice

__all__ = ["GDP", "RDP", "ZCDP", "ApproxDP", "Loss", "MenuPrice", "ProbabilisticDP", "PureDP", "ResiduePrice"]
