"""Bringing a database to this version's tables with the Alembic migrations that ship inside the package."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

REVISIONS: Final = ("0001", "0002")  # in order; a database at any other revision is of a newer version
NEWEST: Final = REVISIONS[-1]
_ONE_AT_A_TIME: Final = threading.Lock()  # Alembic keeps its context in module globals


def upgrade(connection: Connection, to: str = NEWEST) -> None:
    """Run the missing migrations inside the connection's own transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    with _ONE_AT_A_TIME:
        command.upgrade(config, to)
