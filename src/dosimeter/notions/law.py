"""What every law of composition checks first: guarantees of one notion add up, and runs come in whole numbers."""

from __future__ import annotations

from typing import Final

from dosimeter.errors import NotionError
from dosimeter.exact import count, show

LARGEST_COUNT: Final = 10**12


def require_same_notion(mine: object, other: object) -> None:
    """Refuse to add guarantees of two notions: fields may share a name and still not mean the same.

    Raises:
        NotionError: the other guarantee is of another notion; it has to be converted first.
    """
    if type(other) is not type(mine):
        given = show(getattr(other, "notion", type(other).__name__))
        raise NotionError(
            f"a guarantee in the notion {given} does not add to one in {getattr(mine, 'notion', '?')!r}; "
            "convert one of them first (dosimeter.notions.convert)"
        )


def read_runs(runs: object) -> int:
    """Read how often something runs: a whole number in [1, 1e12]."""
    return count(runs, "count", largest=LARGEST_COUNT)
