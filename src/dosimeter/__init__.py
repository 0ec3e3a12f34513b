"""Dosimeter: differentially private analysis under full adaptivity.

    import dosimeter as dm

    session = dm.open("people.csv", epsilon="1", delta="1e-6", ledger="people.db")
    print(session.ask(dm.count().where("age >= 65"), epsilon="0.1"))
    print(session.remaining())

Names load when they are used, so importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "open": "session",
    "open_ledger": "session",
    "Session": "session",
    "Answer": "session",
    "count": "queries",
    "count_distinct_users": "queries",
    "sum_of": "queries",
    "mean_of": "queries",
    "histogram": "queries",
    "Query": "queries",
    "Price": "queries",
    "Schema": "queries",
    "Ledger": "ledger",
    "DosimeterError": "errors",
    "InputError": "errors",
    "QueryError": "errors",
    "QueryRefused": "errors",
    "LedgerError": "errors",
    "SourceError": "errors",
}

if TYPE_CHECKING:
    from dosimeter.errors import DosimeterError, InputError, LedgerError, QueryError, QueryRefused, SourceError
    from dosimeter.ledger import Ledger
    from dosimeter.queries import Price, Query, Schema, count, count_distinct_users, histogram, mean_of, sum_of
    from dosimeter.session import Answer, Session, open, open_ledger

__all__ = [
    "Answer",
    "DosimeterError",
    "InputError",
    "Ledger",
    "LedgerError",
    "Price",
    "Query",
    "QueryError",
    "QueryRefused",
    "Schema",
    "Session",
    "SourceError",
    "__version__",
    "count",
    "count_distinct_users",
    "histogram",
    "mean_of",
    "open",
    "open_ledger",
    "sum_of",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"dosimeter.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'dosimeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
