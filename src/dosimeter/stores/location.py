"""A ledger's location in one text: the path of a file, or the address of a PostgreSQL database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dosimeter.errors import AccountNotFound, InputError
from dosimeter.exact import show
from dosimeter.stores.sql.postgresql_url import is_url, read_url, shown

if TYPE_CHECKING:
    from dosimeter.ledger.record import LedgerKey
    from dosimeter.ledger.store import Store


def open_store(
    location: str | os.PathLike[str],
    *,
    create: bool = True,
    read_only: bool = False,
    wait_seconds_max: float = 30.0,
    key: LedgerKey | None = None,
) -> Store:
    """The store at a path or a postgresql:// address, made when missing unless `create` is False.

    Raises:
        AccountNotFound: nothing is there, and it should not be made.
        InputError: the location is neither a path nor a postgresql:// address.
        LedgerError: what is there cannot be opened.
    """
    if is_url(location):
        from dosimeter.stores.postgresql import PostgreSQLStore

        return PostgreSQLStore(
            os.fspath(location), create=create, read_only=read_only, wait_seconds_max=wait_seconds_max, key=key
        )
    if not isinstance(location, str | os.PathLike):
        raise InputError(f"a ledger's location is a path or a postgresql:// address, not a {type(location).__name__}")
    from dosimeter.stores.sqlite import SQLiteStore

    if not (create and not read_only) and not Path(location).exists():
        raise AccountNotFound(
            f"there is no ledger at {show(os.fspath(location))}; give its path, or open an account with a budget, as "
            "in epsilon='1', delta='1e-6'"
        )
    return SQLiteStore(location, wait_seconds_max=wait_seconds_max, read_only=read_only, key=key)


def shown_location(location: str | os.PathLike[str]) -> str:
    """A ledger's location for messages: an address without its password, a path as it is."""
    return shown(read_url(str(location))) if is_url(location) else os.fspath(location)
