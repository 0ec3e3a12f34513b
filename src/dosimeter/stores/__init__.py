"""Where a ledger is kept: adapters of the ledger's port, all passing one conformance suite."""

from dosimeter.stores.location import open_store
from dosimeter.stores.memory import MemoryStore
from dosimeter.stores.postgresql import PostgreSQLStore
from dosimeter.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore", "PostgreSQLStore", "SQLiteStore", "open_store"]
