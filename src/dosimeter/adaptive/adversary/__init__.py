"""The optimal adversary: exact worst cases over every adaptive strategy, and the strategies that reach them.

Declare a menu of mechanisms with whole costs. Against every rule that reads costs alone, the most an analyst can reach
is the value of a finite decision problem; it is computed here from both sides, for continuous mechanisms too.
"""

from dosimeter.adaptive.adversary.against import cells_of, worst_delta_against
from dosimeter.adaptive.adversary.families import Family, worst_delta_over
from dosimeter.adaptive.adversary.menu import Menu, Offer
from dosimeter.adaptive.adversary.replay import Replay, Turn, every_run, replay
from dosimeter.adaptive.adversary.strategy import Strategy, best_crossing, best_strategy
from dosimeter.adaptive.adversary.values import (
    largest_budget,
    worst_crossing,
    worst_delta,
    worst_deltas,
    worst_divergence,
    worst_epsilon,
    worst_tail,
)

__all__ = [
    "Family",
    "Menu",
    "Offer",
    "Replay",
    "Strategy",
    "Turn",
    "best_crossing",
    "best_strategy",
    "cells_of",
    "every_run",
    "largest_budget",
    "replay",
    "worst_crossing",
    "worst_delta",
    "worst_delta_against",
    "worst_delta_over",
    "worst_deltas",
    "worst_divergence",
    "worst_epsilon",
    "worst_tail",
]
