"""What an analyst gets back: the value, how far it may be off, what it cost, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dosimeter.events import loss_to_json
from dosimeter.exact import text
from dosimeter.ledger import Balance
from dosimeter.notions import Loss
from dosimeter.queries.result import Result


@dataclass(frozen=True, slots=True)
class Answer:
    """A noisy answer, its error bar and its price.

    Args:
        result: the cells; `value`, `error` and `flags` below read from it.
        question: what was asked, as a sentence.
        charge: what the account paid, in its notion.
        remaining: what the account has left, by quantity, rounded down.
        odometer: an upper bound on the privacy loss so far, the lowest of the account's odometers; None without one.
        entry: the ledger's number of this request.
        request: the id under which the answer can be asked for again, free.
        replayed: whether this answer was given before and cost nothing now.
    """

    result: Result
    question: str
    charge: Loss
    remaining: dict[str, str] = field(hash=False)
    odometer: Decimal | None
    entry: int
    request: str
    replayed: bool

    @property
    def value(self) -> Any:
        """The number, or a dict of numbers by key for a grouped question."""
        return self.result.value

    @property
    def error(self) -> Decimal:
        """With probability `confidence` over the noise, every cell is within this of the bounded true value."""
        return self.result.error

    @property
    def confidence(self) -> Decimal:
        """The probability with which all error bars hold together."""
        return self.result.confidence

    @property
    def flags(self) -> tuple[str, ...]:
        """Warnings, such as a mean over a count that is not clearly positive."""
        return self.result.flags

    def errors(self) -> dict[Any, Decimal]:
        """The error bar of each cell, by key."""
        cells = self.result.cells
        return {cell.label[0] if len(cell.label) == 1 else cell.label: cell.error for cell in cells}

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON, numbers as texts."""
        return {
            "question": self.question,
            "answer": self.result.to_json(),
            "charge": loss_to_json(self.charge),
            "remaining": self.remaining,
            "odometer": None if self.odometer is None else text(self.odometer),
            "entry": self.entry,
            "request": self.request,
            "replayed": self.replayed,
        }

    def __str__(self) -> str:
        percent = f"{text(self.confidence * 100)} %"
        lines = []
        for cell in self.result.cells:
            name = ", ".join(str(key) for key in cell.label)
            flags = f"  [{', '.join(cell.flags)}]" if cell.flags else ""
            lines.append(f"{name + ': ' if name else ''}{cell.value} ± {cell.error}{flags}")
        together = " together" if len(lines) > 1 else ""
        paid = "replayed, free" if self.replayed else f"paid {charge_text(self.charge)}"
        return "\n".join([*lines, f"({percent}{together}; {paid})"])


def charge_text(loss: Loss) -> str:
    """A charge as people write it, such as ``rho 0.005``: short, rounded up, zeros left out."""
    data = loss_to_json(loss)
    parts = []
    for name, value in data.items():
        if name == "notion" or value == "0":
            continue
        values = value if isinstance(value, list) else [value]
        parts.append(f"{name} {', '.join(short_up(v) for v in values)}")
    return ", ".join(parts) or "nothing"


def short_up(number: str, digits: int = 6) -> str:
    """A decimal text cut to a few digits, rounded up: for people; the exact text stays in JSON."""
    import decimal

    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    return text(context.create_decimal(number))


def reading(balance: Balance) -> Decimal | None:
    """The lowest of the account's odometers, where one has a bound."""
    bounds = [r.bound for r in balance.readings if r.bound is not None]
    return min(bounds) if bounds else None
