"""Where a ledger is kept: adapters of the ledger's port, all passing one conformance suite."""

from dosimeter.stores.memory import MemoryStore

__all__ = ["MemoryStore"]
