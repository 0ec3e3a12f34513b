"""A plan: everything that will be released for a question, and what it costs, before any row is read.

A plan is made of public facts only (the question, the schema, the privacy unit, the relation, the price), so the price
of a question and its refusal reveal nothing. What touches rows is the plan's `frame`; what is released are its `parts`;
what is charged is its `event`; what the analyst sees is `answer` of the noisy numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dosimeter.errors import QueryError
from dosimeter.events import Event, event_to_json
from dosimeter.exact import ONE, divide_down, subtract_down, subtract_up, text
from dosimeter.mechanisms.noise import Noise
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.queries.frame import COUNT, Frame
from dosimeter.queries.lattice import scaled
from dosimeter.queries.price import Price
from dosimeter.queries.pricing import event_of_all
from dosimeter.queries.query import Aggregate, Query, digest_of
from dosimeter.queries.result import Result, mean_cell, plain_cell
from dosimeter.queries.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class Part:
    """One release: a vector of whole numbers, one per cell, and the noise that each of them gets.

    Args:
        name: "count" or "sum".
        cells: how many numbers.
        noise: in lattice steps.
        step: what one step is worth.
        sensitivity: of the vector, in lattice steps.
        event: what the release costs.
    """

    name: str
    cells: int
    noise: Noise
    step: Decimal
    sensitivity: Sensitivity
    event: Event

    def to_json(self) -> dict[str, Any]:
        """The public description."""
        return {
            "name": self.name,
            "cells": self.cells,
            "noise": self.noise.to_json(),
            "step": text(self.step),
            "sensitivity": self.sensitivity.to_json(),
            "event": event_to_json(self.event),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """A priced question. Make one with `dosimeter.queries.plan`.

    Args:
        query: what is asked.
        unit, relation: for whom, and against which change, the cost holds.
        price: what was offered; None where an accuracy was asked for.
        within: the wanted error bar; None where a price was offered.
        confidence: with which the error bars of all cells hold together.
        frame: what the source computes.
        parts: what is released.
    """

    query: Query
    unit: PrivacyUnit
    relation: NeighbouringRelation
    price: Price | None
    within: Decimal | None
    confidence: Decimal
    frame: Frame
    parts: tuple[Part, ...]

    @property
    def event(self) -> Event:
        """What the account is charged for."""
        return event_of_all([part.event for part in self.parts])

    @property
    def delta(self) -> Decimal | None:
        """The probability of failure named in the price; None where none was."""
        return None if self.price is None else self.price.delta

    @property
    def error(self) -> Decimal | None:
        """The error bar: with `confidence`, the noise in every cell is at most this. None for a mean, whose error
        depends on how many rows there are; its answer carries one."""
        if len(self.parts) > 1:
            return None
        part = self.parts[0]
        return scaled(part.step, self._widths()[0])

    @property
    def digest(self) -> str:
        """What identifies the plan: the SHA-256 of its JSON form, in hex."""
        return digest_of("dosimeter plan 1", self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The public description: what is asked, computed, released and charged."""
        return {
            "query": self.query.to_json(),
            "unit": {"column": self.unit.column, "max_contributions": self.unit.max_contributions},
            "relation": str(self.relation),
            "price": None if self.price is None else self.price.to_json(),
            "within": None if self.within is None else text(self.within),
            "confidence": text(self.confidence),
            "frame": self.frame.to_json(),
            "parts": [part.to_json() for part in self.parts],
        }

    def answer(self, noisy: Sequence[Sequence[int]]) -> Result:
        """What the analyst sees: pure post-processing of the noisy numbers, one sequence per part."""
        if len(noisy) != len(self.parts) or any(len(row) != self.frame.cells for row in noisy):
            raise QueryError(f"this plan releases {len(self.parts)} parts of {self.frame.cells} cells")
        labels = itertools.product(*(axis.labels() for axis in self.frame.axes))
        widths = self._widths()
        if self.query.aggregate is Aggregate.MEAN and self.frame.value is not None:
            spot = self.frame.value.lattice
            cells = tuple(
                mean_cell(label, count, total, widths[0], widths[1], spot)
                for label, count, total in zip(labels, *noisy, strict=True)
            )
        else:
            whole, step = self.parts[0].name == COUNT, self.parts[0].step
            cells = tuple(
                plain_cell(label, value, widths[0], step, whole=whole)
                for label, value in zip(labels, noisy[0], strict=True)
            )
        return Result(tuple(axis.column.name for axis in self.frame.axes), cells, self.confidence)

    def describe(self) -> str:
        """A few lines for a person, before anything is paid."""
        who = "one row" if self.unit.column is None else f"all rows of one {self.unit.column}"
        caps = self.frame.contribution
        lines = [
            str(self.query),
            f"protects: {who}, under {self.relation}",
        ]
        if self.unit.column is not None:
            cells = "" if self.frame.cells == 1 else f", in {caps.groups} cells, {caps.rows_per_group} in each"
            lines.append(f"keeps of each {self.unit.column}: at most {caps.rows} rows{cells}")
        for part in self.parts:
            parameter = text(getattr(part.noise, part.noise.parameter))
            lines.append(
                f"releases: {part.cells} x {part.name}, {part.noise.kind} noise of {part.noise.parameter} "
                f"{_short(parameter)} in steps of {text(part.step)}"
            )
        if self.error is not None:
            each = "" if self.frame.cells == 1 else f" in all {self.frame.cells} cells together"
            lines.append(f"error: within {_short(text(self.error))} with confidence {text(self.confidence)}{each}")
        else:
            lines.append("error: depends on the number of rows; the answer states it")
        return "\n".join(lines)

    def _widths(self) -> list[int]:
        """The error bars of the parts, in steps, holding together: a union bound over the parts."""
        from dosimeter.mechanisms.accuracy import half_width

        failure = divide_down(subtract_down(ONE, self.confidence), len(self.parts))
        confidence = subtract_up(ONE, failure)
        return [half_width(part.noise, confidence, part.cells) for part in self.parts]


def _short(number: str) -> str:
    return number if len(number) <= 12 else f"{Decimal(number):.6g}"
