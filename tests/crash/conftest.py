"""Count the crashes and say so at the end."""

from collections import Counter

import pytest

TRIALS: Counter[str] = Counter()


@pytest.fixture
def trials() -> Counter[str]:
    """How often what was tried in this run."""
    return TRIALS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per kind of trial."""
    for what, count in sorted(TRIALS.items()):
        terminalreporter.write_line(f"crash trials: {count:4d} {what}")
