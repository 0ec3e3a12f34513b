"""Neighbouring relations and privacy units: for whom, and against which change, a guarantee holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dosimeter.errors import InputError, NotionError
from dosimeter.exact import count, show


class NeighbouringRelation(StrEnum):
    """Which pairs of data sets must look alike.

    A guarantee is a triple (notion, parameters, relation); guarantees under different relations never add up.
    """

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"
    ZERO_OUT = "zero_out"

    @classmethod
    def read(cls, value: object) -> NeighbouringRelation:
        """Read a relation by name; the error lists the names."""
        try:
            return cls(str(value))
        except ValueError:
            names = ", ".join(cls)
            raise InputError(f"neighbouring_relation={show(value)} is unknown; use one of: {names}") from None


def require_same(expected: NeighbouringRelation, given: NeighbouringRelation) -> None:
    """Refuse to compose guarantees that speak of different neighbours."""
    if expected is not given:
        raise NotionError(
            f"a guarantee under {given} cannot be charged to an account under {expected}; "
            "plan the query under the account's relation"
        )


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whose presence is protected: one row, or all rows of one user, bounded by `max_contributions`.

    Args:
        column: the column that identifies a user; None when every row is its own unit.
        max_contributions: rows a unit may contribute to one query (1 when the unit is a row). Rows beyond it are
            dropped before anything is computed, so the bound is enforced, not assumed.
    """

    column: str | None = None
    max_contributions: int = 1

    def __post_init__(self) -> None:
        bound = count(self.max_contributions, "max_contributions", largest=10**6)
        object.__setattr__(self, "max_contributions", bound)
        if self.column is None and self.max_contributions != 1:
            raise InputError(
                f"max_contributions={self.max_contributions} needs a user column; a row contributes exactly once"
            )
        if self.column is not None and (not isinstance(self.column, str) or not self.column):
            raise InputError(
                f"the privacy unit's column={show(self.column)} is not a name; give a column or None for rows"
            )
