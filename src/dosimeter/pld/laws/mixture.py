"""A mechanism drawn at random, with the draw made public: moments are averages of moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from dosimeter.errors import InputError
from dosimeter.pld.laws.law import Direction, Law, Part
from dosimeter.pld.laws.primitive import log_of, read_probability


@dataclass(frozen=True, slots=True)
class MixtureLaw(Law):
    """Run laws[i] with probability weights[i]; the index, drawn independently of the data, is part of the output.

    The weights sum to one exactly.
    """

    weights: tuple[Fraction, ...]
    laws: tuple[Law, ...]
    kind: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        weights = tuple(read_probability(w, "weight", zero=False, one=True) for w in self.weights)
        if len(weights) != len(self.laws) or sum(weights) != 1:
            raise InputError("a mixture needs one positive weight per law; the weights sum to exactly 1")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "laws", tuple(self.laws))

    @property
    def symmetric(self) -> bool:
        return all(law.symmetric for law in self.laws)

    def infinite(self, direction: Direction) -> Fraction:
        pairs = zip(self.weights, self.laws, strict=True)
        return sum((w * law.infinite(direction) for w, law in pairs), Fraction(0))

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:
        ends = [law.highest(direction) for law in self.laws]
        known = [end for end in ends if end is not None]
        return (max(k[0] for k in known), max(k[1] for k in known)) if len(known) == len(ends) else None

    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:
        """The parts of the laws that matter: the least likely ones, of weight `cut`/2 together, are left out."""
        kept, left_out = _likely(self.weights, cut / 2)
        parts = [
            replace(part, spread=part.spread.scaled(log_of(weight)))
            for weight, law in zip(self.weights, self.laws, strict=True)
            if weight >= kept
            for part in law.parts(direction, cut / 2)
        ]
        if left_out:
            first = parts[0]
            parts[0] = replace(first, spread=replace(first.spread, cut=first.spread.cut + left_out))
        return tuple(parts)


def _likely(weights: tuple[Fraction, ...], cut: float) -> tuple[Fraction, float]:
    """The least weight to keep, and what the smaller ones sum to, at most `cut`."""
    left_out, room = Fraction(0), Fraction(cut)
    for weight in sorted(set(weights)):
        together = weight * weights.count(weight)
        if left_out + together > room:
            return weight, float(left_out) * (1 + 1e-15)
        left_out += together
    return max(weights), 0.0
