"""Logs and watches learn what happened, never what was asked, and cannot disturb a charge."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from tests.ledger.ledger_world import answered, ask, open_account, spent

from dosimeter.ledger import Ledger, Reserved
from dosimeter.ledger.watch import LOGGER, JsonLines, LogWatch, Watch, log_to
from dosimeter.stores import MemoryStore


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the ledger logs as JSON, from DEBUG on."""
    stream, level = io.StringIO(), LOGGER.level
    handler = logging.StreamHandler(stream)
    log_to(handler, as_json=True, level=logging.DEBUG)
    yield stream
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(level)


def test_the_log_tells_outcomes_and_nothing_that_was_asked(lines: io.StringIO) -> None:
    """One JSON object a line; no request id, description, amount, answer or name of data is in it."""
    ledger = Ledger(MemoryStore())
    account = open_account(ledger)
    answered(ledger, account, "secret-request-id", "0.123", 98765.25)
    answered(ledger, account, "secret-request-id", "0.123", 98765.25)
    ledger.reserve(account, ask("too large", "5"))
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    outcomes = [line["outcome"] for line in told if "outcome" in line]
    assert outcomes == ["reserved", "settled", "replayed", "refused"]
    assert all(line["logger"] == "dosimeter.ledger" and line["time"] for line in told)
    for private in ("secret-request-id", "too large", "0.123", "98765", "people", "5f2b"):
        assert private not in lines.getvalue()


def test_text_lines_are_plain() -> None:
    """The same facts for people."""
    handler = logging.StreamHandler(io.StringIO())
    level = LOGGER.level
    log_to(handler, as_json=False)
    try:
        LogWatch().outcome("reserve", "reserved", "account", 3)
        assert handler.stream.getvalue().endswith("INFO dosimeter.ledger reserve: reserved\n")
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


def test_a_watch_that_fails_disturbs_nothing() -> None:
    """Its error is dropped and noted; the charge has its outcome."""

    class Broken(Watch):
        def outcome(self, verb: str, outcome: str, account_id: str, entry: int) -> None:
            raise RuntimeError("no disk for metrics")

    ledger = Ledger(MemoryStore(), watch=Broken())
    account = open_account(ledger)
    assert isinstance(ledger.reserve(account, ask("q")), Reserved)
    assert spent(ledger, account) == "0.1"


def test_a_log_that_fails_disturbs_nothing() -> None:
    """Also where a filter of the logger raises instead of its handlers."""

    def refuse(record: logging.LogRecord) -> bool:
        raise RuntimeError(record.name)

    level = LOGGER.level
    handler = logging.StreamHandler(io.StringIO())
    handler.addFilter(refuse)
    handler.setFormatter(JsonLines())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        ledger = Ledger(MemoryStore())
        account = open_account(ledger)
        with pytest.raises(RuntimeError):
            LOGGER.info("it really fails")
        handler.removeFilter(refuse)
        handler.addFilter(only_info(refuse))
        assert isinstance(ledger.reserve(account, ask("q")), Reserved)
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
    assert spent(ledger, account) == "0.1"


def only_info(refuse: object):  # type: ignore[no-untyped-def]
    """Fails for outcomes, and lets the note about that through."""

    def chosen(record: logging.LogRecord) -> bool:
        return record.levelno > logging.INFO or refuse(record)  # type: ignore[operator]

    return chosen
