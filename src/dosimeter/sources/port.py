"""What a source owes, whatever engine it uses; every engine passes one conformance suite."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from dosimeter.queries.plans import Plan
from dosimeter.queries.schema import Schema

Aggregates: TypeAlias = tuple[tuple[int, ...], ...]


class Source(Protocol):
    """Private rows behind a narrow door.

    An implementer owes three things. The plan's caps and bounds are *enforced*: no unit contributes more than the frame
    says, whatever the rows hold. Every data set of the schema has an outcome of the same shape: no row can raise an
    error, be quoted in one, or change how many numbers come back. Two engines, and two runs, agree to the last bit.
    """

    @property
    def schema(self) -> Schema:
        """The public columns."""
        ...

    def content_digest(self) -> str:
        """What identifies the rows: the same for a copy, another order of rows or columns, or another file format."""
        ...

    def aggregate(self, plan: Plan) -> Aggregates:
        """The exact numbers of every part, in lattice steps, one per cell in row-major order. They are private.

        Raises:
            SourceError: names the step that failed, never what a row holds.
        """
        ...
