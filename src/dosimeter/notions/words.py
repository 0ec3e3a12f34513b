"""A loss in words, for people: short, rounded up, zeros left out. Exact texts stay in JSON."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import TYPE_CHECKING

from dosimeter.exact import brief_up
from dosimeter.notions.menu import MenuPrice
from dosimeter.notions.residue import ResiduePrice

if TYPE_CHECKING:
    from dosimeter.notions import Loss


def in_words(loss: Loss, digits: int = 6) -> str:
    """Such as ``rho 0.02`` or ``epsilon 1, delta 1e-6``."""
    if isinstance(loss, ResiduePrice | MenuPrice):
        return loss.in_words(digits)
    parts = []
    for field in fields(loss):
        value = getattr(loss, field.name)
        numbers: tuple[Decimal, ...] = value if isinstance(value, tuple) else (value,)
        if any(numbers):
            parts.append(f"{field.name} {', '.join(brief_up(number, digits) for number in numbers)}")
    return ", ".join(parts) or "nothing"
