"""A ledger's PostgreSQL address: what may stand in it, and how it is shown without its secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dosimeter.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import URL

SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
_SECRET: Final = re.compile("passw|secret|sslkey|token", re.IGNORECASE)


def is_url(location: object) -> bool:
    """Whether a ledger's location is an address rather than a path."""
    return isinstance(location, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", location) is not None


def read_url(location: str) -> URL:
    """Read an address of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE; raises InputError."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    if not location.startswith(SCHEMES):
        scheme = location.split("://", 1)[0][:40]
        raise InputError(f"a ledger's address starts with postgresql://, not {scheme}://; for a file give its path")
    try:
        url = make_url("postgresql+psycopg://" + location.split("://", 1)[1])
    except (ArgumentError, ValueError):
        raise InputError(
            "the ledger's address cannot be read; it has the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with "
            "special characters of the password as %XX"
        ) from None
    if not url.database:
        raise InputError("the ledger's address names no database; end it with /DATABASE")
    return url


def shown(url: URL) -> str:
    """The address for messages: no password, wherever it stood, and no option that may be a secret."""
    query = {name: "***" if _SECRET.search(name) else value for name, value in url.query.items()}
    text = url.set(drivername="postgresql", query=query).render_as_string(hide_password=True)
    return text.replace("%2A%2A%2A", "***")
