"""Who watches a ledger at work: logs and metrics. They learn what happened, never what was asked or answered.

A watch is told of verbs, outcomes, durations, account ids and record numbers. It is never told a request's id, its
description, an event, an amount, an answer or a data set's name. It runs after the transaction, so it cannot hold
one up, and what it raises is dropped: no log that fails may lose a charge's outcome.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from dosimeter.errors import DosimeterError

LOGGER: Final = logging.getLogger("dosimeter.ledger")
LOGGER.addHandler(logging.NullHandler())  # silent until somebody listens
_FACTS: Final = ("verb", "outcome", "account", "entry", "seconds", "error")


class Watch:
    """Watches nothing; the base of those that do."""

    def done(self, verb: str, seconds: float) -> None:
        """A writing verb's transaction was kept after so many seconds, tries that were undone included."""

    def outcome(self, verb: str, outcome: str, account_id: str, entry: int) -> None:
        """What a request was told: reserved, taken_over, replayed, refused, settled, settled_before or voided."""

    def retried(self, verb: str, error: DosimeterError) -> None:
        """The store undid a transaction, and it is tried again."""

    def failed(self, verb: str, error: DosimeterError) -> None:
        """The store did not answer; nothing was written, or nobody knows."""


class Watches(Watch):
    """Several at once. One that fails is left out of that one event, and the logs say so."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = tuple(watches)

    def done(self, verb: str, seconds: float) -> None:
        self._tell("done", verb, seconds)

    def outcome(self, verb: str, outcome: str, account_id: str, entry: int) -> None:
        self._tell("outcome", verb, outcome, account_id, entry)

    def retried(self, verb: str, error: DosimeterError) -> None:
        self._tell("retried", verb, error)

    def failed(self, verb: str, error: DosimeterError) -> None:
        self._tell("failed", verb, error)

    def _tell(self, what: str, *facts: Any) -> None:
        for watch in self._watches:
            try:
                getattr(watch, what)(*facts)
            except Exception as error:  # whatever it is, the ledger's verb has its outcome
                LOGGER.warning("a watch failed", extra={"verb": what, "error": type(error).__name__})


class LogWatch(Watch):
    """Says everything to the logger `dosimeter.ledger`: requests at INFO, retries at WARNING, failures at ERROR."""

    def done(self, verb: str, seconds: float) -> None:
        if LOGGER.isEnabledFor(logging.DEBUG):
            LOGGER.debug("%s was kept", verb, extra={"verb": verb, "seconds": round(seconds, 6)})

    def outcome(self, verb: str, outcome: str, account_id: str, entry: int) -> None:
        if LOGGER.isEnabledFor(logging.INFO):
            facts = {"verb": verb, "outcome": outcome, "account": account_id, "entry": entry}
            LOGGER.info("%s: %s", verb, outcome, extra=facts)

    def retried(self, verb: str, error: DosimeterError) -> None:
        LOGGER.warning("%s is tried again", verb, extra={"verb": verb, "error": type(error).__name__})

    def failed(self, verb: str, error: DosimeterError) -> None:
        LOGGER.error("%s failed", verb, extra={"verb": verb, "error": type(error).__name__})


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, message, and the facts a watch gave."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in _FACTS if hasattr(record, name)}
        return json.dumps(line, ensure_ascii=False)


def log_to(handler: logging.Handler, *, as_json: bool, level: int = logging.INFO) -> None:
    """Let the ledger's logs go to a handler, as text or as JSON lines."""
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(JsonLines() if as_json else text)
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
