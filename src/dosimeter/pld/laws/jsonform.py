"""The JSON form of laws: their kind and their exact parameters as texts, so a saved account is the same account."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dosimeter.errors import InputError
from dosimeter.exact import show
from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.laws.bounded_range import BoundedRangeLaw
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.discrete_laplace import DiscreteLaplaceLaw
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Law
from dosimeter.pld.laws.mixture import MixtureLaw
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw

_KINDS: dict[str, type[Law]] = {
    law.kind: law
    for law in (
        AllocatedGaussianLaw,
        BoundedRangeLaw,
        DiscreteGaussianLaw,
        DiscreteLaplaceLaw,
        FinitePairLaw,
        FixedSizeSampledLaw,
        GaussianLaw,
        LaplaceLaw,
        MixtureLaw,
        PoissonSampledLaw,
        ResponseLaw,
    )
}
_DEPTH = 8


def law_to_json(law: Law) -> dict[str, Any]:
    """A law as JSON."""
    return law.to_json()


def law_from_json(data: object, depth: int = 0) -> Law:
    """Read a law back; raises InputError for anything that `law_to_json` does not write."""
    if not isinstance(data, dict) or data.get("kind") not in _KINDS or depth > _DEPTH:
        got = show(data.get("kind")) if isinstance(data, dict) else type(data).__name__
        raise InputError(f"kind={got} is not a law; this version reads: {', '.join(sorted(_KINDS))}")
    kind = _KINDS[data["kind"]]
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if set(data) - {"kind"} != names:
        raise InputError(f"a {data['kind']} law has the fields {', '.join(sorted(names))}")
    return kind(**{name: _read(data[name], depth + 1) for name in names})


def _read(value: object, depth: int) -> object:
    if isinstance(value, dict):
        return law_from_json(value, depth)
    if isinstance(value, list):
        return tuple(_read(item, depth) for item in value)
    return value
