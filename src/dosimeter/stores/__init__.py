"""Where a ledger is kept: adapters of the ledger's port, all passing one conformance suite."""

from dosimeter.stores.memory import MemoryStore
from dosimeter.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore", "SQLiteStore"]
