"""A playground: any strategy against any filter and odometer, exactly or by Monte Carlo.

The box game is something to play with, and the tool with which every filter is audited.
"""

from dosimeter.adaptive.playground.claims import claimed_delta
from dosimeter.adaptive.playground.gaussian import Transcript, advantage, gaussian_game
from dosimeter.adaptive.playground.law import GameTooLargeError, RunLaw, run_law
from dosimeter.adaptive.playground.played import Claim, Played, Verdict, play
from dosimeter.adaptive.playground.sampled import Estimate, Path, Sampled, interval, run_sampled, sample_paths
from dosimeter.adaptive.playground.sitting import Sitting, sit_down
from dosimeter.adaptive.playground.strategies import BUILT_IN, Strategy, built_in, following
from dosimeter.adaptive.playground.table import Option, Seen, Table

__all__ = [
    "BUILT_IN",
    "Claim",
    "Estimate",
    "GameTooLargeError",
    "Option",
    "Path",
    "Played",
    "RunLaw",
    "Sampled",
    "Seen",
    "Sitting",
    "Strategy",
    "Table",
    "Transcript",
    "Verdict",
    "advantage",
    "built_in",
    "claimed_delta",
    "following",
    "gaussian_game",
    "interval",
    "play",
    "run_law",
    "run_sampled",
    "sample_paths",
    "sit_down",
]
