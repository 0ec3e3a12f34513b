"""What an analyst gets back: the value, how far it may be off, what it cost, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dosimeter.events import loss_to_json
from dosimeter.exact import brief_up, text
from dosimeter.notions import Loss
from dosimeter.notions.words import in_words
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
            lines.append(f"{name + ': ' if name else ''}{_with_error(cell.value, cell.error)}{flags}")
        together = " together" if len(lines) > 1 else ""
        paid = "replayed, free" if self.replayed else f"paid {in_words(self.charge)}"
        return "\n".join([*lines, f"({percent}{together}; {paid})"])


def _with_error(value: int | Decimal, error: Decimal) -> str:
    """Value and error bar with the digits that mean something; the error is rounded up."""
    if isinstance(value, int) or not error:
        return f"{value} ± {error}"
    shown = Decimal(brief_up(error, 3))
    places = max(0, -int(shown.as_tuple().exponent))
    return f"{value:.{places}f} ± {shown}"
