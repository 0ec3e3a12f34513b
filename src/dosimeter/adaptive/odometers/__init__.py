"""Odometers: how much has been lost so far, at any moment, under full adaptivity.

An odometer is fixed before the interaction and reads any filter's state. What it says has one of two types. A
`LossBound` is about the loss itself; a `StoppedRunBound` is about runs that stop in time, and is all that rounds with a
declared delta allow.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from dosimeter.adaptive.odometers.gaussian import GaussianOdometer, GaussianRecord
from dosimeter.adaptive.odometers.jsonform import configuration_from_json
from dosimeter.adaptive.odometers.line import FilterOdometer
from dosimeter.adaptive.odometers.menu import MenuOdometer, MenuRecord
from dosimeter.adaptive.odometers.mixture import MixtureOdometer
from dosimeter.adaptive.odometers.probabilistic import ProbabilisticOdometer, ProbabilisticRecord
from dosimeter.adaptive.odometers.pure import PureOdometer, PureRecord
from dosimeter.adaptive.odometers.rdp import RDPMixtureOdometer, RDPOdometer
from dosimeter.adaptive.odometers.reading import BettingOdometer, LossBound, LossOdometer, StoppedRunBound
from dosimeter.adaptive.odometers.rogers import RogersOdometer
from dosimeter.adaptive.odometers.stitched import StitchedOdometer
from dosimeter.adaptive.odometers.stopped import StoppedRunOdometer
from dosimeter.adaptive.odometers.stopped_gaussian import StoppedGaussianOdometer
from dosimeter.adaptive.odometers.union import UnionOdometer

AnyOdometer: TypeAlias = (
    LossOdometer | StoppedRunOdometer | ProbabilisticOdometer | StoppedGaussianOdometer | MenuOdometer
)

ODOMETER_KINDS: Final[dict[str, str]] = {
    "mixture": "tight over a wide range of intrinsic times; the default",
    "filter": "one line, lowest at the intrinsic time it is tuned for",
    "stitched": "lines for every doubling of the intrinsic time, lowest in the very long run",
    "union": "several odometers with shares of delta, as low as the lowest of them",
    "rdp": "one Renyi order of an account kept in RDP",
    "rdp_mixture": "all Renyi orders of an account kept in RDP, mixed with fixed weights",
    "rogers": "the first published odometer, for comparison",
    "stopped_run": "a loss odometer read for rounds that may fail: a statement about stopped runs",
    "probabilistic": "a loss odometer corrected for (epsilon, delta)-pDP rounds",
    "gaussian": "a computed boundary for the loss of Gaussian releases, lowest of its shape up to a horizon",
    "pure": "a computed boundary for the loss of pure rounds of declared sizes, the worst mechanisms included",
    "menu": "computed readings for a declared menu of mechanisms: a statement about stopped runs",
    "gaussian_stopped": "computed readings for GDP accounts, whatever they hold: a statement about stopped runs",
}

_CLASSES: Final[dict[str, Any]] = {
    built.kind: built
    for built in (
        MixtureOdometer,
        FilterOdometer,
        StitchedOdometer,
        UnionOdometer,
        RDPOdometer,
        RDPMixtureOdometer,
        RogersOdometer,
        StoppedRunOdometer,
        ProbabilisticOdometer,
        GaussianOdometer,
        PureOdometer,
        MenuOdometer,
        StoppedGaussianOdometer,
    )
}


def odometer_from_json(data: object) -> AnyOdometer:
    """Read an odometer's configuration back; raises InputError for anything that `to_json` does not write."""
    odometer: AnyOdometer = configuration_from_json(data, _CLASSES)
    return odometer


__all__ = [
    "ODOMETER_KINDS",
    "AnyOdometer",
    "BettingOdometer",
    "FilterOdometer",
    "GaussianOdometer",
    "GaussianRecord",
    "LossBound",
    "LossOdometer",
    "MenuOdometer",
    "MenuRecord",
    "MixtureOdometer",
    "ProbabilisticOdometer",
    "ProbabilisticRecord",
    "PureOdometer",
    "PureRecord",
    "RDPMixtureOdometer",
    "RDPOdometer",
    "RogersOdometer",
    "StitchedOdometer",
    "StoppedGaussianOdometer",
    "StoppedRunBound",
    "StoppedRunOdometer",
    "UnionOdometer",
    "odometer_from_json",
]
