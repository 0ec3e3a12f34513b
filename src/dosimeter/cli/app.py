"""The command line: each command is the mirror of a library call, and each speaks JSON when asked."""

from __future__ import annotations

from dosimeter.cli import accounts, advise, history, plans, play, proving, questions, quotas, reproduce, slack
from dosimeter.cli.base import app

__all__ = [
    "accounts",
    "advise",
    "app",
    "history",
    "plans",
    "play",
    "proving",
    "questions",
    "quotas",
    "reproduce",
    "slack",
]
