"""A pair of finite distributions given by the user: two vectors of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dosimeter.errors import InputError
from dosimeter.pld.laws.law import Direction
from dosimeter.pld.laws.primitive import Primitive, log_of, read_probability
from dosimeter.pld.laws.spread import Spread, points

_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class FinitePairLaw(Primitive):
    """P = `with_record` and Q = `without_record`, probabilities of the same outcomes in the same order.

    Each vector must sum to 1 within 1e-9. What is missing or too much is divided out exactly, and the two
    differences together are charged to the infinite atoms of both directions.
    """

    with_record: tuple[Fraction, ...]
    without_record: tuple[Fraction, ...]
    kind: ClassVar[str] = "finite_pair"

    def __post_init__(self) -> None:
        for name in ("with_record", "without_record"):
            vector = tuple(read_probability(x, name, one=True) for x in getattr(self, name))
            if abs(_sum(vector) - 1) > _TOLERANCE:
                raise InputError(f"{name} sums to {float(_sum(vector)):.12g}; probabilities sum to 1")
            object.__setattr__(self, name, vector)
        if len(self.with_record) != len(self.without_record):
            raise InputError(
                f"with_record has {len(self.with_record)} outcomes, without_record {len(self.without_record)}; "
                "list the same outcomes in both"
            )

    @property
    def symmetric(self) -> bool:
        return False

    def infinite(self, direction: Direction) -> Fraction:
        own, other = self.with_record, self.without_record
        if direction is Direction.ADD:
            own, other = other, own
        revealed = _sum(tuple(p for p, q in zip(own, other, strict=True) if q == 0)) / _sum(own)
        return self._missed + (1 - self._missed) * revealed

    @property
    def _missed(self) -> Fraction:
        return abs(_sum(self.with_record) - 1) + abs(_sum(self.without_record) - 1)

    def highest(self, direction: Direction) -> tuple[Fraction, Fraction] | None:
        _, top = self.support(direction)
        slack = Fraction(abs(top)) / 2**44
        return Fraction(top) - slack, Fraction(top)

    def __hash__(self) -> int:  # of thousands of ratios: kept once computed
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = hash((self.with_record, self.without_record))
            object.__setattr__(self, "_hash", known)
        return known

    def spread(self, cut: float) -> Spread:  # noqa: ARG002
        known: Spread | None = self.__dict__.get("_spread")
        if known is None:
            known = self._points()
            object.__setattr__(self, "_spread", known)
        return known

    def _points(self) -> Spread:
        ratio = _sum(self.without_record) / _sum(self.with_record)
        kept = log_of((1 - self._missed) / _sum(self.without_record))
        return points(
            [
                (log_of(p / q * ratio), log_of(q) + kept)
                for p, q in zip(self.with_record, self.without_record, strict=True)
                if p and q
            ]
        )


def _sum(vector: tuple[Fraction, ...]) -> Fraction:
    return sum(vector, Fraction(0))
