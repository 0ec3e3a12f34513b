"""The durable ledger: charge first, then touch rows; nothing overspends, and everything can be proved afterwards."""

from dosimeter.ledger.account import Account, DatasetIdentity
from dosimeter.ledger.audit import AuditReport, Problem
from dosimeter.ledger.ledger import Ledger
from dosimeter.ledger.request import (
    Balance,
    Quote,
    Reading,
    RefusedRequest,
    RefusedTogether,
    Replayed,
    Request,
    Reserved,
    ReservedTogether,
    Settled,
)
from dosimeter.ledger.statement import Decision, Entry, Epoch, Orphan, Statement

__all__ = [
    "Account",
    "AuditReport",
    "Balance",
    "DatasetIdentity",
    "Decision",
    "Entry",
    "Epoch",
    "Ledger",
    "Orphan",
    "Problem",
    "Quote",
    "Reading",
    "RefusedRequest",
    "RefusedTogether",
    "Replayed",
    "Request",
    "Reserved",
    "ReservedTogether",
    "Settled",
    "Statement",
]
