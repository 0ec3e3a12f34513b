"""Engine errors end here: what an engine says quotes cells, paths and counts, so none of it may travel further.

An exception that is raised while another is handled carries the other one along (`__context__`), and with it the text.
The engine's error is therefore dropped first, and ours is raised when nothing is being handled any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from dosimeter.errors import SourceError

T = TypeVar("T")

STEPS: Final = {
    "open": "the data could not be opened: the file is missing, unreadable, or not of the kind its name says",
    "read": "the data could not be read as a table. In a CSV file, look for rows with too few or too many cells, "
    "quotes that are not closed, line ends of two kinds, cells of more than 2 MB, text that is not UTF-8, or "
    "compressed text that is cut short",
    "load": "the data could not be loaded: it may not fit in memory",
    "digest": "the content digest could not be computed",
    "aggregate": "the aggregation failed in the engine; what was charged stays charged. Ask the steward to check that "
    "the machine has memory to spare",
}


def quietly(step: str, action: Callable[[], T]) -> T:
    """Do `action`; if it fails, say which step failed and nothing more.

    Raises:
        SourceError: with a fixed message, without cause, context, notes or further arguments.
    """
    try:
        return action()
    except Exception:  # noqa: S110 - the engine's error is dropped on purpose
        pass
    raise SourceError(STEPS[step])
