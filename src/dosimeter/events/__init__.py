"""What is released, as frozen data with a JSON form whose meaning never changes."""

from dosimeter.events.event import (
    Composed,
    Declared,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Repeated,
)
from dosimeter.events.jsonform import event_from_json, event_to_json, loss_from_json, loss_to_json
from dosimeter.events.pair import DeclaredPair
from dosimeter.events.sampled import (
    FixedSizeSampled,
    PoissonSampled,
    RandomAllocation,
    WithReplacementSampled,
    relations_of,
    require_relation,
)

__all__ = [
    "Composed",
    "Declared",
    "DeclaredPair",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "FixedSizeSampled",
    "Gaussian",
    "Laplace",
    "PoissonSampled",
    "RandomAllocation",
    "RandomizedResponse",
    "Repeated",
    "WithReplacementSampled",
    "event_from_json",
    "event_to_json",
    "loss_from_json",
    "loss_to_json",
    "relations_of",
    "require_relation",
]
