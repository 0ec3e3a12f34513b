"""Reference values with exact inputs: one parser for every room's tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Vector:
    """One case: the formula's arguments as exact numbers, and its value to 20 digits."""

    id: str
    area: str
    fn: str
    args: dict[str, Any]
    value: Decimal


@cache
def all_vectors() -> tuple[Vector, ...]:
    """Every case of the file."""
    data = json.loads(Path(__file__).with_name("reference_values.json").read_text())
    if len(data["values"]) != data["count"]:
        raise ValueError("the file of reference values is incomplete")
    return tuple(
        Vector(v["id"], v["area"], v["fn"], {name: exact(arg) for name, arg in v["args"].items()}, Decimal(v["value"]))
        for v in data["values"]
    )


def vectors(fn: str) -> list[Vector]:
    """The cases of one formula; a name without cases is an error."""
    found = [vector for vector in all_vectors() if vector.fn == fn]
    if not found:
        raise LookupError(f"no reference values for {fn}")
    return found


def exact(value: Any) -> Any:
    """Text as Decimal or, for a ratio, Fraction; lists entry by entry; words and whole numbers as they are."""
    if isinstance(value, list):
        return [exact(item) for item in value]
    if not isinstance(value, str):
        return value
    try:
        return Fraction(value) if "/" in value else Decimal(value)
    except (InvalidOperation, ValueError):
        return value


def agrees(ours: Decimal, truth: Decimal, relative: str = "1e-18") -> bool:
    """Whether a value agrees with a reference value of 20 digits."""
    return abs(Fraction(ours) - Fraction(truth)) <= Fraction(relative) * abs(Fraction(truth))


def not_below(ours: Decimal, truth: Decimal) -> bool:
    """Whether a value that must be rounded up is not below a reference value, whose own last digit is rounded."""
    return Fraction(ours) >= Fraction(truth) - _half_last_digit(truth)


def not_above(ours: Decimal, truth: Decimal) -> bool:
    """Whether a value that must be rounded down is not above a reference value, whose own last digit is rounded."""
    return Fraction(ours) <= Fraction(truth) + _half_last_digit(truth)


def _half_last_digit(truth: Decimal) -> Fraction:
    exponent = truth.as_tuple().exponent
    return Fraction(10) ** int(exponent) / 2
